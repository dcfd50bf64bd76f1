//! Functions that are only declared: what is planned, verified and simulated before it is written.

use piper_ir::interfaces::{CostModel, Differentiable, Shardable};
use piper_ir::types::DYNAMIC;
use piper_ir::{AttrConstraint, Module, Op, Reporter, Type};

use crate::func::declared::{Declared, Dims};
use crate::func::syntax;
use crate::kernel::Fusion;
use crate::nn::gradients;
use crate::nn::opaque::{GivenCostOf, Part, cost, factors, given};
use crate::nn::types::STORED;

piper_ir::dialect_ops! {
    /// A call of a function that is only declared.
    ///
    /// `inline-calls` makes it of a `func.call` whose callee is a declaration with a `cost`. It can be planned, verified and
    /// simulated, not run. Operands and results have the shapes of the declaration, but for parts of the batch (`batch_dim`)
    /// and of what is sharded (`shard_dim`); it costs its share of the declared cost. Without `batch_dim` a result is a sum
    /// over the batch.
    ///
    /// ```mlir module
    /// func.func private @mlp(tensor<16x8xbf16> {batch_dim = 0}, tensor<8x32xbf16>) -> (tensor<16x8xbf16> {batch_dim = 0}) attributes {cost = {flops = 1.6e4}}
    /// func.func @f(%x: tensor<4x8xbf16>, %w: tensor<8x32xbf16>) -> tensor<4x8xbf16> {
    ///   %y = nn.opaque @mlp(%x, %w) : (tensor<4x8xbf16>, tensor<8x32xbf16>) -> tensor<4x8xbf16>
    ///   func.return %y : tensor<4x8xbf16>
    /// }
    /// ```
    Opaque = "nn.opaque" {
        operands: { operands: many(STORED) },
        results: { outputs: many(STORED) },
        attrs: { callee: one(AttrConstraint::Symbol) },
        traits: [Pure],
        syntax: (syntax::parse_call, syntax::print_call),
        verify: verify,
        interfaces: [
            Shardable(factors), CostModel(cost), GivenCostOf(given), Differentiable::Rule(gradients::opaque::opaque), Fusion::Alone("opaque"),
        ],
    }

    /// Gradients of the activations that `nn.opaque` takes.
    ///
    /// Operands are the forward operands and results numbered in `saved` (results count on from the number of operands), and
    /// last the cotangent of the first result. Results are the cotangents of the operands numbered in `wrt`. It costs what the
    /// declaration says in `vjp.input`.
    ///
    /// ```mlir module
    /// func.func private @mlp(tensor<16x8xbf16> {batch_dim = 0}, tensor<8x32xbf16>) -> (tensor<16x8xbf16> {batch_dim = 0}) attributes {cost = {flops = 1.6e4}}
    /// func.func @f(%x: tensor<4x8xbf16>, %w: tensor<8x32xbf16>, %dy: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
    ///   %dx = nn.opaque_dx @mlp(%x, %w, %dy) {saved = array<i64: 0, 1>, wrt = array<i64: 0>} : (tensor<4x8xbf16>, tensor<8x32xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
    ///   func.return %dx : tensor<4x8xbf16>
    /// }
    /// ```
    OpaqueDx = "nn.opaque_dx" {
        operands: { operands: many(STORED) },
        results: { outputs: many(STORED) },
        attrs: { callee: one(AttrConstraint::Symbol), saved: one(AttrConstraint::IntArray), wrt: one(AttrConstraint::IntArray) },
        traits: [Pure],
        syntax: (syntax::parse_call, syntax::print_call),
        verify: verify,
        interfaces: [Shardable(factors), CostModel(cost), GivenCostOf(given), Fusion::Alone("opaque_dx")],
    }

    /// Gradients of the parameters that `nn.opaque` takes.
    ///
    /// As `nn.opaque_dx`, at the cost that the declaration says in `vjp.weight`; of parameters it reads at most those that are
    /// sharded.
    ///
    /// ```mlir module
    /// func.func private @mlp(tensor<16x8xbf16> {batch_dim = 0}, tensor<8x32xbf16>) -> (tensor<16x8xbf16> {batch_dim = 0}) attributes {cost = {flops = 1.6e4}}
    /// func.func @f(%x: tensor<4x8xbf16>, %dy: tensor<4x8xbf16>) -> tensor<8x32xbf16> {
    ///   %dw = nn.opaque_dw @mlp(%x, %dy) {saved = array<i64: 0>, wrt = array<i64: 1>} : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<8x32xbf16>
    ///   func.return %dw : tensor<8x32xbf16>
    /// }
    /// ```
    OpaqueDw = "nn.opaque_dw" {
        operands: { operands: many(STORED) },
        results: { outputs: many(STORED) },
        attrs: { callee: one(AttrConstraint::Symbol), saved: one(AttrConstraint::IntArray), wrt: one(AttrConstraint::IntArray) },
        traits: [Pure],
        syntax: (syntax::parse_call, syntax::print_call),
        verify: verify,
        interfaces: [Shardable(factors), CostModel(cost), GivenCostOf(given), Fusion::Alone("opaque_dw")],
    }
}

fn verify(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc, op_name) = (module.ctx(), module.op_loc(op), module.name_text(op));
    let Some(symbol) = module.attr_by(op, "callee").and_then(|callee| callee.as_symbol(ctx)) else {
        return;
    };
    let name = symbol.text(ctx);
    let target = module.lookup_nearest(op, name);
    let Some(declared) = target.and_then(|target| Declared::of(module, target)) else {
        let error = reporter
            .error(loc, format!("'{op_name}': there is no declaration '@{name}' with a cost"));
        match target {
            Some(target) => {
                error.note(module.op_loc(target), format!("'@{name}' is defined here"));
            }
            None => {
                error.hint(format!("as in func.func private @{name}(...) -> ... attributes {{cost = {{flops = 1.0e12}}}}"));
            }
        }
        return;
    };
    let declared_at = target.map_or(loc, |target| module.op_loc(target));
    let part = Part::of(module, op, &declared);
    let (takes, gives) = (part.operands.len(), part.results.len());
    let (operands, results) = (module.num_operands(op), module.num_results(op));
    let numbers = part.operands.iter().chain(&part.results);
    if numbers.clone().any(|number| declared.value(*number).is_none()) {
        let count = declared.inputs.len() + declared.outputs.len();
        reporter
            .error(loc, format!("'{op_name}': 'saved' and 'wrt' number the {count} operands and results of '@{name}'"))
            .note(declared_at, format!("'@{name}' is declared here"));
        return;
    }
    if (takes, gives) != (operands, results) {
        reporter
            .error(loc, format!("'{op_name}': expected {takes} operand(s) and {gives} result(s), but there are {operands} and {results}"))
            .note(declared_at, format!("'@{name}' is declared here"));
        return;
    }
    let values = module.operands(op).chain(module.results(op));
    // What batch and shard were divided by, and who says so.
    let mut shares: [Option<(i64, usize)>; 2] = [None, None];
    for (position, (value, &number)) in values.zip(numbers).enumerate() {
        let Some((ty, dims)) = declared.value(number) else { continue };
        let what = if position < operands {
            format!("operand {position}")
        } else {
            format!("result {}", position - operands)
        };
        let Some(found) = shares_of(module, module.ty(value), ty, dims) else {
            let (given, ty) = (module.ty(value).display(ctx), ty.display(ctx));
            reporter
                .error(
                    loc,
                    format!("'{op_name}': {what} has type {given}, but '@{name}' has {ty} there"),
                )
                .note(declared_at, format!("'@{name}' is declared here"))
                .hint(
                    "only batch_dim and shard_dim may be smaller than declared, by a whole factor",
                );
            return;
        };
        for (known, found) in shares.iter_mut().zip(found) {
            match (&known, found) {
                (Some((share, _)), Some(found)) if *share != found => {
                    let (share, found) = (*share, found);
                    reporter.error(loc, format!("'{op_name}': {what} is 1/{found} of what '@{name}' declares, but others are 1/{share}"));
                    return;
                }
                (None, Some(found)) => *known = Some((found, position)),
                _ => {}
            }
        }
    }
}

/// Into how many parts batch and shard of a value are divided; `None` if it does not fit the declaration. Element types
/// are not compared: precision is the plan's.
fn shares_of(module: &Module, given: Type, declared: Type, dims: Dims) -> Option<[Option<i64>; 2]> {
    let ctx = module.ctx();
    let ((given, _), (declared, _)) = (given.as_tensor(ctx)?, declared.as_tensor(ctx)?);
    if given.len() != declared.len() {
        return None;
    }
    let mut shares = [None, None];
    for (dim, (&given, &declared)) in given.iter().zip(declared).enumerate() {
        let which = match Some(dim) {
            at if at == dims.batch => 0,
            at if at == dims.shard => 1,
            _ if given == declared => continue,
            _ => return None,
        };
        if given == DYNAMIC || given <= 0 || declared % given != 0 {
            return None;
        }
        shares[which] = Some(declared / given);
    }
    Some(shares)
}
