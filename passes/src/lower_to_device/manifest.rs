//! What the runtime has to know of states, inputs and outputs: logical tensors, and which elements of them a buffer holds.
//!
//! A flat bucket (ZeRO) is no logical tensor; its `dag.state` names the parameters in it and their offsets, so each of them
//! gets a home in the bucket's shard. The optimizer state and the gradient of a bucket are laid out as the bucket is. A shard
//! of an inner dimension is one run of elements for each row of the dimensions before it. Where parameters are divided before
//! they are in a bucket (tensor and expert parallelism), the bucket is that of the devices with the same parts of them.

use piper_dialects::dag::Parameter;
use piper_ir::{Attr, Module, Name, Op, OpState, Reporter, Type, Value};
use rustc_hash::FxHashMap;

use super::programs::Lowering;
use super::schedule::Node;

/// A logical tensor in a buffer or bucket.
struct Piece {
    tensor: String,
    /// Its global type.
    ty: Type,
    /// First element in the bucket.
    bucket: i64,
    /// Which of its elements those are, if not all.
    runs: Option<Runs>,
}

/// What a `dag.state` or `dag.gradient` holds, and what its buffers are parts of.
struct Layout {
    pieces: Vec<Piece>,
    /// The axes over which the bucket is divided into equal parts, one after the other.
    parts: Vec<Name>,
}

impl Layout {
    /// The communicator whose members have the parts of a bucket.
    fn shard(&self, l: &mut Lowering<'_>) -> Option<Attr> {
        (!self.parts.is_empty()).then(|| l.comm(&self.parts))
    }
}

/// Runs of elements of a tensor, evenly spaced.
#[derive(Clone)]
struct Runs {
    len: i64,
    step: i64,
    count: i64,
    /// Where a device's first run begins, by its coordinates.
    strides: Vec<(Name, i64)>,
}

/// Makes the persistent buffers of all states, with their homes.
pub(super) fn states(l: &mut Lowering<'_>, reporter: &mut Reporter<'_>) {
    let body = l.module.only_block(l.graph).expect("a graph has a block");
    let ops: Vec<Op> = l
        .module
        .ops(body)
        .filter(|op| matches!(l.module.name_text(*op), "dag.parameter" | "dag.state"))
        .collect();
    for op in ops {
        let value = l.module.result(op, 0);
        let name = text(l.module, op, "name");
        let layout = match layout(l, value, &name, op) {
            Ok(layout) => layout,
            Err(why) => {
                reporter.error(l.module.op_loc(op), format!("state \"{name}\": {why}"));
                continue;
            }
        };
        let init = l.module.attr_by(op, "init").expect("declared");
        // Flat copies of parameters begin as these do, which are declared with their own initial values.
        if init.as_dict(&l.ctx).is_none() {
            for piece in &layout.pieces {
                declare_state(l, piece, init, op);
            }
        }
        // Its elements have their homes in the flat state.
        if Parameter::cast(l.module, op).is_some_and(|p| p.flat(l.module).is_some()) {
            continue;
        }
        let classes = l.topology.kept(l.module, value).classes.clone();
        let shard = layout.shard(l);
        for &class in classes.iter() {
            let buffer = l.new_buffer(value, class, Some(&name));
            for piece in &layout.pieces {
                home(l, class, buffer, piece, shard, false, op);
            }
        }
    }
}

fn text(module: &Module, op: Op, attr: &str) -> String {
    module.attr_by(op, attr).and_then(|a| a.as_str(module.ctx())).unwrap_or("").to_owned()
}

/// How the tensors that a value stands for lie in it.
fn layout(l: &Lowering<'_>, value: Value, name: &str, op: Op) -> Result<Layout, String> {
    let dist = &l.topology.kept(l.module, value).dist;
    let alone = |runs| vec![Piece { tensor: name.to_owned(), ty: dist.tensor, bucket: 0, runs }];
    if dist.dims.iter().skip(1).any(|axes| !axes.is_empty()) {
        return Ok(Layout { pieces: alone(Some(runs_of(l, value)?)), parts: Vec::new() });
    }
    let mut parts = dist.dims.first().cloned().unwrap_or_default();
    let Some((bucket, suffix)) = bucket_of(l, value, op) else {
        return Ok(Layout { pieces: alone(None), parts });
    };
    let entries =
        l.module.attr_by(bucket, "init").and_then(|init| init.as_dict(&l.ctx)).unwrap_or(&[]);
    let mut pieces = Vec::new();
    for (parameter, offset) in entries {
        let declared = l.parameters.get(parameter).copied();
        let parameter = parameter.text(&l.ctx);
        let Some(declared) = declared else {
            return Err(format!("it is a copy of \"{parameter}\", but there is no such parameter"));
        };
        let tensor = match &suffix {
            Some(suffix) => format!("{parameter}.{suffix}"),
            None => parameter.to_owned(),
        };
        let own = &l.topology.kept(l.module, declared).dist;
        let (ty, divided) = (own.tensor, own.dividing());
        let runs = match &divided[..] {
            [] => None,
            _ => Some(runs_of(l, declared).map_err(|why| format!("\"{parameter}\": {why}"))?),
        };
        // Devices with the same parts of the parameters share a bucket.
        parts.retain(|axis| !divided.contains(axis));
        pieces.push(Piece { tensor, ty, bucket: offset.as_int(&l.ctx).unwrap_or(0), runs });
    }
    pieces.sort_by_key(|piece| piece.bucket);
    Ok(Layout { pieces, parts })
}

/// The runs of a value that is divided along one dimension.
fn runs_of(l: &Lowering<'_>, value: Value) -> Result<Runs, String> {
    let kept = l.topology.kept(l.module, value);
    let mut divided = kept.dist.dims.iter().enumerate().filter(|(_, axes)| !axes.is_empty());
    let (Some((dim, axes)), None) = (divided.next(), divided.next()) else {
        return Err(
            "it is divided along several dimensions, which has no place in the manifest".to_owned()
        );
    };
    let inner: i64 = kept.local[dim + 1..].iter().product();
    let len = kept.local[dim] * inner;
    let (mut strides, mut parts) = (Vec::new(), 1);
    for axis in axes.iter().rev() {
        if l.topology.groups.contains_key(axis) {
            let axis = axis.text(&l.ctx);
            return Err(format!(
                "a dimension is divided over the group '@{axis}', which has no place in the manifest"
            ));
        }
        strides.push((*axis, parts * len));
        parts *= l.topology.size(*axis);
    }
    Ok(Runs { len, step: parts * len, count: kept.local[..dim].iter().product(), strides })
}

/// The bucket's state whose layout a value has, with what is added to the parameters' names (nothing for the parameters
/// themselves, `m` for a state called `bucket0.m`).
fn bucket_of(l: &Lowering<'_>, value: Value, op: Op) -> Option<(Op, Option<String>)> {
    let is_bucket =
        |op: Op| l.module.attr_by(op, "init").is_some_and(|init| init.as_dict(&l.ctx).is_some());
    if is_bucket(op) {
        return Some((op, None));
    }
    let update = l.module.uses(value).find(|used| l.module.name_text(used.op) == "dag.update")?;
    let master =
        l.module.defining_op(l.module.operand(update.op, 0)).filter(|def| is_bucket(*def))?;
    if update.index == 1 {
        return Some((master, None));
    }
    let name = text(l.module, op, "name");
    Some((master, Some(name.rsplit('.').next().unwrap_or("state").to_owned())))
}

/// The values of a graph's parameters, by name.
pub(super) fn parameters(module: &Module, graph: Op) -> FxHashMap<Name, Value> {
    let ctx = module.ctx();
    let parameters = module.only_block(graph).into_iter().flat_map(|body| module.ops(body));
    let tensor = |op| {
        let parameter = Parameter::cast(module, op)?;
        let name = ctx.name(parameter.name(module).as_str(ctx)?);
        Some((name, parameter.value(module)))
    };
    parameters.filter_map(tensor).collect()
}

fn declare_state(l: &mut Lowering<'_>, piece: &Piece, init: Attr, op: Op) {
    if !l.declared.insert(("state", piece.tensor.clone())) {
        return;
    }
    let state = OpState::new(l.ctx.op_name("device.state"), l.module.op_loc(op))
        .attr(&l.ctx, "name", l.ctx.str_attr(&piece.tensor))
        .attr(&l.ctx, "tensor", l.ctx.type_attr(piece.ty))
        .attr(&l.ctx, "init", init);
    l.declare_shared(state);
}

fn home(
    l: &mut Lowering<'_>,
    class: u32,
    buffer: Value,
    piece: &Piece,
    shard: Option<Attr>,
    output: bool,
    op: Op,
) {
    let len = match &piece.runs {
        Some(runs) => runs.len,
        None => piece.ty.num_elements(&l.ctx).unwrap_or(0) as i64,
    };
    let mut state = OpState::new(l.ctx.op_name("device.home"), l.module.op_loc(op))
        .operands([buffer])
        .attr(&l.ctx, "tensor", l.ctx.str_attr(&piece.tensor))
        .attr(&l.ctx, "bucket", l.ctx.int_attr(piece.bucket))
        .attr(&l.ctx, "len", l.ctx.int_attr(len))
        .attr_if(&l.ctx, "shard", shard);
    if let Some(runs) = &piece.runs {
        state = state
            .attr(&l.ctx, "start", l.ctx.int_attr(0))
            .attr(&l.ctx, "strides", l.coords_attr(&runs.strides))
            .attr(&l.ctx, "step", l.ctx.int_attr(runs.step))
            .attr(&l.ctx, "count", l.ctx.int_attr(runs.count));
    }
    if output {
        state = state.attr(&l.ctx, "output", l.ctx.unit());
    }
    l.declare_in(class, state);
}

/// Declares an input.
pub(super) fn input(l: &mut Lowering<'_>, name: &str, tensor: Type) {
    if l.declared.insert(("input", name.to_owned())) {
        let state = OpState::new(l.ctx.op_name("device.input"), l.module.op_loc(l.graph))
            .attr(&l.ctx, "name", l.ctx.str_attr(name))
            .attr(&l.ctx, "tensor", l.ctx.type_attr(tensor));
        l.declare_shared(state);
    }
}

/// Declares an output that is a number.
pub(super) fn number(l: &mut Lowering<'_>, name: &str) {
    if l.declared.insert(("output", name.to_owned())) {
        let state = OpState::new(l.ctx.op_name("device.output"), l.module.op_loc(l.graph)).attr(
            &l.ctx,
            "name",
            l.ctx.str_attr(name),
        );
        l.declare_shared(state);
    }
}

/// Reports a complete gradient as `grad.NAME`, that of a bucket as those of the parameters in it.
pub(super) fn probe(l: &mut Lowering<'_>, node: &Node, class: u32, reporter: &mut Reporter<'_>) {
    let value = l.module.result(node.op, 0);
    let name = text(l.module, node.op, "name");
    let layout = match layout(l, value, &name, node.op) {
        Ok(layout) => layout,
        Err(why) => {
            reporter.error(l.module.op_loc(node.op), format!("gradient \"{name}\": {why}"));
            return;
        }
    };
    let buffer = l.read(value, class, node);
    let shard = layout.shard(l);
    for piece in layout.pieces {
        let piece = Piece { tensor: format!("grad.{}", piece.tensor), ..piece };
        if l.declared.insert(("output", piece.tensor.clone())) {
            let state = OpState::new(l.ctx.op_name("device.output"), l.module.op_loc(node.op))
                .attr(&l.ctx, "name", l.ctx.str_attr(&piece.tensor))
                .attr(&l.ctx, "tensor", l.ctx.type_attr(piece.ty));
            l.declare_shared(state);
        }
        home(l, class, buffer, &piece, shard, true, node.op);
        let attrs = [("output", l.ctx.str_attr(&piece.tensor)), ("part", l.ctx.int_attr(0))];
        let label = l.ctx.str_attr(&piece.tensor);
        l.instruction(class, node, "device.store_output", &[buffer], &attrs, label);
    }
}
