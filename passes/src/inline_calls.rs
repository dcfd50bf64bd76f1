//! `inline-calls`: the function that a plan trains becomes one body without calls.
//!
//! Input: a plan's function with `func.call`s, nested as they may be (without a plan: every function that nobody calls).
//! Output: the calls replaced by the bodies they call. An inlined operation has the tags of its call under its own, and the
//! location `callsite(where it stands at where it was called)`. Private functions that nobody refers to any more are gone.
//! A call of a declaration with a `cost` becomes `nn.opaque`, which stands for it in plans and simulations.
//! Fails on recursion and on other functions without a body of one block.
//!
//! ```mlir
//! // before
//! func.func private @block(%x: tensor<4xf32>) -> tensor<4xf32> {
//!   %0 = nn.gelu %x : tensor<4xf32>
//!   func.return %0 : tensor<4xf32>
//! }
//! %1 = func.call @block(%a) {tags = {PP = 0}} : (tensor<4xf32>) -> tensor<4xf32>
//! // after
//! %1 = nn.gelu %a {tags = {PP = 0}} : tensor<4xf32>
//! ```

use std::rc::Rc;

use piper_dialects::func::declared::Declared;
use piper_dialects::func::{Call, Func, Return};
use piper_dialects::nn;
use piper_dialects::strategy::{AnnotateOp, PlanSpec, TAGS, merge, plans, tags_attr};
use piper_ir::pass::{PassFailed, PassInfo};
use piper_ir::{Attr, AttrData, Loc, LocData, Module, Name, Op, OpState, Reporter, Trait, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let info = PassInfo::from_fn(
        "inline-calls",
        "Inline the calls of the functions that plans train",
        |cx| {
            let calls = run(cx.module, cx.reporter)?;
            cx.count("calls", calls);
            Ok(())
        },
    );
    vec![
        info.describe(
            "Replaces func.call by the body of its callee, recursively; recursion is an error. A call of a declaration with a `cost` becomes `nn.opaque`.",
        )
        .done_when(|module| targets(module).iter().all(|func| calls_in(module, *func).is_empty())),
    ]
}

/// The functions whose calls are inlined: those that plans name; without a plan, those that nobody calls.
fn targets(module: &Module) -> Vec<Op> {
    let is_function = |op: &Op| Func::cast(module, *op).is_some_and(|f| f.block(module).is_some());
    let plans = plans(module);
    if !plans.is_empty() {
        let specs = plans.into_iter().filter_map(|plan| PlanSpec::read(module, plan));
        return specs.map(|plan| plan.function).filter(is_function).collect();
    }
    let called: FxHashSet<Name> = module
        .walk(module.root())
        .filter_map(|op| Call::cast(module, op)?.callee(module).as_symbol(module.ctx()))
        .collect();
    let name = |op: Op| module.symbol_name(op).map(|name| module.ctx().name(name));
    module
        .ops(module.body())
        .filter(is_function)
        .filter(|op| name(*op).is_none_or(|name| !called.contains(&name)))
        .collect()
}

fn calls_in(module: &Module, root: Op) -> Vec<Op> {
    module.walk(root).filter(|op| Call::cast(module, *op).is_some()).collect()
}

/// A call on its way to be inlined, and the calls it came from.
struct Pending {
    call: Op,
    inside: Option<Rc<Frame>>,
}

/// An inlined call: who was called, where, and from which inlined call.
struct Frame {
    callee: Op,
    loc: Loc,
    inside: Option<Rc<Frame>>,
}

/// Inlines the calls of all targets. Returns how many.
///
/// # Errors
/// A call that reaches itself, or a callee without a body of one block.
pub fn run(module: &mut Module, reporter: &mut Reporter<'_>) -> Result<u64, PassFailed> {
    let mut count = 0;
    let mut inlined: Vec<Op> = Vec::new();
    for target in targets(module) {
        let root = Rc::new(Frame { callee: target, loc: module.op_loc(target), inside: None });
        let mut pending: Vec<Pending> = calls_in(module, target)
            .into_iter()
            .map(|call| Pending { call, inside: Some(Rc::clone(&root)) })
            .collect();
        while let Some(Pending { call, inside }) = pending.pop() {
            let callee = callee_of(module, call, inside.as_ref(), reporter)?;
            count += 1;
            if Declared::of(module, callee).is_some() {
                stand_in(module, call);
                continue;
            }
            let loc = module.op_loc(call);
            let frame = Rc::new(Frame { callee, loc, inside });
            for call in inline(module, call, callee) {
                pending.push(Pending { call, inside: Some(Rc::clone(&frame)) });
            }
            inlined.push(callee);
        }
    }
    erase_unreferenced(module, &inlined);
    Ok(count)
}

/// The function that a call names, if it can be inlined there.
fn callee_of(
    module: &Module,
    call: Op,
    inside: Option<&Rc<Frame>>,
    reporter: &mut Reporter<'_>,
) -> Result<Op, PassFailed> {
    let (ctx, loc) = (module.ctx(), module.op_loc(call));
    let symbol = Call(call).callee(module);
    let name = symbol.as_symbol(ctx).map_or("", |name| name.text(ctx));
    let Some(callee) = module.lookup_nearest(call, name).and_then(|op| Func::cast(module, op))
    else {
        reporter.error(loc, format!("calls @{name}, which is no function of this file"));
        return Err(PassFailed);
    };
    if Declared::of(module, callee.0).is_some() {
        return Ok(callee.0);
    }
    let single = callee.block(module).filter(|block| module.next_block(*block).is_none());
    if single.is_none() {
        let error = reporter
            .error(loc, format!("@{name} cannot be inlined: it has no body of one block"))
            .note(module.op_loc(callee.0), "declared here");
        if callee.entry(module).is_none() {
            error.hint("a declaration is planned without a body if it has a cost: attributes {cost = {flops = 1.0e12}}");
        }
        return Err(PassFailed);
    }
    let mut chain = Vec::new();
    let mut at = inside;
    while let Some(frame) = at {
        if frame.callee == callee.0 {
            let error =
                reporter.error(loc, format!("@{name} calls itself; recursion cannot be inlined"));
            for outer in chain.into_iter().rev() {
                error.note(outer, "through this call");
            }
            return Err(PassFailed);
        }
        chain.push(frame.loc);
        at = frame.inside.as_ref();
    }
    Ok(callee.0)
}

/// Puts `nn.opaque` in place of a call of a declaration.
fn stand_in(module: &mut Module, call: Op) {
    let ctx = module.ctx_arc();
    let results: Vec<Value> = module.results(call).collect();
    let mut state = OpState::new(ctx.op_name(nn::Opaque::NAME), module.op_loc(call))
        .operands(module.operands(call))
        .results(results.iter().map(|v| module.ty(*v)));
    state.attrs = module.all_attrs(call);
    let made = module.create(state);
    module.insert_before(call, made);
    for (old, new) in results.into_iter().zip(module.results(made).collect::<Vec<_>>()) {
        if let Some(name) = module.value_name(old) {
            module.set_value_name(new, name);
        }
        module.replace_uses(old, new);
    }
    module.erase(call);
}

/// Puts a copy of the callee's body in place of a call. Returns the calls in the copy.
fn inline(module: &mut Module, call: Op, callee: Op) -> Vec<Op> {
    let ctx = module.ctx_arc();
    let (caller, tags) = (module.op_loc(call), tags_attr(module, call));
    let body = module.only_block(callee).expect("checked by the caller");
    let mut map: FxHashMap<Value, Value> =
        module.args(body).iter().copied().zip(module.operands(call)).collect();
    let ops: Vec<Op> = module.ops(body).collect();
    let (mut calls, mut returned) = (Vec::new(), Vec::new());
    for op in ops {
        if Return::cast(module, op).is_some() {
            returned = module.operands(op).map(|v| map.get(&v).copied().unwrap_or(v)).collect();
            continue;
        }
        let copy = module.clone_op(op, &mut map);
        module.insert_before(call, copy);
        for inner in module.walk(copy).collect::<Vec<_>>() {
            let callee = module.op_loc(inner);
            module.set_loc(inner, ctx.loc(LocData::CallSite { callee, caller }));
            if Call::cast(module, inner).is_some() {
                calls.push(inner);
            }
        }
        tag(module, copy, tags);
    }
    let results: Vec<Value> = module.results(call).collect();
    for (result, value) in results.into_iter().zip(returned) {
        if let Some(name) = module.value_name(result)
            && !module.operands(call).any(|operand| operand == value)
        {
            module.set_value_name(value, name);
        }
        module.replace_uses(result, value);
    }
    module.erase(call);
    calls
}

/// Puts tags under those of an operation and of what is inside it. An annotation passes its own on to its inside.
fn tag(module: &mut Module, root: Op, tags: Option<Attr>) {
    if tags.is_none() {
        return;
    }
    let ctx = module.ctx_arc();
    let mut pending = vec![root];
    while let Some(op) = pending.pop() {
        if !module.has_trait(op, Trait::Terminator)
            && let Some(merged) = merge(&ctx, tags, tags_attr(module, op))
        {
            module.set_attr_by(op, TAGS, merged);
        }
        if AnnotateOp::cast(module, op).is_none() {
            let inner = module.regions(op).iter().flat_map(|r| module.blocks(*r));
            pending.extend(inner.flat_map(|b| module.ops(b)));
        }
    }
}

/// Erases those of `functions` that are private and named nowhere any more, and then those that only these named.
fn erase_unreferenced(module: &mut Module, functions: &[Op]) {
    let ctx = module.ctx_arc();
    let mut candidates: Vec<Op> = functions.to_vec();
    candidates.sort();
    candidates.dedup();
    loop {
        let mut named: FxHashSet<Name> = FxHashSet::default();
        for op in module.walk(module.root()) {
            for (_, attr) in module.all_attrs(op) {
                if let AttrData::Symbol { root, .. } = attr.data(&ctx) {
                    named.insert(*root);
                }
            }
        }
        let is_dead = |op: &Op| {
            module.attr_by(*op, "sym_visibility").and_then(|v| v.as_str(&ctx)) == Some("private")
                && module.symbol_name(*op).is_some_and(|name| !named.contains(&ctx.name(name)))
        };
        let (dead, alive): (Vec<Op>, Vec<Op>) = candidates.into_iter().partition(is_dead);
        if dead.is_empty() {
            return;
        }
        dead.into_iter().for_each(|op| module.erase(op));
        candidates = alive;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use piper_ir::text::{PrintOptions, parse_module, print_module};
    use piper_ir::{Context, Module, Reporter, SourceFile};

    use super::run;

    /// The module after the pass and the calls it inlined, or the messages with their lines and those of their notes.
    fn inlined(text: &str) -> Result<(Module, u64), String> {
        let ctx = Arc::new(Context::new(piper_dialects::all()));
        let mut reporter = Reporter::new(&ctx);
        let module = parse_module(&ctx, &SourceFile::new("t.pir", text), &mut reporter);
        let mut module = module.unwrap_or_else(|| panic!("{:?}", reporter.diagnostics()));
        let result = run(&mut module, &mut reporter);
        let line = |loc: piper_ir::Loc| loc.file_position(&ctx).map_or(0, |(_, line, _)| line);
        match result {
            Ok(count) => {
                assert!(
                    piper_ir::verify::verify(&module, &mut reporter),
                    "{:?}",
                    reporter.diagnostics()
                );
                Ok((module, count))
            }
            Err(_) => {
                let messages = reporter.diagnostics().iter().map(|d| {
                    let notes: Vec<u32> = d.notes.iter().map(|n| line(n.loc)).collect();
                    format!("{}: {} {notes:?}", line(d.loc), d.message)
                });
                Err(messages.collect::<Vec<_>>().join("\n"))
            }
        }
    }

    const NESTED: &str = r#"func.func private @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = nn.gelu %x {tags = {PP = 9}} : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @block(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = func.call @gelu(%x) {tags = {L = 1}} : (tensor<4xf32>) -> tensor<4xf32>
  %z = nn.add %y, %x : tensor<4xf32>
  func.return %z, %x : tensor<4xf32>, tensor<4xf32>
}
func.func @loss(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %h:2 = func.call @block(%a) {tags = {PP = 0}} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return %h#0, %h#1 : tensor<4xf32>, tensor<4xf32>
}
"#;

    #[test]
    fn calls_are_replaced_by_bodies_with_the_call_s_tags_beneath() {
        let (module, count) = inlined(NESTED).expect("inlines");
        assert_eq!(count, 2);
        let expected = r#"module {
  func.func @loss(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %y = nn.gelu %a {tags = {L = 1, PP = 9}} : tensor<4xf32>
    %h = nn.add %y, %a {tags = {PP = 0}} : tensor<4xf32>
    func.return %h, %a : tensor<4xf32>, tensor<4xf32>
  }
}
"#;
        assert_eq!(print_module(&module, PrintOptions::default()), expected);
        let options = PrintOptions { locations: true, local_scope: true, ..Default::default() };
        let located = print_module(&module, options);
        let gelu = r#"loc(callsite("t.pir":2:8 at callsite("t.pir":6:8 at "t.pir":11:10)))"#;
        assert!(located.contains(gelu), "{located}");
    }

    #[test]
    fn a_plan_s_function_is_inlined_and_public_callees_stay() {
        let text = NESTED.replace("private @block", "@block")
            + "strategy.mesh @m <[\"pp\" = 1]>\nstrategy.plan @p for @loss on @m {\n}\n";
        let (module, count) = inlined(&text).expect("inlines");
        let printed = print_module(&module, PrintOptions::default());
        assert_eq!(count, 2);
        assert!(
            printed.contains("func.func @block") && printed.contains("func.func private @gelu"),
            "{printed}"
        );
    }

    #[test]
    fn a_call_of_a_declaration_with_a_cost_becomes_opaque() {
        let text = r#"func.func private @mlp(tensor<4xf32> {batch_dim = 0}) -> (tensor<4xf32> {batch_dim = 0}) attributes {cost = {flops = 8}}
func.func private @block(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @mlp(%x) {tags = {L = 1}} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @loss(%a: tensor<4xf32>) -> tensor<4xf32> {
  %h = func.call @block(%a) {tags = {PP = 0}} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %h : tensor<4xf32>
}
"#;
        let (module, count) = inlined(text).expect("inlines");
        assert_eq!(count, 2);
        let printed = print_module(&module, PrintOptions::default());
        let opaque =
            "%h = nn.opaque @mlp(%a) {tags = {L = 1, PP = 0}} : (tensor<4xf32>) -> tensor<4xf32>";
        assert!(printed.contains(opaque), "{printed}");
        assert!(printed.contains("func.func private @mlp") && !printed.contains("@block"));
    }

    #[test]
    fn recursion_is_an_error_that_shows_the_way_round() {
        let text = r#"func.func private @even(%x: i32) -> i32 {
  %0 = func.call @odd(%x) : (i32) -> i32
  func.return %0 : i32
}
func.func private @odd(%x: i32) -> i32 {
  %0 = func.call @even(%x) : (i32) -> i32
  func.return %0 : i32
}
func.func @loss(%x: i32) -> i32 {
  %0 = func.call @even(%x) : (i32) -> i32
  func.return %0 : i32
}
"#;
        assert_eq!(
            inlined(text).expect_err("recursive"),
            "6: @even calls itself; recursion cannot be inlined [2]"
        );
        let declared = "func.func private @f(i32) -> i32\nfunc.func @g(%x: i32) -> i32 {\n  %0 = func.call @f(%x) : (i32) -> i32\n  func.return %0 : i32\n}\n";
        assert_eq!(
            inlined(declared).expect_err("no body"),
            "3: @f cannot be inlined: it has no body of one block [1]"
        );
    }
}
