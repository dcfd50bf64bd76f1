//! `tag`: further tags for what filters select.
//!
//! Input: a plan's function with `tags` on its operations, or its graph. Output: the same with the tags that the plan's `strategy.tag`s
//! give, which are gone. It runs before `build-dag`, so that stages are there when chunks are cut and placed. Fails if a filter selects
//! nothing.
//!
//! ```mlir
//! // before, with strategy.tag {LAYER = 0:2} as {PP = 0}
//! %0 = nn.gelu %x {tags = {LAYER = 1}} : tensor<4xf32>
//! // after
//! %0 = nn.gelu %x {tags = {LAYER = 1, PP = 0}} : tensor<4xf32>
//! ```

use piper_dialects::dag::Compute;
use piper_dialects::strategy::{Kind, PlanSpec, TAGS, TagOp, merge, plans, tag_text, tags_attr};
use piper_ir::pass::{PassContext, PassFailed, PassInfo, PassResult};
use piper_ir::{Attr, Module, Op, Trait};
use piper_schedule::text::filter::Filter;

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let info = PassInfo::from_fn("tag", "Give operations the tags that a plan says", run);
    vec![
        info.after(&["import-tags", "inline-calls"])
            .describe("Consumes every `strategy.tag`. Runs on the model's function, best before `autodiff`, or on its graph."),
    ]
}

fn run(cx: &mut PassContext<'_, '_>) -> PassResult {
    let before = cx.reporter.error_count();
    for plan in plans(cx.module) {
        let Some(spec) = PlanSpec::read(cx.module, plan) else { return Err(PassFailed) };
        for directive in &spec.directives {
            let Kind::Tag { filter, .. } = &directive.kind else { continue };
            let given = TagOp(directive.op).tags(cx.module);
            let chosen = chosen(cx.module, spec.function, filter);
            if chosen.is_empty() {
                cx.reporter.error(directive.loc, format!("{filter} matches no operation"));
            }
            for op in &chosen {
                give(cx.module, *op, given);
            }
            cx.count("tagged", chosen.len() as u64);
            cx.module.erase(directive.op);
        }
    }
    cx.fail_if_errors_since(before)
}

/// The operations of a function, or the nodes of a graph, that a filter selects.
fn chosen(module: &Module, function: Op, filter: &Filter) -> Vec<Op> {
    let ctx = module.ctx();
    let is_graph = module.name_text(function) == "dag.graph";
    let Some(block) = module.only_block(function) else { return Vec::new() };
    let value = |op: Op, tag: &str| tag_text(ctx, tags_attr(module, op)?.get(ctx, tag)?);
    module
        .ops(block)
        .filter(|op| {
            if is_graph {
                Compute::cast(module, *op).is_some()
                    && crate::nodes::node_tags_match(module, *op, filter)
            } else {
                !module.has_trait(*op, Trait::Terminator) && filter.matches(|tag| value(*op, tag))
            }
        })
        .collect()
}

fn give(module: &mut Module, op: Op, given: Attr) {
    let ctx = module.ctx_arc();
    let (name, known) = match Compute::cast(module, op) {
        Some(node) => ("tags", Some(node.tags(module))),
        None => (TAGS, tags_attr(module, op)),
    };
    if let Some(tags) = merge(&ctx, known, Some(given)) {
        module.set_attr_by(op, name, tags);
    }
}
