//! That every instruction reads the values its node has as operands.
//!
//! The program is executed symbolically in order of issue: of every range of a buffer it is known which value of the graph it
//! holds. Copies carry values along; a flat bucket is matched by its parts, and a part by its place in the flat value. At the
//! end every state must hold what the graph commits to it. (That memory reuse destroys nothing is the business of the seal.)

use piper_dialects::dag::Commit;
use piper_dialects::device::{Buffer, Kernel, Launch, base_buffer, is_instruction};
use piper_ir::{Module, Op, TypeData, Value};
use rustc_hash::FxHashMap;

use super::fields::Fields;

/// What a range of a buffer may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tag {
    /// A value of the graph.
    Value(Value),
    /// Something that one of the kernels of a node has made: a result of the node, or what only they use.
    MadeBy(Op),
}

/// Elements `from..to` of a buffer hold elements of `tag`, the first of them being number `start`.
#[derive(Clone, Copy, Debug)]
struct Held {
    from: u64,
    to: u64,
    tag: Tag,
    start: u64,
}

/// What is where, in one program.
pub(super) struct Contents<'m, R> {
    module: &'m Module,
    /// The value that the aliases of a value lead to here.
    root: R,
    fields: &'m Fields<'m>,
    held: FxHashMap<Value, Vec<Held>>,
    /// The part of a base buffer that each buffer is: which one, from where, to where.
    ranges: FxHashMap<Value, (Value, u64, u64)>,
}

/// An instruction that reads something else than it should.
pub(super) struct Mismatch {
    pub(super) instruction: Op,
    pub(super) buffer: String,
}

impl<'m, R: Fn(Value) -> Value> Contents<'m, R> {
    pub(super) fn new(module: &'m Module, root: R, fields: &'m Fields<'m>) -> Self {
        Self { module, root, fields, held: FxHashMap::default(), ranges: FxHashMap::default() }
    }

    /// Executes a program whose instructions were made from `nodes`. `states` are the graph's states that live here, by name;
    /// `commits` are all of the graph's.
    pub(super) fn run(
        &mut self,
        program: Op,
        nodes: &[Op],
        origin: impl Fn(Op) -> Option<usize>,
        states: &FxHashMap<&str, Value>,
        commits: &[Commit],
    ) -> Vec<Mismatch> {
        let module = self.module;
        let block = module.only_block(program).expect("a program has a block");
        let mut wrong = Vec::new();
        let mut kept: FxHashMap<Value, Value> = FxHashMap::default();
        for op in module.ops(block) {
            if let Some(buffer) = Buffer::cast(module, op)
                && buffer.persistent(module).is_some()
                && let Some(&state) =
                    buffer.name(module).as_str(module.ctx()).and_then(|n| states.get(n))
            {
                self.write(buffer.buffer(module), state);
                kept.insert(state, buffer.buffer(module));
            }
            if !is_instruction(module, op) {
                for buffer in module.results(op) {
                    self.ranges.insert(buffer, range(module, buffer));
                }
                continue;
            }
            if let Some(node) = origin(op).and_then(|at| nodes.get(at))
                && let Err(buffer) = self.step(op, *node)
            {
                wrong.push(Mismatch { instruction: op, buffer: self.name(buffer) });
            }
        }
        for commit in commits {
            if let Some(&buffer) = kept.get(&(self.root)(commit.state(module)))
                && !self.holds(buffer, commit.value(module))
            {
                wrong.push(Mismatch { instruction: commit.0, buffer: self.name(buffer) });
            }
        }
        wrong
    }

    /// Executes one instruction; the buffer that does not hold what it should, if there is one.
    fn step(&mut self, op: Op, node: Op) -> Result<(), Value> {
        let module = self.module;
        let operand = |at: usize| module.operand(op, at);
        match (module.name_text(op), module.name_text(node)) {
            ("device.copy", _) => self.copy(operand(0), operand(1)),
            ("device.fill", "dag.pack") => {
                self.forget(operand(0));
            }
            ("device.fill", _) => self.write_tag(operand(0), Tag::MadeBy(node)),
            ("device.load_input" | "device.recv", _) => {
                self.write(operand(0), module.result(node, 0))
            }
            ("device.send", _) => self.read(operand(0), module.operand(node, 0))?,
            ("device.store_output", _) => {
                let is_output = module.name_text(node) == "dag.output";
                let is_part = |part| !is_output || self.fields.is_part(op, part);
                let holds_one =
                    module.operands(node).any(|part| self.holds(operand(0), part) && is_part(part));
                return if holds_one { Ok(()) } else { Err(operand(0)) };
            }
            (
                "device.all_reduce"
                | "device.reduce_scatter"
                | "device.all_gather"
                | "device.all_to_all",
                _,
            ) => {
                let read = self.read(operand(0), module.operand(node, 0));
                self.write(operand(1), module.result(node, 0));
                return read;
            }
            ("device.launch", "dag.add") => {
                let launch = Launch(op);
                let (Some(from), Some(into)) =
                    (launch.reads(module).next(), launch.updates(module).next())
                else {
                    return Ok(());
                };
                let (a, b) = (module.operand(node, 0), module.operand(node, 1));
                let either = (self.holds(into, a) && self.holds(from, b))
                    || (self.holds(into, b) && self.holds(from, a));
                self.write(into, module.result(node, 0));
                if !either {
                    return Err(into);
                }
            }
            ("device.launch", "dag.update") => {
                let launch = Launch(op);
                let operands: Vec<Value> = module.operands(node).collect();
                let updates: Vec<Value> = launch.updates(module).collect();
                let reads: Vec<Value> = launch.reads(module).collect();
                let states = [&operands[..1], &operands[2..]].concat();
                for (&buffer, &value) in reads
                    .iter()
                    .zip(operands[1..2].iter().chain(&states[updates.len().min(states.len())..]))
                {
                    self.read(buffer, value)?;
                }
                for (&buffer, &value) in updates.iter().zip(&states) {
                    self.read(buffer, value)?;
                }
                for (buffer, value) in updates.into_iter().zip(module.results(node)) {
                    self.write(buffer, value);
                }
            }
            // A node may be several kernels, which use what others of them have made.
            ("device.launch", _) if !self.is_whole(op, node) => {
                let launch = Launch(op);
                let known = |buffer: Value| {
                    self.holds_tag(buffer, Tag::MadeBy(node))
                        || module.operands(node).any(|v| self.holds(buffer, v))
                };
                let unknown = launch
                    .reads(module)
                    .chain(launch.updates(module))
                    .find(|buffer| !known(*buffer));
                let written: Vec<Value> =
                    launch.updates(module).chain(launch.writes(module)).collect();
                written.into_iter().for_each(|buffer| self.write_tag(buffer, Tag::MadeBy(node)));
                if let Some(buffer) = unknown {
                    return Err(buffer);
                }
            }
            ("device.launch", _) => {
                let launch = Launch(op);
                let reads = launch.reads(module).zip(module.operands(node));
                let wrong = reads.into_iter().find(|(buffer, value)| !self.holds(*buffer, *value));
                // One fault is said once: what comes of it is taken for right.
                for (buffer, value) in launch.writes(module).zip(module.results(node)) {
                    self.write(buffer, value);
                }
                return wrong.map_or(Ok(()), |(buffer, _)| Err(buffer));
            }
            _ => {}
        }
        Ok(())
    }

    fn read(&self, buffer: Value, value: Value) -> Result<(), Value> {
        if self.holds(buffer, value) { Ok(()) } else { Err(buffer) }
    }

    fn range(&self, buffer: Value) -> (Value, u64, u64) {
        self.ranges.get(&buffer).copied().unwrap_or_else(|| range(self.module, buffer))
    }

    /// Forgets what a buffer holds; its range.
    fn forget(&mut self, buffer: Value) -> (Value, u64, u64) {
        let (base, from, to) = self.range(buffer);
        let held = self.held.entry(base).or_default();
        let mut rest = Vec::new();
        held.retain(|h| {
            if h.to <= from || to <= h.from {
                return true;
            }
            if h.from < from {
                rest.push(Held { to: from, ..*h });
            }
            if to < h.to {
                rest.push(Held { from: to, start: h.start + (to - h.from), ..*h });
            }
            false
        });
        held.extend(rest);
        (base, from, to)
    }

    /// Whether one launch is all there is of a node.
    fn is_whole(&self, launch: Op, node: Op) -> bool {
        let module = self.module;
        match module.attr_by(node, "callee") {
            Some(callee) => module.attr_by(launch, "callee") == Some(callee),
            // As many squares are added as there are operands, so the count alone does not tell a sum of them from the whole.
            None => {
                let has_all = Launch(launch).reads(module).len() == module.num_operands(node);
                has_all
                    && self
                        .builtin(launch)
                        .is_none_or(|name| format!("dag.{name}") == module.name_text(node))
            }
        }
    }

    /// Which of Piper's own kernels a launch is of.
    fn builtin(&self, launch: Op) -> Option<&'m str> {
        let module = self.module;
        let callee = module.attr_by(launch, "callee")?.as_symbol(module.ctx())?;
        let kernel =
            Kernel::cast(module, module.lookup_nearest(launch, callee.text(module.ctx()))?)?;
        kernel.kernel(module).as_str(module.ctx())
    }

    fn write(&mut self, buffer: Value, value: Value) {
        self.write_tag(buffer, Tag::Value(value));
    }

    fn write_tag(&mut self, buffer: Value, tag: Tag) {
        let (base, from, to) = self.forget(buffer);
        self.held.entry(base).or_default().push(Held { from, to, tag, start: 0 });
    }

    fn holds_tag(&self, buffer: Value, tag: Tag) -> bool {
        let (base, from, to) = self.range(buffer);
        self.held
            .get(&base)
            .is_some_and(|held| held.iter().any(|h| h.tag == tag && h.from <= from && to <= h.to))
    }

    fn copy(&mut self, src: Value, dst: Value) {
        let (base, from, to) = self.range(src);
        let found = self.held.get(&base).map_or(&[][..], Vec::as_slice);
        let moved: Vec<Held> = found
            .iter()
            .filter(|h| h.from < to && from < h.to)
            .map(|h| {
                let (low, high) = (h.from.max(from), h.to.min(to));
                Held {
                    from: low - from,
                    to: high - from,
                    tag: h.tag,
                    start: h.start + (low - h.from),
                }
            })
            .collect();
        let (base, to, _) = self.forget(dst);
        let held = self.held.entry(base).or_default();
        held.extend(moved.into_iter().map(|h| Held { from: h.from + to, to: h.to + to, ..h }));
    }

    fn holds(&self, buffer: Value, value: Value) -> bool {
        let (base, from, to) = self.range(buffer);
        self.range_holds(base, from, to - from, value)
    }

    /// Whether `len` elements of a base buffer hold a value.
    fn range_holds(&self, base: Value, from: u64, len: u64, value: Value) -> bool {
        let module = self.module;
        let value = (self.root)(value);
        let covers = |value: Value, start: u64| {
            let made = module.defining_op(value).map(Tag::MadeBy);
            self.held.get(&base).is_some_and(|held| {
                held.iter().any(|h| {
                    (h.tag == Tag::Value(value) || Some(h.tag) == made)
                        && h.from <= from
                        && from + len <= h.to
                        && h.start + (from - h.from) == start
                })
            })
        };
        if covers(value, 0) {
            return true;
        }
        let Some(def) = module.defining_op(value) else { return false };
        let offsets = module
            .attr_by(def, "offsets")
            .and_then(|o| o.as_int_array(module.ctx()))
            .unwrap_or(&[]);
        match module.name_text(def) {
            "dag.pack" => module.operands(def).zip(offsets).all(|(part, &at)| {
                let at = u64::try_from(at).unwrap_or(u64::MAX);
                at <= len
                    && self
                        .part_elements(part)
                        .is_some_and(|n| self.range_holds(base, from + at, n, part))
            }),
            "dag.unpack" => {
                let number = module.results(def).position(|r| r == value);
                let at = number.and_then(|n| offsets.get(n)).and_then(|at| u64::try_from(*at).ok());
                at.is_some_and(|at| covers((self.root)(module.operand(def, 0)), at))
            }
            _ => false,
        }
    }

    /// Elements that a device has of a part of a flat value.
    fn part_elements(&self, value: Value) -> Option<u64> {
        let ctx = self.module.ctx();
        let dist = piper_dialects::dag::Dist::of(ctx, self.module.ty(value))?;
        dist.local(ctx, &self.fields.sizes)?.num_elements(ctx)
    }

    fn name(&self, buffer: Value) -> String {
        let def = self.module.defining_op(buffer);
        let name = def.and_then(|op| self.module.attr_by(op, "name")?.as_str(self.module.ctx()));
        name.unwrap_or("?").to_owned()
    }
}

fn range(module: &Module, buffer: Value) -> (Value, u64, u64) {
    let (base, from) = base_buffer(module, buffer);
    (base, from, from + elements(module, buffer))
}

fn elements(module: &Module, buffer: Value) -> u64 {
    match module.ty(buffer).data(module.ctx()) {
        TypeData::MemRef { shape, .. } => {
            shape.first().and_then(|n| u64::try_from(*n).ok()).unwrap_or(0)
        }
        _ => 0,
    }
}
