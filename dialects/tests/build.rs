//! Building operations by name: what is inferred, and what is refused.

use std::sync::Arc;

use piper_dialects::dag::{self, AllGather, AllReduce, Gradient, ReduceScatter};
use piper_dialects::func::{Func, Return};
use piper_dialects::nn::{Attention, Constant, Linear, LinearDw, Scale};
use piper_ir::{
    Builder, Context, InferInput, InferTypes, Module, Reporter, SourceFile, Type, Value,
};

fn module() -> Module {
    Module::new(Arc::new(Context::new(piper_dialects::all())))
}

/// A function with arguments of these shapes, and its arguments.
fn function(module: &mut Module, shapes: &[&[i64]]) -> (piper_ir::Block, Vec<Value>) {
    let ctx = module.ctx_arc();
    let types: Vec<Type> = shapes.iter().map(|shape| ctx.tensor(shape, ctx.f32())).collect();
    let (body, mut entry) = (module.body(), None);
    let func = Func::build(&mut Builder::at_end(module, body))
        .sym_name("f")
        .function_type(ctx.function(&types, &[]))
        .body(|b, block| {
            types.iter().for_each(|ty| {
                b.module.add_arg(block, *ty);
            });
            Return::build(b).create().expect("a return takes anything");
            entry = Some(block);
        })
        .create()
        .expect("all parts are given");
    assert_eq!(module.symbol_name(func.0), Some("f"));
    let block = entry.expect("the body was filled");
    (block, module.args(block).to_vec())
}

#[test]
fn result_types_are_inferred() {
    let mut module = module();
    let (block, args) = function(&mut module, &[&[4, 8, 16], &[16, 32], &[32, 16], &[16]]);
    let end = module.last_op(block).expect("the return");
    let mut b = Builder::before(&mut module, end);
    let y = Linear::build(&mut b).x(args[0]).w(args[1]).create().expect("valid").y(b.module);
    let z = Linear::build(&mut b).x(y).w(args[1]).bias(args[3]).transpose_w(true).create();
    let z = z.expect("valid").y(b.module);
    let dw = LinearDw::build(&mut b).x(args[0]).dy(y).transpose_w(false).create().expect("valid");
    let half = Scale::build(&mut b).x(z).factor(0.5).create().expect("valid");
    let o = Attention::build(&mut b).q(z).k(z).v(z).heads(4).kv_heads(4).create().expect("valid");
    let show = |value| module.ty(value).display(module.ctx());
    assert_eq!(show(y), "tensor<4x8x32xf32>");
    assert_eq!(show(z), "tensor<4x8x16xf32>");
    assert_eq!(show(dw.dw(&module)), "tensor<16x32xf32>");
    assert_eq!(show(half.y(&module)), "tensor<4x8x16xf32>");
    assert_eq!((show(o.o(&module)), o.lse(&module)), ("tensor<4x8x16xf32>".into(), None));
    let ctx = module.ctx_arc();
    let mut reporter = Reporter::new(&ctx);
    assert!(piper_ir::verify::verify(&module, &mut reporter), "{:?}", reporter.take());
}

#[test]
fn everything_that_is_missing_is_named() {
    let mut module = module();
    let (block, args) = function(&mut module, &[&[4, 16], &[16, 32]]);
    let ctx = module.ctx_arc();
    let mut b = Builder::at_end(&mut module, block);
    let error = Linear::build(&mut b).x(args[0]).create().expect_err("no weight");
    assert_eq!(error.to_string(), "cannot build 'nn.linear': operand 'w' is not given");
    let error =
        Attention::build(&mut b).q(args[0]).heads(-1).create().expect_err("much is missing");
    assert_eq!(
        error.faults,
        [
            "operand 'k' is not given",
            "operand 'v' is not given",
            "attribute 'heads' must be a positive integer, but is -1",
            "attribute 'kv_heads' is not given",
        ]
    );
    let error = Constant::build(&mut b).value(1.0).create().expect_err("no type");
    assert_eq!(error.faults, ["the type of result 'x' is not given"]);
    let constant = Constant::build(&mut b).value(1.0).x(ctx.tensor(&[], ctx.f32())).create();
    let scalar = constant.expect("all is given").x(b.module);
    let error = Linear::build(&mut b).x([args[0], args[1]]).w(args[1]).create();
    assert_eq!(error.expect_err("two of one").faults, ["operand 'x' is given 2 times"]);
    let error = Linear::build(&mut b).x(args[0]).w(scalar).create();
    assert_eq!(
        error.expect_err("a scalar weight").faults,
        ["'w' has type tensor<f32>, expected the form [K, N]"]
    );
    let error = AllReduce::build(&mut b).value(args[0]).create().expect_err("no distribution");
    assert_eq!(
        error.faults,
        [
            "operand 'value' must be !dag.dist, but has type tensor<4x16xf32>",
            "attribute 'axes' is not given",
        ]
    );
}

#[test]
fn a_collective_knows_what_its_value_becomes() {
    let dialect = dag::dialect();
    let file = dialect.setting.replace("  ...\n", "");
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let source = SourceFile::new("setting", file);
    let mut reporter = Reporter::new(&ctx);
    let mut module = piper_ir::text::parse_module(&ctx, &source, &mut reporter).expect("valid");
    let graph = module.walk(module.root()).find(|op| dag::Graph::cast(&module, *op).is_some());
    let block = module.only_block(graph.expect("a graph")).expect("its body");
    let last = module.last_op(block).expect("an input");
    let grad = module.result(last, 0);
    let mut b = Builder::at_end(&mut module, block);
    let sum = AllReduce::build(&mut b).value(grad).axes(&["dp"]).create_value().expect("valid");
    let shard =
        ReduceScatter::build(&mut b).value(grad).axes(&["dp"]).create_value().expect("valid");
    let whole = AllGather::build(&mut b).shard(shard).axes(&["dp"]).create_value().expect("valid");
    let named = Gradient::build(&mut b).name("w").value(sum).create_value().expect("valid");
    let error = AllGather::build(&mut b).shard(sum).axes(&["dp"]).create().expect_err("no shard");
    assert_eq!(error.faults, ["dimension 0 of the value is not sharded over these axes"]);
    let ty = module.ty(sum);
    assert_eq!(ty.display(&ctx), "!dag.dist<tensor<4xf32>, @cluster on {pp = 0}>");
    assert_eq!((module.ty(whole), module.ty(named)), (ty, ty));
    assert!(piper_ir::verify::verify(&module, &mut reporter), "{:?}", reporter.take());
}

/// For every example of the dialect, what is inferred is what is written.
#[test]
fn inference_agrees_with_the_examples() {
    let dialect = piper_dialects::nn::dialect();
    let mut checked = 0;
    for def in &dialect.ops {
        let Some(InferTypes(infer)) = def.interface() else { continue };
        for example in &def.examples {
            let ctx = Arc::new(Context::new(piper_dialects::all()));
            let source = SourceFile::new("example", example.file(dialect.setting));
            let module = piper_ir::text::parse_module(&ctx, &source, &mut Reporter::new(&ctx));
            let module = module.unwrap_or_else(|| panic!("{}: {}", def.name, example.text));
            for op in module.walk(module.root()).filter(|op| module.name_text(*op) == def.name) {
                let operands: Vec<Type> = module.operands(op).map(|v| module.ty(v)).collect();
                let count = |i| module.operand_group(op, i).count() as i64;
                let sizes: Vec<i64> = (0..def.operands.len()).map(count).collect();
                let attrs = module.all_attrs(op);
                let input = InferInput {
                    ctx: &ctx,
                    def,
                    operands: &operands,
                    sizes: &sizes,
                    attrs: &attrs,
                };
                let inferred = infer(&input).unwrap_or_else(|e| panic!("{}: {e}", def.name));
                let written: Vec<Type> = module.results(op).map(|v| module.ty(v)).collect();
                assert_eq!(inferred, written[..inferred.len()], "{}", def.name);
                checked += 1;
            }
        }
    }
    assert!(checked >= 20, "{checked} operations infer their types");
}
