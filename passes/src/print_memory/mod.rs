//! `print-memory`: what the memory of every device is for.
//!
//! ```text
//! @pp0, 2 device(s)        at the peak       most   bytes
//!   parameters                   16384      16384
//!   optimizer state              24576      24576
//!   gradients                     8192       8192
//!   gathered parameters              0       4096
//!   activations                   2048      10240
//!   communication                 1024       4096
//!   workspace                        0        512
//!   gaps                            64
//!   arena                        52288
//! ```
//!
//! Input: `device.program`s whose memory is planned, with the `dag.graph` they were made from. The first column is the moment at which most
//! bytes are live: it adds up to the arena, `gaps` being what alignment and fragmentation cost. The second is the most that there
//! ever is of a kind, which is what the literature's formulas speak of (16 bytes a parameter for Adam in f32, and so on).
//! Kernels' own workspaces are not known before there is code; a plan tells them apart from the arena.

mod live;
mod roles;

use piper_dialects::device::Program;
use piper_ir::pass::{PassContext, PassFailed, PassInfo, PassResult};
use piper_ir::{Module, Op};

pub use roles::Role;

use crate::memory_plan::programs;

/// Bytes of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// At the moment when most bytes are live in all.
    pub at_peak: u64,
    /// At the moment when there are most of this kind.
    pub most: u64,
}

/// The memory of one device of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Symbol of the program, such as `pp1`.
    pub program: String,
    /// Bytes by kind, in the order of [`Role::ALL`].
    pub roles: [Bytes; Role::ALL.len()],
    /// Bytes of the arena.
    pub arena: u64,
}

impl Memory {
    /// The bytes of one kind.
    pub fn of(&self, role: Role) -> Bytes {
        self.roles[role as usize]
    }

    /// What alignment and fragmentation cost at the peak.
    pub fn gaps(&self) -> u64 {
        self.arena - self.roles.iter().map(|bytes| bytes.at_peak).sum::<u64>()
    }
}

/// The memory of a program. `None` if it is not planned.
pub fn memory(module: &Module, program: Op) -> Option<Memory> {
    let arena = Program(program).arena_bytes(module)?.as_int(module.ctx())?;
    let roles = live::bytes(module, program);
    Some(Memory {
        program: module.symbol_name(program)?.to_owned(),
        roles,
        arena: u64::try_from(arena).ok()?,
    })
}

/// The table of one program.
fn table(memory: &Memory, devices: u64) -> String {
    let head = format!("@{}, {devices} device(s)", memory.program);
    let mut out = format!("{head:<28}{:>14}{:>14}  bytes", "at the peak", "most");
    for (role, bytes) in Role::ALL.iter().zip(&memory.roles) {
        out.push_str(&format!("\n  {:<26}{:>14}{:>14}", role.text(), bytes.at_peak, bytes.most));
    }
    out.push_str(&format!("\n  {:<26}{:>14}", "gaps", memory.gaps()));
    out.push_str(&format!("\n  {:<26}{:>14}", "arena", memory.arena));
    out
}

/// How many devices run a program: those along the axes that its slice leaves free.
fn devices(module: &Module, program: Op) -> u64 {
    let ctx = module.ctx();
    let count = || {
        let plan = module.parent_op(program)?;
        let mesh = module.attr_by(plan, "mesh")?.as_symbol(ctx)?;
        let mesh = module.lookup_nearest(plan, mesh.text(ctx))?;
        let names = module.attr_by(mesh, "axes")?.as_array(ctx)?;
        let sizes = module.attr_by(mesh, "sizes")?.as_int_array(ctx)?;
        let slice = Program(program).slice(module).as_dict(ctx)?;
        let is_free = |name: &str| slice.iter().all(|(axis, _)| axis.text(ctx) != name);
        let free =
            names.iter().zip(sizes).filter(|(name, _)| name.as_str(ctx).is_some_and(is_free));
        Some(free.map(|(_, size)| u64::try_from(*size).unwrap_or(1)).product())
    };
    count().unwrap_or(1)
}

fn run_pass(cx: &mut PassContext<'_, '_>) -> PassResult {
    let programs = programs(cx.module);
    if programs.is_empty() {
        let loc = cx.module.op_loc(cx.op);
        cx.reporter
            .error(loc, "there are no device programs whose memory could be printed")
            .hint("run lower-to-device and memory-plan first");
        return Err(PassFailed);
    }
    for program in programs {
        let loc = cx.module.op_loc(program);
        let Some(memory) = memory(cx.module, program) else {
            cx.reporter
                .error(loc, "the memory of this program is not planned")
                .hint("run memory-plan first");
            return Err(PassFailed);
        };
        let table = table(&memory, devices(cx.module, program));
        cx.reporter.remark(loc, table);
    }
    Ok(())
}

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let pass = PassInfo::from_fn(
        "print-memory",
        "What the memory of every device is for: parameters, gradients, optimizer state, activations, communication",
        run_pass,
    );
    vec![pass.after(&[
        "expand-directives", "build-dag", "split-backward", "split", "place", "order", "replicate", "update", "lower-to-device",
        "memory-plan",
    ]).describe(
        "Input: planned `device.program`s. A remark for each, with bytes by kind at the peak of the program (these add up to its \
         arena) and the most there is of each kind at any time. Changes nothing.",
    )]
}
