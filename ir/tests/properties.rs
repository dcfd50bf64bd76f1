//! Whatever module is built, its text reads back to the same text; whatever bytes are read, nothing panics.

use std::sync::Arc;

use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{
    Attr, AttrData, Block, Context, LocData, Module, OpState, Reporter, SourceFile, Type, Value,
};
use proptest::prelude::*;

fn context() -> Arc<Context> {
    let mut ctx = Context::new([]);
    ctx.allow_unregistered = true;
    Arc::new(ctx)
}

fn read(ctx: &Arc<Context>, text: &str) -> Result<Module, String> {
    let mut reporter = Reporter::new(ctx);
    let module = parse_module(ctx, &SourceFile::new("f", text), &mut reporter);
    let messages = reporter.diagnostics().iter().map(|d| d.message.clone()).collect::<Vec<_>>();
    module.ok_or_else(|| messages.join("\n"))
}

/// What an operation is made from: numbers that choose among what is there.
#[derive(Clone, Debug)]
struct Plan {
    operands: Vec<u8>,
    results: Vec<u8>,
    attrs: Vec<(String, u8, String, i64, u64)>,
    regions: Vec<Vec<Plan>>,
    name: Option<String>,
    line: u32,
}

fn plan() -> impl Strategy<Value = Plan> {
    let leaf = (
        prop::collection::vec(any::<u8>(), 0..3),
        prop::collection::vec(any::<u8>(), 0..4),
        prop::collection::vec((".{1,8}", any::<u8>(), ".{0,8}", any::<i64>(), any::<u64>()), 0..4),
        prop::option::of("[a-zA-Z_$.-][a-zA-Z0-9_$.-]{0,5}"),
        any::<u32>(),
    )
        .prop_map(|(operands, results, attrs, name, line)| Plan {
            operands,
            results,
            attrs,
            regions: Vec::new(),
            name,
            line,
        });
    leaf.clone().prop_recursive(4, 40, 5, move |inner| {
        let regions = prop::collection::vec(prop::collection::vec(inner, 0..4), 0..3);
        (leaf.clone(), regions).prop_map(|(plan, regions)| Plan { regions, ..plan })
    })
}

fn ty(ctx: &Context, choice: u8) -> Type {
    match choice % 7 {
        0 => ctx.i32(),
        1 => ctx.f32(),
        2 => ctx.index(),
        3 => ctx.tensor(&[4, piper_ir::DYNAMIC, 0], ctx.f64()),
        4 => ctx.function(&[ctx.i1(), ctx.none()], &[ctx.tensor(&[], ctx.i64())]),
        5 => ctx.function(&[], &[ctx.function(&[], &[])]),
        _ => ctx.tensor(&[16], ctx.index()),
    }
}

fn attr(ctx: &Context, choice: u8, text: &str, int: i64, bits: u64) -> Attr {
    match choice % 10 {
        0 => ctx.unit(),
        1 => ctx.int_attr(int),
        2 => ctx.float_attr(f64::from_bits(bits)),
        3 => ctx.str_attr(text),
        4 => ctx.array_attr([ctx.bool_attr(int > 0), ctx.str_attr(text), ctx.array_attr([])]),
        5 => ctx.dict_attr([(ctx.name("k"), ctx.int_attr(int)), (ctx.name("a b"), ctx.unit())]),
        6 => ctx.type_attr(ty(ctx, bits as u8)),
        7 => ctx.symbol_attr(if text.is_empty() { "s" } else { text }),
        8 => ctx.int_array_attr(&[int, 0, -1]),
        _ => {
            let value = f32::from_bits(bits as u32);
            ctx.attr(AttrData::Float { pattern: value.to_bits().into(), ty: ctx.f32() })
        }
    }
}

fn fill(module: &mut Module, block: Block, plans: &[Plan], visible: &mut Vec<Value>) {
    let outer = visible.len();
    for plan in plans {
        let ctx = module.ctx_arc();
        let loc = ctx.loc(LocData::File { file: ctx.name("x y.pir"), line: plan.line, col: 1 });
        let mut state = OpState::new(ctx.op_name("t.op"), loc);
        for choice in &plan.operands {
            if !visible.is_empty() {
                state.operands.push(visible[usize::from(*choice) % visible.len()]);
            }
        }
        state.result_types = plan.results.iter().map(|choice| ty(&ctx, *choice)).collect();
        for (key, choice, text, int, bits) in &plan.attrs {
            let key = ctx.name(key);
            if state.attrs.iter().all(|(known, _)| *known != key) {
                state.attrs.push((key, attr(&ctx, *choice, text, *int, *bits)));
            }
        }
        state.new_regions = plan.regions.len();
        let op = module.create(state);
        module.append(block, op);
        let results: Vec<Value> = module.results(op).collect();
        if let (Some(name), Some(first)) = (&plan.name, results.first()) {
            module.set_value_name(*first, ctx.name(name));
        }
        for (i, inner) in plan.regions.iter().enumerate() {
            let region = module.regions(op)[i];
            // An empty region has no block; one with a block has an operation in it.
            if !inner.is_empty() {
                let body = module.add_block(region);
                let arg = module.add_arg(body, ctx.i32());
                visible.push(arg);
                fill(module, body, inner, visible);
                visible.pop();
            }
        }
        visible.extend(results);
    }
    visible.truncate(outer);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn modules_survive_their_text(plans in prop::collection::vec(plan(), 0..5)) {
        let ctx = context();
        let mut module = Module::new(Arc::clone(&ctx));
        let body = module.body();
        fill(&mut module, body, &plans, &mut Vec::new());
        prop_assert!(verify(&module, &mut Reporter::new(&ctx)));
        for generic in [false, true] {
            let options = PrintOptions { generic, locations: true, ..Default::default() };
            let text = print_module(&module, options);
            let again = read(&ctx, &text);
            prop_assert!(again.is_ok(), "{}\n{text}", again.unwrap_err());
            let again = again.expect("just checked");
            prop_assert_eq!(print_module(&again, options), text);
            // A context of its own: nothing hangs on what was interned before.
            let text_alone = read(&context(), &print_module(&module, options)).map(|m| print_module(&m, options));
            prop_assert_eq!(text_alone, Ok(print_module(&again, options)));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        let _ = read(&context(), &text);
    }

    #[test]
    fn no_arrangement_of_tokens_panics(tokens in prop::collection::vec(prop::sample::select(vec![
        "\"a.b\"", "(", ")", "{", "}", "<", ">", "[", "]", ":", "->", "=", ",", "%a", "%0", "^bb0", "@s", "#a", "#d.x", "!t", "!d.t<",
        "i32", "tensor<", "4x", "?x", "*x", "dense<", "array<", "loc(", "\"f\"", "1", "-", "1.5", "0x1F", "module", "unit", "true",
        "affine_map<", "affine_set<", "()", "d0", "s0", "floordiv", "mod", "*", "+", ">=", "==", "strided<", "distinct[", "sparse<",
        "dense_resource<", "vector<", "memref<", "complex<", "tuple<", "f8E5M2", "i1", "i200", "\"0xFF\"", "(1,2)", "[", "true",
        "dialect_resources:", "external_resources:", "builtin:", "\"0x0400000000\"", "offset:", "?", "<{", "}>", "fused<",
        "\n", "{-#", "#-}", "\"open", "::", "...", "builtin.unrealized_conversion_cast", "to", "attributes", "callsite(", "at", "é",
    ]), 0..40)) {
        let _ = read(&context(), &tokens.join(" "));
        let _ = read(&context(), &tokens.concat());
    }
}
