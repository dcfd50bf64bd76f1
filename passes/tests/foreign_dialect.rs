//! A dialect that nobody in this workspace knows is differentiated, divided and fused through its interfaces alone.

use std::sync::Arc;

use piper_dialects::kernel::Fusion;
use piper_dialects::nn;
use piper_ir::interfaces::differentiable::emit_value;
use piper_ir::interfaces::shardable::{factor_rule, propagate};
use piper_ir::interfaces::{
    Along, Backward, Cost, CostModel, Differentiable, FactorRule, Shardable, Trainable,
};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{
    AttrConstraint, Context, Dialect, Module, Op, Reporter, SourceFile, TypeConstraint, Value,
    verify,
};
use piper_passes::{autodiff, kernelize};

piper_ir::dialect_ops! {
    /// The sine of every value.
    Sin = "wave.sin" {
        operands: { x: one(TypeConstraint::FloatTensor) },
        results: { y: one(TypeConstraint::FloatTensor) },
        traits: [Pure],
        format: "$x attr-dict `:` type($y)",
        interfaces: [
            Differentiable::Rule(sin_backward), Shardable(pointwise), CostModel(twelve), Fusion::Elementwise,
        ],
    }

    /// The cosine of every value.
    Cos = "wave.cos" {
        operands: { x: one(TypeConstraint::FloatTensor) },
        results: { y: one(TypeConstraint::FloatTensor) },
        traits: [Pure],
        format: "$x attr-dict `:` type($y)",
        interfaces: [Shardable(pointwise), CostModel(twelve), Fusion::Elementwise],
    }

    /// A trained tensor.
    Weight = "wave.weight" {
        results: { w: one(TypeConstraint::FloatTensor) },
        attrs: { name: one(AttrConstraint::Str) },
        traits: [Pure],
        format: "$name attr-dict `:` type($w)",
        interfaces: [Trainable { name: weight_name }],
    }

    /// The identity, through which no gradient flows.
    Freeze = "wave.freeze" {
        operands: { x: one(TypeConstraint::FloatTensor) },
        results: { y: one(TypeConstraint::FloatTensor) },
        traits: [Pure],
        format: "$x attr-dict `:` type($y)",
        interfaces: [Differentiable::Stops],
    }
}

fn weight_name(module: &Module, op: Op) -> &str {
    Weight(op).name(module).as_str(module.ctx()).unwrap_or_default()
}

fn pointwise(module: &Module, op: Op) -> FactorRule {
    let ty = module.ty(module.result(op, 0));
    FactorRule::elementwise(ty.as_tensor(module.ctx()).map_or(&[], |(shape, _)| shape), 1, 1)
}

fn twelve(module: &Module, op: Op) -> Cost {
    Cost::moving_all(module, op, 12)
}

fn sin_backward(cx: &mut dyn Backward, op: Op, dy: Value) {
    let x = Sin(op).x(cx.module());
    let slope = emit_value(cx, Cos::NAME, &[x], x, op, &[]);
    let dx = emit_value(cx, nn::Mul::NAME, &[dy, slope], x, op, &[]);
    cx.give(x, dx);
}

fn context() -> Arc<Context> {
    let wave = Dialect { name: "wave".into(), ops: op_defs(), ..Dialect::default() };
    Arc::new(Context::new(piper_dialects::all().into_iter().chain([wave])))
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

/// The lines of a function's body.
fn lines(module: &Module) -> Vec<String> {
    let text = print_module(module, PrintOptions::default());
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn its_gradient_goes_by_its_own_rule() {
    let ctx = context();
    let mut module = parse(
        &ctx,
        "func.func @loss() -> tensor<f32> {
           %a = wave.weight \"a\" : tensor<f32>
           %b = wave.weight \"b\" : tensor<f32>
           %s = wave.sin %a : tensor<f32>
           %f = wave.freeze %b : tensor<f32>
           %l = nn.mul %s, %f : tensor<f32>
           func.return %l : tensor<f32>
         }",
    );
    let loss = module.lookup(module.root(), "loss").unwrap();
    let mut reporter = Reporter::new(&ctx);
    let emitted =
        autodiff::differentiate(&mut module, loss, &mut reporter).expect("it is differentiable");
    assert!(reporter.diagnostics().is_empty(), "{:#?}", reporter.diagnostics());
    let mut faults = Reporter::new(&ctx);
    verify::verify(&module, &mut faults);
    assert!(faults.diagnostics().is_empty(), "{:#?}", faults.diagnostics());
    // d a = (d l f) cos a; b is frozen.
    let text = lines(&module).join("\n");
    for line in [
        "func.func @loss() -> (tensor<f32>, tensor<f32>) attributes {gradients = [\"a\"]} {",
        "%d_l = nn.constant {pass = \"BW\", value = 1.000000e+00} : tensor<f32>",
        "%d_s = nn.mul %d_l, %f {pass = \"BW\"} : tensor<f32>",
        "%0 = wave.cos %a {pass = \"BW\"} : tensor<f32>",
        "%d_a = nn.mul %d_s, %0 {pass = \"BW\"} : tensor<f32>",
        "func.return %l, %d_a : tensor<f32>, tensor<f32>",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(emitted, 4);
}

#[test]
fn what_it_does_not_say_is_an_error_that_lists_what_others_say() {
    let ctx = context();
    let mut module = parse(
        &ctx,
        "func.func @loss() -> tensor<f32> {
           %a = wave.weight \"a\" : tensor<f32>
           %c = wave.cos %a : tensor<f32>
           func.return %c : tensor<f32>
         }",
    );
    let loss = module.lookup(module.root(), "loss").unwrap();
    let mut reporter = Reporter::new(&ctx);
    assert!(autodiff::differentiate(&mut module, loss, &mut reporter).is_err());
    let error = &reporter.diagnostics()[0];
    assert_eq!(error.message, "'wave.cos' is not differentiable");
    let hint = error.hint.as_deref().unwrap();
    assert!(hint.contains("nn.linear") && hint.contains("wave.sin"), "{hint}");
}

#[test]
fn it_is_divided_by_its_factor_rule() {
    let ctx = context();
    let module = parse(
        &ctx,
        "func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
           %y = wave.sin %x : tensor<4x8xf32>
           func.return %y : tensor<4x8xf32>
         }",
    );
    let sin = module.walk(module.root()).find(|op| Sin::cast(&module, *op).is_some()).unwrap();
    let rule = factor_rule(&module, sin).unwrap();
    assert_eq!(propagate(&module, sin, &rule, &[Along::Dim(1)]), Ok(vec![Along::Dim(1)]));
    assert_eq!(
        propagate(&module, sin, &rule, &[Along::Sum]).unwrap_err(),
        "operand 'x' of 'wave.sin' is a partial sum over the batch, and 'wave.sin' is not linear in it"
    );
}

#[test]
fn it_is_fused_with_its_neighbours() {
    let ctx = context();
    let mut module = parse(
        &ctx,
        "func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
           %h = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
           %y = wave.sin %h : tensor<4x8xf32>
           %z = nn.add %y, %x : tensor<4x8xf32>
           func.return %z : tensor<4x8xf32>
         }",
    );
    let mut reporter = Reporter::new(&ctx);
    assert_eq!(kernelize::run(&mut module, &mut reporter).expect("kernels"), 1);
    let text = lines(&module).join("\n");
    // 2 * 4 * 8 * 8 of the product, 12 of the sine, 32 of the sum.
    assert!(text.contains("flops = 556"), "{text}");
}
