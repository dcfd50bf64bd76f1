//! Sub-axes become axes: a mesh whose axis is used in parts is refined to these parts.
//!
//! ```mlir
//! // before
//! strategy.mesh @cluster <["pp" = 2, "dp" = 8]>
//! strategy.plan @train for @loss on @cluster {
//!   strategy.replicate over "dp:(1)2"
//!   strategy.zero over "dp:(2)4" stage = 1
//! }
//! // after
//! strategy.mesh @cluster <["pp" = 2, "dp.0" = 2, "dp.1" = 4]>
//! strategy.plan @train for @loss on @cluster {
//!   strategy.replicate over "dp.0"
//!   strategy.zero over "dp.1" stage = 1
//! }
//! ```
//!
//! Devices keep their numbers, as the parts stand where the axis stood, major to minor. `expand-directives` and `build-dag` begin
//! with it, so that whatever comes after knows whole axes only.

use piper_dialects::strategy::{GroupOp, MeshOp, OrderOp, PlaceOp, PlanOp, SubAxis, plans};
use piper_ir::pass::{PassFailed, PassResult};
use piper_ir::{Attr, Loc, Module, Op, Reporter};

/// A use of a sub-axis by a directive.
struct Use {
    directive: Op,
    /// The attribute that names it.
    key: &'static str,
    part: SubAxis,
    loc: Loc,
}

/// Refines the mesh of a plan if its directives use sub-axes.
///
/// # Errors
/// Sub-axes of one axis that have parts in common, or that divide it in ways that do not nest.
pub fn run(module: &mut Module, plan: Op, reporter: &mut Reporter<'_>) -> PassResult {
    let ctx = module.ctx_arc();
    let Some(mesh_op) = PlanOp::cast(module, plan).and_then(|plan| {
        let name = plan.mesh(module).as_symbol(&ctx)?;
        module
            .lookup_nearest(plan.0, name.text(&ctx))
            .filter(|op| MeshOp::cast(module, *op).is_some())
    }) else {
        return Ok(());
    };
    let sharing = plans_on(module, mesh_op);
    let uses: Vec<Use> = sharing.iter().flat_map(|plan| uses(module, *plan)).collect();
    let Some(mesh) = MeshOp(mesh_op).read(module).filter(|_| !uses.is_empty()) else {
        return Ok(());
    };
    let mut refined = Vec::new();
    for axis in &mesh.axes {
        refined.push((axis.name.clone(), factors(&axis.name, axis.size, &uses, reporter)?));
    }
    rename(module, &uses, &refined);
    let coordinates = Coordinates { refined: &refined };
    for plan in sharing {
        let Some(body) = module.only_block(plan) else { continue };
        for op in module.ops(body).collect::<Vec<_>>() {
            coordinates.refine(module, op);
        }
    }
    for op in module.top_level() {
        let own = GroupOp::cast(module, op).and_then(|group| group.mesh(module).as_symbol(&ctx));
        if own.is_some_and(|name| module.symbol_name(mesh_op) == Some(name.text(&ctx))) {
            coordinates.refine(module, op);
        }
    }
    let axes: Vec<(String, u32)> =
        refined.into_iter().flat_map(|(name, parts)| named(&name, &parts)).collect();
    let names = axes.iter().map(|(name, _)| ctx.str_attr(name)).collect::<Vec<_>>();
    let sizes: Vec<i64> = axes.iter().map(|(_, size)| i64::from(*size)).collect();
    module.set_attr_by(mesh_op, "axes", ctx.array_attr(names));
    module.set_attr_by(mesh_op, "sizes", ctx.int_array_attr(&sizes));
    Ok(())
}

/// The plans on a mesh.
fn plans_on(module: &Module, mesh: Op) -> Vec<Op> {
    let ctx = module.ctx();
    let is_on = |plan: &Op| {
        let name = PlanOp(*plan).mesh(module).as_symbol(ctx);
        name.is_some_and(|name| module.symbol_name(mesh) == Some(name.text(ctx)))
    };
    plans(module).into_iter().filter(is_on).collect()
}

fn uses(module: &Module, plan: Op) -> Vec<Use> {
    let Some(body) = module.only_block(plan) else { return Vec::new() };
    // A `resource` names the axis of what it takes or of what takes turns.
    let part = |directive: Op, key: &'static str| {
        let name = module.attr_by(directive, key)?.as_str(module.ctx())?;
        Some(Use { directive, key, part: SubAxis::parse(name)?, loc: module.op_loc(directive) })
    };
    let keys = ["axis", "over", "interleave"];
    module.ops(body).flat_map(|op| keys.into_iter().filter_map(move |key| part(op, key))).collect()
}

/// The sizes of the parts of an axis, major to minor; the axis alone if it is not used in parts.
fn factors(
    axis: &str,
    size: u32,
    uses: &[Use],
    reporter: &mut Reporter<'_>,
) -> Result<Vec<u32>, PassFailed> {
    let mut cuts: Vec<(u32, Loc)> = Vec::new();
    for used in uses.iter().filter(|used| used.part.axis == axis) {
        let end = used.part.before.saturating_mul(used.part.size);
        cuts.extend([(used.part.before, used.loc), (end, used.loc)]);
    }
    cuts.sort_by_key(|(cut, _)| *cut);
    let (mut sizes, mut before) = (Vec::new(), 1);
    let last = cuts.last().map(|(_, loc)| *loc);
    for (cut, loc) in cuts.into_iter().chain(last.map(|loc| (size, loc))) {
        if !cut.is_multiple_of(before) {
            reporter
                .error(loc, format!("the parts of axis \"{axis}\" that directives use do not nest: {before} does not divide {cut}"))
                .hint("divide the axis one way, as in \"dp:(1)2\", \"dp:(2)4\", \"dp:(8)2\" for 2 x 4 x 2");
            return Err(PassFailed);
        }
        if cut > before {
            sizes.push(cut / before);
            before = cut;
        }
    }
    if sizes.is_empty() {
        sizes.push(size);
    }
    Ok(sizes)
}

/// The names of the parts of an axis.
fn named(axis: &str, parts: &[u32]) -> Vec<(String, u32)> {
    match parts {
        [whole] => vec![(axis.to_owned(), *whole)],
        parts => parts.iter().enumerate().map(|(i, size)| (format!("{axis}.{i}"), *size)).collect(),
    }
}

/// Gives directives the names of the parts they use.
fn rename(module: &mut Module, uses: &[Use], refined: &[(String, Vec<u32>)]) {
    let ctx = module.ctx_arc();
    for used in uses {
        let Some((axis, parts)) = refined.iter().find(|(name, _)| *name == used.part.axis) else {
            continue;
        };
        let mut before = 1;
        for (name, size) in named(axis, parts) {
            if before == used.part.before && size == used.part.size {
                module.set_attr_by(used.directive, used.key, ctx.str_attr(&name));
            }
            before *= size;
        }
    }
}

/// Coordinates on refined axes.
struct Coordinates<'a> {
    refined: &'a [(String, Vec<u32>)],
}

impl Coordinates<'_> {
    /// Rewrites the slices that an operation names.
    fn refine(&self, module: &mut Module, op: Op) {
        let ctx = module.ctx_arc();
        if PlaceOp::cast(module, op).is_some() || GroupOp::cast(module, op).is_some() {
            let name = if PlaceOp::cast(module, op).is_some() { "homes" } else { "slices" };
            let slices = module.attr_by(op, name).and_then(|a| a.as_array(&ctx)).unwrap_or(&[]);
            let slices: Vec<Attr> = slices.iter().map(|slice| self.slice(module, *slice)).collect();
            module.set_attr_by(op, name, ctx.array_attr(slices));
        } else if let Some(order) = OrderOp::cast(module, op) {
            let slice = self.slice(module, order.slice(module));
            module.set_attr_by(op, "slice", slice);
        }
    }

    fn slice(&self, module: &Module, slice: Attr) -> Attr {
        let ctx = module.ctx();
        let mut fixed = Vec::new();
        for (name, at) in slice.as_dict(ctx).unwrap_or(&[]) {
            let axis = self.refined.iter().find(|(axis, _)| axis == name.text(ctx));
            let Some(mut rest) = at.as_int(ctx) else { continue };
            match axis {
                Some((axis, parts)) if parts.len() > 1 => {
                    for (part, size) in named(axis, parts).into_iter().rev() {
                        let size = i64::from(size);
                        fixed.push((ctx.name(&part), ctx.int_attr(rest % size)));
                        rest /= size;
                    }
                }
                _ => fixed.push((*name, *at)),
            }
        }
        ctx.dict_attr(fixed)
    }
}
