//! Blocks: warps take turns, groups of lanes part and meet again, barriers count who has come.
//!
//! A warp is a set of groups, each with a program counter. The group that is furthest behind runs first, so groups that
//! parted at a branch meet at the earliest place that both reach; LLVM's block order makes that the join.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Checks;
use super::asynchronous::Copies;
use super::memory::{Bytes, Global};
use super::shadow::Stamp;
use super::warpgroup::{Operands, Products};
use crate::code::{Code, Lanes, Op, Source, WARP};
use crate::fault::{Fault, FaultKind, Trouble, trouble};
use crate::kernel::Kernel;
use crate::special::Special;
use crate::stats::Stats;

/// Instructions that a warp issues before the next has its turn, so that threads may wait for each other in a loop.
const TURN: u64 = 20_000;
/// Barriers of a block.
const BARRIERS: usize = 16;

/// What a launch knows.
pub(super) struct Launch<'m> {
    pub(super) kernel: &'m Kernel,
    pub(super) code: &'m Code,
    pub(super) global: &'m mut Global,
    pub(super) checks: Checks,
    pub(super) symbols: &'m [u64],
    pub(super) params: Vec<u8>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared_bytes: u64,
    pub(super) dynamic_bytes: u32,
    pub(super) stats: Stats,
    pub(super) period: u64,
    /// Blocks whose writes are known to whoever does an atomic at an address.
    pub(super) released: FxHashMap<u64, FxHashSet<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// At a barrier of the block.
    Barrier(u8),
    /// At an instruction that lanes do together, until the others come.
    Meeting,
}

/// Lanes that are at the same place.
#[derive(Clone, Copy, Debug)]
struct Group {
    at: u32,
    lanes: u32,
    state: State,
}

pub(super) struct Warp {
    pub(super) registers: Vec<Lanes>,
    /// Lanes in which a register was written.
    pub(super) written: Vec<u32>,
    groups: Vec<Group>,
    /// Lanes that have not exited.
    pub(super) alive: u32,
    /// What this warp has seen of each warp of the block; see `shadow`.
    pub(super) clock: Vec<u32>,
    pub(super) products: Products,
    thread: [Lanes; 3],
    steps: u64,
}

#[derive(Default)]
struct Barrier {
    arrived: u32,
    expected: u32,
    clock: Vec<u32>,
}

pub(super) struct Block {
    pub(super) number: u32,
    pub(super) at: [u32; 3],
    pub(super) warps: Vec<Warp>,
    pub(super) shared: Bytes,
    pub(super) local: Bytes,
    /// Bytes of local memory from thread to thread.
    pub(super) local_stride: u64,
    pub(super) copies: Copies,
    pub(super) operands: Operands,
    /// Blocks whose writes this one has seen through atomics.
    pub(super) acquired: FxHashSet<u32>,
    pub(super) has_fenced: bool,
    pub(super) period: u64,
    barriers: [Barrier; BARRIERS],
}

/// What an instruction does to the lanes that execute it.
pub(super) enum Flow {
    Next,
    Branch(u32),
    Table(Vec<(u32, u32)>),
    Exit,
    /// Wait at a barrier of the block.
    Wait {
        id: u8,
        expected: u32,
        is_aligned: bool,
    },
    /// Come again once the others are here.
    Meet,
}

impl Launch<'_> {
    pub(super) fn run(&mut self) -> Result<(), Fault> {
        let threads: u32 = self.block.iter().product();
        let warps = threads.div_ceil(WARP as u32);
        let stride = self.code.local_bytes.next_multiple_of(16);
        let has_products = self.code.steps.iter().any(|step| matches!(step.op, Op::Product(_)));
        let mut block = Block {
            number: 0,
            at: [0; 3],
            warps: (0..warps).map(|w| self.warp(w, warps)).collect(),
            shared: Bytes::new(self.shared_bytes as usize),
            local: Bytes::new((stride * u64::from(threads)) as usize),
            local_stride: stride,
            copies: Copies::new(threads as usize, self.shared_bytes as usize),
            operands: Operands::new(threads as usize, self.shared_bytes as usize, has_products),
            acquired: FxHashSet::default(),
            has_fenced: false,
            period: 0,
            barriers: Default::default(),
        };
        for z in 0..self.grid[2] {
            for y in 0..self.grid[1] {
                for x in 0..self.grid[0] {
                    block.number += 1;
                    block.at = [x, y, z];
                    self.reset(&mut block, threads);
                    self.run_block(&mut block)?;
                }
            }
        }
        Ok(())
    }

    fn warp(&self, number: u32, warps: u32) -> Warp {
        let [x, y, _] = self.block;
        let mut thread = [[0; WARP]; 3];
        for lane in 0..WARP as u32 {
            let t = number * WARP as u32 + lane;
            let place = [t % x, t / x % y, t / (x * y)];
            for (direction, value) in thread.iter_mut().zip(place) {
                direction[lane as usize] = u64::from(value);
            }
        }
        Warp {
            registers: vec![[0; WARP]; self.code.registers.len()],
            written: vec![0; self.code.registers.len()],
            groups: Vec::new(),
            alive: 0,
            clock: vec![0; warps as usize],
            products: Products::default(),
            thread,
            steps: 0,
        }
    }

    fn reset(&self, block: &mut Block, threads: u32) {
        block.period = self.period << 32 | u64::from(block.number);
        block.shared.clear(self.shared_bytes as usize);
        let local = block.local_stride * u64::from(threads);
        block.local.clear(local as usize);
        block.acquired.clear();
        block.has_fenced = false;
        block.barriers = Default::default();
        block.operands.clear();
        for (number, warp) in block.warps.iter_mut().enumerate() {
            let lanes = (threads - (number * WARP) as u32).min(WARP as u32);
            warp.alive = u32::MAX >> (WARP as u32 - lanes);
            warp.written.fill(0);
            warp.clock.fill(0);
            warp.products = Products::default();
            warp.groups.clear();
            warp.groups.push(Group { at: 0, lanes: warp.alive, state: State::Ready });
            warp.steps = 0;
        }
    }

    fn run_block(&mut self, block: &mut Block) -> Result<(), Fault> {
        loop {
            let mut has_moved = false;
            for w in 0..block.warps.len() {
                has_moved |= self.run_warp(block, w)?;
            }
            if block.warps.iter().all(|warp| warp.groups.is_empty()) {
                return match self.uneven_products(block) {
                    Some((w, at, trouble)) => Err(self.fault(block, w, at, trouble)),
                    None => Ok(()),
                };
            }
            if !has_moved {
                return Err(self.stuck(block));
            }
        }
    }

    /// Runs a warp until all its lanes wait or its turn is over; says whether it did anything.
    fn run_warp(&mut self, block: &mut Block, w: usize) -> Result<bool, Fault> {
        let code = self.code;
        let start = block.warps[w].steps;
        loop {
            let warp = &mut block.warps[w];
            let Some(g) = warp.next_group() else { return Ok(warp.steps > start) };
            let group = warp.groups[g];
            let step = &code.steps[group.at as usize];
            warp.steps += 1;
            if warp.steps > self.checks.step_limit {
                let message = format!(
                    "the warp has issued {} instructions: does this loop end? (blocks run one after the other, so one \
                     cannot wait for a later one)",
                    self.checks.step_limit
                );
                let lane = group.lanes.trailing_zeros() as usize;
                return Err(self.fault(
                    block,
                    w,
                    group.at,
                    Trouble { kind: FaultKind::StepLimit, lane, message },
                ));
            }
            let mut active = group.lanes;
            if let Some((register, negated)) = step.guard {
                let values = match self.register(&block.warps[w], register, group.lanes) {
                    Ok(values) => values,
                    Err(trouble) => return Err(self.fault(block, w, group.at, trouble)),
                };
                let mut holds = 0;
                for (lane, value) in values.iter().enumerate() {
                    holds |= u32::from((*value != 0) != negated) << lane;
                }
                active &= holds;
            }
            self.stats.count(step.class, active.count_ones());
            if active == 0 {
                block.warps[w].groups[g].at += 1;
                continue;
            }
            let flow = match self.execute(block, w, group.at, &step.op, active) {
                Ok(flow) => flow,
                Err(trouble) => return Err(self.fault(block, w, group.at, trouble)),
            };
            if let Flow::Next = flow {
                block.warps[w].groups[g].at += 1;
            } else if let Err(trouble) = self.flow(block, w, g, active, flow) {
                return Err(self.fault(block, w, group.at, trouble));
            }
            if block.warps[w].steps - start >= TURN {
                return Ok(true);
            }
        }
    }

    /// Moves the lanes of group `g` as `flow` says.
    fn flow(
        &mut self,
        block: &mut Block,
        w: usize,
        g: usize,
        active: u32,
        flow: Flow,
    ) -> Result<(), Trouble> {
        let warp = &mut block.warps[w];
        let group = warp.groups.swap_remove(g);
        let stay = group.lanes & !active;
        if stay != 0 {
            warp.groups.push(Group { at: group.at + 1, lanes: stay, state: State::Ready });
        }
        match flow {
            Flow::Next => {
                warp.groups.push(Group { at: group.at + 1, lanes: active, state: State::Ready });
            }
            Flow::Branch(at) => warp.groups.push(Group { at, lanes: active, state: State::Ready }),
            Flow::Table(targets) => {
                for (at, lanes) in targets {
                    warp.groups.push(Group { at, lanes, state: State::Ready });
                }
            }
            Flow::Exit => {
                warp.alive &= !active;
                // Whoever waits for the lanes that are gone now looks again.
                for group in &mut warp.groups {
                    if group.state == State::Meeting {
                        group.state = State::Ready;
                    }
                }
            }
            Flow::Meet => {
                let here =
                    warp.groups.iter_mut().find(|g| g.at == group.at && g.state == State::Meeting);
                match here {
                    Some(here) => here.lanes |= active,
                    None => {
                        warp.groups.push(Group {
                            at: group.at,
                            lanes: active,
                            state: State::Meeting,
                        });
                    }
                }
            }
            Flow::Wait { id, expected, is_aligned } => {
                let other = warp
                    .groups
                    .iter()
                    .find(|g| matches!(g.state, State::Barrier(_)) && g.at != group.at);
                if let Some(other) = other.filter(|_| is_aligned) {
                    let line = self.code.steps[other.at as usize].place.line;
                    return trouble(
                        FaultKind::BarrierDivergence,
                        active.trailing_zeros() as usize,
                        format!(
                            "lanes {active:#010x} of a warp wait here and lanes {:#010x} at the barrier on line {line}: \
                             a warp has to reach one barrier together",
                            other.lanes
                        ),
                    );
                }
                warp.groups.push(Group { at: group.at, lanes: active, state: State::Barrier(id) });
                self.arrive(block, w, active, id, expected)?;
            }
        }
        Ok(())
    }

    /// Counts `lanes` at a barrier, and opens it when all have come.
    pub(super) fn arrive(
        &mut self,
        block: &mut Block,
        w: usize,
        lanes: u32,
        id: u8,
        expected: u32,
    ) -> Result<(), Trouble> {
        let lane = lanes.trailing_zeros() as usize;
        let warp = &mut block.warps[w];
        warp.clock[w] += 1;
        let barrier = &mut block.barriers[id as usize];
        if barrier.arrived == 0 {
            barrier.expected = expected;
            barrier.clock.clear();
            barrier.clock.resize(warp.clock.len(), 0);
        }
        let kind = FaultKind::BarrierDivergence;
        if barrier.expected != expected {
            let message = format!(
                "barrier {id} is for {expected} threads here and for {} elsewhere",
                barrier.expected
            );
            return trouble(kind, lane, message);
        }
        barrier.arrived += lanes.count_ones();
        for (seen, own) in barrier.clock.iter_mut().zip(&warp.clock) {
            *seen = (*seen).max(*own);
        }
        if barrier.arrived > expected {
            let message = format!(
                "{} threads come to barrier {id}, which is for {expected}",
                barrier.arrived
            );
            return trouble(kind, lane, message);
        }
        if barrier.arrived < expected {
            return Ok(());
        }
        barrier.arrived = 0;
        for warp in &mut block.warps {
            let mut is_here = false;
            for group in &mut warp.groups {
                if group.state == State::Barrier(id) {
                    group.state = State::Ready;
                    group.at += 1;
                    is_here = true;
                }
            }
            if is_here {
                for (own, seen) in warp.clock.iter_mut().zip(&barrier.clock) {
                    *own = (*own).max(*seen);
                }
            }
        }
        Ok(())
    }

    /// No warp can go on: says who waits where.
    fn stuck(&self, block: &Block) -> Fault {
        let mut waiting: Vec<(State, u32, u32, usize, usize)> = Vec::new();
        for (w, warp) in block.warps.iter().enumerate() {
            for group in &warp.groups {
                let lane = group.lanes.trailing_zeros() as usize;
                let count = group.lanes.count_ones();
                match waiting.iter_mut().find(|x| x.0 == group.state && x.1 == group.at) {
                    Some(known) => known.2 += count,
                    None => waiting.push((group.state, group.at, count, w, lane)),
                }
            }
        }
        waiting.sort_by_key(|(state, at, ..)| (*state != State::Meeting, *at));
        let threads: u32 = self.block.iter().product();
        let gone = threads - block.warps.iter().map(|w| w.alive.count_ones()).sum::<u32>();
        let mut parts = Vec::new();
        for (state, at, count, ..) in &waiting {
            let line = self.code.steps[*at as usize].place.line;
            parts.push(match state {
                State::Barrier(id) => format!("{count} wait at barrier {id} on line {line}"),
                _ => format!("{count} wait for other lanes of their warp on line {line}"),
            });
        }
        if gone > 0 {
            parts.push(format!("{gone} have exited"));
        }
        let (state, at, _, w, lane) = waiting[0];
        let (kind, what) = match state {
            State::Meeting => {
                (FaultKind::InactiveLanes, "this instruction names lanes that never come")
            }
            _ => (FaultKind::BarrierDivergence, "this barrier is never reached by all"),
        };
        let message = format!("{what}: of {threads} threads, {}", parts.join(", "));
        self.fault(block, w, at, Trouble { kind, lane, message })
    }

    pub(super) fn fault(&self, block: &Block, w: usize, at: u32, trouble: Trouble) -> Fault {
        let place = self.code.steps[at as usize].place;
        let thread = block.warps[w].thread.map(|lanes| lanes[trouble.lane] as u32);
        Fault {
            kind: trouble.kind,
            message: trouble.message,
            kernel: self.kernel.name().to_string(),
            place,
            text: self.kernel.line(place.line),
            block: block.at,
            thread,
        }
    }

    fn register<'w>(&self, warp: &'w Warp, number: u32, active: u32) -> Result<&'w Lanes, Trouble> {
        let missing = active & !warp.written[number as usize];
        if missing != 0 && warp.products.is_sum(number) {
            let name = &self.code.registers[number as usize].0;
            let message = format!(
                "register {name} is used while a product into it is under way: wait for it with wgmma.wait_group"
            );
            return trouble(FaultKind::EarlyRead, missing.trailing_zeros() as usize, message);
        }
        if missing != 0 && self.checks.uninitialised {
            return trouble(
                FaultKind::Uninitialised,
                missing.trailing_zeros() as usize,
                format!(
                    "register {} is read before it is written",
                    self.code.registers[number as usize].0
                ),
            );
        }
        Ok(&warp.registers[number as usize])
    }

    /// The values of a source, without a copy of registers; `spare` holds others.
    #[inline]
    pub(super) fn borrow<'w>(
        &self,
        warp: &'w Warp,
        block: [u32; 3],
        source: Source,
        active: u32,
        spare: &'w mut Option<Lanes>,
    ) -> Result<&'w Lanes, Trouble> {
        match source {
            Source::Register(number) => self.register(warp, number, active),
            source => Ok(spare.insert(self.value(warp, block, source, active)?)),
        }
    }

    /// The values of a source; lanes outside of `active` may hold anything.
    pub(super) fn value(
        &self,
        warp: &Warp,
        block: [u32; 3],
        source: Source,
        active: u32,
    ) -> Result<Lanes, Trouble> {
        Ok(match source {
            Source::Register(number) => *self.register(warp, number, active)?,
            Source::Not(number) => {
                let mut values = *self.register(warp, number, active)?;
                values.iter_mut().for_each(|v| *v ^= 1);
                values
            }
            Source::Value(value) => [value; WARP],
            Source::Module(number, offset) => {
                [self.symbols[number as usize].wrapping_add_signed(offset); WARP]
            }
            Source::Special(special) => self.special(warp, block, special),
        })
    }

    fn special(&self, warp: &Warp, block: [u32; 3], special: Special) -> Lanes {
        let each = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| u64::from(f(lane as u32)));
        let same = |value: u32| [u64::from(value); WARP];
        let warps = self.block.iter().product::<u32>().div_ceil(WARP as u32);
        match special {
            Special::Thread(direction) => warp.thread[direction as usize],
            Special::Threads(direction) => same(self.block[direction as usize]),
            Special::Block(direction) => same(block[direction as usize]),
            Special::Blocks(direction) => same(self.grid[direction as usize]),
            Special::Lane => each(&|lane| lane),
            Special::Warp => {
                let [x, y, z] = warp.thread.map(|t| t[0] as u32);
                same((x + self.block[0] * (y + self.block[1] * z)) / WARP as u32)
            }
            Special::Warps => same(warps),
            Special::LaneMaskEq => each(&|lane| 1 << lane),
            Special::LaneMaskLt => each(&|lane| (1 << lane) - 1),
            Special::LaneMaskLe => each(&|lane| u32::MAX >> (31 - lane)),
            Special::LaneMaskGt => each(&|lane| !(u32::MAX >> (31 - lane))),
            Special::LaneMaskGe => each(&|lane| u32::MAX << lane),
            Special::Clock => [warp.steps; WARP],
            Special::DynamicShared => same(self.dynamic_bytes),
            Special::TotalShared => same(self.shared_bytes as u32),
            Special::Zero => same(0),
            Special::WarpSize => same(WARP as u32),
        }
    }
}

impl Warp {
    /// The group that is furthest behind among those that can run; groups that stand at the same place become one.
    fn next_group(&mut self) -> Option<usize> {
        if let [group] = self.groups.as_slice() {
            return (group.state == State::Ready).then_some(0);
        }
        let ready = |g: &Group| g.state == State::Ready;
        let at = self.groups.iter().filter(|g| ready(g)).map(|g| g.at).min()?;
        let mut first = None;
        let mut lanes = 0;
        let mut i = 0;
        while i < self.groups.len() {
            let group = self.groups[i];
            if group.at == at && !matches!(group.state, State::Barrier(_)) {
                lanes |= group.lanes;
                if first.is_some() {
                    self.groups.swap_remove(i);
                    continue;
                }
                first = Some(i);
            }
            i += 1;
        }
        let first = first?;
        self.groups[first] = Group { at, lanes, state: State::Ready };
        Some(first)
    }

    pub(super) fn write(&mut self, register: u32, values: &Lanes, active: u32) {
        let slot = &mut self.registers[register as usize];
        if active == u32::MAX {
            *slot = *values;
        } else {
            for lane in 0..WARP {
                if active >> lane & 1 == 1 {
                    slot[lane] = values[lane];
                }
            }
        }
        self.written[register as usize] |= active;
    }
}

impl Block {
    pub(super) fn stamp(&self, w: usize, lane: usize, step: u32, is_strong: bool) -> Stamp {
        Stamp {
            block: self.number,
            clock: self.warps[w].clock[w],
            step,
            thread: (w * WARP + lane) as u16,
            is_strong,
        }
    }
}

/// The lanes of a mask, lowest first.
pub(super) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(lane)
    })
}
