//! Result types from operand types and attributes, where these say all.

use piper_ir::{DYNAMIC, InferInput, Type, TypeData};

use super::attrs::list;

type Inferred = Result<Vec<Type>, String>;

/// Shape and element type of an operand.
fn tensor<'a>(input: &InferInput<'a>, operand: usize) -> Result<(&'a [i64], Type), String> {
    let ty = input.operands.get(operand).ok_or_else(|| format!("there is no operand {operand}"))?;
    ty.as_tensor(input.ctx).ok_or_else(|| format!("operand {operand} is no ranked tensor"))
}

fn ints<'a>(input: &InferInput<'a>, name: &str) -> Result<&'a [i64], String> {
    let attr = input.attr(name).and_then(|attr| attr.as_int_array(input.ctx));
    attr.ok_or_else(|| format!("there is no list '{name}'"))
}

/// The size along a dimension.
fn size(shape: &[i64], dim: i64) -> Result<i64, String> {
    let found = usize::try_from(dim).ok().and_then(|dim| shape.get(dim));
    found.copied().ok_or_else(|| format!("there is no dimension {dim}"))
}

/// The type of the first operand; the magnitude of complex numbers is real.
pub(super) fn like_first(input: &InferInput<'_>) -> Inferred {
    let (shape, element) = tensor(input, 0)?;
    match element.data(input.ctx) {
        TypeData::Complex(part) if input.def.name == "stablehlo.abs" => {
            Ok(vec![input.ctx.tensor(shape, *part)])
        }
        _ => Ok(vec![input.operands[0]]),
    }
}

/// The type of the second operand: of both choices, of what is clamped.
pub(super) fn like_second(input: &InferInput<'_>) -> Inferred {
    input.operands.get(1).map(|ty| vec![*ty]).ok_or_else(|| "there is no second operand".into())
}

/// Booleans in the shape of the first operand.
pub(super) fn booleans(input: &InferInput<'_>) -> Inferred {
    let (shape, _) = tensor(input, 0)?;
    Ok(vec![input.ctx.tensor(shape, input.ctx.i1())])
}

/// Dimensions in the order of the permutation.
pub(super) fn transpose(input: &InferInput<'_>) -> Inferred {
    let (shape, element) = tensor(input, 0)?;
    let order = ints(input, "permutation")?;
    let shape = order.iter().map(|&dim| size(shape, dim)).collect::<Result<Vec<i64>, String>>()?;
    Ok(vec![input.ctx.tensor(&shape, element)])
}

/// Batching dimensions, then what is left of each operand; in the element type of the operands.
pub(super) fn dot_general(input: &InferInput<'_>) -> Inferred {
    let numbers = input.attr("dot_dimension_numbers").ok_or("there are no dimension numbers")?;
    let mut shape = Vec::new();
    for (operand, side) in ["lhs", "rhs"].into_iter().enumerate() {
        let (sizes, _) = tensor(input, operand)?;
        let batching = list(input.ctx, numbers, &format!("{side}_batching_dimensions"));
        let contracting = list(input.ctx, numbers, &format!("{side}_contracting_dimensions"));
        if operand == 0 {
            for &dim in batching {
                shape.push(size(sizes, dim)?);
            }
        }
        let kept = (0..)
            .zip(sizes)
            .filter(|(dim, _)| !batching.contains(dim) && !contracting.contains(dim));
        shape.extend(kept.map(|(_, size)| *size));
    }
    Ok(vec![input.ctx.tensor(&shape, tensor(input, 0)?.1)])
}

/// The dimensions that are not reduced, for each operand.
pub(super) fn reduce(input: &InferInput<'_>) -> Inferred {
    let dims = ints(input, "dimensions")?;
    let of = |operand| {
        let (shape, element) = tensor(input, operand)?;
        let kept = (0..).zip(shape).filter(|(dim, _)| !dims.contains(dim));
        let kept: Vec<i64> = kept.map(|(_, size)| *size).collect();
        Ok(input.ctx.tensor(&kept, element))
    };
    (0..input.operands.len() / 2).map(of).collect()
}

/// Sizes along the dimension added up.
pub(super) fn concatenate(input: &InferInput<'_>) -> Inferred {
    let dim = input
        .attr("dimension")
        .and_then(|a| a.as_int(input.ctx))
        .ok_or("there is no 'dimension'")?;
    let (first, element) = tensor(input, 0)?;
    let mut total = 0;
    for operand in 0..input.operands.len() {
        total = match size(tensor(input, operand)?.0, dim)? {
            _ if total == DYNAMIC => DYNAMIC,
            DYNAMIC => DYNAMIC,
            size => total + size,
        };
    }
    let mut shape = first.to_vec();
    shape[dim as usize] = total;
    Ok(vec![input.ctx.tensor(&shape, element)])
}

/// The lengths of the ranges.
pub(super) fn slice(input: &InferInput<'_>) -> Inferred {
    let (starts, limits) = (ints(input, "start_indices")?, ints(input, "limit_indices")?);
    let ranges = starts.iter().zip(limits).zip(ints(input, "strides")?);
    let shape: Vec<i64> = ranges
        .map(|((start, limit), stride)| (limit - start + stride - 1) / (*stride).max(1))
        .collect();
    Ok(vec![input.ctx.tensor(&shape, tensor(input, 0)?.1)])
}

/// The sizes given.
pub(super) fn dynamic_slice(input: &InferInput<'_>) -> Inferred {
    Ok(vec![input.ctx.tensor(ints(input, "slice_sizes")?, tensor(input, 0)?.1)])
}

/// The operand's sizes with what is added.
pub(super) fn pad(input: &InferInput<'_>) -> Inferred {
    let (from, element) = tensor(input, 0)?;
    let (low, high) = (ints(input, "edge_padding_low")?, ints(input, "edge_padding_high")?);
    let interior = ints(input, "interior_padding")?;
    let mut shape = Vec::with_capacity(from.len());
    for (dim, &of) in from.iter().enumerate() {
        let dim = dim as i64;
        shape.push(match of {
            DYNAMIC => DYNAMIC,
            _ => of + size(low, dim)? + size(high, dim)? + (of - 1).max(0) * size(interior, dim)?,
        });
    }
    Ok(vec![input.ctx.tensor(&shape, element)])
}
