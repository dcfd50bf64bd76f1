//! Result types of collectives: what a distribution becomes. The verifiers say when it may become so.

use piper_ir::{InferInput, Name, Type};

use super::{Dist, collective_axes};

/// The first operand's distribution and the axes of the collective.
fn operand_and_axes(input: &InferInput<'_>) -> Result<(Dist, Vec<Name>), String> {
    let ty = input.operands.first().ok_or("it has no operand")?;
    let dist = Dist::of(input.ctx, *ty)
        .ok_or_else(|| format!("{} is no distributed value", ty.display(input.ctx)))?;
    let axes = input.attr("axes").ok_or("attribute 'axes' is not given")?;
    Ok((dist, collective_axes(input.ctx, axes)))
}

/// The value is no partial sum over the axes any more.
pub(super) fn all_reduce(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    let (mut dist, axes) = operand_and_axes(input)?;
    dist.partial.retain(|axis| !axes.contains(axis));
    Ok(vec![dist.ty(input.ctx)])
}

/// The axes shard dimension 0 instead.
pub(super) fn reduce_scatter(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    let (mut dist, axes) = operand_and_axes(input)?;
    dist.partial.retain(|axis| !axes.contains(axis));
    dist.dims.first_mut().ok_or("a rank-0 value cannot be scattered")?.extend(axes);
    Ok(vec![dist.ty(input.ctx)])
}

/// The axes, the most minor ones of dimension 0, shard it no more.
pub(super) fn all_gather(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    let (mut dist, axes) = operand_and_axes(input)?;
    let dim = dist.dims.first_mut().filter(|dim| dim.ends_with(&axes));
    let dim = dim.ok_or("dimension 0 of the value is not sharded over these axes")?;
    dim.truncate(dim.len() - axes.len());
    Ok(vec![dist.ty(input.ctx)])
}

/// The axes shard another dimension.
pub(super) fn all_to_all(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    let (dist, axes) = operand_and_axes(input)?;
    let number = |name: &str| {
        let given = input.attr(name).and_then(|a| a.as_int(input.ctx));
        given.ok_or_else(|| format!("attribute '{name}' is not given"))
    };
    Ok(vec![moved_shards(dist, &axes, number("from")?, number("to")?)?.ty(input.ctx)])
}

/// A distribution whose axes, the most minor ones of a dimension, are those of another instead.
///
/// # Errors
/// Why they cannot be moved so.
pub(super) fn moved_shards(
    mut dist: Dist,
    axes: &[Name],
    from: i64,
    to: i64,
) -> Result<Dist, String> {
    let rank = dist.dims.len();
    let inside = |dim: i64| usize::try_from(dim).ok().filter(|dim| *dim < rank);
    let (Some(from), Some(to)) = (inside(from), inside(to)) else {
        return Err(format!(
            "the value has dimensions 0 to {}, not {from} and {to}",
            rank as i64 - 1
        ));
    };
    if from == to {
        return Err(format!("dimension {from} is both where they leave and where they go"));
    }
    if !dist.dims[from].ends_with(axes) {
        return Err(format!(
            "dimension {from} of the value is not sharded over these axes, minor to all others"
        ));
    }
    let kept = dist.dims[from].len() - axes.len();
    dist.dims[from].truncate(kept);
    dist.dims[to].extend(axes);
    Ok(dist)
}
