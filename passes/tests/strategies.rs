//! Whole strategies, from annotated text to a run of their graph: the losses, gradients and parameters of one device.
//!
//! The model has four stages; its first weight is used again in the last one when `TIED`. Every strategy is run by the DAG interpreter
//! in f64 for some steps of AdamW with clipping. Where sums are balanced trees the gradients are the same to the bit.

use std::sync::Arc;

use piper_interp::Tensor;
use piper_interp::dag::{Interpreter, Step, Tensors};
use piper_ir::pass::{Instrumentation, PassManager, RunOptions};
use piper_ir::text::parse_module;
use piper_ir::{Context, Module, Reporter, SourceFile};
use piper_passes::registry;

fn model(tied: bool, mesh: &str, directives: &str) -> String {
    let mut body = String::new();
    for stage in 0..4 {
        let weight = if stage == 3 && tied { "w0".to_owned() } else { format!("w{stage}") };
        let input = if stage == 0 { "%x".to_owned() } else { format!("%h{}", stage - 1) };
        let ty = "tensor<16x4xf64>";
        let linear = format!(
            "%w = nn.parameter \"{weight}\" init = normal<0.0, 0.7> : tensor<4x4xf64>\n%z = nn.linear {input}, %w : ({ty}, tensor<4x4xf64>) -> {ty}\n"
        );
        body += &if stage < 3 {
            format!(
                "%h{stage} = strategy.annotate {{PP = {stage}}} {{\n{linear}%a = nn.gelu %z : {ty}\nstrategy.yield %a : {ty}\n}} : {ty}\n"
            )
        } else {
            format!(
                "%loss = strategy.annotate {{PP = 3}} {{\n{linear}%l = nn.cross_entropy %z, %t {{denominator = 16}} : ({ty}, tensor<16xi32>) -> tensor<f64>\nstrategy.yield %l : tensor<f64>\n}} : tensor<f64>\n"
            )
        };
    }
    format!(
        "strategy.mesh @c <[{mesh}]>\n\
         func.func @loss(%x: tensor<16x4xf64> {{role = \"data\", batch_dim = 0}}, %t: tensor<16xi32> {{role = \"data\", batch_dim = 0}}) -> tensor<f64> {{\n\
         {body}func.return %loss : tensor<f64>\n}}\n\
         strategy.plan @train for @loss on @c {{\n{directives}\n\
         strategy.optimizer adamw <lr = warmup_constant<peak = 0.05, warmup = 2>, weight_decay = 0.1, clip = 0.1>\n}}\n"
    )
}

fn compiled(text: &str, passes: &[(&str, &[(&str, &str)])]) -> Module {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut reporter = Reporter::new(&ctx);
    let mut module = parse_module(&ctx, &SourceFile::new("t.pir", text), &mut reporter)
        .unwrap_or_else(|| panic!("{:#?}", reporter.diagnostics()));
    let (before, after) = (
        [("import-tags", &[][..]), ("autodiff", &[]), ("build-dag", &[])],
        [("update", &[][..]), ("verify-dag", &[])],
    );
    let registry = registry::all();
    let mut manager = PassManager::new("builtin.module");
    for (name, options) in before.iter().chain(passes).chain(&after) {
        let options: Vec<_> =
            options.iter().map(|(k, v)| ((*k).to_owned(), Some((*v).to_owned()))).collect();
        manager.add(registry.build(name, &options).unwrap());
    }
    struct Quiet;
    impl Instrumentation for Quiet {}
    let ran = manager.run(&mut module, &mut reporter, &RunOptions::default(), &mut Quiet);
    assert!(ran.is_ok(), "{:#?}", reporter.diagnostics());
    module
}

fn train(module: &Module, steps: u32) -> Vec<Step> {
    let graph =
        module.top_level().into_iter().find(|op| module.name_text(*op) == "dag.graph").unwrap();
    let interpreter = Interpreter::new(module, graph).unwrap();
    let mut state = interpreter.initial_state().unwrap();
    let mut all: Vec<Step> = Vec::new();
    for number in 1..=steps {
        let x = (0..64).map(|i| f64::from((i * 7 + number * 5) % 13) / 6.0 - 1.0).collect();
        let t = (0..16).map(|i| (i * 3 + number as i32) % 4).collect();
        let data: Tensors = [
            ("x".to_owned(), Tensor::new([16, 4], x).unwrap()),
            ("t".to_owned(), Tensor::new([16], t).unwrap()),
        ]
        .into();
        let step = interpreter.step(&data, &state, number).unwrap_or_else(|e| panic!("{e}"));
        state = step.state.clone();
        all.push(step);
    }
    all
}

fn assert_same(name: &str, a: &[Step], b: &[Step], tolerance: f64) {
    for (a, b) in a.iter().zip(b) {
        assert!((a.outputs["loss"] - b.outputs["loss"]).abs() <= tolerance, "{name}: loss");
        for (what, a, b) in
            [("gradient", &a.gradients, &b.gradients), ("state", &a.state, &b.state)]
        {
            assert_eq!(Vec::from_iter(a.keys()), Vec::from_iter(b.keys()), "{name}");
            for (key, tensor) in a {
                let (a, b) = (tensor.to_f64(), b[key].to_f64());
                let distance = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(distance <= tolerance, "{name}: {what} {key} differs by {distance}");
            }
        }
    }
}

type Options = &'static [(&'static str, &'static str)];

/// Name, mesh, directives, and the passes that consume them.
type Strategy = (&'static str, &'static str, &'static str, &'static [(&'static str, Options)]);

/// Microbatches times replicas is 8.
const STRATEGIES: &[Strategy] = &[
    (
        "dp2",
        "\"dp\" = 2",
        "strategy.split \"MB\" into 4\nstrategy.replicate over \"dp\"",
        &[("split", TREE), ("replicate", &[])],
    ),
    (
        "dp4 zero",
        "\"dp\" = 4",
        "strategy.split \"MB\" into 2\nstrategy.zero over \"dp\" stage = 1",
        &[("split", TREE), ("zero", &[])],
    ),
    (
        "1f1b pp4",
        "\"pp\" = 4",
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 8",
        &[("pipeline", TREE)],
    ),
    (
        "1f1b pp4 dp2 zero",
        "\"pp\" = 4, \"dp\" = 2",
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 4\nstrategy.zero over \"dp\" stage = 1 bucket = \"200B\"",
        &[("pipeline", TREE), ("zero", &[])],
    ),
    (
        "dualpipe pp4",
        "\"pp\" = 4",
        "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 8",
        &[("dualpipe", TREE)],
    ),
];
const TREE: Options = &[("accumulate", "tree")];

const ONE: &str = "strategy.split \"MB\" into 8";

#[test]
fn strategies_train_as_one_device() {
    for tied in [false, true] {
        let unsplit = train(&compiled(&model(tied, "\"dp\" = 1", ""), &[]), 3);
        let one = train(&compiled(&model(tied, "\"dp\" = 1", ONE), &[("split", TREE)]), 3);
        assert_ne!(one[0].state["w0"], one[2].state["w0"]);
        assert_same("split", &unsplit, &one, 1e-12);
        for (name, mesh, directives, passes) in STRATEGIES {
            let steps = train(&compiled(&model(tied, mesh, directives), passes), 3);
            assert_same(name, &one, &steps, 1e-12);
            if !tied {
                assert_eq!(one[0].gradients, steps[0].gradients, "{name}: bits of the gradients");
            }
        }
    }
}

#[test]
fn dualpipe_with_replicas_and_shards_trains_as_one_device() {
    let directives = "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 8\nstrategy.zero over \"dp\" stage = 1";
    let passes: &[(&str, Options)] = &[("dualpipe", TREE), ("zero", &[])];
    let one = train(
        &compiled(&model(false, "\"dp\" = 1", "strategy.split \"MB\" into 16"), &[("split", TREE)]),
        3,
    );
    let steps = train(&compiled(&model(false, "\"pp\" = 4, \"dp\" = 2", directives), passes), 3);
    assert_same("dualpipe pp4 dp2 zero", &one, &steps, 1e-12);
    assert_eq!(one[0].gradients, steps[0].gradients, "bits of the gradients");
    let tied = train(&compiled(&model(true, "\"dp\" = 1", ""), &[]), 3);
    let steps = train(&compiled(&model(true, "\"pp\" = 4, \"dp\" = 2", directives), passes), 3);
    assert_same("dualpipe pp4 dp2 zero, tied", &tied, &steps, 1e-12);
}
