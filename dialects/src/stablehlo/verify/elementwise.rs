//! Operations that work value by value: one shape, and mostly one element type.

use piper_ir::{Module, Op, Reporter, Value};

use super::{Check, fits};

/// The declared name of the value at a place among operands and results.
fn name_of(module: &Module, op: Op, value: Value) -> String {
    let Some(def) = module.def(op) else { return String::new() };
    for (group, def) in def.operands.iter().enumerate() {
        if module.operand_group(op, group).any(|v| v == value) {
            return def.name.to_string();
        }
    }
    def.results.first().map_or(String::new(), |def| def.name.to_string())
}

/// Checks every value against the first: shapes, and element types if `types` is set. Scalars pass if `scalars` is set.
fn against_first(check: &mut Check<'_, '_>, values: &[Value], types: bool, scalars: bool) {
    let Some(&first) = values.first() else { return };
    let Some((shape, element)) = check.tensor(first) else { return };
    for &value in &values[1..] {
        let Some((found, found_element)) = check.tensor(value) else { continue };
        let shape_fits = fits(found, shape) || (scalars && found.is_empty());
        if shape_fits && (!types || found_element == element) {
            continue;
        }
        let (module, op) = (check.module, check.op);
        let (name, first_name) = (name_of(module, op, value), name_of(module, op, first));
        let (found, wanted) = (check.text(module.ty(value)), check.text(module.ty(first)));
        let what = if shape_fits { "element types" } else { "shapes" };
        check
            .error(format!("'{name}' has type {found}, but '{first_name}' has {wanted}"))
            .hint(format!("{what} must agree"));
        return;
    }
}

fn all(module: &Module, op: Op) -> Vec<Value> {
    module.operands(op).chain(module.results(op)).collect()
}

/// All operands and results agree in shape and element type; the magnitude of complex numbers is real.
pub(in crate::stablehlo) fn same_types(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let magnitude = module.name_text(op) == "stablehlo.abs";
    against_first(&mut Check::new(module, op, reporter), &all(module, op), !magnitude, false);
}

/// All operands and results agree in shape.
pub(in crate::stablehlo) fn same_shapes(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    against_first(&mut Check::new(module, op, reporter), &all(module, op), false, false);
}

/// The operands agree; the result has their shape.
pub(in crate::stablehlo) fn compare(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let values = all(module, op);
    let mut check = Check::new(module, op, reporter);
    against_first(&mut check, &values[..2], true, false);
    against_first(&mut check, &[values[0], values[2]], false, false);
}

/// The choices agree with each other and the result, and the condition with them in shape, unless it is one boolean.
pub(in crate::stablehlo) fn select(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let values = all(module, op);
    let mut check = Check::new(module, op, reporter);
    against_first(&mut check, &values[1..], true, false);
    against_first(&mut check, &[values[1], values[0]], false, true);
}

/// The bounds agree with the operand or are scalars.
pub(in crate::stablehlo) fn clamp(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let &[min, operand, max, result] = &all(module, op)[..] else { return };
    let mut check = Check::new(module, op, reporter);
    against_first(&mut check, &[operand, min, max], true, true);
    against_first(&mut check, &[operand, result], true, false);
}
