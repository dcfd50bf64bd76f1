//! Launches of chunk bodies in device programs become launches of their kernels.
//!
//! ```mlir
//! device.launch @f0 reads(%x, %w0, %w1) writes(%y) on "compute" name "f0.3"
//! ```
//! with `@f0` two kernels one after the other becomes
//! ```mlir
//! %h = device.buffer "f0.3.h" : memref<64xf32>
//! device.launch @gemm0 reads(%x, %w0) writes(%h) on "compute" name "f0.3.gemm0"
//! device.launch @gemm1 reads(%h, %w1) writes(%y) on "compute" name "f0.3.gemm1"
//! ```
//! so that `memory-plan` knows of every byte. All launches of one chunk stay on its stream, where it stood.

use std::rc::Rc;

use piper_dialects::{device, func, kernel};
use piper_ir::pass::PassFailed;
use piper_ir::{
    Attr, Context, Loc, Module, Name, OPERAND_SEGMENTS, Op, OpState, Reporter, Type, TypeData,
    Value,
};
use rustc_hash::FxHashMap;

/// A buffer of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// What the launch reads, by position.
    Argument(usize),
    /// What it writes.
    Result(usize),
    /// A buffer of its own.
    Temporary(usize),
}

/// One instruction of an expanded launch.
#[derive(Debug)]
enum Step {
    Launch { callee: Attr, label: String, reads: Vec<Place>, writes: Vec<Place>, loc: Loc },
    Copy { from: Place, to: Place, loc: Loc },
    Fill { to: Place, loc: Loc },
}

/// What a launch becomes.
#[derive(Debug, Default)]
struct Recipe {
    /// Types and names of the buffers it needs, no name twice.
    temporaries: Vec<(Type, String)>,
    steps: Vec<Step>,
}

impl Recipe {
    /// One more buffer, called `label` or, if that is taken, numbered.
    fn temporary(&mut self, ty: Type, label: &str) -> Place {
        let is_free = |name: &String| self.temporaries.iter().all(|(_, taken)| taken != name);
        let name = std::iter::once(label.to_owned())
            .chain((1..).map(|i| format!("{label}_{i}")))
            .find(is_free)
            .expect("names do not run out");
        self.temporaries.push((ty, name));
        Place::Temporary(self.temporaries.len() - 1)
    }
}

/// What launches become, by what they launch; `None` for what stays.
type Recipes = FxHashMap<Op, Option<Rc<Recipe>>>;

/// Expands every launch of a function of kernels in every program of a module.
///
/// # Errors
/// A function with an operation that is no launch; it is reported at the operation.
pub fn expand_launches(module: &mut Module, reporter: &mut Reporter<'_>) -> Result<(), PassFailed> {
    let before = reporter.error_count();
    let plans: Vec<Op> = module
        .top_level()
        .into_iter()
        .filter(|op| device::Plan::cast(module, *op).is_some())
        .collect();
    let mut recipes = Recipes::default();
    for plan in plans {
        let Some(block) = module.only_block(plan) else { continue };
        let programs: Vec<Op> =
            module.ops(block).filter(|op| device::Program::cast(module, *op).is_some()).collect();
        let mut symbols: FxHashMap<Name, Op> = FxHashMap::default();
        for table in [module.body(), block] {
            let named = module
                .ops(table)
                .filter_map(|op| Some((module.ctx().name(module.symbol_name(op)?), op)));
            symbols.extend(named.collect::<Vec<_>>());
        }
        for program in programs {
            expand_program(module, program, &mut symbols, &mut recipes, reporter);
        }
    }
    if reporter.error_count() > before { Err(PassFailed) } else { Ok(()) }
}

fn expand_program(
    module: &mut Module,
    program: Op,
    symbols: &mut FxHashMap<Name, Op>,
    recipes: &mut Recipes,
    reporter: &mut Reporter<'_>,
) {
    let Some(block) = module.only_block(program) else { return };
    let Some(first) = module.ops(block).find(|op| device::is_instruction(module, *op)) else {
        return;
    };
    let launches: Vec<Op> =
        module.ops(block).filter(|op| device::Launch::cast(module, *op).is_some()).collect();
    // Buffers stand before the first instruction; if that is itself expanded, before what it becomes.
    let anchor = marker(module, first);
    for launch in launches {
        let callee = device::Launch(launch).callee(module).as_symbol(module.ctx());
        let Some(&target) = callee.and_then(|name| symbols.get(&name)) else { continue };
        let recipe = recipes
            .entry(target)
            .or_insert_with(|| recipe(module, target, symbols, reporter).map(Rc::new));
        if let Some(recipe) = recipe.clone() {
            expand(module, launch, anchor, &recipe);
        }
    }
    module.erase(anchor);
}

/// A place to insert before, which stays when the instruction after it is replaced.
fn marker(module: &mut Module, before: Op) -> Op {
    let state = OpState::new(module.ctx().op_name("builtin.module"), module.op_loc(before));
    let op = module.create(state);
    module.insert_before(before, op);
    op
}

/// What a launch of a function becomes; `None` for what is a kernel already, or cannot be expanded.
fn recipe(
    module: &mut Module,
    target: Op,
    symbols: &mut FxHashMap<Name, Op>,
    reporter: &mut Reporter<'_>,
) -> Option<Recipe> {
    if device::Kernel::cast(module, target).is_some() {
        return sum_of_squares(module, target, symbols);
    }
    func::Func::cast(module, target)?;
    chunk(module, target, reporter)
}

fn flat(ctx: &Context, elems: i64, element: Type) -> Type {
    ctx.ty(TypeData::MemRef { shape: vec![elems].into(), element, layout: None, space: None })
}

/// A body of launches, with a buffer for every value that does not leave it.
fn chunk(module: &Module, target: Op, reporter: &mut Reporter<'_>) -> Option<Recipe> {
    let ctx = module.ctx();
    let (block, end) = (module.only_block(target)?, func::Func(target).terminator(module)?);
    let mut recipe = Recipe::default();
    let mut places: FxHashMap<Value, Place> = FxHashMap::default();
    places.extend(module.args(block).iter().enumerate().map(|(i, v)| (*v, Place::Argument(i))));
    for (i, value) in module.operands(end.0).enumerate() {
        places.entry(value).or_insert(Place::Result(i));
    }
    for op in module.ops(block).filter(|op| *op != end.0) {
        if kernel::Launch::cast(module, op).is_none() {
            let (name, chunk) =
                (module.name_text(op), module.symbol_name(target).unwrap_or_default());
            reporter
                .error(
                    module.op_loc(op),
                    format!("'{name}' is no kernel, but a device program launches '@{chunk}'"),
                )
                .hint(match module.operands(op).len() {
                    // Whoever writes such an operation may have thought of a parameter.
                    0 => "let it expand to operations of 'nn'; what is trained is 'nn.parameter' alone, to which it may expand",
                    _ => "let it expand to operations of 'nn' ('piper.expand' of a dialect as data)",
                })
                .note(module.op_loc(target), "the chunk begins here");
            return None;
        }
        let callee = kernel::Launch(op).callee(module);
        let label = callee.as_symbol(ctx).map_or("", |name| name.text(ctx)).to_owned();
        for value in module.results(op) {
            let ty = module.ty(value);
            let (elems, element) = (ty.num_elements(ctx)?, ty.as_tensor(ctx)?.1);
            places.entry(value).or_insert_with(|| {
                let name = module.value_name(value).map_or(&*label, |name| name.text(ctx));
                recipe.temporary(flat(ctx, elems as i64, element), name)
            });
        }
        let reads = module.operands(op).map(|v| places[&v]).collect();
        let writes = module.results(op).map(|v| places[&v]).collect();
        recipe.steps.push(Step::Launch { callee, label, reads, writes, loc: module.op_loc(op) });
    }
    // An argument given back, or a value given back twice.
    for (i, value) in module.operands(end.0).enumerate() {
        let (from, to) = (places[&value], Place::Result(i));
        if from != to {
            recipe.steps.push(Step::Copy { from, to, loc: module.op_loc(end.0) });
        }
    }
    Some(recipe)
}

/// Squares are summed tensor by tensor, then their sums in the same order; of no tensor the sum is zero.
fn sum_of_squares(
    module: &mut Module,
    target: Op,
    symbols: &mut FxHashMap<Name, Op>,
) -> Option<Recipe> {
    let ctx = module.ctx_arc();
    let (view, loc) = (device::Kernel(target), module.op_loc(target));
    let (inputs, results) = view.signature(module).as_type(&ctx)?.as_function(&ctx)?;
    let (inputs, result) = (inputs.to_vec(), *results.first()?);
    let is_squares =
        view.kernel(module).as_str(&ctx) == Some(device::BuiltinKernel::SumSquares.name());
    if !is_squares || inputs.len() == 1 {
        return None;
    }
    let to = Place::Result(0);
    if inputs.is_empty() {
        return Some(Recipe { temporaries: Vec::new(), steps: vec![Step::Fill { to, loc }] });
    }
    let mut recipe = Recipe::default();
    for (i, &input) in inputs.iter().enumerate() {
        let (callee, label) =
            builtin(module, target, device::BuiltinKernel::SumSquares, &[input], result, symbols);
        let sum = recipe.temporary(result, &format!("{label}.{i}"));
        let (reads, writes) = (vec![Place::Argument(i)], vec![sum]);
        recipe.steps.push(Step::Launch { callee, label, reads, writes, loc });
    }
    let parts = vec![result; inputs.len()];
    let (callee, label) =
        builtin(module, target, device::BuiltinKernel::Sum, &parts, result, symbols);
    let reads = (0..inputs.len()).map(Place::Temporary).collect();
    recipe.steps.push(Step::Launch { callee, label, reads, writes: vec![to], loc });
    Some(recipe)
}

/// A built-in kernel without constants of this signature, declared beside `like` if there is none.
fn builtin(
    module: &mut Module,
    like: Op,
    kernel: device::BuiltinKernel,
    inputs: &[Type],
    result: Type,
    symbols: &mut FxHashMap<Name, Op>,
) -> (Attr, String) {
    let ctx = module.ctx_arc();
    let signature = ctx.type_attr(ctx.function(inputs, &[result]));
    let block = module.parent_block(like).expect("a kernel stands in a plan");
    let known = module.ops(block).find(|op| {
        device::Kernel::cast(module, *op).is_some_and(|k| {
            k.kernel(module).as_str(&ctx) == Some(kernel.name()) && k.signature(module) == signature
        })
    });
    if let Some(name) = known.and_then(|op| module.symbol_name(op)) {
        return (ctx.symbol_attr(name), name.to_owned());
    }
    let size = match inputs[0].data(&ctx) {
        TypeData::MemRef { shape, element, .. } => {
            format!("{}x{}", shape.first().unwrap_or(&0), element.display(&ctx))
        }
        _ => String::new(),
    };
    let base = format!("{}_{size}", kernel.name());
    let name = std::iter::once(base.clone())
        .chain((1..).map(|i| format!("{base}_{i}")))
        .find(|name| !symbols.contains_key(&ctx.name(name)))
        .expect("names do not run out");
    let state = OpState::new(ctx.op_name(device::Kernel::NAME), module.op_loc(like))
        .attr(&ctx, "sym_name", ctx.str_attr(&name))
        .attr(&ctx, "kernel", ctx.str_attr(kernel.name()))
        .attr(&ctx, "hyper", ctx.dict_attr([]))
        .attr(&ctx, "signature", signature);
    let op = module.create(state);
    module.insert_before(like, op);
    symbols.insert(ctx.name(&name), op);
    (ctx.symbol_attr(&name), name)
}

/// Replaces a launch; its buffers are declared before `anchor`.
fn expand(module: &mut Module, launch: Op, anchor: Op, recipe: &Recipe) {
    let ctx = module.ctx_arc();
    let view = device::Launch(launch);
    let arguments: Vec<Value> = view.reads(module).chain(view.updates(module)).collect();
    let results: Vec<Value> = view.writes(module).collect();
    let (stream, loc) = (view.stream(module), module.op_loc(launch));
    let name = view.name(module).and_then(|n| n.as_str(&ctx)).map(str::to_owned);
    let callee = view.callee(module).as_symbol(&ctx).map_or("", |n| n.text(&ctx)).to_owned();
    let prefix = name.clone().unwrap_or(callee);
    let discardable: Vec<(Name, Attr)> = module.discardable(launch).collect();
    let (buffer_op, launch_op) =
        (ctx.op_name(device::Buffer::NAME), ctx.op_name(device::Launch::NAME));
    let declare = |(ty, own): &(Type, String)| {
        let name = format!("{prefix}.{own}");
        let state =
            OpState::new(buffer_op, loc).results([*ty]).attr(&ctx, "name", ctx.str_attr(&name));
        let op = module.create(state);
        module.insert_before(anchor, op);
        let buffer = module.result(op, 0);
        module.set_value_name(buffer, ctx.name(&name));
        buffer
    };
    let temporaries: Vec<Value> = recipe.temporaries.iter().map(declare).collect();
    let buffer = |place: &Place| match *place {
        Place::Argument(i) => arguments[i],
        Place::Result(i) => results[i],
        Place::Temporary(i) => temporaries[i],
    };
    for step in &recipe.steps {
        let mut state = match step {
            Step::Launch { callee, label, reads, writes, loc } => {
                let operands = reads.iter().chain(writes).map(buffer);
                let segments = [reads.len() as i64, 0, writes.len() as i64];
                OpState::new(launch_op, *loc)
                    .operands(operands)
                    .attr(&ctx, "callee", *callee)
                    .attr(&ctx, OPERAND_SEGMENTS, ctx.i32_array_attr(&segments))
                    .attr_if(
                        &ctx,
                        "name",
                        name.as_ref().map(|n| ctx.str_attr(&format!("{n}.{label}"))),
                    )
            }
            Step::Copy { from, to, loc } => OpState::new(ctx.op_name(device::Copy::NAME), *loc)
                .operands([buffer(from), buffer(to)])
                .attr_if(&ctx, "name", name.as_ref().map(|n| ctx.str_attr(n))),
            Step::Fill { to, loc } => OpState::new(ctx.op_name(device::Fill::NAME), *loc)
                .operands([buffer(to)])
                .attr(&ctx, "value", ctx.float_attr(0.0))
                .attr_if(&ctx, "name", name.as_ref().map(|n| ctx.str_attr(n))),
        };
        state = state.attr(&ctx, "stream", stream);
        state.attrs.extend(&discardable);
        let op = module.create(state);
        module.insert_before(launch, op);
    }
    module.erase(launch);
}
