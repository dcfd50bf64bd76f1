//! What the C interface costs: a walk over a million operations that counts those of a name, with the core's own interface, with a
//! function that is called, and step by step. Calls go through pointers, as those of C do.

#![allow(missing_docs)]

use std::ffi::c_void;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use piper_capi::*;

const OPERATIONS: usize = 1_000_000;
const WANTED: &[u8] = b"arith.constant";

/// What C sees: functions by their addresses.
struct Calls {
    walk: unsafe extern "C" fn(*mut PiperModule, PiperOp, u32, PiperVisit, *mut c_void) -> i32,
    next: unsafe extern "C" fn(*const PiperModule, PiperOp, PiperOp) -> PiperOp,
    name: unsafe extern "C" fn(*const PiperModule, PiperOp) -> PiperStr,
}

/// How often the name was found, and how to ask for one.
struct Counter<'c> {
    found: usize,
    calls: &'c Calls,
}

fn is_wanted(name: PiperStr) -> bool {
    // SAFETY: the library gave the view.
    name.len == WANTED.len()
        && unsafe { std::slice::from_raw_parts(name.data.cast::<u8>(), name.len) } == WANTED
}

unsafe extern "C" fn count(user: *mut c_void, module: *mut PiperModule, op: PiperOp) -> u32 {
    // SAFETY: the user data of this walk.
    let counter = unsafe { &mut *user.cast::<Counter<'_>>() };
    // SAFETY: the module and the operation of this walk.
    counter.found += usize::from(is_wanted(unsafe { (counter.calls.name)(module, op) }));
    PIPER_WALK_ON
}

fn walks(c: &mut Criterion) {
    let mut module = piper_ir::Module::new(std::sync::Arc::new(piper_ir::Context::new([])));
    let (body, ctx) = (module.body(), module.ctx_arc());
    for i in 0..OPERATIONS - 1 {
        let name = ctx.op_name(if i % 2 == 0 { "arith.constant" } else { "t.use" });
        let op = module.create(piper_ir::OpState::new(name, ctx.unknown_loc()));
        module.append(body, op);
    }
    let mut group = c.benchmark_group("walk");
    group.throughput(Throughput::Elements(OPERATIONS as u64)).sample_size(20);
    group.bench_function("core", |b| {
        b.iter(|| {
            let ops = module.walk(module.root());
            ops.filter(|op| module.name_text(*op) == "arith.constant").count()
        });
    });
    let root_of = |handle: *const PiperModule| {
        // SAFETY: a module of the library.
        unsafe { piper_module_root(handle) }
    };
    let calls = black_box(Calls { walk: piper_walk, next: piper_walk_next, name: piper_op_name });
    let handle = piper_capi::module_handle(module);
    group.bench_function("called", |b| {
        b.iter(|| {
            let mut counter = Counter { found: 0, calls: &calls };
            let user = (&raw mut counter).cast();
            // SAFETY: a module of the library, and what `count` wants.
            unsafe { (calls.walk)(handle, root_of(handle), PIPER_OUTER_FIRST, Some(count), user) };
            assert_eq!(counter.found, OPERATIONS / 2);
        });
    });
    group.bench_function("stepped", |b| {
        b.iter(|| {
            let (mut op, mut found) = (root_of(handle), 0);
            let root = op;
            while op.bits != 0 {
                // SAFETY: a module of the library.
                found += usize::from(is_wanted(unsafe { (calls.name)(handle, op) }));
                // SAFETY: as above.
                op = unsafe { (calls.next)(handle, root, op) };
            }
            assert_eq!(found, OPERATIONS / 2);
        });
    });
    group.finish();
    // SAFETY: made above, as a box.
    drop(unsafe { Box::from_raw(handle) });
}

criterion_group!(benches, walks);
criterion_main!(benches);
