//! That programs are the graph they came from.
//!
//! Every instruction says which operation it was made from (`origin`: its place in the graph). On each class of its home a node
//! has instructions, a compute node and each side of a transfer exactly one; and where a node uses what another one makes, the
//! other's last instruction is complete before its first one starts: by the order of its stream and the events between streams.

use piper_dialects::dag::{Compute, Dist, Home, MICROBATCH};
use piper_dialects::device::{self, Program};
use piper_ir::{Attr, Context, Module, Name, Op, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

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
    let nodes: Vec<Op> = module.ops(body).collect();
    let index: FxHashMap<Op, u32> = nodes.iter().copied().zip(0..).collect();
    let mut slices: FxHashMap<Name, Vec<Vec<(Name, i64)>>> = FxHashMap::default();
    if let Some(block) = module.parent_block(graph) {
        for op in module.ops(block).filter(|op| module.name_text(*op) == "strategy.group") {
            let all = module.attr_by(op, "slices").and_then(|s| s.as_array(ctx)).unwrap_or(&[]);
            if let Some(name) = module.symbol_name(op) {
                slices.insert(ctx.name(name), all.iter().filter_map(|s| coords(ctx, *s)).collect());
            }
        }
    }
    for (program, instructions) in emitted.programs.iter().zip(&emitted.instructions) {
        let here = coords(ctx, Program(*program).slice(module)).unwrap_or_default();
        let checker = Checker {
            module,
            program: *program,
            instructions,
            here,
            slices: &slices,
            index: &index,
        };
        checker.check(&nodes, reporter);
        if reporter.error_count() > errors + 20 {
            break;
        }
    }
    reporter.error_count() == errors
}

fn coords(ctx: &Context, attr: Attr) -> Option<Vec<(Name, i64)>> {
    attr.as_dict(ctx)?.iter().map(|(axis, at)| Some((*axis, at.as_int(ctx)?))).collect()
}

struct Checker<'m> {
    module: &'m Module,
    program: Op,
    instructions: &'m [Op],
    here: Vec<(Name, i64)>,
    slices: &'m FxHashMap<Name, Vec<Vec<(Name, i64)>>>,
    index: &'m FxHashMap<Op, u32>,
}

impl Checker<'_> {
    fn check(&self, nodes: &[Op], reporter: &mut Reporter<'_>) {
        let (module, ctx) = (self.module, self.module.ctx());
        let mut spans: Vec<Span> =
            vec![
                Span { first: NONE, last: NONE, count: 0, launches: 0, repeats: false };
                nodes.len()
            ];
        let origin = ctx.name(ORIGIN);
        let mut written: FxHashSet<(usize, Value)> = FxHashSet::default();
        for (at, op) in self.instructions.iter().enumerate() {
            let from = module
                .attr(*op, origin)
                .and_then(|o| o.as_int(ctx))
                .and_then(|o| usize::try_from(o).ok());
            let Some((from, span)) = from.and_then(|from| Some((from, spans.get_mut(from)?)))
            else {
                continue;
            };
            if let Some(launch) = device::Launch::cast(module, *op) {
                span.repeats |= launch.writes(module).any(|buffer| !written.insert((from, buffer)));
            }
            if span.count == 0 {
                span.first = at as u32;
            }
            span.last = at as u32;
            span.count += 1;
            span.launches += u32::from(module.name_text(*op) == "device.launch");
        }
        self.values(nodes, reporter);
        let after = self.clocks();
        for (at, &op) in nodes.iter().enumerate() {
            self.count(op, spans[at], reporter);
            if spans[at].count == 0 {
                continue;
            }
            let mut makers = Vec::new();
            module.operands(op).for_each(|v| self.makers(v, &mut makers));
            for maker in makers {
                let made = spans[maker as usize];
                // What another device makes arrives by a transfer, which is a node of its own. An output is stored part by
                // part, each after its own maker, and dataflow is the business of the seal.
                let by_part =
                    matches!(module.name_text(op), "dag.output" | "dag.pack" | "dag.gradient");
                if made.count > 0 && !by_part && !self.precedes(&after, made.last, spans[at].first)
                {
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
    }

    /// What instructions read.
    fn values(&self, nodes: &[Op], reporter: &mut Reporter<'_>) {
        let (module, ctx) = (self.module, self.module.ctx());
        let key = ctx.name(ORIGIN);
        let origin =
            |op: Op| module.attr(op, key)?.as_int(ctx).and_then(|o| usize::try_from(o).ok());
        let mut states: FxHashMap<&str, Value> = FxHashMap::default();
        for op in nodes
            .iter()
            .filter(|op| matches!(module.name_text(**op), "dag.parameter" | "dag.state"))
        {
            let (name, value) =
                (module.attr_by(*op, "name").and_then(|n| n.as_str(ctx)), module.result(*op, 0));
            if let Some(name) = name.filter(|_| self.is_home(value)) {
                states.insert(name, value);
            }
        }
        let mut contents = Contents::new(module, |value| self.root(value));
        for Mismatch { instruction, buffer } in contents.run(self.program, nodes, origin, &states) {
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
                    let slices = self.slices.get(&group).map_or(&[][..], Vec::as_slice);
                    let mine = slices
                        .iter()
                        .position(|slice| slice.iter().all(|at| self.here.contains(at)));
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
            "dag.all_reduce" | "dag.reduce_scatter" | "dag.all_gather" | "dag.sum"
            | "dag.clip_scale" => Some(u32::from(runs(module.result(op, 0)))),
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
        let ctx = self.module.ctx();
        let Some(dist) = Dist::of(ctx, self.module.ty(value)) else { return false };
        let agrees = |slice: &[(Name, i64)]| {
            slice.iter().all(|at| at.0.text(ctx) == MICROBATCH || self.here.contains(at))
        };
        match &dist.home {
            Home::Slice(coords) => agrees(coords),
            Home::Group(group) => {
                self.slices.get(group).is_some_and(|s| s.iter().any(|c| agrees(c)))
            }
        }
    }

    /// The nodes that make a value, through its aliases.
    fn makers(&self, value: Value, out: &mut Vec<u32>) {
        let Some(def) = self.module.defining_op(value) else { return };
        match self.module.name_text(def) {
            // A join takes one value on each slice, on this one its own.
            "dag.join" => self.module.operands(def).filter(|v| self.is_here(*v)).for_each(|v| self.makers(v, out)),
            "dag.project" | "dag.gradient" => {
                self.module.operands(def).for_each(|v| self.makers(v, out));
            }
            "dag.input" | "dag.parameter" | "dag.state" => {}
            _ => out.extend(self.index.get(&def)),
        }
    }

    /// Whether a value lives on this program's devices.
    fn is_here(&self, value: Value) -> bool {
        let Some(dist) = Dist::of(self.module.ctx(), self.module.ty(value)) else { return true };
        let Home::Slice(slice) = dist.home else { return true };
        slice.iter().all(|(axis, at)| self.here.iter().all(|(known, here)| known != axis || here == at))
    }

    /// The clock of each instruction's stream right after it.
    fn clocks(&self) -> Vec<Vec<u32>> {
        let (module, ctx) = (self.module, self.module.ctx());
        let names = Program(self.program).streams(module).as_array(ctx).unwrap_or(&[]);
        let mut clocks = Clocks::new(names.len());
        let mut recorded: FxHashMap<Option<i64>, usize> = FxHashMap::default();
        let mut after: Vec<Vec<u32>> = Vec::with_capacity(self.instructions.len());
        for (at, op) in self.instructions.iter().enumerate() {
            let stream = self.stream(*op);
            match module.name_text(*op) {
                "device.record" => {
                    recorded.insert(event_number(module, *op), at);
                }
                "device.wait" => {
                    if let Some(&from) = recorded.get(&event_number(module, *op)) {
                        clocks.join(stream, &after[from]);
                    }
                }
                _ => {}
            }
            clocks.issue(stream, at as u32);
            after.push(clocks.row(stream).to_vec());
        }
        after
    }

    fn stream(&self, op: Op) -> usize {
        let (module, ctx) = (self.module, self.module.ctx());
        let names = Program(self.program).streams(module).as_array(ctx).unwrap_or(&[]);
        let stream = module.attr_by(op, "stream");
        names.iter().position(|name| Some(*name) == stream).unwrap_or(0)
    }

    fn precedes(&self, after: &[Vec<u32>], earlier: u32, later: u32) -> bool {
        let of = self.stream(self.instructions[earlier as usize]);
        let known = after[later as usize][of];
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
