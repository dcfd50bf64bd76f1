//! What conversions are worth when the operand is known, or was converted before.

use piper_ir::interfaces::{FoldInput, Folded};
use piper_ir::{Op, Type, Value};

use super::cast::{ExtF, ExtSI, ExtUI, TruncF, TruncI};
use super::flags::{OVERFLOW, overflow};
use super::numbers::{change_format, float_to_int, int_to_float, map_float, map_int, reinterpret};
use super::types::int_bits;

fn source(input: &FoldInput<'_>, inner: Op) -> (Value, Type) {
    let value = input.module.operand(inner, 0);
    (value, input.module.ty(value))
}

fn with_operand(value: Value) -> Folded {
    Folded::InPlace { operands: Some(vec![value]), slots: Vec::new() }
}

pub(super) fn extui(input: &FoldInput<'_>) -> Folded {
    if let Some(inner) = input.operand_def(0, ExtUI::NAME) {
        return with_operand(input.module.operand(inner, 0));
    }
    let fold = |a: super::numbers::Int| Some(a.unsigned() as i128);
    map_int(input.ctx(), input.constant(0), input.result_type(), fold).into()
}

pub(super) fn extsi(input: &FoldInput<'_>) -> Folded {
    if let Some(inner) = input.operand_def(0, ExtSI::NAME) {
        return with_operand(input.module.operand(inner, 0));
    }
    map_int(input.ctx(), input.constant(0), input.result_type(), |a| Some(a.signed())).into()
}

pub(super) fn trunci(input: &FoldInput<'_>) -> Folded {
    let ctx = input.ctx();
    let ty = input.result_type();
    let extended = input.operand_def(0, ExtSI::NAME).or_else(|| input.operand_def(0, ExtUI::NAME));
    if let Some(inner) = extended {
        let (value, from) = source(input, inner);
        if from == ty {
            return value.into();
        }
        if int_bits(ctx, from) > int_bits(ctx, ty) {
            return with_operand(value);
        }
    }
    if let Some(inner) = input.operand_def(0, TruncI::NAME) {
        // What both promise is promised of the whole.
        let flags = overflow(input.module, input.op) & overflow(input.module, inner);
        return Folded::InPlace {
            operands: Some(vec![input.module.operand(inner, 0)]),
            slots: vec![(0, OVERFLOW.attr_if(ctx, flags))],
        };
    }
    map_int(ctx, input.constant(0), ty, |a| Some(a.signed())).into()
}

pub(super) fn extf(input: &FoldInput<'_>) -> Folded {
    if let Some(inner) = input.operand_def(0, TruncF::NAME) {
        // Widening what was narrowed gives the number back only if contracting is allowed on both.
        let (value, from) = source(input, inner);
        let flags = super::flags::fastmath(input.module, input.op)
            & super::flags::fastmath(input.module, inner);
        if from == input.result_type() && flags & super::flags::CONTRACT != 0 {
            return value.into();
        }
    }
    map_float(input.ctx(), input.constant(0), input.result_type(), Some).into()
}

pub(super) fn truncf(input: &FoldInput<'_>) -> Folded {
    if let Some(inner) = input.operand_def(0, ExtF::NAME) {
        let (value, from) = source(input, inner);
        if from == input.result_type() {
            return value.into();
        }
    }
    change_format(input.ctx(), input.constant(0), input.result_type()).into()
}

pub(super) fn uitofp(input: &FoldInput<'_>) -> Folded {
    int_to_float(input.ctx(), input.constant(0), input.result_type(), false).into()
}

pub(super) fn sitofp(input: &FoldInput<'_>) -> Folded {
    int_to_float(input.ctx(), input.constant(0), input.result_type(), true).into()
}

pub(super) fn fptoui(input: &FoldInput<'_>) -> Folded {
    float_to_int(input.ctx(), input.constant(0), input.result_type(), false).into()
}

pub(super) fn fptosi(input: &FoldInput<'_>) -> Folded {
    float_to_int(input.ctx(), input.constant(0), input.result_type(), true).into()
}

pub(super) fn index_cast(input: &FoldInput<'_>) -> Folded {
    map_int(input.ctx(), input.constant(0), input.result_type(), |a| Some(a.signed())).into()
}

pub(super) fn index_castui(input: &FoldInput<'_>) -> Folded {
    let fold = |a: super::numbers::Int| Some(a.unsigned() as i128);
    map_int(input.ctx(), input.constant(0), input.result_type(), fold).into()
}

pub(super) fn bitcast(input: &FoldInput<'_>) -> Folded {
    if input.module.ty(input.operand(0)) == input.result_type() {
        return input.operand(0).into();
    }
    reinterpret(input.ctx(), input.constant(0), input.result_type()).into()
}
