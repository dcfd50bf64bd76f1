//! What a branch passes must be what its blocks take.

use piper_ir::interfaces::Branch;
use piper_ir::{Module, Op, Reporter};

use super::{CondBr, Switch, switch};

/// Every successor takes what is passed to it.
pub(super) fn branch(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc, name) = (module.ctx(), module.op_loc(op), module.name_text(op));
    let Some(interface) = Branch::of(module, op) else { return };
    for (index, &block) in module.successors(op).iter().enumerate() {
        let (values, args) = (interface.values(module, op, index), module.args(block));
        if values.len() != args.len() {
            let (given, taken) = (values.len(), args.len());
            reporter.error(
                loc,
                format!("'{name}' passes {given} value(s) to successor #{index}, whose block takes {taken}"),
            );
            continue;
        }
        for (i, (&value, &arg)) in values.iter().zip(args).enumerate() {
            if module.ty(value) != module.ty(arg) {
                let (given, taken) = (module.ty(value).display(ctx), module.ty(arg).display(ctx));
                reporter.error(
                    loc,
                    format!("'{name}' passes {given} as argument {i} of successor #{index}, which is {taken}"),
                );
            }
        }
    }
}

pub(super) fn cond_br(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    if module.successors(op).len() != 2 {
        let count = module.successors(op).len();
        reporter.error(module.op_loc(op), format!("'cf.cond_br' has two successors, not {count}"));
        return;
    }
    let weights = CondBr(op).branch_weights(module).and_then(|w| w.as_int_array(module.ctx()));
    if let Some(weights) = weights
        && weights.len() != 2
    {
        let count = weights.len();
        reporter.error(module.op_loc(op), format!("'cf.cond_br' takes two weights, not {count}"));
    }
    branch(module, op, reporter);
}

pub(super) fn switch(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let targets = module.successors(op).len().saturating_sub(1);
    let values = Switch(op).case_values(module).and_then(|attr| attr.as_dense(ctx));
    let count = values.map_or(0, |values| values.len());
    if count != targets {
        reporter
            .error(loc, format!("'cf.switch' has {count} case value(s) for {targets} block(s)"));
        return;
    }
    let ty = module.ty(Switch(op).flag(module));
    if let Some(values) = values
        && values.element != ty
    {
        let (flag, cases) = (ty.display(ctx), values.element.display(ctx));
        reporter
            .error(loc, format!("the flag of 'cf.switch' is {flag}, but its cases are {cases}"));
    }
    let segments = Switch(op).case_operand_segments(module).as_int_array(ctx).unwrap_or(&[]);
    let total: i64 = segments.iter().sum();
    let cases = Switch(op).case_operands(module).len() as i64;
    if segments.len() != targets || segments.iter().any(|size| *size < 0) || total != cases {
        reporter.error(
            loc,
            format!("'case_operand_segments' of 'cf.switch' must give the sizes of {targets} group(s) with {cases} value(s) in all"),
        );
        return;
    }
    branch(module, op, reporter);
    let cases = switch::cases(module, op);
    let mut seen = rustc_hash::FxHashSet::default();
    if let Some(twice) = cases.iter().find(|case| !seen.insert(**case)) {
        reporter.error(loc, format!("'cf.switch' has the case {twice} twice"));
    }
}
