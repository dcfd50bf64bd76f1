//! Two passes on all-gathers, as a plugin: docs/first-pass.md walks through it.

use piper_plugin::Registrar;
use piper_plugin::ir::pass::{PassContext, PassInfo, PassResult};

piper_plugin::export! { name: "gathers", register: register }

/// What the plugin adds.
pub fn register(registrar: &mut Registrar) {
    registrar.pass(PassInfo::from_fn("print-all-gathers", "Count all-gathers", count)).pass(
        PassInfo::from_fn("hoist-all-gathers", "Let all-gathers start as soon as they can", hoist),
    );
}

fn count(cx: &mut PassContext<'_, '_>) -> PassResult {
    let module = &cx.module;
    let gathers = module.walk(cx.op).filter(|op| module.name_text(*op) == "dag.all_gather");
    let (count, loc) = (gathers.count(), cx.module.op_loc(cx.op));
    cx.remark(loc, format!("{count} all-gather(s)"));
    Ok(())
}

/// An all-gather may wait for a node of the graph, so that gathered parameters are kept no longer than needed. Without that
/// it starts as soon as what it gathers is there, which takes memory and hides its time.
fn hoist(cx: &mut PassContext<'_, '_>) -> PassResult {
    let after = cx.ctx().name("after");
    let ops: Vec<_> = cx.module.walk(cx.op).collect();
    for op in ops {
        if cx.module.name_text(op) == "dag.all_gather" && cx.module.remove_attr(op, after).is_some()
        {
            cx.count("hoisted", 1);
        }
    }
    Ok(())
}
