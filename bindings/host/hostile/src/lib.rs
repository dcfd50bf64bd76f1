//! A plugin for tests. `PIPER_HOSTILE` says what is wrong with it when it registers; its passes misbehave when they run.

use std::sync::Arc;

use piper_plugin::Registrar;
use piper_plugin::ir::interfaces::{Fold, Folded, FoldedValue};
use piper_plugin::ir::pass::{OptionDef, PassContext, PassInfo, PassResult};
use piper_plugin::ir::{Arity, Dialect, OpDef, Syntax, TypeConstraint, ValueDef, dialect_ops};
use piper_plugin::schedule::generate::{NewSchedule, Placed};
use piper_plugin::schedule::{Action, Kind};

piper_plugin::export! { name: "hostile", register: register }

dialect_ops! {
    /// Gives its operand.
    ///
    /// Folds to it, if the host finds this plugin's [`Fold`].
    Same = "hostile.same" {
        operands: { x: one(TypeConstraint::Any) },
        results: { y: one(TypeConstraint::Any) },
        traits: [Pure, SameOperandsAndResultType],
        format: "$x attr-dict `:` type($y)",
        interfaces: [Fold(|input| Folded::Result(FoldedValue::Value(input.operand(0))))],
    }
}

/// An operation whose hook of this name panics.
fn hooked(hook: &str) -> Arc<OpDef> {
    let mut def = OpDef::new(format!("hostile.{hook}"));
    def.results.push(ValueDef {
        name: "y".into(),
        arity: Arity::One,
        constraint: TypeConstraint::Any,
    });
    match hook {
        "verify" => def.verify = Some(|module, op, _| panic!("no {}", module.name_text(op))),
        "fold" => def = def.with_interface(Fold(|input| panic!("no {:?}", input.constants))),
        _ => {
            def.syntax = Syntax::Custom {
                parse: |p| panic!("no {:?}", p.token().kind),
                print: |_, op| panic!("no {op:?}"),
            }
        }
    }
    Arc::new(def)
}

fn register(registrar: &mut Registrar) {
    let pass = |name: &'static str, run: fn(&mut PassContext<'_, '_>) -> PassResult| {
        PassInfo::from_fn(name, "Misbehaves", run)
    };
    match std::env::var("PIPER_HOSTILE").as_deref() {
        Ok("panics") => panic!("it does not want to"),
        Ok("twice") => {
            registrar.pass(pass("twin", |_| Ok(()))).pass(pass("twin", |_| Ok(())));
        }
        Ok("taken") => {
            registrar.pass(pass("cse", |_| Ok(())));
        }
        Ok("flag") => {
            registrar.pass(pass("load-plugin", |_| Ok(())));
        }
        Ok("after") => {
            registrar.pass(pass("late", |_| Ok(())).after(&["nosuch"]));
        }
        Ok("anchor") => {
            registrar.pass(pass("nowhere", |_| Ok(())).anchored(Some("module")));
        }
        Ok("schedule") => {
            registrar.schedule(NewSchedule::each("1F1B", "", Placed::Loop, |_, _| Vec::new()));
        }
        Ok("dialect") => {
            registrar.dialect(Dialect { name: "func".into(), ..Dialect::default() });
        }
        Ok("foreign-op") => {
            let ops = vec![OpDef::new("nn.linear").into()];
            registrar.dialect(Dialect { name: "mine".into(), ops, ..Dialect::default() });
        }
        Ok("builtin") => {
            registrar.dialect(Dialect { name: "builtin".into(), ..Dialect::default() });
        }
        _ => {}
    }
    // Rank 0 wants its backwards first, which wait for rank 1, which waits for rank 0.
    let stuck = NewSchedule::each("stuck", "A circle", Placed::Loop, |config, rank| {
        let kinds = if rank == 0 { [Kind::B, Kind::F] } else { [Kind::F, Kind::B] };
        let all = |kind| (0..config.microbatches).map(move |mb| Action::new(rank, kind, mb).into());
        kinds.into_iter().flat_map(all).collect()
    });
    let bursts = NewSchedule::each("bursts", "Panics", Placed::Loop, |config, rank| {
        assert!(rank < config.ranks - 1, "the last rank is too much");
        Vec::new()
    });
    registrar.schedule(stuck).schedule(bursts);
    let times = OptionDef::new("times", "how many operations it adds", Some("1"));
    registrar
        .pass(pass("breaks", |cx| {
            let region = cx.module.regions(cx.op)[0];
            cx.module.add_block(region);
            cx.preserve_all();
            Ok(())
        }))
        .pass(pass("panics", |cx| {
            let words: Vec<String> = (0..100).map(|i| format!("word {i}")).collect();
            assert!(cx.module.top_level().is_empty(), "the {}th {}", words.len(), words[7]);
            Ok(())
        }))
        .pass(pass("grows", |cx| {
            // Memory made here is given back by the host, and the other way round.
            for i in 0..1000 {
                let loc = cx.module.op_loc(cx.op);
                cx.reporter.remark(loc, format!("remark {i}")).note(loc, "x".repeat(i));
            }
            drop(cx.reporter.take());
            let (yes, count) = (cx.ctx().unit(), cx.module.top_level().len());
            for i in 0..count * 100 {
                cx.module.set_attr_by(cx.op, &format!("hostile.mark{i}"), yes);
            }
            Ok(())
        }))
        .pass(pass("folds", |cx| {
            // A plugin sees the interfaces of the host's operations.
            let module = &cx.module;
            let folds =
                |op: &_| module.def(*op).is_some_and(|def| def.interface::<Fold>().is_some());
            let names: Vec<&str> =
                module.walk(cx.op).filter(folds).map(|op| module.name_text(op)).collect();
            let (text, loc) = (names.join(" "), module.op_loc(cx.op));
            cx.remark(loc, format!("folds: {text}"));
            Ok(())
        }))
        .pass(PassInfo::with_options("adds", "Adds attributes", vec![times], |options| {
            let times: usize = options.get("times")?.unwrap_or(1);
            Ok(move |cx: &mut PassContext<'_, '_>| {
                for i in 0..times {
                    let number = cx.ctx().str_attr(&format!("number {i}"));
                    cx.module.set_attr_by(cx.op, &format!("hostile.n{i}"), number);
                }
                Ok(())
            })
        }))
        .dialect(Dialect {
            name: "hostile".into(),
            doc: "For tests.".into(),
            ops: vec![Same::def().into(), hooked("verify"), hooked("fold"), hooked("read")],
            ..Dialect::default()
        });
}
