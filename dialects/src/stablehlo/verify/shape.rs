//! Operations that move values: where each dimension of the result comes from.

use piper_ir::{DYNAMIC, Module, Op, Reporter, Type, TypeData};

use super::{Check, size_fits};
use crate::stablehlo::forms::elements_type;

/// The result has the type of the constant.
pub(in crate::stablehlo) fn constant(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let ty = module.ty(module.result(op, 0));
    let given = module.attr_by(op, "value").and_then(|value| elements_type(module.ctx(), value));
    match given {
        None => {
            check
                .error("the value must be a tensor of constants")
                .hint("write dense<...> : tensor<...>");
        }
        Some(given) if given != ty => {
            let (given, ty) = (check.text(given), check.text(ty));
            check.error(format!("the value has type {given}, but the result {ty}"));
        }
        Some(_) => {}
    }
}

/// The dimension is one of the result, which holds numbers.
pub(in crate::stablehlo) fn iota(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let Some((shape, element)) = check.tensor(module.result(op, 0)) else { return };
    if shape.is_empty() {
        check.error("a scalar has no positions to count").hint("give the result a dimension");
        return;
    }
    let dim = check.int("iota_dimension").unwrap_or(-1);
    check.dims("'dim'", &[dim], shape.len());
    let is_number = matches!(
        element.data(module.ctx()),
        TypeData::Integer { width: 2.., .. } | TypeData::Float(_) | TypeData::Complex(_)
    );
    if !is_number {
        let text = check.text(element);
        check.error(format!("cannot count in {text}"));
    }
}

/// Each dimension of the operand goes to one of the result of the same size, or of any size if it is 1.
pub(in crate::stablehlo) fn broadcast_in_dim(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let (Some((from, element)), Some((to, found))) =
        (check.tensor(module.operand(op, 0)), check.tensor(module.result(op, 0)))
    else {
        return;
    };
    let dims = check.ints("broadcast_dimensions");
    if dims.len() != from.len() {
        let (given, rank) = (dims.len(), from.len());
        check.error(format!("'dims' places {given} dimension(s), but the operand has {rank}"));
        return;
    }
    if !check.dims("'dims'", dims, to.len()) {
        return;
    }
    for (i, (&size, &dim)) in from.iter().zip(dims).enumerate() {
        let target = to[dim as usize];
        if size != 1 && !size_fits(size, target) {
            check.error(format!(
                "dimension {i} of the operand, of size {size}, cannot be dimension {dim} of the result, of size {target}"
            ));
        }
    }
    same_element(&mut check, element, found);
}

fn same_element(check: &mut Check<'_, '_>, element: Type, found: Type) {
    if element != found {
        let (element, found) = (check.text(element), check.text(found));
        check.error(format!("the result holds {found}, but the operand {element}"));
    }
}

/// As many values as before.
pub(in crate::stablehlo) fn reshape(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let (operand, result) = (module.operand(op, 0), module.result(op, 0));
    let (Some((_, element)), Some((_, found))) = (check.tensor(operand), check.tensor(result))
    else {
        return;
    };
    let count = |value| module.ty(value).num_elements(module.ctx());
    if let (Some(from), Some(to)) = (count(operand), count(result))
        && from != to
    {
        let (a, b) = (check.text(module.ty(operand)), check.text(module.ty(result)));
        check.error(format!("{a} has {from} values, but {b} has {to}"));
    }
    same_element(&mut check, element, found);
}

/// The permutation names every dimension once.
pub(in crate::stablehlo) fn transpose(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let Some((from, element)) = check.tensor(module.operand(op, 0)) else { return };
    let permutation = check.ints("permutation");
    if permutation.len() != from.len() {
        let (given, rank) = (permutation.len(), from.len());
        check.error(format!("'dims' orders {given} dimension(s), but the operand has {rank}"));
        return;
    }
    if check.dims("'dims'", permutation, from.len()) {
        let shape: Vec<i64> = permutation.iter().map(|&dim| from[dim as usize]).collect();
        check.result(0, &shape, element);
    }
}

/// The operands agree in all dimensions but one, whose sizes add up.
pub(in crate::stablehlo) fn concatenate(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let inputs: Vec<_> = module.operands(op).filter_map(|v| check.tensor(v)).collect();
    let Some(&(first, element)) = inputs.first() else {
        check.error("there is nothing to concatenate");
        return;
    };
    let dim = check.int("dimension").unwrap_or(-1);
    if !check.dims("'dim'", &[dim], first.len()) {
        return;
    }
    let dim = dim as usize;
    let mut shape = first.to_vec();
    for (i, &(other, other_element)) in inputs.iter().enumerate().skip(1) {
        let agree = other.len() == first.len()
            && (0..first.len()).all(|d| d == dim || size_fits(first[d], other[d]));
        if !agree || other_element != element {
            let ctx = module.ctx();
            let (a, b) = (ctx.tensor(first, element), ctx.tensor(other, other_element));
            let (a, b) = (check.text(a), check.text(b));
            check.error(format!(
                "operand {i} has type {b}, which does not go on {a} along dimension {dim}"
            ));
            return;
        }
        shape[dim] = match (shape[dim], other[dim]) {
            (DYNAMIC, _) | (_, DYNAMIC) => DYNAMIC,
            (a, b) => a + b,
        };
    }
    check.result(0, &shape, element);
}

/// Ranges lie inside the operand.
pub(in crate::stablehlo) fn slice(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let Some((from, element)) = check.tensor(module.operand(op, 0)) else { return };
    let [starts, limits, strides] =
        ["start_indices", "limit_indices", "strides"].map(|name| check.ints(name));
    if [starts, limits, strides].iter().any(|list| list.len() != from.len()) {
        let (given, rank) = (starts.len(), from.len());
        check.error(format!("{given} range(s) for {rank} dimension(s)"));
        return;
    }
    let mut shape = Vec::with_capacity(from.len());
    for (dim, &size) in from.iter().enumerate() {
        let (start, limit, stride) = (starts[dim], limits[dim], strides[dim]);
        let inside = 0 <= start && start <= limit && (size == DYNAMIC || limit <= size);
        if !inside || stride < 1 {
            check.error(format!(
                "range {start}:{limit}:{stride} does not lie in dimension {dim}, of size {size}"
            ));
            return;
        }
        shape.push((limit - start + stride - 1) / stride);
    }
    check.result(0, &shape, element);
}

/// Checks that there is an index for each dimension.
fn one_index_each(check: &mut Check<'_, '_>, given: usize, rank: usize) -> bool {
    if given != rank {
        check.error(format!("{given} start index(es) for {rank} dimension(s)"));
    }
    given == rank
}

/// An index a dimension, and sizes that fit into the operand.
pub(in crate::stablehlo) fn dynamic_slice(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let Some((from, element)) = check.tensor(module.operand(op, 0)) else { return };
    let sizes = check.ints("slice_sizes");
    if !one_index_each(&mut check, module.num_operands(op) - 1, from.len()) {
        return;
    }
    if sizes.len() != from.len() {
        let (given, rank) = (sizes.len(), from.len());
        check.error(format!("'sizes' gives {given} size(s) for {rank} dimension(s)"));
        return;
    }
    for (dim, (&size, &of)) in sizes.iter().zip(from).enumerate() {
        if size < 0 || (of != DYNAMIC && size > of) {
            check.error(format!(
                "a slice of size {size} does not fit into dimension {dim}, of size {of}"
            ));
            return;
        }
    }
    check.result(0, sizes, element);
}

/// An index a dimension, and an update that fits into the operand.
pub(in crate::stablehlo) fn dynamic_update_slice(
    module: &Module,
    op: Op,
    reporter: &mut Reporter<'_>,
) {
    let mut check = Check::new(module, op, reporter);
    let (Some((from, element)), Some((update, found))) =
        (check.tensor(module.operand(op, 0)), check.tensor(module.operand(op, 1)))
    else {
        return;
    };
    if !one_index_each(&mut check, module.num_operands(op) - 2, from.len()) {
        return;
    }
    let small = update.len() == from.len()
        && update.iter().zip(from).all(|(a, b)| *a == DYNAMIC || *b == DYNAMIC || a <= b);
    if !small || found != element {
        let (a, b) = (module.ty(module.operand(op, 1)), module.ty(module.operand(op, 0)));
        let (a, b) = (check.text(a), check.text(b));
        check.error(format!("an update of type {a} does not fit into {b}"));
        return;
    }
    check.result(0, from, element);
}

/// The result has the operand's sizes with what is added.
pub(in crate::stablehlo) fn pad(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let Some((from, element)) = check.tensor(module.operand(op, 0)) else { return };
    if let Some((shape, found)) = check.tensor(module.operand(op, 1))
        && (!shape.is_empty() || found != element)
    {
        let (found, element) = (check.text(module.ty(module.operand(op, 1))), check.text(element));
        check.error(format!("the padding value has type {found}, expected tensor<{element}>"));
    }
    let [low, high, interior] =
        ["edge_padding_low", "edge_padding_high", "interior_padding"].map(|name| check.ints(name));
    if [low, high, interior].iter().any(|list| list.len() != from.len()) {
        let rank = from.len();
        check.error(format!("'low', 'high' and 'interior' need {rank} number(s) each"));
        return;
    }
    let mut shape = Vec::with_capacity(from.len());
    for (dim, &size) in from.iter().enumerate() {
        if interior[dim] < 0 {
            check.error(format!(
                "interior padding {} of dimension {dim} is negative",
                interior[dim]
            ));
            return;
        }
        shape.push(match size {
            DYNAMIC => DYNAMIC,
            _ => size + low[dim] + high[dim] + (size - 1).max(0) * interior[dim],
        });
    }
    if let Some(dim) = shape.iter().position(|&size| size < 0 && size != DYNAMIC) {
        check.error(format!("dimension {dim} would have the size {}", shape[dim]));
        return;
    }
    check.result(0, &shape, element);
}

/// The members have the types of the operands.
pub(in crate::stablehlo) fn tuple(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let ty = module.ty(module.result(op, 0));
    let operands: Vec<Type> = module.operands(op).map(|v| module.ty(v)).collect();
    if !matches!(ty.data(module.ctx()), TypeData::Tuple(members) if **members == *operands) {
        let wanted = module.ctx().ty(TypeData::Tuple(operands.into()));
        let (ty, wanted) = (check.text(ty), check.text(wanted));
        check.error(format!("the result has type {ty}, but the operands make it {wanted}"));
    }
}

/// The member exists and has the result's type.
pub(in crate::stablehlo) fn get_tuple_element(
    module: &Module,
    op: Op,
    reporter: &mut Reporter<'_>,
) {
    let mut check = Check::new(module, op, reporter);
    let ty = module.ty(module.operand(op, 0));
    let TypeData::Tuple(members) = ty.data(module.ctx()) else {
        let text = check.text(ty);
        check.error(format!("{text} is no tuple"));
        return;
    };
    let index = check.int("index").unwrap_or(-1);
    let result = module.ty(module.result(op, 0));
    match usize::try_from(index).ok().and_then(|index| members.get(index)) {
        None => {
            let count = members.len();
            check.error(format!("there is no member {index} among {count}"));
        }
        Some(&member) if member != result => {
            let (member, result) = (check.text(member), check.text(result));
            check.error(format!("member {index} has type {member}, but the result {result}"));
        }
        Some(_) => {}
    }
}
