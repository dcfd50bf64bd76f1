//! Gather and scatter: dimension numbers that exist, slices that fit.

use piper_ir::{Module, Op, Reporter};

use super::Check;
use crate::stablehlo::attrs::list;

/// A slice size a dimension, and as many index components as there are dimensions to index.
pub(in crate::stablehlo) fn gather(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let mut check = Check::new(module, op, reporter);
    let (Some((from, element)), Some((to, found))) =
        (check.tensor(module.operand(op, 0)), check.tensor(module.result(op, 0)))
    else {
        return;
    };
    if element != found {
        let (element, found) = (check.text(element), check.text(found));
        check.error(format!("the result holds {found}, but the operand {element}"));
    }
    let sizes = check.ints("slice_sizes");
    if sizes.len() != from.len() {
        let (given, rank) = (sizes.len(), from.len());
        check.error(format!("{given} slice size(s) for {rank} dimension(s)"));
        return;
    }
    if let Some(dim) =
        (0..from.len()).find(|&dim| sizes[dim] < 0 || (from[dim] >= 0 && sizes[dim] > from[dim]))
    {
        let (size, of) = (sizes[dim], from[dim]);
        check.error(format!(
            "a slice of size {size} does not fit into dimension {dim}, of size {of}"
        ));
        return;
    }
    let Some(numbers) = module.attr_by(op, "dimension_numbers") else { return };
    for (key, rank) in [
        ("collapsed_slice_dims", from.len()),
        ("operand_batching_dims", from.len()),
        ("start_index_map", from.len()),
        ("offset_dims", to.len()),
    ] {
        if !check.dims(&format!("'{key}'"), list(ctx, numbers, key), rank) {
            return;
        }
    }
}

/// Dimension numbers that exist, and results of the operands' types.
pub(in crate::stablehlo) fn scatter(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let mut check = Check::new(module, op, reporter);
    let operands: Vec<_> = module.operands(op).collect();
    let count = module.num_results(op);
    if operands.len() != 2 * count + 1 {
        let given = operands.len();
        check
            .error(format!("{count} result(s) need {} operands, not {given}", 2 * count + 1))
            .hint("the operands are the tensors, the indices, and an update for each tensor");
        return;
    }
    let (inputs, updates) = (&operands[..count], &operands[count + 1..]);
    for (index, (&input, result)) in inputs.iter().zip(module.results(op)).enumerate() {
        let (a, b) = (module.ty(input), module.ty(result));
        if a != b {
            let (a, b) = (check.text(a), check.text(b));
            check.error(format!("result {index} has type {b}, but the operand {a}"));
            return;
        }
    }
    let (Some(&input), Some(&update)) = (inputs.first(), updates.first()) else { return };
    let (Some((from, _)), Some((update, _))) = (check.tensor(input), check.tensor(update)) else {
        return;
    };
    let Some(numbers) = module.attr_by(op, "scatter_dimension_numbers") else { return };
    for (key, rank) in [
        ("update_window_dims", update.len()),
        ("inserted_window_dims", from.len()),
        ("input_batching_dims", from.len()),
        ("scatter_dims_to_operand_dims", from.len()),
    ] {
        if !check.dims(&format!("'{key}'"), list(ctx, numbers, key), rank) {
            return;
        }
    }
}
