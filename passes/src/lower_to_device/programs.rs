//! The programs under construction: buffers, instructions, and which values are where.
//!
//! The global order is walked once. Per class, a value's *root* is the value that its aliases lead to there; each root has a
//! buffer from its first write on. Inputs are loaded at their first use, so that no more of them wait in memory than must.

use std::sync::Arc;

use piper_dialects::dag::{Dist, Graph, Home, Join};
use piper_dialects::device::BuiltinKernel;
use piper_ir::pass::PassFailed;
use piper_ir::{
    Attr, Block, Builder, Context, Module, Name, Op, OpState, Reporter, Type, TypeData, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::manifest;
use super::schedule::{Node, Schedule, Task};
use super::topology::{Class, Coords, Topology, buffer_type};
use super::{COMMUNICATE, COMPUTE, ORIGIN, node_code};
use crate::resource::Resources;

/// What [`build`] makes.
pub(super) struct Made {
    pub(super) plan: Op,
    pub(super) programs: Vec<Op>,
}

/// One program.
pub(super) struct Body {
    pub(super) program: Op,
    block: Block,
    instructions: Vec<Op>,
    /// The buffer of a root.
    pub(super) buffers: FxHashMap<Value, Value>,
    pub(super) persistent: FxHashSet<Value>,
    /// How often a root will still be read.
    remaining: FxHashMap<Value, u32>,
    /// How often a buffer name was taken.
    names: FxHashMap<Attr, u32>,
}

/// A communicator over some axes.
struct Communicator {
    symbol: Attr,
    /// The partition of the streams that it is used on; unknown before its first use.
    partition: Option<Option<usize>>,
}

/// Everything the lowering of one graph knows.
pub(super) struct Lowering<'m> {
    pub(super) module: &'m mut Module,
    pub(super) ctx: Arc<Context>,
    pub(super) graph: Op,
    pub(super) topology: &'m Topology,
    pub(super) schedule: &'m Schedule,
    pub(super) bodies: Vec<Body>,
    /// The names of the two streams that every program has.
    compute: Attr,
    communicate: Attr,
    /// The block of the `device.plan`.
    plan_block: Block,
    /// By axes: communicators with the partition that their kernels run on, which nothing may have said yet.
    comms: FxHashMap<Vec<Name>, Vec<Communicator>>,
    /// What the graph's record gives to streams and partitions.
    resources: Resources,
    /// The streams of the operations that the record gives one, as attribute and partition.
    streams: FxHashMap<Op, (Attr, Option<usize>)>,
    kernels: FxHashMap<(BuiltinKernel, Attr, Type), Attr>,
    /// The kernels that add into a buffer of a type, which are asked for most.
    pub(super) accumulators: FxHashMap<Type, Attr>,
    taken: FxHashMap<String, u32>,
    scalars: FxHashMap<Attr, String>,
    /// Buffer a value is to be written to: the state it is committed to.
    direct: FxHashMap<Value, Value>,
    /// The values of the graph's parameters.
    pub(super) parameters: FxHashMap<Name, Value>,
    /// Every operation's place in the text of the graph.
    pub(super) positions: FxHashMap<Op, u32>,
    /// The axes that divide the batch, major to minor.
    pub(super) input_axes: Vec<Name>,
    /// Names of declared inputs, outputs and states.
    pub(super) declared: FxHashSet<(&'static str, String)>,
}

/// The text of a label.
pub(super) fn text(ctx: &Context, label: Attr) -> &str {
    label.as_str(ctx).unwrap_or("")
}

/// The stream of every operation that the record gives one.
fn assign(
    module: &Module,
    body: Block,
    ctx: &Context,
    resources: &Resources,
) -> FxHashMap<Op, (Attr, Option<usize>)> {
    if resources.streams.is_empty() {
        return FxHashMap::default();
    }
    let stream_of = |op: Op| {
        let stream = resources.stream_of(module, op)?;
        Some((op, (ctx.str_attr(stream), resources.partition_of(stream))))
    };
    module.ops(body).filter_map(stream_of).collect()
}

/// Builds the `device.plan` of a graph.
pub(super) fn build(
    module: &mut Module,
    graph: Op,
    topology: &Topology,
    schedule: &Schedule,
    reporter: &mut Reporter<'_>,
) -> Result<Made, PassFailed> {
    let ctx = module.ctx_arc();
    let mut b = Builder::after(module, graph);
    let name = b.module.symbol_name(graph).unwrap_or("train").to_owned();
    let mesh = Graph(graph).mesh(b.module);
    let state = b
        .state("device.plan")
        .attr(&ctx, "name", ctx.str_attr(&name))
        .attr(&ctx, "graph", ctx.symbol_attr(&name))
        .attr(&ctx, "mesh", mesh)
        .region();
    let plan = b.insert(state);
    let region = module.regions(plan)[0];
    let plan_block = module.add_block(region);
    let body = module.only_block(graph).expect("a graph has a block");
    let parameters = manifest::parameters(module, graph);
    let positions = module.ops(body).zip(0..).collect();
    let inputs = module.ops(body).filter(|op| module.name_text(*op) == "dag.input");
    let dists = inputs.filter_map(|op| Dist::of(&ctx, module.ty(module.result(op, 0))));
    let input_axes = node_code::input_axes(dists);
    let resources = Resources::of(module, graph);
    let streams = assign(module, body, &ctx, &resources);
    let mut lowering = Lowering {
        module,
        compute: ctx.str_attr(COMPUTE),
        communicate: ctx.str_attr(COMMUNICATE),
        ctx,
        graph,
        topology,
        schedule,
        bodies: Vec::new(),
        plan_block,
        comms: FxHashMap::default(),
        resources,
        streams,
        kernels: FxHashMap::default(),
        accumulators: FxHashMap::default(),
        taken: FxHashMap::default(),
        scalars: FxHashMap::default(),
        direct: FxHashMap::default(),
        parameters,
        positions,
        input_axes,
        declared: FxHashSet::default(),
    };
    lowering.open_programs();
    let errors = reporter.error_count();
    manifest::states(&mut lowering, reporter);
    lowering.find_direct();
    lowering.count_reads();
    // Program by program, so that the instructions of each lie together in memory: whoever walks one afterwards is twice as fast.
    let mut projections = vec![Vec::new(); topology.classes.len()];
    for &at in &schedule.order {
        for &class in &schedule.nodes[at as usize].classes {
            projections[class as usize].push(at);
        }
    }
    for (class, nodes) in projections.iter().enumerate() {
        for &at in nodes {
            node_code::lower(&mut lowering, &schedule.nodes[at as usize], class as u32, reporter);
        }
    }
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    lowering.partitions();
    let programs = lowering.close_programs();
    Ok(Made { plan, programs })
}

impl Lowering<'_> {
    fn open_programs(&mut self) {
        let loc = self.module.op_loc(self.graph);
        for Class { coords, name } in &self.topology.classes {
            let streams = [self.compute, self.communicate];
            let state = OpState::new(self.ctx.op_name("device.program"), loc)
                .attr(&self.ctx, "sym_name", self.ctx.str_attr(name))
                .attr(&self.ctx, "slice", self.coords_attr(coords))
                .attr(&self.ctx, "streams", self.ctx.array_attr(streams))
                .region();
            let program = self.module.create(state);
            let region = self.module.regions(program)[0];
            let block = self.module.add_block(region);
            self.taken.insert(name.clone(), 0);
            self.bodies.push(Body {
                program,
                block,
                instructions: Vec::new(),
                buffers: FxHashMap::default(),
                persistent: FxHashSet::default(),
                remaining: FxHashMap::default(),
                names: FxHashMap::default(),
            });
        }
    }

    /// Instructions go after the declarations, programs after what they share.
    fn close_programs(&mut self) -> Vec<Op> {
        let bodies = std::mem::take(&mut self.bodies);
        let mut streams = vec![self.compute, self.communicate];
        for spec in &self.resources.streams {
            let stream = self.ctx.str_attr(&spec.stream);
            if !streams.contains(&stream) {
                streams.push(stream);
            }
        }
        let key = self.ctx.name("stream");
        bodies
            .into_iter()
            .map(|body| {
                // Of many streams a program lists those that it uses.
                if !self.resources.is_empty() {
                    let used: FxHashSet<Attr> = body
                        .instructions
                        .iter()
                        .filter_map(|op| self.module.attr(*op, key))
                        .collect();
                    let listed = streams.iter().copied();
                    let listed: Vec<Attr> =
                        listed.filter(|s| *s == self.compute || used.contains(s)).collect();
                    let listed = self.ctx.array_attr(listed);
                    self.module.set_attr_by(body.program, "streams", listed);
                }
                for op in body.instructions {
                    self.module.append(body.block, op);
                }
                self.module.append(self.plan_block, body.program);
                body.program
            })
            .collect()
    }

    /// Values that are computed right where a state keeps them.
    fn find_direct(&mut self) {
        use super::schedule::Overwrite;
        for (&commit, how) in &self.schedule.overwrites {
            if *how == Overwrite::Direct {
                let (state, value) =
                    (self.module.operand(commit, 0), self.module.operand(commit, 1));
                self.direct.insert(value, state);
            }
        }
    }

    fn count_reads(&mut self) {
        for node in &self.schedule.nodes {
            for &class in &node.classes {
                for value in self.reads(node, class) {
                    let root = self.root(value, class);
                    *self.bodies[class as usize].remaining.entry(root).or_default() += 1;
                }
            }
        }
    }

    /// The values that a node reads on a class.
    pub(super) fn reads(&self, node: &Node, class: u32) -> Vec<Value> {
        match node.task {
            Task::Store(operand) => vec![self.module.operand(node.op, operand)],
            Task::Probe => vec![self.module.operand(node.op, 0)],
            Task::Run => match self.module.name_text(node.op) {
                "dag.transfer" => {
                    let value = self.module.operand(node.op, 0);
                    if self.holds(value, class) { vec![value] } else { Vec::new() }
                }
                "dag.commit" => vec![self.module.operand(node.op, 1)],
                _ => self.module.operands(node.op).collect(),
            },
        }
    }

    /// Whether a value lives on a class.
    pub(super) fn holds(&self, value: Value, class: u32) -> bool {
        self.topology.kept(self.module, value).classes.contains(&class)
    }

    /// The value that the aliases of `value` lead to on a class.
    pub(super) fn root(&self, mut value: Value, class: u32) -> Value {
        while let Some(def) = self.module.defining_op(value) {
            value = match self.module.name_text(def) {
                "dag.project" | "dag.gradient" => self.module.operand(def, 0),
                "dag.join" => {
                    let joined =
                        &self.topology.kept(self.module, Join(def).joined(self.module)).dist.home;
                    let Home::Group(group) = joined else { return value };
                    match self.topology.slice_in(*group, class) {
                        Some(slice) if slice < self.module.num_operands(def) => {
                            self.module.operand(def, slice)
                        }
                        _ => return value,
                    }
                }
                _ => return value,
            };
        }
        value
    }

    /// The buffer that holds a value on a class, loading it if it is an input not used before; one read less remains.
    pub(super) fn read(&mut self, value: Value, class: u32, node: &Node) -> Value {
        let root = self.root(value, class);
        let body = &mut self.bodies[class as usize];
        if let Some(remaining) = body.remaining.get_mut(&root) {
            *remaining = remaining.saturating_sub(1);
        }
        if let Some(&buffer) = body.buffers.get(&root) {
            return buffer;
        }
        let buffer = self.new_buffer(root, class, None);
        if let Some(def) = self.module.defining_op(root)
            && self.module.name_text(def) == "dag.input"
        {
            node_code::load(self, def, buffer, class, node);
        }
        buffer
    }

    /// Whether nobody will read a value's buffer any more, so that it may be overwritten.
    pub(super) fn is_dead(&self, value: Value, class: u32) -> bool {
        let body = &self.bodies[class as usize];
        let root = self.root(value, class);
        body.remaining.get(&root).copied().unwrap_or(0) == 0
            && body.buffers.get(&root).is_some_and(|buffer| !body.persistent.contains(buffer))
    }

    /// The buffer that a value is written to on a class: its own, or that of the state it is committed to.
    pub(super) fn write(&mut self, value: Value, class: u32) -> Value {
        if let Some(&state) = self.direct.get(&value) {
            let root = self.root(state, class);
            if let Some(&buffer) = self.bodies[class as usize].buffers.get(&root) {
                self.bodies[class as usize].buffers.insert(value, buffer);
                return buffer;
            }
        }
        self.new_buffer(value, class, None)
    }

    /// Says that a value is in a buffer that another value had.
    pub(super) fn take_over(&mut self, value: Value, class: u32, buffer: Value) {
        self.bodies[class as usize].buffers.insert(value, buffer);
    }

    /// A buffer of its own for a value. `persistent` gives the name of a state's.
    pub(super) fn new_buffer(
        &mut self,
        value: Value,
        class: u32,
        persistent: Option<&str>,
    ) -> Value {
        let ty = self.topology.kept(self.module, value).buffer;
        let label = persistent.map_or_else(|| self.label(value), |name| self.ctx.str_attr(name));
        let buffer = self.declare_buffer(class, label, ty, persistent.is_some());
        self.bodies[class as usize].buffers.insert(value, buffer);
        buffer
    }

    fn declare_buffer(&mut self, class: u32, label: Attr, ty: Type, persistent: bool) -> Value {
        let name = self.fresh_name(class, label);
        let mut state =
            OpState::new(self.ctx.op_name("device.buffer"), self.module.op_loc(self.graph))
                .attr(&self.ctx, "name", name)
                .results([ty]);
        if persistent {
            state = state.attr(&self.ctx, "persistent", self.ctx.unit());
        }
        let buffer = self.declare(class, state);
        if persistent {
            self.bodies[class as usize].persistent.insert(buffer);
        }
        buffer
    }

    /// A part of a buffer.
    pub(super) fn view(
        &mut self,
        class: u32,
        base: Value,
        start: i64,
        elems: u64,
        element: Type,
        label: Attr,
    ) -> Value {
        let name = self.fresh_name(class, label);
        let ty = buffer_type(&self.ctx, elems, element);
        let state = OpState::new(self.ctx.op_name("device.view"), self.module.op_loc(self.graph))
            .operands([base])
            .attr(&self.ctx, "name", name)
            .attr(&self.ctx, "start", self.ctx.int_attr(start))
            .results([ty]);
        self.declare(class, state)
    }

    fn declare(&mut self, class: u32, state: OpState) -> Value {
        let op = self.module.create(state);
        self.module.append(self.bodies[class as usize].block, op);
        self.module.result(op, 0)
    }

    /// Puts a declaration without results after the buffers.
    pub(super) fn declare_in(&mut self, class: u32, state: OpState) {
        let op = self.module.create(state);
        self.module.append(self.bodies[class as usize].block, op);
    }

    /// Puts a declaration that programs share before them.
    pub(super) fn declare_shared(&mut self, state: OpState) {
        let op = self.module.create(state);
        self.module.append(self.plan_block, op);
    }

    fn fresh_name(&mut self, class: u32, label: Attr) -> Attr {
        let names = &mut self.bodies[class as usize].names;
        match names.get_mut(&label) {
            None => {
                names.insert(label, 0);
                label
            }
            Some(count) => {
                *count += 1;
                let name = self.ctx.str_attr(&format!("{}_{count}", text(&self.ctx, label)));
                let known = names.len();
                names.entry(name).or_insert(0);
                // A label may itself look like a repeated one.
                if names.len() > known { name } else { self.fresh_name(class, label) }
            }
        }
    }

    /// What a person would call a value: the name it was written with, or that of its node.
    pub(super) fn label(&self, value: Value) -> Attr {
        if let Some(name) = self.module.value_name(value) {
            return self.ctx.str_attr(name.text(&self.ctx));
        }
        let Some(def) = self.module.defining_op(value) else { return self.ctx.str_attr("value") };
        if let Some(node) = self.module.attr_by(def, "node") {
            let at = self.module.results(def).position(|r| r == value).unwrap_or(0);
            return if self.module.num_results(def) == 1 {
                node
            } else {
                self.ctx.str_attr(&format!("{}.{at}", text(&self.ctx, node)))
            };
        }
        match self.module.name_text(def) {
            "dag.transfer" | "dag.gradient" | "dag.project" | "dag.add" => {
                self.label(self.module.operand(def, 0))
            }
            name => self.ctx.str_attr(name.trim_start_matches("dag.")),
        }
    }

    /// Adds an instruction.
    pub(super) fn instruction(
        &mut self,
        class: u32,
        node: &Node,
        name: &str,
        operands: &[Value],
        attrs: &[(&str, Attr)],
        label: Attr,
    ) {
        let communicates = matches!(
            name,
            "device.send"
                | "device.recv"
                | "device.all_reduce"
                | "device.reduce_scatter"
                | "device.all_gather"
                | "device.all_to_all"
        );
        let usual = if communicates { self.communicate } else { self.compute };
        let stream = self.streams.get(&node.op).map_or(usual, |given| given.0);
        let mut state = OpState::new(self.ctx.op_name(name), self.module.op_loc(node.op))
            .operands(operands.iter().copied())
            .attr(&self.ctx, "stream", stream)
            .attr(&self.ctx, "name", label)
            .attr(&self.ctx, ORIGIN, self.ctx.int_attr(node.index.into()));
        for (key, attr) in attrs {
            state = state.attr(&self.ctx, key, *attr);
        }
        let op = self.module.create(state);
        self.bodies[class as usize].instructions.push(op);
    }

    /// The symbol of the communicator over axes that an operation uses. No axes: the point-to-point channel.
    ///
    /// A communicator's kernels run on one partition, so streams of different partitions have one each.
    pub(super) fn comm_of(&mut self, op: Op, axes: &[Name]) -> Attr {
        let partition = match self.streams.get(&op) {
            Some((_, partition)) => *partition,
            None => self.resources.partition_of(COMMUNICATE),
        };
        for known in self.comms.get_mut(axes).into_iter().flatten() {
            if *known.partition.get_or_insert(partition) == partition {
                return known.symbol;
            }
        }
        self.new_comm(axes, Some(partition))
    }

    /// The symbol of any communicator over axes, declared at its first use: what a group is, whoever communicates in it.
    pub(super) fn comm(&mut self, axes: &[Name]) -> Attr {
        match self.comms.get(axes).and_then(|known| known.first()) {
            Some(known) => known.symbol,
            None => self.new_comm(axes, None),
        }
    }

    fn new_comm(&mut self, axes: &[Name], partition: Option<Option<usize>>) -> Attr {
        let texts: Vec<&str> = axes.iter().map(|a| a.text(&self.ctx)).collect();
        let mut name = if axes.is_empty() { "p2p".to_owned() } else { texts.join("_") };
        if self.comms.contains_key(axes)
            && let Some(Some(at)) = partition
        {
            name = format!("{name}_{}", self.resources.partitions[at].name);
        }
        let name = self.fresh_symbol(&name);
        let members: Vec<Attr> = match axes {
            [] => Vec::new(),
            axes => self.topology.members(axes).iter().map(|m| self.coords_attr(m)).collect(),
        };
        let state = OpState::new(self.ctx.op_name("device.comm"), self.module.op_loc(self.graph))
            .attr(&self.ctx, "sym_name", self.ctx.str_attr(&name))
            .attr(&self.ctx, "members", self.ctx.array_attr(members));
        self.declare_shared(state);
        let symbol = self.ctx.symbol_attr(&name);
        self.comms.entry(axes.to_vec()).or_default().push(Communicator { symbol, partition });
        symbol
    }

    /// Declares the partitions, with the communicators that are used on their streams.
    fn partitions(&mut self) {
        let number = |ctx: &Context, n: u32| ctx.int_attr(n.into());
        for (at, spec) in self.resources.partitions.clone().iter().enumerate() {
            let planned = crate::resource::planned(spec);
            let mut comms: Vec<Attr> = self
                .comms
                .values()
                .flatten()
                .filter(|comm| comm.partition == Some(Some(at)))
                .map(|comm| comm.symbol)
                .collect();
            comms.sort_by_key(|symbol| symbol.display(&self.ctx));
            let name = self.fresh_symbol(&spec.name);
            let streams = spec.streams.iter().map(|stream| self.ctx.str_attr(stream));
            let streams = self.ctx.array_attr(streams.collect::<Vec<_>>());
            let loc = self.module.op_loc(self.graph);
            let (least, most) = planned.ctas.unzip();
            let ctx = std::sync::Arc::clone(&self.ctx);
            let state = OpState::new(ctx.op_name("device.partition"), loc)
                .attr(&ctx, "sym_name", ctx.str_attr(&name))
                .attr(&ctx, "size", number(&ctx, spec.size))
                .attr(&ctx, "total", number(&ctx, planned.total))
                .attr(&ctx, "method", ctx.str_attr(spec.method.name()))
                .attr(&ctx, "arch", ctx.str_attr(&spec.arch))
                .attr(&ctx, "streams", streams)
                .attr(&ctx, "comms", ctx.array_attr(comms))
                .attr_if(&ctx, "min_ctas", least.map(|n| number(&ctx, n)))
                .attr_if(&ctx, "ctas", most.map(|n| number(&ctx, n)));
            self.declare_shared(state);
        }
    }

    /// The symbol of a built-in kernel for certain buffers, declared at its first use.
    pub(super) fn kernel(
        &mut self,
        kernel: BuiltinKernel,
        hyper: Attr,
        inputs: &[Type],
        results: &[Type],
    ) -> Attr {
        let signature = self.ctx.function(inputs, results);
        if let Some(&known) = self.kernels.get(&(kernel, hyper, signature)) {
            return known;
        }
        let size = match inputs.first().map(|ty| ty.data(&self.ctx)) {
            Some(TypeData::MemRef { shape, element, .. }) => {
                format!("_{}x{}", shape.first().unwrap_or(&0), element.display(&self.ctx))
            }
            _ => String::new(),
        };
        let name = self.fresh_symbol(&format!("{}{size}", kernel.name()));
        let state = OpState::new(self.ctx.op_name("device.kernel"), self.module.op_loc(self.graph))
            .attr(&self.ctx, "sym_name", self.ctx.str_attr(&name))
            .attr(&self.ctx, "kernel", self.ctx.str_attr(kernel.name()))
            .attr(&self.ctx, "hyper", hyper)
            .attr(&self.ctx, "signature", self.ctx.type_attr(signature));
        self.declare_shared(state);
        let symbol = self.ctx.symbol_attr(&name);
        self.kernels.insert((kernel, hyper, signature), symbol);
        symbol
    }

    /// A symbol that neither the plan nor the module has.
    fn fresh_symbol(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        while self.taken.contains_key(&name)
            || self.module.lookup(self.module.root(), &name).is_some()
        {
            let count = self.taken.entry(base.to_owned()).or_default();
            *count += 1;
            name = format!("{base}_{count}");
        }
        self.taken.insert(name.clone(), 0);
        name
    }

    /// The name of a runtime scalar, declared at its first use.
    pub(super) fn scalar(&mut self, base: &str, source: Attr) -> Attr {
        if let Some(known) = self.scalars.get(&source) {
            return self.ctx.str_attr(known);
        }
        let same = self.scalars.values().filter(|n| n.starts_with(base)).count();
        let name = if same == 0 { base.to_owned() } else { format!("{base}{same}") };
        let state = OpState::new(self.ctx.op_name("device.scalar"), self.module.op_loc(self.graph))
            .attr(&self.ctx, "name", self.ctx.str_attr(&name))
            .attr(&self.ctx, "source", source);
        self.declare_shared(state);
        let attr = self.ctx.str_attr(&name);
        self.scalars.insert(source, name);
        attr
    }

    /// `{pp = 1}`
    pub(super) fn coords_attr(&self, coords: &Coords) -> Attr {
        self.ctx.dict_attr(coords.iter().map(|(axis, at)| (*axis, self.ctx.int_attr(*at))))
    }
}
