//! Products: dimension numbers that exist, once, with sizes that agree.

use piper_ir::{Module, Op, Reporter};

use super::{Check, size_fits};
use crate::stablehlo::rules::dot_dims;

/// Dimension numbers, sizes, and the shape of the result. The element type of the result may be wider.
pub(in crate::stablehlo) fn dot_general(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let (Some((lhs, left)), Some((rhs, right)), Some((_, element))) = (
        check.tensor(module.operand(op, 0)),
        check.tensor(module.operand(op, 1)),
        check.tensor(module.result(op, 0)),
    ) else {
        return;
    };
    if left != right {
        let (left, right) = (check.text(left), check.text(right));
        check.error(format!("'rhs' holds {right}, but 'lhs' holds {left}"));
    }
    let dims = dot_dims(module, op);
    for (side, (batching, contracting), rank) in
        [("lhs", dims.lhs, lhs.len()), ("rhs", dims.rhs, rhs.len())]
    {
        let all = [batching, contracting].concat();
        if !check.dims(&format!("the list of dimensions of '{side}'"), &all, rank) {
            return;
        }
    }
    for (kind, a, b) in
        [("batching", dims.lhs.0, dims.rhs.0), ("contracting", dims.lhs.1, dims.rhs.1)]
    {
        if a.len() != b.len() {
            let (a, b) = (a.len(), b.len());
            check.error(format!("{a} {kind} dimension(s) of 'lhs', but {b} of 'rhs'"));
            return;
        }
        for (&a, &b) in a.iter().zip(b) {
            let (left, right) = (lhs[a as usize], rhs[b as usize]);
            if !size_fits(left, right) {
                check.error(format!(
                    "{kind} dimension {b} of 'rhs' is {right}, but dimension {a} of 'lhs' is {left}"
                ));
                return;
            }
        }
    }
    let mut shape: Vec<i64> = dims.lhs.0.iter().map(|&dim| lhs[dim as usize]).collect();
    for (sizes, (batching, contracting)) in [(lhs, dims.lhs), (rhs, dims.rhs)] {
        let kept =
            (0..sizes.len() as i64).filter(|d| !batching.contains(d) && !contracting.contains(d));
        shape.extend(kept.map(|dim| sizes[dim as usize]));
    }
    check.result(0, &shape, element);
}

/// Vectors and matrices.
pub(in crate::stablehlo) fn dot(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    for index in 0..2 {
        let ty = module.ty(module.operand(op, index));
        let Some((shape, _)) = ty.as_tensor(module.ctx()) else { return };
        if !(1..=2).contains(&shape.len()) {
            let text = check.text(ty);
            check
                .error(format!("{text} is no vector and no matrix"))
                .hint("stablehlo.dot_general takes tensors of any rank");
            return;
        }
    }
    dot_general(module, op, reporter);
}
