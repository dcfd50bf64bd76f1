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
fn what_it_does_to_its_operation_is_verified_around_it() {
    let info = PassInfo::from_fn("same-name", "", |cx| {
        let name = cx.ctx().str_attr("x");
        cx.module.set_attr_by(cx.op, "sym_name", name);
        Ok(())
    });
    let (_, is_ok, said) = run(info.from_origin(plugin("./libmine.so")), true);
    assert!(!is_ok && said[0].contains("redefinition of symbol"), "{said:?}");
}
