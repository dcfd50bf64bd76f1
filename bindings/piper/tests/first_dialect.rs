//! The code of docs/first-dialect.md: an operation as data, an operation as code, and a model of each that trains to the same
//! numbers as one that is written with built-in operations.

use piper::dialects::nn;
use piper::ir::interfaces::cost::elements;
use piper::ir::interfaces::differentiable::emit_value;
use piper::ir::interfaces::shardable::{factor_rule, propagate};
use piper::ir::interfaces::{
    Along, Backward, Cost, CostModel, Differentiable, Expand, FactorRule, Fold, FoldInput, Folded,
    Shardable, cost,
};
use piper::ir::{
    AttrConstraint, Builder, Dialect, Module, Op, Reporter, TypeConstraint, Value, dialect_ops,
};
use piper::{CompileOptions, Compiler, Kernels, Numbers, TensorValue};

const MINE: &str = include_str!("../../../examples/first-dialect/mine.pir");
const MODEL: &str = include_str!("../../../examples/first-dialect/model.pir");

dialect_ops! {
    /// A whole power of every value.
    Power = "ours.power" {
        operands: { x: one(TypeConstraint::FloatTensor) },
        results: { y: one(TypeConstraint::FloatTensor) },
        attrs: { exponent: one(AttrConstraint::Int) },
        traits: [Pure, SameOperandsAndResultType],
        format: "$x `to` $exponent attr-dict `:` type($y)",
        verify: verify_power,
        interfaces: [
            Fold(fold_power), Differentiable::Rule(power_backward), CostModel(power_cost), Shardable(pointwise),
            Expand(expand_power),
        ],
    }
}

fn exponent(module: &Module, op: Op) -> i64 {
    Power(op).exponent(module).as_int(module.ctx()).unwrap_or(1)
}

fn verify_power(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let exponent = exponent(module, op);
    if exponent < 1 {
        let message = format!("the exponent of 'ours.power' must be 1 or more, but is {exponent}");
        reporter.error(module.op_loc(op), message);
    }
}

/// The first power is the value itself.
fn fold_power(input: &FoldInput<'_>) -> Folded {
    match exponent(input.module, input.op) {
        1 => input.operand(0).into(),
        _ => Folded::No,
    }
}

/// `dx = dy * n x^(n-1)`
fn power_backward(cx: &mut dyn Backward, op: Op, dy: Value) {
    let (x, n) = (Power(op).x(cx.module()), exponent(cx.module(), op));
    let mut slope = dy;
    for _ in 1..n {
        slope = emit_value(cx, nn::Mul::NAME, &[slope, x], x, op, &[]);
    }
    let dx = emit_value(cx, nn::Scale::NAME, &[slope], x, op, &[]);
    let module = cx.module_mut();
    let (scale, factor) = (module.defining_op(dx), module.ctx().float_attr(n as f64));
    module.set_attr_by(scale.expect("just emitted"), "factor", factor);
    cx.give(x, dx);
}

fn power_cost(module: &Module, op: Op) -> Cost {
    let products = u64::try_from(exponent(module, op) - 1).unwrap_or(0);
    Cost::moving_all(module, op, products * elements(module, module.result(op, 0)))
}

fn pointwise(module: &Module, op: Op) -> FactorRule {
    let ty = module.ty(module.result(op, 0));
    FactorRule::elementwise(ty.as_tensor(module.ctx()).map_or(&[], |(shape, _)| shape), 1, 1)
}

/// `x * x * ...`: what interpreter and code generation compute.
fn expand_power(b: &mut Builder<'_>, op: Op) -> Result<Vec<Value>, String> {
    let (x, n) = (Power(op).x(b.module), exponent(b.module, op));
    let mut y = x;
    for _ in 1..n {
        y = nn::Mul::build(b).a(y).b(x).create_value().map_err(|error| error.to_string())?;
    }
    Ok(vec![y])
}

fn ours() -> Dialect {
    Dialect { name: "ours".into(), ops: op_defs(), ..Dialect::default() }
}

const SWIGLU: &str = "%a = mine.swiglu %g, %u : tensor<8x16x32xf32>";

/// The losses of some steps.
fn losses(compiler: &Compiler, text: &str) -> Vec<f64> {
    let program = compiler.parse("model.pir", text).unwrap_or_else(|failure| panic!("{failure}"));
    let options = CompileOptions { kernels: Kernels::Interpreted, ..CompileOptions::default() };
    let executable =
        compiler.compile(program, &options).unwrap_or_else(|failure| panic!("{failure}"));
    let mut training = executable.train(piper::runtime::Options::default()).expect("it loads");
    let tokens = |shift: i32| TensorValue {
        shape: vec![8, 16],
        dtype: piper::plan::DType::I32,
        bytes: (0..128).flat_map(|i| ((i * 7 + shift) % 64).to_ne_bytes()).collect(),
    };
    let batch =
        Numbers::from([("tokens".to_owned(), tokens(0)), ("targets".to_owned(), tokens(3))]);
    let step = |_| training.step(&batch).expect("a step").number("loss").expect("a loss");
    (0..4).map(step).collect()
}

#[test]
fn an_operation_that_is_data_trains_like_its_expansion() {
    let mut compiler = Compiler::new();
    compiler.register_dialect_text("mine.pir", MINE).expect("the example is right");
    let by_hand = "%s = nn.silu %g : tensor<8x16x32xf32>\n%a = nn.mul %s, %u : tensor<8x16x32xf32>";
    let found = losses(&compiler, MODEL);
    assert!(found[3] < found[0], "{found:?}");
    // To the last bit: they are the same kernels.
    assert_eq!(found, losses(&Compiler::new(), &MODEL.replace(SWIGLU, by_hand)));
}

#[test]
fn an_operation_that_is_code_trains_like_what_it_computes() {
    let mut compiler = Compiler::new();
    compiler.register_dialect(ours()).expect("a free name");
    let power = "%a = ours.power %g to 3 : tensor<8x16x32xf32>";
    let by_hand =
        "%s = nn.mul %g, %g : tensor<8x16x32xf32>\n%a = nn.mul %s, %g : tensor<8x16x32xf32>";
    let without_up = MODEL.lines().filter(|line| !line.contains("%wu")).collect::<Vec<_>>();
    let model = |layer: &str| without_up.join("\n").replace(SWIGLU, layer);
    let (found, wanted) =
        (losses(&compiler, &model(power)), losses(&Compiler::new(), &model(by_hand)));
    // Its own backward rule adds and multiplies in another order.
    for (found, wanted) in found.iter().zip(&wanted) {
        assert!((found - wanted).abs() < 1e-6 * wanted, "{found} {wanted}");
    }
    assert!(found[3] < found[0], "{found:?}");
}

#[test]
fn every_hook_of_an_operation_that_is_code_is_asked() {
    let mut compiler = Compiler::new();
    compiler.register_dialect(ours()).expect("a free name");
    let function = |exponent: i64| {
        format!(
            "func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {{
               %y = ours.power %x to {exponent} : tensor<4x8xf32>
               func.return %y : tensor<4x8xf32>
             }}"
        )
    };
    let failure = compiler.parse("f.pir", &function(0)).expect_err("the verifier");
    assert_eq!(
        failure.messages()[0].text,
        "the exponent of 'ours.power' must be 1 or more, but is 0"
    );
    let mut program = compiler.parse("f.pir", &function(1)).expect("right");
    compiler.run(&mut program, "canonicalize").expect("it folds");
    assert!(!program.text().contains("ours.power"), "{}", program.text());

    let mut program = compiler.parse("f.pir", &function(3)).expect("right");
    let module = &program.module;
    let op = module.walk(module.root()).find(|op| Power::cast(module, *op).is_some()).unwrap();
    assert_eq!(cost::cost(module, op), Some(Cost { flops: 64, read: 128, written: 128 }));
    let rule = factor_rule(module, op).expect("it has one");
    assert_eq!(propagate(module, op, &rule, &[Along::Dim(0)]), Ok(vec![Along::Dim(0)]));
    // One with a backward rule waits for autodiff.
    compiler.run(&mut program, "expand-ops").expect("nothing to do");
    assert!(program.text().contains("ours.power"), "{}", program.text());
    compiler.run(&mut program, "expand-ops{differentiable=true}").expect("it expands");
    let text = program.text();
    assert_eq!(text.matches("nn.mul").count(), 2, "{text}");
    assert!(!text.contains("ours.power"), "{text}");
}

/// The batch is divided by the rules of the operations themselves, before they are expanded.
#[test]
fn it_is_divided_into_microbatches_by_its_own_rule() {
    let mut compiler = Compiler::new();
    compiler.register_dialect(ours()).expect("a free name");
    let power = "%a = ours.power %g to 3 : tensor<8x16x32xf32>";
    let text: Vec<&str> = MODEL.lines().filter(|line| !line.contains("%wu")).collect();
    let mut program =
        compiler.parse("model.pir", &text.join("\n").replace(SWIGLU, power)).expect("right");
    compiler
        .run_with_implied(&mut program, "pipeline")
        .unwrap_or_else(|failure| panic!("{failure}"));
    let text = program.text();
    assert!(text.contains("ours.power %") && text.contains(": tensor<2x16x32xf32>"), "{text}");
}

#[test]
fn what_is_wrong_with_a_definition_has_its_place() {
    let mut compiler = Compiler::new();
    let text = MINE.replace("attr-dict `:` type($y)", "attr-dict `:` type($z)");
    let failure = compiler.register_dialect_text("mine.pir", &text).expect_err("no such result");
    let message = &failure.messages()[0];
    let place = message.place.as_ref().expect("a place");
    let line = 1 + MINE.lines().position(|line| line.contains("piper.format")).unwrap();
    assert_eq!((place.file.as_str(), place.line as usize), ("mine.pir", line));
    assert_eq!(
        message.text,
        "format of 'mine.swiglu': there is no operand or result 'z'; did you mean '$y'?"
    );
    let failure = compiler.register_dialect_text("nn.pir", "irdl.dialect @nn {}");
    assert!(failure.expect_err("taken").to_string().contains("there is a dialect 'nn' already"));
}

/// The page shows this code and these files.
#[test]
fn the_page_shows_what_is_tested() {
    let page = include_str!("../../../docs/first-dialect.md");
    let shown = [MINE, MODEL, include_str!("first_dialect.rs")];
    let blocks = page.split("```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| block.split_once('\n'));
    let code: Vec<&str> = blocks
        .filter(|(language, _)| matches!(*language, "rust" | "mlir"))
        .map(|(_, code)| code)
        .collect();
    assert!(code.len() >= 4, "{}", code.len());
    for block in code {
        assert!(shown.iter().any(|file| file.contains(block.trim_end())), "not tested:\n{block}");
    }
}
