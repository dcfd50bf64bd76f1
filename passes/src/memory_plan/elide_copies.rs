//! Leaves out copies into parts of flat buffers.
//!
//! A gradient that is copied into its bucket at the end might as well have been accumulated there. That holds if the copy is
//! the last use of its source, the source is no state, and the part is not touched between the source's first use and the copy.
//! Then the source *is* the part, the copy goes, and so does the memory of the source.

use piper_dialects::device::{Access, Buffer, View, accesses, base_buffer, is_instruction};
use piper_ir::{Module, Op, TypeData, Value};
use rustc_hash::FxHashMap;

/// One access of a base buffer: which instruction, and which elements.
#[derive(Clone, Copy)]
struct Touch {
    at: usize,
    from: u64,
    to: u64,
}

/// Leaves out what copies it can.
pub(super) fn run(module: &mut Module, program: Op) {
    let block = module.only_block(program).expect("a program has a block");
    let ops: Vec<Op> = module.ops(block).filter(|op| is_instruction(module, *op)).collect();
    let is_view =
        |value: Value| module.defining_op(value).is_some_and(|d| View::cast(module, d).is_some());
    let fills_part =
        |op: &Op| module.name_text(*op) == "device.copy" && is_view(module.operand(*op, 1));
    if !ops.iter().any(fills_part) {
        return;
    }
    let mut touches: FxHashMap<Value, Vec<Touch>> = FxHashMap::default();
    let mut found: Vec<Access> = Vec::new();
    for (at, &op) in ops.iter().enumerate() {
        found.clear();
        accesses(module, op, &mut found);
        for access in &found {
            let (base, from) = base_buffer(module, access.buffer);
            let to = from + elements(module, access.buffer);
            touches.entry(base).or_default().push(Touch { at, from, to });
        }
    }
    for (at, &op) in ops.iter().enumerate() {
        if module.name_text(op) != "device.copy" {
            continue;
        }
        let (src, dst) = (module.operand(op, 0), module.operand(op, 1));
        let (base, from) = base_buffer(module, dst);
        let is_own = module.defining_op(src).is_some_and(|d| {
            Buffer::cast(module, d).is_some_and(|b| b.persistent(module).is_none())
        });
        let is_part = module.defining_op(dst).is_some_and(|d| View::cast(module, d).is_some());
        let keeps =
            module.defining_op(base).is_some_and(|d| module.attr_by(d, "persistent").is_some());
        if !is_own || !is_part || keeps || base == src || module.ty(src) != module.ty(dst) {
            continue;
        }
        let to = from + elements(module, dst);
        let Some(uses) = touches.get(&src) else { continue };
        let (first, last) = (uses[0].at, uses[uses.len() - 1].at);
        let part_is_free = touches[&base]
            .iter()
            .all(|t| t.at < first || t.at >= at || t.to <= from || t.from >= to);
        let taken_twice = module.uses(src).any(|used| View::cast(module, used.op).is_some());
        if last != at || !part_is_free || taken_twice {
            continue;
        }
        // The part is declared after the source; what uses the source before instructions begin (a home) must come after it.
        let part = module.defining_op(dst).expect("a view is declared");
        let buffer = module.defining_op(src).expect("a buffer is declared");
        let early: Vec<Op> =
            module.uses(src).map(|u| u.op).filter(|op| !is_instruction(module, *op)).collect();
        let moved = touches.remove(&src).unwrap_or_default();
        touches
            .entry(base)
            .or_default()
            .extend(moved.iter().filter(|t| t.at != at).map(|t| Touch { at: t.at, from, to }));
        module.erase(op);
        if module.is_used(src) {
            module.replace_uses(src, dst);
        }
        for home in early {
            module.detach(home);
            match module.next_op(part) {
                Some(next) => module.insert_before(next, home),
                None => module.append(block, home),
            }
        }
        module.erase(buffer);
    }
}

fn elements(module: &Module, buffer: Value) -> u64 {
    match module.ty(buffer).data(module.ctx()) {
        TypeData::MemRef { shape, .. } => {
            shape.first().and_then(|n| u64::try_from(*n).ok()).unwrap_or(0)
        }
        _ => 0,
    }
}
