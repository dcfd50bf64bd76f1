//! Collectives: what the shapes must be for the exchange to be possible.

use piper_ir::{Module, Op, Reporter};

use super::{Check, size_fits};

/// Every result has its operand's type.
pub(in crate::stablehlo) fn same_types(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let operands: Vec<_> = module.operands(op).map(|v| module.ty(v)).collect();
    let results: Vec<_> = module.results(op).map(|v| module.ty(v)).collect();
    if operands != results {
        check.error("the results must have the types of the operands");
    }
}

/// The result is a part of the operand along the scattered dimension.
pub(in crate::stablehlo) fn reduce_scatter(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (operand, result) = (module.operand(op, 0), module.result(op, 0));
    part_of(module, op, reporter, (operand, result), "scatter_dimension", "the result");
}

/// Every operand is a part of its result along the gathered dimension.
pub(in crate::stablehlo) fn all_gather(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let pairs: Vec<_> = module.results(op).zip(module.operands(op)).collect();
    for pair in pairs {
        part_of(module, op, reporter, pair, "all_gather_dim", "the operand");
    }
}

fn part_of(
    module: &Module,
    op: Op,
    reporter: &mut Reporter<'_>,
    (whole, part): (piper_ir::Value, piper_ir::Value),
    attr: &str,
    what: &str,
) {
    let mut check = Check::new(module, op, reporter);
    let (Some((large, a)), Some((small, b))) = (check.tensor(whole), check.tensor(part)) else {
        return;
    };
    let dim = check.int(attr).unwrap_or(-1);
    if !check.dims(&format!("'{attr}'"), &[dim], large.len()) {
        return;
    }
    let divides = |size: i64, of: i64| size_fits(size, of) || (size > 0 && of % size == 0);
    let fits = large.len() == small.len()
        && (0..large.len()).all(|d| match d == dim as usize {
            true => divides(small[d], large[d]),
            false => size_fits(small[d], large[d]),
        });
    if !fits || a != b {
        let (whole, part) = (check.text(module.ty(whole)), check.text(module.ty(part)));
        check.error(format!(
            "{what} has type {part}, which is no part of {whole} along dimension {dim}"
        ));
    }
}
