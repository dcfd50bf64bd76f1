//! The model, a classifier of tokens in two stages, and its strategy, with the typed builders of the operations.

use piper::dialects::func::{Func, Return};
use piper::dialects::nn::{CrossEntropy, Embedding, Gelu, Init, Linear, Parameter};
use piper::dialects::strategy::{
    AnnotateOp, MeshOp, OptimizerOp, PipelineOp, PlanOp, YieldOp, ZeroOp,
};
use piper::ir::{BuildError, Builder, Module, Type, Value};

/// Sequences of the global batch.
pub const BATCH: i64 = 8;
/// Tokens of a sequence.
pub const LENGTH: i64 = 16;
/// Different tokens.
pub const VOCABULARY: i64 = 64;
const WIDTH: i64 = 32;
const HIDDEN: i64 = 128;

/// Fills an empty module: a mesh of 2 x 2, the function `@loss`, and the plan `@train`.
///
/// # Errors
/// Operations that do not fit each other.
pub fn build(module: &mut Module) -> Result<(), BuildError> {
    let body = module.body();
    let mut b = Builder::at_end(module, body);
    MeshOp::build(&mut b).sym_name("cluster").axes(&["pp", "dp"]).sizes(&vec![2, 2]).create()?;
    loss(&mut b)?;
    plan(&mut b)
}

fn loss(b: &mut Builder<'_>) -> Result<(), BuildError> {
    let ctx = b.module.ctx_arc();
    let tokens = ctx.tensor(&[BATCH, LENGTH], ctx.i32());
    let scalar = ctx.tensor(&[], ctx.f32());
    // What a strategy may divide, and what a step is fed with.
    let data = ctx.dict_attr([
        (ctx.name("piper.role"), ctx.str_attr("data")),
        (ctx.name("piper.batch_dim"), ctx.int_attr(0)),
    ]);
    let mut built = Ok(());
    Func::build(b)
        .sym_name("loss")
        .function_type(ctx.function(&[tokens, tokens], &[scalar]))
        .arg_attrs(ctx.array_attr([data, data]))
        .body(|b, block| {
            let args = ["tokens", "targets"].map(|name| {
                let arg = b.module.add_arg(block, tokens);
                b.module.set_value_name(arg, ctx.name(name));
                arg
            });
            built = stages(b, args, scalar);
        })
        .create()?;
    built
}

fn stages(
    b: &mut Builder<'_>,
    [tokens, targets]: [Value; 2],
    scalar: Type,
) -> Result<(), BuildError> {
    let ctx = b.module.ctx_arc();
    let hidden = ctx.tensor(&[BATCH, LENGTH, HIDDEN], ctx.f32());
    let h = stage(b, 0, hidden, |b| {
        let table = parameter(b, "table", &[VOCABULARY, WIDTH])?;
        let w = parameter(b, "hidden.w", &[WIDTH, HIDDEN])?;
        let e = Embedding::build(b).tokens(tokens).w(table).create_value()?;
        let z = Linear::build(b).x(e).w(w).create_value()?;
        Gelu::build(b).x(z).create_value()
    })?;
    let loss = stage(b, 1, scalar, |b| {
        let head = parameter(b, "head", &[HIDDEN, VOCABULARY])?;
        let logits = Linear::build(b).x(h).w(head).create_value()?;
        let denominator = BATCH * LENGTH;
        let loss = CrossEntropy::build(b).logits(logits).targets(targets).denominator(denominator);
        Ok(loss.create()?.loss(b.module))
    })?;
    Return::build(b).operands([loss]).create()?;
    Ok(())
}

/// The operations of a pipeline stage, which give one value.
fn stage(
    b: &mut Builder<'_>,
    number: i64,
    result: Type,
    operations: impl FnOnce(&mut Builder<'_>) -> Result<Value, BuildError>,
) -> Result<Value, BuildError> {
    let ctx = b.module.ctx_arc();
    let tags = ctx.dict_attr([(ctx.name("PP"), ctx.int_attr(number))]);
    let mut built = Ok(());
    let annotated = AnnotateOp::build(b)
        .outputs(result)
        .tags(tags)
        .body(|b, _| {
            built = operations(b)
                .and_then(|value| YieldOp::build(b).values([value]).create())
                .map(drop);
        })
        .create();
    built?;
    let annotated = annotated?;
    Ok(b.module.result(annotated.0, 0))
}

fn parameter(b: &mut Builder<'_>, name: &str, shape: &[i64]) -> Result<Value, BuildError> {
    let ctx = b.module.ctx_arc();
    let init = Init::Normal { mean: 0.0, std: 0.1 }.to_attr(&ctx);
    Parameter::build(b).name(name).init(init).w(ctx.tensor(shape, ctx.f32())).create_value()
}

/// Two stages in a pipeline, two replicas with their optimizer's state divided among them.
fn plan(b: &mut Builder<'_>) -> Result<(), BuildError> {
    let mut built = Ok(());
    PlanOp::build(b)
        .sym_name("train")
        .function("loss")
        .mesh("cluster")
        .body(|b, _| built = directives(b))
        .create()?;
    built
}

fn directives(b: &mut Builder<'_>) -> Result<(), BuildError> {
    PipelineOp::build(b).axis("pp").stages("PP").schedule("1f1b").microbatches(4).create()?;
    ZeroOp::build(b).axis("dp").stage(1).create()?;
    OptimizerOp::build(b).algorithm("adamw").lr(0.01).create()?;
    Ok(())
}
