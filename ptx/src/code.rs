//! What a kernel is once it is loaded: straight code with device functions inlined, registers as slots, and arithmetic
//! as functions over the 32 lanes of a warp.

use crate::ast::{Space, Type, Variable};
use crate::error::Place;
use crate::special::Special;

/// Threads of a warp.
pub(crate) const WARP: usize = 32;
/// A register of a warp: one value a lane, zero above the register's width.
pub(crate) type Lanes = [u64; WARP];
/// Arithmetic over three operands; what is not used is zero.
pub(crate) type Function = fn(&Lanes, &Lanes, &Lanes, &mut Lanes);

/// What an instruction reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Register(u32),
    /// A predicate, inverted.
    Not(u32),
    Value(u64),
    Special(Special),
    /// The address of a variable of the module, by number, and an offset.
    Module(u32, i64),
}

/// Where memory instructions go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) space: Space,
    pub(crate) base: Source,
    pub(crate) offset: i64,
}

/// How lanes are exchanged.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// How votes are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// Which elements a tensor core multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tile {
    F16,
    Bf16,
    Tf32,
}

/// Operations of atomics and warp reductions: old value and operands to new value.
pub(crate) type Update = fn(old: u64, operand: u64, second: u64) -> u64;

/// A product of four warps, of matrices in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub(crate) columns: u32,
    /// bf16, or f16.
    pub(crate) is_bf16: bool,
    pub(crate) sums: Vec<u32>,
    /// Descriptors.
    pub(crate) a: Source,
    pub(crate) b: Source,
    /// Whether the sums are added to.
    pub(crate) is_added: Source,
    pub(crate) is_negated: [bool; 2],
    /// Whether runs in memory lie across the contraction.
    pub(crate) is_across: [bool; 2],
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Compute {
        f: Function,
        dst: u32,
        src: [Source; 3],
    },
    /// The parts of a value, lowest first.
    Unpack {
        dst: Vec<Option<u32>>,
        src: Source,
        bits: u32,
    },
    Pack {
        dst: u32,
        src: Vec<Source>,
        bits: u32,
    },
    Load {
        dst: Vec<Option<u32>>,
        ty: Type,
        at: Address,
        is_strong: bool,
    },
    Store {
        src: Vec<Source>,
        ty: Type,
        at: Address,
        is_strong: bool,
    },
    Atomic {
        dst: Option<u32>,
        ty: Type,
        at: Address,
        update: Update,
        operand: Source,
        second: Source,
        count: u32,
        more: Vec<(Option<u32>, Source)>,
    },
    Branch(u32),
    /// By index.
    BranchTable {
        index: Source,
        targets: Vec<u32>,
    },
    Exit,
    Trap,
    Barrier {
        id: Source,
        count: Option<Source>,
        is_aligned: bool,
        waits: bool,
    },
    WarpBarrier {
        mask: Source,
    },
    Fence,
    Nothing,
    Shuffle {
        how: Shuffle,
        dst: u32,
        found: Option<u32>,
        value: Source,
        lane: Source,
        clamp: Source,
        mask: Source,
    },
    Vote {
        how: Vote,
        dst: u32,
        value: Source,
        mask: Source,
    },
    ActiveMask {
        dst: u32,
    },
    Reduce {
        dst: u32,
        update: Update,
        value: Source,
        mask: Source,
    },
    AsyncCopy {
        to: Address,
        from: Address,
        bytes: u32,
        take: Option<Source>,
    },
    AsyncCommit,
    /// Waits until at most so many groups are under way.
    AsyncWait(u32),
    LoadMatrix {
        dst: Vec<u32>,
        is_transposed: bool,
        at: Address,
    },
    Mma {
        tile: Tile,
        depth: u32,
        d: Vec<u32>,
        a: Vec<Source>,
        b: Vec<Source>,
        c: Vec<Source>,
    },
    ProxyFence,
    Product(Product),
    ProductFence,
    ProductCommit,
    /// Waits until at most so many groups are under way.
    ProductWait(u32),
}

/// Classes that instructions are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Integer,
    Float,
    Move,
    Load,
    Store,
    Atomic,
    Control,
    Barrier,
    Warp,
    Copy,
    Tensor,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) guard: Option<(u32, bool)>,
    pub(crate) class: Class,
    pub(crate) place: Place,
}

/// A loaded kernel.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) steps: Vec<Step>,
    /// Name and type of each register slot.
    pub(crate) registers: Vec<(String, Type)>,
    /// The parameters, with their offsets.
    pub(crate) params: Vec<(Variable, u64)>,
    pub(crate) param_bytes: u64,
    /// Bytes of static shared memory; dynamic memory begins there.
    pub(crate) shared_bytes: u64,
    /// Bytes of local memory of a thread.
    pub(crate) local_bytes: u64,
}

/// Windows of generic addresses, and what stands for "no such address" below them.
pub(crate) const SHARED_WINDOW: u64 = 0x0001_0000_0000_0000;
pub(crate) const LOCAL_WINDOW: u64 = 0x0002_0000_0000_0000;
pub(crate) const PARAM_WINDOW: u64 = 0x0003_0000_0000_0000;
/// Bytes of each of these windows.
pub(crate) const WINDOW_BYTES: u64 = 1 << 32;
