//! Passes that somebody else made: names, and that what they leave is checked whatever they say.

use std::sync::Arc;

use super::tests::Silent;
use super::{Origin, PassInfo, PassManager, PassRegistry, RegisterError, RunOptions};
use crate::text::parse_module;
use crate::{Context, Module, Reporter, SourceFile};

fn parsed(text: &str) -> Module {
    let mut ctx = Context::new([]);
    ctx.allow_unregistered = true;
    let ctx = Arc::new(ctx);
    let source = SourceFile::new("t.pir", text);
    parse_module(&ctx, &source, &mut Reporter::new(&ctx)).expect("text that parses")
}

fn plugin(path: &str) -> Origin {
    Origin::Plugin(path.into())
}

fn foreign(name: String, body: fn(&mut Module)) -> PassInfo {
    let info = PassInfo::from_fn(name, "made at run time", move |cx| {
        body(cx.module);
        // It says that nothing changed, which is not to be believed.
        cx.preserve_all();
        Ok(())
    });
    info.from_origin(plugin("./libmine.so"))
}

#[test]
fn a_name_has_one_owner() {
    let mut registry = PassRegistry::default();
    registry.register([PassInfo::from_fn("cse", "", |_| Ok(()))]);
    let name = |text: &str| text.to_owned();
    assert_eq!(registry.try_register(foreign(name("mine"), |_| ())), Ok(()));
    let message = |info: PassInfo, registry: &mut PassRegistry| {
        registry.try_register(info).expect_err("refused").to_string()
    };
    assert_eq!(
        message(foreign(name("cse"), |_| ()), &mut registry),
        "plugin './libmine.so' registers pass 'cse', which is the name of a pass of Piper itself"
    );
    assert_eq!(
        message(foreign(name("mine"), |_| ()), &mut registry),
        "plugin './libmine.so' registers pass 'mine' twice"
    );
    let other = foreign(name("mine"), |_| ()).from_origin(plugin("./libother.so"));
    assert_eq!(
        message(other, &mut registry),
        "plugin './libother.so' registers pass 'mine', which is the name of a pass of plugin './libmine.so'"
    );
    for bad in ["", "a b", "func.func", "1st", "-x", "a{b}"] {
        let error = registry.try_register(foreign(name(bad), |_| ())).expect_err(bad);
        assert!(matches!(error, RegisterError::BadName { .. }), "{error}");
    }
    assert_eq!(registry.iter().count(), 2);
}

#[test]
fn anchors_are_names_of_operations() {
    let mut registry = PassRegistry::default();
    for bad in ["", "module", "no such.op", ".op", "d.", "1d.op"] {
        let info = foreign("mine".to_owned(), |_| ()).anchored(Some(bad));
        let error = registry.try_register(info).expect_err(bad);
        assert_eq!(
            error.to_string(),
            format!(
                "plugin './libmine.so' registers pass 'mine' to run on '{bad}', which is no name of an operation"
            )
        );
        assert!(error.hint().is_some());
    }
    let info = foreign("mine".to_owned(), |_| ()).anchored(Some("other.op_1"));
    assert_eq!(registry.try_register(info), Ok(()));
}

#[test]
fn what_passes_work_on_is_there() {
    let mut registry = PassRegistry::default();
    registry.register([PassInfo::from_fn("cse", "", |_| Ok(()))]);
    let info =
        |name: &str, after: &str| foreign(name.to_owned(), |_| ()).after(&[after.to_owned()]);
    // In which order they come does not matter.
    registry.try_register(info("early", "late")).expect("a free name");
    let error = registry.check_required().expect_err("there is no 'late'");
    assert_eq!(
        error.to_string(),
        "plugin './libmine.so' registers pass 'early' to run after 'late', but there is no such pass"
    );
    registry.try_register(info("late", "cse")).expect("a free name");
    assert_eq!(registry.check_required(), Ok(()));
    registry.try_register(info("slip", "cze")).expect("a free name");
    let hint = registry.check_required().expect_err("there is no 'cze'").hint();
    assert_eq!(hint.as_deref(), Some("did you mean 'cse'?"));
}

fn run(info: PassInfo, nested: bool) -> (PassManager, bool, Vec<String>) {
    let mut registry = PassRegistry::default();
    let name = info.name.to_string();
    registry.try_register(info.anchored(None)).expect("a free name");
    let mut manager = PassManager::new("builtin.module");
    let pass = registry.build(&name, &[]).expect("known");
    manager.add_registered(pass, registry.get(&name).expect("known"), Vec::new());
    if nested {
        let mut outer = PassManager::new("builtin.module");
        outer.nest(manager);
        manager = outer;
    }
    let mut module = parsed("module { module @a {} module @b {} }");
    let ctx = module.ctx_arc();
    let mut reporter = Reporter::new(&ctx);
    let options = RunOptions { verify_each: false, ..RunOptions::default() };
    let result = manager.run(&mut module, &mut reporter, &options, &mut Silent);
    let said = reporter.take().into_iter().map(|diagnostic| diagnostic.message).collect();
    (manager, result.is_ok(), said)
}

#[test]
fn what_it_leaves_is_verified_always() {
    let breaks = foreign("breaks".to_owned(), |module| {
        let region = module.regions(module.root())[0];
        module.add_block(region);
    });
    let (manager, is_ok, said) = run(breaks, false);
    assert!(!is_ok);
    assert_eq!(
        said.last().expect("a remark"),
        "the errors above are in what pass 'breaks' of plugin './libmine.so' made"
    );
    let failure = manager.failure().expect("it failed");
    assert_eq!(failure.origin, plugin("./libmine.so"));
}

#[test]
fn a_module_that_it_puts_in_the_place_of_another_is_verified_and_passed_on() {
    // With `module`, the root is another operation than without: both ways round.
    let texts = ["\"x.y\"() : () -> ()", "module { \"x.y\"() : () -> () }"];
    for (before, after) in [(texts[0], texts[1]), (texts[1], texts[0])] {
        for breaks in [false, true] {
            let mut registry = PassRegistry::default();
            let replaces = PassInfo::from_fn("replaces", "", move |cx| {
                let source = SourceFile::new("new.pir", after);
                let ctx = cx.module.ctx_arc();
                let parsed = parse_module(&ctx, &source, &mut Reporter::new(&ctx));
                *cx.module = parsed.expect("text that parses");
                if breaks {
                    let region = cx.module.regions(cx.module.root())[0];
                    cx.module.add_block(region);
                }
                Ok(())
            });
            let looks = PassInfo::from_fn("looks", "", |cx| {
                assert_eq!(cx.op, cx.module.root());
                Ok(())
            });
            registry.register([replaces.from_origin(plugin("./libmine.so")), looks]);
            let mut manager = PassManager::new("builtin.module");
            for name in ["replaces", "looks", "replaces"] {
                let pass = registry.build(name, &[]).expect("known");
                manager.add_registered(pass, registry.get(name).expect("known"), Vec::new());
            }
            let mut module = parsed(before);
            let ctx = module.ctx_arc();
            let mut reporter = Reporter::new(&ctx);
            let options = RunOptions::default();
            let result = manager.run(&mut module, &mut reporter, &options, &mut Silent);
            assert_eq!(result.is_err(), breaks, "{before}");
            assert_eq!(reporter.error_count() > 0, breaks, "{before}");
        }
    }
}

#[test]
fn what_it_does_to_its_operation_is_verified_around_it() {
    let info = PassInfo::from_fn("same-name", "", |cx| {
        let name = cx.ctx().str_attr("x");
        cx.module.set_attr_by(cx.op, "sym_name", name);
        Ok(())
    });
    let (_, is_ok, said) = run(info.from_origin(plugin("./libmine.so")), true);
    assert!(!is_ok && said[0].contains("redefinition of symbol"), "{said:?}");
}
