//! Gradients against finite differences in f64, and the shape of the backward program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use piper_dialects::{func, nn, strategy};
use piper_interp::Tensor;
use piper_interp::func::{initial_parameters, run};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{Context, Module, Op, Reporter, SourceFile, verify};
use piper_passes::autodiff;

const GPT: &str = include_str!("autodiff/gpt.pir");

fn context() -> Arc<Context> {
    Arc::new(Context::new([func::dialect(), nn::dialect(), strategy::dialect()]))
}

fn parse(ctx: &Arc<Context>, text: &str) -> Module {
    let mut reporter = Reporter::new(ctx);
    let module = parse_module(ctx, &SourceFile::new("t.pir", text), &mut reporter);
    if let Some(module) = &module {
        verify::verify(module, &mut reporter);
    }
    assert!(reporter.diagnostics().is_empty(), "{:#?}\n{text}", reporter.diagnostics());
    module.unwrap()
}

/// What autodiff says, warnings included; the module afterwards if it succeeded.
fn differentiated(text: &str) -> Result<(Module, Op, Vec<String>), Vec<String>> {
    let ctx = context();
    let mut module = parse(&ctx, text);
    let loss = module.lookup(module.root(), "loss").unwrap();
    let mut reporter = Reporter::new(&ctx);
    let result = autodiff::differentiate(&mut module, loss, &mut reporter);
    let said = reporter
        .take()
        .into_iter()
        .map(|d| {
            let (_, line, _) = d.loc.file_position(&ctx).unwrap();
            let notes: String = d.notes.iter().map(|n| format!(" / {}", n.message)).collect();
            format!("{line}: {}{notes}", d.message)
        })
        .collect();
    if result.is_err() {
        return Err(said);
    }
    let mut faults = Reporter::new(&ctx);
    verify::verify(&module, &mut faults);
    let printed = print_module(&module, PrintOptions::default());
    assert!(faults.diagnostics().is_empty(), "{:#?}\n{printed}", faults.diagnostics());
    let again = parse(&ctx, &printed);
    assert_eq!(print_module(&again, PrintOptions::default()), printed, "round trip");
    Ok((module, loss, said))
}

type Tensors = BTreeMap<String, Tensor>;

/// The function's parameters: their initial values.
fn parameters(module: &Module, loss: Op) -> Tensors {
    initial_parameters(module, loss).unwrap().into_iter().collect()
}

/// The loss, and the gradient by each parameter as the sum of its contributions.
fn gradients(module: &Module, loss: Op, args: &[Tensor], p: &Tensors) -> (f64, Tensors) {
    let out = run(module, loss, args, &|name| p[name].clone()).unwrap();
    let names = module.attr_by(loss, autodiff::GRADIENTS).unwrap();
    let names = names.as_array(module.ctx()).unwrap();
    assert_eq!(names.len() + 1, out.len());
    let mut sums = Tensors::new();
    for (name, contribution) in names.iter().zip(&out[1..]) {
        let name = name.as_str(module.ctx()).unwrap();
        sums.entry(name.to_owned())
            .and_modify(|sum| *sum = piper_interp::ops::add::<f64>(sum, contribution).unwrap())
            .or_insert_with(|| contribution.clone());
    }
    (out[0].to_f64()[0], sums)
}

/// Compares all gradients with central differences of the undifferentiated function.
fn check(text: &str, args: &[Tensor]) -> Tensors {
    let plain = parse(&context(), text);
    let f = plain.lookup(plain.root(), "loss").unwrap();
    let p = parameters(&plain, f);
    let (module, loss, _) = differentiated(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let (value, analytic) = gradients(&module, loss, args, &p);
    let eval = |p: &Tensors| run(&plain, f, args, &|name| p[name].clone()).unwrap()[0].to_f64()[0];
    assert_eq!(value, eval(&p), "the loss itself is untouched");
    let h = 1e-5;
    for (name, gradient) in &analytic {
        assert_eq!(gradient.shape, p[name].shape, "{name}");
        for (i, &analytic) in gradient.to_f64().iter().enumerate() {
            let moved = |by: f64| {
                let mut p = p.clone();
                p.get_mut(name).unwrap().values_mut::<f64>().unwrap()[i] += by;
                eval(&p)
            };
            let numeric = (moved(h) - moved(-h)) / (2.0 * h);
            assert!(
                (numeric - analytic).abs() < 1e-8,
                "{name}[{i}]: {analytic} but differences give {numeric}\n{text}"
            );
        }
    }
    analytic
}

fn tokens(shape: [usize; 2], vocab: i32, step: i32) -> Tensor {
    let count = (shape[0] * shape[1]) as i32;
    Tensor::new(shape, (0..count).map(|i| (i * step + i * i) % vocab).collect()).unwrap()
}

#[test]
fn every_rule_agrees_with_differences() {
    const X: &str = "tensor<2x3x4xf64>";
    let x =
        |name: &str| format!("%{name} = nn.parameter \"{name}\" init = normal<0.1, 0.7> : {X}\n");
    let p = |name: &str, ty: &str| {
        format!("%{name} = nn.parameter \"{name}\" init = normal<0.1, 0.7> : {ty}\n")
    };
    let (v, m, k) = ("tensor<4xf64>", "tensor<4x4xf64>", "tensor<2x3x2xf64>");
    // Parameters and body (which defines %y), and the parameters that must get a gradient.
    let cases: Vec<(String, &str)> = vec![
        (x("a") + &x("b") + &format!("%y = nn.add %a, %b : {X}"), "a b"),
        (x("a") + &format!("%y = nn.add %a, %a : {X}"), "a"),
        (x("a") + &x("b") + &format!("%y = nn.mul %a, %b : {X}"), "a b"),
        (x("a") + &format!("%y = nn.mul %a, %a : {X}"), "a"),
        (x("a") + &format!("%y = nn.scale %a {{factor = -1.7}} : {X}"), "a"),
        (x("a") + &format!("%y = nn.gelu %a : {X}"), "a"),
        (x("a") + &format!("%y = nn.silu %a : {X}"), "a"),
        (
            x("a")
                + &p("g", v)
                + &p("b", v)
                + &format!("%y = nn.layer_norm %a, %g, %b {{eps = 0.1}} : ({X}, {v}, {v}) -> {X}"),
            "a b g",
        ),
        (
            x("a")
                + &p("g", v)
                + &format!("%y = nn.rms_norm %a, %g {{eps = 0.1}} : ({X}, {v}) -> {X}"),
            "a g",
        ),
        (
            x("a")
                + &p("w", m)
                + &p("b", v)
                + &format!("%y = nn.linear %a, %w, %b : ({X}, {m}, {v}) -> {X}"),
            "a b w",
        ),
        (
            x("a")
                + &p("w", m)
                + &format!("%y = nn.linear %a, %w {{transpose_w}} : ({X}, {m}) -> {X}"),
            "a w",
        ),
        (
            p("w", "tensor<5x4xf64>")
                + &format!("%y = nn.embedding %t, %w : (tensor<2x3xi32>, tensor<5x4xf64>) -> {X}"),
            "w",
        ),
        (
            x("q")
                + &p("k", k)
                + &p("v", k)
                + &format!(
                    "%y = nn.attention %q, %k, %v {{heads = 4, kv_heads = 2}} : ({X}, {k}, {k}) -> {X}"
                ),
            "k q v",
        ),
        (
            x("q")
                + &format!(
                    "%y, %lse = nn.attention %q, %q, %q {{heads = 1, kv_heads = 1}} : ({X}, {X}, {X}) -> ({X}, tensor<2x1x3xf64>)"
                ),
            "q",
        ),
        (x("a") + &format!("%y = nn.rotary %a {{heads = 2, base = 100.0}} : {X}"), "a"),
        (x("a") + &format!("%y = nn.rotary %a {{heads = 1, base = 100.0, inverse}} : {X}"), "a"),
        // No gradient through one of two paths.
        (
            x("a")
                + &format!(
                    "%s = nn.stop_gradient %a : {X}\n%y = nn.mul %d, %a : {X}\n%u = nn.mul %s, %d : {X}"
                ),
            "a",
        ),
        // A value computed from parameters alone, used twice.
        (
            p("w", m)
                + &format!(
                    "%w2 = nn.scale %w {{factor = 0.5}} : {m}\n%d1 = nn.linear %d, %w2 : ({X}, {m}) -> {X}\n%y = nn.linear %d1, %w2 : ({X}, {m}) -> {X}"
                ),
            "w",
        ),
    ];
    let d = piper_interp::ops::parameter::<f64>(
        "d",
        &[2, 3, 4],
        piper_interp::Init::Normal { mean: 0.0, std: 1.0 },
    )
    .unwrap();
    for (body, expected) in cases {
        let text = format!(
            "func.func @loss(%t: tensor<2x3xi32>, %d: {X}) -> tensor<f64> {{\n{body}\n\
             %l = nn.cross_entropy %y, %t {{denominator = 5}} : ({X}, tensor<2x3xi32>) -> tensor<f64>\n\
             func.return %l : tensor<f64>\n}}"
        );
        let gradients = check(&text, &[tokens([2, 3], 4, 2), d.clone()]);
        let names: Vec<_> = gradients.keys().map(String::as_str).collect();
        assert_eq!(names.join(" "), expected, "{text}");
        let zero = gradients.values().any(|g| g.to_f64().iter().all(|v| v.abs() < 1e-12));
        assert!(!zero, "a gradient that is zero proves nothing\n{text}");
    }
}

#[test]
fn a_gpt_with_skips_branches_and_a_tied_embedding_agrees_with_differences() {
    let args = [tokens([2, 4], 7, 2), tokens([2, 4], 7, 3)];
    let gradients = check(GPT, &args);
    assert_eq!(gradients.len(), 14);
}

fn text(module: &Module, op: Op, attr: &str) -> Option<String> {
    module.attr_by(op, attr).map(|a| a.display(module.ctx()))
}

#[test]
fn segments_and_passes_of_the_backward_program() {
    let (module, loss, said) = differentiated(GPT).unwrap();
    assert!(said.is_empty(), "{said:?}");
    let names = text(&module, loss, "gradients").unwrap();
    assert_eq!(names.matches("\"wte\"").count(), 2, "one contribution a segment: {names}");
    assert!(names.starts_with("[\"wte\", \"wte\", \"h0.norm1\""), "{names}");

    let block = module.only_block(loss).unwrap();
    let body: Vec<Op> = module.ops(block).collect();
    let (end, ops) = body.split_last().unwrap();
    let ops: Vec<Op> =
        ops.iter().copied().filter(|op| nn::Parameter::cast(&module, *op).is_none()).collect();
    let pass = |op: Op| module.attr_by(op, "pass").unwrap().as_str(module.ctx()).unwrap();
    let tags = |op: Op| text(&module, op, "tags").unwrap();
    let forward_tags: BTreeSet<String> =
        ops.iter().filter(|op| pass(**op) == "F").map(|op| tags(*op)).collect();
    let mut forward_edges = BTreeSet::new();
    let mut backward_edges = BTreeSet::new();
    for &op in &ops {
        assert!(forward_tags.contains(&tags(op)), "a backward operation stands in a segment");
        for value in module.operands(op) {
            let Some(def) = module.defining_op(value) else { continue };
            if nn::Parameter::cast(&module, def).is_some() {
                continue;
            }
            assert!(
                !matches!((pass(def), pass(op)), ("BW", "BI" | "F") | ("BI", "F")),
                "{} uses {}",
                module.name_text(op),
                module.name_text(def)
            );
            let edge = (tags(def), tags(op));
            match (pass(def), pass(op)) {
                ("F", "F") => forward_edges.insert(edge),
                ("BI", "BI" | "BW") => backward_edges.insert((edge.1, edge.0)),
                _ => true,
            };
        }
        if pass(op) != "F" {
            assert!(module.has_used_result(op), "{} is not needed", module.name_text(op));
        }
    }
    // Cotangents go back the way the values came, and no other way.
    let crossing = |edges: BTreeSet<(String, String)>| -> BTreeSet<(String, String)> {
        edges.into_iter().filter(|(a, b)| a != b).collect()
    };
    assert_eq!(crossing(backward_edges), crossing(forward_edges));
    // Every contribution is a value of its own, made in the weight-gradient pass.
    let contributions: Vec<_> = module.operands(*end).skip(1).collect();
    let unique: BTreeSet<_> = contributions.iter().map(|v| format!("{v:?}")).collect();
    assert_eq!(unique.len(), contributions.len());
    for value in contributions {
        assert_eq!(pass(module.defining_op(value).unwrap()), "BW");
    }
}

#[test]
fn cotangents_of_data_are_not_computed() {
    let (module, loss, _) = differentiated(
        "func.func @loss(%x: tensor<4x2xf32>, %t: tensor<4xi32>) -> tensor<f32> {
           %w = nn.parameter \"w\" init = ones : tensor<2x8xf32>
           %g = nn.gelu %x : tensor<4x2xf32>
           %z = nn.linear %g, %w : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
           %l = nn.cross_entropy %z, %t {denominator = 4} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<f32>
           func.return %l : tensor<f32>
         }",
    )
    .unwrap();
    let names: Vec<_> = module
        .ops(module.only_block(loss).unwrap())
        .map(|op| {
            format!("{} {}", module.name_text(op), text(&module, op, "pass").unwrap_or_default())
        })
        .collect();
    assert_eq!(
        names,
        [
            "nn.parameter ",
            "nn.gelu \"F\"",
            "nn.linear \"F\"",
            "nn.cross_entropy \"F\"",
            "nn.constant \"BI\"",
            "nn.cross_entropy_dx \"BI\"",
            "nn.linear_dw \"BW\"",
            "func.return "
        ]
    );
}

#[test]
fn what_cannot_be_differentiated_is_said_at_the_operation() {
    let wrap = |body: &str| {
        format!(
            "func.func @loss(%x: tensor<2x4xf32>, %t: tensor<2xi32>) -> tensor<f32> {{\n\
             %w = nn.parameter \"w\" init = ones : tensor<2x4xf32>\n{body}\n\
             %l = nn.cross_entropy %y, %t {{denominator = 2}} : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>\n\
             func.return %l : tensor<f32>\n}}\n\
             func.func @f(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {{\nfunc.return %x : tensor<2x4xf32>\n}}"
        )
    };
    let said = |body: &str| differentiated(&wrap(body)).err().unwrap().join("\n");
    assert_eq!(
        said("%y = nn.gelu_dx %w, %x : tensor<2x4xf32>"),
        "3: 'nn.gelu_dx' is not differentiable"
    );
    assert_eq!(
        said("%y = func.call @f(%w) : (tensor<2x4xf32>) -> tensor<2x4xf32>"),
        "3: 'func.call' cannot be differentiated as a whole"
    );
    assert_eq!(
        said("%y = nn.stop_gradient %w : tensor<2x4xf32>"),
        "1: the loss does not depend on any parameter"
    );
    assert_eq!(
        said(
            "%v = nn.parameter \"w\" init = zeros : tensor<2x4xf32>\n%y = nn.add %w, %v : tensor<2x4xf32>"
        ),
        "3: parameter 'w' has another initialiser here than where it was declared first / 'w' is declared here"
    );
    let (_, _, warned) = differentiated(&wrap(
        "%u = nn.parameter \"u\" init = ones : tensor<3xf32>\n%y = nn.gelu %w : tensor<2x4xf32>",
    ))
    .unwrap();
    assert_eq!(warned, ["3: parameter 'u' does not influence the loss and will not be trained"]);
    let two = "func.func @loss(%a: tensor<f32>) -> (tensor<f32>, tensor<f32>) {\nfunc.return %a, %a : tensor<f32>, tensor<f32>\n}";
    assert_eq!(
        differentiated(two).err().unwrap(),
        ["2: '@loss' returns 2 values; a loss is one scalar"]
    );
    let wide =
        "func.func @loss(%a: tensor<2xf32>) -> tensor<2xf32> {\nfunc.return %a : tensor<2xf32>\n}";
    assert_eq!(
        differentiated(wide).err().unwrap(),
        ["2: '@loss' returns tensor<2xf32>; only a scalar can be differentiated"]
    );
    let called = "func.func @loss(%a: tensor<f32>) -> tensor<f32> {\nfunc.return %a : tensor<f32>\n}\nfunc.func @g(%a: tensor<f32>) {\n%b = func.call @loss(%a) : (tensor<f32>) -> tensor<f32>\nfunc.return\n}";
    assert_eq!(
        differentiated(called).err().unwrap(),
        [
            "5: '@loss' is to be differentiated and cannot be called as well / '@loss' is defined here"
        ]
    );
    let lse = wrap("%y, %s = nn.attention %z, %z, %z {heads = 1, kv_heads = 1} : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x1x2xf32>)")
        .replace("%t: tensor<2xi32>", "%t: tensor<1x1xi32>")
        .replace("nn.parameter \"w\" init = ones : tensor<2x4xf32>", "nn.parameter \"w\" init = ones : tensor<1x2x4xf32>")
        .replace("%z", "%w")
        .replace("cross_entropy %y", "cross_entropy %s")
        .replace("(tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>", "(tensor<1x1x2xf32>, tensor<1x1xi32>) -> tensor<f32>");
    assert_eq!(
        differentiated(&lse).err().unwrap(),
        ["3: result 1 of 'nn.attention' is not differentiable"]
    );
}
