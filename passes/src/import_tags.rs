//! `import-tags`: from annotated regions to tags on operations.
//!
//! Input: functions with `strategy.annotate`. Output: the same operations without the regions, each with the attribute
//! `tags` that merges the tags of the annotations around it, inner ones over outer ones, and its own over all. Never fails.
//!
//! ```mlir
//! // before
//! %0 = strategy.annotate {PP = 0} {
//!   %1 = nn.gelu %x : tensor<4x8xf32>
//!   strategy.yield %1 : tensor<4x8xf32>
//! } : tensor<4x8xf32>
//! // after
//! %0 = nn.gelu %x {tags = {PP = 0}} : tensor<4x8xf32>
//! ```

use piper_dialects::strategy::{AnnotateOp, TAGS, merge, tags_attr};
use piper_ir::pass::PassInfo;
use piper_ir::{Attr, Module, Op, Reporter, Trait, Value};

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let info = PassInfo::from_fn(
        "import-tags",
        "Inline annotations; every operation gets their tags as an attribute",
        |cx| {
            let annotations = run(cx.module, cx.reporter);
            cx.count("annotations", annotations);
            Ok(())
        },
    );
    vec![
        info.describe("Replaces every strategy.annotate by its operations with a `tags` attribute. Inner tags win over outer ones.")
            .done_when(|module| annotations(module).is_empty()),
    ]
}

fn annotations(module: &Module) -> Vec<Op> {
    module.walk(module.root()).filter(|op| AnnotateOp::cast(module, *op).is_some()).collect()
}

/// Inlines all annotations of the module. Returns how many there were.
pub fn run(module: &mut Module, _reporter: &mut Reporter<'_>) -> u64 {
    let ctx = module.ctx_arc();
    let annotations = annotations(module);
    // From outside to inside: what is around an operation is final before it is reached.
    let mut around: Vec<Option<Attr>> = vec![None; module.op_capacity()];
    let all: Vec<Op> = module.walk(module.root()).collect();
    for op in all {
        if module.has_trait(op, Trait::IsolatedFromAbove) {
            continue;
        }
        let outer = module.parent_op(op).and_then(|parent| around[parent.index()]);
        let tags = merge(&ctx, outer, tags_attr(module, op));
        around[op.index()] = tags;
        if AnnotateOp::cast(module, op).is_none()
            && !module.has_trait(op, Trait::Terminator)
            && let Some(tags) = outer.and(tags)
        {
            module.set_attr_by(op, TAGS, tags);
        }
    }
    // From inside to outside: an outer region then has no region left in it.
    for &op in annotations.iter().rev() {
        inline(module, op);
    }
    annotations.len() as u64
}

/// Puts the operations of an annotation in its place.
fn inline(module: &mut Module, annotation: Op) {
    let Some(body) = module.only_block(annotation) else { return };
    let ops: Vec<Op> = module.ops(body).collect();
    let Some((&end, inner)) = ops.split_last() else { return };
    for &op in inner {
        module.move_before(op, annotation);
    }
    let yielded: Vec<Value> = module.operands(end).collect();
    let results: Vec<Value> = module.results(annotation).collect();
    for (result, value) in results.into_iter().zip(yielded) {
        if let Some(name) = module.value_name(result)
            && module.value_name(value).is_none()
        {
            module.set_value_name(value, name);
        }
        module.replace_uses(result, value);
    }
    module.erase(annotation);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use piper_ir::text::{PrintOptions, parse_module, print_module};
    use piper_ir::{Context, Reporter, SourceFile};

    use super::run;

    /// The module after the pass, which is also what a second run gives.
    fn imported(text: &str) -> String {
        let ctx = Arc::new(Context::new(piper_dialects::all()));
        let mut reporter = Reporter::new(&ctx);
        let module = parse_module(&ctx, &SourceFile::new("t.pir", text), &mut reporter);
        let mut module = module.unwrap_or_else(|| panic!("{:?}", reporter.diagnostics()));
        run(&mut module, &mut reporter);
        assert!(piper_ir::verify::verify(&module, &mut reporter), "{:?}", reporter.diagnostics());
        let printed = print_module(&module, PrintOptions::default());
        assert_eq!(run(&mut module, &mut reporter), 0);
        assert_eq!(print_module(&module, PrintOptions::default()), printed);
        printed
    }

    #[test]
    fn inner_tags_win_over_outer_ones() {
        let text = r#"func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a, %b = strategy.annotate {PP = 0, kind = "outer"} {
    %0 = nn.gelu %x : tensor<4xf32>
    %1 = strategy.annotate {kind = "inner"} {
      %2 = nn.gelu %0 {tags = {PP = 7}} : tensor<4xf32>
      %3 = nn.gelu %2 : tensor<4xf32>
      strategy.yield %3 : tensor<4xf32>
    } : tensor<4xf32>
    strategy.yield %1, %x : tensor<4xf32>, tensor<4xf32>
  } : tensor<4xf32>, tensor<4xf32>
  strategy.annotate {PP = 1} {
    strategy.yield
  }
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}
"#;
        let expected = r#"module {
  func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = nn.gelu %x {tags = {PP = 0, kind = "outer"}} : tensor<4xf32>
    %1 = nn.gelu %0 {tags = {PP = 7, kind = "inner"}} : tensor<4xf32>
    %a = nn.gelu %1 {tags = {PP = 0, kind = "inner"}} : tensor<4xf32>
    func.return %a, %x : tensor<4xf32>, tensor<4xf32>
  }
}
"#;
        assert_eq!(imported(text), expected);
    }

    #[test]
    fn ten_thousand_nested_annotations_are_inlined() {
        let depth = 10_000;
        let mut text = String::from("func.func @f(%x: i32) {\n");
        (0..depth)
            .for_each(|i| text.push_str(&format!("strategy.annotate {{T{} = {i}}} {{\n", i % 3)));
        text.push_str("\"builtin.unrealized_conversion_cast\"(%x) : (i32) -> f32\n");
        (0..depth).for_each(|_| text.push_str("strategy.yield\n}\n"));
        text.push_str("func.return\n}\n");
        let printed = imported(&text);
        assert!(printed.contains("{tags = {T0 = 9999, T1 = 9997, T2 = 9998}}"), "{printed}");
    }
}
