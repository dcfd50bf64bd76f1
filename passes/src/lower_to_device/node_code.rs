//! The instructions of one node on one class.

use piper_dialects::dag::{Dist, MICROBATCH, collective_axes};
use piper_dialects::device::BuiltinKernel;
use piper_ir::{Attr, Name, Op, Reporter, Type, Value};
use rustc_hash::FxHashSet;

use super::manifest;
use super::programs::{Lowering, text};
use super::schedule::{Node, Overwrite, Task};
use super::topology::slice_coords;

/// Adds the instructions of a node to the program of a class.
pub(super) fn lower(l: &mut Lowering<'_>, node: &Node, class: u32, reporter: &mut Reporter<'_>) {
    match (node.task, l.module.name_text(node.op)) {
        (Task::Store(operand), _) => store(l, node, class, operand),
        (Task::Probe, _) => manifest::probe(l, node, class, reporter),
        (_, "dag.compute") => compute(l, node, class),
        (_, "dag.transfer") => transfer(l, node, class),
        (_, "dag.add") => add(l, node, class),
        (_, "dag.all_reduce") => all_reduce(l, node, class),
        (_, "dag.reduce_scatter") => reshard(l, node, class, "device.reduce_scatter"),
        (_, "dag.all_gather") => reshard(l, node, class, "device.all_gather"),
        (_, "dag.all_to_all") => all_to_all(l, node, class),
        (_, "dag.pack") => pack(l, node, class),
        (_, "dag.unpack") => unpack(l, node, class),
        (_, "dag.sum_squares") => numbers(l, node, class, BuiltinKernel::SumSquares),
        (_, "dag.sum") => numbers(l, node, class, BuiltinKernel::Sum),
        (_, "dag.cast") => numbers(l, node, class, BuiltinKernel::Cast),
        (_, "dag.clip_scale") => numbers(l, node, class, BuiltinKernel::ClipScale),
        (_, "dag.update") => update(l, node, class),
        (_, "dag.commit") => commit(l, node, class),
        (_, name) => {
            let message = format!("'{name}' has no meaning on a device");
            reporter.error(l.module.op_loc(node.op), message);
        }
    }
}

fn read_all(l: &mut Lowering<'_>, node: &Node, class: u32) -> Vec<Value> {
    let values: Vec<Value> = l.module.operands(node.op).collect();
    values.into_iter().map(|v| l.read(v, class, node)).collect()
}

/// What a launch uses, and with what.
#[derive(Default)]
struct Launch {
    reads: Vec<Value>,
    updates: Vec<Value>,
    writes: Vec<Value>,
    scalars: Vec<Attr>,
}

fn launch(
    l: &mut Lowering<'_>,
    node: &Node,
    class: u32,
    callee: Attr,
    launch: &Launch,
    label: Attr,
) {
    let segments =
        [launch.reads.len(), launch.updates.len(), launch.writes.len()].map(|n| n as i64);
    let operands = [&launch.reads[..], &launch.updates, &launch.writes].concat();
    let mut attrs =
        vec![("callee", callee), (piper_ir::OPERAND_SEGMENTS, l.ctx.i32_array_attr(&segments))];
    if !launch.scalars.is_empty() {
        attrs.push(("scalars", l.ctx.array_attr(launch.scalars.clone())));
    }
    l.instruction(class, node, "device.launch", &operands, &attrs, label);
}

/// Launches a built-in kernel.
fn builtin(
    l: &mut Lowering<'_>,
    node: &Node,
    class: u32,
    kernel: BuiltinKernel,
    hyper: Attr,
    uses: &Launch,
    label: Attr,
) {
    let types =
        |values: &[Value]| -> Vec<Type> { values.iter().map(|v| l.module.ty(*v)).collect() };
    let inputs = [types(&uses.reads), types(&uses.updates)].concat();
    let results = types(&uses.writes);
    let callee = l.kernel(kernel, hyper, &inputs, &results);
    launch(l, node, class, callee, uses, label);
}

/// Reads an input's rows on first use.
pub(super) fn load(l: &mut Lowering<'_>, input: Op, buffer: Value, class: u32, reader: &Node) {
    let value = l.module.result(input, 0);
    let dist = l.topology.kept(l.module, value).dist.clone();
    let name =
        l.module.attr_by(input, "name").and_then(|n| n.as_str(&l.ctx)).unwrap_or("").to_owned();
    manifest::input(l, &name, dist.tensor);
    let shape = dist.tensor.as_tensor(&l.ctx).map_or(Vec::new(), |(shape, _)| shape.to_vec());
    let axes = dist.dims.first().cloned().unwrap_or_default();
    let parts: i64 = axes.iter().map(|a| axis_size(l, *a)).product();
    let rows = shape.first().copied().unwrap_or(1) / parts.max(1);
    let (base, strides) = grain(l, &dist, &axes);
    let scaled: Vec<(Name, i64)> = strides.into_iter().map(|(a, s)| (a, s * rows)).collect();
    let mut attrs = vec![
        ("input", l.ctx.str_attr(&name)),
        ("rows", l.ctx.int_attr(rows)),
        ("first", l.ctx.int_attr(base * rows)),
    ];
    if !scaled.is_empty() {
        attrs.push(("strides", l.coords_attr(&scaled)));
    }
    // The load belongs to the input's operation; its place in the order is the reader's.
    let index = l.position(input);
    let node = Node {
        op: input,
        task: Task::Run,
        classes: Vec::new(),
        index: index.unwrap_or(reader.index),
    };
    let label = l.label(value);
    l.instruction(class, &node, "device.load_input", &[buffer], &attrs, label);
}

/// The size of an axis: of the mesh, of a group, or the number of microbatches.
fn axis_size(l: &Lowering<'_>, axis: Name) -> i64 {
    if axis.text(&l.ctx) == MICROBATCH {
        return l.microbatches();
    }
    l.topology.groups.get(&axis).map_or_else(|| l.topology.size(axis), |slices| slices.len() as i64)
}

/// The number of a part along axes (major to minor): a constant and a stride for every mesh axis that is free.
fn grain(l: &Lowering<'_>, dist: &Dist, axes: &[Name]) -> (i64, Vec<(Name, i64)>) {
    let (mut base, mut strides, mut stride) = (0, Vec::new(), 1);
    for &axis in axes.iter().rev() {
        let fixed = dist.coordinate(axis).or_else(|| {
            let microbatch = axis.text(&l.ctx) == MICROBATCH;
            let first = dist.held.as_ref().and_then(|held| held.parts.first()).map(|part| part.lo);
            if microbatch { Some(first.unwrap_or(0)) } else { None }
        });
        match fixed {
            Some(at) => base += at * stride,
            None => strides.push((axis, stride)),
        }
        stride *= axis_size(l, axis);
    }
    strides.reverse();
    (base, strides)
}

/// A part of an output. Its place among all is that of its grain of the batch, in the order in which inputs are divided.
fn store(l: &mut Lowering<'_>, node: &Node, class: u32, operand: usize) {
    let value = l.module.operand(node.op, operand);
    let name = l
        .module
        .attr_by(node.op, "name")
        .and_then(|n| n.as_str(&l.ctx))
        .unwrap_or("loss")
        .to_owned();
    manifest::number(l, &name);
    let buffer = l.read(value, class, node);
    let dist = l.topology.kept(l.module, value).dist.clone();
    // Along an axis that it is no partial sum over, replicas have the same part.
    let partial: FxHashSet<Name> = dist.partial.iter().copied().collect();
    let axes = l.batch_axes(&partial);
    let (base, mut strides) = grain(l, &dist, &axes);
    strides.retain(|(axis, _)| partial.contains(axis));
    let mut attrs = vec![("output", l.ctx.str_attr(&name)), ("part", l.ctx.int_attr(base))];
    if !strides.is_empty() {
        attrs.push(("strides", l.coords_attr(&strides)));
    }
    let label = l.label(value);
    l.instruction(class, node, "device.store_output", &[buffer], &attrs, label);
}

fn compute(l: &mut Lowering<'_>, node: &Node, class: u32) {
    let reads = read_all(l, node, class);
    let results: Vec<Value> = l.module.results(node.op).collect();
    let writes = results.into_iter().map(|v| l.write(v, class)).collect();
    let callee = l.module.attr_by(node.op, "callee").expect("declared");
    let label = l.module.attr_by(node.op, "node").expect("declared");
    launch(l, node, class, callee, &Launch { reads, writes, ..Launch::default() }, label);
}

fn transfer(l: &mut Lowering<'_>, node: &Node, class: u32) {
    let (value, moved) = (l.module.operand(node.op, 0), l.module.result(node.op, 0));
    let sends = l.holds(value, class);
    let other = if sends { moved } else { value };
    let peer = slice_coords(&l.ctx, &l.topology.kept(l.module, other).dist);
    let (peer, comm) = (l.coords_attr(&peer), l.comm_of(node.op, &[]));
    let buffer = if sends { l.read(value, class, node) } else { l.write(moved, class) };
    let attrs = [("peer", peer), ("comm", comm), ("tag", l.ctx.int_attr(node.index.into()))];
    let label = l.label(value);
    l.instruction(
        class,
        node,
        if sends { "device.send" } else { "device.recv" },
        &[buffer],
        &attrs,
        label,
    );
}

/// Accumulates into the operand that nobody reads any more; else into a copy.
fn add(l: &mut Lowering<'_>, node: &Node, class: u32) {
    let (a, b) = (l.module.operand(node.op, 0), l.module.operand(node.op, 1));
    let sum = l.module.result(node.op, 0);
    let (at_a, at_b) = (l.read(a, class, node), l.read(b, class, node));
    let (into, from) = if at_a != at_b && l.is_dead(a, class) {
        (at_a, at_b)
    } else if at_a != at_b && l.is_dead(b, class) {
        (at_b, at_a)
    } else {
        let into = l.write(sum, class);
        let label = l.label(sum);
        l.instruction(class, node, "device.copy", &[at_a, into], &[], label);
        (into, at_b)
    };
    l.take_over(sum, class, into);
    let label = l.label(b);
    let ty = l.module.ty(into);
    let callee = match l.accumulators.get(&ty) {
        Some(&known) => known,
        None => {
            let hyper = l.ctx.dict_attr([]);
            let made = l.kernel(BuiltinKernel::Accumulate, hyper, &[ty, ty], &[]);
            l.accumulators.insert(ty, made);
            made
        }
    };
    let uses = Launch { reads: vec![from], updates: vec![into], ..Launch::default() };
    launch(l, node, class, callee, &uses, label);
}

fn collective_comm(l: &mut Lowering<'_>, op: Op) -> Attr {
    let axes = l.module.attr_by(op, "axes").expect("declared");
    let axes = collective_axes(&l.ctx, axes);
    l.comm_of(op, &axes)
}

fn all_reduce(l: &mut Lowering<'_>, node: &Node, class: u32) {
    let (value, sum) = (l.module.operand(node.op, 0), l.module.result(node.op, 0));
    let comm = collective_comm(l, node.op);
    let src = l.read(value, class, node);
    let dst = if l.is_dead(value, class) { src } else { l.write(sum, class) };
    l.take_over(sum, class, dst);
    let label = l.label(sum);
    l.instruction(class, node, "device.all_reduce", &[src, dst], &[("comm", comm)], label);
}

fn reshard(l: &mut Lowering<'_>, node: &Node, class: u32, name: &str) {
    let (value, result) = (l.module.operand(node.op, 0), l.module.result(node.op, 0));
    let comm = collective_comm(l, node.op);
    let src = l.read(value, class, node);
    let dst = l.write(result, class);
    let label = l.label(result);
    l.instruction(class, node, name, &[src, dst], &[("comm", comm)], label);
}

/// A part is what one member has of the slice of another: contiguous from the divided dimension on, on either side.
fn all_to_all(l: &mut Lowering<'_>, node: &Node, class: u32) {
    let (value, result) = (l.module.operand(node.op, 0), l.module.result(node.op, 0));
    let comm = collective_comm(l, node.op);
    let number = |name: &str| {
        let dim = l.module.attr_by(node.op, name).and_then(|a| a.as_int(&l.ctx)).unwrap_or(0);
        usize::try_from(dim).unwrap_or(0)
    };
    let runs = |value: Value, dim: usize| {
        let local = &l.topology.kept(l.module, value).local;
        l.ctx.int_attr(local[..dim].iter().product())
    };
    let attrs = [
        ("comm", comm),
        ("src_runs", runs(value, number("to"))),
        ("dst_runs", runs(result, number("from"))),
    ];
    let src = l.read(value, class, node);
    let dst = l.write(result, class);
    let label = l.label(result);
    l.instruction(class, node, "device.all_to_all", &[src, dst], &attrs, label);
}

fn offsets(l: &Lowering<'_>, op: Op) -> Vec<i64> {
    l.module.attr_by(op, "offsets").and_then(|o| o.as_int_array(&l.ctx)).unwrap_or(&[]).to_vec()
}

/// What a person would call a part of a flat value.
fn part_label(l: &Lowering<'_>, flat: Attr, part: &str) -> Attr {
    l.ctx.str_attr(&format!("{}.{part}", text(&l.ctx, flat)))
}

/// Copies into the parts of a flat buffer, and zeros between and behind them.
fn pack(l: &mut Lowering<'_>, node: &Node, class: u32) {
    let values: Vec<Value> = l.module.operands(node.op).collect();
    let flat = l.module.result(node.op, 0);
    let (length, element) = {
        let kept = l.topology.kept(l.module, flat);
        (kept.elems as i64, kept.element)
    };
    let base = l.write(flat, class);
    let label = l.label(flat);
    let mut gaps = Vec::new();
    let mut end = 0;
    for (value, offset) in values.into_iter().zip(offsets(l, node.op)) {
        let elems = l.topology.kept(l.module, value).elems;
        gaps.push((end, offset));
        end = offset + elems as i64;
        let src = l.read(value, class, node);
        let part_label = part_label(l, label, text(&l.ctx, l.label(value)));
        let part = l.view(class, base, offset, elems, element, part_label);
        l.instruction(class, node, "device.copy", &[src, part], &[], part_label);
    }
    gaps.push((end, length));
    let zero = l.ctx.float_attr(0.0);
    for (from, to) in gaps.into_iter().filter(|(from, to)| from < to) {
        let part_label = part_label(l, label, "padding");
        let part = l.view(class, base, from, (to - from) as u64, element, part_label);
        l.instruction(class, node, "device.fill", &[part], &[("value", zero)], label);
    }
}

fn unpack(l: &mut Lowering<'_>, node: &Node, class: u32) {
    let flat = l.module.operand(node.op, 0);
    let values: Vec<Value> = l.module.results(node.op).collect();
    let base = l.read(flat, class, node);
    let label = l.label(flat);
    for (value, offset) in values.into_iter().zip(offsets(l, node.op)) {
        let (elems, element) = {
            let kept = l.topology.kept(l.module, value);
            (kept.elems, kept.element)
        };
        let part_label = part_label(l, label, text(&l.ctx, l.label(value)));
        let part = l.view(class, base, offset, elems, element, part_label);
        // What chunks only read may as well be read where it is.
        if l.is_only_read(value) {
            l.take_over(value, class, part);
            continue;
        }
        let dst = l.write(value, class);
        l.instruction(class, node, "device.copy", &[part, dst], &[], part_label);
    }
}

/// Reductions of tensors to numbers, and what is computed of these.
fn numbers(l: &mut Lowering<'_>, node: &Node, class: u32, kernel: BuiltinKernel) {
    let reads = read_all(l, node, class);
    let result = l.module.result(node.op, 0);
    let writes = vec![l.write(result, class)];
    let key = l.ctx.name("max_norm");
    let hyper = l.module.attr_by(node.op, "max_norm").map(|max| (key, max));
    let hyper = l.ctx.dict_attr(hyper);
    let uses = Launch { reads, writes, ..Launch::default() };
    let label = l.ctx.str_attr(kernel.name());
    builtin(l, node, class, kernel, hyper, &uses, label);
}

/// An optimizer step, in place: parameter and state are overwritten where they are kept.
fn update(l: &mut Lowering<'_>, node: &Node, class: u32) {
    let operands: Vec<Value> = l.module.operands(node.op).collect();
    let results: Vec<Value> = l.module.results(node.op).collect();
    let buffers = read_all(l, node, class);
    // Operands: parameter, gradient, states, and maybe the clipping factor; results: parameter, states.
    let state_count = results.len() - 1;
    let (states, scale) = buffers[2..].split_at(state_count);
    let mut uses = Launch { reads: vec![buffers[1]], ..Launch::default() };
    uses.reads.extend(scale);
    let tensors: Vec<(Value, Value)> = [(operands[0], buffers[0])]
        .into_iter()
        .chain(operands[2..].iter().copied().zip(states.iter().copied()))
        .collect();
    let label = l.label(operands[0]);
    for (&(operand, buffer), &result) in tensors.iter().zip(&results) {
        let target = if l.commits_in_place(operand, result) {
            l.take_over(result, class, buffer);
            buffer
        } else {
            let own = l.write(result, class);
            l.instruction(class, node, "device.copy", &[buffer, own], &[], label);
            own
        };
        uses.updates.push(target);
    }
    let rule = l.module.attr_by(node.op, "rule").and_then(|r| r.as_str(&l.ctx)).unwrap_or("sgd");
    let kernel = BuiltinKernel::from_name(rule).unwrap_or(BuiltinKernel::Sgd);
    let hyper = l.module.attr_by(node.op, "hyper").expect("declared");
    let mut entries = hyper.as_dict(&l.ctx).unwrap_or(&[]).to_vec();
    if !scale.is_empty() {
        entries.push((l.ctx.name("clipped"), l.ctx.unit()));
    }
    let hyper = l.ctx.dict_attr(entries);
    let rate = l.module.attr_by(node.op, "lr").expect("declared");
    for &name in kernel.scalars() {
        let source = if name == "lr" { rate } else { l.ctx.str_attr(name) };
        let scalar = l.scalar(name, source);
        uses.scalars.push(scalar);
    }
    builtin(l, node, class, kernel, hyper, &uses, label);
}

fn commit(l: &mut Lowering<'_>, node: &Node, class: u32) {
    let (state, value) = (l.module.operand(node.op, 0), l.module.operand(node.op, 1));
    let src = l.read(value, class, node);
    let root = l.root(state, class);
    let Some(&dst) = l.bodies[class as usize].buffers.get(&root) else { return };
    let label = l.label(state);
    l.instruction(class, node, "device.copy", &[src, dst], &[], label);
}

impl Lowering<'_> {
    /// The number of microbatches of the graph.
    fn microbatches(&self) -> i64 {
        let count = piper_dialects::dag::Graph(self.graph).microbatches(self.module);
        count.and_then(|m| m.as_int(&self.ctx)).unwrap_or(1)
    }

    /// Position of an operation in the graph's text.
    fn position(&self, op: Op) -> Option<u32> {
        self.positions.get(&op).copied()
    }

    /// The axes that divide the batch, major to minor, as the inputs say; axes that no input has come first.
    fn batch_axes(&self, partial: &FxHashSet<Name>) -> Vec<Name> {
        let mut axes: Vec<Name> = partial
            .iter()
            .copied()
            .filter(|axis| {
                !self.input_axes.contains(axis) && !self.topology.groups.contains_key(axis)
            })
            .collect();
        axes.sort_by_key(|axis| axis.text(&self.ctx));
        axes.extend(&self.input_axes);
        axes
    }

    /// Whether nothing but chunks uses a value, directly or as what it is on a slice.
    fn is_only_read(&self, value: Value) -> bool {
        self.module.uses(value).all(|used| match self.module.name_text(used.op) {
            "dag.compute" => true,
            "dag.project" => self.is_only_read(self.module.result(used.op, 0)),
            _ => false,
        })
    }

    /// Whether an update's result becomes the content of the state that it updates.
    fn commits_in_place(&self, operand: Value, result: Value) -> bool {
        self.module.uses(result).any(|used| {
            self.schedule.overwrites.get(&used.op) == Some(&Overwrite::InPlace)
                && self.module.operand(used.op, 0) == operand
        })
    }
}

/// The axes of dimension 0 of the input that is divided most: how the batch is divided.
pub(super) fn input_axes(dists: impl Iterator<Item = Dist>) -> Vec<Name> {
    let divided = dists.filter_map(|dist| dist.dims.into_iter().next());
    divided.fold(Vec::new(), |best, axes| if axes.len() > best.len() { axes } else { best })
}
