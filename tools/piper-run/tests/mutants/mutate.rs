//! Plans that differ from a correct one in one instruction (or in one buffer).

use piper_plan::{BufferId, CommId, DType, Kind, P2p, Plan, Program, Transfer};

use crate::symbolic::Random;

/// What is done to an instruction.
#[derive(Clone, Copy, Debug)]
enum Edit {
    Drop,
    Duplicate,
    /// Exchanges it with the one so many places later.
    Swap(usize),
    /// Exchanges it with the next one that looks the same but for what it is about.
    SwapAlike,
    ReStream,
    /// Replaces the operand of this number by another buffer of its size and type.
    Buffer(usize, usize),
    Peer(u32),
    Comm(u32),
    Event(u32),
    /// Another kernel with the same parameters; another scalar, input or output.
    Named(u32),
    /// Moves the operand's buffer in the arena, or changes its length.
    Move(usize, i64),
    /// Puts the operand's buffer where another of its size lies.
    Onto(usize, usize),
    Length(usize, i64),
    /// Other rows of an input, another part of an output, another value of a fill.
    Slice(u32),
    /// Exchanges two members of a group, or drops one.
    Group(u32),
}

/// The kinds that are counted.
pub const KINDS: [&str; 14] = [
    "drop",
    "drop a wait or record",
    "duplicate",
    "swap neighbours",
    "swap at a distance",
    "swap equal-shaped",
    "re-stream",
    "retarget buffer",
    "retarget peer",
    "retarget communicator",
    "retarget event",
    "retarget kernel, scalar, input, output",
    "re-slice buffer",
    "re-slice rows, part, value",
];

/// One changed plan.
pub struct Mutant {
    /// Which of [`KINDS`].
    pub kind: usize,
    /// The changed program, and where.
    pub program: usize,
    pub place: String,
    pub plan: Plan,
}

/// A change that can be made.
#[derive(Clone, Copy, Debug)]
pub struct Mutation {
    kind: usize,
    program: usize,
    at: usize,
    edit: Edit,
}

impl Edit {
    fn kind(self, kind: &Kind) -> usize {
        match self {
            Edit::Drop if matches!(kind, Kind::Wait { .. } | Kind::Record { .. }) => 1,
            Edit::Drop => 0,
            Edit::Duplicate => 2,
            Edit::Swap(1) => 3,
            Edit::Swap(_) => 4,
            Edit::SwapAlike => 5,
            Edit::ReStream => 6,
            Edit::Buffer(..) => 7,
            Edit::Peer(_) | Edit::Group(_) => 8,
            Edit::Comm(_) => 9,
            Edit::Event(_) => 10,
            Edit::Named(_) => 11,
            Edit::Move(..) | Edit::Onto(..) | Edit::Length(..) => 12,
            Edit::Slice(_) => 13,
        }
    }
}

/// All changes of a plan, and of them about `wanted`, kinds taken in turn, so that rare ones are all there.
pub fn choose(plan: &Plan, wanted: usize, seed: u64) -> Vec<Mutation> {
    let mut by_kind: Vec<Vec<Mutation>> = vec![Vec::new(); KINDS.len()];
    for (program, found) in plan.programs.iter().enumerate() {
        for (at, instr) in found.instrs.iter().enumerate() {
            for edit in edits(&instr.kind) {
                let kind = edit.kind(&instr.kind);
                by_kind[kind].push(Mutation { kind, program, at, edit });
            }
        }
    }
    let mut random = Random(seed);
    for list in &mut by_kind {
        for at in (1..list.len()).rev() {
            list.swap(at, random.below(at + 1));
        }
    }
    let mut chosen = Vec::new();
    while chosen.len() < wanted && by_kind.iter().any(|list| !list.is_empty()) {
        for list in &mut by_kind {
            chosen.extend(list.pop());
        }
    }
    chosen
}

fn edits(kind: &Kind) -> Vec<Edit> {
    let mut edits = vec![Edit::Drop, Edit::Duplicate, Edit::ReStream, Edit::SwapAlike];
    edits.extend([1, 2, 3, 7].map(Edit::Swap));
    for operand in 0..operands(kind).len() {
        edits.extend([1, 3].map(|step| Edit::Buffer(operand, step)));
        edits.extend([64, -64, 4].map(|by| Edit::Move(operand, by)));
        edits.extend([1, 2].map(|step| Edit::Onto(operand, step)));
        edits.extend([1, -1].map(|by| Edit::Length(operand, by)));
    }
    match kind {
        Kind::Send(_) | Kind::Recv(_) => {
            edits.extend([1, 2].map(Edit::Peer));
            edits.extend([1, 2].map(Edit::Comm));
        }
        Kind::Group(_) => edits.extend([0, 1].map(Edit::Group)),
        Kind::Record { .. } | Kind::Wait { .. } => edits.extend([1, 2, 5].map(Edit::Event)),
        Kind::AllToAll { .. } => {
            edits.extend([1, 2].map(Edit::Comm));
            edits.extend([0, 1].map(Edit::Slice));
        }
        Kind::AllReduce { .. } | Kind::ReduceScatter { .. } | Kind::AllGather { .. } => {
            edits.extend([1, 2].map(Edit::Comm));
        }
        Kind::Launch { .. } => edits.extend([1, 2].map(Edit::Named)),
        Kind::LoadInput { .. } => {
            edits.push(Edit::Named(1));
            edits.extend([0, 1, 2, 3].map(Edit::Slice));
        }
        Kind::StoreOutput { .. } => {
            edits.push(Edit::Named(1));
            edits.extend([0, 1, 2].map(Edit::Slice));
        }
        Kind::Fill { .. } => edits.push(Edit::Slice(0)),
        _ => {}
    }
    edits
}

/// The buffers of an instruction, to be replaced.
fn operands_mut(kind: &mut Kind) -> Vec<&mut BufferId> {
    match kind {
        Kind::Launch { args, .. } => args.iter_mut().collect(),
        Kind::Send(p) | Kind::Recv(p) => vec![&mut p.buf],
        Kind::Group(all) => all
            .iter_mut()
            .map(|t| match t {
                Transfer::Send(p) | Transfer::Recv(p) => &mut p.buf,
            })
            .collect(),
        Kind::AllReduce { src, dst, .. }
        | Kind::ReduceScatter { src, dst, .. }
        | Kind::AllGather { src, dst, .. }
        | Kind::AllToAll { src, dst, .. }
        | Kind::Copy { src, dst } => vec![src, dst],
        Kind::Fill { dst, .. } | Kind::LoadInput { dst, .. } => vec![dst],
        Kind::StoreOutput { src, .. } => vec![src],
        Kind::Record { .. } | Kind::Wait { .. } => Vec::new(),
    }
}

fn operands(kind: &Kind) -> Vec<BufferId> {
    operands_mut(&mut kind.clone()).into_iter().map(|b| *b).collect()
}

/// What an instruction is like, apart from what it is about: two of equal shape can be mistaken for each other.
fn shape(program: &Program, kind: &Kind) -> (&'static str, Vec<(u64, DType)>) {
    let sizes = operands(kind).into_iter().map(|b| {
        let b = program.buffer(b);
        (b.elems, b.dtype)
    });
    (kind.mnemonic(), sizes.collect())
}

impl Mutation {
    /// Makes the change; `None` if there is nothing to change.
    pub fn apply(self, plan: &Plan) -> Option<Mutant> {
        let mut changed = plan.clone();
        let (at, kernels) = (self.at, &plan.kernels);
        let program = &mut changed.programs[self.program];
        let count = program.instrs.len();
        match self.edit {
            Edit::Drop => drop(program.instrs.remove(at)),
            Edit::Duplicate => program.instrs.insert(at, program.instrs[at].clone()),
            Edit::Swap(gap) if at + gap < count => program.instrs.swap(at, at + gap),
            Edit::Swap(_) => return None,
            Edit::SwapAlike => {
                let mine = shape(program, &program.instrs[at].kind);
                let other =
                    (at + 1..count).find(|&i| shape(program, &program.instrs[i].kind) == mine)?;
                program.instrs.swap(at, other);
            }
            Edit::ReStream => {
                let streams = program.streams.len() as u16;
                program.instrs[at].stream = (program.instrs[at].stream + 1) % streams;
            }
            Edit::Buffer(operand, step) => {
                let found = operands(&program.instrs[at].kind)[operand];
                let other = alike(program, found, step)?;
                *operands_mut(&mut program.instrs[at].kind)[operand] = other;
            }
            Edit::Move(operand, by) => {
                let buffer = operands(&program.instrs[at].kind)[operand];
                let buffer = &mut program.buffers[buffer.index()];
                buffer.offset = buffer.offset.checked_add_signed(by)?;
            }
            Edit::Onto(operand, step) => {
                let buffer = operands(&program.instrs[at].kind)[operand];
                let other = alike(program, buffer, step)?;
                program.buffers[buffer.index()].offset = program.buffer(other).offset;
            }
            Edit::Length(operand, by) => {
                let buffer = operands(&program.instrs[at].kind)[operand];
                let buffer = &mut program.buffers[buffer.index()];
                buffer.elems = buffer.elems.checked_add_signed(by)?;
            }
            Edit::Peer(step) => {
                let (Kind::Send(p) | Kind::Recv(p)) = &mut program.instrs[at].kind else {
                    return None;
                };
                let (axis, c) = p.peer.set.first_mut()?;
                *c = (*c + step) % plan.mesh[axis.index()].size;
            }
            Edit::Comm(step) => {
                let other = |c: &mut CommId| c.0 = (c.0 + step) % plan.comms.len() as u32;
                match &mut program.instrs[at].kind {
                    Kind::Send(P2p { comm, .. }) | Kind::Recv(P2p { comm, .. }) => other(comm),
                    Kind::AllReduce { comm, .. }
                    | Kind::ReduceScatter { comm, .. }
                    | Kind::AllGather { comm, .. }
                    | Kind::AllToAll { comm, .. } => other(comm),
                    _ => return None,
                }
            }
            Edit::Event(step) => {
                let events = program.events;
                let (Kind::Record { event } | Kind::Wait { event }) = &mut program.instrs[at].kind
                else {
                    return None;
                };
                event.0 = (event.0 + step) % events;
            }
            Edit::Named(step) => match &mut program.instrs[at].kind {
                Kind::Launch { scalars, .. } if step == 2 => {
                    let scalar = scalars.first_mut()?;
                    scalar.0 = (scalar.0 + 1) % plan.scalars.len() as u32;
                }
                Kind::Launch { kernel, .. } => {
                    let n = kernels.len();
                    let mine = &kernels[kernel.index()];
                    let other = (1..n).map(|k| (kernel.index() + k) % n).find(|&k| {
                        kernels[k].params == mine.params && kernels[k].scalars == mine.scalars
                    })?;
                    kernel.0 = other as u32;
                }
                Kind::LoadInput { input, .. } => {
                    input.0 = (input.0 + 1) % plan.inputs.len() as u32;
                }
                Kind::StoreOutput { output, .. } => {
                    output.0 = (output.0 + 1) % plan.outputs.len() as u32;
                }
                _ => return None,
            },
            Edit::Slice(how) => match &mut program.instrs[at].kind {
                Kind::LoadInput { rows, .. } => match how {
                    0 => rows.first.base += rows.rows,
                    1 => rows.first.base = rows.first.base.checked_sub(1)?,
                    2 => rows.rows += 1,
                    _ => rows.first.strides.first_mut()?.1 -= 1,
                },
                Kind::StoreOutput { part, .. } => match how {
                    0 => part.base += 1,
                    1 => part.base = part.base.checked_sub(1)?,
                    _ => part.strides.first_mut()?.1 += 1,
                },
                Kind::Fill { value, .. } => *value += 1.0,
                Kind::AllToAll { src_runs, dst_runs, .. } => match how {
                    0 => std::mem::swap(src_runs, dst_runs),
                    _ => *src_runs = if *src_runs == 1 { 2 } else { 1 },
                },
                _ => return None,
            },
            Edit::Group(how) => {
                let Kind::Group(all) = &mut program.instrs[at].kind else { return None };
                match how {
                    0 => drop(all.pop()),
                    _ => all.reverse(),
                }
            }
        }
        if changed.programs[self.program] == plan.programs[self.program] {
            return None;
        }
        let (name, source) =
            (&plan.programs[self.program].name, plan.programs[self.program].instrs[at].source);
        let place = format!("@{name} #{at} {}, {:?}", plan.sources.name(source), self.edit);
        Some(Mutant { kind: self.kind, program: self.program, place, plan: changed })
    }
}

/// Another buffer of the same size and type, `step` such buffers further on.
fn alike(program: &Program, buffer: BufferId, step: usize) -> Option<BufferId> {
    let (n, mine) = (program.buffers.len(), program.buffer(buffer));
    let others = (1..n).map(|k| (buffer.index() + k) % n).filter(|&at| {
        program.buffers[at].elems == mine.elems && program.buffers[at].dtype == mine.dtype
    });
    let others: Vec<usize> = others.collect();
    others.get((step - 1) % others.len().max(1)).map(|at| BufferId(*at as u32))
}
