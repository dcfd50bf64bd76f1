//! `precision`: a model in two element types, chosen by a directive.
//!
//! ```mlir
//! // before, with strategy.precision compute = bf16
//! %w = nn.parameter "w" init = normal<0.0, 0.02> : tensor<16x16xf32>
//! %y = nn.linear %x, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
//! // after
//! %w = nn.parameter "w" init = normal<0.0, 0.02> : tensor<16x16xf32>
//! %w_bf16 = nn.cast %w : tensor<16x16xf32> to tensor<16x16xbf16>
//! %y = nn.linear %x, %w_bf16 : (tensor<4x16xbf16>, tensor<16x16xbf16>) -> tensor<4x16xbf16>
//! ```
//!
//! Parameters stay in the type they are written in, the *master* type: so do the optimizer's state and gradients, whose contributions
//! are widened where they leave a backward chunk, before anything is added or reduced. Everything else is in the compute type, but for
//! operations that give a number (the loss), which are in the master type. Kernels store the compute type and compute in f32.
//!
//! Runs on the function, before `autodiff`: gradients follow the casts. Afterwards [`hoist-casts`](crate::hoist_casts) takes casts of
//! parameters out of the chunks, so that parameters are cast once a step and gathered in the compute type.

use piper_dialects::nn;
use piper_dialects::strategy::{Directive, Kind, PlanSpec, TAGS, plans};
use piper_ir::pass::{PassContext, PassFailed, PassInfo, PassResult};
use piper_ir::{Builder, Module, Op, Reporter, Type, Value};
use rustc_hash::FxHashMap;

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let pass = PassInfo::from_fn(
        "precision",
        "Compute in another element type than parameters are kept in",
        |cx: &mut PassContext<'_, '_>| {
            for plan in plans(cx.module) {
                let Some(spec) = PlanSpec::read(cx.module, plan) else { continue };
                run_plan(cx.module, &spec, cx.reporter)?;
            }
            Ok(())
        },
    );
    vec![pass.after(&["import-tags", "inline-calls"]).describe(
        "Consumes `strategy.precision`; does nothing without one. Fails if the model's parameters are not of the master type, or if \
         gradients are there already.",
    )]
}

fn run_plan(module: &mut Module, plan: &PlanSpec, reporter: &mut Reporter<'_>) -> PassResult {
    let mut asked = plan.directives.iter().filter(|d| matches!(d.kind, Kind::Precision { .. }));
    let Some(directive) = asked.next() else { return Ok(()) };
    if let Some(again) = asked.next() {
        reporter
            .error(again.loc, "a plan says its precision once")
            .note(directive.loc, "already said here");
        return Err(PassFailed);
    }
    run(module, plan.function, directive, reporter)?;
    module.erase(directive.op);
    Ok(())
}

/// Rewrites a function as a directive says.
fn run(
    module: &mut Module,
    function: Op,
    directive: &Directive,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let Kind::Precision { compute, master, .. } = directive.kind else { return Ok(()) };
    let ctx = module.ctx_arc();
    let block = module.only_block(function).filter(|_| module.name_text(function) == "func.func");
    let Some(block) = block else {
        reporter
            .error(directive.loc, "the precision is chosen before the graph is built")
            .hint("run 'precision' before 'autodiff'");
        return Err(PassFailed);
    };
    let parameters: Vec<Op> =
        module.ops(block).filter(|op| nn::Parameter::cast(module, *op).is_some()).collect();
    let mut high = master;
    for op in &parameters {
        let (_, element) = module.ty(module.result(*op, 0)).as_tensor(&ctx).ok_or(PassFailed)?;
        let wanted = *high.get_or_insert(element);
        if element != wanted {
            let (has, wanted) = (element.display(&ctx), wanted.display(&ctx));
            reporter
                .error(
                    directive.loc,
                    format!("parameters are kept in {wanted}, but one is of {has}"),
                )
                .note(module.op_loc(*op), "this parameter")
                .hint("the master type is the one that parameters are written in");
            return Err(PassFailed);
        }
    }
    let Some(high) = high else {
        reporter.error(directive.loc, "the model has no parameters, so there is nothing to keep");
        return Err(PassFailed);
    };
    if high == compute {
        let message = format!("parameters are of {} already", compute.display(&ctx));
        reporter.error(directive.loc, message).hint("leave the directive out");
        return Err(PassFailed);
    }
    Rewriter { module, high, low: compute, casts: FxHashMap::default() }.block(block);
    Ok(())
}

struct Rewriter<'m> {
    module: &'m mut Module,
    high: Type,
    low: Type,
    /// Values in another type than they are made in.
    casts: FxHashMap<(Value, Type), Value>,
}

impl Rewriter<'_> {
    fn block(&mut self, block: piper_ir::Block) {
        let Some(last) = self.module.last_op(block) else { return };
        for op in self.module.ops(block).collect::<Vec<_>>() {
            if nn::Parameter::cast(self.module, op).is_some() {
                continue;
            }
            // What a function gives has the type that it declares; numbers are in the master type.
            let gives_number = self.module.results(op).any(|v| self.rank(v) == Some(0));
            let wanted = if op == last || gives_number { self.high } else { self.low };
            for (i, value) in self.module.operands(op).collect::<Vec<_>>().into_iter().enumerate() {
                let value = self.in_type(value, wanted, op);
                self.module.set_operand(op, i, value);
            }
            if wanted == self.low {
                for value in self.module.results(op).collect::<Vec<_>>() {
                    self.set_element(value);
                }
            }
        }
    }

    fn rank(&self, value: Value) -> Option<usize> {
        self.module.ty(value).as_tensor(self.module.ctx()).map(|(shape, _)| shape.len())
    }

    fn element(&self, value: Value) -> Option<Type> {
        self.module.ty(value).as_tensor(self.module.ctx()).map(|(_, element)| element)
    }

    fn cast_type(&self, value: Value, element: Type) -> Option<Type> {
        let ctx = self.module.ctx();
        self.module.ty(value).as_tensor(ctx).map(|(shape, _)| ctx.tensor(shape, element))
    }

    fn set_element(&mut self, value: Value) {
        if self.element(value) == Some(self.high)
            && let Some(ty) = self.cast_type(value, self.low)
        {
            self.module.set_ty(value, ty);
        }
    }

    /// The value in an element type, cast before its first user if it has the other one.
    fn in_type(&mut self, value: Value, wanted: Type, user: Op) -> Value {
        let element = self.element(value);
        let is_other = element.is_some_and(|e| e != wanted && (e == self.high || e == self.low));
        if !is_other {
            return value;
        }
        if let Some(&known) = self.casts.get(&(value, wanted)) {
            return known;
        }
        let ctx = self.module.ctx_arc();
        let Some(ty) = self.cast_type(value, wanted) else { return value };
        // It belongs to the segment of what it is of; an argument's to that of its user.
        let made_by = self.module.defining_op(value);
        let like = made_by.unwrap_or(user);
        let tags = self.module.attr_by(like, TAGS);
        let loc = self.module.op_loc(like);
        let hint = self.module.value_name(value).map(|name| name.text(&ctx).to_owned());
        let mut b = match made_by {
            Some(op) => Builder::after(self.module, op),
            None => Builder::before(self.module, user),
        };
        b.set_loc(loc);
        let state =
            b.state(nn::Convert::NAME).operands([value]).results([ty]).attr_if(&ctx, TAGS, tags);
        let cast = b.value(state);
        if let Some(hint) = hint {
            let name = ctx.name(&format!("{hint}_{}", wanted.display(&ctx)));
            self.module.set_value_name(cast, name);
        }
        self.casts.insert((value, wanted), cast);
        cast
    }
}
