//! The model-level dialects: what is written reads back, in both forms; what is wrong is said so that it can be mended.

use std::sync::Arc;

use piper_dialects::{func, nn};
use piper_ir::interfaces::Along;
use piper_ir::interfaces::shardable::{factor_rule, propagate};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{Context, Module, Op, Reporter, SourceFile, verify};

fn context() -> Arc<Context> {
    Arc::new(Context::new([func::dialect(), nn::dialect()]))
}

fn parse(ctx: &Arc<Context>, text: &str) -> Result<Module, Vec<String>> {
    let mut reporter = Reporter::new(ctx);
    let module = parse_module(ctx, &SourceFile::new("t.pir", text), &mut reporter);
    if let Some(module) = &module {
        verify::verify(module, &mut reporter);
    }
    let faults: Vec<String> = reporter
        .take()
        .into_iter()
        .map(|d| {
            let notes: String = d.notes.iter().map(|n| format!(" / {}", n.message)).collect();
            format!("{}{notes}{}", d.message, d.hint.map_or(String::new(), |h| format!(" ({h})")))
        })
        .collect();
    match module {
        Some(module) if faults.is_empty() => Ok(module),
        _ => Err(faults),
    }
}

const EVERYTHING: &str = r#"module {
  func.func @loss(%tokens: tensor<2x8xi32> {batch_dim = 0, role = "data"}, %targets: tensor<2x8xi32> {batch_dim = 0, role = "data"}) -> tensor<f32> attributes {tags = {PP = 0}} {
    %wte = nn.parameter "wte" init = normal<0.0, 0.02> : tensor<16x8xf32>
    %b = nn.parameter "b" init = zeros : tensor<8xf32>
    %g = nn.parameter "g" init = ones : tensor<8xf32>
    %u = nn.parameter "u" init = uniform<-0.1, 1.0e-7> : tensor<8x8xf32>
    %c = nn.parameter "c" init = constant<0.5> {frozen} : tensor<8x4xf32>
    %e = nn.embedding %tokens, %wte : (tensor<2x8xi32>, tensor<16x8xf32>) -> tensor<2x8x8xf32>
    %n = nn.layer_norm %e, %g, %b {eps = 1.000000e-05} : (tensor<2x8x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x8xf32>
    %q = nn.linear %n, %u, %b : (tensor<2x8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<2x8x8xf32>
    %k = nn.linear %n, %c : (tensor<2x8x8xf32>, tensor<8x4xf32>) -> tensor<2x8x4xf32>
    %r = nn.rotary %q {base = 1.000000e+04, heads = 4} : tensor<2x8x8xf32>
    %o, %lse = nn.attention %r, %k, %k {heads = 4, kv_heads = 2} : (tensor<2x8x8xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x8xf32>, tensor<2x4x8xf32>)
    %p = nn.attention %q, %q, %q {heads = 4, kv_heads = 4} : (tensor<2x8x8xf32>, tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
    %s = nn.add %o, %p : tensor<2x8x8xf32>
    %a = nn.gelu %s : tensor<2x8x8xf32>
    %f = func.call @block(%a) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
    %z = nn.linear %f, %wte {transpose_w} : (tensor<2x8x8xf32>, tensor<16x8xf32>) -> tensor<2x8x16xf32>
    %one = nn.constant {value = 1.000000e+00} : tensor<f32>
    %loss = nn.cross_entropy %z, %targets {denominator = 16} : (tensor<2x8x16xf32>, tensor<2x8xi32>) -> tensor<f32>
    func.return %loss : tensor<f32>
  }
  func.func @block(%x: tensor<2x8x8xf32>) -> tensor<2x8x8xf32> {
    %gain = nn.parameter "h.g" init = ones : tensor<8xf32>
    %0 = nn.rms_norm %x, %gain {eps = 1.000000e-05} : (tensor<2x8x8xf32>, tensor<8xf32>) -> tensor<2x8x8xf32>
    %1 = nn.silu %0 : tensor<2x8x8xf32>
    %2 = nn.mul %1, %0 : tensor<2x8x8xf32>
    %3 = nn.scale %2 {factor = 5.000000e-01} : tensor<2x8x8xf32>
    %4 = nn.stop_gradient %3 : tensor<2x8x8xf32>
    func.return %4 : tensor<2x8x8xf32>
  }
  func.func private @other(tensor<4xf32> {role = "data"}, i32) -> (tensor<f32>, i32)
  func.func @nothing() {
    func.return
  }
}
"#;

#[test]
fn every_form_is_printed_as_it_was_read() {
    let ctx = context();
    let module = parse(&ctx, EVERYTHING).unwrap();
    assert_eq!(print_module(&module, PrintOptions::default()), EVERYTHING);
    let generic = print_module(&module, PrintOptions { generic: true, ..Default::default() });
    let again = parse(&ctx, &generic).unwrap();
    assert_eq!(print_module(&again, PrintOptions { generic: true, ..Default::default() }), generic);
    assert_eq!(print_module(&again, PrintOptions::default()), EVERYTHING);
}

/// `mlir-opt` checks functions, returns and calls by its own rules. Skipped where it is not installed.
#[test]
fn mlir_accepts_the_generic_form() {
    let ctx = context();
    let module = parse(&ctx, EVERYTHING).unwrap();
    let generic = print_module(&module, PrintOptions { generic: true, ..Default::default() });
    let Some(tool) = ["mlir-opt-22", "mlir-opt"].into_iter().find(|tool| {
        std::process::Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success())
    }) else {
        return;
    };
    let mut child = std::process::Command::new(tool)
        .args(["--allow-unregistered-dialect", "--mlir-print-op-generic"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), generic.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{generic}", String::from_utf8_lossy(&output.stderr));
    let back = parse(&ctx, &String::from_utf8(output.stdout).unwrap()).unwrap();
    // MLIR loses value names and nothing else.
    let bare = parse(&ctx, &generic).unwrap();
    assert_eq!(back.walk(back.root()).count(), bare.walk(bare.root()).count());
    let attrs = |m: &Module| -> Vec<String> {
        m.walk(m.root())
            .map(|op| {
                let mut all: Vec<String> = m
                    .all_attrs(op)
                    .iter()
                    .map(|(n, a)| format!("{} = {}", n.text(&ctx), a.display(&ctx)))
                    .collect();
                all.sort();
                format!("{} {all:?}", m.name_text(op))
            })
            .collect()
    };
    assert_eq!(attrs(&back), attrs(&bare));
}

fn faults(body: &str) -> String {
    let text = format!(
        "func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>, %d: tensor<2x3x4xf64>) {{\n{body}\nfunc.return\n}}"
    );
    parse(&context(), &text).err().unwrap_or_default().join("\n")
}

#[test]
fn misfits_name_the_dimension_and_both_values() {
    for (body, expected) in [
        (
            "%y = nn.linear %x, %b : (tensor<2x3x4xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>",
            "'nn.linear': 'w' has type tensor<5xf32>, expected the form [K, N] (the shapes are x[..., K], w[K, N] -> y[..., N])",
        ),
        (
            "%v = nn.parameter \"v\" init = ones : tensor<7x5xf32>\n%y = nn.linear %x, %v : (tensor<2x3x4xf32>, tensor<7x5xf32>) -> tensor<2x3x5xf32>",
            "'nn.linear': dimension K of 'w' is 7, but 'x' makes it 4 / 'w' is defined here (the shapes are x[..., K], w[K, N] -> y[..., N])",
        ),
        (
            "%y = nn.linear %x, %w {transpose_w} : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x4xf32>",
            "'nn.linear': dimension K of 'w' is 5, but 'x' makes it 4 (the shapes are x[..., K], w[N, K] -> y[..., N])",
        ),
        (
            "%y = nn.linear %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x9x5xf32>",
            "'nn.linear': dimension 1 of 'y' is 9, but 'x' makes it 3 (the shapes are x[..., K], w[K, N] -> y[..., N])",
        ),
        (
            "%y = nn.linear %d, %w : (tensor<2x3x4xf64>, tensor<4x5xf32>) -> tensor<2x3x5xf32>",
            "'nn.linear': 'w' holds f32, but 'x' holds f64 (an operation computes in one element type)\n'nn.linear': 'y' holds f32, but 'x' holds f64 (an operation computes in one element type)",
        ),
        (
            "%y = nn.attention %x, %x, %x {heads = 3, kv_heads = 2} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>",
            "'nn.attention': heads = 3 does not divide dimension H*hd = 4 (the last dimension is heads of equal size, one after the other)\n'nn.attention': kv_heads = 2 does not divide heads = 3 (equally many query heads share one key and value head)",
        ),
        (
            "%y = nn.attention %x, %x, %x {heads = 4, kv_heads = 2} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>",
            "'nn.attention': the head size of 'q' is 1, but that of 'k' is 2 ('q' has heads, 'k' and 'v' have kv_heads of one size)",
        ),
        (
            "%y = nn.rotary %x {base = 10000.0, heads = 4} : tensor<2x3x4xf32>",
            "'nn.rotary': the head size 1 is odd; values turn in pairs (take fewer heads, or wider ones)",
        ),
        (
            "%y = nn.rotary %x {base = -1.0, heads = 0} : tensor<2x3x4xf32>",
            "attribute 'heads' of 'nn.rotary' must be a positive integer, but is 0\nattribute 'base' of 'nn.rotary' must be a positive floating-point number, but is -1.000000e+00",
        ),
        (
            "%y = nn.embedding_dw %t, %x {vocab = 7} : (tensor<2x3xi32>, tensor<2x3x4xf32>) -> tensor<6x4xf32>",
            "'nn.embedding_dw': dimension V of 'dw' is 6, but attribute 'vocab' makes it 7 (the shapes are tokens[B, S], dy[B, S, D] -> dw[V, D])",
        ),
        (
            "%y = nn.cross_entropy %x, %x {denominator = 6} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<f32>",
            "operand 'targets' of 'nn.cross_entropy' must be a tensor of i32 with static shape, but has type tensor<2x3x4xf32>",
        ),
        (
            "%v = nn.parameter \"v\" init = normel<0.0, 0.1> : tensor<4xf32>",
            "unknown distribution 'normel' (did you mean 'normal'?)",
        ),
        (
            "%v = nn.parameter \"v\" init = normal<0.0, -0.1> : tensor<4xf32>",
            "std = -0.1 of 'normal' is negative",
        ),
        (
            "%v = nn.parameter \"v\" init = normal<0.0> : tensor<4xf32>",
            "expected ',' and std, found '>'",
        ),
        (
            "%v = nn.parameter \"v\" init = ones : tensor<?xf32>",
            "result 'w' of 'nn.parameter' must be a tensor of f32, f64 or bf16 with static shape, but has type tensor<?xf32>",
        ),
    ] {
        assert_eq!(faults(body), expected, "{body}");
    }
}

#[test]
fn functions_calls_and_returns_are_checked_against_each_other() {
    let ctx = context();
    let faults = |text: &str| parse(&ctx, text).err().unwrap_or_default().join("\n");
    assert_eq!(
        faults("func.func @f(%a: i32) -> i64 {\nfunc.return %a : i32\n}"),
        "returns (i32), but '@f' is declared to return (i64) / '@f' is declared here"
    );
    assert_eq!(
        faults(
            "func.func @f(%a: i32) {\n%b = func.call @g(%a) : (i32) -> i64\nfunc.return\n}\nfunc.func private @g(i64) -> i64"
        ),
        "the call passes (i32), but '@g' takes (i64) / '@g' is defined here"
    );
    assert_eq!(
        faults("func.func @block(%a: i32) {\nfunc.call @blok(%a) : (i32) -> ()\nfunc.return\n}"),
        "there is no function '@blok' (did you mean '@block'?)"
    );
    assert_eq!(
        faults("func.func @f(i32)"),
        "'@f' has no body but is not private (declare it as 'func.func private @f')"
    );
    assert_eq!(
        faults("func.func @f(%a: i32)  {\n}"),
        "a block of 'func.func' must end with a terminator (end it with func.return)"
    );
    assert_eq!(
        faults(
            "\"func.func\"() <{function_type = (i32) -> (), sym_name = \"f\", arg_attrs = [{role = \"data\"}]}> ({\n^bb0(%a: i32):\n\"func.return\"() : () -> ()\n}) : () -> ()"
        ),
        "argument 0 of '@f' has attribute 'role' without a dialect (the generic form of Piper's own is 'piper.role')"
    );
    assert!(
        faults("func.func @f() {\nfunc.return\n}\nfunc.func @f() {\nfunc.return\n}")
            .starts_with("redefinition of symbol '@f'")
    );
}

#[test]
fn argument_attributes_are_found_by_their_short_name() {
    let ctx = context();
    let mut module =
        parse(&ctx, "func.func @f(%a: i32, %b: i32 {role = \"data\", x.y = 1}) {\nfunc.return\n}")
            .unwrap();
    let f = module.top_level()[0];
    assert_eq!(func::arg_attr(&module, f, 1, "role").unwrap().as_str(&ctx), Some("data"));
    assert_eq!(func::arg_attr(&module, f, 1, "x.y").unwrap().as_int(&ctx), Some(1));
    assert_eq!(func::arg_attr(&module, f, 0, "role"), None);
    func::set_arg_attr(&mut module, f, 0, "batch_dim", ctx.int_attr(3));
    assert_eq!(func::arg_attr(&module, f, 0, "batch_dim").unwrap().as_int(&ctx), Some(3));
    assert_eq!(func::arg_attr(&module, f, 1, "role").unwrap().as_str(&ctx), Some("data"));
}

fn batching(op_text: &str, along: &[Along]) -> Result<Vec<Along>, String> {
    let ctx = context();
    let text = format!(
        "func.func @f(%t: tensor<2x3xi32>, %x: tensor<2x3x4xf32>, %y: tensor<2x3x5xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>, %g: tensor<4xf32>, %s: tensor<f32>) {{\n{op_text}\nfunc.return\n}}"
    );
    let module = parse(&ctx, &text).unwrap_or_else(|e| panic!("{e:?}"));
    let f = module.top_level()[0];
    let op: Op = module.first_op(module.only_block(f).unwrap()).unwrap();
    propagate(&module, op, &factor_rule(&module, op).unwrap(), along)
}

#[test]
fn splitting_a_batch_divides_or_sums() {
    use Along::{Dim, Sum, Whole};
    const X: &str = "tensor<2x3x4xf32>";
    const Y: &str = "tensor<2x3x5xf32>";
    let linear = format!("%0 = nn.linear %x, %w : ({X}, tensor<4x5xf32>) -> {Y}");
    let biased =
        format!("%0 = nn.linear %x, %w, %b : ({X}, tensor<4x5xf32>, tensor<5xf32>) -> {Y}");
    let linear_dw = format!("%0 = nn.linear_dw %x, %y : ({X}, {Y}) -> tensor<4x5xf32>");
    let norm_dw = format!(
        "%0:2 = nn.layer_norm_dw %x, %x {{eps = 0.1}} : ({X}, {X}) -> (tensor<4xf32>, tensor<4xf32>)"
    );
    let loss = format!(
        "%0 = nn.cross_entropy %x, %t {{denominator = 6}} : ({X}, tensor<2x3xi32>) -> tensor<f32>"
    );
    let attention = format!(
        "%0:2 = nn.attention %x, %x, %x {{heads = 2, kv_heads = 2}} : ({X}, {X}, {X}) -> ({X}, tensor<2x2x3xf32>)"
    );
    let embedding = format!("%0 = nn.embedding %t, %w : (tensor<2x3xi32>, tensor<4x5xf32>) -> {Y}");
    for (op, along, expected) in [
        (&linear, &[Dim(0), Whole][..], Ok(vec![Dim(0)])),
        (&biased, &[Dim(1), Whole, Whole], Ok(vec![Dim(1)])),
        (&linear, &[Whole, Dim(1)], Ok(vec![Dim(2)])),
        (&linear, &[Dim(2), Dim(0)], Ok(vec![Sum])),
        (&linear_dw, &[Dim(0), Dim(0)], Ok(vec![Sum])),
        (&norm_dw, &[Dim(0), Dim(0)], Ok(vec![Sum, Sum])),
        (&loss, &[Dim(0), Dim(0)], Ok(vec![Sum])),
        (&attention, &[Dim(0), Dim(0), Dim(0)], Ok(vec![Dim(0), Dim(0)])),
        (&embedding, &[Dim(0), Whole], Ok(vec![Dim(0)])),
        (&linear, &[Whole, Whole], Ok(vec![Whole])),
        (&linear, &[Sum, Whole], Ok(vec![Sum])),
        (
            &biased,
            &[Sum, Whole, Whole],
            Err(
                "operand 'x' of 'nn.linear' is a partial sum over the batch, so 'bias' would be added once a part",
            ),
        ),
        (
            &biased,
            &[Dim(2), Dim(0), Whole],
            Err(
                "operand 'bias' of 'nn.linear' would be added once a part, as 'x' is split along K, over which 'nn.linear' sums",
            ),
        ),
        (
            &linear,
            &[Dim(2), Whole],
            Err(
                "operand 'w' of 'nn.linear' is whole, but 'x' is split along the dimension K that they share",
            ),
        ),
        (
            &linear_dw,
            &[Dim(0), Dim(1)],
            Err("operand 'dy' of 'nn.linear_dw' is split along its dimension 1, but 'x' along 0"),
        ),
        (
            &attention,
            &[Dim(1), Dim(1), Dim(1)],
            Err(
                "operand 'q' of 'nn.attention' cannot be split along its dimension S: every position attends to all earlier ones",
            ),
        ),
        (
            &loss,
            &[Sum, Whole],
            Err(
                "operand 'logits' of 'nn.cross_entropy' is a partial sum over the batch, and 'nn.cross_entropy' is not linear in it",
            ),
        ),
    ] {
        assert_eq!(batching(op, along), expected.map_err(str::to_owned), "{op} {along:?}");
    }
    let add = "%0 = nn.add %s, %s : tensor<f32>";
    assert_eq!(batching(add, &[Sum, Sum]), Ok(vec![Sum]));
    assert_eq!(
        batching(add, &[Sum, Whole]).unwrap_err(),
        "operand 'a' of 'nn.add' is a partial sum over the batch, but 'b' is not: it would be added once a part"
    );
    let mul = "%0 = nn.mul %s, %s : tensor<f32>";
    assert_eq!(batching(mul, &[Sum, Whole]), Ok(vec![Sum]));
    assert!(batching(mul, &[Sum, Sum]).unwrap_err().contains("a product of sums"));
    assert_eq!(batching("%0 = nn.scale %s {factor = 0.5} : tensor<f32>", &[Sum]), Ok(vec![Sum]));
}
