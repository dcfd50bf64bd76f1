//! The compiled artefact: what a strategy has become once every decision is taken.
//!
//! A [`Plan`] holds one program per device *class*, the mesh that says which device runs which program, the
//! communicators between them, declarations of the kernels they launch (and usually the machine code), the manifest of
//! parameters and optimizer state, and a table that leads every instruction back to the line it came from. It is all a
//! runtime needs, and it says nothing of how it was made: this crate depends on no other crate of the workspace.
//!
//! * the schema: [`schema`], [`code`], [`mesh`], [`partition`], [`state`], [`scalar`], [`source`];
//! * the definition of initial values: [`init`];
//! * the file format: [`file`](mod@file), through [`Plan::read`] and [`Plan::write`];
//! * the checks that make a plan safe to run: [`verify()`](fn@verify), which the compiler runs last and the loader first.
#![forbid(unsafe_code)]

pub mod code;
pub mod file;
pub mod init;
pub mod mesh;
pub mod partition;
pub mod print;
pub mod scalar;
pub mod schema;
pub mod source;
pub mod state;
pub mod verify;

pub use code::{Code, PTX_ALIGN, Product, Ptx, PtxLaunches, PtxStage, Variant};
pub use file::{ReadError, WriteError};
pub use init::Init;
pub use mesh::{Affine, Axis, AxisId, Comm, CommId, Coords, Mesh, Peer, RowMap};
pub use partition::{Method, Partition};
pub use scalar::{Scalar, ScalarId, ScalarSource};
pub use schema::{
    Buffer, BufferId, Cost, DType, EventId, Input, InputId, Instr, KernelDecl, KernelId, Kind,
    Misc, Mode, Output, OutputId, OutputKind, P2p, Param, Plan, Program, ProgramId, Transfer,
};
pub use source::{Source, SourceId, SourceTable};
pub use state::{Home, Piece, Shard, State, States};
pub use verify::flow::seal;
pub use verify::{Fault, FaultKind, Party, Sends, verify, verify_with};
