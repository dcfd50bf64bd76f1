//! The examples read, verify, and compute what a fresh model computes: the entropy of a uniform guess.

use std::sync::Arc;

use piper_interp::Tensor;
use piper_interp::func::{initial_parameters, run};
use piper_ir::text::parse_module;
use piper_ir::{Context, Reporter, SourceFile, verify};

fn loss(name: &str, text: &str, shape: [usize; 2]) -> f64 {
    let ctx = Arc::new(Context::new([
        piper_dialects::func::dialect(),
        piper_dialects::nn::dialect(),
        piper_dialects::strategy::dialect(),
    ]));
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new(name, text), &mut reporter);
    if let Some(module) = &module {
        verify::verify(module, &mut reporter);
    }
    assert!(reporter.diagnostics().is_empty(), "{:#?}", reporter.diagnostics());
    let module = module.unwrap();
    let f = module.lookup(module.root(), "loss").unwrap();
    let parameters = initial_parameters(&module, f).unwrap();
    let tokens = |step: i32| {
        let count = (shape[0] * shape[1]) as i32;
        Tensor::new(shape, (0..count).map(|i| (i * step) % 256).collect()).unwrap()
    };
    let out = run(&module, f, &[tokens(7), tokens(11)], &|name| {
        parameters.iter().find(|(n, _)| n == name).unwrap().1.clone()
    });
    out.unwrap()[0].to_f64()[0]
}

#[test]
fn fresh_models_guess_uniformly() {
    let uniform = 256f64.ln();
    let mlp = loss("mlp.pir", include_str!("../../examples/mlp.pir"), [8, 16]);
    assert!((mlp - uniform).abs() < 0.1, "{mlp}");
    let gpt = loss("gpt.pir", include_str!("../../examples/gpt.pir"), [16, 64]);
    assert!((gpt - uniform).abs() < 0.2, "{gpt}");
}
