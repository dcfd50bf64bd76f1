//! Events between the streams of a program, exactly where a dependency needs one.
//!
//! Walking the order of issue, each stream carries a vector clock: per stream, the last instruction known to have completed. What
//! an instruction must follow (the last writer of what it reads; the last writer and all readers since of what it writes; and
//! whatever else the caller names, such as the last user of memory that is taken anew) is looked up in the clock. Only if it
//! is not there, the earlier instruction is followed by a `record` and this one preceded by a `wait`. Records and waits that
//! stand in the program already count.

use piper_dialects::device::{Access, Program, accesses, base_buffer, is_instruction};
use piper_ir::{Attr, Module, Op, OpState, Value};
use rustc_hash::FxHashMap;

/// No instruction.
const NONE: u32 = u32::MAX;

/// A dependency beyond those of buffers: the first must be complete before the second starts. Positions among a program's
/// instructions, in order of issue.
pub(crate) type Dependency = (u32, u32);

/// A program's instructions with their streams and what they touch; the buffers are numbered.
pub(crate) struct Listing {
    pub(crate) ops: Vec<Op>,
    pub(crate) streams: Vec<u16>,
    /// Accesses of all instructions, and where each one's begin. Buffers are base buffers.
    pub(crate) accesses: Vec<(u32, bool, bool)>,
    pub(crate) starts: Vec<u32>,
    /// Base buffers by number.
    pub(crate) buffers: Vec<Value>,
    pub(crate) stream_count: usize,
}

impl Listing {
    pub(crate) fn of(module: &Module, program: Op) -> Self {
        let ctx = module.ctx();
        let names: Vec<Attr> =
            Program(program).streams(module).as_array(ctx).unwrap_or(&[]).to_vec();
        let block = module.only_block(program).expect("a program has a block");
        let mut listing = Self {
            ops: Vec::new(),
            streams: Vec::new(),
            accesses: Vec::new(),
            starts: vec![0],
            buffers: Vec::new(),
            stream_count: names.len().max(1),
        };
        let mut numbers: FxHashMap<Value, u32> = FxHashMap::default();
        let stream_key = ctx.name("stream");
        let mut found: Vec<Access> = Vec::new();
        for op in module.ops(block) {
            if module.name_text(op) == "device.buffer" {
                numbers.insert(module.result(op, 0), listing.buffers.len() as u32);
                listing.buffers.push(module.result(op, 0));
            }
            if !is_instruction(module, op) {
                continue;
            }
            let stream = module.attr(op, stream_key);
            let at = names.iter().position(|name| Some(*name) == stream).unwrap_or(0);
            listing.ops.push(op);
            listing.streams.push(at as u16);
            found.clear();
            accesses(module, op, &mut found);
            for Access { buffer, mode } in &found {
                let number = numbers.get(buffer).or_else(|| {
                    let (base, _) = base_buffer(module, *buffer);
                    numbers.get(&base)
                });
                if let Some(&number) = number {
                    listing.accesses.push((number, mode.reads(), mode.writes()));
                }
            }
            listing.starts.push(listing.accesses.len() as u32);
        }
        listing
    }

    /// What an instruction touches: buffer, whether it reads, whether it writes.
    pub(crate) fn accesses(&self, at: usize) -> &[(u32, bool, bool)] {
        &self.accesses[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// Vector clocks over a listing.
pub(crate) struct Clocks {
    streams: usize,
    now: Vec<u32>,
}

impl Clocks {
    pub(crate) fn new(streams: usize) -> Self {
        Self { streams, now: vec![NONE; streams * streams] }
    }

    /// Whether instruction `earlier` on stream `of` is known to be complete by the next instruction of `stream`.
    pub(crate) fn knows(&self, stream: usize, of: usize, earlier: u32) -> bool {
        let known = self.now[stream * self.streams + of];
        of == stream || (known != NONE && known >= earlier)
    }

    pub(crate) fn row(&self, stream: usize) -> &[u32] {
        &self.now[stream * self.streams..(stream + 1) * self.streams]
    }

    pub(crate) fn join(&mut self, stream: usize, other: &[u32]) {
        let row = &mut self.now[stream * self.streams..(stream + 1) * self.streams];
        for (have, &new) in row.iter_mut().zip(other) {
            if *have == NONE || (new != NONE && new > *have) {
                *have = new;
            }
        }
    }

    /// The stream has issued an instruction.
    pub(crate) fn issue(&mut self, stream: usize, at: u32) {
        self.now[stream * self.streams + stream] = at;
    }
}

/// Last writer of a buffer and, per stream, its last reader since.
struct Touched {
    streams: usize,
    writer: Vec<u32>,
    readers: Vec<u32>,
}

/// Inserts the events that a program needs; returns how many.
pub(crate) fn insert(module: &mut Module, program: Op, extra: &[Dependency]) -> usize {
    let listing = Listing::of(module, program);
    insert_listed(module, program, &listing, extra)
}

/// As [`insert`], into a program that was listed already.
pub(crate) fn insert_listed(
    module: &mut Module,
    program: Op,
    listing: &Listing,
    extra: &[Dependency],
) -> usize {
    let events = plan(module, listing, extra);
    let count = events.len();
    let ctx = module.ctx_arc();
    let first = next_event(module, listing);
    let names: Vec<Attr> = Program(program).streams(module).as_array(&ctx).unwrap_or(&[]).to_vec();
    for (i, event) in events.iter().enumerate() {
        let number = ctx.int_attr(first + i as i64);
        let make = |module: &mut Module, name: &str, near: Op, stream: u16| {
            let state = OpState::new(ctx.op_name(name), module.op_loc(near))
                .attr(&ctx, "event", number)
                .attr(&ctx, "stream", names[usize::from(stream)]);
            module.create(state)
        };
        let after = listing.ops[event.after as usize];
        let record = make(module, "device.record", after, listing.streams[event.after as usize]);
        match module.next_op(after) {
            Some(next) => module.insert_before(next, record),
            None => {
                let block = module.parent_block(after).expect("an instruction stands in a program");
                module.append(block, record);
            }
        }
        for &before in &event.before {
            let op = listing.ops[before as usize];
            let wait = make(module, "device.wait", op, listing.streams[before as usize]);
            module.insert_before(op, wait);
        }
    }
    count
}

/// An event to be: recorded after an instruction, awaited before others.
struct Event {
    after: u32,
    before: Vec<u32>,
}

fn next_event(module: &Module, listing: &Listing) -> i64 {
    let events = listing.ops.iter().filter(|op| module.name_text(**op) == "device.record");
    let numbers = events.filter_map(|op| module.attr_by(*op, "event")?.as_int(module.ctx()));
    numbers.max().map_or(0, |n| n + 1)
}

fn plan(module: &Module, listing: &Listing, extra: &[Dependency]) -> Vec<Event> {
    let streams = listing.stream_count;
    let mut clocks = Clocks::new(streams);
    let mut touched = Touched {
        streams,
        writer: vec![NONE; listing.buffers.len()],
        readers: vec![NONE; listing.buffers.len() * streams],
    };
    let mut extra = extra.to_vec();
    extra.sort_unstable_by_key(|&(_, later)| later);
    let mut extra = extra.into_iter().peekable();
    // The clock right after each instruction: what a record there would tell.
    let mut after: Vec<u32> = Vec::with_capacity(listing.ops.len() * streams);
    let mut recorded: FxHashMap<i64, u32> = FxHashMap::default();
    let mut events: Vec<Event> = Vec::new();
    let mut event_after: FxHashMap<u32, usize> = FxHashMap::default();
    let mut needs = vec![NONE; streams];
    for at in 0..listing.ops.len() {
        let stream = usize::from(listing.streams[at]);
        needs.fill(NONE);
        let mut need = |earlier: u32| {
            if earlier != NONE && earlier != at as u32 {
                let of = usize::from(listing.streams[earlier as usize]);
                if needs[of] == NONE || needs[of] < earlier {
                    needs[of] = earlier;
                }
            }
        };
        for &(buffer, _, writes) in listing.accesses(at) {
            touched.before(buffer, writes, &mut need);
        }
        while let Some((earlier, _)) = extra.next_if(|&(_, later)| later as usize <= at) {
            need(earlier);
        }
        for (of, &earlier) in needs.iter().enumerate() {
            if earlier == NONE || clocks.knows(stream, of, earlier) {
                continue;
            }
            let event = *event_after.entry(earlier).or_insert_with(|| {
                events.push(Event { after: earlier, before: Vec::new() });
                events.len() - 1
            });
            events[event].before.push(at as u32);
            let row = earlier as usize * streams;
            clocks.join(stream, &after[row..row + streams]);
        }
        match module.name_text(listing.ops[at]) {
            "device.record" => {
                if let Some(event) = event_number(module, listing.ops[at]) {
                    recorded.insert(event, at as u32);
                }
            }
            "device.wait" => {
                let event = event_number(module, listing.ops[at]);
                if let Some(&from) = event.and_then(|e| recorded.get(&e)) {
                    let row = from as usize * streams;
                    clocks.join(stream, &after[row..row + streams]);
                }
            }
            _ => {}
        }
        clocks.issue(stream, at as u32);
        after.extend_from_slice(clocks.row(stream));
        for &(buffer, reads, writes) in listing.accesses(at) {
            touched.now(buffer, reads, writes, stream, at as u32);
        }
    }
    events
}

pub(crate) fn event_number(module: &Module, op: Op) -> Option<i64> {
    module.attr_by(op, "event")?.as_int(module.ctx())
}

impl Touched {
    /// What an access of a buffer must follow.
    fn before(&self, buffer: u32, writes: bool, need: &mut impl FnMut(u32)) {
        need(self.writer[buffer as usize]);
        if writes {
            let row = buffer as usize * self.streams;
            self.readers[row..row + self.streams].iter().for_each(|&reader| need(reader));
        }
    }

    fn now(&mut self, buffer: u32, reads: bool, writes: bool, stream: usize, at: u32) {
        let row = buffer as usize * self.streams;
        if writes {
            self.readers[row..row + self.streams].fill(NONE);
            self.writer[buffer as usize] = at;
        }
        if reads {
            self.readers[row + stream] = at;
        }
    }
}
