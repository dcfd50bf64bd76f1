//! How many bytes of each kind are live, instruction by instruction.
//!
//! A buffer is live from its first access to its last, one that persists always: the lifetimes that `memory-plan` gives memory to.

use piper_dialects::device::{Access, Buffer, accesses, base_buffer, is_instruction};
use piper_ir::{Module, Op, Value};
use rustc_hash::FxHashMap;

use super::Bytes;
use super::roles::{Role, roles};
use crate::memory_plan::buffer_bytes;

/// The bytes of every kind, in the order of [`Role::ALL`].
pub(super) fn bytes(module: &Module, program: Op) -> [Bytes; Role::ALL.len()] {
    let block = module.only_block(program).expect("a program has a block");
    let roles = roles(module, program);
    let instructions: Vec<Op> =
        module.ops(block).filter(|op| is_instruction(module, *op)).collect();
    let mut span: FxHashMap<Value, (usize, usize)> = FxHashMap::default();
    let mut found: Vec<Access> = Vec::new();
    for (at, op) in instructions.iter().enumerate() {
        found.clear();
        accesses(module, *op, &mut found);
        for access in &found {
            let (base, _) = base_buffer(module, access.buffer);
            span.entry(base).or_insert((at, at)).1 = at;
        }
    }
    // What begins and ends at each instruction.
    let mut begins: Vec<Vec<(Role, u64)>> = vec![Vec::new(); instructions.len() + 1];
    let mut ends = begins.clone();
    let last = instructions.len().saturating_sub(1);
    for buffer in module.ops(block).filter_map(|op| Buffer::cast(module, op)) {
        let value = buffer.buffer(module);
        let (Some(&role), Some(size)) =
            (roles.get(&value), buffer_bytes(module.ctx(), module.ty(value)))
        else {
            continue;
        };
        let (from, to) = match span.get(&value) {
            _ if buffer.persistent(module).is_some() => (0, last),
            Some(&span) => span,
            // A home may be declared in what nothing touches.
            None if module.is_used(value) => (0, last),
            None => continue,
        };
        begins[from].push((role, size));
        ends[to].push((role, size));
    }
    let mut now = [0u64; Role::ALL.len()];
    let mut all = [Bytes::default(); Role::ALL.len()];
    let mut peak = 0;
    for (begin, end) in begins.iter().zip(&ends) {
        for (role, size) in begin {
            now[*role as usize] += size;
        }
        for (bytes, now) in all.iter_mut().zip(now) {
            bytes.most = bytes.most.max(now);
        }
        let total: u64 = now.iter().sum();
        if total > peak {
            peak = total;
            all.iter_mut().zip(now).for_each(|(bytes, now)| bytes.at_peak = now);
        }
        for (role, size) in end {
            now[*role as usize] -= size;
        }
    }
    all
}
