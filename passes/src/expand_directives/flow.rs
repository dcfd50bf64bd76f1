//! The stages of a pipeline are numbered in the direction in which data flows.

use piper_dialects::dag;
use piper_dialects::strategy::AnnotateOp;
use piper_ir::pass::{PassFailed, PassResult};
use piper_ir::{Loc, Module, Op, Reporter, Value, ValueDefinition};
use rustc_hash::FxHashMap;

use super::stages::TaggedOp;

/// No forward operation uses what a later stage makes: every schedule would wait for itself.
pub(super) fn check(
    module: &Module,
    ops: &[TaggedOp],
    tag: &str,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> PassResult {
    let stage_of = |op: &TaggedOp| Some((op.op, op.tag(tag)?.parse().ok()?));
    let stages: FxHashMap<Op, u32> =
        ops.iter().filter(|op| is_forward(module, op.op)).filter_map(stage_of).collect();
    for TaggedOp { op, .. } in ops {
        let Some(&stage) = stages.get(op) else { continue };
        let made = module.operands(*op).filter_map(|value| maker(module, value));
        let later = made.filter_map(|op| Some((op, *stages.get(&op)?))).find(|(_, by)| *by > stage);
        if let Some((maker, later)) = later {
            let message = format!(
                "{tag} = {stage} uses what {tag} = {later} makes, so neither can run first"
            );
            reporter
                .error(module.op_loc(*op), message)
                .note(module.op_loc(maker), format!("made here, by {tag} = {later}"))
                .note(loc, format!("the tag \"{tag}\" numbers the stages of a pipeline here"))
                .hint("number the stages in the order in which data flows through them");
            return Err(PassFailed);
        }
    }
    Ok(())
}

fn is_forward(module: &Module, op: Op) -> bool {
    let ctx = module.ctx();
    let pass = match dag::Compute::cast(module, op) {
        Some(node) => Some(node.kind(module)),
        None => module.attr_by(op, "pass"),
    };
    pass.and_then(|pass| pass.as_str(ctx)).is_none_or(|pass| pass == "F")
}

/// The operation that makes a value, inside of annotations.
fn maker(module: &Module, mut value: Value) -> Option<Op> {
    loop {
        let ValueDefinition::Result { op, index } = module.definition(value) else { return None };
        if AnnotateOp::cast(module, op).is_none() {
            return Some(op);
        }
        let end = module.last_op(module.only_block(op)?)?;
        value = module.operands(end).nth(index)?;
    }
}
