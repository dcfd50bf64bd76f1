//! Chunk bodies as functions; equal bodies are one function.

use piper_dialects::nn::{self, Along};
use piper_dialects::{func, strategy};
use piper_ir::{AttrData, Builder, Module, Name, Op, OpState, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::chunks::{Chunk, Chunks};

/// An outlined chunk: its function and the outer values that are its arguments and results.
pub(super) struct Outlined {
    pub(super) symbol: Name,
    pub(super) inputs: Vec<Value>,
    pub(super) outputs: Vec<Value>,
}

/// Makes functions of chunks, before the function they come from.
pub(super) struct Outliner {
    func: Op,
    /// By an exact encoding of the body, so that equality needs no second look.
    known: FxHashMap<Vec<u32>, Name>,
    taken: FxHashSet<String>,
}

impl Outliner {
    pub(super) fn new(module: &Module, func: Op) -> Self {
        let table = module.parent_op(func).and_then(|op| module.only_block(op));
        let taken = table.into_iter().flat_map(|b| module.ops(b)).filter_map(|op| module.symbol_name(op).map(str::to_owned)).collect();
        Self { func, known: FxHashMap::default(), taken }
    }

    pub(super) fn outline(&mut self, module: &mut Module, chunk: &Chunk, chunks: &Chunks) -> Outlined {
        let (inputs, outputs) = boundary(module, chunk, chunks);
        let key = encode(module, chunk, &inputs, &outputs, chunks);
        if let Some(&symbol) = self.known.get(&key) {
            return Outlined { symbol, inputs, outputs };
        }
        let mut name = chunk.node_name();
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        let symbol = module.ctx().name(&name);
        self.emit(module, chunk, &name, &inputs, &outputs, chunks);
        self.known.insert(key, symbol);
        Outlined { symbol, inputs, outputs }
    }

    fn emit(&self, module: &mut Module, chunk: &Chunk, name: &str, inputs: &[Value], outputs: &[Value], chunks: &Chunks) {
        let ctx = module.ctx_arc();
        let types = |module: &Module, values: &[Value]| values.iter().map(|v| module.ty(*v)).collect::<Vec<_>>();
        let ty = ctx.function(&types(module, inputs), &types(module, outputs));
        let loc = module.op_loc(chunk.ops[0]);
        let mut b = Builder::before(module, self.func);
        b.set_loc(loc);
        let state = b
            .state("func.func")
            .attr(&ctx, "sym_name", ctx.str_attr(name))
            .attr(&ctx, "function_type", ctx.type_attr(ty))
            .attr(&ctx, "sym_visibility", ctx.str_attr("private"))
            .region();
        let function = b.insert(state);
        let region = module.regions(function)[0];
        let block = module.add_block(region);
        let mut map = FxHashMap::default();
        for (i, &input) in inputs.iter().enumerate() {
            let ty = module.ty(input);
            let arg = module.add_arg(block, ty);
            if let Some(hint) = module.value_name(input) {
                module.set_value_name(arg, hint);
            }
            map.insert(input, arg);
            if let Some(Along::Dim(dim)) = chunks.along.get(&input) {
                func::set_arg_attr(module, function, i, "batch_dim", ctx.int_attr(*dim as i64));
            }
        }
        let (tags, pass) = (ctx.name(strategy::TAGS), ctx.name("pass"));
        let by_name: FxHashMap<_, Value> = inputs.iter().map(|v| (canonical(module, *v), map[v])).collect();
        for &op in &chunk.ops {
            for value in module.operands(op) {
                if let Some(&arg) = by_name.get(&canonical(module, value)) {
                    map.insert(value, arg);
                }
            }
            let copy = module.clone_op(op, &mut map);
            module.append(block, copy);
            module.remove_attr(copy, tags);
            // Backward bodies keep it: `split_backward` cuts along it.
            if chunk.forward {
                module.remove_attr(copy, pass);
            }
        }
        let results: Vec<Value> = outputs.iter().map(|v| map[v]).collect();
        let end = module.create(OpState::new(ctx.op_name("func.return"), loc).operands(results));
        module.append(block, end);
    }
}

/// Values that enter a chunk, by first use, and values that leave it, by definition.
fn boundary(module: &Module, chunk: &Chunk, chunks: &Chunks) -> (Vec<Value>, Vec<Value>) {
    let (mut inputs, mut seen) = (Vec::new(), FxHashSet::default());
    let here = chunks.of_op[&chunk.ops[0]];
    let mut outputs = Vec::new();
    for &op in &chunk.ops {
        for value in module.operands(op) {
            let inside = module.defining_op(value).is_some_and(|def| chunks.of_op.get(&def) == Some(&here));
            if !inside && seen.insert(canonical(module, value)) {
                inputs.push(value);
            }
        }
        for value in module.results(op) {
            if module.uses(value).any(|u| chunks.of_op.get(&u.op) != Some(&here)) {
                outputs.push(value);
            }
        }
    }
    (inputs, outputs)
}

/// Two declarations of one parameter are one value.
fn canonical(module: &Module, value: Value) -> Result<Value, piper_ir::Attr> {
    match module.defining_op(value) {
        Some(op) if module.name_text(op) == nn::Parameter::NAME => Err(nn::Parameter(op).name(module)),
        _ => Ok(value),
    }
}

/// The body as numbers: operations with attributes, operands as positions, and types. Locations and names of values are left out.
fn encode(module: &Module, chunk: &Chunk, inputs: &[Value], outputs: &[Value], chunks: &Chunks) -> Vec<u32> {
    let ctx = module.ctx();
    let mut numbers: FxHashMap<Value, u32> = FxHashMap::default();
    let mut code = vec![u32::from(chunk.forward), inputs.len() as u32, outputs.len() as u32];
    for &input in inputs {
        numbers.insert(input, numbers.len() as u32);
        code.push(module.ty(input).index() as u32);
        code.push(match chunks.along.get(&input) {
            Some(Along::Dim(dim)) => *dim as u32 + 1,
            _ => 0,
        });
    }
    let inputs_by_name: FxHashMap<_, u32> = inputs.iter().map(|v| (canonical(module, *v), numbers[v])).collect();
    for &op in &chunk.ops {
        code.push(module.name(op).index() as u32);
        code.push(module.num_operands(op) as u32);
        for value in module.operands(op) {
            let number = numbers.get(&value).or_else(|| inputs_by_name.get(&canonical(module, value)));
            code.push(number.copied().unwrap_or(u32::MAX));
        }
        for (name, attr) in module.all_attrs(op) {
            if matches!(name.text(ctx), strategy::TAGS) || (chunk.forward && name.text(ctx) == "pass") || matches!(attr.data(ctx), AttrData::Loc(_)) {
                continue;
            }
            code.extend([name.index() as u32, attr.index() as u32]);
        }
        code.push(u32::MAX);
        for value in module.results(op) {
            numbers.insert(value, numbers.len() as u32);
            code.push(module.ty(value).index() as u32);
        }
    }
    code.extend(outputs.iter().map(|v| numbers[v]));
    code
}
