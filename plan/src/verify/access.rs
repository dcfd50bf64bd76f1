//! Which bytes an instruction reads and writes.

use crate::schema::{BufferId, KernelDecl, Kind, Mode, Transfer};

/// A use of a buffer by an instruction. Where a buffer is read and written, the read comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which.
    pub buffer: BufferId,
    /// How.
    pub mode: Mode,
}

impl Access {
    /// Whether its contents matter.
    pub fn reads(self) -> bool {
        self.mode != Mode::Write
    }

    /// Whether its contents change.
    pub fn writes(self) -> bool {
        self.mode != Mode::Read
    }
}

/// Appends the accesses of an instruction in operand order. The plan's structure must be valid.
pub fn of(kind: &Kind, kernels: &[KernelDecl], out: &mut Vec<Access>) {
    let read = |buffer| Access { buffer, mode: Mode::Read };
    let write = |buffer| Access { buffer, mode: Mode::Write };
    match kind {
        Kind::Launch { kernel, args, .. } => {
            let params = &kernels[kernel.index()].params;
            out.extend(
                args.iter().zip(params).map(|(&buffer, param)| Access { buffer, mode: param.mode }),
            );
        }
        Kind::Send(p) => out.push(read(p.buf)),
        Kind::Recv(p) => out.push(write(p.buf)),
        Kind::Group(transfers) => out.extend(transfers.iter().map(|t| match t {
            Transfer::Send(p) => read(p.buf),
            Transfer::Recv(p) => write(p.buf),
        })),
        Kind::AllReduce { src, dst, .. } if src == dst => {
            out.push(Access { buffer: *src, mode: Mode::ReadWrite })
        }
        Kind::AllReduce { src, dst, .. }
        | Kind::ReduceScatter { src, dst, .. }
        | Kind::AllGather { src, dst, .. }
        | Kind::AllToAll { src, dst, .. }
        | Kind::Copy { src, dst } => out.extend([read(*src), write(*dst)]),
        Kind::Fill { dst, .. } | Kind::LoadInput { dst, .. } => out.push(write(*dst)),
        Kind::StoreOutput { src, .. } => out.push(read(*src)),
        Kind::Record { .. } | Kind::Wait { .. } => {}
    }
}
