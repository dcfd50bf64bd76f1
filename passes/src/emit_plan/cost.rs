//! What a launch costs, as far as the module says.
//!
//! A declared cost wins (`cost` on the function, see `func::declared`). Kernels carry the `flops` and `bytes` that `kernelize` counted; of
//! a body the operations say what they compute (interface `CostModel`, or the declaration that they call) and the parameters
//! what is moved at least. The kernels that device programs bring along are counted by element here.

use piper_dialects::func::declared::GivenCost;
use piper_dialects::nn::GivenCostOf;
use piper_dialects::{device, func, kernel};
use piper_ir::interfaces::cost::cost as cost_of_op;
use piper_ir::{Name, Op};
use piper_plan as plan;

use super::{Emitter, Result, fault};

impl Emitter<'_, '_> {
    /// The cost of what a launch names; `None` if nothing is known of it.
    pub(super) fn cost(
        &self,
        launch: Op,
        callee: Name,
        params: &[plan::Param],
    ) -> Result<Option<plan::Cost>> {
        let (module, ctx) = (self.module, self.ctx);
        let Some(op) = module.lookup_nearest(launch, callee.text(ctx)) else { return Ok(None) };
        let number = |attr: &str| module.attr_by(op, attr).and_then(|a| a.as_number(ctx));
        let given = if let Some(declared) = module.attr_by(op, "cost") {
            GivenCost::read(ctx, declared)
        } else if device::Kernel::cast(module, op).is_some() {
            let kind = device::Kernel(op).kernel(module).as_str(ctx).unwrap_or("");
            let elements = params.iter().map(|p| p.elems).max().unwrap_or(0);
            let flops = flops_an_element(kind) * elements as f64;
            GivenCost { flops: Some(flops), ..GivenCost::default() }
        } else if kernel::Func::cast(module, op).is_some() {
            GivenCost { flops: number("flops"), bytes: number("bytes"), seconds: None }
        } else {
            self.cost_of_body(op)
        };
        if given.is_unknown() {
            return Ok(None);
        }
        let cost = plan::Cost {
            flops: given.flops.unwrap_or(0.0),
            bytes: given.bytes.unwrap_or_else(|| moved(params)),
            seconds: given.seconds,
        };
        match cost.fault() {
            None => Ok(Some(cost)),
            Some((name, value)) => {
                let callee = callee.text(ctx);
                let what = "costs are finite and not negative";
                fault(op, format!("the cost of @{callee} has {name} = {value}, but {what}"))
            }
        }
    }

    /// The sum over the operations of a function's body; nothing if one of them calls a declaration that does not say.
    fn cost_of_body(&self, op: Op) -> GivenCost {
        let module = self.module;
        let Some(block) = func::Func::cast(module, op).and_then(|f| f.block(module)) else {
            return GivenCost::default();
        };
        let (mut flops, mut seconds) = (0.0, None);
        for inner in module.ops(block) {
            if let Some(given) = GivenCostOf::of(module, inner) {
                if given.is_unknown() {
                    return given;
                }
                flops += given.flops.unwrap_or(0.0);
                seconds = given.seconds.map(|s| s + seconds.unwrap_or(0.0)).or(seconds);
            } else if let Some(cost) = cost_of_op(module, inner) {
                flops += cost.flops as f64;
            }
        }
        GivenCost { flops: Some(flops), bytes: None, seconds }
    }
}

/// Bytes of all parameters, twice for those that are read and written.
fn moved(params: &[plan::Param]) -> f64 {
    let times = |mode| if mode == plan::Mode::ReadWrite { 2 } else { 1 };
    params.iter().map(|p| (p.elems * p.dtype.size() * times(p.mode)) as f64).sum()
}

/// Operations an element of the kernels of device programs: AdamW has two moments (3 each), two corrections, a root, a
/// quotient, decay and step; all of them are bound by memory anyway.
fn flops_an_element(kind: &str) -> f64 {
    match kind {
        "adamw" => 16.0,
        "sgd" | "sum_squares" => 2.0,
        _ => 1.0,
    }
}
