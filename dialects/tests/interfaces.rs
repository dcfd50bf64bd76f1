//! What operations answer when passes ask: costs, factor rules, backward rules, result types.

use std::sync::Arc;

use piper_dialects::{func, nn, stablehlo};
use piper_ir::interfaces::cost::cost;
use piper_ir::interfaces::differentiable::{differentiable, differentiable_names, trained_name};
use piper_ir::interfaces::shardable::{Combine, FactorKind, factor_rule, propagate};
use piper_ir::interfaces::{Along, Cost, Differentiable, FactorRule, InferTypes};
use piper_ir::text::parse_module;
use piper_ir::{Context, InferInput, Module, Op, Reporter, SourceFile, Type, verify};

/// The last operation before the return of a function with this body.
fn op(head: &str, body: &str) -> (Module, Op) {
    let dialects = [func::dialect(), nn::dialect(), stablehlo::dialect(), stablehlo::chlo()];
    let ctx = Arc::new(Context::new(dialects));
    let text = format!("func.func @f({head}) {{\n{body}\nfunc.return\n}}");
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("t.pir", text.clone()), &mut reporter);
    if let Some(module) = &module {
        verify::verify(module, &mut reporter);
    }
    let faults: Vec<String> = reporter.take().into_iter().map(|d| d.message).collect();
    assert!(faults.is_empty(), "{faults:?}\n{text}");
    let module = module.unwrap();
    let function = module.top_level()[0];
    let end = func::Func(function).terminator(&module).unwrap();
    let op = module.prev_op(end.0).unwrap();
    (module, op)
}

fn cost_of(head: &str, body: &str) -> Cost {
    let (module, op) = op(head, body);
    cost(&module, op).expect("it knows its cost")
}

#[test]
fn a_product_costs_two_operations_a_place() {
    // y[M, N] = x[M, K] w[K, N]: 2 M N K.
    let (m, k, n) = (4, 8, 16);
    let wanted = Cost { flops: 2 * m * k * n, read: 4 * (m * k + k * n), written: 4 * m * n };
    let head = "%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>";
    let linear = "%y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>";
    assert_eq!(cost_of(head, linear), wanted);
    let dot = "%y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>";
    assert_eq!(cost_of(head, dot), wanted);
    let bias = "%y = nn.linear %x, %w, %b : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>";
    let with_bias = cost_of(head, bias);
    assert_eq!(with_bias.flops, wanted.flops + m * n);
    assert_eq!(with_bias.read, wanted.read + 4 * n);
    // The gradients cost as much.
    let dx = "%y = nn.linear_dx %y0, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>";
    let dw = "%y = nn.linear_dw %x, %y0 : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>";
    for text in [dx, dw] {
        let head = format!("{head}, %y0: tensor<4x16xf32>");
        assert_eq!(cost_of(&head, text).flops, wanted.flops, "{text}");
    }
}

#[test]
fn a_batched_product_counts_every_contracted_dimension() {
    let head = "%a: tensor<2x3x4x5xf32>, %b: tensor<2x6x5x4xf32>";
    let text = "%y = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2, 3] x [3, 2] : (tensor<2x3x4x5xf32>, tensor<2x6x5x4xf32>) -> tensor<2x3x6xf32>";
    assert_eq!(cost_of(head, text).flops, 2 * (2 * 3 * 6) * (4 * 5));
}

#[test]
fn a_table_is_read_by_the_row() {
    let head = "%t: tensor<2x4xi32>, %w: tensor<1000x8xf32>";
    let text =
        "%y = nn.embedding %t, %w : (tensor<2x4xi32>, tensor<1000x8xf32>) -> tensor<2x4x8xf32>";
    let rows = 4 * 2 * 4 * 8;
    assert_eq!(cost_of(head, text), Cost { flops: 0, read: 4 * 8 + rows, written: rows });
    let gather = r#"%y = "stablehlo.gather"(%w, %t) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 8>}> : (tensor<1000x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>"#;
    assert_eq!(cost_of(head, gather), Cost { flops: 0, read: 4 * 8 + rows, written: rows });
}

#[test]
fn elementwise_operations_and_sums_cost_by_the_value() {
    let head = "%a: tensor<4x8xf32>, %z: tensor<f32>";
    let exp = cost_of(head, "%y = stablehlo.exponential %a : tensor<4x8xf32>");
    assert_eq!(exp, Cost { flops: 320, read: 128, written: 128 });
    assert_eq!(exp.intensity(), Some(1.25));
    let sum = "%y = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>";
    assert_eq!(cost_of(head, sum), Cost { flops: 32, read: 132, written: 16 });
}

/// Sizes of the factors of each dimension, and what becomes of each factor.
fn rule_of(head: &str, body: &str) -> FactorRule {
    let (module, op) = op(head, body);
    let rule = factor_rule(&module, op).expect("it has a rule");
    // In every rule the factors of a dimension multiply to its size.
    let values: Vec<_> = module.operands(op).chain(module.results(op)).collect();
    for (value, dims) in values.iter().zip(rule.operands.iter().chain(&rule.results)) {
        let (shape, _) = module.ty(*value).as_tensor(module.ctx()).unwrap();
        if dims.is_empty() {
            continue;
        }
        assert_eq!(dims.len(), shape.len());
        for (dim, &size) in dims.iter().zip(shape) {
            let whole =
                dim.factors().iter().any(|f| matches!(rule.factor(*f).kind, FactorKind::Whole(_)));
            let product: i64 = dim.factors().iter().map(|f| rule.factor(*f).size).product();
            assert!(product == size || whole || size == 1 || dim.factors().is_empty(), "{rule:?}");
        }
    }
    rule
}

#[test]
fn a_product_has_passing_and_summed_factors() {
    for body in [
        "%y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>",
        "%y = stablehlo.dot %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>",
    ] {
        let rule = rule_of("%x: tensor<4x8xf32>, %w: tensor<8x16xf32>", body);
        let shown: Vec<(i64, bool)> = rule
            .factors
            .iter()
            .map(|f| (f.size, f.kind == FactorKind::Reduction(Combine::Sum)))
            .collect();
        for wanted in [(4, false), (8, true), (16, false)] {
            assert!(shown.contains(&wanted), "{shown:?}");
        }
        assert_eq!(rule.operands[0][1], rule.operands[1][0], "both have the summed factor");
        assert_eq!(rule.results[0], [rule.operands[0][0].clone(), rule.operands[1][1].clone()]);
    }
}

#[test]
fn attention_divides_by_the_batch_alone() {
    let head = "%q: tensor<2x8x16xf32>, %k: tensor<2x8x8xf32>";
    let body = "%o = nn.attention %q, %k, %k {heads = 4, kv_heads = 2} : (tensor<2x8x16xf32>, tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x16xf32>";
    let rule = rule_of(head, body);
    let passing: Vec<&str> = rule
        .factors
        .iter()
        .filter(|f| f.kind == FactorKind::PassThrough)
        .map(|f| &*f.name)
        .collect();
    assert_eq!(passing, ["B"]);
    assert_eq!(rule.operands[0][0], rule.results[0][0]);
}

fn along(head: &str, body: &str, along: &[Along]) -> Result<Vec<Along>, String> {
    let (module, op) = op(head, body);
    propagate(&module, op, &factor_rule(&module, op).unwrap(), along)
}

#[test]
fn stablehlo_divides_as_its_dimensions_correspond() {
    use Along::{Dim, Sum, Whole};
    let head = "%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %z: tensor<f32>, %r: tensor<4x6xf32>";
    let dot = "%y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>";
    assert_eq!(along(head, dot, &[Dim(0), Whole]), Ok(vec![Dim(0)]));
    assert_eq!(along(head, dot, &[Dim(1), Dim(0)]), Ok(vec![Sum]));
    assert_eq!(along(head, dot, &[Sum, Whole]), Ok(vec![Sum]));
    assert!(along(head, dot, &[Sum, Sum]).unwrap_err().contains("both partial sums"));
    assert!(
        along(head, dot, &[Dim(1), Whole]).unwrap_err().contains("is whole, but 'lhs' is split")
    );

    let transpose =
        "%y = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>";
    assert_eq!(along(head, transpose, &[Dim(0)]), Ok(vec![Dim(1)]));
    let broadcast = "%y = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>";
    assert_eq!(along(head, broadcast, &[Dim(1)]), Ok(vec![Dim(2)]));
    // [4, 6] -> [2, 12]: 4 = 2 * 2, 12 = 2 * 6.
    let reshape = "%y = stablehlo.reshape %r : (tensor<4x6xf32>) -> tensor<2x12xf32>";
    let rule = rule_of(head, reshape);
    assert_eq!(rule.factors.iter().map(|f| f.size).collect::<Vec<_>>(), [2, 2, 6]);
    assert_eq!(along(head, reshape, &[Dim(0)]), Ok(vec![Dim(0)]));
    assert!(along(head, reshape, &[Dim(1)]).unwrap_err().contains("not contiguous"));

    let sum = |how: &str| {
        format!(
            "%c = stablehlo.constant dense<0.0> : tensor<f32>\n%y = stablehlo.reduce(%x init: %c) applies stablehlo.{how} across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>"
        )
    };
    assert_eq!(along(head, &sum("add"), &[Dim(0), Whole]), Ok(vec![Sum]));
    assert_eq!(along(head, &sum("add"), &[Dim(1), Whole]), Ok(vec![Dim(0)]));
    assert!(along(head, &sum("maximum"), &[Dim(0), Whole]).unwrap_err().contains("do not add up"));
    assert_eq!(along(head, &sum("maximum"), &[Dim(1), Whole]), Ok(vec![Dim(0)]));
    // An initial value that is not zero would be added once a part.
    let from = "%y = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>";
    assert!(along(head, from, &[Dim(0), Whole]).unwrap_err().contains("added once a part"));

    let add = "%y = stablehlo.add %x, %x : tensor<4x8xf32>";
    assert_eq!(along(head, add, &[Sum, Sum]), Ok(vec![Sum]));
    assert!(along(head, add, &[Sum, Whole]).is_err());
    assert_eq!(along(head, "%y = stablehlo.negate %x : tensor<4x8xf32>", &[Sum]), Ok(vec![Sum]));
    assert!(along(head, "%y = stablehlo.tanh %x : tensor<4x8xf32>", &[Sum]).is_err());
}

#[test]
fn backward_rules_belong_to_operations() {
    let head = "%x: tensor<4x8xf32>";
    let (module, gelu) = op(head, "%y = nn.gelu %x : tensor<4x8xf32>");
    assert!(matches!(differentiable(&module, gelu), Some(Differentiable::Rule(_))));
    let (module, stop) = op(head, "%y = nn.stop_gradient %x : tensor<4x8xf32>");
    assert!(matches!(differentiable(&module, stop), Some(Differentiable::Stops)));
    let (module, parameter) = op(head, r#"%w = nn.parameter "w" init = ones : tensor<4xf32>"#);
    assert!(differentiable(&module, parameter).is_none());
    assert_eq!(trained_name(&module, parameter), Some("w"));
    let names = differentiable_names(module.ctx());
    assert!(names.contains(&"nn.linear") && names.contains(&"nn.expert_linear"), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with("_dx") || name.ends_with("_dw")), "{names:?}");
}

/// In JAX's programs, what is inferred is what is written.
#[test]
fn inference_agrees_with_jax() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../test/stablehlo");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|e| e != "mlir") {
            continue;
        }
        let mut ctx = Context::new(piper_dialects::all());
        ctx.allow_unregistered = true;
        let ctx = Arc::new(ctx);
        let source = SourceFile::new("t", std::fs::read_to_string(&path).unwrap());
        let module = parse_module(&ctx, &source, &mut Reporter::new(&ctx)).unwrap();
        for op in module.walk(module.root()) {
            let name = module.name_text(op);
            let Some(def) = module.def(op).filter(|_| name.starts_with("stablehlo.")) else {
                continue;
            };
            let Some(InferTypes(infer)) = def.interface() else { continue };
            let operands: Vec<Type> = module.operands(op).map(|v| module.ty(v)).collect();
            let count = |i| module.operand_group(op, i).count() as i64;
            let sizes: Vec<i64> = (0..def.operands.len()).map(count).collect();
            let attrs = module.all_attrs(op);
            let input =
                InferInput { ctx: &ctx, def, operands: &operands, sizes: &sizes, attrs: &attrs };
            let inferred = infer(&input).unwrap_or_else(|e| panic!("{name}: {e}"));
            let written: Vec<Type> = module.results(op).map(|v| module.ty(v)).collect();
            // The magnitude of complex numbers is real, and products may be in a wider type.
            let shapes = |types: &[Type]| -> Vec<Vec<i64>> {
                types.iter().filter_map(|ty| Some(ty.as_tensor(&ctx)?.0.to_vec())).collect()
            };
            assert_eq!(shapes(&inferred), shapes(&written), "{name} in {}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 800, "{checked}");
}
