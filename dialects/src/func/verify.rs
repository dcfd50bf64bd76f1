//! What the declarations of functions, returns and calls do not say.

use piper_ir::diag::did_you_mean;
use piper_ir::{Attr, AttrData, Module, Op, Reporter, Trait, Type};

use super::{Call, Func};

pub(crate) fn func(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let name = module.symbol_name(op).unwrap_or_default();
    let ty = Func(op).function_type(module).as_type(ctx);
    let Some((inputs, outputs)) = ty.and_then(|ty| ty.as_function(ctx)) else {
        reporter.error(loc, format!("'@{name}' must have a function type as its 'function_type'"));
        return;
    };
    for (list, what, count) in [
        (Func(op).arg_attrs(module), "argument", inputs.len()),
        (Func(op).res_attrs(module), "result", outputs.len()),
    ] {
        let Some(dicts) = list.and_then(|l: Attr| l.as_array(ctx)) else { continue };
        if dicts.len() != count {
            let given = dicts.len();
            reporter
                .error(loc, format!("'@{name}' has {count} {what}(s), but attributes for {given}"));
        }
        for (i, dict) in dicts.iter().enumerate() {
            let AttrData::Dict(entries) = dict.data(ctx) else {
                reporter.error(loc, format!("attributes of {what} {i} must be a dictionary"));
                continue;
            };
            for (key, _) in entries.iter().filter(|(key, _)| !key.text(ctx).contains('.')) {
                let key = key.text(ctx);
                reporter
                    .error(
                        loc,
                        format!("{what} {i} of '@{name}' has attribute '{key}' without a dialect"),
                    )
                    .hint(format!("the generic form of Piper's own is '{}{key}'", super::PREFIX));
            }
            if what == "argument" && inputs.len() > i {
                argument(module, op, i, inputs[i], reporter);
            }
        }
    }
    super::declared::verify(module, op, reporter);
    let region = module.regions(op)[0];
    let Some(block) = module.first_block(region) else {
        let private =
            Func(op).sym_visibility(module).and_then(|a| a.as_str(ctx)) == Some("private");
        if !private {
            reporter
                .error(loc, format!("'@{name}' has no body but is not private"))
                .hint(format!("declare it as 'func.func private @{name}'"));
        }
        return;
    };
    let args: Vec<Type> = module.args(block).iter().map(|&arg| module.ty(arg)).collect();
    if args != inputs {
        let (has, wants) = (list(module, &args), list(module, inputs));
        reporter.error(
            loc,
            format!("the body of '@{name}' takes {has}, but the function's type says {wants}"),
        );
    }
}

/// What an input may be for.
const ROLES: &[&str] = &["data", "tokens", "targets", "labels"];

/// Piper's own attributes of an argument: a batch dimension that it has, a role that is one.
fn argument(module: &Module, op: Op, i: usize, ty: Type, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let block = module.first_block(module.regions(op)[0]);
    let arg = block.and_then(|block| module.args(block).get(i).copied());
    let name = arg.and_then(|arg| module.value_name(arg));
    let name =
        name.map_or_else(|| format!("argument {i}"), |name| format!("'%{}'", name.text(ctx)));
    let loc = module.op_loc(op);
    if let Some(dim) = super::arg_attr(module, op, i, "batch_dim") {
        let rank = ty.as_tensor(ctx).map_or(0, |(shape, _)| shape.len());
        let known = dim.as_int(ctx).and_then(|dim| usize::try_from(dim).ok());
        if known.is_none_or(|dim| dim >= rank) {
            let (dim, ty) = (dim.display(ctx), ty.display(ctx));
            let error = reporter.error(
                loc,
                format!("batch_dim of {name} must be a dimension of {ty}, but is {dim}"),
            );
            match rank {
                0 => error.hint("only a tensor with dimensions has a batch"),
                _ => error.hint(format!("dimensions are counted from 0 to {}", rank - 1)),
            };
        }
    }
    if let Some(role) = super::arg_attr(module, op, i, "role")
        && role.as_str(ctx).is_none_or(|role| !ROLES.contains(&role))
    {
        let close = did_you_mean(role.as_str(ctx).unwrap_or_default(), ROLES.iter().copied());
        let (role, known) = (role.display(ctx), ROLES.join(", "));
        reporter.error(loc, format!("role of {name} must be one of {known}, but is {role}")).hint =
            close.map(|close| format!("did you mean \"{close}\"?"));
    }
}

pub(super) fn returned(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let loc = module.op_loc(op);
    let Some(func) = module.parent_op(op).filter(|f| module.name_text(*f) == Func::NAME) else {
        reporter.error(loc, "'func.return' must stand directly in a 'func.func'");
        return;
    };
    let given: Vec<Type> = module.operands(op).map(|v| module.ty(v)).collect();
    let (_, declared) = Func(func).signature(module);
    if given != declared {
        let name = module.symbol_name(func).unwrap_or_default();
        let (given, wanted) = (list(module, &given), list(module, declared));
        reporter
            .error(loc, format!("returns {given}, but '@{name}' is declared to return {wanted}"))
            .note(module.op_loc(func), format!("'@{name}' is declared here"));
    }
}

/// After so many errors no more time is spent on finding what was meant.
const SEARCHED_ERRORS: usize = 16;

pub(super) fn call(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let Some(callee) = Call(op).callee(module).as_symbol(ctx).map(|name| name.text(ctx)) else {
        return;
    };
    let Some(target) = module.lookup_nearest(op, callee) else {
        let mut names = Vec::new();
        // What was meant is looked for at the first errors only: it takes as long as there are functions.
        let mut at = (reporter.error_count() < SEARCHED_ERRORS).then_some(op);
        while let Some(scope) = at {
            if module.has_trait(scope, Trait::SymbolTable)
                && let Some(block) = module.only_block(scope)
            {
                names.extend(
                    module
                        .ops(block)
                        .filter(|f| module.name_text(*f) == Func::NAME)
                        .filter_map(|f| module.symbol_name(f)),
                );
            }
            at = module.parent_op(scope);
        }
        let hint = did_you_mean(callee, names).map(|close| format!("did you mean '@{close}'?"));
        reporter.error(loc, format!("there is no function '@{callee}'")).hint = hint;
        return;
    };
    if module.name_text(target) != Func::NAME {
        let kind = module.name_text(target);
        reporter
            .error(loc, format!("'@{callee}' is a '{kind}', not a function"))
            .note(module.op_loc(target), "defined here");
        return;
    }
    let (inputs, outputs) = Func(target).signature(module);
    let operands: Vec<Type> = module.operands(op).map(|v| module.ty(v)).collect();
    let results: Vec<Type> = module.results(op).map(|v| module.ty(v)).collect();
    for (verb, given, wanted) in
        [("passes", &operands[..], inputs), ("expects", &results[..], outputs)]
    {
        if given != wanted {
            let back = if verb == "passes" { "takes" } else { "returns" };
            let (given, wanted) = (list(module, given), list(module, wanted));
            reporter
                .error(loc, format!("the call {verb} {given}, but '@{callee}' {back} {wanted}"))
                .note(module.op_loc(target), format!("'@{callee}' is defined here"));
        }
    }
}

/// `(tensor<4xf32>, i32)`
pub(crate) fn list(module: &Module, types: &[Type]) -> String {
    let texts: Vec<String> = types.iter().map(|ty| ty.display(module.ctx())).collect();
    format!("({})", texts.join(", "))
}
