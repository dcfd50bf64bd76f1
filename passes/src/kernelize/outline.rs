//! Groups as kernels; equal kernels are one.

use piper_dialects::kernel::Fusion;
use piper_dialects::nn::GivenCostOf;
use piper_dialects::{func, kernel, nn};
use piper_ir::{Builder, Module, Name, Op, OpState, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::cost;
use super::groups::Group;

/// The kernels made so far.
pub(super) struct Kernels {
    /// By an exact encoding of the body: equal encodings, equal kernels.
    known: FxHashMap<Vec<u32>, Name>,
    taken: FxHashSet<String>,
    /// How many there are of a kind, for their names.
    counts: FxHashMap<&'static str, usize>,
}

impl Kernels {
    /// No kernels yet; names that the module has stay free of them.
    pub(super) fn of(module: &Module) -> Self {
        let symbols = module.walk(module.root()).filter_map(|op| module.symbol_name(op));
        let taken = symbols.map(str::to_owned).collect();
        Self { known: FxHashMap::default(), taken, counts: FxHashMap::default() }
    }

    /// How many kernels were made.
    pub(super) fn made(&self) -> usize {
        self.known.len()
    }

    /// Replaces the groups of a function by launches.
    pub(super) fn launch(&mut self, module: &mut Module, function: Op, groups: &[Group]) {
        let Some(end) = func::Func(function).terminator(module) else { return };
        let ctx = module.ctx_arc();
        let mut map: FxHashMap<Value, Value> = FxHashMap::default();
        let body: Vec<Op> =
            func::Func(function).block(module).map_or(Vec::new(), |b| module.ops(b).collect());
        let mut replaced: FxHashSet<Op> = FxHashSet::default();
        for group in groups {
            if group.kind.is_none() {
                let op = group.ops[0];
                let operands = remap(&map, module.operands(op));
                module.set_operands(op, &operands);
                module.move_before(op, end.0);
                continue;
            }
            let (arguments, results) = boundary(module, group);
            let symbol = self.kernel(module, function, group, &arguments, &results);
            let types: Vec<_> = results.iter().map(|v| module.ty(*v)).collect();
            let state =
                OpState::new(ctx.op_name(kernel::Launch::NAME), module.op_loc(group.ops[0]))
                    .operands(remap(&map, arguments.iter().copied()))
                    .results(types)
                    .attr(&ctx, "callee", ctx.symbol_attr_of(symbol));
            let launch = module.create(state);
            module.insert_before(end.0, launch);
            for (&old, new) in results.iter().zip(module.results(launch)) {
                map.insert(old, new);
                if let Some(name) = module.value_name(old) {
                    module.set_value_name(new, name);
                }
            }
            replaced.extend(&group.ops);
        }
        let operands = remap(&map, module.operands(end.0));
        module.set_operands(end.0, &operands);
        for op in body.into_iter().rev().filter(|op| replaced.contains(op)) {
            module.erase(op);
        }
    }

    /// The kernel of a group, made if there is no equal one.
    fn kernel(
        &mut self,
        module: &mut Module,
        function: Op,
        group: &Group,
        arguments: &[Value],
        results: &[Value],
    ) -> Name {
        let key = encode(module, group, arguments, results);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let name = self.name(module, group);
        define(module, function, group, &name, arguments, results);
        let symbol = module.ctx().name(&name);
        self.known.insert(key, symbol);
        symbol
    }
}

impl Kernels {
    /// A free name: of the kind, or of the declared function that a kernel stands for.
    fn name(&mut self, module: &Module, group: &Group) -> String {
        let kind = group.kind.unwrap_or("map");
        if let Some(declared) = declared_name(module, group.ops[0]) {
            let half = kind.strip_prefix("opaque").unwrap_or(kind);
            let base = format!("{declared}{}", if half.is_empty() { "_fwd" } else { half });
            let names = (0..).map(|i| if i == 0 { base.clone() } else { format!("{base}{i}") });
            return names.into_iter().find(|name| self.taken.insert(name.clone())).unwrap_or(base);
        }
        loop {
            let count = self.counts.entry(kind).or_default();
            let name = format!("{kind}{count}");
            *count += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// The declared function that an operation stands for.
fn declared_name(module: &Module, op: Op) -> Option<&str> {
    GivenCostOf::of(module, op)?;
    Some(module.attr_by(op, "callee")?.as_symbol(module.ctx())?.text(module.ctx()))
}

fn remap(map: &FxHashMap<Value, Value>, values: impl Iterator<Item = Value>) -> Vec<Value> {
    values.map(|v| map.get(&v).copied().unwrap_or(v)).collect()
}

/// Whether a kernel takes the operands of its first operation exchanged: a product that gives its result transposed is the
/// product of the exchanged factors.
fn is_exchanged(module: &Module, op: Op) -> bool {
    nn::LinearDw::cast(module, op).is_some_and(|dw| dw.transpose_w(module).is_some())
}

/// The operands of an operation in the order in which a kernel of its own takes them.
fn own_operands(module: &Module, op: Op) -> Vec<Value> {
    let mut operands: Vec<Value> = module.operands(op).collect();
    if is_exchanged(module, op) {
        operands.reverse();
    }
    operands
}

/// The values a kernel takes and gives. What is not elementwise takes its own operands, each in its place; the elementwise
/// operations after it take every further value once.
pub(super) fn boundary(module: &Module, group: &Group) -> (Vec<Value>, Vec<Value>) {
    let is_inside =
        |value: Value| module.defining_op(value).is_some_and(|op| group.ops.contains(&op));
    let has_heart = group.kind != Some("map");
    let mut arguments = if has_heart { own_operands(module, group.ops[0]) } else { Vec::new() };
    let own = arguments.len();
    for &op in &group.ops[usize::from(has_heart)..] {
        for value in module.operands(op) {
            if !is_inside(value) && !arguments[own..].contains(&value) {
                arguments.push(value);
            }
        }
    }
    // Kernels of their own kind write all they compute; of the others only what is read elsewhere exists.
    let is_alone = group.ops.len() == 1;
    let is_whole = is_alone && !matches!(group.kind, Some("map" | "gemm"));
    let leaves = |value: &Value| {
        let is_repeated = !is_alone
            && Fusion::of(module, module.defining_op(*value).expect("a result"))
                == Some(Fusion::Fill);
        is_whole || !is_repeated && module.uses(*value).any(|used| !group.ops.contains(&used.op))
    };
    let results = group.ops.iter().flat_map(|op| module.results(*op)).filter(leaves).collect();
    (arguments, results)
}

/// Which argument an operand is within a kernel: of the first operation's operands by place, of others by value.
struct Numbers {
    own: Vec<u32>,
    by_value: FxHashMap<Value, u32>,
}

impl Numbers {
    fn new(module: &Module, group: &Group, arguments: &[Value]) -> Self {
        let heart = (group.kind != Some("map")).then(|| group.ops[0]);
        let count = heart.map_or(0, |op| module.num_operands(op));
        let mut own: Vec<u32> = (0..count as u32).collect();
        if heart.is_some_and(|op| is_exchanged(module, op)) {
            own.reverse();
        }
        Self { own, by_value: arguments.iter().copied().zip(0..).skip(count).collect() }
    }

    /// Argument number of operand `index` of operation number `at`; `None` if it is made inside.
    fn of(&self, at: usize, index: usize, value: Value) -> Option<u32> {
        match self.own.get(index).filter(|_| at == 0) {
            Some(number) => Some(*number),
            None => self.by_value.get(&value).copied(),
        }
    }
}

/// The body as numbers: operations with attributes, operands as positions, and types. Places and names are left out.
fn encode(module: &Module, group: &Group, arguments: &[Value], results: &[Value]) -> Vec<u32> {
    let ctx = module.ctx();
    let numbers = Numbers::new(module, group, arguments);
    let mut code = vec![arguments.len() as u32, results.len() as u32];
    code.extend(arguments.iter().map(|v| module.ty(*v).index() as u32));
    let mut made: FxHashMap<Value, u32> = FxHashMap::default();
    for (at, &op) in group.ops.iter().enumerate() {
        code.extend([module.name(op).index() as u32, module.num_operands(op) as u32]);
        for (index, value) in module.operands(op).enumerate() {
            let number = numbers.of(at, index, value);
            code.push(number.unwrap_or_else(|| arguments.len() as u32 + made[&value]));
        }
        for (name, attr) in module.declared(op) {
            code.extend([ctx.name(name).index() as u32, attr.index() as u32]);
        }
        code.push(u32::MAX);
        for value in module.results(op) {
            made.insert(value, made.len() as u32);
            code.push(module.ty(value).index() as u32);
        }
        code.push(u32::MAX);
    }
    code.extend(results.iter().map(|v| made[v]));
    code
}

/// Makes a `kernel.func` before the function that launches it first.
fn define(
    module: &mut Module,
    function: Op,
    group: &Group,
    name: &str,
    arguments: &[Value],
    results: &[Value],
) {
    let ctx = module.ctx_arc();
    let numbers = Numbers::new(module, group, arguments);
    let types = |module: &Module, values: &[Value]| {
        values.iter().map(|v| module.ty(*v)).collect::<Vec<_>>()
    };
    let ty = ctx.function(&types(module, arguments), &types(module, results));
    let is_own = !matches!(group.kind, Some("map" | "gemm"));
    let cost = cost::of(module, &group.ops, is_own, arguments, results);
    let loc = module.op_loc(group.ops[0]);
    let mut b = Builder::before(module, function);
    let state = b
        .state(kernel::Func::NAME)
        .attr(&ctx, "sym_name", ctx.str_attr(name))
        .attr(&ctx, "function_type", ctx.type_attr(ty))
        .attr(&ctx, "kind", ctx.str_attr(group.kind.unwrap_or("map")))
        .attr_if(&ctx, "flops", cost.flops.map(|flops| ctx.int_attr(flops as i64)))
        .attr_if(&ctx, "bytes", cost.bytes.map(|bytes| ctx.int_attr(bytes as i64)))
        .attr_if(&ctx, "cost", cost::stated(&ctx, cost))
        .region();
    let made = b.set_loc(loc).insert(state);
    let region = module.regions(made)[0];
    let block = module.add_block(region);
    let mut parameters = Vec::new();
    for &argument in arguments {
        let ty = module.ty(argument);
        let parameter = module.add_arg(block, ty);
        if let Some(hint) = module.value_name(argument) {
            module.set_value_name(parameter, hint);
        }
        parameters.push(parameter);
    }
    let mut map: FxHashMap<Value, Value> = FxHashMap::default();
    for (at, &op) in group.ops.iter().enumerate() {
        let operands: Vec<Value> = module
            .operands(op)
            .enumerate()
            .map(|(index, v)| match numbers.of(at, index, v) {
                Some(number) => parameters[number as usize],
                None => map[&v],
            })
            .collect();
        let copy = module.clone_op(op, &mut map);
        module.set_operands(copy, &operands);
        let discarded: Vec<Name> = module.discardable(copy).map(|(name, _)| name).collect();
        // They say where the operation stood, not what it computes.
        for name in discarded {
            module.remove_attr(copy, name);
        }
        module.append(block, copy);
    }
    let returned = results.iter().map(|v| map[v]);
    let state = OpState::new(ctx.op_name(kernel::Return::NAME), loc).operands(returned);
    let end = module.create(state);
    module.append(block, end);
}
