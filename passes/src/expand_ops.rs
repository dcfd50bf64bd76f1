//! `expand-ops`: operations that say what they are in terms of others are replaced by these.
//!
//! Interpreter and code generation know the operations of `nn`. An operation of somebody else's dialect that has the
//! interface [`Expand`] is trained all the same: it is replaced before anything asks what it computes. One that brings its own
//! backward rule is left for `autodiff`, and replaced after it (`expand-ops{differentiable=true}`), together with what its rule
//! emitted. What takes an operation's place has its location and its attributes that are not declared: tags, and the part of
//! the step that it belongs to.
//!
//! **Input**: any module. **Output**: the same without operations that have the interface, and, unless asked for them, a backward
//! rule. **Failures**: an expansion that fails, has other types than the operation, or leads back to it.
//!
//! ```mlir
//! // before, with mine.swiglu declared as nn.mul of nn.silu of its first operand and its second
//! %y = mine.swiglu %g, %u {tags = {MLP}} : tensor<4x8xf32>
//! // after
//! %s = nn.silu %g {tags = {MLP}} : tensor<4x8xf32>
//! %y = nn.mul %s, %u {tags = {MLP}} : tensor<4x8xf32>
//! ```

use piper_ir::interfaces::{Differentiable, Expand};
use piper_ir::pass::{OptionDef, PassFailed, PassInfo};
use piper_ir::{Attr, Builder, Module, Name, Op, OpDef, Reporter, Value};

/// How deep expansions may stand in expansions.
const DEEPEST: usize = 32;

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    const DIFFERENTIABLE: &str = "differentiable";
    let options = vec![OptionDef {
        name: DIFFERENTIABLE.into(),
        summary: "Whether also those with a backward rule of their own are replaced".into(),
        default: Some("false".into()),
    }];
    let summary = "Replace operations that say what they are in terms of others by these";
    let info = PassInfo::with_options("expand-ops", summary, options, |options| {
        let all = options.get::<bool>(DIFFERENTIABLE)?.unwrap_or(false);
        Ok(move |cx: &mut piper_ir::pass::PassContext<'_, '_>| {
            let count = run(cx.module, all, cx.reporter)?;
            cx.count("operations expanded", count as u64);
            Ok(())
        })
    });
    vec![
        info.describe(
            "Operations with the interface 'Expand' are replaced; those with a backward rule of their own only with \
             'differentiable=true', after 'autodiff'. Locations and tags go to what is put in their place.",
        )
        .after(&["import-tags", "inline-calls"])
        .done_when(|module| expandable(module, false).is_empty()),
    ]
}

/// Operations that are to be replaced.
fn expandable(module: &Module, all: bool) -> Vec<Op> {
    let is_one = |def: &OpDef| {
        def.interface::<Expand>().is_some()
            && (all || !matches!(def.interface(), Some(Differentiable::Rule(_))))
    };
    module.walk(module.root()).filter(|op| module.def(*op).is_some_and(is_one)).collect()
}

/// Replaces operations until none is left; with `all`, also those with a backward rule of their own. Returns how many.
///
/// # Errors
/// As listed at the head of this module; each is reported at the operation it concerns.
pub fn run(
    module: &mut Module,
    all: bool,
    reporter: &mut Reporter<'_>,
) -> Result<usize, PassFailed> {
    let (mut count, mut depth) = (0, 0);
    loop {
        let round = expandable(module, all);
        let Some(&first) = round.first() else { return Ok(count) };
        depth += 1;
        if depth > DEEPEST {
            let name = module.name_text(first);
            reporter
                .error(module.op_loc(first), format!("the expansion of '{name}' does not end"))
                .hint("what an operation expands to must not lead back to it");
            return Err(PassFailed);
        }
        let before = reporter.error_count();
        for op in round {
            count += 1;
            if let Err(reason) = expand(module, op) {
                let message = format!("'{}': {reason}", module.name_text(op));
                reporter.error(module.op_loc(op), message);
            }
        }
        if reporter.error_count() > before {
            return Err(PassFailed);
        }
    }
}

/// Replaces one operation.
fn expand(module: &mut Module, op: Op) -> Result<(), String> {
    let rule = module.def(op).and_then(|def| def.interface::<Expand>()).copied();
    let Some(Expand(rule)) = rule else { return Ok(()) };
    let before = module.prev_op(op);
    let values = rule(&mut Builder::before(module, op), op)?;
    let results: Vec<Value> = module.results(op).collect();
    if values.len() != results.len() {
        let (wanted, given) = (results.len(), values.len());
        return Err(format!("it has {wanted} result(s), but its expansion gives {given}"));
    }
    for (old, new) in results.iter().zip(&values) {
        let (wanted, given) = (module.ty(*old), module.ty(*new));
        if wanted != given {
            let (wanted, given) = (wanted.display(module.ctx()), given.display(module.ctx()));
            return Err(format!(
                "its result has type {wanted}, but that of its expansion is {given}"
            ));
        }
    }
    let (loc, kept): (_, Vec<(Name, Attr)>) = (module.op_loc(op), module.discardable(op).collect());
    let mut made = Vec::new();
    let mut at = module.prev_op(op);
    while at != before
        && let Some(new) = at
    {
        made.push(new);
        at = module.prev_op(new);
    }
    for new in made {
        module.set_loc(new, loc);
        for (name, value) in &kept {
            if module.attr(new, *name).is_none() {
                module.set_attr(new, *name, *value);
            }
        }
    }
    for (old, new) in results.into_iter().zip(values) {
        if module.value_name(new).is_none()
            && let Some(name) = module.value_name(old)
            && module.defining_op(new).is_some()
        {
            module.set_value_name(new, name);
        }
        module.replace_uses(old, new);
    }
    module.erase(op);
    Ok(())
}
