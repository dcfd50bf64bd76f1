//! Functions that are only declared: shares of their cost add up, and they are divided as they say.

use std::sync::Arc;

use piper_dialects::nn::GivenCostOf;
use piper_ir::interfaces::shardable::{Along, factor_rule, propagate};
use piper_ir::text::parse_module;
use piper_ir::verify::verify;
use piper_ir::{Context, Module, Op, Reporter, SourceFile};

/// Batch 24, sharded 12; the gradient in halves. Everything is 1/`batch` and 1/`shard` of what is declared.
fn module(batch: usize, shard: usize) -> Module {
    let (b, s) = (24 / batch, 12 / shard);
    let text = format!(
        r#"
func.func private @f(tensor<24x5xf32> {{batch_dim = 0}}, tensor<7x12xf32> {{shard_dim = 1}}, tensor<5xf32>)
  -> (tensor<24x5xf32> {{batch_dim = 0, shard_sum}}, tensor<24x12xf32> {{batch_dim = 0, shard_dim = 1}})
  attributes {{cost = {{flops = 2.4e6, seconds = 1.0}}, vjp = {{input = {{flops = 4.8e6}}, weight = {{bytes = 1.2e6}}, saved = {{operands = [0, 1, 2], results = [1]}}}}}}
func.func @g(%x: tensor<{b}x5xf32>, %w: tensor<7x{s}xf32>, %n: tensor<5xf32>, %dy: tensor<{b}x5xf32>) {{
  %y, %r = nn.opaque @f(%x, %w, %n) : (tensor<{b}x5xf32>, tensor<7x{s}xf32>, tensor<5xf32>) -> (tensor<{b}x5xf32>, tensor<{b}x{s}xf32>)
  %dx = nn.opaque_dx @f(%x, %w, %n, %r, %dy) {{saved = array<i64: 0, 1, 2, 4>, wrt = array<i64: 0>}} : (tensor<{b}x5xf32>, tensor<7x{s}xf32>, tensor<5xf32>, tensor<{b}x{s}xf32>, tensor<{b}x5xf32>) -> tensor<{b}x5xf32>
  %dw, %dn = nn.opaque_dw @f(%x, %r, %dy) {{saved = array<i64: 0, 4>, wrt = array<i64: 1, 2>}} : (tensor<{b}x5xf32>, tensor<{b}x{s}xf32>, tensor<{b}x5xf32>) -> (tensor<7x{s}xf32>, tensor<5xf32>)
  func.return
}}
"#
    );
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("f.pir", &*text), &mut reporter);
    let module = module.unwrap_or_else(|| panic!("{:?}", reporter.diagnostics()));
    assert!(verify(&module, &mut reporter), "{:?}", reporter.diagnostics());
    module
}

/// Forward, gradient of activations, gradient of parameters.
fn parts(module: &Module) -> [Op; 3] {
    let ops = module.walk(module.root());
    let found: Vec<Op> = ops.filter(|op| module.name_text(*op).starts_with("nn.opaque")).collect();
    found.try_into().expect("three operations")
}

#[test]
fn shares_of_a_cost_add_up() {
    for batch in [1, 2, 3, 4, 6, 8, 12, 24] {
        for shard in [1, 2, 3, 4, 6, 12] {
            let module = module(batch, shard);
            let [forward, dx, dw] =
                parts(&module).map(|op| GivenCostOf::of(&module, op).expect("has a cost"));
            let whole = |number: Option<f64>| number.map(|n| (n * (batch * shard) as f64).round());
            assert_eq!((whole(forward.flops), forward.bytes), (Some(2.4e6), None));
            let seconds = forward.seconds.expect("stated") * (batch * shard) as f64;
            assert!((seconds - 1.0).abs() < 1e-12, "{seconds}");
            assert_eq!((whole(dx.flops), dx.seconds), (Some(4.8e6), None));
            assert_eq!((dw.flops, whole(dw.bytes)), (None, Some(1.2e6)));
        }
    }
}

#[test]
fn they_are_divided_as_they_say() {
    use Along::{Dim, Sum, Whole};
    let module = module(1, 1);
    let [forward, dx, dw] = parts(&module);
    let divided = |op, along: &[Along]| {
        let rule = factor_rule(&module, op).expect("has a rule");
        propagate(&module, op, &rule, along)
    };
    // The batch.
    assert_eq!(divided(forward, &[Dim(0), Whole, Whole]), Ok(vec![Dim(0), Dim(0)]));
    assert_eq!(divided(dx, &[Dim(0), Whole, Whole, Dim(0), Dim(0)]), Ok(vec![Dim(0)]));
    assert_eq!(divided(dw, &[Dim(0), Dim(0), Dim(0)]), Ok(vec![Sum, Sum]));
    // What is sharded: the first result is a sum, and so are gradients of what every part reads.
    assert_eq!(divided(forward, &[Whole, Dim(1), Whole]), Ok(vec![Sum, Dim(1)]));
    assert_eq!(divided(dx, &[Whole, Dim(1), Whole, Dim(1), Whole]), Ok(vec![Sum]));
    assert_eq!(divided(dw, &[Whole, Dim(1), Whole]), Ok(vec![Dim(1), Sum]));
    // Linear in the cotangent and in nothing else.
    assert_eq!(divided(dx, &[Whole, Whole, Whole, Whole, Sum]), Ok(vec![Sum]));
    assert!(divided(forward, &[Sum, Whole, Whole]).is_err());
    let why = divided(forward, &[Dim(1), Whole, Whole]).expect_err("not named");
    assert!(why.contains("'@f' is only declared"), "{why}");
}
