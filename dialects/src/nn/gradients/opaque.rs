//! A declared function's gradient in two halves: of its activations, and of its parameters.

use piper_ir::interfaces::Backward;
use piper_ir::interfaces::differentiable::trained_name;
use piper_ir::{Module, Op, Value};

use crate::func::declared::{Declared, Dims};
use crate::nn::{OpaqueDw, OpaqueDx};

pub(in crate::nn) fn opaque(cx: &mut dyn Backward, op: Op, dy: Value) {
    let operands: Vec<Value> = cx.module().operands(op).collect();
    let results: Vec<Value> = cx.module().results(op).collect();
    let Some(declared) = Declared::called(cx.module(), op) else { return };
    let saved: Vec<(usize, Value)> = declared
        .saved
        .iter()
        .filter_map(|&number| Some((number, *operands.iter().chain(&results).nth(number)?)))
        .collect();
    let is_divided =
        |number| declared.value(number).is_some_and(|(_, dims): (_, Dims)| dims.shard.is_some());
    let divided: Vec<bool> = (0..operands.len() + results.len()).map(is_divided).collect();
    for (name, is_weight) in [(OpaqueDx::NAME, false), (OpaqueDw::NAME, true)] {
        let wanted = |(_, value): &(usize, Value)| {
            is_parameter(cx.module(), *value) == is_weight && cx.wants(*value)
        };
        let wrt: Vec<(usize, Value)> =
            operands.iter().copied().enumerate().filter(wanted).collect();
        if wrt.is_empty() {
            continue;
        }
        // What is divided has to come in: by the parameter itself, if by nothing else.
        let else_divided = divided[operands.len()]
            || saved.iter().any(|(n, v)| divided[*n] && !is_parameter(cx.module(), *v));
        let keeps = |(number, value): &(usize, Value)| {
            !is_weight || !is_parameter(cx.module(), *value) || (divided[*number] && !else_divided)
        };
        let read: Vec<(usize, Value)> = saved.iter().copied().filter(keeps).collect();
        let inputs: Vec<Value> = read.iter().map(|(_, value)| *value).chain([dy]).collect();
        let like: Vec<Value> = wrt.iter().map(|(_, value)| *value).collect();
        let made = cx.emit(name, &inputs, &like, op, &["callee"]);
        let ctx = cx.module().ctx_arc();
        for (attr, list) in [("saved", &read), ("wrt", &wrt)] {
            let numbers: Vec<i64> = list.iter().map(|(number, _)| *number as i64).collect();
            let numbers = ctx.int_array_attr(&numbers);
            cx.module_mut().set_attr_by(made, attr, numbers);
        }
        let cotangents: Vec<Value> = cx.module().results(made).collect();
        for (value, cotangent) in like.into_iter().zip(cotangents) {
            cx.give(value, cotangent);
        }
    }
}

/// Whether a value is a trained tensor itself.
fn is_parameter(module: &Module, value: Value) -> bool {
    module.defining_op(value).is_some_and(|op| trained_name(module, op).is_some())
}
