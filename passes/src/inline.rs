//! `inline`: calls become what they call.
//!
//! Callees first, so that what is copied has been inlined into and simplified already. A body of several blocks is put
//! between the two halves of the block around the call, its returns become branches. Copied operations are located at
//! `callsite(where they stood at the call)`. What may come to call itself is not copied.
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

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use piper_ir::interfaces::{Call, Callable, ReturnLike};
use piper_ir::pass::{OptionDef, PassContext, PassInfo};
use piper_ir::rewrite::{FrozenPatterns, PatternSet, SimplifyOptions, simplify};
use piper_ir::{Block, LocData, Module, Op, Region, Trait, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let option = |name, summary, default| OptionDef::new(name, summary, Some(default));
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

/// Inlines the calls inside `root`, looking at each body at most `rounds` times. Returns how many.
pub fn run(module: &mut Module, root: Op, simplified: bool, rounds: u32) -> u64 {
    let patterns = simplified.then(|| {
        let ctx = module.ctx_arc();
        PatternSet::canonicalization(&ctx).freeze(&ctx)
    });
    let order = callees_first(module, root);
    let recursive = order.iter().filter(|(_, recursive)| *recursive).map(|(op, _)| *op).collect();
    let mut inliner = Inliner { module, patterns, recursive, count: 0 };
    for (callable, _) in order {
        inliner.callable(callable, rounds);
    }
    let count = inliner.count;
    crate::symbol_dce::run(module, root, |module, op| Callable::body_of(module, op).is_some());
    count
}

/// The callables inside `root`, each after those it calls, with whether it may come to call itself.
fn callees_first(module: &Module, root: Op) -> Vec<(Op, bool)> {
    let callables: Vec<Op> =
        module.walk(root).filter(|op| Callable::body_of(module, *op).is_some()).collect();
    let mut graph = DiGraph::<Op, ()>::new();
    let nodes: FxHashMap<Op, NodeIndex> =
        callables.iter().map(|op| (*op, graph.add_node(*op))).collect();
    for &callable in &callables {
        for callee in module.walk(callable).filter_map(|op| target(module, op)) {
            if let Some(&to) = nodes.get(&callee) {
                graph.update_edge(nodes[&callable], to, ());
            }
        }
    }
    let mut order = Vec::with_capacity(callables.len());
    for cycle in tarjan_scc(&graph) {
        let recursive = cycle.len() > 1 || graph.contains_edge(cycle[0], cycle[0]);
        // The functions of a cycle in the order of the text.
        let mut ops: Vec<Op> = cycle.into_iter().map(|node| graph[node]).collect();
        ops.sort();
        order.extend(ops.into_iter().map(|op| (op, recursive)));
    }
    order
}

/// The callable with a body that an operation calls.
fn target(module: &Module, op: Op) -> Option<Op> {
    let found = Call::of(module, op)?.target(module, op)?;
    Callable::body_of(module, found).map(|_| found)
}

struct Inliner<'m> {
    module: &'m mut Module,
    patterns: Option<FrozenPatterns>,
    /// What may come to call itself: its calls stay.
    recursive: FxHashSet<Op>,
    count: u64,
}

impl Inliner<'_> {
    fn callable(&mut self, callable: Op, rounds: u32) {
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
                .filter_map(|op| Some((op, target(self.module, op)?)))
                .collect();
            let mut any = false;
            for (call, callee) in calls {
                if self.is_legal(call, callee) {
                    self.inline(call, callee);
                    self.count += 1;
                    any = true;
                }
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
        if !same_types || self.recursive.contains(&callee) {
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

    /// Puts a copy of the callee's body in place of a call.
    fn inline(&mut self, call: Op, callee: Op) {
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
            self.inline_block(call, entry, &mut map, interface);
        } else {
            self.inline_blocks(call, body, &passed, &mut map, interface);
        }
    }

    fn inline_block(
        &mut self,
        call: Op,
        body: Block,
        map: &mut FxHashMap<Value, Value>,
        interface: Call,
    ) {
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
        self.settle(call, &copies, interface);
        self.finish(call, &returned);
    }

    fn inline_blocks(
        &mut self,
        call: Op,
        body: Region,
        passed: &[Value],
        map: &mut FxHashMap<Value, Value>,
        interface: Call,
    ) {
        let module = &mut *self.module;
        let ctx = module.ctx_arc();
        let before = module.parent_block(call).expect("a call stands in a block");
        let after = module.split_block(call);
        // The copies are made aside, then put between the two halves.
        let aside = module.create_region();
        let blocks = module.clone_blocks(body, aside, map);
        let copied: Vec<Op> = blocks.iter().flat_map(|block| module.ops(*block)).collect();
        self.settle(call, &copied, interface);
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
    }

    /// Tells copied operations where they came from.
    fn settle(&mut self, call: Op, copies: &[Op], interface: Call) {
        let module = &mut *self.module;
        let (ctx, caller) = (module.ctx_arc(), module.op_loc(call));
        for &copy in copies {
            for op in module.walk(copy).collect::<Vec<_>>() {
                let callee = module.op_loc(op);
                module.set_loc(op, ctx.loc(LocData::CallSite { callee, caller }));
            }
            if let Some(tell) = interface.inlined {
                tell(module, call, copy);
            }
        }
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
