//! What an operation takes in memory.

use std::sync::Arc;

use piper_ir::{Context, Module, OpState};

/// Of the largest part of a module's operations: two operands, one result, one attribute.
#[test]
fn an_operation_takes_at_most_120_bytes() {
    const OPS: usize = 10_000;
    let mut ctx = Context::new([]);
    ctx.allow_unregistered = true;
    let ctx = Arc::new(ctx);
    let (ty, loc) = (ctx.i64(), ctx.unknown_loc());
    let mut module = Module::new(Arc::clone(&ctx));
    let before = module.allocated_bytes();
    // The argument is a value, too.
    module.reserve(OPS + 1);
    let block = module.body();
    let argument = module.add_arg(block, ty);
    let (mut a, mut b) = (argument, argument);
    for i in 0..OPS {
        let state = OpState::new(ctx.op_name("d.op"), loc).operands([a, b]).results([ty]);
        let op = module.create(state.attr(&ctx, "k", ctx.int_attr(i as i64)));
        module.append(block, op);
        (a, b) = (module.result(op, 0), a);
    }
    let bytes = (module.allocated_bytes() - before) as f64 / OPS as f64;
    assert!(bytes <= 120.0, "{bytes} bytes");
    assert_eq!(module.op_capacity(), OPS + 1, "nothing else was made");
}
