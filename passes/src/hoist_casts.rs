//! `hoist-casts`: casts of parameters go from the chunks that use them to the graph, once for all of them.
//!
//! ```mlir
//! // before
//! %w = dag.parameter "w" {init = ...} : !dag.dist<tensor<4x4xf32>, @c>
//! %y = dag.compute @f(%x, %w) F {} node "f" : ...     // its body begins with an nn.cast of %w to bf16
//! // after
//! %w_low = dag.cast %w : !dag.dist<tensor<4x4xf32>, @c> -> !dag.dist<tensor<4x4xbf16>, @c>
//! %y = dag.compute @f(%x, %w_low) F {} node "f" : ... // its argument is a tensor<4x4xbf16>
//! ```
//!
//! Where a parameter is gathered from shards, the shard is cast and gathered in the narrower type: half the traffic, half the memory.
//! A parameter that some chunk also uses as it is stays as it is for all that share a body with that chunk.

use piper_dialects::dag::{Compute, Dist};
use piper_dialects::strategy::TAGS;
use piper_dialects::{func, nn};
use piper_ir::pass::{PassContext, PassInfo};
use piper_ir::{Attr, Builder, Module, Name, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::autodiff::PASS;
use crate::nodes::{compute_nodes, graphs};
use crate::replicate::buckets::layout;

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let pass = PassInfo::from_fn(
        "hoist-casts",
        "Cast parameters once a step instead of in every chunk that uses them",
        |cx: &mut PassContext<'_, '_>| {
            for graph in graphs(cx.module) {
                let made = run(cx.module, graph);
                cx.count("casts", made);
            }
            Ok(())
        },
    );
    let repeat = PassInfo::from_fn(
        "repeat-casts",
        "Cast parameters again in the backward instead of keeping casts for it",
        |cx: &mut PassContext<'_, '_>| {
            let functions: Vec<Op> = cx
                .module
                .top_level()
                .into_iter()
                .filter(|op| func::Func::cast(cx.module, *op).is_some())
                .collect();
            for function in functions {
                repeat_casts(cx.module, function);
            }
            Ok(())
        },
    );
    let repeat = repeat.after(&["autodiff"]).describe(
        "Works on functions with gradients, before the graph is built: a cast parameter is no activation that a chunk keeps for \
         another.",
    );
    vec![repeat, pass.after(&["build-dag"]).describe(
        "Works on a graph, replicated or not, before or after the optimizer. Does nothing where no chunk casts a parameter.",
    )]
}

/// Gives the backward of each segment its own casts of parameters.
fn repeat_casts(module: &mut Module, function: Op) {
    let ctx = module.ctx_arc();
    let Some(block) = module.only_block(function) else { return };
    let pass = ctx.name(PASS);
    let casts: Vec<Op> = module
        .ops(block)
        .filter(|op| {
            let of = nn::Convert::cast(module, *op).and_then(|c| module.defining_op(c.x(module)));
            of.is_some_and(|def| nn::Parameter::cast(module, def).is_some())
        })
        .collect();
    for cast in casts {
        let users: Vec<_> = module.uses(module.result(cast, 0)).collect();
        let mut made: FxHashMap<(Option<Attr>, Option<Attr>), Value> = FxHashMap::default();
        for used in users {
            let own = module.attr(used.op, pass);
            if own.and_then(|a| a.as_str(&ctx)).is_none_or(|pass| pass == "F") {
                continue;
            }
            let tags = module.attr_by(used.op, TAGS);
            let value = *made.entry((own, tags)).or_insert_with(|| {
                let copy = module.clone_op(cast, &mut FxHashMap::default());
                if let Some(next) = module.next_op(cast) {
                    module.insert_before(next, copy);
                }
                if let Some(own) = own {
                    module.set_attr(copy, pass, own);
                }
                if let Some(tags) = tags {
                    module.set_attr_by(copy, TAGS, tags);
                }
                module.result(copy, 0)
            });
            module.set_operand(used.op, used.index, value);
        }
    }
}

/// An argument of a chunk's body.
type Argument = (Name, usize);

/// Where a parameter's value comes from, with everything that has its type and the arguments it becomes.
struct Chain {
    root: Root,
    /// Projections, and parts of what was gathered.
    values: Vec<Value>,
    arguments: Vec<Argument>,
    /// Something uses it as it is.
    is_mixed: bool,
}

#[derive(Clone, Copy)]
enum Root {
    /// A whole parameter.
    Parameter(Value),
    /// An all_gather of a flat state.
    Gather(Op),
}

/// Whether some chunk casts a parameter that it is given.
pub fn has_casts(module: &Module, graph: Op) -> bool {
    !cast_only(module, graph).is_empty()
}

/// Arguments that their bodies use in one other element type only.
fn cast_only(module: &Module, graph: Op) -> FxHashMap<Argument, Type> {
    let ctx = module.ctx();
    let mut found = FxHashMap::default();
    let mut seen = FxHashSet::default();
    for node in compute_nodes(module, graph) {
        let Some(name) = Compute(node).callee(module).as_symbol(ctx) else { continue };
        if !seen.insert(name) {
            continue;
        }
        let Some(body) = module.lookup_nearest(node, name.text(ctx)) else { continue };
        let Some(block) = module.only_block(body) else { continue };
        for (i, &arg) in module.args(block).iter().enumerate() {
            let mut to = module.uses(arg).map(|used| {
                let cast = nn::Convert::cast(module, used.op)?;
                module.ty(cast.y(module)).as_tensor(ctx).map(|(_, element)| element)
            });
            if let Some(Some(first)) = to.next()
                && to.all(|other| other == Some(first))
            {
                found.insert((name, i), first);
            }
        }
    }
    found
}

/// Hoists what can be hoisted in a graph; returns how many casts it has now.
pub fn run(module: &mut Module, graph: Op) -> u64 {
    let ctx = module.ctx_arc();
    let mut wanted = cast_only(module, graph);
    if wanted.is_empty() {
        return 0;
    }
    let chains = chains(module, graph);
    // Arguments are shared by nodes: one that cannot be given the other type keeps it from all.
    loop {
        let fits = |chain: &Chain| {
            let mut types = chain.arguments.iter().map(|argument| wanted.get(argument));
            let first = types.next().flatten();
            !chain.is_mixed && first.is_some() && types.all(|ty| ty == first)
        };
        let mut given: FxHashMap<Argument, usize> = FxHashMap::default();
        for chain in chains.iter().filter(|chain| fits(chain)) {
            chain.arguments.iter().for_each(|argument| *given.entry(*argument).or_default() += 1);
        }
        let mut nodes: FxHashMap<Name, usize> = FxHashMap::default();
        for node in compute_nodes(module, graph) {
            if let Some(name) = Compute(node).callee(module).as_symbol(&ctx) {
                *nodes.entry(name).or_default() += 1;
            }
        }
        let before = wanted.len();
        wanted.retain(|argument, _| given.get(argument) == nodes.get(&argument.0));
        if wanted.len() == before {
            break;
        }
    }
    let mut made = 0;
    let mut shards: FxHashMap<(Value, Type), Value> = FxHashMap::default();
    for chain in &chains {
        let first = chain.arguments.first().and_then(|argument| wanted.get(argument));
        let Some(&element) = first.filter(|_| !chain.is_mixed) else { continue };
        match chain.root {
            Root::Parameter(value) => {
                let users: Vec<_> = module.uses(value).collect();
                let low = cast(module, value, element);
                for used in users {
                    if matches!(module.name_text(used.op), "dag.compute" | "dag.project") {
                        module.set_operand(used.op, used.index, low);
                    }
                }
                made += 1;
            }
            Root::Gather(op) => {
                let master = module.operand(op, 0);
                let low = match shards.get(&(master, element)) {
                    Some(&known) => known,
                    None => {
                        made += 1;
                        cast(module, master, element)
                    }
                };
                shards.insert((master, element), low);
                module.set_operand(op, 0, low);
            }
        }
        for &value in &chain.values {
            let ty = with_element(module, module.ty(value), element);
            module.set_ty(value, ty);
        }
    }
    bodies(module, graph, &wanted);
    made
}

/// The type with another element type.
fn with_element(module: &Module, ty: Type, element: Type) -> Type {
    let ctx = module.ctx();
    let dist = Dist::of(ctx, ty).expect("declared as !dag.dist");
    let shape = dist.tensor.as_tensor(ctx).map_or(&[][..], |(shape, _)| shape);
    Dist { tensor: ctx.tensor(shape, element), ..dist }.ty(ctx)
}

/// Inserts a cast of a value after what makes it.
fn cast(module: &mut Module, value: Value, element: Type) -> Value {
    let ctx = module.ctx_arc();
    let ty = with_element(module, module.ty(value), element);
    let made_by = module.defining_op(value).expect("a state's value is a result");
    let loc = module.op_loc(made_by);
    let hint = module.value_name(value).map_or("value".to_owned(), |n| n.text(&ctx).to_owned());
    let mut b = Builder::after(module, made_by);
    let state = b.state("dag.cast").operands([value]).results([ty]);
    let low = b.set_loc(loc).value(state);
    module.set_value_name(low, ctx.name(&format!("{hint}_{}", element.display(&ctx))));
    low
}

/// All chains of a graph.
fn chains(module: &Module, graph: Op) -> Vec<Chain> {
    let block = module.only_block(graph).expect("a graph has a block");
    let mut chains = Vec::new();
    for op in module.ops(block) {
        let root = match module.name_text(op) {
            "dag.parameter" => Root::Parameter(module.result(op, 0)),
            "dag.all_gather" => {
                let made_by = module.defining_op(module.operand(op, 0));
                if made_by.is_none_or(|def| layout(module, def).is_none()) {
                    continue;
                }
                Root::Gather(op)
            }
            _ => continue,
        };
        let mut chain = Chain { root, values: Vec::new(), arguments: Vec::new(), is_mixed: false };
        let value = module.result(op, 0);
        let is_parameter = matches!(root, Root::Parameter(_));
        if !is_parameter {
            chain.values.push(value);
        }
        follow(module, value, is_parameter, &mut chain);
        if !chain.arguments.is_empty() {
            chains.push(chain);
        }
    }
    chains
}

/// Follows the uses of a value. The optimizer may use a whole parameter as it is.
fn follow(module: &Module, value: Value, is_root: bool, chain: &mut Chain) {
    let ctx = module.ctx();
    for used in module.uses(value) {
        match module.name_text(used.op) {
            "dag.compute" => {
                let callee = Compute(used.op).callee(module).as_symbol(ctx);
                match callee {
                    Some(name) => chain.arguments.push((name, used.index)),
                    None => chain.is_mixed = true,
                }
            }
            "dag.project" | "dag.unpack" => {
                for result in module.results(used.op) {
                    chain.values.push(result);
                    follow(module, result, false, chain);
                }
            }
            "dag.commit" | "dag.update" if is_root => {}
            _ => chain.is_mixed = true,
        }
    }
}

/// Gives arguments their other type, in which they need no cast.
fn bodies(module: &mut Module, graph: Op, wanted: &FxHashMap<Argument, Type>) {
    let ctx = module.ctx_arc();
    let mut changed: Vec<Op> = Vec::new();
    for (&(name, i), &element) in wanted {
        let Some(body) = module.lookup_nearest(graph, name.text(&ctx)) else { continue };
        let Some(block) = module.only_block(body) else { continue };
        let arg = module.args(block)[i];
        let shape = module.ty(arg).as_tensor(&ctx).map_or(Vec::new(), |(s, _)| s.to_vec());
        let casts: Vec<Op> = module.uses(arg).map(|used| used.op).collect();
        for op in casts {
            let result = module.result(op, 0);
            module.replace_uses(result, arg);
            module.erase(op);
        }
        module.set_ty(arg, ctx.tensor(&shape, element));
        if !changed.contains(&body) {
            changed.push(body);
        }
    }
    for body in changed {
        func::Func(body).refresh_type(module);
    }
}
