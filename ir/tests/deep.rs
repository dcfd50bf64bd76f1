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
    let depth = 200_000;
    for (open, close) in [
        ("[", "]"),
        ("{a = ", "}"),
        ("(", ")"),
        ("((", ")"),
        ("-> (", ")"),
        ("() -> ", ""),
        ("tuple<", ">"),
        ("complex<", ">"),
        ("tensor<4x", ">"),
        ("memref<4x", ">"),
        ("vector<4x", ">"),
        ("tensor<4xf32, ", ">"),
        ("loc(", ")"),
        ("loc(callsite(", "))"),
        ("loc(\"a\"(", "))"),
        ("loc(fused[", "])"),
        ("loc(fused<", ">)"),
        ("dense<[", "]>"),
        ("dense<", ">"),
        ("array<", ">"),
        ("sparse<", ">"),
        ("distinct[0]<", ">"),
        ("affine_map<() -> (", ")>"),
        ("@a::", ""),
        ("-", ""),
        ("#t<", ">"),
        ("!t.x<", ">"),
    ] {
        let (opened, closed) = (open.repeat(depth), close.repeat(depth));
        for text in [
            format!("\"a.b\"() {{x = {opened}1{closed}}} : () -> ()"),
            format!("\"a.b\"() {{x = {opened}"),
            format!("\"a.b\"() : () -> {opened}i1{closed}"),
            format!("\"a.b\"() : () -> () {opened}"),
            format!("#a = {opened}"),
            format!("{opened}{closed}"),
        ] {
            // Bodies of unknown dialects are kept unread, however deep they are.
            let is_unread = open.starts_with(['#', '!']);
            assert!(read(&text).is_none() || is_unread, "{open}");
        }
    }
}

#[test]
fn deep_expressions_are_refused() {
    let depth = 200_000;
    for (before, open, close, after) in [
        ("affine_map<(d0) -> (", "(", ")", ")>"),
        ("affine_map<(d0) -> (", "-", "", ")>"),
        ("affine_map<(d0) -> (", "1 + (", ")", ")>"),
        ("affine_map<(d0) -> (", "2 * (", ")", ")>"),
        ("affine_set<(d0) : (", "(", ")", " == 0)>"),
        ("dense<", "[", "]", "> : tensor<1xi1>"),
        ("sparse<", "[", "]", ", 1> : tensor<1xi1>"),
        ("loc(", "callsite(", " at unknown)", ")"),
        ("loc(", "fused[", "]", ")"),
    ] {
        let inner = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let text = format!("\"a.b\"() {{x = {before}{inner}{after}}} : () -> ()");
        assert!(read(&text).is_none(), "{before}{open}");
    }
}

#[test]
fn aliases_nest_as_deep_as_the_text_says() {
    let depth = 20_000;
    for (leaf, open, close) in
        [("[1]", "[", "]"), ("{a}", "{a = ", "}"), ("loc(\"a\")", "loc(\"b\"(", "))")]
    {
        let mut text = format!("#a0 = {leaf}\n");
        for i in 1..depth {
            text += &format!("#a{i} = {open}#a{}{close}\n", i - 1);
        }
        text += &format!("\"a.b\"() {{x = #a{}}} : () -> ()\n", depth - 1);
        let module = read(&text).expect("aliases are no nesting of the text");
        assert!(print_module(&module, PrintOptions::default()).len() > depth);
    }
}

#[test]
fn aliases_that_stand_for_exponentially_much_are_refused() {
    for (sigil, leaf, open, close) in [('#', "[1]", "[", "]"), ('!', "i1", "tuple<", ">")] {
        let mut text = format!("{sigil}a0 = {leaf}\n");
        for i in 1..100 {
            let before = format!("{sigil}a{}", i - 1);
            text += &format!("{sigil}a{i} = {open}{before}, {before}{close}\n");
        }
        assert!(read(&text).is_none(), "{sigil}");
    }
}

/// One line of about so many bytes, with every kind of token.
fn long_line(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 200);
    let mut i = 0;
    while text.len() < bytes {
        text += &format!(
            "%v{i} = \"t.op{}\"() {{a = [{i}, \"text\"], b = dense<{i}> : tensor<2xi64>}} : () -> i32 \"t.use\"(%v{i}) : (i32) -> () ",
            i % 1000
        );
        i += 1;
    }
    text
}

#[test]
fn a_line_of_five_megabytes_is_read_and_its_error_found() {
    one_line(5 << 20);
}

#[test]
#[ignore = "takes a gigabyte"]
fn a_line_of_a_hundred_megabytes_is_read_and_its_error_found() {
    one_line(100 << 20);
}

fn one_line(bytes: usize) {
    let text = long_line(bytes);
    let module = read(&text).expect("a long line is no error");
    assert_eq!(module.top_level().len() % 2, 0);
    drop(module);
    assert!(read(&format!("{text} \"t.op\"( : () -> ()")).is_none());
}

#[test]
fn more_parts_than_an_operation_can_have_are_an_error() {
    let list = |count: usize, item: &str| vec![item; count].join(", ");
    let operation = |operands: usize, results: usize, attrs: usize| {
        let attrs: Vec<String> = (0..attrs).map(|i| format!("a{i}")).collect();
        format!(
            "%v = \"t.d\"() : () -> i1\n\"t.op\"({}) {{{}}} : ({}) -> ({})\n",
            list(operands, "%v"),
            attrs.join(", "),
            list(operands, "i1"),
            list(results, "i1")
        )
    };
    assert!(read(&operation(65_535, 1, 1)).is_some());
    assert!(read(&operation(1, 65_535, 1)).is_some());
    assert!(read(&operation(1, 1, 30_000)).is_some());
    assert!(read(&operation(65_536, 1, 1)).is_none());
    assert!(read(&operation(1, 65_536, 1)).is_none());
    assert!(read(&operation(1, 1, 30_001)).is_none());
}

#[test]
fn a_hundred_thousand_errors_are_found() {
    let count = 100_000;
    let ctx = Arc::new(Context::new([]));
    for line in ["\"a.b\"( : () -> ()\n", "nowhere\n", "\"a.b\"(%undefined) : (i32) -> ()\n"] {
        let mut reporter = Reporter::new(&ctx);
        let source = SourceFile::new("errors", line.repeat(count));
        assert!(parse_module(&ctx, &source, &mut reporter).is_none());
        assert!(reporter.error_count() >= 1);
    }
}
