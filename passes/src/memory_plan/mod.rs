//! `memory-plan`: offsets in one arena for every buffer of a program.
//!
//! ```mlir
//! %x = device.buffer "x" : memref<16xf32>          // before
//! %x = device.buffer "x" : memref<16xf32> at 64    // after; the program says `arena 128`
//! ```
//!
//! Persistent buffers come first. Then the order of issue is walked: a buffer takes memory at its first access and gives it back
//! after its last one. Of the free blocks that fit, the smallest is taken whose last users are known to be done (by stream order
//! and events); failing that, one whose last users were issued some time ago, which are waited for by events that stand in the
//! program afterwards. Rather than to hold up a stream for a transfer that may have yet to begin, the arena grows, unless the
//! option `least-memory` says otherwise. Copies into parts of a flat buffer are left out where their source may as well be that part from the beginning.
//!
//! **Input**: `device.program`s, planned or not. **Output**: the same with `at` on every buffer and `arena` on the program.

mod arena;
mod elide_copies;
pub(crate) mod sync;

use piper_dialects::device::{Buffer, Program};
use piper_ir::pass::{OptionDef, PassInfo, PassResult};
use piper_ir::{Context, Module, Op, Reporter, Type, TypeData};

use arena::{Arena, Block, Delay};
use sync::{Clocks, Dependency, Listing, event_number};

/// What may be asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// A remark for every program with its peak bytes.
    pub report: bool,
    /// Leave copies as they are.
    pub keep_copies: bool,
    /// Give every buffer memory of its own.
    pub no_reuse: bool,
    /// Wait for any free memory rather than take more.
    pub least_memory: bool,
}

/// Instructions of a stream after which an earlier one of it is taken to be over.
const SETTLED: u32 = 2;

/// Beginnings of buffers are multiples of this.
const ALIGN: u64 = 64;
const NONE: u32 = u32::MAX;

/// The programs of a module.
pub(crate) fn programs(module: &Module) -> Vec<Op> {
    let mut found = Vec::new();
    for plan in module.top_level() {
        if module.name_text(plan) == "device.plan"
            && let Some(block) = module.only_block(plan)
        {
            found.extend(module.ops(block).filter(|op| Program::cast(module, *op).is_some()));
        }
    }
    found
}

/// Plans the memory of every program of a module.
///
/// # Errors
/// A program that needs more than 2^62 bytes; faults are reported.
pub fn run(module: &mut Module, reporter: &mut Reporter<'_>, options: Options) -> PassResult {
    let errors = reporter.error_count();
    for program in programs(module) {
        plan_program(module, program, reporter, options);
    }
    if reporter.error_count() > errors { Err(piper_ir::pass::PassFailed) } else { Ok(()) }
}

/// Bytes of a flat buffer.
pub(crate) fn buffer_bytes(ctx: &Context, ty: Type) -> Option<u64> {
    let TypeData::MemRef { shape, element, .. } = ty.data(ctx) else { return None };
    u64::try_from(*shape.first()?).ok()?.checked_mul(element.byte_width(ctx)?)
}

fn plan_program(module: &mut Module, program: Op, reporter: &mut Reporter<'_>, options: Options) {
    if !options.keep_copies {
        elide_copies::run(module, program);
    }
    let ctx = module.ctx_arc();
    let mut listing = Listing::of(module, program);
    if sync::insert_listed(module, program, &listing, &[]) > 0 {
        listing = Listing::of(module, program);
    }
    let mut planner = Planner::new(module, &listing);
    if planner.sizes.iter().try_fold(0u64, |n, s| n.checked_add(*s)).is_none_or(|n| n > 1 << 62) {
        let message =
            format!("'@{}' needs more than 2^62 bytes", module.symbol_name(program).unwrap_or(""));
        reporter.error(module.op_loc(program), message);
        return;
    }
    planner.persistent(module);
    planner.walk(module, options);
    let Planner { offsets, arena, persistent_bytes, extra, .. } = planner;
    let bytes = arena.bytes();
    for (number, buffer) in listing.buffers.iter().enumerate() {
        let op = module.defining_op(*buffer).expect("a buffer is declared");
        let offset = ctx.int_attr(offsets[number].unwrap_or(0) as i64);
        module.set_attr_by(op, "offset", offset);
    }
    let bytes_attr = ctx.int_attr(bytes as i64);
    module.set_attr_by(program, "arena_bytes", bytes_attr);
    let waits = sync::insert_listed(module, program, &listing, &extra);
    if options.report {
        let name = module.symbol_name(program).unwrap_or("").to_owned();
        let message = format!(
            "'@{name}' needs {bytes} bytes, {persistent_bytes} of them for state; {waits} event(s) order the reuse of memory"
        );
        reporter.remark(module.op_loc(program), message);
    }
}

struct Planner<'l> {
    listing: &'l Listing,
    sizes: Vec<u64>,
    is_persistent: Vec<bool>,
    /// First and last access of each buffer; `NONE` if it has none.
    first: Vec<u32>,
    last: Vec<u32>,
    /// Per buffer and stream, the last access.
    last_on: Vec<u32>,
    offsets: Vec<Option<u64>>,
    arena: Arena,
    persistent_bytes: u64,
    extra: Vec<Dependency>,
}

impl<'l> Planner<'l> {
    fn new(module: &Module, listing: &'l Listing) -> Self {
        let (count, streams) = (listing.buffers.len(), listing.stream_count);
        let ctx = module.ctx();
        let size = |b: &piper_ir::Value| {
            buffer_bytes(ctx, module.ty(*b))
                .and_then(|n| n.checked_next_multiple_of(ALIGN))
                .unwrap_or(u64::MAX)
        };
        let is_persistent = |b: &piper_ir::Value| {
            module.defining_op(*b).is_some_and(|op| Buffer(op).persistent(module).is_some())
        };
        let mut planner = Self {
            listing,
            sizes: listing.buffers.iter().map(size).collect(),
            is_persistent: listing.buffers.iter().map(is_persistent).collect(),
            first: vec![NONE; count],
            last: vec![NONE; count],
            last_on: vec![NONE; count * streams],
            offsets: vec![None; count],
            arena: Arena::new(streams),
            persistent_bytes: 0,
            extra: Vec::new(),
        };
        for at in 0..listing.ops.len() {
            for &(buffer, ..) in listing.accesses(at) {
                let b = buffer as usize;
                if planner.first[b] == NONE {
                    planner.first[b] = at as u32;
                }
                planner.last[b] = at as u32;
                planner.last_on[b * streams + usize::from(listing.streams[at])] = at as u32;
            }
        }
        planner
    }

    /// Persistent buffers, and those that nothing touches (which something may still declare a home in), live all the time.
    fn persistent(&mut self, module: &Module) {
        for b in 0..self.sizes.len() {
            let untouched = self.first[b] == NONE && module.is_used(self.listing.buffers[b]);
            if self.is_persistent[b] || untouched {
                self.offsets[b] = Some(self.arena.grow(self.sizes[b]));
            }
        }
        self.persistent_bytes = self.arena.bytes();
    }

    fn walk(&mut self, module: &Module, options: Options) {
        let no_reuse = options.no_reuse;
        let most = if options.least_memory { Delay::Unknown } else { Delay::Little };
        // How many instructions each stream had issued at each one of its own.
        let mut issued = vec![0u32; self.listing.stream_count];
        let mut number: Vec<u32> = Vec::with_capacity(self.listing.ops.len());
        let (listing, streams) = (self.listing, self.listing.stream_count);
        let mut clocks = Clocks::new(streams);
        let mut after: Vec<u32> = Vec::with_capacity(listing.ops.len() * streams);
        let mut recorded = rustc_hash::FxHashMap::default();
        for at in 0..listing.ops.len() {
            let stream = usize::from(listing.streams[at]);
            match module.name_text(listing.ops[at]) {
                "device.record" => {
                    recorded.insert(event_number(module, listing.ops[at]), at);
                }
                "device.wait" => {
                    if let Some(&from) = recorded.get(&event_number(module, listing.ops[at])) {
                        clocks.join(stream, &after[from * streams..(from + 1) * streams]);
                    }
                }
                _ => {}
            }
            for &(buffer, ..) in listing.accesses(at) {
                let b = buffer as usize;
                if self.offsets[b].is_some() {
                    continue;
                }
                if no_reuse {
                    self.offsets[b] = Some(self.arena.grow(self.sizes[b]));
                    continue;
                }
                let delay = |block: &Block| {
                    let of_stream = |of: usize| match block.users[of] {
                        NONE => Delay::None,
                        user if clocks.knows(stream, of, user) => Delay::None,
                        user if number[user as usize] + SETTLED <= issued[of] => Delay::Little,
                        _ => Delay::Unknown,
                    };
                    (0..streams).map(of_stream).max().unwrap_or(Delay::None)
                };
                let (offset, users) = self.arena.take(self.sizes[b], most, delay);
                self.offsets[b] = Some(offset);
                for (of, &user) in users.iter().enumerate() {
                    if user != NONE && !clocks.knows(stream, of, user) {
                        self.extra.push((user, at as u32));
                        let row = user as usize * streams;
                        clocks.join(stream, &after[row..row + streams]);
                    }
                }
            }
            issued[stream] += u32::from(!listing.accesses(at).is_empty());
            number.push(issued[stream]);
            clocks.issue(stream, at as u32);
            after.extend_from_slice(clocks.row(stream));
            if no_reuse {
                continue;
            }
            for &(buffer, ..) in listing.accesses(at) {
                let b = buffer as usize;
                if self.last[b] == at as u32 && !self.is_persistent[b] {
                    // An operand may be named twice; its memory is given back once.
                    self.last[b] = NONE;
                    let users = self.last_on[b * streams..(b + 1) * streams].into();
                    self.arena.give_back(Block {
                        offset: self.offsets[b].unwrap_or(0),
                        size: self.sizes[b],
                        users,
                    });
                }
            }
        }
    }
}

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let option = |name, summary| OptionDef::new(name, summary, Some("false"));
    let options = vec![
        option("report", "a remark for every program with its peak bytes"),
        option("keep-copies", "leave copies into flat buffers as they are"),
        option("no-reuse", "give every buffer memory of its own"),
        option("least-memory", "wait for any free memory rather than take more"),
    ];
    let pass = PassInfo::with_options(
        "memory-plan",
        "Offsets in one arena for every buffer of a device program",
        options,
        |given| {
            let flag = |name: &str| given.get::<bool>(name).map(|value| value.unwrap_or(false));
            let options = Options {
                report: flag("report")?,
                keep_copies: flag("keep-copies")?,
                no_reuse: flag("no-reuse")?,
                least_memory: flag("least-memory")?,
            };
            Ok(move |cx: &mut piper_ir::pass::PassContext<'_, '_>| {
                run(cx.module, cx.reporter, options)
            })
        },
    );
    let is_planned = |module: &Module| {
        programs(module).iter().all(|op| module.attr_by(*op, "arena_bytes").is_some())
    };
    vec![pass.done_when(is_planned).describe(
        "Input: `device.program`s. Output: the same with offsets and an arena size. Memory is reused only where stream order and \
         events say that its last users are done; where they do not, events are added.",
    )]
}
