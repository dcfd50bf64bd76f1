//! Reductions: as many initial values as operands, dimensions that exist, a region that joins scalars.

use piper_ir::{Module, Op, Reporter, Type, Value};

use super::{Check, fits};
use crate::stablehlo::ops::control::Return;
use crate::stablehlo::ops::reduction::Reduce;

/// Operands of one shape, their initial values, and the region on scalars.
fn groups(check: &mut Check<'_, '_>) -> Option<Vec<(Value, Type)>> {
    let (module, op) = (check.module, check.op);
    // Reductions over windows have their operands in the same order.
    let (inputs, inits) = (Reduce(op).reduced(module), Reduce(op).initial(module));
    if inputs.len() != inits.len() || inputs.is_empty() {
        let (a, b) = (inputs.len(), inits.len());
        check.error(format!("{a} operand(s) need as many initial values, but there are {b}"));
        return None;
    }
    if inputs.len() != module.num_results(op) {
        let (a, b) = (inputs.len(), module.num_results(op));
        check.error(format!("{a} operand(s) give as many results, but there are {b}"));
        return None;
    }
    let (shape, _) = check.tensor(inputs[0])?;
    let mut elements = Vec::new();
    for (i, (&input, &init)) in inputs.iter().zip(&inits).enumerate() {
        let ((found, element), (scalar, of)) = (check.tensor(input)?, check.tensor(init)?);
        if !fits(found, shape) {
            let (a, b) = (check.text(module.ty(input)), check.text(module.ty(inputs[0])));
            check.error(format!("operand {i} has type {a}, but the first {b}: shapes must agree"));
            return None;
        }
        if !scalar.is_empty() || of != element {
            let (init, element) = (check.text(module.ty(init)), check.text(element));
            check.error(format!(
                "the initial value of operand {i} has type {init}, expected tensor<{element}>"
            ));
            return None;
        }
        elements.push((input, element));
    }
    region(check, &elements);
    Some(elements)
}

/// The region takes two scalars an operand and gives one.
fn region(check: &mut Check<'_, '_>, elements: &[(Value, Type)]) {
    let (module, op, ctx) = (check.module, check.op, check.module.ctx());
    let scalars: Vec<Type> =
        elements.iter().map(|(_, element)| ctx.tensor(&[], *element)).collect();
    let Some(block) = module.first_block(module.regions(op)[0]) else { return };
    let args: Vec<Type> = module.args(block).iter().map(|v| module.ty(*v)).collect();
    let wanted = [&scalars[..], &scalars].concat();
    if !same(check, &args, &wanted) {
        let (args, wanted) = (list(check, &args), list(check, &wanted));
        check.error(format!("the region takes ({args}), but the operands make that ({wanted})"));
        return;
    }
    let Some(end) = module.last_op(block).filter(|end| Return::cast(module, *end).is_some()) else {
        return;
    };
    let given: Vec<Type> = module.operands(end).map(|v| module.ty(v)).collect();
    if !same(check, &given, &scalars) {
        let (given, wanted) = (list(check, &given), list(check, &scalars));
        check
            .error(format!("the region gives ({given}), but the operands make that ({wanted})"))
            .note(module.op_loc(end), "given here");
    }
}

/// Scalars of the same types; the region may compute in a wider type than it reduces.
fn same(check: &Check<'_, '_>, given: &[Type], wanted: &[Type]) -> bool {
    let ctx = check.module.ctx();
    let kind = |ty: &Type| {
        let (shape, element) = ty.as_tensor(ctx)?;
        shape.is_empty().then(|| std::mem::discriminant(element.data(ctx)))
    };
    given.len() == wanted.len() && given.iter().zip(wanted).all(|(a, b)| kind(a) == kind(b))
}

fn list(check: &Check<'_, '_>, types: &[Type]) -> String {
    types.iter().map(|ty| check.text(*ty)).collect::<Vec<_>>().join(", ")
}

/// The results have the dimensions that are left.
pub(in crate::stablehlo) fn reduce(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let Some(elements) = groups(&mut check) else { return };
    let Some((shape, _)) = check.tensor(elements[0].0) else { return };
    let dims = check.ints("dimensions");
    if !check.dims("'dimensions'", dims, shape.len()) {
        return;
    }
    let kept: Vec<i64> = (0..shape.len())
        .filter(|dim| !dims.contains(&(*dim as i64)))
        .map(|dim| shape[dim])
        .collect();
    for (index, (_, element)) in elements.iter().enumerate() {
        let found = module.ty(module.result(op, index));
        if found.as_tensor(module.ctx()).is_none_or(|(found, _)| !fits(found, &kept)) {
            let wanted = module.ctx().tensor(&kept, *element);
            let (found, wanted) = (check.text(found), check.text(wanted));
            check.error(format!(
                "result {index} has type {found}, but the operands make it {wanted}"
            ));
            return;
        }
    }
}

/// A window of the operand's rank.
pub(in crate::stablehlo) fn reduce_window(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let Some(elements) = groups(&mut check) else { return };
    let Some((shape, _)) = check.tensor(elements[0].0) else { return };
    for name in ["window_dimensions", "window_strides", "base_dilations", "window_dilations"] {
        let list = check.ints(name);
        let is_given = name == "window_dimensions" || module.attr_by(op, name).is_some();
        if is_given && (list.len() != shape.len() || list.iter().any(|&n| n < 1)) {
            let rank = shape.len();
            check.error(format!("'{name}' needs {rank} positive number(s)"));
            return;
        }
    }
    let rank = |index| check.tensor(module.result(op, index)).map(|(shape, _)| shape.len());
    if (0..elements.len()).any(|index| rank(index) != Some(shape.len())) {
        let rank = shape.len();
        check.error(format!("the results have the operands' rank, {rank}"));
    }
}
