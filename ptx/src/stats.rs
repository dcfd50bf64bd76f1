//! What a launch did, counted.

use crate::code::Class;

/// Counts of a launch. Instructions are counted once a thread that executes them, as a profiler does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions issued, once a warp.
    pub warp_instructions: u64,
    /// Integer and logic instructions, conversions and moves not included.
    pub integer: u64,
    /// Floating-point instructions.
    pub float: u64,
    /// Moves and conversions.
    pub moves: u64,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Atomics and reductions in memory.
    pub atomics: u64,
    /// Branches and exits.
    pub control: u64,
    /// Barriers and fences.
    pub barriers: u64,
    /// Shuffles, votes and warp reductions.
    pub warp: u64,
    /// Asynchronous copies.
    pub copies: u64,
    /// Tensor core tiles, once a thread.
    pub tensor: u64,
    /// Bytes read from global and constant memory.
    pub global_read: u64,
    /// Bytes written to global memory.
    pub global_written: u64,
    /// Bytes read from shared memory.
    pub shared_read: u64,
    /// Bytes written to shared memory.
    pub shared_written: u64,
    /// Bytes read from and written to local memory.
    pub local: u64,
    /// Segments of 32 bytes that the warps' accesses to global memory touch: the least is bytes / 32.
    pub global_segments: u64,
    /// Cycles that shared memory needs above one for each access of a warp, with 32 banks of four bytes; accesses of
    /// eight and sixteen bytes are served by halves and quarters of a warp.
    pub bank_conflicts: u64,
}

impl Stats {
    pub(crate) fn count(&mut self, class: Class, threads: u32) {
        self.warp_instructions += 1;
        let slot = match class {
            Class::Integer => &mut self.integer,
            Class::Float => &mut self.float,
            Class::Move => &mut self.moves,
            Class::Load => &mut self.loads,
            Class::Store => &mut self.stores,
            Class::Atomic => &mut self.atomics,
            Class::Control => &mut self.control,
            Class::Barrier => &mut self.barriers,
            Class::Warp => &mut self.warp,
            Class::Copy => &mut self.copies,
            Class::Tensor => &mut self.tensor,
        };
        *slot += u64::from(threads);
    }

    /// Instructions of all classes, once a thread.
    pub fn instructions(&self) -> u64 {
        self.integer
            + self.float
            + self.moves
            + self.loads
            + self.stores
            + self.atomics
            + self.control
            + self.barriers
            + self.warp
            + self.copies
            + self.tensor
    }
}
