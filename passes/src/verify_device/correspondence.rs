//! That programs are the graph they came from.
//!
//! Every instruction says which operation it was made from (`origin`: its place in the graph). On each class of its home a node
//! has instructions, a compute node and each side of a transfer exactly one; and where a node uses what another one makes, the
//! other's last instruction is complete before its first one starts: by the order of its stream and the events between streams.

use piper_dialects::dag::{Commit, Compute, Dist, Home, MICROBATCH};
use piper_dialects::device::{self, Program};
use piper_ir::{Attr, Context, Module, Name, Op, Reporter, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::fields::Fields;
use super::meetings;
use super::values::{Contents, Mismatch};
use crate::emit_plan::Emitted;
use crate::lower_to_device::ORIGIN;
use crate::memory_plan::sync::{Clocks, event_number};

/// No instruction.
const NONE: u32 = u32::MAX;

/// The instructions of a node in a program: first and last, how many, and how many of them launch something.
#[derive(Clone, Copy)]
struct Span {
    first: u32,
    last: u32,
    count: u32,
    launches: u32,
    /// Two of them write one buffer.
    repeats: bool,
}

impl Span {
    const EMPTY: Self = Self { first: NONE, last: NONE, count: 0, launches: 0, repeats: false };
}

/// Checks the correspondence if the graph is there; whether nothing is wrong.
pub(super) fn check(
    module: &Module,
    device_plan: Op,
    emitted: &Emitted,
    reporter: &mut Reporter<'_>,
) -> bool {
    let ctx = module.ctx();
    let graph = device::Plan(device_plan).graph(module).and_then(|g| g.as_symbol(ctx));
    let graph = graph.and_then(|name| module.lookup_nearest(device_plan, name.text(ctx)));
    let Some(graph) = graph.filter(|g| module.name_text(*g) == "dag.graph") else { return true };
    let errors = reporter.error_count();
    let body = module.only_block(graph).expect("a graph has a block");
    let nodes = Nodes::of(module, module.ops(body).collect());
    let homes = Homes::of(module, graph, &nodes.ops, &emitted.programs);
    let mut fields = Fields::of(module, graph, &nodes.ops);
    fields.check(&nodes.ops, emitted, reporter);
    // The instructions of each node; empty between programs.
    let mut spans = vec![Span::EMPTY; nodes.ops.len()];
    for (number, (program, instructions)) in
        emitted.programs.iter().zip(&emitted.instructions).enumerate()
    {
        let checker = Checker {
            module,
            program: *program,
            number,
            streams: streams(module, *program, instructions),
            instructions,
            homes: &homes,
            nodes: &nodes,
            fields: &fields,
        };
        checker.check(&mut spans, reporter);
        if reporter.error_count() > errors + 20 {
            break;
        }
    }
    if reporter.error_count() == errors {
        meetings::check(module, &nodes.ops, emitted, reporter);
    }
    reporter.error_count() == errors
}

/// The position, in the graph, of the operation that an instruction was made from.
pub(super) fn origin_of(module: &Module, instruction: Op) -> Option<usize> {
    let ctx = module.ctx();
    let origin = module.attr(instruction, ctx.name(ORIGIN))?.as_int(ctx)?;
    usize::try_from(origin).ok()
}

fn coords(ctx: &Context, attr: Attr) -> Option<Vec<(Name, i64)>> {
    attr.as_dict(ctx)?.iter().map(|(axis, at)| Some((*axis, at.as_int(ctx)?))).collect()
}

/// The stream number of each instruction.
fn streams(module: &Module, program: Op, instructions: &[Op]) -> Vec<usize> {
    let names = Program(program).streams(module).as_array(module.ctx()).unwrap_or(&[]);
    let stream = |op: &Op| {
        let stream = module.attr_by(*op, "stream");
        names.iter().position(|name| Some(*name) == stream).unwrap_or(0)
    };
    instructions.iter().map(stream).collect()
}

/// The operations of the graph.
struct Nodes {
    ops: Vec<Op>,
    /// Where in `ops` an operation of the module is, by its index.
    positions: Vec<u32>,
    states: Vec<(String, Value)>,
    commits: Vec<Commit>,
}

impl Nodes {
    fn of(module: &Module, ops: Vec<Op>) -> Self {
        let mut positions = vec![NONE; module.op_capacity()];
        ops.iter().zip(0..).for_each(|(op, at)| positions[op.index()] = at);
        let is_state = |op: &&Op| matches!(module.name_text(**op), "dag.parameter" | "dag.state");
        let named = |op: &Op| {
            let name = module.attr_by(*op, "name")?.as_str(module.ctx())?;
            Some((name.to_owned(), module.result(*op, 0)))
        };
        let states = ops.iter().filter(is_state).filter_map(named).collect();
        let commits = ops.iter().filter_map(|op| Commit::cast(module, *op)).collect();
        Self { ops, positions, states, commits }
    }

    fn position(&self, op: Op) -> Option<u32> {
        Some(self.positions[op.index()]).filter(|at| *at != NONE)
    }
}

/// Where values live. Types say it, and there are far fewer of them than values.
struct Homes {
    /// The slices of each group.
    slices: FxHashMap<Name, Vec<Vec<(Name, i64)>>>,
    /// The slice of each program.
    programs: Vec<Vec<(Name, i64)>>,
    /// The programs on which a value of a type lives.
    by_type: FxHashMap<Type, Box<[u32]>>,
    /// The nodes with an operand or result that lives on a program, by program.
    nodes: Vec<Vec<u32>>,
}

impl Homes {
    fn of(module: &Module, graph: Op, nodes: &[Op], programs: &[Op]) -> Self {
        let ctx = module.ctx();
        let mut homes = Self {
            slices: FxHashMap::default(),
            programs: programs
                .iter()
                .map(|p| coords(ctx, Program(*p).slice(module)).unwrap_or_default())
                .collect(),
            by_type: FxHashMap::default(),
            nodes: vec![Vec::new(); programs.len()],
        };
        let siblings = module.parent_block(graph).into_iter().flat_map(|block| module.ops(block));
        for op in siblings.filter(|op| module.name_text(*op) == "strategy.group") {
            let all = module.attr_by(op, "slices").and_then(|s| s.as_array(ctx)).unwrap_or(&[]);
            if let Some(name) = module.symbol_name(op) {
                let slices = all.iter().filter_map(|s| coords(ctx, *s)).collect();
                homes.slices.insert(ctx.name(name), slices);
            }
        }
        for (op, at) in nodes.iter().zip(0..) {
            for value in module.operands(*op).chain(module.results(*op)) {
                let ty = module.ty(value);
                if !homes.by_type.contains_key(&ty) {
                    let found = homes.programs_of(ctx, ty);
                    homes.by_type.insert(ty, found);
                }
                for &program in &homes.by_type[&ty] {
                    let here = &mut homes.nodes[program as usize];
                    if here.last() != Some(&at) {
                        here.push(at);
                    }
                }
            }
        }
        homes
    }

    fn programs_of(&self, ctx: &Context, ty: Type) -> Box<[u32]> {
        let Some(dist) = Dist::of(ctx, ty) else { return Box::new([]) };
        let agrees = |slice: &[(Name, i64)], here: &[(Name, i64)]| {
            slice.iter().all(|at| at.0.text(ctx) == MICROBATCH || here.contains(at))
        };
        let lives_on = |here: &[(Name, i64)]| match &dist.home {
            Home::Slice(coords) => agrees(coords, here),
            Home::Group(group) => {
                self.slices.get(group).is_some_and(|s| s.iter().any(|c| agrees(c, here)))
            }
        };
        self.programs.iter().zip(0..).filter(|(p, _)| lives_on(p)).map(|(_, n)| n).collect()
    }
}

struct Checker<'m> {
    module: &'m Module,
    program: Op,
    /// The program's place among all.
    number: usize,
    instructions: &'m [Op],
    streams: Vec<usize>,
    homes: &'m Homes,
    nodes: &'m Nodes,
    fields: &'m Fields<'m>,
}

impl Checker<'_> {
    /// Checks one program. `spans` is empty before and after.
    fn check(&self, spans: &mut [Span], reporter: &mut Reporter<'_>) {
        let module = self.module;
        let nodes = &self.nodes.ops;
        let mut here = self.homes.nodes[self.number].clone();
        let mut written: FxHashSet<(usize, Value)> = FxHashSet::default();
        for (at, op) in self.instructions.iter().enumerate() {
            let from = origin_of(module, *op);
            let Some((from, span)) = from.and_then(|from| Some((from, spans.get_mut(from)?)))
            else {
                continue;
            };
            if let Some(launch) = device::Launch::cast(module, *op) {
                span.repeats |= launch.writes(module).any(|buffer| !written.insert((from, buffer)));
                span.launches += 1;
            }
            if span.count == 0 {
                span.first = at as u32;
                here.push(from as u32);
            }
            span.last = at as u32;
            span.count += 1;
        }
        here.sort_unstable();
        here.dedup();
        self.values(reporter);
        let after = self.clocks();
        let mut makers = Vec::new();
        for &at in &here {
            let (op, span) = (nodes[at as usize], spans[at as usize]);
            self.count(op, span, reporter);
            // What another device makes arrives by a transfer, which is a node of its own. An output is stored part by
            // part, each after its own maker, and dataflow is the business of the seal.
            let by_part =
                matches!(module.name_text(op), "dag.output" | "dag.pack" | "dag.gradient");
            if span.count == 0 || by_part {
                continue;
            }
            makers.clear();
            module.operands(op).for_each(|v| self.makers(v, &mut makers));
            for &maker in &makers {
                let made = spans[maker as usize];
                if made.count > 0 && !self.precedes(&after, made.last, span.first) {
                    let name = module.symbol_name(self.program).unwrap_or("");
                    let message = format!(
                        "in '@{name}' {} does not wait for {}, whose result it uses",
                        self.describe(op),
                        self.describe(nodes[maker as usize])
                    );
                    reporter
                        .error(module.op_loc(op), message)
                        .note(module.op_loc(nodes[maker as usize]), "the value is made here");
                }
            }
        }
        here.iter().for_each(|at| spans[*at as usize] = Span::EMPTY);
    }

    /// What instructions read.
    fn values(&self, reporter: &mut Reporter<'_>) {
        let (module, ctx) = (self.module, self.module.ctx());
        let here = self.nodes.states.iter().filter(|(_, value)| self.is_home(*value));
        let states: FxHashMap<&str, Value> = here.map(|(name, value)| (&**name, *value)).collect();
        let mut contents = Contents::new(module, |value| self.root(value), self.fields);
        let (nodes, commits) = (&self.nodes.ops, &self.nodes.commits);
        let wrong = contents.run(self.program, nodes, |op| origin_of(module, op), &states, commits);
        for Mismatch { instruction, buffer } in wrong {
            let name = module.symbol_name(self.program).unwrap_or("");
            let what =
                module.attr_by(instruction, "name").and_then(|n| n.as_str(ctx)).unwrap_or("");
            let message = match module.name_text(instruction) {
                "dag.commit" => format!(
                    "'@{name}' leaves another value in \"{buffer}\" than is committed to it"
                ),
                kind => format!(
                    "in '@{name}' '{kind}' {what} finds another value in \"{buffer}\" than the graph says"
                ),
            };
            reporter.error(module.op_loc(instruction), message);
        }
    }

    /// The value that the aliases of a value lead to here.
    fn root(&self, mut value: Value) -> Value {
        let (module, ctx) = (self.module, self.module.ctx());
        while let Some(def) = module.defining_op(value) {
            value = match module.name_text(def) {
                "dag.project" | "dag.gradient" => module.operand(def, 0),
                "dag.join" => {
                    let Some(Dist { home: Home::Group(group), .. }) =
                        Dist::of(ctx, module.ty(value))
                    else {
                        break;
                    };
                    let here = &self.homes.programs[self.number];
                    let slices = self.homes.slices.get(&group).map_or(&[][..], Vec::as_slice);
                    let mine =
                        slices.iter().position(|slice| slice.iter().all(|at| here.contains(at)));
                    match mine.filter(|at| *at < module.num_operands(def)) {
                        Some(at) => module.operand(def, at),
                        None => break,
                    }
                }
                _ => break,
            };
        }
        value
    }

    /// How often a node was lowered here.
    fn count(&self, op: Op, span: Span, reporter: &mut Reporter<'_>) {
        let module = self.module;
        let runs = |value: Value| self.is_home(value);
        let wanted = match module.name_text(op) {
            // It may be several kernels, which write different buffers.
            "dag.compute" | "dag.sum_squares" => {
                let value = module.results(op).chain(module.operands(op)).next();
                let several = if span.repeats { 1 } else { span.count.max(1) };
                Some(if value.is_some_and(runs) { several } else { 0 })
            }
            "dag.transfer" => {
                Some(u32::from(runs(module.operand(op, 0)) || runs(module.result(op, 0))))
            }
            "dag.all_reduce" | "dag.reduce_scatter" | "dag.all_gather" | "dag.all_to_all"
            | "dag.sum" | "dag.clip_scale" | "dag.cast" => {
                Some(u32::from(runs(module.result(op, 0))))
            }
            // In place it is one launch; copies may come before it.
            "dag.add" | "dag.update" if runs(module.result(op, 0)) => {
                Some(if span.launches == 1 { span.count } else { 1 })
            }
            "dag.output" => Some(module.operands(op).filter(|part| runs(*part)).count() as u32),
            // A load may be left out, a copy too; a gradient is reported if that was asked for.
            "dag.input" | "dag.commit" | "dag.gradient" | "dag.pack" | "dag.unpack" => None,
            _ => Some(0),
        };
        if let Some(wanted) = wanted.filter(|w| *w != span.count) {
            let name = module.symbol_name(self.program).unwrap_or("");
            let message = format!(
                "{} is {} instruction(s) of '@{name}', but should be {wanted}",
                self.describe(op),
                span.count
            );
            reporter.error(module.op_loc(op), message);
        }
    }

    /// Whether a value lives on the devices of this program.
    fn is_home(&self, value: Value) -> bool {
        let programs = self.homes.by_type.get(&self.module.ty(value));
        programs.is_some_and(|programs| programs.contains(&(self.number as u32)))
    }

    /// The nodes that make a value, through its aliases.
    fn makers(&self, value: Value, out: &mut Vec<u32>) {
        let Some(def) = self.module.defining_op(value) else { return };
        match self.module.name_text(def) {
            // A join takes one value on each slice, on this one its own.
            "dag.join" => self
                .module
                .operands(def)
                .filter(|v| self.is_here(*v))
                .for_each(|v| self.makers(v, out)),
            "dag.project" | "dag.gradient" => {
                self.module.operands(def).for_each(|v| self.makers(v, out));
            }
            "dag.input" | "dag.parameter" | "dag.state" => {}
            _ => out.extend(self.nodes.position(def)),
        }
    }

    /// Whether a value lives on this program's devices.
    fn is_here(&self, value: Value) -> bool {
        let Some(dist) = Dist::of(self.module.ctx(), self.module.ty(value)) else { return true };
        let Home::Slice(slice) = dist.home else { return true };
        let program = &self.homes.programs[self.number];
        slice
            .iter()
            .all(|(axis, at)| program.iter().all(|(known, here)| known != axis || here == at))
    }

    /// The clock of each instruction's stream right after it, one after the other.
    fn clocks(&self) -> Vec<u32> {
        let module = self.module;
        let width = self.stream_count();
        let mut clocks = Clocks::new(width);
        let mut recorded: FxHashMap<Option<i64>, usize> = FxHashMap::default();
        let mut after = Vec::with_capacity(self.instructions.len() * width);
        for (at, op) in self.instructions.iter().enumerate() {
            let stream = self.streams[at];
            match module.name_text(*op) {
                "device.record" => {
                    recorded.insert(event_number(module, *op), at);
                }
                "device.wait" => {
                    if let Some(&from) = recorded.get(&event_number(module, *op)) {
                        clocks.join(stream, &after[from * width..(from + 1) * width]);
                    }
                }
                _ => {}
            }
            clocks.issue(stream, at as u32);
            after.extend_from_slice(clocks.row(stream));
        }
        after
    }

    fn stream_count(&self) -> usize {
        let streams = Program(self.program).streams(self.module);
        streams.as_array(self.module.ctx()).map_or(0, <[_]>::len).max(1)
    }

    fn precedes(&self, after: &[u32], earlier: u32, later: u32) -> bool {
        let of = self.streams[earlier as usize];
        let known = after[later as usize * self.stream_count() + of];
        earlier < later && known != NONE && known >= earlier
    }

    fn describe(&self, op: Op) -> String {
        let ctx = self.module.ctx();
        match Compute::cast(self.module, op).and_then(|c| c.node(self.module).as_str(ctx)) {
            Some(name) => format!("'{name}'"),
            None => format!("'{}'", self.module.name_text(op)),
        }
    }
}
