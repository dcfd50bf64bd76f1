//! What the declarations of the kernel level do not say.

use piper_ir::diag::did_you_mean;
use piper_ir::{Module, Op, Reporter, Trait, Type};

use super::{Func, Launch, Return};
use crate::func::verify::{func, list};
use crate::nn;

pub(super) fn kernel(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let before = reporter.error_count();
    func(module, op, reporter);
    if reporter.error_count() > before {
        return;
    }
    for inner in Func(op).fused(module) {
        let name = module.name_text(inner);
        if !module.has_trait(inner, Trait::Pure)
            || !module.regions(inner).is_empty()
            || matches!(name, Launch::NAME | nn::Parameter::NAME)
        {
            reporter
                .error(module.op_loc(inner), format!("'{name}' cannot be part of a kernel"))
                .hint("a kernel holds operations on values alone; launch and call outside of it");
        }
    }
    overwrites(module, op, reporter);
}

fn overwrites(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let Some(list) = Func(op).overwrites(module).and_then(|a| a.as_int_array(ctx)) else { return };
    let (arguments, results) = Func(op).signature(module);
    let (pairs, rest) = list.as_chunks::<2>();
    let mut seen = Vec::new();
    let buffer = |ty: Type| (ty.num_elements(ctx), ty.as_tensor(ctx).map(|(_, element)| element));
    let at = |types: &[Type], index: i64| {
        usize::try_from(index).ok().and_then(|i| types.get(i)).map(|ty| buffer(*ty))
    };
    for &[result, argument] in pairs {
        let (Some(written), Some(replaced)) = (at(results, result), at(arguments, argument)) else {
            let message = format!(
                "'overwrites' names result {result} and argument {argument}, which are not both there"
            );
            reporter.error(module.op_loc(op), message);
            continue;
        };
        if written != replaced {
            let message = format!("result {result} does not fit the buffer of argument {argument}");
            reporter.error(module.op_loc(op), message);
        }
        if seen.iter().any(|[r, a]: &[i64; 2]| *r == result || *a == argument) {
            reporter.error(module.op_loc(op), "'overwrites' names a result or an argument twice");
        }
        seen.push([result, argument]);
    }
    if !rest.is_empty() {
        reporter.error(module.op_loc(op), "'overwrites' lists pairs of a result and an argument");
    }
}

pub(super) fn returned(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let loc = module.op_loc(op);
    let Some(kernel) = module.parent_op(op).filter(|f| Func::cast(module, *f).is_some()) else {
        let message = format!("'{}' must stand directly in a '{}'", Return::NAME, Func::NAME);
        reporter.error(loc, message);
        return;
    };
    let given: Vec<Type> = module.operands(op).map(|v| module.ty(v)).collect();
    let (_, declared) = Func(kernel).signature(module);
    if given != declared {
        let name = module.symbol_name(kernel).unwrap_or_default();
        let (given, wanted) = (list(module, &given), list(module, declared));
        reporter
            .error(loc, format!("returns {given}, but '@{name}' is declared to return {wanted}"))
            .note(module.op_loc(kernel), format!("'@{name}' is declared here"));
    }
}

pub(super) fn launch(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let Some(callee) = Launch(op).callee(module).as_symbol(ctx).map(|name| name.text(ctx)) else {
        return;
    };
    let Some(target) = module.lookup_nearest(op, callee) else {
        let kernels = module
            .top_level()
            .into_iter()
            .filter(|k| Func::cast(module, *k).is_some())
            .filter_map(|k| module.symbol_name(k));
        let hint = did_you_mean(callee, kernels).map(|close| format!("did you mean '@{close}'?"));
        reporter.error(loc, format!("there is no kernel '@{callee}'")).hint = hint;
        return;
    };
    if Func::cast(module, target).is_none() {
        let kind = module.name_text(target);
        reporter
            .error(loc, format!("'@{callee}' is a '{kind}', not a kernel"))
            .note(module.op_loc(target), "defined here");
        return;
    }
    let (inputs, outputs) = Func(target).signature(module);
    let operands: Vec<Type> = module.operands(op).map(|v| module.ty(v)).collect();
    let results: Vec<Type> = module.results(op).map(|v| module.ty(v)).collect();
    for (verb, back, given, wanted) in
        [("passes", "takes", &operands[..], inputs), ("expects", "returns", &results[..], outputs)]
    {
        if given != wanted {
            let (given, wanted) = (list(module, given), list(module, wanted));
            reporter
                .error(loc, format!("the launch {verb} {given}, but '@{callee}' {back} {wanted}"))
                .note(module.op_loc(target), format!("'@{callee}' is defined here"));
        }
    }
}
