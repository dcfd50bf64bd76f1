//! Every kernel of a differentiated GPT: what code generation is given computes what the operations mean.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use piper_codegen::kernel::{Dtype, Kernel};
use piper_codegen::{CodegenError, adapter};
use piper_dialects::kernel::Func;
use piper_interp::kernel::Library;
use piper_interp::tensor::Bf16;
use piper_interp::{Tensor, func};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{Context, Module, Op, Reporter, SourceFile, verify};
use piper_passes::{autodiff, kernelize};
use support::{Data, by_reference, random_data};

/// Tokens and targets of the model.
const VOCABULARY: u64 = 11;

fn parse(text: &str) -> Module {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("t.pir", text), &mut reporter);
    assert!(reporter.diagnostics().is_empty(), "{:?}", reporter.diagnostics());
    module.expect("no faults, so a module")
}

/// The step of the model, before and after `kernelize`.
fn step(element: &str) -> (Module, Module) {
    let text = include_str!("adapter/gpt.pir").replace("f64", element);
    let mut module = parse(&text);
    let ctx = module.ctx_arc();
    let mut reporter = Reporter::new(&ctx);
    let loss = module.lookup(module.root(), "loss").expect("the model");
    autodiff::differentiate(&mut module, loss, &mut reporter).expect("the model is differentiable");
    let before = module.clone();
    kernelize::run(&mut module, &mut reporter).expect("the step is kernels");
    verify::verify(&module, &mut reporter);
    assert!(reporter.diagnostics().is_empty(), "{:?}", reporter.diagnostics());
    (before, module)
}

fn kernels(module: &Module) -> Vec<Op> {
    module.top_level().into_iter().filter(|op| Func::cast(module, *op).is_some()).collect()
}

fn name(module: &Module, op: Op) -> &str {
    module.symbol_name(op).expect("kernels have names")
}

fn to_interp(data: &Data) -> piper_interp::Data {
    match data {
        Data::F32(v) => piper_interp::Data::F32(v.clone()),
        Data::F64(v) => piper_interp::Data::F64(v.clone()),
        Data::I32(v) => piper_interp::Data::I32(v.clone()),
        Data::Bf16(v) => piper_interp::Data::Bf16(v.iter().map(|bits| Bf16(*bits)).collect()),
    }
}

fn doubles(data: &piper_interp::Data) -> Vec<f64> {
    match data {
        piper_interp::Data::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
        piper_interp::Data::F64(v) => v.clone(),
        piper_interp::Data::I32(v) => v.iter().map(|&x| f64::from(x)).collect(),
        piper_interp::Data::Bf16(v) => v.iter().map(|x| f64::from(x.to_f32())).collect(),
    }
}

/// Runs one kernel by the reference of code generation and by the interpreter, on the same data.
fn compare(library: &Library, symbol: &str, kernel: &Kernel, scalars: &[f64], tolerance: f64) {
    let evaluator = library.get(symbol).expect("the library has every kernel");
    let mut data = random_data(kernel, 7, VOCABULARY);
    for buffer in &mut data {
        // Second moments and sums of squares are not negative.
        match buffer {
            Data::F64(v) if symbol.starts_with("adamw") || symbol.starts_with("clip") => {
                v.iter_mut().for_each(|x| *x = x.abs());
            }
            _ => {}
        }
    }
    let parameters = kernel.parameters();
    let reads = parameters.iter().zip(&data).filter(|(p, _)| p.mode.reads());
    let inputs = reads.map(|(_, d)| to_interp(d)).collect();
    let expected = evaluator.run(inputs, scalars).expect("the interpreter runs the kernel");
    let found = by_reference(kernel, &data, scalars);
    let written: Vec<&Data> =
        parameters.iter().zip(&found).filter(|(p, _)| p.mode.writes()).map(|(_, d)| d).collect();
    assert_eq!(written.len(), expected.len(), "{symbol}");
    for (i, (found, expected)) in written.iter().zip(&expected).enumerate() {
        let (found, expected) = (found.doubles(), doubles(expected));
        assert_eq!(found.len(), expected.len(), "{symbol} output {i}");
        for (j, (a, b)) in found.iter().zip(&expected).enumerate() {
            let near = (a - b).abs() <= tolerance * (1.0 + b.abs());
            assert!(near, "{symbol} output {i} element {j}: {a} instead of {b}");
        }
    }
}

#[test]
fn every_kernel_of_a_gpt_computes_what_its_operations_mean() {
    for (element, dtype, tolerance) in
        [("f64", Dtype::F64, 1e-12), ("f32", Dtype::F32, 2e-5), ("bf16", Dtype::Bf16, 0.03)]
    {
        let (_, module) = step(element);
        let library = Library::new(Arc::new(module.clone()));
        let mut families = BTreeMap::new();
        for op in kernels(&module) {
            let kernel =
                adapter::kernel(&module, op).expect("kernelize makes what the adapter reads");
            assert_eq!(kernel.dtype, dtype);
            compare(&library, name(&module, op), &kernel, &[], tolerance);
            *families.entry(kernel.family()).or_insert(0) += 1;
        }
        for family in [
            "gemm",
            "map",
            "norm",
            "norm_dx",
            "norm_dw",
            "attention",
            "attention_dx",
            "rotary",
            "cross_entropy",
            "cross_entropy_dx",
            "embedding",
            "embedding_dw",
            "sum_rows",
        ] {
            assert!(families.contains_key(family), "no {family} among {families:?}");
        }
    }
}

#[test]
fn a_step_of_kernels_gives_the_bits_of_the_step() {
    let (before, after) = step("f64");
    let run = |module: &Module| {
        let loss = module.lookup(module.root(), "loss").expect("the model");
        let parameters = func::initial_parameters(module, loss).expect("initial values");
        let tokens = |offset: i32| {
            let values: Vec<i32> = (0..10).map(|i| (3 * i + offset) % VOCABULARY as i32).collect();
            Tensor::new([2, 5], values).expect("ten tokens")
        };
        func::run(module, loss, &[tokens(0), tokens(1)], &|wanted| {
            parameters.iter().find(|(n, _)| n == wanted).expect("declared").1.clone()
        })
        .expect("the step runs")
    };
    let (plain, kernels) = (run(&before), run(&after));
    assert!(plain.len() > 20, "a loss and a gradient for every parameter");
    assert_eq!(plain, kernels);
}

#[test]
fn costs_in_the_ir_are_those_of_code_generation() {
    let (_, module) = step("f32");
    for op in kernels(&module) {
        let kernel = adapter::kernel(&module, op).expect("kernelize makes what the adapter reads");
        let number = |name: &str| module.attr_by(op, name).and_then(|a| a.as_int(module.ctx()));
        assert_eq!(number("flops"), Some(kernel.flops() as i64), "{}", name(&module, op));
        assert_eq!(number("bytes"), Some(kernel.bytes_moved() as i64), "{}", name(&module, op));
    }
}

#[test]
fn names_and_bodies_are_the_same_every_time() {
    let text = |module: &Module| print_module(module, PrintOptions::default());
    assert_eq!(text(&step("f32").1), text(&step("f32").1));
}

/// Built-in kernels in all their forms, for `TYPE` elements.
const BUILT_IN: &str = r#"
strategy.mesh @one <["dp" = 1]>
device.plan "train" on @one {
  device.kernel @accumulate accumulate {} : (memref<33xTYPE>, memref<33xTYPE>) -> ()
  device.kernel @sgd sgd {weight_decay = 0.1} : (memref<33xTYPE>, memref<33xTYPE>) -> ()
  device.kernel @sgd_clipped sgd {weight_decay = 0.1, clipped} : (memref<33xTYPE>, memref<1xTYPE>, memref<33xTYPE>) -> ()
  device.kernel @sgd_momentum sgd {momentum = 0.9, weight_decay = 0.0} : (memref<33xTYPE>, memref<33xTYPE>, memref<33xTYPE>) -> ()
  device.kernel @sgd_both sgd {momentum = 0.9, weight_decay = 0.1, clipped} : (memref<33xTYPE>, memref<1xTYPE>, memref<33xTYPE>, memref<33xTYPE>) -> ()
  device.kernel @adamw adamw {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1} : (memref<33xTYPE>, memref<33xTYPE>, memref<33xTYPE>, memref<33xTYPE>) -> ()
  device.kernel @adamw_clipped adamw {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, clipped} : (memref<33xTYPE>, memref<1xTYPE>, memref<33xTYPE>, memref<33xTYPE>, memref<33xTYPE>) -> ()
  device.kernel @sum_squares sum_squares {} : (memref<33xTYPE>) -> (memref<1xf64>)
  device.kernel @clip_scale clip_scale {max_norm = 0.5} : (memref<1xf64>) -> (memref<1xTYPE>)
  device.kernel @cast cast {} : (memref<33xTYPE>) -> (memref<33xbf16>)
  device.kernel @sum sum {} : (memref<1xTYPE>, memref<1xTYPE>, memref<1xTYPE>) -> (memref<1xTYPE>)
}
"#;

fn built_in(element: &str) -> (Module, Vec<Op>) {
    let module = parse(&BUILT_IN.replace("TYPE", element));
    let ops: Vec<Op> = module
        .walk(module.root())
        .filter(|op| piper_dialects::device::Kernel::cast(&module, *op).is_some())
        .collect();
    assert_eq!(ops.len(), 11);
    (module, ops)
}

#[test]
fn built_in_kernels_compute_what_the_optimizers_mean() {
    let (module, ops) = built_in("f64");
    let library = Library::new(Arc::new(module.clone()));
    for op in ops {
        let kernel = adapter::kernel(&module, op).expect("a built-in kernel");
        let symbol = name(&module, op);
        compare(&library, symbol, &kernel, &[0.01, 3.0], 1e-12);
    }
}

#[test]
fn what_is_no_kernel_says_what_to_do() {
    let module = parse(
        "func.func @f0(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}\n\
         kernel.func @two(%x: tensor<2xf32>) -> tensor<2xf32> attributes {kind = \"norm\"} {\n  \
         %y = nn.add %x, %x : tensor<2xf32>\n  kernel.return %y : tensor<2xf32>\n}",
    );
    let message = |name: &str| {
        let op = module.lookup(module.root(), name).expect("defined");
        adapter::kernel(&module, op).expect_err("no kernel").to_string()
    };
    assert!(message("f0").contains("run kernelize"), "{}", message("f0"));
    assert!(message("two").contains("'nn.add'"), "{}", message("two"));
}

#[test]
fn the_gradient_of_a_norm_adds_one_argument_once() {
    let refused = |body: &str, result: &str| {
        let module = parse(&format!(
            "kernel.func @k(%h: tensor<2x4xf32>, %g: tensor<4xf32>, %d: tensor<2x4xf32>, %r: tensor<2x4xf32>) -> tensor<2x4xf32> \
             attributes {{kind = \"norm_dx\"}} {{\n  %n = nn.rms_norm_dx %h, %g, %d {{eps = 1.0e-5}} : \
             (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>\n  {body}\n  \
             kernel.return {result} : tensor<2x4xf32>\n}}"
        ));
        let op = module.lookup(module.root(), "k").expect("defined");
        adapter::kernel(&module, op).err().map(|error| error.to_string())
    };
    assert_eq!(refused("%s = nn.add %n, %r : tensor<2x4xf32>", "%s"), None);
    assert_eq!(refused("%s = nn.add %r, %n : tensor<2x4xf32>", "%s"), None);
    for (body, result) in [
        ("%s = nn.add %n, %h : tensor<2x4xf32>", "%s"),
        ("%s = nn.add %n, %n : tensor<2x4xf32>", "%s"),
        ("%s = nn.add %n, %r : tensor<2x4xf32>", "%n"),
        ("%s = nn.mul %n, %r : tensor<2x4xf32>", "%s"),
        ("%a = nn.add %n, %r : tensor<2x4xf32>\n  %s = nn.add %a, %r : tensor<2x4xf32>", "%s"),
    ] {
        let message = refused(body, result).expect("no such kernel");
        assert!(message.contains("one sum, of it and the last argument"), "{body}: {message}");
    }
}

#[test]
fn a_plan_that_launches_what_the_module_lacks_is_refused() {
    let (module, _) = built_in("f32");
    let mut plan = piper_plan::Plan { name: "train".into(), ..Default::default() };
    let declare = |symbol: &str, elems: u64| piper_plan::KernelDecl {
        symbol: symbol.into(),
        params: [piper_plan::Mode::Read, piper_plan::Mode::ReadWrite]
            .map(|mode| piper_plan::Param { mode, dtype: piper_plan::DType::F32, elems })
            .into(),
        scalars: 0,
        workspace_bytes: 0,
        cost: None,
    };
    plan.kernels = vec![declare("accumulate", 33)];
    assert_eq!(adapter::plan_kernels(&module, &plan).expect("declared as defined").len(), 1);
    plan.kernels = vec![declare("accumulate", 32)];
    let fault = adapter::plan_kernels(&module, &plan).expect_err("another size");
    assert!(fault.to_string().contains("ReadWrite 32xf32"), "{fault}");
    plan.kernels = vec![declare("missing", 33)];
    let fault = adapter::plan_kernels(&module, &plan).expect_err("no such kernel");
    assert!(matches!(fault, CodegenError::Unsupported { .. }), "{fault}");
}

#[cfg(feature = "llvm")]
#[test]
fn native_code_agrees_with_the_reference() {
    for element in ["f32", "f64", "bf16"] {
        let (_, module) = step(element);
        let fused = kernels(&module);
        let (others, built_in) = built_in(element);
        let read = |module: &Module, op: &Op| adapter::kernel(module, *op).expect("a kernel");
        let fused: Vec<Kernel> = fused.iter().map(|op| read(&module, op)).collect();
        support::check(&fused, &[], VOCABULARY, 256.0);
        let built_in = built_in.iter().map(|op| read(&others, op));
        // Random second moments may be negative, whose root is NaN on both sides.
        let built_in: Vec<Kernel> = built_in.collect();
        support::check(&built_in, &[0.01, 3.0], VOCABULARY, 256.0);
    }
}

#[cfg(feature = "llvm")]
#[test]
fn a_plan_carries_the_code_of_its_kernels() {
    use piper_codegen::{Isolation, OptLevel, Target};
    let (module, _) = built_in("f32");
    let mut plan = piper_plan::Plan { name: "train".into(), ..Default::default() };
    let mode = [piper_plan::Mode::Read, piper_plan::Mode::ReadWrite];
    plan.kernels = vec![piper_plan::KernelDecl {
        symbol: "accumulate".into(),
        params: mode
            .map(|mode| piper_plan::Param { mode, dtype: piper_plan::DType::F32, elems: 33 })
            .into(),
        scalars: 0,
        workspace_bytes: 1,
        cost: None,
    }];
    adapter::compile_plan(
        &module,
        &mut plan,
        &[Target::host()],
        OptLevel::Full,
        &Isolation::InProcess.into(),
    )
    .expect("compiles");
    assert_eq!(plan.kernels[0].workspace_bytes, 0);
    let vectors = Target::host_level().name();
    assert!(plan.misc.notes.contains(&("vectors".into(), vectors.into())), "{:?}", plan.misc.notes);
    assert!(plan.misc.target.starts_with(std::env::consts::ARCH));
    assert!(
        matches!(&plan.code, piper_plan::Code::SharedObject(bytes) if bytes.starts_with(b"\x7fELF"))
    );
}
