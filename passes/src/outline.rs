//! Making functions of operations, and nodes that call them.

use piper_dialects::dag::{AxisSizes, Compute, Dist};
use piper_dialects::func;
use piper_dialects::nn::Along;
use piper_ir::{Attr, Builder, Module, Name, Op, OpState, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::nodes::compute_nodes;

/// What a function is made of.
pub(crate) struct Body<'a> {
    /// Its symbol.
    pub(crate) name: &'a str,
    /// The operations, in order; they stay where they are.
    pub(crate) ops: &'a [Op],
    /// Values that become arguments.
    pub(crate) inputs: &'a [Value],
    /// Values that become results.
    pub(crate) outputs: &'a [Value],
    /// How values vary with the batch: what the arguments' `batch_dim` is taken from.
    pub(crate) along: &'a FxHashMap<Value, Along>,
    /// Discardable attributes that the copies do not keep.
    pub(crate) dropped: &'a [&'a str],
}

impl Body<'_> {
    /// Inserts the private function at the builder's place. `stand_ins` are other values that mean one of the inputs.
    pub(crate) fn outline(&self, mut b: Builder<'_>, stand_ins: &[(Value, Value)]) -> Op {
        let ctx = b.module.ctx_arc();
        let types = |values: &[Value]| values.iter().map(|v| b.module.ty(*v)).collect::<Vec<_>>();
        let ty = ctx.function(&types(self.inputs), &types(self.outputs));
        let loc = b.module.op_loc(self.ops[0]);
        b.set_loc(loc);
        let state = b
            .state(func::Func::NAME)
            .attr(&ctx, "sym_name", ctx.str_attr(self.name))
            .attr(&ctx, "function_type", ctx.type_attr(ty))
            .attr(&ctx, "sym_visibility", ctx.str_attr("private"))
            .region();
        let function = b.insert(state);
        let module = b.module;
        let region = module.regions(function)[0];
        let block = module.add_block(region);
        let mut map = FxHashMap::default();
        for (i, &input) in self.inputs.iter().enumerate() {
            let arg = argument(module, block, input);
            map.insert(input, arg);
            if let Some(Along::Dim(dim)) = self.along.get(&input) {
                func::set_arg_attr(module, function, i, "batch_dim", ctx.int_attr(*dim as i64));
            }
        }
        for (other, input) in stand_ins {
            map.insert(*other, map[input]);
        }
        for &op in self.ops {
            let copy = module.clone_op(op, &mut map);
            module.append(block, copy);
            for name in self.dropped {
                module.remove_attr(copy, ctx.name(name));
            }
        }
        let results = self.outputs.iter().map(|v| map[v]);
        let end = OpState::new(ctx.op_name(func::Return::NAME), loc).operands(results);
        let end = module.create(end);
        module.append(block, end);
        function
    }
}

/// Adds an argument that has the type and the name of a value.
pub(crate) fn argument(module: &mut Module, block: piper_ir::Block, value: Value) -> Value {
    let ty = module.ty(value);
    let arg = module.add_arg(block, ty);
    if let Some(hint) = module.value_name(value) {
        module.set_value_name(arg, hint);
    }
    arg
}

/// Erases those of the bodies that no node calls any more.
pub(crate) fn erase_uncalled(
    module: &mut Module,
    graph: Op,
    bodies: impl IntoIterator<Item = Attr>,
) {
    let ctx = module.ctx_arc();
    let mut called: FxHashSet<Attr> =
        compute_nodes(module, graph).into_iter().map(|op| Compute(op).callee(module)).collect();
    for body in bodies {
        // Erased once, however often it is named.
        if called.insert(body)
            && let Some(func) =
                body.as_symbol(&ctx).and_then(|name| module.lookup_nearest(graph, name.text(&ctx)))
        {
            module.erase(func);
        }
    }
}

/// Types of values of a node's body as further results of the node: like its other values, with the batch divided as in the
/// body.
pub(crate) fn residual_types(module: &Module, node: Op, values: &[(Type, Along)]) -> Vec<Type> {
    let ctx = module.ctx();
    let like =
        module.operands(node).map(|v| Dist::of(ctx, module.ty(v)).expect("a value of the graph"));
    // The home and the axes of the batch are those of any value of the node that varies with the batch.
    let batch = like.clone().find(|d| d.dims.iter().any(|axes| !axes.is_empty()));
    let any = like.clone().next().expect("a node has operands");
    let axes: Vec<Name> = batch
        .as_ref()
        .and_then(|d| d.dims.iter().find(|a| !a.is_empty()).cloned())
        .unwrap_or_default();
    let sizes =
        AxisSizes::of_graph(module, module.parent_op(node).expect("a node stands in a graph"));
    let parts: i64 = axes.iter().filter_map(|a| sizes.get(*a)).product();
    let ty = |(ty, along): &(Type, Along)| {
        let (shape, element) = ty.as_tensor(ctx).expect("chunks pass tensors");
        let mut shape = shape.to_vec();
        let mut dist = Dist::everywhere(ctx, *ty, any.mesh);
        dist.home = batch.as_ref().unwrap_or(&any).home.clone();
        if let Along::Dim(dim) = along {
            shape[*dim] *= parts;
            dist.dims[*dim] = axes.clone();
        }
        dist.tensor = ctx.tensor(&shape, element);
        dist.ty(ctx)
    };
    values.iter().map(ty).collect()
}
