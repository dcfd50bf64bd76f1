//! `build-dag`: from a differentiated function to the graph of its chunks.
//!
//! Input: a `strategy.plan` whose function was tagged (`import-tags`) and differentiated (`autodiff`). Output: a `dag.graph`
//! with one compute node a chunk, everything on the whole mesh, one microbatch; the chunks' bodies as functions, equal ones
//! only once; a `dag.gradient` for every parameter and a `dag.output` for the loss. The function is gone.
//!
//! A **segment** is the set of operations with equal tags; its forward operations are one chunk (`F`), its backward
//! operations another (`B`). Values that cross chunks are results and arguments, several of either; segments form a DAG, with
//! skip connections and branches as the model has them. Fails if two segments depend on each other both ways.

mod chunks;
mod outline;

use piper_dialects::dag::{Dist, Held};
use piper_dialects::{func, nn};
use piper_ir::pass::{PassContext, PassFailed, PassInfo, PassResult};
use piper_ir::{Attr, Builder, Module, Name, Op, Reporter, Value};
use rustc_hash::FxHashMap;

use crate::accumulate::{Shape, Sums};

use chunks::{Chunk, Chunks};
use outline::Outliner;

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let info = PassInfo::from_fn(
        "build-dag",
        "Cut a tagged, differentiated function into chunks and make the graph of them",
        run_pass,
    );
    vec![
        info.after(&["import-tags", "inline-calls", "autodiff"])
            .done_when(|module| !crate::nodes::graphs(module).is_empty())
            .describe("Needs the plan's function differentiated (autodiff) and every operation tagged (import-tags)."),
    ]
}

fn run_pass(cx: &mut PassContext<'_, '_>) -> PassResult {
    let plans: Vec<Op> =
        cx.module.walk(cx.op).filter(|op| cx.module.name_text(*op) == "strategy.plan").collect();
    let before = cx.reporter.error_count();
    for plan in plans {
        let nodes = run(cx.module, plan, cx.reporter)?;
        cx.count("nodes", nodes);
    }
    cx.fail_if_errors_since(before)
}

/// Builds the graph of a plan. Returns the number of compute nodes.
///
/// # Errors
/// The plan names no function, the function is not differentiated, an operation is in no segment, or segments depend on each other both ways.
pub fn run(module: &mut Module, plan: Op, reporter: &mut Reporter<'_>) -> Result<u64, PassFailed> {
    crate::refine_mesh::run(module, plan, reporter)?;
    let ctx = module.ctx_arc();
    let symbol = |name: &str| module.attr_by(plan, name).and_then(|a| a.as_symbol(&ctx));
    let (Some(function), Some(mesh)) = (symbol("function"), symbol("mesh")) else {
        reporter.error(module.op_loc(plan), "the plan names no function and mesh");
        return Err(PassFailed);
    };
    let Some(func) = module
        .lookup_nearest(plan, function.text(&ctx))
        .filter(|f| module.name_text(*f) == "func.func")
    else {
        let name = function.text(&ctx);
        let built = crate::nodes::graphs(module).into_iter().find(|graph| {
            module.attr_by(*graph, "function").and_then(|a| a.as_symbol(&ctx)) == Some(function)
        });
        let loc = module.op_loc(plan);
        match built {
            Some(graph) => reporter
                .error(loc, format!("the graph of '@{name}' is built already"))
                .note(module.op_loc(graph), "by this plan")
                .hint("one plan trains a function here; take the other out of the file"),
            None => {
                reporter.error(loc, format!("the plan is for '@{name}', which is no function here"))
            }
        };
        return Err(PassFailed);
    };
    let Some(gradients) =
        module.attr_by(func, "gradients").and_then(|a| a.as_array(&ctx)).map(<[Attr]>::to_vec)
    else {
        reporter
            .error(module.op_loc(func), format!("'@{}' is not differentiated", function.text(&ctx)))
            .hint("run 'autodiff' first: --pass-pipeline='builtin.module(import-tags,inline-calls,autodiff,build-dag)'");
        return Err(PassFailed);
    };
    let chunks = Chunks::of(module, func, reporter)?;
    let mut graph = GraphBuilder::new(module, plan, func, function, mesh);
    graph.inputs_and_parameters(reporter)?;
    let mut outliner = Outliner::new(graph.module, func);
    for chunk in &chunks.chunks {
        let outlined = outliner.outline(graph.module, chunk, &chunks);
        graph.node(chunk, &outlined, &chunks);
    }
    graph.results(&gradients);
    let count = chunks.chunks.len() as u64;
    graph.module.erase(func);
    Ok(count)
}

/// Fills the graph, with the value that stands for each of the function's.
struct GraphBuilder<'m> {
    module: &'m mut Module,
    func: Op,
    graph: Op,
    mesh: Name,
    values: FxHashMap<Value, Value>,
}

impl<'m> GraphBuilder<'m> {
    fn new(module: &'m mut Module, plan: Op, func: Op, function: Name, mesh: Name) -> Self {
        let ctx = module.ctx_arc();
        let loc = module.op_loc(plan);
        let name = module.symbol_name(plan).unwrap_or("step").to_owned();
        let mut b = Builder::after(module, plan);
        // The plan keeps its name for the directives still to come; the graph is the step it plans.
        b.set_loc(loc);
        let state = b
            .state("dag.graph")
            .attr(&ctx, "sym_name", ctx.str_attr(&format!("{name}_step")))
            .attr(&ctx, "function", ctx.symbol_attr_of(function))
            .attr(&ctx, "mesh", ctx.symbol_attr_of(mesh))
            .region();
        let graph = b.insert(state);
        let region = module.regions(graph)[0];
        module.add_block(region);
        Self { module, func, graph, mesh, values: FxHashMap::default() }
    }

    fn everywhere(&self, ty: piper_ir::Type) -> Dist {
        Dist::everywhere(self.module.ctx(), ty, self.mesh)
    }

    fn builder(&mut self) -> Builder<'_> {
        let block = self.module.only_block(self.graph).expect("the graph has a block");
        Builder::at_end(self.module, block)
    }

    fn inputs_and_parameters(&mut self, reporter: &mut Reporter<'_>) -> PassResult {
        let ctx = self.module.ctx_arc();
        let body = self.module.only_block(self.func).expect("a differentiated function has a body");
        for (i, arg) in self.module.args(body).to_vec().into_iter().enumerate() {
            let name = self
                .module
                .value_name(arg)
                .map_or_else(|| format!("arg{i}"), |n| n.text(&ctx).to_owned());
            let mut dist = self.everywhere(self.module.ty(arg));
            dist.held = None;
            let batch = func::arg_attr(self.module, self.func, i, "batch_dim");
            let (ty, loc) = (dist.ty(&ctx), self.module.op_loc(self.func));
            let mut b = self.builder();
            b.set_loc(loc);
            let state = b
                .state("dag.input")
                .attr(&ctx, "name", ctx.str_attr(&name))
                .attr_if(&ctx, "batch_dim", batch)
                .results([ty]);
            let value = b.value(state);
            self.module.set_value_name(value, ctx.name(&name));
            self.values.insert(arg, value);
        }
        let parameters: Vec<Op> = self
            .module
            .ops(body)
            .filter(|op| self.module.name_text(*op) == nn::Parameter::NAME)
            .collect();
        let mut known: FxHashMap<Attr, (Op, Value)> = FxHashMap::default();
        for op in parameters {
            let view = nn::Parameter(op);
            let (name, init, result) =
                (view.name(self.module), view.init(self.module), view.w(self.module));
            if let Some(&(first, value)) = known.get(&name) {
                let other = nn::Parameter(first);
                if self.module.ty(other.w(self.module)) != self.module.ty(result)
                    || other.init(self.module) != init
                {
                    let text = name.display(&ctx);
                    reporter
                        .error(self.module.op_loc(op), format!("parameter {text} is declared before with another type or initialiser"))
                        .note(self.module.op_loc(first), "previously declared here");
                    return Err(PassFailed);
                }
                self.values.insert(result, value);
                continue;
            }
            let (ty, loc) =
                (self.everywhere(self.module.ty(result)).ty(&ctx), self.module.op_loc(op));
            let mut b = self.builder();
            b.set_loc(loc);
            let state = b
                .state("dag.parameter")
                .attr(&ctx, "name", name)
                .attr(&ctx, "init", init)
                .results([ty]);
            let value = b.value(state);
            if let Some(hint) = self.module.value_name(result) {
                self.module.set_value_name(value, hint);
            }
            known.insert(name, (op, value));
            self.values.insert(result, value);
        }
        Ok(())
    }

    fn node(&mut self, chunk: &Chunk, outlined: &outline::Outlined, chunks: &Chunks) {
        let ctx = self.module.ctx_arc();
        let operands: Vec<Value> = outlined.inputs.iter().map(|v| self.values[v]).collect();
        let results: Vec<_> =
            outlined.outputs.iter().map(|v| self.result_dist(*v, chunks).ty(&ctx)).collect();
        let loc = self.module.op_loc(*chunk.ops.last().expect("a chunk has operations"));
        let mut b = self.builder();
        b.set_loc(loc);
        let state = b
            .state("dag.compute")
            .operands(operands)
            .results(results)
            .attr(&ctx, "callee", ctx.symbol_attr_of(outlined.symbol))
            .attr(&ctx, "node", ctx.str_attr(&chunk.node_name()))
            .attr(&ctx, "kind", ctx.str_attr(if chunk.forward { "F" } else { "B" }))
            .attr(&ctx, "tags", chunk.tags);
        let op = b.insert(state);
        for (old, new) in outlined.outputs.iter().zip(self.module.results(op)) {
            self.values.insert(*old, new);
            if let Some(hint) = self.module.value_name(*old) {
                self.module.set_value_name(new, hint);
            }
        }
    }

    /// The distribution of a value that leaves a chunk: whole, or one of a parameter's several contributions.
    fn result_dist(&self, value: Value, chunks: &Chunks) -> Dist {
        let mut dist = self.everywhere(self.module.ty(value));
        if let Some(&(index, uses)) = chunks.contributions.get(&value)
            && uses > 1
        {
            dist.held = Some(Held::one(uses, index, 0));
        }
        dist
    }

    /// Loss and gradients.
    fn results(&mut self, gradients: &[Attr]) {
        let ctx = self.module.ctx_arc();
        let returned: Vec<Value> = func::Func(self.func)
            .terminator(self.module)
            .map_or(Vec::new(), |end| self.module.operands(end.0).collect());
        let mut order: Vec<Attr> = Vec::new();
        let mut by_parameter: FxHashMap<Attr, Vec<Value>> = FxHashMap::default();
        for (name, value) in gradients.iter().zip(&returned[1..]) {
            let contributions = by_parameter.entry(*name).or_default();
            if contributions.is_empty() {
                order.push(*name);
            }
            contributions.push(self.values[value]);
        }
        let loss = self.values[&returned[0]];
        let loc = self.module.op_loc(self.func);
        let mut b = self.builder();
        b.set_loc(loc);
        let state = b.state("dag.output").operands([loss]).attr(&ctx, "name", ctx.str_attr("loss"));
        b.insert(state);
        let mut sums = Sums::default();
        for name in order {
            let total = sums.sum(&mut self.builder(), &by_parameter[&name], Shape::Chain);
            let ty = self.module.ty(total);
            let loc = self.module.defining_op(total).map_or(loc, |op| self.module.op_loc(op));
            let mut b = self.builder();
            b.set_loc(loc);
            let state =
                b.state("dag.gradient").operands([total]).results([ty]).attr(&ctx, "name", name);
            b.insert(state);
        }
    }
}
