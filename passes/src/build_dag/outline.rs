//! Chunk bodies as functions; equal bodies are one function.

use piper_dialects::nn::{self, Along};
use piper_dialects::strategy;
use piper_ir::{AttrData, Builder, Module, Name, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::chunks::{Chunk, Chunks};
use crate::outline::Body;

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
        let taken = table
            .into_iter()
            .flat_map(|b| module.ops(b))
            .filter_map(|op| module.symbol_name(op).map(str::to_owned))
            .collect();
        Self { func, known: FxHashMap::default(), taken }
    }

    pub(super) fn outline(
        &mut self,
        module: &mut Module,
        chunk: &Chunk,
        chunks: &Chunks,
    ) -> Outlined {
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

    fn emit(
        &self,
        module: &mut Module,
        chunk: &Chunk,
        name: &str,
        inputs: &[Value],
        outputs: &[Value],
        chunks: &Chunks,
    ) {
        let by_name: FxHashMap<_, Value> =
            inputs.iter().map(|v| (canonical(module, *v), *v)).collect();
        let operands = chunk.ops.iter().flat_map(|op| module.operands(*op));
        let stand_ins: Vec<_> =
            operands.filter_map(|v| Some((v, *by_name.get(&canonical(module, v))?))).collect();
        // Backward bodies keep `pass`: `split_backward` cuts along it.
        let dropped: &[&str] =
            if chunk.forward { &[strategy::TAGS, "pass"] } else { &[strategy::TAGS] };
        let body = Body { name, ops: &chunk.ops, inputs, outputs, along: &chunks.along, dropped };
        body.outline(Builder::before(module, self.func), &stand_ins);
    }
}

/// Values that enter a chunk, by first use, and values that leave it, by definition.
fn boundary(module: &Module, chunk: &Chunk, chunks: &Chunks) -> (Vec<Value>, Vec<Value>) {
    let (mut inputs, mut seen) = (Vec::new(), FxHashSet::default());
    let here = chunks.of_op[&chunk.ops[0]];
    let mut outputs = Vec::new();
    for &op in &chunk.ops {
        for value in module.operands(op) {
            let inside =
                module.defining_op(value).is_some_and(|def| chunks.of_op.get(&def) == Some(&here));
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
        Some(op) if module.name_text(op) == nn::Parameter::NAME => {
            Err(nn::Parameter(op).name(module))
        }
        _ => Ok(value),
    }
}

/// The body as numbers: operations with attributes, operands as positions, and types. Locations and names of values are left out.
fn encode(
    module: &Module,
    chunk: &Chunk,
    inputs: &[Value],
    outputs: &[Value],
    chunks: &Chunks,
) -> Vec<u32> {
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
    let inputs_by_name: FxHashMap<_, u32> =
        inputs.iter().map(|v| (canonical(module, *v), numbers[v])).collect();
    for &op in &chunk.ops {
        code.push(module.name(op).index() as u32);
        code.push(module.num_operands(op) as u32);
        for value in module.operands(op) {
            let number =
                numbers.get(&value).or_else(|| inputs_by_name.get(&canonical(module, value)));
            code.push(number.copied().unwrap_or(u32::MAX));
        }
        for (name, attr) in module.all_attrs(op) {
            if matches!(name.text(ctx), strategy::TAGS)
                || (chunk.forward && name.text(ctx) == "pass")
                || matches!(attr.data(ctx), AttrData::Loc(_))
            {
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
