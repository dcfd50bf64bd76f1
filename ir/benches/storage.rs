//! What an operation costs in memory, and the elementary changes in time: `cargo bench -p piper-ir --bench storage`
//! (`-- --ops=N --runs=R`).
//!
//! The operation has two operands, one result and one attribute, is not registered, and stands in one block with all
//! others. Times are of the processor. Printed as Markdown, the least of the runs, beside figures of MLIR and pliron that were measured elsewhere.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use piper_ir::{Attr, Context, Module, Name, Op, OpName, OpState, Value};

/// As in the tools.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is measured, and what is known of others: MLIR 19 compiled against its libraries, pliron 0.20. Another machine,
/// another day: they tell orders of magnitude.
const ROWS: &[(&str, &str, &str)] = &[
    ("create and append", "217 to 304 ns", "750 to 2,100 ns"),
    ("walk", "13 to 17 ns", ""),
    ("set an attribute it has", "131 to 177 ns", ""),
    ("add an attribute", "", ""),
    ("replace an operand", "", ""),
    ("replace all uses", "", ""),
    ("erase", "20 to 27 ns", ""),
];

struct Names {
    op: OpName,
    key: Name,
    other_key: Name,
    values: Vec<Attr>,
}

fn main() {
    let option = |name: &str, default: usize| {
        std::env::args().find_map(|a| a.strip_prefix(name)?.parse().ok()).unwrap_or(default)
    };
    let (ops, runs) = (option("--ops=", 1_000_000).max(2), option("--runs=", 5).max(1));
    let mut ctx = Context::new([]);
    ctx.allow_unregistered = true;
    let ctx = Arc::new(ctx);
    let names = Names {
        op: ctx.op_name("d.op"),
        key: ctx.name("k"),
        other_key: ctx.name("l"),
        values: (0..1024).map(|n| ctx.int_attr(n)).collect(),
    };
    let (grown, exact) = bytes(&ctx, &names, ops);
    let mut least = vec![f64::INFINITY; ROWS.len()];
    for _ in 0..runs {
        for (least, time) in least.iter_mut().zip(times(&ctx, &names, ops)) {
            *least = least.min(time * 1e9 / ops as f64);
        }
    }
    println!(
        "| {ops} operations, least of {runs} runs | Piper | MLIR 19 | pliron 0.20 |\n|---|---:|---:|---:|"
    );
    println!("| bytes, room reserved | {exact:.0} | 176 | 646 |");
    println!("| bytes, arenas grown by doubling | {grown:.0} | | |");
    for ((name, mlir, pliron), time) in ROWS.iter().zip(least) {
        println!("| {name} | {time:.1} ns | {mlir} | {pliron} |");
    }
}

/// Bytes of the arenas for each operation: grown as they fill, and with room made before.
fn bytes(ctx: &Arc<Context>, names: &Names, ops: usize) -> (f64, f64) {
    let measure = |reserved: bool| {
        let mut module = Module::new(Arc::clone(ctx));
        if reserved {
            // The argument is a value, too.
            module.reserve(ops + 1);
        }
        fill(&mut module, names, ops);
        module.allocated_bytes() as f64 / ops as f64
    };
    (measure(false), measure(true))
}

/// Seconds of each row.
fn times(ctx: &Arc<Context>, names: &Names, ops: usize) -> Vec<f64> {
    let mut module = Module::new(Arc::clone(ctx));
    let mut seconds = Vec::new();
    let mut timed = |module: &mut Module, act: &mut dyn FnMut(&mut Module)| {
        let start = clock();
        act(module);
        seconds.push(clock() - start);
    };
    let mut all: Vec<Op> = Vec::with_capacity(ops);
    let mut argument = None;
    timed(&mut module, &mut |m| argument = Some(fill(m, names, ops)));
    let argument = argument.expect("it was filled");
    timed(&mut module, &mut |m| {
        black_box(m.walk(m.root()).filter(|&op| m.name(op) == names.op).count());
    });
    all.extend(module.ops(module.body()));
    timed(&mut module, &mut |m| {
        for (i, &op) in all.iter().enumerate() {
            m.set_attr(op, names.key, names.values[(i + 1) % names.values.len()]);
        }
    });
    timed(&mut module, &mut |m| {
        for (i, &op) in all.iter().enumerate() {
            m.set_attr(op, names.other_key, names.values[i % names.values.len()]);
        }
    });
    timed(&mut module, &mut |m| {
        for &op in &all {
            m.set_operand(op, 1, argument);
        }
    });
    timed(&mut module, &mut |m| {
        for &op in &all {
            let result = m.result(op, 0);
            m.replace_uses(result, argument);
        }
    });
    timed(&mut module, &mut |m| {
        for &op in all.iter().rev() {
            m.erase(op);
        }
    });
    seconds
}

/// Seconds that this thread had a processor, where the kernel says so, or of the wall clock.
fn clock() -> f64 {
    let on_processor = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
    };
    let wall =
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
    on_processor().unwrap_or_else(wall)
}

/// Appends the operations, each using the two results before it; returns an argument of the block they stand in.
fn fill(module: &mut Module, names: &Names, ops: usize) -> Value {
    let (ty, loc) = (module.ctx().i64(), module.ctx().unknown_loc());
    let block = module.body();
    let argument = module.add_arg(block, ty);
    let (mut a, mut b) = (argument, argument);
    for i in 0..ops {
        let mut state = OpState::new(names.op, loc).operands([a, b]).results([ty]);
        state.attrs.push((names.key, names.values[i % names.values.len()]));
        let op = module.create(state);
        module.append(block, op);
        (a, b) = (module.result(op, 0), a);
    }
    argument
}
