//! Random modules under passes that edit them: threads change nothing.

use proptest::prelude::*;

use super::tests::{Silent, parsed, pipeline_of};
use super::{PassContext, PassInfo, PassManager, PassRegistry, PassResult, RunOptions};
use crate::text::{PrintOptions, print_module};
use crate::{Module, Op, OpState, Reporter, Value};

/// A body: how many operations, and numbers that decide what each is.
fn bodies() -> impl Strategy<Value = Vec<Vec<u32>>> {
    proptest::collection::vec(proptest::collection::vec(any::<u32>(), 0..40), 2..12)
}

/// Text of a module with a module for each body: operations that use earlier values, some with names, attributes,
/// locations, regions, or several blocks that branch.
fn text_of(bodies: &[Vec<u32>]) -> String {
    let mut text = "module {\n".to_owned();
    for (m, body) in bodies.iter().enumerate() {
        if m % 4 == 3 {
            text += &format!("\"t.other\"() {{sym_name = \"o{m}\"}} : () -> ()\n");
        }
        text += &format!("module @m{m} {{\n");
        let mut values: Vec<String> = Vec::new();
        for (i, &choice) in body.iter().enumerate() {
            let name = if choice % 5 == 0 { format!("%v{i}") } else { format!("%{i}") };
            let operands: Vec<&str> = (0..choice % 3)
                .filter_map(|k| {
                    let at = (choice as usize / 7 + k as usize * 3) % values.len().max(1);
                    values.get(at).map(String::as_str)
                })
                .collect();
            let types = vec!["i32"; operands.len()].join(", ");
            let operands = operands.join(", ");
            let attributes =
                if choice % 4 == 1 { format!(" {{k = {choice} : i64}}") } else { String::new() };
            let location =
                if choice % 6 == 2 { format!(" loc(\"f\":{}:1)", i + 1) } else { String::new() };
            match choice % 8 {
                6 => {
                    text += &format!(
                        "\"t.cfg\"({operands}) ({{\n\"t.br\"()[^bb1, ^bb2] : () -> ()\n^bb1:\n\"t.br\"()[^bb2] : () -> ()\n^bb2:\n\"t.end\"() : () -> ()\n}}, {{\n}}){attributes} : ({types}) -> (){location}\n"
                    );
                }
                7 => {
                    text += &format!(
                        "{name} = \"t.region\"({operands}) ({{\n^bb0(%a{i}: i32):\n\"t.use\"(%a{i}) : (i32) -> ()\n}}){attributes} : ({types}) -> i32{location}\n"
                    );
                    values.push(name);
                }
                _ => {
                    text += &format!(
                        "{name} = \"t.op\"({operands}){attributes} : ({types}) -> i32{location}\n"
                    );
                    values.push(name);
                }
            }
        }
        text += "}\n";
    }
    text + "}\n"
}

/// Edits of every kind, decided by what stands there.
fn scramble(cx: &mut PassContext<'_, '_>) -> PassResult {
    let ops: Vec<Op> = cx.module.walk(cx.op).skip(1).collect();
    let (mark, name) = (cx.ctx().name("t.mark"), cx.ctx().op_name("t.made"));
    let mut earlier: Option<Value> = None;
    for (i, op) in ops.into_iter().enumerate() {
        let module = &mut *cx.module;
        let is_op = module.name_text(op) == "t.op";
        match i % 5 {
            0 if is_op && !module.has_used_result(op) => {
                module.erase(op);
                continue;
            }
            1 => module.set_attr(op, mark, module.ctx().int_attr(i as i64)),
            2 if is_op => {
                let made = module
                    .create(OpState::new(name, module.op_loc(op)).results([module.ctx().i32()]));
                module.insert_before(op, made);
                let (old, new) = (module.result(op, 0), module.result(made, 0));
                module.replace_uses(old, new);
            }
            3 if is_op && module.parent_op(op) == Some(cx.op) => {
                if let Some(value) = earlier.filter(|_| i % 2 == 0) {
                    module.set_operands(op, &[value, value]);
                }
            }
            _ => {}
        }
        if is_op && module.parent_op(op) == Some(cx.op) {
            earlier = Some(module.result(op, 0));
        }
    }
    let i = i64::try_from(cx.module.walk(cx.op).count()).unwrap_or(i64::MAX);
    cx.module.set_attr(cx.op, mark, cx.ctx().int_attr(i));
    Ok(())
}

fn printed(text: &str, threads: usize) -> String {
    let mut module = parsed(text);
    let mut registry = PassRegistry::default();
    registry.register([PassInfo::from_fn("scramble", "", scramble).anchored(None)]);
    let mut manager = PassManager::new("builtin.module");
    manager.nest(pipeline_of(&registry, "builtin.module", &["scramble", "scramble"]));
    manager.nest(pipeline_of(&registry, "builtin.module", &["scramble"]));
    let ctx = module.ctx_arc();
    let mut reporter = Reporter::new(&ctx);
    let options = RunOptions { threads, parallel_from: 1, ..RunOptions::default() };
    let result = manager.run(&mut module, &mut reporter, &options, &mut Silent);
    assert!(result.is_ok(), "{:?}", reporter.diagnostics());
    // Uses are part of the picture: passes see their order.
    let uses = |module: &Module| -> Vec<usize> {
        let values = module.walk(module.root()).flat_map(|op| module.results(op));
        values.flat_map(|value| module.uses(value).map(|u| u.index)).collect()
    };
    let options = PrintOptions { generic: true, locations: true, ..PrintOptions::default() };
    format!("{}{:?}", print_module(&module, options), uses(&module))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn edits_on_several_threads_are_those_on_one(bodies in bodies()) {
        let text = text_of(&bodies);
        let one = printed(&text, 1);
        prop_assert_eq!(&printed(&text, 3), &one);
    }
}
