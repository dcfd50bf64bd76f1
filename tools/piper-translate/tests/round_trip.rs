//! A schedule written as directives gives the same graph as the directive that names it.

use std::fmt::Write;
use std::path::Path;

/// A model of `stages` stages with the directives of a plan on `ranks` ranks.
fn module(stages: u32, ranks: u32, directives: &str) -> String {
    let mut text = format!(
        "strategy.mesh @cluster <[\"pp\" = {ranks}]>\n\
         func.func @loss(%h0: tensor<8x4xf32> {{role = \"data\", batch_dim = 0}}, \
         %targets: tensor<8xi32> {{role = \"data\", batch_dim = 0}}) -> tensor<f32> {{\n"
    );
    let linear = "(tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>";
    for stage in 0..stages {
        let next = stage + 1;
        let _ = writeln!(
            text,
            "  %h{next} = strategy.annotate {{PP = {stage}}} {{\n    \
             %w{stage} = nn.parameter \"w{stage}\" init = normal<0.0, 0.1> : tensor<4x4xf32>\n    \
             %a = nn.linear %h{stage}, %w{stage} : {linear}\n    \
             strategy.yield %a : tensor<8x4xf32>\n  }} : tensor<8x4xf32>"
        );
    }
    let last = stages - 1;
    let _ = writeln!(
        text,
        "  %loss = strategy.annotate {{PP = {last}}} {{\n    \
         %l = nn.cross_entropy %h{stages}, %targets {{denominator = 8}} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>\n    \
         strategy.yield %l : tensor<f32>\n  }} : tensor<f32>\n  func.return %loss : tensor<f32>\n}}\n\
         strategy.plan @train for @loss on @cluster {{\n{directives}\n  strategy.optimizer sgd <lr = 0.1>\n}}"
    );
    text
}

/// The graph of a module, after everything up to its verification.
fn graph(text: &str) -> String {
    const ROAD: &str = "builtin.module(import-tags,expand-directives,autodiff,build-dag,recompute,split-backward,split,place,order,verify-dag)";
    let words = [format!("--pass-pipeline={ROAD}"), "-".into()];
    let (registry, dialects) = (piper_passes::registry::all(), piper_dialects::all());
    let done =
        piper_opt::main_with(registry, dialects, &words, &mut text.as_bytes(), Path::new(""));
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.code, 0, "{text}\n{errors}");
    String::from_utf8(done.stdout).expect("text")
}

#[test]
fn printed_directives_are_those_of_the_name() {
    for (name, ranks, stages, microbatches) in [
        ("gpipe", 2, 2, 4),
        ("1f1b", 4, 4, 8),
        ("interleaved1f1b", 2, 4, 4),
        ("looped_bfs", 2, 4, 4),
        ("zb_h1", 4, 4, 8),
        ("zb_h2", 3, 3, 8),
        ("interleaved_zb", 2, 4, 4),
        ("zbv", 2, 4, 8),
        ("v_half", 4, 8, 8),
    ] {
        let words = [
            format!("--emit-schedule={name}"),
            format!("--pp={ranks}"),
            format!("--v={}", stages / ranks),
            format!("--microbatches={microbatches}"),
            "--to=pir".into(),
        ];
        let done = piper_translate::main_with(&words, &mut std::io::empty(), Path::new(""));
        assert_eq!(done.code, 0, "{}", String::from_utf8_lossy(&done.stderr));
        let printed = String::from_utf8(done.stdout).expect("text");
        let named = format!(
            "  strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"{name}\" microbatches = {microbatches}"
        );
        let [by_name, by_hand] =
            [&named, &printed].map(|directives| graph(&module(stages, ranks, directives)));
        assert!(by_name.contains("dag.order"), "{by_name}");
        assert_eq!(by_name, by_hand, "{name}");
    }
}
