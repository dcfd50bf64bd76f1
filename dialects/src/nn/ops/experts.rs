//! Layers of experts: tokens sorted by expert, and a matrix product for each of them.
//!
//! Which expert a token goes to is fixed by its place in the sequence, the balanced routing without a gate of Hash Layers (Roller
//! et al. 2021, arXiv 2106.04426, section 3). Tokens that are sorted by expert have the form `[E, G, C, D]`: experts, sequences,
//! places of a sequence for one expert, width. Dividing `E` with the experts' weights and `G` with the batch is expert parallelism.

use piper_ir::interfaces::shardable::{Dim, Factor, FactorKind, LinearIn};
use piper_ir::interfaces::{CostModel, Differentiable, FactorRule, Shardable};
use piper_ir::{InferInput, Module, Op, Reporter, Type};

use crate::kernel::Fusion;
use crate::nn::factors::factors;
use crate::nn::infer::infer_types;
use crate::nn::signature::{self, Signature};
use crate::nn::types::{COUNT, REAL};
use crate::nn::{cost, gradients};

piper_ir::dialect_ops! {
    /// Tokens sorted by expert.
    ///
    /// `y[e, g, c, :] = x[g, e*C + c, :]`, with `x[G, S, D]`, `y[E, G, C, D]`, `E = experts`, `C = S/E`: the e-th part of every sequence
    /// goes to expert e.
    ///
    /// ```mlir
    /// %sorted = nn.dispatch %x {experts = 4} : (tensor<4x8x16xf32>) -> tensor<4x4x2x16xf32>
    /// ```
    Dispatch = "nn.dispatch" {
        operands: { x: one(REAL) },
        results: { y: one(REAL) },
        attrs: { experts: one(COUNT) },
        traits: [Pure],
        format: "$x attr-dict `:` functional-type(operands, results)",
        infer: infer_dispatch,
        verify: verify_dispatch,
        interfaces: [
            Shardable(dispatch_factors), CostModel(cost::a_result::<0>), Differentiable::Rule(gradients::experts::dispatch), Fusion::Alone("dispatch"),
        ],
    }

    /// Tokens back in their sequences: the inverse of `nn.dispatch`, and its transpose.
    ///
    /// `x[g, e*C + c, :] = y[e, g, c, :]`, with `y[E, G, C, D]`, `x[G, E*C, D]`.
    ///
    /// ```mlir
    /// %sorted = nn.dispatch %x {experts = 4} : (tensor<4x8x16xf32>) -> tensor<4x4x2x16xf32>
    /// %back = nn.combine %sorted : (tensor<4x4x2x16xf32>) -> tensor<4x8x16xf32>
    /// ```
    Combine = "nn.combine" {
        operands: { y: one(REAL) },
        results: { x: one(REAL) },
        traits: [Pure],
        format: "$y attr-dict `:` functional-type(operands, results)",
        infer: infer_combine,
        verify: verify_combine,
        interfaces: [
            Shardable(combine_factors), CostModel(cost::a_result::<0>), Differentiable::Rule(gradients::experts::combine), Fusion::Alone("combine"),
        ],
    }

    /// A linear layer for each expert.
    ///
    /// `y[e, g, c, N] = x[e, g, c, K] w[e, K, N]`.
    ///
    /// ```mlir
    /// %sorted = nn.dispatch %x {experts = 4} : (tensor<4x8x16xf32>) -> tensor<4x4x2x16xf32>
    /// %we = nn.parameter "experts" init = normal<0.0, 0.02> : tensor<4x16x32xf32>
    /// %y = nn.expert_linear %sorted, %we : (tensor<4x4x2x16xf32>, tensor<4x16x32xf32>) -> tensor<4x4x2x32xf32>
    /// ```
    ExpertLinear = "nn.expert_linear" {
        operands: { x: one(REAL), w: one(REAL) },
        results: { y: one(REAL) },
        traits: [Pure],
        format: "$x `,` $w attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["E G C K", "E K N"], &["E G C N"]).linear_in(&["x", "w"]),
            Shardable(factors), CostModel(cost::product), Differentiable::Rule(gradients::experts::linear), Fusion::Product,
        ],
    }

    /// Input gradient of `nn.expert_linear`.
    ///
    /// `dx[e, g, c, K] = dy[e, g, c, N] w[e, K, N]^T`.
    ///
    /// ```mlir
    /// %sorted = nn.dispatch %x {experts = 4} : (tensor<4x8x16xf32>) -> tensor<4x4x2x16xf32>
    /// %we = nn.parameter "experts" init = normal<0.0, 0.02> : tensor<4x32x16xf32>
    /// %dx = nn.expert_linear_dx %sorted, %we : (tensor<4x4x2x16xf32>, tensor<4x32x16xf32>) -> tensor<4x4x2x32xf32>
    /// ```
    ExpertLinearDx = "nn.expert_linear_dx" {
        operands: { dy: one(REAL), w: one(REAL) },
        results: { dx: one(REAL) },
        traits: [Pure],
        format: "$dy `,` $w attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["E G C N", "E K N"], &["E G C K"]).linear_in(&["dy", "w"]),
            Shardable(factors), CostModel(cost::product), Fusion::Product,
        ],
    }

    /// Weight gradient of `nn.expert_linear`.
    ///
    /// `dw[e, K, N] = sum over g, c of x[e, g, c, K] dy[e, g, c, N]`.
    ///
    /// ```mlir
    /// %sorted = nn.dispatch %x {experts = 4} : (tensor<4x8x16xf32>) -> tensor<4x4x2x16xf32>
    /// %dw = nn.expert_linear_dw %sorted, %sorted : (tensor<4x4x2x16xf32>, tensor<4x4x2x16xf32>) -> tensor<4x16x16xf32>
    /// ```
    ExpertLinearDw = "nn.expert_linear_dw" {
        operands: { x: one(REAL), dy: one(REAL) },
        results: { dw: one(REAL) },
        traits: [Pure],
        format: "$x `,` $dy attr-dict `:` functional-type(operands, results)",
        infer: infer_types,
        verify: signature::verify,
        interfaces: [
            Signature::new(&["E G C K", "E G C N"], &["E K N"]).linear_in(&["x", "dy"]),
            Shardable(factors), CostModel(cost::product_over_expert_rows), Fusion::Product,
        ],
    }
}

/// `[E, G, C, D]` for `[G, S, D]`.
fn sorted(shape: &[i64], experts: i64) -> Result<[i64; 4], String> {
    match *shape {
        [g, s, d] if experts > 0 && s % experts == 0 => Ok([experts, g, s / experts, d]),
        [_, s, _] => Err(format!(
            "{s} places of a sequence cannot be divided among {experts} experts equally"
        )),
        _ => Err(format!("tokens have the form [G, S, D], not {} dimension(s)", shape.len())),
    }
}

/// `[G, E*C, D]` for `[E, G, C, D]`.
fn combined(shape: &[i64]) -> Result<[i64; 3], String> {
    match *shape {
        [e, g, c, d] => Ok([g, e * c, d]),
        _ => {
            let rank = shape.len();
            Err(format!(
                "tokens sorted by expert have the form [E, G, C, D], not {rank} dimension(s)"
            ))
        }
    }
}

fn infer_dispatch(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    let experts = input.attr("experts").and_then(|a| a.as_int(input.ctx));
    let experts = experts.ok_or("attribute 'experts' is not given")?;
    let (shape, element) = tensor(input)?;
    Ok(vec![input.ctx.tensor(&sorted(shape, experts)?, element)])
}

fn infer_combine(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    let (shape, element) = tensor(input)?;
    Ok(vec![input.ctx.tensor(&combined(shape)?, element)])
}

fn tensor<'a>(input: &InferInput<'a>) -> Result<(&'a [i64], Type), String> {
    let ty = input.operands.first().ok_or("it has no operand")?;
    ty.as_tensor(input.ctx).ok_or_else(|| "it takes a ranked tensor".to_owned())
}

/// The shape of the first operand; empty if it has none.
fn operand_shape(module: &Module, op: Op) -> &[i64] {
    module.ty(module.operand(op, 0)).as_tensor(module.ctx()).map_or(&[][..], |(shape, _)| shape)
}

fn experts(module: &Module, op: Op) -> i64 {
    Dispatch(op).experts(module).as_int(module.ctx()).unwrap_or(0)
}

fn verify_dispatch(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let wanted = sorted(operand_shape(module, op), experts(module, op)).map(Vec::from);
    expect(module, op, wanted, reporter);
}

fn verify_combine(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    expect(module, op, combined(operand_shape(module, op)).map(Vec::from), reporter);
}

fn expect(module: &Module, op: Op, wanted: Result<Vec<i64>, String>, reporter: &mut Reporter<'_>) {
    let (ctx, name) = (module.ctx(), module.name_text(op));
    let Some((_, element)) = module.ty(module.operand(op, 0)).as_tensor(ctx) else { return };
    match wanted {
        Err(why) => drop(reporter.error(module.op_loc(op), format!("'{name}': {why}"))),
        Ok(shape) => {
            let (wanted, found) = (ctx.tensor(&shape, element), module.ty(module.result(op, 0)));
            if wanted != found {
                let (wanted, found) = (wanted.display(ctx), found.display(ctx));
                let message = format!("'{name}' gives {wanted}, but its result is {found}");
                reporter.error(module.op_loc(op), message);
            }
        }
    }
}

/// `G`, `E`, `C` and `D`: of a sequence's places the experts' parts are major, and all experts are needed at once.
fn token_factors([e, g, c, d]: [i64; 4]) -> FactorRule {
    let factor = |name: &'static str, size| Factor {
        name: name.into(),
        size,
        kind: FactorKind::PassThrough,
    };
    let mut factors = vec![factor("G", g), factor("E", e), factor("C", c), factor("D", d)];
    for whole in &mut factors[1..3] {
        whole.kind = FactorKind::Whole("the experts' parts lie one after the other".into());
    }
    FactorRule { factors, linear: LinearIn::Each(vec![0]), ..FactorRule::empty(0, 0) }
}

fn in_sequences() -> Vec<Dim> {
    vec![Dim::One(0), Dim::Product(Box::new([1, 2])), Dim::One(3)]
}

fn by_expert() -> Vec<Dim> {
    vec![Dim::One(1), Dim::One(0), Dim::One(2), Dim::One(3)]
}

fn dispatch_factors(module: &Module, op: Op) -> FactorRule {
    match sorted(operand_shape(module, op), experts(module, op)) {
        Ok(sizes) => FactorRule {
            operands: vec![in_sequences()],
            results: vec![by_expert()],
            ..token_factors(sizes)
        },
        Err(_) => FactorRule::empty(1, 1),
    }
}

fn combine_factors(module: &Module, op: Op) -> FactorRule {
    match *operand_shape(module, op) {
        [e, g, c, d] => FactorRule {
            operands: vec![by_expert()],
            results: vec![in_sequences()],
            ..token_factors([e, g, c, d])
        },
        _ => FactorRule::empty(1, 1),
    }
}
