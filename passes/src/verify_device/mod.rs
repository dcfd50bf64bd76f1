//! `verify-device`: that the programs of a `device.plan` are safe to run, and that they are the graph they came from.
//!
//! First the plan is made and checked by `plan::verify`: pairing, deadlock, races, lifetimes, dataflow. Its faults are reported
//! at the operations involved, both parties of each. Then, if the `dag.graph` is still there, the correspondence: every node was
//! lowered once on each class of its home, every edge of the graph is implied by what happens before what, and every instruction
//! reads the values that its node has as operands.

mod correspondence;
mod fields;
mod meetings;
mod values;

use piper_ir::pass::{OptionDef, PassFailed, PassInfo, PassResult};
use piper_ir::{Module, Op, Reporter};
use piper_plan as plan;

use crate::emit_plan::{self, Emitted};

/// What may be asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Most bytes a device may use; `None` = any.
    pub peak_bytes: Option<u64>,
    /// How sends end on the machine that is to run the plan.
    pub sends: plan::Sends,
}

/// Checks every `device.plan` of a module.
///
/// # Errors
/// Anything that is not safe, or not what the graph says; faults are reported.
pub fn run(module: &Module, reporter: &mut Reporter<'_>, options: Options) -> PassResult {
    let plans = emit_plan::device_plans(module);
    if plans.is_empty() {
        reporter
            .error(module.op_loc(module.root()), "there is no device.plan to verify")
            .hint("run lower-to-device first");
        return Err(PassFailed);
    }
    let errors = reporter.error_count();
    for device_plan in plans {
        let _ = verified(module, device_plan, reporter, emit_plan::Options::default(), options);
    }
    if reporter.error_count() > errors { Err(PassFailed) } else { Ok(()) }
}

/// The plan of a `device.plan`, checked.
///
/// # Errors
/// As [`run`].
pub fn verified(
    module: &Module,
    device_plan: Op,
    reporter: &mut Reporter<'_>,
    emit: emit_plan::Options<'_>,
    options: Options,
) -> Result<Emitted, PassFailed> {
    let emitted = match emit_plan::emit(module, device_plan, emit) {
        Ok(emitted) => emitted,
        Err(error) => {
            reporter.error(module.op_loc(error.op), error.message);
            return Err(PassFailed);
        }
    };
    let checks = plan::verify::Options { peak_bytes: options.peak_bytes, sends: options.sends };
    let faults = plan::verify_with(&emitted.plan, &checks);
    for fault in &faults {
        report(module, &emitted, device_plan, fault, reporter);
    }
    if !faults.is_empty() || !correspondence::check(module, device_plan, &emitted, reporter) {
        return Err(PassFailed);
    }
    Ok(emitted)
}

/// A fault as a diagnostic at its first place, with a note for each of the others.
fn report(
    module: &Module,
    emitted: &Emitted,
    device_plan: Op,
    fault: &plan::Fault,
    reporter: &mut Reporter<'_>,
) {
    let ctx = module.ctx();
    let mut places = fault.parties.iter().map(|party| {
        let program = party.program.map(|p| p.index());
        let op = program.and_then(|p| match party.instr {
            Some(at) => emitted.instructions.get(p)?.get(at).copied(),
            // What should be there comes from an operation that is there, only elsewhere or with other operands.
            None => {
                let instrs = &emitted.plan.programs.get(p)?.instrs;
                let from = instrs.iter().position(|i| i.source == party.source);
                let op = from.and_then(|at| emitted.instructions.get(p)?.get(at).copied());
                op.or(emitted.programs.get(p).copied())
            }
        });
        let mut text = party.role.clone();
        if let Some(device) = party.device {
            text.push_str(&format!(" on {}", emitted.plan.mesh().render(device)));
        }
        if let (Some(op), Some(program)) = (op, program) {
            let name = module.attr_by(op, "name").and_then(|n| n.as_str(ctx)).unwrap_or("");
            let what = module.name_text(op);
            text.push_str(&format!(
                " by '{what}' {name} of @{}",
                emitted.plan.programs[program].name
            ));
        }
        (module.op_loc(op.unwrap_or(device_plan)), text)
    });
    let message = format!("{}: {}", fault.kind.name(), fault.message);
    match places.next() {
        None => {
            reporter.error(module.op_loc(device_plan), message);
        }
        Some((loc, text)) => {
            let error = reporter.error(loc, message);
            error.note(loc, text);
            for (loc, text) in places {
                error.note(loc, text);
            }
        }
    }
}

/// A number of bytes, with or without a unit.
fn bytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(bytes) => Ok(bytes),
        Err(_) => piper_dialects::strategy::bucket_bytes(text)
            .map_err(|why| format!("option 'memory-limit' of pass 'verify-device': {why}")),
    }
}

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let options = vec![
        OptionDef::new(
            "memory-limit",
            "most bytes a device may use, such as 1073741824 or 80GiB",
            None,
        ),
        OptionDef::new(
            "sends",
            "rendezvous: a send waits for its receive, as in NCCL; buffered: it does not, as in MPI",
            Some("rendezvous"),
        ),
    ];
    let pass = PassInfo::with_options(
        "verify-device",
        "That device programs are safe to run and do what the graph says",
        options,
        |given| {
            let peak_bytes = given.text("memory-limit").map(bytes).transpose()?;
            let sends = match given.one_of("sends", &["rendezvous", "buffered"])? {
                Some("buffered") => plan::Sends::Buffered,
                _ => plan::Sends::Rendezvous,
            };
            let options = Options { peak_bytes, sends };
            Ok(move |cx: &mut piper_ir::pass::PassContext<'_, '_>| {
                run(cx.module, cx.reporter, options)
            })
        },
    );
    vec![pass.describe(
        "Checks pairing, deadlock under NCCL's rules, races, lifetimes, dataflow and peak memory, and the one-to-one \
         correspondence with the `dag.graph`, if it is there.",
    )]
}
