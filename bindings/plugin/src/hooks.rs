//! Hooks of a plugin's operations, types and attributes, each behind one that catches.
//!
//! A host asks them outside of the plugin's passes, too: when it reads a text, verifies, folds, counts costs or prints. A panic
//! would leave the library as a foreign exception there, which ends the process. So a verifier that panics reports it as
//! an error of the operation, and any other hook's panic goes on as one of the host, with the names of hook, operation and plugin.
//! Hooks are functions without data; the ones behind are found in the operation's definition.

use std::any::{Any, TypeId};
use std::sync::Arc;

use piper_ir::interfaces::{
    ConstantValue, CostModel, Expand, FactorRule, Fold, FoldInput, Folded, InferInput, InferTypes,
    MemoryEffects, Shardable,
};
use piper_ir::interfaces::{Cost, Effect};
use piper_ir::pass::Origin;
use piper_ir::text::{ParseResult, Parser, Printer};
use piper_ir::{
    Attr, Builder, Dialect, Module, Op, OpDef, ParamDef, Reporter, Syntax, Type, Value, Verify,
};

use crate::connect::{caught, guarded_as};

type Parse = fn(&mut Parser<'_>) -> ParseResult<()>;
type Print = fn(&mut Printer<'_>, Op);

/// What stands behind the hooks of an operation.
struct Behind {
    origin: Origin,
    verify: Option<Verify>,
    syntax: Option<(Parse, Print)>,
    fold: Option<Fold>,
    constant: Option<ConstantValue>,
    cost: Option<CostModel>,
    effects: Option<fn(&Module, Op) -> Vec<Effect>>,
    shardable: Option<Shardable>,
    expand: Option<Expand>,
    infer: Option<InferTypes>,
}

/// Puts guards before the hooks of a dialect.
pub(crate) fn guard(dialect: &mut Dialect, origin: &Origin) {
    for def in dialect.ops.iter_mut().filter_map(Arc::get_mut) {
        guard_op(def, origin);
    }
    for (what, params) in [("type '!", &mut dialect.types), ("attribute '#", &mut dialect.attrs)] {
        for param in params {
            *param = guard_param(param.clone(), what, origin);
        }
    }
}

fn guard_op(def: &mut OpDef, origin: &Origin) {
    if def.interface::<Behind>().is_some() {
        return;
    }
    let syntax = match def.syntax {
        Syntax::Custom { parse, print } => Some((parse, print)),
        _ => None,
    };
    let effects = match def.interface::<MemoryEffects>() {
        Some(MemoryEffects::Of(effects)) => Some(*effects),
        _ => None,
    };
    let behind = Behind {
        origin: origin.clone(),
        verify: def.verify,
        syntax,
        fold: def.interface().copied(),
        constant: def.interface().copied(),
        cost: def.interface().copied(),
        effects,
        shardable: def.interface().copied(),
        expand: def.interface().copied(),
        infer: def.interface().copied(),
    };
    def.verify = behind.verify.map(|_| verify as Verify);
    if behind.syntax.is_some() {
        def.syntax = Syntax::Custom { parse, print };
    }
    if behind.fold.is_some() {
        put(def, Fold(fold));
    }
    if behind.constant.is_some() {
        put(def, ConstantValue(constant));
    }
    if behind.cost.is_some() {
        put(def, CostModel(cost));
    }
    if behind.effects.is_some() {
        put(def, MemoryEffects::Of(effects_of));
    }
    if behind.shardable.is_some() {
        put(def, Shardable(shardable));
    }
    if behind.expand.is_some() {
        put(def, Expand(expand));
    }
    if behind.infer.is_some() {
        put(def, InferTypes(infer));
    }
    put(def, behind);
}

/// Attaches an interface, or another in its place. It has its name already, or is for nobody else.
fn put<I: Any + Send + Sync>(def: &mut OpDef, interface: I) {
    def.interfaces.insert(TypeId::of::<I>(), Arc::new(interface));
}

fn guard_param(param: ParamDef, what: &'static str, origin: &Origin) -> ParamDef {
    let named = |hook: &str| format!("{hook} of {what}{}' of {origin}", param.name);
    let (reader, printer) = (named("the reader"), named("the printer"));
    let (name, doc, other) = (param.name.clone(), param.doc.clone(), param.clone());
    ParamDef::new(
        name,
        doc,
        move |p| guarded_as(|| reader.clone(), || param.parse(p)),
        move |p, params| guarded_as(|| printer.clone(), || other.print(p, params)),
    )
}

impl Behind {
    fn of(def: Option<&OpDef>) -> Option<&Self> {
        def?.interface()
    }

    fn named(&self, hook: &str, op: &str) -> String {
        format!("{hook} of '{op}' of {}", self.origin)
    }
}

/// Runs what is behind a hook of an operation; `None` if there is nothing, which nobody makes.
fn run<H: Copy, R>(
    def: Option<&OpDef>,
    what: &str,
    hook: impl FnOnce(&Behind) -> Option<H>,
    ask: impl FnOnce(H) -> R,
) -> Option<R> {
    let behind = Behind::of(def)?;
    let hook = hook(behind)?;
    let name = def.map_or("", |def| &def.name);
    Some(guarded_as(|| behind.named(what, name), || ask(hook)))
}

fn verify(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let Some(behind) = Behind::of(module.def(op)) else { return };
    let Some(verify) = behind.verify else { return };
    if let Err(said) = caught(|| verify(module, op, reporter)) {
        let name = behind.named("the verifier", module.name_text(op));
        let said = said.text();
        reporter
            .error(module.op_loc(op), format!("{name} {said}"))
            .hint(format!("this is a fault of {}", behind.origin));
    }
}

fn parse(p: &mut Parser<'_>) -> ParseResult<()> {
    let (ctx, name) = (p.ctx(), p.state().name);
    let hook = |behind: &Behind| behind.syntax.map(|(parse, _)| parse);
    run(name.def(ctx), "the reader", hook, |parse| parse(p)).unwrap_or(Ok(()))
}

fn print(p: &mut Printer<'_>, op: Op) {
    let hook = |behind: &Behind| behind.syntax.map(|(_, print)| print);
    run(p.module().def(op), "the printer", hook, |print| print(p, op)).unwrap_or_default();
}

fn fold(input: &FoldInput<'_>) -> Folded {
    let def = input.module.def(input.op);
    run(def, "the folder", |b| b.fold, |Fold(fold)| fold(input)).unwrap_or(Folded::No)
}

fn constant(module: &Module, op: Op) -> Option<Attr> {
    let hook = |behind: &Behind| behind.constant;
    run(module.def(op), "the value", hook, |ConstantValue(value)| value(module, op)).flatten()
}

fn cost(module: &Module, op: Op) -> Cost {
    let hook = |behind: &Behind| behind.cost;
    run(module.def(op), "the cost", hook, |CostModel(cost)| cost(module, op)).unwrap_or_default()
}

fn effects_of(module: &Module, op: Op) -> Vec<Effect> {
    let hook = |behind: &Behind| behind.effects;
    run(module.def(op), "the list of effects", hook, |effects| effects(module, op))
        .unwrap_or_default()
}

fn shardable(module: &Module, op: Op) -> FactorRule {
    let hook = |behind: &Behind| behind.shardable;
    run(module.def(op), "the sharding rule", hook, |Shardable(rule)| rule(module, op))
        .unwrap_or_else(|| FactorRule::empty(module.operands(op).len(), module.results(op).len()))
}

fn expand(b: &mut Builder<'_>, op: Op) -> Result<Vec<Value>, String> {
    let ctx = b.module.ctx_arc();
    let def = b.module.name(op).def(&ctx);
    run(def, "the expansion", |behind| behind.expand, |Expand(expand)| expand(b, op))
        .unwrap_or_else(|| Err("it has no expansion".to_owned()))
}

fn infer(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    let hook = |behind: &Behind| behind.infer;
    run(Some(input.def), "the inference of types", hook, |InferTypes(infer)| infer(input))
        .unwrap_or_else(|| Err("it infers no types".to_owned()))
}
