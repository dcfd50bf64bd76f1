//! `inline`: calls become what they call.
//!
//! Callees first, so that what is copied has been inlined into and simplified already. A body of several blocks is put
//! between the two halves of the block around the call, its returns become branches. Copied operations are located at
//! `callsite(where they stood at the call)`. A call that would lead back into a body it came from stays: recursion ends.
//! Private callees that nobody names any more go.
//!
//! ```mlir
//! // before
//! func.func private @twice(%x: i32) -> i32 {
//!   %0 = arith.addi %x, %x : i32
//!   func.return %0 : i32
//! }
//! func.func @main(%y: i32) -> i32 {
//!   %0 = func.call @twice(%y) : (i32) -> i32
//!   func.return %0 : i32
//! }
//! // after
//! func.func @main(%y: i32) -> i32 {
//!   %0 = arith.addi %y, %y : i32
//!   func.return %0 : i32
//! }
//! ```

use std::rc::Rc;

use piper_ir::interfaces::{Call, Callable, ReturnLike};
use piper_ir::pass::{OptionDef, PassContext, PassInfo};
use piper_ir::rewrite::{FrozenPatterns, PatternSet, SimplifyOptions, simplify};
use piper_ir::{Block, LocData, Module, Op, Region, Trait, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let option = |name, summary, default| OptionDef { name, summary, default: Some(default) };
    let options = vec![
        option(
            "default-pipeline",
            "What runs on a callee before it is copied: canonicalize, or nothing",
            "canonicalize",
        ),
        option("max-iterations", "How often the calls of one body are looked at again", "4"),
    ];
    let info = PassInfo::with_options(
        "inline",
        "Replace calls by the bodies they call",
        options,
        |options| {
            let simplified = match options.text("default-pipeline").unwrap_or_default() {
                "canonicalize" => true,
                "" => false,
                other => {
                    return Err(format!(
                        "option 'default-pipeline' of pass 'inline' takes canonicalize or nothing, not '{other}'"
                    ));
                }
            };
            let rounds = options.get::<u32>("max-iterations")?.unwrap_or(4);
            Ok(move |cx: &mut PassContext<'_, '_>| {
                let inlined = run(cx.module, cx.op, simplified, rounds);
                cx.count("num-inlined", inlined);
                Ok(())
            })
        },
    );
    vec![
        info.describe(
            "Inlines calls of functions that have a body, callees first; recursive calls stay. Works on any operation in which \
             calls and callees stand.",
        )
        .anchored(None),
    ]
}

/// The bodies a call came out of, innermost first.
struct History {
    callee: Op,
    outer: Option<Rc<History>>,
}

fn includes(mut at: Option<&Rc<History>>, callee: Op) -> bool {
    while let Some(history) = at {
        if history.callee == callee {
            return true;
        }
        at = history.outer.as_ref();
    }
    false
}

/// Inlines the calls inside `root`, looking at each body at most `rounds` times. Returns how many.
pub fn run(module: &mut Module, root: Op, simplified: bool, rounds: u32) -> u64 {
    let patterns = simplified.then(|| {
        let ctx = module.ctx_arc();
        PatternSet::canonicalization(&ctx).freeze(&ctx)
    });
    let mut inliner = Inliner { module, patterns, count: 0 };
    for callable in callees_first(inliner.module, root) {
        inliner.callable(callable, rounds);
    }
    let count = inliner.count;
    crate::symbol_dce::run(module, root, |module, op| Callable::body_of(module, op).is_some());
    count
}

/// The callables inside `root`, each after those it calls as far as there is such an order.
fn callees_first(module: &Module, root: Op) -> Vec<Op> {
    let callables: Vec<Op> =
        module.walk(root).filter(|op| Callable::body_of(module, *op).is_some()).collect();
    let known: FxHashSet<Op> = callables.iter().copied().collect();
    let mut targets = Targets::default();
    let mut calls: FxHashMap<Op, Vec<Op>> = FxHashMap::default();
    for &callable in &callables {
        let called = module.walk(callable).filter_map(|op| targets.of(module, op));
        calls.insert(callable, called.filter(|op| known.contains(op)).collect());
    }
    let (mut order, mut seen) = (Vec::new(), FxHashSet::default());
    for &start in &callables {
        if !seen.insert(start) {
            continue;
        }
        let mut stack = vec![(start, 0)];
        while let Some((op, next)) = stack.pop() {
            match calls[&op].get(next) {
                Some(&callee) => {
                    stack.push((op, next + 1));
                    if seen.insert(callee) {
                        stack.push((callee, 0));
                    }
                }
                None => order.push(op),
            }
        }
    }
    order
}

/// Symbols found before: a call in each of ten thousand functions is not looked for ten thousand times.
#[derive(Default)]
struct Targets {
    tables: FxHashMap<Op, FxHashMap<piper_ir::Name, Op>>,
}

impl Targets {
    /// The callable with a body that an operation calls.
    fn of(&mut self, module: &Module, op: Op) -> Option<Op> {
        let name = (Call::of(module, op)?.callee)(module, op)?;
        let mut at = module.parent_op(op);
        while let Some(table) = at {
            if module.has_trait(table, Trait::SymbolTable) {
                let symbols = self.tables.entry(table).or_insert_with(|| {
                    let block = module.only_block(table);
                    let ops = block.into_iter().flat_map(|block| module.ops(block));
                    ops.filter_map(|op| Some((module.ctx().name(module.symbol_name(op)?), op)))
                        .collect()
                });
                if let Some(&found) = symbols.get(&name) {
                    return Callable::body_of(module, found).map(|_| found);
                }
            }
            at = module.parent_op(table);
        }
        None
    }
}

struct Inliner<'m> {
    module: &'m mut Module,
    patterns: Option<FrozenPatterns>,
    count: u64,
}

impl Inliner<'_> {
    fn callable(&mut self, callable: Op, rounds: u32) {
        let mut targets = Targets::default();
        let mut histories: FxHashMap<Op, Option<Rc<History>>> = FxHashMap::default();
        for round in 0..=rounds {
            if let Some(patterns) = &self.patterns {
                simplify(self.module, callable, patterns, SimplifyOptions::default());
            }
            if round == rounds {
                return;
            }
            let calls: Vec<(Op, Op)> = self
                .module
                .walk(callable)
                .filter_map(|op| Some((op, targets.of(self.module, op)?)))
                .collect();
            let mut any = false;
            for (call, callee) in calls {
                let history = histories.get(&call).cloned().flatten();
                if includes(history.as_ref(), callee) || !self.is_legal(call, callee) {
                    continue;
                }
                let history = Rc::new(History { callee, outer: history });
                for copied in self.inline(call, callee) {
                    histories.insert(copied, Some(Rc::clone(&history)));
                }
                self.count += 1;
                any = true;
            }
            if !any {
                return;
            }
        }
    }

    /// Whether a call may be replaced by the body of its callee.
    fn is_legal(&self, call: Op, callee: Op) -> bool {
        let module = &*self.module;
        let Some(body) = Callable::body_of(module, callee) else { return false };
        let entry = module.first_block(body).expect("a body has blocks");
        let arguments = Call::of(module, call).map_or(0..0, |i| (i.arguments)(module, call));
        let passed = module.operands(call).skip(arguments.start).take(arguments.len());
        let same_types = module.args(entry).len() == arguments.len()
            && passed.zip(module.args(entry)).all(|(v, arg)| module.ty(v) == module.ty(*arg));
        // A call inside its callee would copy itself without end.
        let mut around = std::iter::successors(Some(call), |op| module.parent_op(*op));
        if !same_types || around.any(|op| op == callee) {
            return false;
        }
        let several = module.next_block(entry).is_some();
        let host = module.parent_op(call);
        let hosts_blocks = host.is_some_and(|op| {
            Callable::body_of(module, op).is_some() && !module.has_trait(op, Trait::SingleBlock)
        });
        if several && !hosts_blocks {
            return false;
        }
        let ends = module.blocks(body).all(|block| {
            let Some(end) = module.last_op(block) else { return false };
            match ReturnLike::of(module, end) {
                Some(returns) => {
                    (!several || returns.branch.is_some())
                        && module.num_operands(end) == module.num_results(call)
                        && module
                            .operands(end)
                            .zip(module.results(call))
                            .all(|(value, result)| module.ty(value) == module.ty(result))
                }
                None => several && !module.successors(end).is_empty(),
            }
        });
        // Of an unregistered operation it is not known that it may be copied elsewhere.
        ends && module.walk(callee).all(|op| module.def(op).is_some())
    }

    /// Puts a copy of the callee's body in place of a call. Returns the calls in the copy.
    fn inline(&mut self, call: Op, callee: Op) -> Vec<Op> {
        let module = &mut *self.module;
        let body = Callable::body_of(module, callee).expect("checked");
        let interface = *Call::of(module, call).expect("checked");
        let arguments = (interface.arguments)(module, call);
        let entry = module.first_block(body).expect("a body has blocks");
        let passed: Vec<Value> =
            module.operands(call).skip(arguments.start).take(arguments.len()).collect();
        let mut map: FxHashMap<Value, Value> =
            module.args(entry).iter().copied().zip(passed.iter().copied()).collect();
        if module.next_block(entry).is_none() {
            return self.inline_block(call, entry, &mut map, interface);
        }
        self.inline_blocks(call, body, &passed, &mut map, interface)
    }

    fn inline_block(
        &mut self,
        call: Op,
        body: Block,
        map: &mut FxHashMap<Value, Value>,
        interface: Call,
    ) -> Vec<Op> {
        let module = &mut *self.module;
        let ops: Vec<Op> = module.ops(body).collect();
        let mut copies = Vec::new();
        let (end, inner) = ops.split_last().expect("a body ends with a terminator");
        for &op in inner {
            let copy = module.clone_op(op, map);
            module.insert_before(call, copy);
            copies.push(copy);
        }
        let returned: Vec<Value> =
            module.operands(*end).map(|v| map.get(&v).copied().unwrap_or(v)).collect();
        let calls = self.settle(call, &copies, interface);
        self.finish(call, &returned);
        calls
    }

    fn inline_blocks(
        &mut self,
        call: Op,
        body: Region,
        passed: &[Value],
        map: &mut FxHashMap<Value, Value>,
        interface: Call,
    ) -> Vec<Op> {
        let module = &mut *self.module;
        let ctx = module.ctx_arc();
        let before = module.parent_block(call).expect("a call stands in a block");
        let after = module.split_block(call);
        // The copies are made aside, then put between the two halves.
        let aside = module.create_region();
        let blocks = module.clone_blocks(body, aside, map);
        let copied: Vec<Op> = blocks.iter().flat_map(|block| module.ops(*block)).collect();
        let calls = self.settle(call, &copied, interface);
        let module = &mut *self.module;
        let results: Vec<Value> = module.results(call).collect();
        let merged: Vec<Value> = results
            .iter()
            .map(|result| {
                let ty = module.ty(*result);
                module.add_arg(after, ty)
            })
            .collect();
        let mut at = before;
        for &block in &blocks {
            module.detach_block(block);
            module.insert_block_after(at, block);
            at = block;
            let end = module.last_op(block).expect("checked");
            if let Some(ReturnLike { branch: Some(branch) }) = ReturnLike::of(module, end) {
                let values: Vec<Value> = module.operands(end).collect();
                let state = branch(&ctx, after, &values, module.op_loc(end));
                let jump = module.create(state);
                module.insert_before(end, jump);
                module.erase(end);
            }
        }
        // The copy of the entry continues the first half; its arguments are what was passed.
        let entry = blocks[0];
        for (arg, &value) in module.args(entry).to_vec().into_iter().zip(passed) {
            if module.is_used(arg) {
                module.replace_uses(arg, value);
            }
        }
        if let Some(first) = module.first_op(entry) {
            module.move_tail(first, before);
        }
        module.detach_block(entry);
        self.finish(call, &merged);
        calls
    }

    /// Tells copied operations where they came from. Returns the calls among them.
    fn settle(&mut self, call: Op, copies: &[Op], interface: Call) -> Vec<Op> {
        let module = &mut *self.module;
        let (ctx, caller) = (module.ctx_arc(), module.op_loc(call));
        let mut calls = Vec::new();
        for &copy in copies {
            for op in module.walk(copy).collect::<Vec<_>>() {
                let callee = module.op_loc(op);
                module.set_loc(op, ctx.loc(LocData::CallSite { callee, caller }));
                if Call::of(module, op).is_some() {
                    calls.push(op);
                }
            }
            if let Some(tell) = interface.inlined {
                tell(module, call, copy);
            }
        }
        calls
    }

    /// Gives the call's users what was returned, and erases it.
    fn finish(&mut self, call: Op, returned: &[Value]) {
        let module = &mut *self.module;
        for (result, &value) in module.results(call).zip(returned) {
            if let Some(name) = module.value_name(result)
                && !module.operands(call).any(|operand| operand == value)
            {
                module.set_value_name(value, name);
            }
            if module.is_used(result) {
                module.replace_uses(result, value);
            }
        }
        module.erase(call);
    }
}
