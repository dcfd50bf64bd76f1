//! Races, lifetimes, dead values and peak of one program.
//!
//! Streams run concurrently; only stream order and record/wait events order instructions. The arena is cut at every buffer
//! boundary into *segments* that are accessed as wholes. Walking the issue order once, each stream carries a vector clock
//! (per stream, the last instruction known to have completed), each segment its last writer and, per stream, its last
//! reader since. An access is safe if what it must follow is in its stream's clock. Because a wait may only name an event
//! recorded earlier in issue order, one walk sees everything; the cost is linear in accesses times segments touched.
//!
//! Communication adds no order here: what another device did in between is not relied on.

use super::access::{self, Access};
use super::classes::Class;
use super::{Fault, FaultKind, MAX_FAULTS, Options, for_each_program, limit};
use crate::mesh::CommId;
use crate::schema::*;

/// No instruction.
const NONE: u32 = u32::MAX;

pub(super) fn check(plan: &Plan, classes: &[Class], options: &Options) -> Vec<Fault> {
    let found = for_each_program(plan, |id| {
        let mut walk = Walk::new(plan, id, &classes[id.index()]);
        walk.run();
        // What is live when has a meaning only if nothing is wrong with it.
        if walk.faults.is_empty() {
            walk.faults.extend(limit::check(plan, id, &walk.segments, options));
        }
        walk.faults
    });
    let mut faults: Vec<Fault> = found.into_iter().flatten().collect();
    faults.truncate(MAX_FAULTS);
    faults
}

/// Segments of an arena: for each buffer the range of segments it consists of.
pub(super) struct Segments {
    /// First byte of each segment, and the end of the last.
    pub(super) cuts: Vec<u64>,
    /// Per buffer, first and one past the last segment.
    pub(super) spans: Vec<(u32, u32)>,
}

impl Segments {
    pub(super) fn of(program: &Program) -> Segments {
        let mut cuts: Vec<u64> =
            program.buffers.iter().flat_map(|b| [b.offset, b.offset + b.bytes()]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let at = |byte: u64| cuts.binary_search(&byte).expect("every boundary is a cut") as u32;
        let spans =
            program.buffers.iter().map(|b| (at(b.offset), at(b.offset + b.bytes()))).collect();
        Segments { cuts, spans }
    }

    pub(super) fn span(&self, buffer: BufferId) -> std::ops::Range<usize> {
        let (from, to) = self.spans[buffer.index()];
        from as usize..to as usize
    }

    pub(super) fn count(&self) -> usize {
        self.cuts.len().saturating_sub(1)
    }
}

/// What is known of a segment at the current point of the walk.
#[derive(Clone, Copy)]
struct Cell {
    /// Instruction that wrote it last.
    writer: u32,
    /// Which of all writes (see [`Walk::writes`]) that was.
    write: u32,
    /// Whether anything has read it since.
    was_read: bool,
    persistent: bool,
}

struct Walk<'a> {
    plan: &'a Plan,
    id: ProgramId,
    program: &'a Program,
    class: &'a Class,
    segments: Segments,
    cells: Vec<Cell>,
    /// Per segment and stream, the last reader since the last write.
    readers: Vec<u32>,
    /// Per stream and stream, the last instruction of the latter known to precede the next one of the former.
    clocks: Vec<u32>,
    /// Clock at each recorded event.
    events: Vec<Option<Vec<u32>>>,
    /// Every write of a buffer: instruction, buffer, and whether any of it was read.
    writes: Vec<(u32, BufferId, bool)>,
    faults: Vec<Fault>,
}

impl<'a> Walk<'a> {
    fn new(plan: &'a Plan, id: ProgramId, class: &'a Class) -> Self {
        let program = &plan.programs[id.index()];
        let segments = Segments::of(program);
        let streams = program.streams.len();
        let mut cells = vec![
            Cell { writer: NONE, write: NONE, was_read: false, persistent: false };
            segments.count()
        ];
        for (at, _) in program.buffers.iter().enumerate().filter(|(_, b)| b.persistent) {
            cells[segments.span(BufferId(at as u32))].iter_mut().for_each(|c| c.persistent = true);
        }
        Walk {
            plan,
            id,
            program,
            class,
            readers: vec![NONE; segments.count() * streams],
            cells,
            segments,
            clocks: vec![NONE; streams * streams],
            events: vec![None; program.events as usize],
            writes: Vec::new(),
            faults: Vec::new(),
        }
    }

    fn run(&mut self) {
        let streams = self.program.streams.len();
        let mut accesses = Vec::new();
        for (i, instr) in self.program.instrs.iter().enumerate() {
            if self.faults.len() >= MAX_FAULTS {
                return;
            }
            let (i, stream) = (i as u32, usize::from(instr.stream));
            let clock = stream * streams..(stream + 1) * streams;
            match &instr.kind {
                Kind::Record { event } => {
                    if self.events[event.index()].is_some() {
                        let message = format!("event {} is recorded a second time", event.0);
                        self.faults.push(
                            self.fault(FaultKind::Event, message)
                                .at(self.plan, self.id, i as usize, "here"),
                        );
                    }
                    let mut at = self.clocks[clock].to_vec();
                    at[stream] = i;
                    self.events[event.index()] = Some(at);
                }
                Kind::Wait { event } => match &self.events[event.index()] {
                    Some(reached) => {
                        for (have, &new) in self.clocks[clock].iter_mut().zip(reached) {
                            if *have == NONE || (new != NONE && new > *have) {
                                *have = new;
                            }
                        }
                    }
                    None => {
                        let message =
                            format!("waits for event {}, which is not recorded before", event.0);
                        self.faults.push(
                            self.fault(FaultKind::Event, message)
                                .at(self.plan, self.id, i as usize, "here"),
                        );
                    }
                },
                kind => {
                    accesses.clear();
                    access::of(kind, &self.plan.kernels, &mut accesses);
                    self.overlaps_within(i, kind, &accesses);
                    accesses
                        .iter()
                        .filter(|a| a.reads())
                        .for_each(|a| self.read(i, stream, a.buffer));
                    accesses
                        .iter()
                        .filter(|a| a.writes())
                        .for_each(|a| self.write(i, stream, a.buffer));
                }
            }
            self.clocks[stream * streams + stream] = i;
        }
        self.dead_writes();
    }

    fn read(&mut self, i: u32, stream: usize, buffer: BufferId) {
        let streams = self.program.streams.len();
        for segment in self.segments.span(buffer) {
            let cell = &mut self.cells[segment];
            cell.was_read = true;
            self.readers[segment * streams + stream] = i;
            if cell.writer == NONE {
                if !cell.persistent {
                    let message = format!(
                        "reads buffer {} before anything has written it",
                        self.name(buffer)
                    );
                    self.faults.push(self.fault(FaultKind::Unwritten, message).at(
                        self.plan,
                        self.id,
                        i as usize,
                        "read here",
                    ));
                    return;
                }
                continue;
            }
            self.writes[cell.write as usize].2 = true;
            let (writer, written) = (cell.writer, self.writes[cell.write as usize].1);
            if !self.precedes(writer, stream) {
                self.race(i, buffer, "read", writer, written, "written");
                return;
            }
        }
    }

    fn write(&mut self, i: u32, stream: usize, buffer: BufferId) {
        let streams = self.program.streams.len();
        let id = self.writes.len() as u32;
        self.writes.push((i, buffer, false));
        let mut reported = false;
        for segment in self.segments.span(buffer) {
            let Cell { writer, write, was_read, .. } = self.cells[segment];
            if !reported && writer != NONE && writer != i && !self.precedes(writer, stream) {
                self.race(i, buffer, "written", writer, self.writes[write as usize].1, "written");
                reported = true;
            }
            if was_read {
                for other in 0..streams {
                    let reader =
                        std::mem::replace(&mut self.readers[segment * streams + other], NONE);
                    if !reported && reader != NONE && reader != i && !self.precedes(reader, stream)
                    {
                        let read = self.buffer_read_at(reader, segment);
                        self.race(i, buffer, "written", reader, read, "read");
                        reported = true;
                    }
                }
            }
            let cell = &mut self.cells[segment];
            (cell.writer, cell.write, cell.was_read) = (i, id, false);
        }
    }

    /// Whether an earlier instruction is complete before the next one of `stream` starts.
    fn precedes(&self, earlier: u32, stream: usize) -> bool {
        let streams = self.program.streams.len();
        let of = usize::from(self.program.instrs[earlier as usize].stream);
        let known = self.clocks[stream * streams + of];
        of == stream || (known != NONE && known >= earlier)
    }

    /// Operands of one instruction may not overlap if one is written, except where the runtime says how.
    fn overlaps_within(&mut self, i: u32, kind: &Kind, accesses: &[Access]) {
        for (at, a) in accesses.iter().enumerate() {
            for b in &accesses[..at] {
                let (x, y) = (self.segments.span(a.buffer), self.segments.span(b.buffer));
                if (!a.writes() && !b.writes())
                    || x.start >= y.end
                    || y.start >= x.end
                    || self.in_place(kind)
                {
                    continue;
                }
                let (a, b) = (self.name(a.buffer), self.name(b.buffer));
                let message = format!("operands {b} and {a} overlap, and one of them is written");
                self.faults.push(
                    self.fault(FaultKind::Race, message).at(self.plan, self.id, i as usize, "here"),
                );
                return;
            }
        }
    }

    /// NCCL's in-place forms: the small side is the device's own part of the large side. All-reduce takes equal ranges.
    fn in_place(&self, kind: &Kind) -> bool {
        let (small, large, comm): (BufferId, BufferId, CommId) = match kind {
            Kind::AllReduce { src, dst, .. } => {
                return self.segments.span(*src) == self.segments.span(*dst);
            }
            Kind::ReduceScatter { src, dst, comm } => (*dst, *src, *comm),
            Kind::AllGather { src, dst, comm } => (*src, *dst, *comm),
            _ => return false,
        };
        let (small, large) = (self.program.buffer(small), self.program.buffer(large));
        // All devices run this program with these offsets, so they must all have the same part.
        let positions = self.class.positions(&self.plan.comms[comm.index()]);
        let [part] = positions.as_slice() else { return false };
        let start = part.start.checked_mul(small.bytes());
        part.end - part.start == 1
            && start.and_then(|s| s.checked_add(large.offset)) == Some(small.offset)
    }

    fn dead_writes(&mut self) {
        for at in 0..self.cells.len() {
            let Cell { write, persistent, .. } = self.cells[at];
            if persistent && write != NONE {
                self.writes[write as usize].2 = true;
            }
        }
        for at in 0..self.writes.len() {
            let (i, buffer, used) = self.writes[at];
            // A number that all replicas have, such as a part of the gradient norm, may be used by one of them only.
            let is_number = self.program.buffer(buffer).elems == 1;
            if !used && !is_number && self.faults.len() < MAX_FAULTS {
                let message =
                    format!("the value written to buffer {} is never read", self.name(buffer));
                self.faults.push(self.fault(FaultKind::DeadWrite, message).at(
                    self.plan,
                    self.id,
                    i as usize,
                    "written here",
                ));
            }
        }
    }

    fn race(
        &mut self,
        i: u32,
        buffer: BufferId,
        now: &str,
        other: u32,
        other_buffer: BufferId,
        then: &str,
    ) {
        let stream =
            |i: u32| &self.program.streams[usize::from(self.program.instrs[i as usize].stream)];
        let (mine, theirs) = (stream(i), stream(other));
        let place = match (self.name(buffer), self.name(other_buffer)) {
            (a, b) if a == b => format!("buffer {a} is"),
            (a, b) => format!("buffers {b} and {a}, which share memory, are"),
        };
        let message = format!(
            "{place} {then} on stream {theirs} and {now} on stream {mine} with no event between them"
        );
        let fault = self.fault(FaultKind::Race, message);
        let fault = fault.at(self.plan, self.id, other as usize, format!("{then} here"));
        self.faults.push(fault.at(self.plan, self.id, i as usize, format!("{now} here")));
    }

    /// The buffer through which `reader` read a segment; searched only to report a race.
    fn buffer_read_at(&self, reader: u32, segment: usize) -> BufferId {
        let mut accesses = Vec::new();
        access::of(&self.program.instrs[reader as usize].kind, &self.plan.kernels, &mut accesses);
        let hit =
            accesses.iter().find(|a| a.reads() && self.segments.span(a.buffer).contains(&segment));
        hit.map_or(BufferId(0), |a| a.buffer)
    }

    fn name(&self, buffer: BufferId) -> &'a str {
        &self.program.buffer(buffer).name
    }

    fn fault(&self, kind: FaultKind, message: String) -> Fault {
        Fault::new(kind, message)
    }
}
