//! Regions nested deeper than any call stack: reading, verifying, printing, cloning and erasing must not overflow.

use std::sync::Arc;

use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{Context, Module, Reporter, SourceFile};

fn nested(depth: usize) -> String {
    let mut text = String::new();
    for _ in 0..depth {
        text.push_str("\"a.b\"() ({\n");
    }
    text.push_str("%0 = \"a.leaf\"() : () -> i32\n");
    for _ in 0..depth {
        text.push_str("}) : () -> ()\n");
    }
    text
}

fn read(text: &str) -> Option<Module> {
    let mut ctx = Context::new([]);
    ctx.allow_unregistered = true;
    let ctx = Arc::new(ctx);
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("deep", text), &mut reporter);
    assert_eq!(module.is_none(), reporter.error_count() > 0);
    module
}

fn everything(depth: usize) {
    let mut module = read(&nested(depth)).expect("nesting is no error");
    let ctx = module.ctx_arc();
    assert!(verify(&module, &mut Reporter::new(&ctx)));
    let text = print_module(&module, PrintOptions::default());
    assert_eq!(text.matches("a.b").count(), depth);
    let again = read(&text).expect("what was printed can be read");
    assert_eq!(print_module(&again, PrintOptions::default()), text);

    let outer = module.top_level()[0];
    let copy = module.clone_op(outer, &mut Default::default());
    let body = module.body();
    module.append(body, copy);
    assert_eq!(module.walk(module.root()).count(), 2 * (depth + 1) + 1);
    module.erase(outer);
    assert_eq!(module.walk(module.root()).count(), depth + 2);
    assert_eq!(print_module(&module, PrintOptions::default()), text);
}

#[test]
fn ten_thousand_regions() {
    everything(10_000);
}

#[test]
fn two_hundred_thousand_regions() {
    everything(200_000);
}

#[test]
fn unclosed_regions_are_an_error() {
    for depth in [10, 10_000] {
        assert!(read(&"\"a.b\"() ({\n".repeat(depth)).is_none());
        assert!(read(&"module {\n".repeat(depth)).is_none());
    }
}

#[test]
fn deep_types_attributes_and_locations_are_refused() {
    let depth = 100_000;
    for (open, close) in [
        ("[", "]"),
        ("{a = ", "}"),
        ("tuple<", ">"),
        ("loc(callsite(", ")"),
        ("((", ")"),
        ("-> (", ")"),
    ] {
        let text =
            format!("\"a.b\"() {{x = {}1{}}} : () -> ()", open.repeat(depth), close.repeat(depth));
        assert!(read(&text).is_none(), "{open}");
        let text = format!("\"a.b\"() : () -> {}i1{}", open.repeat(depth), close.repeat(depth));
        assert!(read(&text).is_none(), "{open}");
    }
}
