//! Memory effects: what an operation does besides computing its results.
//!
//! Removing, merging and moving operations is right only if nobody can tell. An operation that reads can be merged with an
//! equal one as long as nothing writes in between; one that allocates can go if nobody uses what it allocated; one that
//! says nothing can only stay. [`Trait::Pure`] is the short form for "nothing at all".

use crate::{Module, Op, Trait, Value};

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum EffectKind {
    Allocate,
    Free,
    Read,
    Write,
}

/// What it is done to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EffectTarget {
    /// The memory a value stands for.
    Value(Value),
    /// Something outside the program's values, by name: `"files"`, `"random state"`.
    Resource(&'static str),
    /// Some memory, it is not known which.
    Anything,
}

/// One effect of one operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Effect {
    pub kind: EffectKind,
    pub target: EffectTarget,
}

impl Effect {
    /// An effect on the memory of a value.
    pub fn on(kind: EffectKind, value: Value) -> Self {
        Self { kind, target: EffectTarget::Value(value) }
    }
}

/// An operation's answer: all its effects. An empty list is as good as [`Trait::Pure`].
#[derive(Clone, Copy, Debug)]
pub enum MemoryEffects {
    /// These.
    Of(fn(&Module, Op) -> Vec<Effect>),
    /// None of its own, but those of the operations in its regions.
    Recursive,
}

/// The effects of an operation and of everything in its regions as far as they count; `None` if they are not known.
pub fn effects(module: &Module, op: Op) -> Option<Vec<Effect>> {
    let mut all = Vec::new();
    each_effect(module, op, &mut |effect| {
        all.push(effect);
        true
    })
    .then_some(all)
}

/// Whether the operation does nothing but compute its results. False if it is not known.
pub fn is_effect_free(module: &Module, op: Op) -> bool {
    module.has_trait(op, Trait::Pure) || each_effect(module, op, &mut |_| false)
}

/// Whether the operation has effects, all known, and all of them reads.
pub fn only_reads(module: &Module, op: Op) -> bool {
    let mut any = false;
    each_effect(module, op, &mut |effect| {
        any = true;
        effect.kind == EffectKind::Read
    }) && any
}

/// Whether nobody would notice if the operation were gone: its results are unused, and it does nothing but read, or
/// allocate what only its own results stand for.
pub fn is_trivially_dead(module: &Module, op: Op) -> bool {
    !module.has_used_result(op) && would_be_dead(module, op)
}

/// Whether the operation could go if its results were unused.
pub(crate) fn would_be_dead(module: &Module, op: Op) -> bool {
    let Some(def) = module.def(op) else { return false };
    if def.has(Trait::Terminator) || def.has(Trait::Symbol) {
        return false;
    }
    if def.has(Trait::Pure) {
        return true;
    }
    let own = |value: Value| module.defining_op(value) == Some(op);
    each_effect(module, op, &mut |effect| match (effect.kind, effect.target) {
        (EffectKind::Read, _) => true,
        (EffectKind::Allocate | EffectKind::Write, EffectTarget::Value(value)) => own(value),
        _ => false,
    })
}

/// Calls `accept` with every effect until it declines. True if all effects are known and accepted.
fn each_effect(module: &Module, root: Op, accept: &mut dyn FnMut(Effect) -> bool) -> bool {
    // An explicit stack: regions may be nested deeper than the call stack allows.
    let mut pending = vec![root];
    while let Some(op) = pending.pop() {
        let Some(def) = module.def(op) else { return false };
        match def.interface::<MemoryEffects>() {
            Some(MemoryEffects::Of(list)) => {
                if !list(module, op).into_iter().all(&mut *accept) {
                    return false;
                }
            }
            Some(MemoryEffects::Recursive) => {
                let blocks = module.regions(op).iter().flat_map(|region| module.blocks(*region));
                pending.extend(blocks.flat_map(|block| module.ops(block)));
            }
            None if def.has(Trait::Pure) => {}
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Builder, Context, Dialect, OpDef, OpState};

    fn dialect() -> Dialect {
        let op = |name: &'static str, traits: &[Trait], effects: Option<MemoryEffects>| {
            let mut def = OpDef::new(name);
            def.traits = traits.to_vec();
            Arc::new(match effects {
                Some(effects) => def.with_interface(effects),
                None => def,
            })
        };
        let alloc =
            MemoryEffects::Of(|m, op| vec![Effect::on(EffectKind::Allocate, m.result(op, 0))]);
        let load = MemoryEffects::Of(|m, op| vec![Effect::on(EffectKind::Read, m.operand(op, 0))]);
        let store =
            MemoryEffects::Of(|m, op| vec![Effect::on(EffectKind::Write, m.operand(op, 0))]);
        Dialect {
            name: "m".into(),
            ops: vec![
                op("m.alloc", &[], Some(alloc)),
                op("m.load", &[], Some(load)),
                op("m.store", &[], Some(store)),
                op("m.pure", &[Trait::Pure], None),
                op("m.region", &[Trait::NoTerminator], Some(MemoryEffects::Recursive)),
                op("m.unknown", &[], None),
            ],
            ..Dialect::default()
        }
    }

    #[test]
    fn what_is_not_known_to_be_harmless_stays() {
        let ctx = Arc::new(Context::new([dialect()]));
        let mut module = Module::new(Arc::clone(&ctx));
        let (body, i32) = (module.body(), ctx.i32());
        let mut b = Builder::at_end(&mut module, body);
        let alloc = b.insert(b.state("m.alloc").results([i32]));
        let memory = b.module.result(alloc, 0);
        let load = b.insert(b.state("m.load").operands([memory]).results([i32]));
        let store = b.insert(b.state("m.store").operands([memory]));
        let pure = b.insert(b.state("m.pure").results([i32]));
        let unknown = b.insert(b.state("m.unknown"));
        let region = b.insert(b.state("m.region").region());
        let inner = b.module.regions(region)[0];
        let block = b.module.add_block(inner);
        assert!(is_effect_free(&module, pure) && !is_effect_free(&module, load));
        assert!(only_reads(&module, load) && !only_reads(&module, pure));
        assert!(!only_reads(&module, store) && !only_reads(&module, unknown));
        assert!(is_trivially_dead(&module, pure) && is_trivially_dead(&module, load));
        assert!(!is_trivially_dead(&module, alloc), "it is used");
        assert!(!is_trivially_dead(&module, store) && !is_trivially_dead(&module, unknown));
        assert_eq!(effects(&module, unknown), None);
        assert!(is_effect_free(&module, region), "an empty region does nothing");
        let state = OpState::new(ctx.op_name("m.store"), ctx.unknown_loc()).operands([memory]);
        let inner = module.create(state);
        module.append(block, inner);
        assert_eq!(effects(&module, region), Some(vec![Effect::on(EffectKind::Write, memory)]));
        assert!(!is_trivially_dead(&module, region));
        module.erase(region);
        module.erase(store);
        module.erase(load);
        assert!(is_trivially_dead(&module, alloc));
    }
}
