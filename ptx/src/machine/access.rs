//! Loads, stores and atomics, and what is checked of each.

use super::block::{Block, Launch, lanes_of};
use crate::ast::{Space, Type};
use crate::code::{
    Address, LOCAL_WINDOW, Lanes, Op, PARAM_WINDOW, SHARED_WINDOW, Source, WARP, WINDOW_BYTES,
};
use crate::fault::{FaultKind, Trouble, trouble};

/// Where an access goes.
#[derive(Clone, Copy)]
pub(super) enum Home {
    /// Allocation and offset.
    Global(usize, u64),
    Shared(u64),
    Local(u64),
    Param(u64),
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    /// Both, and not racing with others of its kind.
    Atomic,
}

/// One access of one thread.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) w: usize,
    pub(super) lane: usize,
    pub(super) step: u32,
    pub(super) kind: Kind,
    pub(super) is_strong: bool,
}

impl Launch<'_> {
    pub(super) fn addresses(
        &self,
        block: &Block,
        w: usize,
        at: &Address,
        active: u32,
    ) -> Result<Lanes, Trouble> {
        let mut spare = None;
        let base = self.borrow(&block.warps[w], block.at, at.base, active, &mut spare)?;
        Ok(base.map(|v| v.wrapping_add_signed(at.offset)))
    }

    /// Finds the memory of an access, and does all its checks.
    pub(super) fn access(
        &mut self,
        block: &mut Block,
        access: Access,
        space: Space,
        address: u64,
        bytes: u32,
    ) -> Result<Home, Trouble> {
        let Access { w, lane, kind, .. } = access;
        let within = |window: u64| address.wrapping_sub(window) < WINDOW_BYTES;
        let (space, address) = match space {
            Space::Generic if within(SHARED_WINDOW) => (Space::Shared, address - SHARED_WINDOW),
            Space::Generic if within(LOCAL_WINDOW) => (Space::Local, address - LOCAL_WINDOW),
            Space::Generic if within(PARAM_WINDOW) => (Space::Param, address - PARAM_WINDOW),
            Space::Generic => (Space::Global, address),
            space => (space, address),
        };
        // A power of two, always: a division would take longer than all else here.
        if address & (u64::from(bytes) - 1) != 0 {
            let message = format!(
                "address {address:#x} is no multiple of the {bytes} bytes that are accessed"
            );
            return trouble(FaultKind::Misaligned, lane, message);
        }
        let outside =
            |size: u64| address.checked_add(u64::from(bytes)).is_none_or(|end| end > size);
        match space {
            Space::Global | Space::Const | Space::Generic => {
                self.access_global(block, access, address, bytes)
            }
            Space::Shared => {
                if outside(self.shared_bytes) {
                    let message = format!(
                        "{bytes} bytes at offset {address:#x} of shared memory, which has {} bytes",
                        self.shared_bytes
                    );
                    return trouble(FaultKind::OutOfBounds, lane, message);
                }
                self.access_shared(block, access, address, bytes)?;
                Ok(Home::Shared(address))
            }
            Space::Local => {
                if outside(self.code.local_bytes) {
                    let message = format!(
                        "{bytes} bytes at offset {address:#x} of local memory, of which a thread has {} bytes",
                        self.code.local_bytes
                    );
                    return trouble(FaultKind::OutOfBounds, lane, message);
                }
                let offset = address + block.local_stride * (w * WARP + lane) as u64;
                let is_read = kind == Kind::Read;
                if is_read && self.checks.uninitialised && !is_set(&block.local, offset, bytes) {
                    let message =
                        format!("local memory at offset {address:#x} is read before it is written");
                    return trouble(FaultKind::Uninitialised, lane, message);
                }
                self.stats.local += u64::from(bytes);
                Ok(Home::Local(offset))
            }
            Space::Param => {
                if outside(self.code.param_bytes) {
                    let message = format!(
                        "{bytes} bytes at offset {address:#x} of the parameters, which take {} bytes",
                        self.code.param_bytes
                    );
                    return trouble(FaultKind::OutOfBounds, lane, message);
                }
                if kind != Kind::Read {
                    return trouble(
                        FaultKind::OutOfBounds,
                        lane,
                        "parameters of a kernel are constant".to_string(),
                    );
                }
                Ok(Home::Param(address))
            }
        }
    }

    fn access_global(
        &mut self,
        block: &mut Block,
        access: Access,
        address: u64,
        bytes: u32,
    ) -> Result<Home, Trouble> {
        let Access { w, lane, step, kind, is_strong } = access;
        let Some((number, offset)) = self.global.find(address, u64::from(bytes)) else {
            let message = format!(
                "{bytes} bytes at {address:#x} are in no allocation; {}",
                self.global.nearest(address)
            );
            return trouble(FaultKind::OutOfBounds, lane, message);
        };
        match kind {
            Kind::Read => self.stats.global_read += u64::from(bytes),
            Kind::Write => self.stats.global_written += u64::from(bytes),
            Kind::Atomic => {
                self.stats.global_read += u64::from(bytes);
                self.stats.global_written += u64::from(bytes);
            }
        }
        let allocation = &mut self.global.allocations[number];
        if kind != Kind::Read && allocation.is_constant {
            return trouble(
                FaultKind::OutOfBounds,
                lane,
                "constant memory is not written by kernels".to_string(),
            );
        }
        if kind != Kind::Write
            && self.checks.uninitialised_global
            && !is_set(&allocation.bytes, offset, bytes)
        {
            let message = format!(
                "global memory at {address:#x} (offset {offset} of its allocation) is read, but neither the host nor a \
                 kernel has written it"
            );
            return trouble(FaultKind::Uninitialised, lane, message);
        }
        if self.checks.races && !allocation.is_constant {
            if kind == Kind::Atomic {
                let known = self.released.entry(address).or_default();
                if block.has_fenced {
                    known.insert(block.number);
                    known.extend(block.acquired.iter().copied());
                }
                block.acquired.extend(known.iter().copied());
            }
            let stamp = block.stamp(w, lane, step, is_strong || kind == Kind::Atomic);
            let (clock, acquired) = (&block.warps[w].clock, &block.acquired);
            let race = allocation.bytes.shadow.access(
                offset,
                bytes,
                stamp,
                kind != Kind::Read,
                self.period,
                |other| match other.block == stamp.block {
                    true => clock[other.thread as usize / WARP] > other.clock,
                    false => acquired.contains(&other.block),
                },
            );
            if let Some((other, was_write)) = race {
                let what = format!("global memory at {address:#x}");
                return self.race(block, access, &what, other, was_write);
            }
        }
        Ok(Home::Global(number, offset))
    }

    /// The checks of an access to shared memory that lies within it.
    pub(super) fn access_shared(
        &mut self,
        block: &mut Block,
        access: Access,
        offset: u64,
        bytes: u32,
    ) -> Result<(), Trouble> {
        let Access { w, lane, step, kind, is_strong } = access;
        if block.copies.is_pending(offset, bytes) {
            let verb = if kind == Kind::Read { "read" } else { "written" };
            let message = format!(
                "shared memory at offset {offset:#x} is {verb} while an asynchronous copy into it is under way: \
                 wait for it with cp.async.wait_group, and then at a barrier"
            );
            return trouble(FaultKind::EarlyRead, lane, message);
        }
        if kind != Kind::Write && self.checks.uninitialised && !is_set(&block.shared, offset, bytes)
        {
            let message =
                format!("shared memory at offset {offset:#x} is read before anybody wrote it");
            return trouble(FaultKind::Uninitialised, lane, message);
        }
        if kind != Kind::Read && block.operands.write(w * WARP + lane, offset, bytes) {
            let message = format!(
                "shared memory at offset {offset:#x} is written while a product that reads it is under way: wait for it with \
                 wgmma.wait_group, and then at a barrier"
            );
            return trouble(FaultKind::Race, lane, message);
        }
        match kind {
            Kind::Read => self.stats.shared_read += u64::from(bytes),
            Kind::Write => self.stats.shared_written += u64::from(bytes),
            Kind::Atomic => {
                self.stats.shared_read += u64::from(bytes);
                self.stats.shared_written += u64::from(bytes);
            }
        }
        if self.checks.races {
            let stamp = block.stamp(w, lane, step, is_strong || kind == Kind::Atomic);
            let clock = &block.warps[w].clock;
            let race = block.shared.shadow.access(
                offset,
                bytes,
                stamp,
                kind != Kind::Read,
                block.period,
                |other| clock[other.thread as usize / WARP] > other.clock,
            );
            if let Some((other, was_write)) = race {
                let what = format!("shared memory at offset {offset:#x}");
                return self.race(block, access, &what, other, was_write);
            }
        }
        Ok(())
    }

    fn race<T>(
        &self,
        block: &Block,
        access: Access,
        what: &str,
        other: super::shadow::Stamp,
        was_write: bool,
    ) -> Result<T, Trouble> {
        let place = self.code.steps[other.step as usize].place;
        let [x, y, _] = self.block;
        let t = u32::from(other.thread);
        let thread = (t % x, t / x % y, t / (x * y));
        let own = if access.kind == Kind::Read { "read" } else { "write" };
        let their = if was_write { "write" } else { "read" };
        let (where_, hint) = if other.block == block.number {
            (String::new(), "a barrier between them would order them")
        } else {
            let n = other.block - 1;
            let [gx, gy, _] = self.grid;
            let at = (n % gx, n / gx % gy, n / (gx * gy));
            (
                format!("block {at:?}, "),
                "blocks are ordered by a fence and an atomic, or by separate launches",
            )
        };
        let message = format!(
            "this {own} of {what} races with a {their} by {where_}thread {thread:?} on line {} (`{}`): {hint}",
            place.line,
            self.kernel.line(place.line)
        );
        trouble(FaultKind::Race, access.lane, message)
    }

    fn read(&self, block: &Block, home: Home, bytes: u32) -> u64 {
        match home {
            Home::Global(number, offset) => {
                self.global.allocations[number].bytes.read(offset, bytes)
            }
            Home::Shared(offset) => block.shared.read(offset, bytes),
            Home::Local(offset) => block.local.read(offset, bytes),
            Home::Param(offset) => {
                let mut value = [0; 8];
                let at = offset as usize;
                value[..bytes as usize].copy_from_slice(&self.params[at..at + bytes as usize]);
                u64::from_le_bytes(value)
            }
        }
    }

    fn write(&mut self, block: &mut Block, home: Home, bytes: u32, value: u64) {
        match home {
            Home::Global(number, offset) => {
                self.global.allocations[number].bytes.write(offset, bytes, value);
            }
            Home::Shared(offset) => block.shared.write(offset, bytes, value),
            Home::Local(offset) => block.local.write(offset, bytes, value),
            Home::Param(_) => {}
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn load(
        &mut self,
        block: &mut Block,
        w: usize,
        step: u32,
        active: u32,
        dst: &[Option<u32>],
        ty: Type,
        at: &Address,
        is_strong: bool,
    ) -> Result<(), Trouble> {
        let addresses = self.addresses(block, w, at, active)?;
        let (each, count) = (ty.bytes(), dst.len());
        self.count_access(at.space, &addresses, active, each * count as u32);
        let mut results = [[0; WARP]; 8];
        let access = Access { w, lane: 0, step, kind: Kind::Read, is_strong };
        let skipped = repeated(at.space, &addresses, active);
        let checked = active & !skipped;
        let part = (at.space, each, count);
        let mut outcome = self.load_lanes(block, access, part, &addresses, checked, &mut results);
        if outcome.is_err() && skipped != 0 {
            // The first lane is to be named.
            let all = self.load_lanes(block, access, part, &addresses, active, &mut results);
            outcome = all.and(outcome);
        }
        outcome?;
        let bytes = u64::from(skipped.count_ones()) * u64::from(each) * count as u64;
        match at.space {
            Space::Global | Space::Const => self.stats.global_read += bytes,
            Space::Shared => self.stats.shared_read += bytes,
            _ => {}
        }
        for lane in (0..WARP).rev().filter(|lane| skipped >> lane & 1 == 1) {
            for result in &mut results[..count] {
                result[lane] = result[lane + 1];
            }
        }
        for (dst, values) in dst.iter().zip(&mut results) {
            let Some(dst) = dst else { continue };
            if ty.is_signed() && each < 8 {
                let register = self.code.registers[*dst as usize].1.bytes();
                let (narrow, wide) = (64 - 8 * each, 64 - 8 * register.max(each));
                values.iter_mut().for_each(|v| {
                    *v = (((*v << narrow) as i64 >> narrow) as u64) << wide >> wide;
                });
            }
            block.warps[w].write(*dst, values, active);
        }
        Ok(())
    }

    /// Reads what each of `lanes` loads: `count` parts of `each` bytes.
    fn load_lanes(
        &mut self,
        block: &mut Block,
        access: Access,
        (space, each, count): (Space, u32, usize),
        addresses: &Lanes,
        lanes: u32,
        results: &mut [Lanes; 8],
    ) -> Result<(), Trouble> {
        for lane in lanes_of(lanes) {
            let access = Access { lane, ..access };
            let home = self.access(block, access, space, addresses[lane], each * count as u32)?;
            for (part, result) in results.iter_mut().enumerate().take(count) {
                result[lane] = self.read(block, home.after(part as u64 * u64::from(each)), each);
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn store(
        &mut self,
        block: &mut Block,
        w: usize,
        step: u32,
        active: u32,
        src: &[Source],
        ty: Type,
        at: &Address,
        is_strong: bool,
    ) -> Result<(), Trouble> {
        let addresses = self.addresses(block, w, at, active)?;
        let (each, count) = (ty.bytes(), src.len());
        self.count_access(at.space, &addresses, active, each * count as u32);
        let values = src
            .iter()
            .map(|src| self.value(&block.warps[w], block.at, *src, active))
            .collect::<Result<Vec<_>, _>>()?;
        for lane in lanes_of(active) {
            let access = Access { w, lane, step, kind: Kind::Write, is_strong };
            let home =
                self.access(block, access, at.space, addresses[lane], each * count as u32)?;
            for (part, values) in values.iter().enumerate() {
                self.write(block, home.after(part as u64 * u64::from(each)), each, values[lane]);
            }
        }
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        block: &mut Block,
        w: usize,
        step: u32,
        active: u32,
        op: &Op,
    ) -> Result<(), Trouble> {
        let Op::Atomic { dst, ty, at, update, operand, second, count, more } = op else {
            return Ok(());
        };
        let addresses = self.addresses(block, w, at, active)?;
        let each = ty.bytes();
        let second = self.value(&block.warps[w], block.at, *second, active)?;
        let mut parts = vec![(*dst, *operand)];
        parts.extend(more.iter().copied());
        let operands = parts
            .iter()
            .map(|(_, operand)| self.value(&block.warps[w], block.at, *operand, active))
            .collect::<Result<Vec<_>, _>>()?;
        let mut old = vec![[0; WARP]; parts.len()];
        for lane in lanes_of(active) {
            let access = Access { w, lane, step, kind: Kind::Atomic, is_strong: true };
            let home = self.access(block, access, at.space, addresses[lane], each * count)?;
            for (part, old) in old.iter_mut().enumerate() {
                let home = home.after(part as u64 * u64::from(each));
                old[lane] = self.read(block, home, each);
                let new = update(old[lane], operands[part][lane], second[lane]);
                self.write(block, home, each, new);
            }
        }
        for ((dst, _), old) in parts.iter().zip(&old) {
            if let Some(dst) = dst {
                block.warps[w].write(*dst, old, active);
            }
        }
        Ok(())
    }

    /// Segments and bank conflicts of one access of a warp.
    fn count_access(&mut self, space: Space, addresses: &Lanes, active: u32, bytes: u32) {
        if space == Space::Global {
            let mut segments: [u64; WARP] = [u64::MAX; WARP];
            let mut count = 0;
            for lane in lanes_of(active) {
                let first = addresses[lane] / 32;
                if !segments[..count].contains(&first) {
                    segments[count] = first;
                    count += 1;
                }
            }
            self.stats.global_segments += count as u64;
        } else if space == Space::Shared {
            // Wide accesses go by halves, quarters or eighths of a warp.
            let together = (WARP as u32 * 4 / bytes.max(4)).max(1) as usize;
            for start in (0..WARP).step_by(together) {
                let mut words: [[u64; WARP]; 1] = [[u64::MAX; WARP]];
                let mut by_bank = [0_u8; 32];
                let mut worst = 0;
                for lane in start..start + together {
                    let word = addresses[lane] / 4;
                    if active >> lane & 1 == 0 || words[0][start..lane].contains(&word) {
                        continue;
                    }
                    words[0][lane] = word;
                    for part in 0..u64::from(bytes / 4).max(1) {
                        let bank = &mut by_bank[((word + part) % 32) as usize];
                        *bank += 1;
                        worst = worst.max(*bank);
                    }
                }
                self.stats.bank_conflicts += u64::from(worst.saturating_sub(1));
            }
        }
    }
}

impl Home {
    fn after(self, bytes: u64) -> Self {
        match self {
            Self::Global(number, offset) => Self::Global(number, offset + bytes),
            Self::Shared(offset) => Self::Shared(offset + bytes),
            Self::Local(offset) => Self::Local(offset + bytes),
            Self::Param(offset) => Self::Param(offset + bytes),
        }
    }
}

/// Lanes whose next two neighbours read the same place: bounds, contents and races of those two stand for them, since two
/// readers are all that is remembered of a place. Local memory is another place for each thread.
fn repeated(space: Space, addresses: &Lanes, active: u32) -> u32 {
    if !matches!(space, Space::Global | Space::Const | Space::Shared | Space::Param) {
        return 0;
    }
    let mut same = 0_u32;
    for lane in 0..WARP - 1 {
        same |= u32::from(addresses[lane] == addresses[lane + 1]) << lane;
    }
    let pair = same & active & active >> 1;
    pair & pair >> 1
}

fn is_set(memory: &super::memory::Bytes, offset: u64, bytes: u32) -> bool {
    if bytes <= 8 {
        return memory.is_set(offset, bytes);
    }
    (0..bytes / 8).all(|part| memory.is_set(offset + u64::from(part * 8), 8))
}
