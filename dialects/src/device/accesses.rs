//! Which buffers an instruction reads and writes.

use piper_ir::{Module, Op, Value};

use super::{Group, Launch, View};

/// How an instruction uses a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// Only read.
    Read,
    /// Read and written.
    Update,
    /// Written whole, not read before.
    Write,
}

impl Mode {
    /// Whether the old contents matter.
    pub fn reads(self) -> bool {
        self != Mode::Write
    }

    /// Whether the contents change.
    pub fn writes(self) -> bool {
        self != Mode::Read
    }
}

/// A use of a buffer (or view) by an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The buffer or view.
    pub buffer: Value,
    /// How it is used.
    pub mode: Mode,
}

/// Whether an operation of a program is an instruction, not a declaration.
pub fn is_instruction(module: &Module, op: Op) -> bool {
    !matches!(module.name_text(op), "device.buffer" | "device.view" | "device.home")
}

/// The accesses of an instruction, in operand order; those of a group's members together.
pub fn accesses(module: &Module, op: Op, out: &mut Vec<Access>) {
    let mut all = |mode: Mode| {
        out.extend(module.operands(op).map(|buffer| Access { buffer, mode }));
    };
    match module.name_text(op) {
        "device.launch" => {
            let launch = Launch(op);
            out.extend(launch.reads(module).map(|buffer| Access { buffer, mode: Mode::Read }));
            out.extend(launch.updates(module).map(|buffer| Access { buffer, mode: Mode::Update }));
            out.extend(launch.writes(module).map(|buffer| Access { buffer, mode: Mode::Write }));
        }
        "device.send" | "device.store_output" => all(Mode::Read),
        "device.recv" | "device.fill" | "device.load_input" => all(Mode::Write),
        "device.all_reduce" if module.operand(op, 0) == module.operand(op, 1) => {
            out.push(Access { buffer: module.operand(op, 0), mode: Mode::Update });
        }
        "device.all_reduce"
        | "device.reduce_scatter"
        | "device.all_gather"
        | "device.all_to_all"
        | "device.copy" => {
            out.push(Access { buffer: module.operand(op, 0), mode: Mode::Read });
            out.push(Access { buffer: module.operand(op, 1), mode: Mode::Write });
        }
        "device.group" => {
            if let Some(body) = module.first_block(Group(op).body(module)) {
                module.ops(body).for_each(|inner| accesses(module, inner, out));
            }
        }
        _ => {}
    }
}

/// The buffer that a view is part of, and the first element of the view in it. Views of views add up.
pub fn base_buffer(module: &Module, mut buffer: Value) -> (Value, u64) {
    let mut start = 0;
    while let Some(view) = module.defining_op(buffer).and_then(|op| View::cast(module, op)) {
        let from = view.start(module).as_int(module.ctx()).unwrap_or(0);
        start += u64::try_from(from).unwrap_or(0);
        buffer = view.base(module);
    }
    (buffer, start)
}
