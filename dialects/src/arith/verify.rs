//! What the declarations do not say.

use piper_ir::{Attr, AttrData, Context, Module, Op, Reporter, Type, TypeData};

use super::types::{bits, element, same_shape as have_same_shape, with_element};

fn error(module: &Module, op: Op, reporter: &mut Reporter<'_>, message: &str) {
    reporter.error(module.op_loc(op), format!("'{}' {message}", module.name_text(op)));
}

fn cast_types(module: &Module, op: Op) -> (Type, Type) {
    (module.ty(module.operand(op, 0)), module.ty(module.result(op, 0)))
}

/// The types of a conversion as a user writes them.
fn written(module: &Module, op: Op) -> String {
    let (from, to) = cast_types(module, op);
    format!("{} to {}", from.display(module.ctx()), to.display(module.ctx()))
}

pub(super) fn same_shape(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (from, to) = cast_types(module, op);
    if !have_same_shape(module.ctx(), from, to) {
        let message = format!("needs one shape on both sides, not {}", written(module, op));
        error(module, op, reporter, &message);
    }
}

fn width(module: &Module, op: Op, reporter: &mut Reporter<'_>, wider: bool) {
    same_shape(module, op, reporter);
    let (from, to) = cast_types(module, op);
    let (from, to) = (bits(module.ctx(), from), bits(module.ctx(), to));
    let fits = if wider { to > from } else { to < from };
    if !fits {
        let what = if wider { "wider" } else { "narrower" };
        let message = format!("needs a {what} result: {}", written(module, op));
        error(module, op, reporter, &message);
    }
}

pub(super) fn widens_int(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    width(module, op, reporter, true);
}

pub(super) fn narrows_int(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    width(module, op, reporter, false);
}

pub(super) fn widens_float(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    width(module, op, reporter, true);
}

pub(super) fn narrows_float(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    width(module, op, reporter, false);
}

pub(super) fn index_cast(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    same_shape(module, op, reporter);
    let (ctx, (from, to)) = (module.ctx(), cast_types(module, op));
    let is_index = |ty| element(ctx, ty) == ctx.index();
    if is_index(from) == is_index(to) {
        let message = format!(
            "converts between index and an integer of fixed width, not {}",
            written(module, op)
        );
        error(module, op, reporter, &message);
    }
}

pub(super) fn bitcast(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    same_shape(module, op, reporter);
    let (ctx, (from, to)) = (module.ctx(), cast_types(module, op));
    let is_index = |ty| element(ctx, ty) == ctx.index();
    if bits(ctx, from) != bits(ctx, to) || is_index(from) || is_index(to) {
        let message = format!("needs types of one width: {}", written(module, op));
        error(module, op, reporter, &message);
    }
}

pub(super) fn extended(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let ty = module.ty(module.operand(op, 0));
    let types = [
        (module.ty(module.operand(op, 1)), ty),
        (module.ty(module.result(op, 0)), ty),
        (module.ty(module.result(op, 1)), with_element(ctx, ty, ctx.i1())),
    ];
    if let Some((found, wanted)) = types.iter().find(|(found, wanted)| found != wanted) {
        let message =
            format!("has type {} where {} must be", found.display(ctx), wanted.display(ctx));
        error(module, op, reporter, &message);
    }
}

pub(super) fn compare(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let (lhs, rhs) = (module.ty(module.operand(op, 0)), module.ty(module.operand(op, 1)));
    if lhs != rhs {
        let message = format!("compares {} with {}", lhs.display(ctx), rhs.display(ctx));
        error(module, op, reporter, &message);
        return;
    }
    let (result, wanted) = (module.ty(module.result(op, 0)), with_element(ctx, lhs, ctx.i1()));
    if result != wanted {
        let message =
            format!("gives {}, but has type {}", wanted.display(ctx), result.display(ctx));
        error(module, op, reporter, &message);
    }
}

pub(super) fn select(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let [condition, then, otherwise] = [0, 1, 2].map(|i| module.ty(module.operand(op, i)));
    let result = module.ty(module.result(op, 0));
    if then != otherwise || then != result {
        let texts = [then, otherwise, result].map(|ty| ty.display(ctx));
        let message = format!(
            "chooses between values of one type, not {} and {} for {}",
            texts[0], texts[1], texts[2]
        );
        error(module, op, reporter, &message);
    } else if condition != ctx.i1() && !have_same_shape(ctx, condition, result) {
        let message = format!(
            "has conditions {} for values {}: one i1, or one for each value",
            condition.display(ctx),
            result.display(ctx)
        );
        error(module, op, reporter, &message);
    }
}

pub(super) fn constant(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let ty = module.ty(module.result(op, 0));
    let Some(value) = module.slot(op, 0) else { return };
    if value.ty(ctx) != Some(ty) {
        let (text, wanted) = (value.display(ctx), ty.display(ctx));
        error(module, op, reporter, &format!("has value {text} but type {wanted}"));
    } else if !is_constant_value(ctx, value, ty) {
        let (text, wanted) = (value.display(ctx), ty.display(ctx));
        let message = format!(
            "needs a number, or a vector or tensor of them, with signless integers: {text} is of type {wanted}"
        );
        error(module, op, reporter, &message);
    }
}

/// Whether a value can stand in a constant of its type: integers have no sign there.
pub(super) fn is_constant_value(ctx: &Context, value: Attr, ty: Type) -> bool {
    let signless = match element(ctx, ty).data(ctx) {
        TypeData::Integer { signedness, .. } => *signedness == piper_ir::Signedness::Signless,
        _ => true,
    };
    let is_elements = matches!(
        value.data(ctx),
        AttrData::Dense { .. }
            | AttrData::Resource { .. }
            | AttrData::Sparse { .. }
            | AttrData::DenseStrings { .. }
    );
    let is_number = matches!(
        value.data(ctx),
        AttrData::Int { .. } | AttrData::WideInt { .. } | AttrData::Float { .. }
    );
    let is_shaped = matches!(ty.data(ctx), TypeData::Tensor { .. } | TypeData::Vector { .. });
    signless && (is_number || (is_elements && is_shaped))
}
