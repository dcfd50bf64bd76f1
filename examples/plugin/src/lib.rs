//! Two passes on all-gathers and a schedule, as a plugin: docs/first-pass.md and docs/first-schedule.md walk through it.

use piper_plugin::Registrar;
use piper_plugin::ir::pass::{PassContext, PassInfo, PassResult};
use piper_plugin::schedule::generate::{NewSchedule, Placed};
use piper_plugin::schedule::{Action, Config, Kind, Slot};

piper_plugin::export! { name: "gathers", register: register }

/// What the plugin adds.
pub fn register(registrar: &mut Registrar) {
    registrar.pass(PassInfo::from_fn("print-all-gathers", "Count all-gathers", count));
    registrar.pass(PassInfo::from_fn("hoist-all-gathers", "Start all-gathers early", hoist));
    registrar.schedule(NewSchedule::each("one-by-one", "No overlap", Placed::Loop, one_by_one));
}

/// Every microbatch goes through all stages and back before the next begins: nothing overlaps, and least is kept.
fn one_by_one(config: &Config, rank: u32) -> Vec<Slot> {
    let work = |kind, microbatch| Action::new(rank, kind, microbatch).into();
    (0..config.microbatches).flat_map(|mb| [work(Kind::F, mb), work(Kind::B, mb)]).collect()
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

#[cfg(test)]
mod tests {
    use piper_plugin::test::run;

    #[test]
    fn all_gathers_are_counted() {
        let done = run(super::register, "builtin.module(print-all-gathers)", "module {}");
        assert_eq!(done.messages, ["0 all-gather(s)"]);
    }
}
