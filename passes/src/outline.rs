//! Making a function of operations.

use piper_dialects::func;
use piper_dialects::nn::Along;
use piper_ir::{Builder, Module, Op, OpState, Value};
use rustc_hash::FxHashMap;

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
fn argument(module: &mut Module, block: piper_ir::Block, value: Value) -> Value {
    let ty = module.ty(value);
    let arg = module.add_arg(block, ty);
    if let Some(hint) = module.value_name(value) {
        module.set_value_name(arg, hint);
    }
    arg
}
