//! Programs and instructions.
//!
//! A device runs **one issue-ordered list** of instructions with the stream as a field, because that is how NCCL and
//! CUDA behave: the order in which a device *issues* its communication is what has to agree between devices, whichever
//! stream each piece is on. Streams only say what may overlap; [`Kind::Record`] and [`Kind::Wait`] order them.
//!
//! Buffers are byte ranges of one arena per device. Two buffers may overlap: one may be a view of the other (a parameter
//! inside a flat bucket), or they may take turns in the same memory; [`verify`](crate::verify()) tells these from races.

use crate::code::Code;
use crate::mesh::{Affine, Axis, Comm, CommId, Coords, Mesh, Peer, RowMap};
use crate::partition::Partition;
use crate::scalar::{Scalar, ScalarId};
use crate::source::{SourceId, SourceTable};
use crate::state::{Home, States};
use crate::verify::flow::Flow;
use serde::{Deserialize, Serialize};

/// Defines a `u32` handle into one of the plan's tables.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub struct $name(pub u32);
        impl $name {
            /// The position in the table this handle points into.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(crate) use handle;

handle!(
    /// A program of [`Plan::programs`].
    ProgramId
);
handle!(
    /// A buffer of its program's [`Program::buffers`].
    BufferId
);
handle!(
    /// An event of its program, below [`Program::events`].
    EventId
);
handle!(
    /// A kernel of [`Plan::kernels`].
    KernelId
);
handle!(
    /// An input of [`Plan::inputs`].
    InputId
);
handle!(
    /// An output of [`Plan::outputs`].
    OutputId
);

/// A compiled training (or inference) step: programs for all devices of a mesh, and everything they refer to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What a person calls it; the `strategy.plan`'s name.
    pub name: String,
    /// The axes, major to minor. Devices are numbered row-major over them.
    pub mesh: Vec<Axis>,
    /// One program per device class.
    pub programs: Vec<Program>,
    /// For each device (row-major mesh coordinate) the program that it runs. Length = product of the axis sizes.
    pub device_program: Vec<ProgramId>,
    /// Communicators and point-to-point channels.
    pub comms: Vec<Comm>,
    /// Parts of every device, for streams and communicators; none if everything shares all of it.
    pub partitions: Vec<Partition>,
    /// Kernels that programs launch.
    pub kernels: Vec<KernelDecl>,
    /// What the data source supplies, in global shapes.
    pub inputs: Vec<Input>,
    /// What a step reports.
    pub outputs: Vec<Output>,
    /// Values the runtime computes anew each step and passes to kernels.
    pub scalars: Vec<Scalar>,
    /// Parameters and optimizer state: where they live and how they begin.
    pub states: States,
    /// The kernels' code, if the plan carries it.
    pub code: Code,
    /// From instructions back to source lines.
    pub sources: SourceTable,
    /// Facts for people and tools that no device acts on.
    pub misc: Misc,
}

impl Plan {
    /// The mesh with its coordinate arithmetic.
    pub fn mesh(&self) -> Mesh<'_> {
        Mesh::new(&self.mesh)
    }

    /// Number of devices: the product of the axis sizes.
    pub fn devices(&self) -> usize {
        self.mesh().devices()
    }

    /// The partition that a stream of this name runs on, as an index of [`Plan::partitions`]; `None` if it may use the whole device.
    pub fn partition_of(&self, stream: &str) -> Option<usize> {
        self.partitions.iter().position(|p| p.streams.iter().any(|name| name == stream))
    }
}

/// Facts for people and tools that no device acts on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Misc {
    /// Tokens (or samples) that one step consumes over the whole mesh; 0 = unknown. For throughput figures.
    pub tokens_per_step: u64,
    /// The target triple that [`Plan::code`] is for; empty if it runs anywhere.
    pub target: String,
    /// Per program the dataflow it was compiled to have, or empty; see [`flow`](crate::verify::flow).
    pub flows: Vec<Flow>,
    /// Free key/value pairs, e.g. the compiler's version and the pipeline that ran.
    pub notes: Vec<(String, String)>,
}

/// Element type of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DType {
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// Signed 32-bit integer (tokens, counts).
    I32,
    /// bfloat16.
    Bf16,
}

impl DType {
    /// Bytes of one element.
    pub fn size(self) -> u64 {
        match self {
            DType::F32 | DType::I32 => 4,
            DType::F64 => 8,
            DType::Bf16 => 2,
        }
    }

    /// The name used in listings and diagnostics: `f32`, `f64`, `i32`, `bf16`.
    pub fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::I32 => "i32",
            DType::Bf16 => "bf16",
        }
    }
}

/// The program of one device class, shared by all its replicas.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Symbol name, e.g. `pp1`.
    pub name: String,
    /// The slice of the mesh it is for; axes not named are free.
    pub coord: Coords,
    /// Bytes of the arena that the buffers lie in.
    pub arena_bytes: u64,
    /// Bytes of kernel workspace, apart from the arena: the largest [`KernelDecl::workspace_bytes`] it launches.
    pub workspace_bytes: u64,
    /// Byte ranges of the arena.
    pub buffers: Vec<Buffer>,
    /// Names of the streams; [`Instr::stream`] indexes this.
    pub streams: Vec<String>,
    /// Number of events.
    pub events: u32,
    /// The instructions in issue order.
    pub instrs: Vec<Instr>,
}

impl Program {
    /// The buffer behind a handle. Panics if the handle is out of range, which [`verify`](crate::verify()) rejects.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.index()]
    }

    /// Highest byte any buffer reaches, which is the peak memory of the arena.
    pub fn peak_bytes(&self) -> u64 {
        self.buffers.iter().map(|b| b.offset + b.bytes()).max().unwrap_or(0)
    }
}

/// A byte range of the arena, seen as elements of one type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// For listings and diagnostics.
    pub name: String,
    /// First byte in the arena; a multiple of the element size.
    pub offset: u64,
    /// Number of elements.
    pub elems: u64,
    /// Element type.
    pub dtype: DType,
    /// Holds its contents from one step to the next: it is initialised before the first step and live after each.
    pub persistent: bool,
}

impl Buffer {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.elems.saturating_mul(self.dtype.size())
    }
}

/// One instruction in a device's issue order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instr {
    /// The stream it is put on, an index of [`Program::streams`].
    pub stream: u16,
    /// Where it comes from.
    pub source: SourceId,
    /// A name of its own, e.g. `f1.mb3`, where the source's is not specific enough (one op, many microbatches).
    pub name: Option<String>,
    /// What it does.
    pub kind: Kind,
}

impl Instr {
    /// An instruction without a name of its own.
    pub fn new(stream: u16, source: SourceId, kind: Kind) -> Instr {
        Instr { stream, source, name: None, kind }
    }

    /// The same instruction with a name of its own.
    pub fn named(self, name: impl Into<String>) -> Instr {
        Instr { name: Some(name.into()), ..self }
    }
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Kind {
    /// Runs a kernel over whole buffers. `args` correspond to [`KernelDecl::params`], `scalars` to its scalars.
    Launch {
        /// Which kernel.
        kernel: KernelId,
        /// One buffer per parameter, in order.
        args: Vec<BufferId>,
        /// One runtime scalar per scalar parameter, in order.
        scalars: Vec<ScalarId>,
    },
    /// Sends a buffer to a peer. Completes only together with the matching receive (rendezvous).
    Send(P2p),
    /// Receives into a buffer from a peer.
    Recv(P2p),
    /// Sends and receives that start together and complete together: one vertex of the order.
    Group(Vec<Transfer>),
    /// `dst` on every member = sum over members of `src`. Floating-point (bf16 is summed in f64 and rounded once); `src` and `dst` have equal size and may be the same buffer.
    AllReduce {
        /// This device's contribution.
        src: BufferId,
        /// The sum.
        dst: BufferId,
        /// Over whom.
        comm: CommId,
    },
    /// `dst` on member `k` of `n` = the `k`-th of `n` equal parts of the sum of `src`. `src` has `n` times the elements of
    /// `dst`. `dst` may be exactly the device's own part of `src`, as NCCL allows.
    ReduceScatter {
        /// This device's contribution, all parts.
        src: BufferId,
        /// The part that this device receives.
        dst: BufferId,
        /// Over whom.
        comm: CommId,
    },
    /// `dst` = the members' `src` concatenated in member order. `dst` has `n` times the elements of `src`. `src` may be exactly
    /// the device's own part of `dst`.
    AllGather {
        /// This device's part.
        src: BufferId,
        /// All parts.
        dst: BufferId,
        /// Over whom.
        comm: CommId,
    },
    /// Member `k`'s `j`-th of `n` equal parts becomes member `j`'s `k`-th. `src` and `dst` have equal size and do not overlap.
    ///
    /// A part need not be contiguous: `src` is `src_runs` x `n` x run, part `j` being run `j` of each row, and `dst` likewise
    /// with `dst_runs`. So the axis that is divided and the one that is put together may be any of the tensor's.
    AllToAll {
        /// This device's parts, one for each member.
        src: BufferId,
        /// The parts that the members have for this device.
        dst: BufferId,
        /// Over whom.
        comm: CommId,
        /// Contiguous runs of a part in `src`.
        src_runs: u64,
        /// Contiguous runs of a part in `dst`.
        dst_runs: u64,
    },
    /// Copies bytes between buffers of equal size.
    Copy {
        /// From.
        src: BufferId,
        /// To.
        dst: BufferId,
    },
    /// Sets every element to a value, converted to the buffer's type.
    Fill {
        /// What is filled.
        dst: BufferId,
        /// With what.
        value: f64,
    },
    /// Reads rows of a global input of this step.
    LoadInput {
        /// Which input.
        input: InputId,
        /// Which slice of dimension 0.
        rows: RowMap,
        /// Where to: `rows.rows` times the elements of a row.
        dst: BufferId,
    },
    /// Contributes to an output of this step; see [`OutputKind`] for what `part` means.
    StoreOutput {
        /// Which output.
        output: OutputId,
        /// The contribution.
        src: BufferId,
        /// Its position among the contributions, as a function of the device's coordinate.
        part: Affine,
    },
    /// Marks a point of this stream. An event is recorded once a step.
    Record {
        /// The event.
        event: EventId,
    },
    /// Holds this stream until the event, recorded earlier in issue order, is reached.
    Wait {
        /// The event.
        event: EventId,
    },
}

impl Kind {
    /// The mnemonic used in listings.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            Kind::Launch { .. } => "launch",
            Kind::Send(_) => "send",
            Kind::Recv(_) => "recv",
            Kind::Group(_) => "group",
            Kind::AllReduce { .. } => "all_reduce",
            Kind::ReduceScatter { .. } => "reduce_scatter",
            Kind::AllGather { .. } => "all_gather",
            Kind::AllToAll { .. } => "all_to_all",
            Kind::Copy { .. } => "copy",
            Kind::Fill { .. } => "fill",
            Kind::LoadInput { .. } => "load_input",
            Kind::StoreOutput { .. } => "store_output",
            Kind::Record { .. } => "record",
            Kind::Wait { .. } => "wait",
        }
    }
}

/// One side of a point-to-point transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct P2p {
    /// What is sent, or where it is received.
    pub buf: BufferId,
    /// The other device, relative to this one.
    pub peer: Peer,
    /// The channel. Sends and receives pair **by position** per (channel, sender, receiver).
    pub comm: CommId,
    /// Identity of the value. Never transmitted; the verifier demands that positional pairs agree in it, so that swapping
    /// two sends of equal shape is an error instead of a different training run.
    pub tag: Option<u32>,
}

/// A member of a [`Kind::Group`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transfer {
    /// A send.
    Send(P2p),
    /// A receive.
    Recv(P2p),
}

impl Transfer {
    /// The side of the transfer, whichever it is.
    pub fn p2p(&self) -> &P2p {
        match self {
            Transfer::Send(p) | Transfer::Recv(p) => p,
        }
    }
}

/// How a kernel uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Only read.
    Read,
    /// Every element written, none read before.
    Write,
    /// Read and written (accumulation, in-place update).
    ReadWrite,
}

/// A buffer parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// How it is used.
    pub mode: Mode,
    /// Element type.
    pub dtype: DType,
    /// Number of elements.
    pub elems: u64,
}

/// A kernel as its callers see it.
///
/// In a shared object it is `unsafe extern "C" fn(bufs: *const *mut u8, scalars: *const f64, workspace: *mut u8)`, where
/// `bufs` has one pointer per parameter, `scalars` one value per scalar, and `workspace` points to `workspace_bytes` bytes
/// aligned to 64 whose contents are unspecified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelDecl {
    /// Symbol name in the code; also how an interpreter finds it.
    pub symbol: String,
    /// Buffer parameters.
    pub params: Vec<Param>,
    /// Number of scalar parameters.
    pub scalars: u32,
    /// Bytes of workspace it needs.
    pub workspace_bytes: u64,
    /// What a launch costs, if anybody knows. No runtime reads it; simulations need it.
    pub cost: Option<Cost>,
}

/// What one launch of a kernel costs, on whatever device it runs. All numbers are finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Floating-point operations; a multiply-add is two.
    pub flops: f64,
    /// Bytes moved between memory and cores.
    pub bytes: f64,
    /// Measured or declared time, in seconds. Where it is known it stands for the other two.
    pub seconds: Option<f64>,
}

impl Cost {
    /// The number that no cost can have, with its name; `None` if all are finite and not negative.
    pub fn fault(&self) -> Option<(&'static str, f64)> {
        let named =
            [("flops", Some(self.flops)), ("bytes", Some(self.bytes)), ("seconds", self.seconds)];
        named
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .find(|(_, value)| !value.is_finite() || *value < 0.0)
    }
}

/// A tensor that the data source supplies each step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its name at the model level, e.g. `tokens`.
    pub name: String,
    /// Global shape; dimension 0 is the batch.
    pub shape: Vec<u64>,
    /// Element type.
    pub dtype: DType,
}

impl Input {
    /// Elements of one row (all dimensions but the first).
    pub fn row_elems(&self) -> u64 {
        self.shape.iter().skip(1).product()
    }
}

/// Something that a step reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Its name, e.g. `loss` or `grad.wte`.
    pub name: String,
    /// What it is made of.
    pub kind: OutputKind,
}

/// How contributions become an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OutputKind {
    /// A number: the sum of all one-element contributions of the step (f32 or f64), added as f64 over a fixed balanced
    /// binary tree in the order of `part`, so the result does not depend on the schedule. Contributions with equal `part`
    /// from several devices are replicas of one value: counted once, and an error unless bitwise equal.
    Scalar,
    /// A logical tensor, put together from its homes; a `StoreOutput` names the buffer of one home. `part` is not used.
    Tensor {
        /// Logical shape.
        shape: Vec<u64>,
        /// Element type.
        dtype: DType,
        /// Where its elements lie when stored.
        homes: Vec<Home>,
    },
}
