//! The passes Piper has, and what each needs to have run before it.
//!
//! Passes are registered by name and made from text. A pass says which others it builds on
//! ([`PassInfo::after`]) and how a module shows that it is no longer needed ([`PassInfo::done_when`]); from these two facts
//! [`implied_pipeline`] finds what stands between a file and the pass a user asked for, so that `piper-opt --pass dualpipe`
//! works on a file that still speaks of annotations and plans.

use piper_ir::Module;
use piper_ir::pass::{PassInfo, PassRegistry};

/// Every pass. A module of passes has `pub fn passes() -> Vec<PassInfo>`, and one line here.
pub fn all() -> PassRegistry {
    let mut registry = PassRegistry::default();
    let modules: [Vec<PassInfo>; 26] = [
        crate::canonicalize::passes(),
        crate::cse::passes(),
        crate::dce::passes(),
        crate::inline::passes(),
        crate::symbol_dce::passes(),
        crate::import_tags::passes(),
        crate::inline_calls::passes(),
        crate::expand_ops::passes(),
        crate::tag::passes(),
        crate::precision::passes(),
        crate::autodiff::passes(),
        crate::expand_directives::passes(),
        crate::build_dag::passes(),
        crate::apply::passes(),
        crate::shard::passes(),
        crate::replicate::passes(),
        crate::hoist_casts::passes(),
        crate::update::passes(),
        crate::overlap::passes(),
        crate::resource::passes(),
        crate::verify_dag::passes(),
        crate::lower_to_device::passes(),
        crate::memory_plan::passes(),
        crate::print_memory::passes(),
        crate::verify_device::passes(),
        crate::kernelize::passes(),
    ];
    for passes in modules {
        registry.register(passes);
    }
    registry
}

/// The passes to run on `module` before `name`, in order: what it builds on, and what these build on, except what the
/// module shows to be done and what is in `already_run`. Empty for an unknown pass.
pub fn implied_pipeline(
    registry: &PassRegistry,
    module: &Module,
    name: &str,
    already_run: &[String],
) -> Vec<String> {
    let mut order = Vec::new();
    let mut seen = vec![name.to_owned()];
    for required in registry.get(name).map_or(&[][..], |info| &info.requires) {
        visit(registry, module, required, already_run, &mut seen, &mut order);
    }
    order
}

fn visit(
    registry: &PassRegistry,
    module: &Module,
    name: &str,
    already_run: &[String],
    seen: &mut Vec<String>,
    order: &mut Vec<String>,
) {
    if seen.iter().chain(already_run).any(|known| known == name) {
        return;
    }
    seen.push(name.to_owned());
    let Some(info) = registry.get(name) else { return };
    if info.is_done.is_some_and(|is_done| is_done(module)) {
        return;
    }
    for required in &info.requires {
        visit(registry, module, required, already_run, seen, order);
    }
    order.push(name.to_owned());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use piper_ir::pass::{PassInfo, PassRegistry};
    use piper_ir::{Context, Module, OpState};

    use super::{all, implied_pipeline};

    fn registry() -> PassRegistry {
        let info = |name| PassInfo::from_fn(name, "", |_| Ok(()));
        let mut registry = PassRegistry::default();
        registry.register([
            info("tags"),
            info("calls").after(&["tags"]),
            info("dag").after(&["calls", "tags"]).done_when(|m| !m.top_level().is_empty()),
            info("pipe").after(&["dag"]),
            info("ring").after(&["ring2"]),
            info("ring2").after(&["ring"]),
        ]);
        registry
    }

    #[test]
    fn what_a_pass_builds_on_comes_first_and_once() {
        let mut module = Module::new(Arc::new(Context::new([])));
        let registry = registry();
        assert_eq!(implied_pipeline(&registry, &module, "pipe", &[]), ["tags", "calls", "dag"]);
        assert_eq!(
            implied_pipeline(&registry, &module, "pipe", &["calls".into()]),
            ["tags", "dag"]
        );
        assert_eq!(implied_pipeline(&registry, &module, "ring", &[]), ["ring2"]);
        assert!(implied_pipeline(&registry, &module, "nothing", &[]).is_empty());

        let (name, loc) = (module.ctx().op_name("builtin.module"), module.ctx().unknown_loc());
        let op = module.create(OpState::new(name, loc).region());
        let body = module.body();
        module.append(body, op);
        assert!(implied_pipeline(&registry, &module, "pipe", &[]).is_empty());
    }

    #[test]
    fn every_registered_pass_is_documented_and_builds_on_known_passes() {
        let registry = all();
        for info in registry.iter() {
            assert!(!info.summary.is_empty(), "pass '{}' has no summary", info.name);
            for required in &info.requires {
                assert!(registry.get(required).is_some(), "'{}' needs '{required}'", info.name);
            }
        }
    }
}
