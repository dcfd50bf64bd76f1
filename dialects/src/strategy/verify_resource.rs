//! Verifiers of `resource`, `overlap` and `sm_partition`. Whether a device can be divided so is asked when they are applied.

use piper_ir::{Attr, Module, Op, Reporter};

use super::ops::*;
use super::resource::{partition_options, version_of};
use super::verify::{axis, plan_mesh};
use super::{Work, filter_of};

pub(super) fn resource(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let view = ResourceOp(op);
    plan_mesh(module, op, reporter);
    let forms = [view.stream(module), view.partition(module), view.interleave(module)];
    if forms.iter().flatten().count() != 1 {
        reporter
            .error(module.op_loc(op), "a resource is one of 'stream', 'partition' or 'interleave'")
            .hint("write three directives for all three");
        return;
    }
    let partition = view.partition(module).is_some();
    let foreign = ["work", "over", "filter"].into_iter().filter(|_| view.stream(module).is_none());
    let options = partition_options(module, op).into_iter().map(|option| option.0);
    let foreign = foreign.chain(options.filter(|_| !partition));
    if let Some(foreign) = foreign.into_iter().find(|name| module.attr_by(op, name).is_some()) {
        reporter
            .error(module.op_loc(op), format!("this form of resource has no option '{foreign}'"));
        return;
    }
    if let Some(over) = view.interleave(module) {
        axis(module, op, over, reporter);
    } else if partition {
        share(module, op, "sms", reporter);
    } else {
        stream(module, op, reporter);
    }
}

fn stream(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, view, loc) = (module.ctx(), ResourceOp(op), module.op_loc(op));
    name(module, op, "a stream", view.stream(module), reporter);
    let work = view.work(module).and_then(|w| w.as_array(ctx)).unwrap_or_default();
    let kinds: Option<Vec<Work>> = work.iter().map(|w| Work::named(w.as_str(ctx)?)).collect();
    let Some(kinds) = kinds.filter(|kinds| !kinds.is_empty()) else {
        let known: Vec<&str> = Work::ALL.iter().map(|w| w.name()).collect();
        reporter
            .error(loc, "a stream is for work of some kinds")
            .hint(format!("kinds: {}", known.join(", ")));
        return;
    };
    if let Some(over) = view.over(module) {
        axis(module, op, over, reporter);
        if kinds.contains(&Work::Compute) {
            reporter
                .error(loc, "'over' is for communication, but the stream is for compute nodes too")
                .hint("select compute nodes by a filter, as in {PART = mlp}");
        }
    }
    if let Some(filter) = view.filter(module)
        && filter_of(ctx, filter).is_some()
        && kinds.iter().any(|kind| *kind != Work::Compute)
    {
        reporter
            .error(loc, "a filter selects compute nodes, but the stream is for communication too")
            .hint("write a directive for each");
    }
}

pub(super) fn overlap(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let view = OverlapOp(op);
    axis(module, op, view.axis(module), reporter);
    if let Some(stream) = view.stream(module) {
        name(module, op, "a stream", Some(stream), reporter);
    }
}

pub(super) fn sm_partition(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    plan_mesh(module, op, reporter);
    share(module, op, "comm", reporter);
}

fn name(module: &Module, op: Op, what: &str, text: Option<Attr>, reporter: &mut Reporter<'_>) {
    if text.and_then(|t| t.as_str(module.ctx())).is_none_or(str::is_empty) {
        reporter.error(module.op_loc(op), format!("{what} has a name"));
    }
}

/// The options of a partition. `size` is the one that says how many multiprocessors.
fn share(module: &Module, op: Op, size: &str, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let get = |name: &str| module.attr_by(op, name);
    if size == "sms" {
        name(module, op, "a partition", get("partition"), reporter);
    }
    let arch = get("arch").and_then(|a| a.as_str(ctx)).unwrap_or_default();
    if arch.is_empty() {
        reporter
            .error(loc, "a partition is of a device of some architecture")
            .hint("add arch = \"sm_90\", or arch = \"cpu\" for workers");
        return;
    }
    let wanted = if arch == "cpu" && size == "sms" { "workers" } else { size };
    if let Some(other) = ["sms", "workers"].into_iter().find(|n| *n != wanted && get(n).is_some()) {
        reporter
            .error(loc, format!("a partition of \"{arch}\" has no '{other}'"))
            .hint(format!("write {wanted} = ..."));
        return;
    }
    if get(wanted).is_none() {
        reporter.error(loc, format!("the partition lacks '{wanted}'"));
        return;
    }
    for option in [wanted, "ctas", "min_ctas", "total"] {
        let Some(value) = get(option) else { continue };
        if !value.as_int(ctx).is_some_and(|n| (1..=1 << 20).contains(&n)) {
            let shown = value.display(ctx);
            reporter.error(loc, format!("'{option}' must be at least 1, but is {shown}"));
        }
    }
    for option in ["method", "ctas", "min_ctas", "nccl"].into_iter().filter(|_| arch == "cpu") {
        if get(option).is_some() {
            reporter.error(loc, format!("workers of a CPU have no '{option}'"));
        }
    }
    if let Some(nccl) = get("nccl")
        && nccl.as_str(ctx).and_then(version_of).is_none()
    {
        reporter
            .error(loc, format!("'nccl' is a version such as \"2.21\", not {}", nccl.display(ctx)));
    }
    let streams = get("streams").and_then(|s| s.as_array(ctx)).unwrap_or_default();
    let names: Option<Vec<&str>> = streams.iter().map(|s| s.as_str(ctx)).collect();
    match names {
        Some(names) if !names.is_empty() => {
            let twice = names.iter().enumerate().find(|(i, n)| names[..*i].contains(n));
            if let Some((_, name)) = twice {
                reporter.error(loc, format!("stream \"{name}\" stands twice"));
            }
        }
        _ => {
            reporter
                .error(loc, "a partition has streams that run on it")
                .hint("add streams = [\"comm\"]");
        }
    }
}
