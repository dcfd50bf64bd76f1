//! What the declarations of the device level do not say. That a program is safe to run is checked on the plan made of it.

use piper_ir::{Module, Op, Reporter, Type, TypeData};

use super::{BuiltinKernel, Kernel, Launch, Mode, Partition, Plan, Program, View};
use crate::func::Func;

/// `(elements, element type)` of a buffer's type.
fn flat(module: &Module, ty: Type) -> Option<(i64, Type)> {
    match ty.data(module.ctx()) {
        TypeData::MemRef { shape, element, .. } => Some((*shape.first()?, *element)),
        _ => None,
    }
}

pub(super) fn plan(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mesh = Plan(op).mesh(module).as_symbol(module.ctx()).map(|m| m.text(module.ctx()));
    let Some(mesh) = mesh else { return };
    if module.lookup_nearest(op, mesh).is_none_or(|m| module.name_text(m) != "strategy.mesh") {
        reporter.error(module.op_loc(op), format!("no strategy.mesh named '@{mesh}'"));
    }
}

pub(super) fn program(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    if module.parent_op(op).is_none_or(|p| Plan::cast(module, p).is_none()) {
        reporter
            .error(module.op_loc(op), "'device.program' must stand directly in a 'device.plan'");
    }
    let streams = Program(op).streams(module).as_array(ctx).unwrap_or(&[]);
    if streams.is_empty() || streams.iter().any(|s| s.as_str(ctx).is_none()) {
        reporter
            .error(module.op_loc(op), "the streams of a program are a list of names")
            .hint("write streams [\"compute\", \"comm\"]");
    }
}

pub(super) fn partition(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, view) = (module.ctx(), Partition(op));
    let streams = view.streams(module).as_array(ctx).unwrap_or(&[]);
    if streams.iter().any(|s| s.as_str(ctx).is_none()) {
        reporter
            .error(module.op_loc(op), "the streams of a partition are a list of names")
            .hint("write streams [\"comm\"]");
    }
    for comm in view.comms(module).as_array(ctx).unwrap_or(&[]) {
        let found = comm.as_symbol(ctx).and_then(|name| module.lookup_nearest(op, name.text(ctx)));
        if found.is_none_or(|found| module.name_text(found) != "device.comm") {
            let text = comm.display(ctx);
            reporter.error(module.op_loc(op), format!("{text} is no communicator of the plan"));
        }
    }
    if view.min_ctas(module).is_some() != view.ctas(module).is_some() {
        reporter.error(module.op_loc(op), "CTAs have a least and a most number, or none");
    }
}

/// The program around an instruction, also if it stands in a group.
fn program_of(module: &Module, op: Op) -> Option<Program> {
    let parent = module.parent_op(op)?;
    Program::cast(module, parent).or_else(|| Program::cast(module, module.parent_op(parent)?))
}

pub(super) fn instruction(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let Some(program) = program_of(module, op) else {
        let name = module.name_text(op);
        reporter.error(module.op_loc(op), format!("'{name}' must stand in a 'device.program'"));
        return;
    };
    let stream = module.attr_by(op, "stream");
    let streams = program.streams(module).as_array(ctx).unwrap_or(&[]);
    if let Some(stream) = stream.filter(|s| !streams.contains(s)) {
        let text = stream.as_str(ctx).unwrap_or("");
        let close =
            piper_ir::diag::did_you_mean(text, streams.iter().filter_map(|s| s.as_str(ctx)));
        reporter.error(module.op_loc(op), format!("the program has no stream \"{text}\"")).hint =
            close.map(|c| format!("did you mean \"{c}\"?"));
    }
}

pub(super) fn group(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    instruction(module, op, reporter);
    let Some(body) = module.only_block(op) else { return };
    for inner in module.ops(body) {
        if !matches!(module.name_text(inner), "device.send" | "device.recv") {
            reporter.error(module.op_loc(inner), "a group holds sends and receives only");
        }
    }
}

pub(super) fn view(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let view = View(op);
    let (base, part) =
        (flat(module, module.ty(view.base(module))), flat(module, module.ty(view.view(module))));
    let start = view.start(module).as_int(module.ctx()).unwrap_or(0);
    let (Some((length, element)), Some((part, part_element))) = (base, part) else { return };
    if element != part_element || start.checked_add(part).is_none_or(|end| end > length) {
        let message = format!("elements {start} to {} are not part of {length}", start + part);
        reporter.error(module.op_loc(op), message);
    }
}

pub(super) fn kernel(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, view) = (module.ctx(), Kernel(op));
    let Some(kernel) = view.kernel(module).as_str(ctx).and_then(BuiltinKernel::from_name) else {
        return;
    };
    let Some((inputs, results)) =
        view.signature(module).as_type(ctx).and_then(|t| t.as_function(ctx))
    else {
        reporter.error(module.op_loc(op), "the signature of a kernel is a function type");
        return;
    };
    let parameters = kernel.parameters(ctx, view.hyper(module));
    let count = |writes: bool| {
        parameters.iter().filter(|p| !p.many && (p.mode == Mode::Write) == writes).count()
    };
    // Any number may be none: the sum of no squares is zero.
    let many = parameters.iter().any(|p| p.many);
    let fits = if many { inputs.len() >= count(false) } else { inputs.len() == count(false) };
    if !fits || results.len() != count(true) {
        let names: Vec<&str> = parameters.iter().map(|p| p.name).collect();
        let message = format!("'{}' takes {}", kernel.name(), names.join(", "));
        reporter.error(module.op_loc(op), message);
    }
}

pub(super) fn launch(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    instruction(module, op, reporter);
    let (ctx, launch) = (module.ctx(), Launch(op));
    let Some(name) = launch.callee(module).as_symbol(ctx).map(|n| n.text(ctx)) else { return };
    let Some(target) = module.lookup_nearest(op, name) else {
        reporter.error(module.op_loc(op), format!("no function or kernel '@{name}'"));
        return;
    };
    let types = |values: &mut dyn Iterator<Item = piper_ir::Value>| -> Vec<Type> {
        values.map(|v| module.ty(v)).collect()
    };
    let inputs = types(&mut launch.reads(module).chain(launch.updates(module)));
    let outputs = types(&mut launch.writes(module));
    let agrees = match module.name_text(target) {
        Kernel::NAME => {
            let signature = Kernel(target).signature(module).as_type(ctx);
            signature.and_then(|t| t.as_function(ctx)) == Some((&inputs, &outputs))
        }
        Func::NAME => {
            let (arguments, results) = Func(target).signature(module);
            let same = |buffers: &[Type], tensors: &[Type]| {
                buffers.len() == tensors.len()
                    && buffers.iter().zip(tensors).all(|(&b, &t)| {
                        let elements = t.num_elements(ctx).map(|n| n as i64);
                        flat(module, b) == elements.zip(t.as_tensor(ctx).map(|t| t.1))
                    })
            };
            launch.updates(module).len() == 0 && same(&inputs, arguments) && same(&outputs, results)
        }
        // Whatever other levels define as a kernel checks its own calls.
        _ => true,
    };
    if !agrees {
        reporter
            .error(module.op_loc(op), format!("the buffers do not fit the parameters of '@{name}'"))
            .note(module.op_loc(target), "defined here");
    }
}
