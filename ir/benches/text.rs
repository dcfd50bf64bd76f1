//! Parsing, verifying and printing 10,000 operations, with confidence intervals: `cargo bench -p piper-ir --bench text`.
//! For a million operations beside `mlir-opt` see `cargo xtask bench core`.

// What criterion's macro makes has no documentation.
#![allow(missing_docs)]

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{Context, Module, OpState, Reporter, SourceFile};

/// As in the tools.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const OPS: usize = 10_000;
/// Operations in each region, so that isolated parts are there for several threads.
const PART: usize = 1_000;

fn context() -> Arc<Context> {
    let mut ctx = Context::new([]);
    ctx.allow_unregistered = true;
    Arc::new(ctx)
}

/// Modules of operations with two operands, a result and an attribute.
fn module(ctx: &Arc<Context>) -> Module {
    let mut module = Module::new(Arc::clone(ctx));
    let (ty, loc) = (ctx.i64(), ctx.unknown_loc());
    for part in 0..OPS / PART {
        let root = module.body();
        let inner = module.create(OpState::new(ctx.op_name("builtin.module"), loc).region());
        module.append(root, inner);
        let region = module.regions(inner)[0];
        let block = module.add_block(region);
        let source = module.create(OpState::new(ctx.op_name("d.source"), loc).results([ty]));
        module.append(block, source);
        let first = module.result(source, 0);
        let (mut a, mut b) = (first, first);
        for i in 1..PART {
            let key = ctx.int_attr((part * PART + i) as i64);
            let state = OpState::new(ctx.op_name("d.op"), loc).operands([a, b]).results([ty]);
            let op = module.create(state.attr(ctx, "k", key));
            module.append(block, op);
            (a, b) = (module.result(op, 0), a);
        }
    }
    module
}

fn text(criterion: &mut Criterion) {
    let ctx = context();
    let module = module(&ctx);
    let generic = PrintOptions { generic: true, ..PrintOptions::default() };
    let printed = print_module(&module, generic);
    let mut group = criterion.benchmark_group("text");
    group.throughput(Throughput::Elements(OPS as u64));
    group.bench_function("parse", |bencher| {
        bencher.iter(|| {
            let ctx = context();
            let mut reporter = Reporter::new(&ctx);
            let source = SourceFile::new("bench", printed.as_str());
            parse_module(&ctx, &source, &mut reporter).expect("it parses")
        });
    });
    group.bench_function("verify", |bencher| {
        bencher.iter(|| assert!(verify(&module, &mut Reporter::new(&ctx))));
    });
    group.bench_function("print", |bencher| bencher.iter(|| print_module(&module, generic)));
    group.finish();
}

criterion_group!(benches, text);
criterion_main!(benches);
