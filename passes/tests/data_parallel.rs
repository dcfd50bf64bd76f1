//! replicate, zero and update compute the same step as the graph they change.
//!
//! The graph is a pipeline of two stages on two slices, with a weight used in both (it lives on a group) and two microbatches. The
//! DAG interpreter runs it in f64 with every device's own tensors, before and after.

use std::sync::Arc;

use piper_interp::Tensor;
use piper_interp::dag::{Interpreter, Step, Tensors};
use piper_ir::pass::{Instrumentation, PassManager, RunOptions};
use piper_ir::text::parse_module;
use piper_ir::{Context, Module, Reporter, SourceFile, verify};
use piper_passes::registry;

/// The bodies and the graph for `microbatches` of a batch of 8, with directives.
fn text(microbatches: i64, plan: &str) -> String {
    let rows = 8 / microbatches;
    let mut graph = String::new();
    let act = |pp: i64, m: i64| {
        format!("!dag.dist<tensor<8x4xf64>, @c on {{mb = {m}, pp = {pp}}}, [{{\"mb\"}}, {{}}]>")
    };
    let tok =
        |m: i64| format!("!dag.dist<tensor<8xi32>, @c on {{mb = {m}, pp = 1}}, [{{\"mb\"}}]>");
    let w = |home: &str| format!("!dag.dist<tensor<4x4xf64>, @c on {home}>");
    let held = |what: String| {
        if what.is_empty() { String::new() } else { format!(", partial = {{{what}}}") }
    };
    let tied = |pp: i64, lo: i64, hi: i64| {
        format!(
            "!dag.dist<tensor<4x4xf64>, @c on {{pp = {pp}}}{}>",
            held(format!("use {pp}/2 mb[{lo}:{hi}]"))
        )
    };
    let own = |lo: i64, hi: i64| {
        let part =
            if (lo, hi) == (0, microbatches) { String::new() } else { format!("mb[{lo}:{hi}]") };
        format!("!dag.dist<tensor<4x4xf64>, @c on {{pp = 1}}{}>", held(part))
    };
    let loss = |m: i64| {
        let part = if microbatches == 1 { String::new() } else { format!("mb[{m}:{}]", m + 1) };
        format!("!dag.dist<tensor<f64>, @c on {{pp = 1}}{}>", held(part))
    };
    graph += &format!(
        "%w = dag.parameter \"w\" {{init = #nn.init<normal<0.0, 0.5>>}} : {}\n",
        w("@tie")
    );
    graph += &format!(
        "%u = dag.parameter \"u\" {{init = #nn.init<normal<0.0, 0.5>>}} : {}\n",
        w("{pp = 1}")
    );
    for pp in 0..2 {
        graph += &format!(
            "%w{pp} = dag.project %w : {} -> {}\n",
            w("@tie"),
            w(&format!("{{pp = {pp}}}"))
        );
    }
    for m in 0..microbatches {
        let (a0, a1, t, l) = (act(0, m), act(1, m), tok(m), loss(m));
        let (w0, w1) = (w("{pp = 0}"), w("{pp = 1}"));
        let tags = |pp: i64| format!("{{MB = {m}, PP = {pp}}}");
        graph += &format!(
            "%x{m} = dag.input \"x\" {{batch_dim = 0}} : {a0}\n%t{m} = dag.input \"t\" {{batch_dim = 0}} : {t}\n"
        );
        graph += &format!(
            "%y{m} = dag.compute @f0(%x{m}, %w0) F {} node \"f0.{m}\" : ({a0}, {w0}) -> {a0}\n",
            tags(0)
        );
        graph += &format!("%z{m} = dag.transfer %y{m} : {a0} -> {a1}\n");
        graph += &format!(
            "%l{m} = dag.compute @f1(%z{m}, %w1, %u, %t{m}) F {} node \"f1.{m}\" : ({a1}, {w1}, {w1}, {t}) -> {l}\n",
            tags(1)
        );
        graph += &format!(
            "%b{m}:3 = dag.compute @b1(%z{m}, %w1, %u, %t{m}) B {} node \"b1.{m}\" : ({a1}, {w1}, {w1}, {t}) -> ({a1}, {}, {})\n",
            tags(1),
            tied(1, m, m + 1),
            own(m, m + 1)
        );
        graph += &format!("%d{m} = dag.transfer %b{m}#0 : {a1} -> {a0}\n");
        graph += &format!(
            "%c{m} = dag.compute @b0(%x{m}, %d{m}) B {} node \"b0.{m}\" : ({a0}, {a0}) -> {}\n",
            tags(0),
            tied(0, m, m + 1)
        );
    }
    let (mut dw1, mut du, mut dw0) = ("%b0#1".to_owned(), "%b0#2".to_owned(), "%c0".to_owned());
    for m in 1..microbatches {
        for (sum, next, before, after) in [
            (&mut dw1, format!("%b{m}#1"), tied(1, 0, m), tied(1, 0, m + 1)),
            (&mut du, format!("%b{m}#2"), own(0, m), own(0, m + 1)),
            (&mut dw0, format!("%c{m}"), tied(0, 0, m), tied(0, 0, m + 1)),
        ] {
            let one = if sum.starts_with("%c") || sum.starts_with("%sw0") {
                tied(0, m, m + 1)
            } else if after.contains("use 1") {
                tied(1, m, m + 1)
            } else {
                own(m, m + 1)
            };
            let name = if after.contains("use 0") {
                "sw0"
            } else if after.contains("use 1") {
                "sw1"
            } else {
                "su"
            };
            graph +=
                &format!("%{name}_{m} = dag.add {sum}, {next} : ({before}, {one}) -> {after}\n");
            *sum = format!("%{name}_{m}");
        }
    }
    let (t0, t1) = (tied(0, 0, microbatches), tied(1, 0, microbatches));
    let joined = "!dag.dist<tensor<4x4xf64>, @c on @tie, partial = {\"tie\"}>";
    graph += &format!("%j = dag.join {dw0}, {dw1} : ({t0}, {t1}) -> {joined}\n");
    graph += &format!("%g = dag.all_reduce %j over [@tie] : {joined} -> {}\n", w("@tie"));
    graph += &format!("%gw = dag.gradient \"w\" %g : {0} -> {0}\n", w("@tie"));
    graph += &format!("%gu = dag.gradient \"u\" {du} : {0} -> {0}\n", w("{pp = 1}"));
    let parts: Vec<String> = (0..microbatches).map(|m| format!("%l{m}")).collect();
    let types: Vec<String> = (0..microbatches).map(loss).collect();
    graph += &format!("dag.output \"loss\" {} : {}\n", parts.join(", "), types.join(", "));
    format!(
        r#"
strategy.mesh @c <["pp" = 2, "dp" = 2]>
strategy.group @tie on @c [{{pp = 0}}, {{pp = 1}}]
func.func private @f0(%x: tensor<{rows}x4xf64> {{batch_dim = 0}}, %w: tensor<4x4xf64>) -> tensor<{rows}x4xf64> {{
  %y = nn.linear %x, %w : (tensor<{rows}x4xf64>, tensor<4x4xf64>) -> tensor<{rows}x4xf64>
  func.return %y : tensor<{rows}x4xf64>
}}
func.func private @f1(%y: tensor<{rows}x4xf64> {{batch_dim = 0}}, %w: tensor<4x4xf64>, %u: tensor<4x4xf64>, %t: tensor<{rows}xi32> {{batch_dim = 0}}) -> tensor<f64> {{
  %z = nn.linear %y, %u : (tensor<{rows}x4xf64>, tensor<4x4xf64>) -> tensor<{rows}x4xf64>
  %logits = nn.linear %z, %w : (tensor<{rows}x4xf64>, tensor<4x4xf64>) -> tensor<{rows}x4xf64>
  %loss = nn.cross_entropy %logits, %t {{denominator = 8}} : (tensor<{rows}x4xf64>, tensor<{rows}xi32>) -> tensor<f64>
  func.return %loss : tensor<f64>
}}
func.func private @b1(%y: tensor<{rows}x4xf64> {{batch_dim = 0}}, %w: tensor<4x4xf64>, %u: tensor<4x4xf64>, %t: tensor<{rows}xi32> {{batch_dim = 0}}) -> (tensor<{rows}x4xf64>, tensor<4x4xf64>, tensor<4x4xf64>) {{
  %z = nn.linear %y, %u : (tensor<{rows}x4xf64>, tensor<4x4xf64>) -> tensor<{rows}x4xf64>
  %logits = nn.linear %z, %w : (tensor<{rows}x4xf64>, tensor<4x4xf64>) -> tensor<{rows}x4xf64>
  %one = nn.constant {{value = 1.0}} : tensor<f64>
  %dl = nn.cross_entropy_dx %logits, %t, %one {{denominator = 8}} : (tensor<{rows}x4xf64>, tensor<{rows}xi32>, tensor<f64>) -> tensor<{rows}x4xf64>
  %dz = nn.linear_dx %dl, %w : (tensor<{rows}x4xf64>, tensor<4x4xf64>) -> tensor<{rows}x4xf64>
  %dw = nn.linear_dw %z, %dl : (tensor<{rows}x4xf64>, tensor<{rows}x4xf64>) -> tensor<4x4xf64>
  %dy = nn.linear_dx %dz, %u : (tensor<{rows}x4xf64>, tensor<4x4xf64>) -> tensor<{rows}x4xf64>
  %du = nn.linear_dw %y, %dz : (tensor<{rows}x4xf64>, tensor<{rows}x4xf64>) -> tensor<4x4xf64>
  func.return %dy, %dw, %du : tensor<{rows}x4xf64>, tensor<4x4xf64>, tensor<4x4xf64>
}}
func.func private @b0(%x: tensor<{rows}x4xf64> {{batch_dim = 0}}, %dy: tensor<{rows}x4xf64> {{batch_dim = 0}}) -> tensor<4x4xf64> {{
  %dw = nn.linear_dw %x, %dy : (tensor<{rows}x4xf64>, tensor<{rows}x4xf64>) -> tensor<4x4xf64>
  func.return %dw : tensor<4x4xf64>
}}
{plan}
dag.graph @step of @loss on @c microbatches {microbatches} {{
{graph}}}
"#
    )
}

/// Parses, runs the passes (`name{options}`), and checks the result with `verify-dag`; the errors if there are any.
fn compiled(text: &str, passes: &[(&str, &[(&str, &str)])]) -> Result<Module, Vec<String>> {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut reporter = Reporter::new(&ctx);
    let errors = |reporter: &Reporter<'_>| {
        Vec::from_iter(reporter.diagnostics().iter().map(|d| match &d.hint {
            Some(hint) => format!("{}; {hint}", d.message),
            None => d.message.clone(),
        }))
    };
    let module = parse_module(&ctx, &SourceFile::new("t.pir", text), &mut reporter);
    let Some(mut module) = module else { return Err(errors(&reporter)) };
    if !verify::verify(&module, &mut reporter) {
        return Err(errors(&reporter));
    }
    let registry = registry::all();
    let mut manager = PassManager::new("builtin.module");
    for (name, options) in passes.iter().chain([&("verify-dag", &[][..])]) {
        let options: Vec<_> =
            options.iter().map(|(k, v)| ((*k).to_owned(), Some((*v).to_owned()))).collect();
        manager.add(registry.build(name, &options).map_err(|e| vec![e])?);
    }
    struct Quiet;
    impl Instrumentation for Quiet {}
    match manager.run(&mut module, &mut reporter, &RunOptions::default(), &mut Quiet) {
        Ok(()) => Ok(module),
        Err(_) => Err(errors(&reporter)),
    }
}

fn tensors(entries: &[(&str, Tensor)]) -> Tensors {
    entries.iter().map(|(name, tensor)| ((*name).to_owned(), tensor.clone())).collect()
}

/// A batch that differs from step to step.
fn batch(step: u32) -> Tensors {
    let x = (0..32).map(|i| f64::from((i * 7 + step * 5) % 11) / 5.0 - 1.0).collect();
    let t = (0..8).map(|i| (i * 3 + step as i32) % 4).collect();
    tensors(&[("x", Tensor::new([8, 4], x).unwrap()), ("t", Tensor::new([8], t).unwrap())])
}

/// Some steps from the initial state.
fn train(module: &Module, steps: u32) -> Vec<Step> {
    let graph = module.lookup(module.root(), "step").unwrap();
    let interpreter = Interpreter::new(module, graph).unwrap();
    let mut state = interpreter.initial_state().unwrap();
    let mut all = Vec::new();
    for number in 1..=steps {
        let step =
            interpreter.step(&batch(number), &state, number).unwrap_or_else(|e| panic!("{e}"));
        state = step.state.clone();
        all.push(step);
    }
    all
}

fn distance(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.shape, b.shape);
    a.to_f64().iter().zip(b.to_f64()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Losses, gradients and parameters agree to `tolerance` in every step.
fn assert_same(a: &[Step], b: &[Step], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a.outputs["loss"] - b.outputs["loss"]).abs() <= tolerance);
        assert_eq!(Vec::from_iter(a.gradients.keys()), ["u", "w"]);
        assert_eq!(Vec::from_iter(b.gradients.keys()), ["u", "w"]);
        // Moments too: state is logical, however it is bucketed.
        assert_eq!(Vec::from_iter(a.state.keys()), Vec::from_iter(b.state.keys()));
        for (name, tensor) in &a.state {
            assert!(distance(tensor, &b.state[name]) <= tolerance, "state {name}");
        }
        for name in ["u", "w"] {
            assert!(
                distance(&a.gradients[name], &b.gradients[name]) <= tolerance,
                "gradient of {name}"
            );
        }
    }
}

const OVER_DP: (&str, &[(&str, &str)]) = ("replicate", &[("over", "dp")]);
const ADAMW: &str = "func.func private @loss()\nstrategy.plan @train for @loss on @c {\n strategy.optimizer adamw <lr = warmup_cosine<peak = 0.1, floor = 0.01, warmup = 2, total = 5>, weight_decay = 0.1, clip = 0.05>\n}";

#[test]
fn replicas_compute_the_same_gradients() {
    for microbatches in [1, 2] {
        let one = train(&compiled(&text(microbatches, ""), &[]).unwrap(), 1);
        let two = train(&compiled(&text(microbatches, ""), &[OVER_DP]).unwrap(), 1);
        assert!(
            one[0].outputs["loss"] > 0.1
                && one[0].gradients["w"].to_f64().iter().any(|g| g.abs() > 1e-3)
        );
        assert_same(&one, &two, 1e-14);
    }
    // And the microbatches are those of the whole batch.
    assert_same(
        &train(&compiled(&text(1, ""), &[]).unwrap(), 1),
        &train(&compiled(&text(4, ""), &[]).unwrap(), 1),
        1e-14,
    );
}

#[test]
fn every_optimizer_steps_as_without_replicas() {
    let optimizers: [&[(&str, &str)]; 3] = [
        &[("rule", "sgd"), ("lr", "0.5"), ("weight-decay", "0.01")],
        &[("rule", "sgd"), ("lr", "0.5"), ("momentum", "0.9"), ("clip", "0.1")],
        &[
            ("rule", "adamw"),
            ("lr", "0.05"),
            ("weight-decay", "0.1"),
            ("clip", "0.1"),
            ("beta2", "0.95"),
        ],
    ];
    for optimizer in optimizers {
        let update = ("update", optimizer);
        let one = train(&compiled(&text(2, ""), &[update]).unwrap(), 4);
        assert_ne!(one[3].state["w"], one[0].state["w"]);
        assert_same(&one, &train(&compiled(&text(2, ""), &[OVER_DP, update]).unwrap(), 4), 1e-13);
        for bucket in ["25MiB", "128B", "8B"] {
            let zero: (&str, &[(&str, &str)]) = ("zero", &[("over", "dp"), ("bucket", bucket)]);
            assert_same(&one, &train(&compiled(&text(2, ""), &[zero, update]).unwrap(), 4), 1e-13);
        }
    }
}

#[test]
fn directives_say_the_same_as_options() {
    let with = |directives: &str| {
        ADAMW.replace("{\n strategy.optimizer", &format!("{{\n {directives}\n strategy.optimizer"))
    };
    let one = train(&compiled(&text(2, ADAMW), &[("update", &[])]).unwrap(), 5);
    for (directive, pass) in [
        ("strategy.replicate over \"dp\"", "replicate"),
        ("strategy.replicate over \"dp\" zero = 1 bucket = \"100B\"", "replicate"),
        ("strategy.zero over \"dp\" stage = 1", "zero"),
    ] {
        let module = compiled(&text(2, &with(directive)), &[(pass, &[]), ("update", &[])]).unwrap();
        assert_same(&one, &train(&module, 5), 1e-13);
    }
}

/// The norm of all gradients, each parameter once, from one step's complete gradients.
fn norm(step: &Step) -> f64 {
    step.gradients.values().flat_map(|g| g.to_f64()).map(|g| g * g).sum::<f64>().sqrt()
}

#[test]
fn clipping_counts_a_shared_weight_once() {
    let plain: (&str, &[(&str, &str)]) = ("update", &[("rule", "sgd"), ("lr", "1.0")]);
    let clipped: (&str, &[(&str, &str)]) =
        ("update", &[("rule", "sgd"), ("lr", "1.0"), ("clip", "0.01")]);
    let zero: (&str, &[(&str, &str)]) = ("zero", &[("over", "dp")]);
    for before in [vec![], vec![OVER_DP], vec![zero]] {
        let run = |update| {
            let passes: Vec<_> = before.iter().copied().chain([update]).collect();
            train(&compiled(&text(2, ""), &passes).unwrap(), 1).remove(0)
        };
        let (free, bound) = (run(plain), run(clipped));
        let start = {
            let module = compiled(&text(2, ""), &[]).unwrap();
            train(&module, 1).remove(0).state
        };
        let scale = 0.01 / (norm(&free) + 1e-6);
        assert!(scale < 0.5);
        for name in ["u", "w"] {
            let expected: Vec<f64> = start[name]
                .to_f64()
                .iter()
                .zip(free.gradients[name].to_f64())
                .map(|(p, g)| p - scale * g)
                .collect();
            let expected = Tensor::new([4, 4], expected).unwrap();
            assert!(distance(&bound.state[name], &expected) < 1e-15, "{name}");
        }
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let refused = |plan: &str, passes: &[(&str, &[(&str, &str)])]| {
        compiled(&text(2, plan), passes).unwrap_err().join("\n")
    };
    let says = |text: String, part: &str| assert!(text.contains(part), "{text}");
    says(refused("", &[("replicate", &[])]), "has nothing to do");
    says(refused("", &[("replicate", &[("over", "dpp")])]), "did you mean \"dp\"?");
    says(refused("", &[("replicate", &[("over", "pp")])]), "already placed along \"pp\"");
    says(refused("", &[OVER_DP, OVER_DP]), "already replicated over \"dp\"");
    says(
        refused("", &[("replicate", &[("over", "dp"), ("stage", "4")])]),
        "is 0, 1, 2 or 3, not 4",
    );
    let sgd: (&str, &[(&str, &str)]) = ("update", &[("rule", "sgd"), ("lr", "1.0")]);
    says(refused("", &[sgd, OVER_DP]), "put the optimizer last");
    says(refused("", &[sgd, sgd]), "has an optimizer already");
    says(refused("", &[("update", &[])]), "update{rule=sgd lr=0.1}");
    says(refused("", &[("update", &[("rule", "sgd")])]), "needs a learning rate");
    says(
        refused(ADAMW, &[("update", &[("rule", "sgd")])]),
        "says rule = adamw, but pass 'update' was given rule = sgd",
    );
    says(
        refused(ADAMW, &[("update", &[("clip", "2.0")])]),
        "says clip = 0.05, but pass 'update' was given clip = 2",
    );
    let late = ADAMW.replace("\n}", "\n strategy.replicate over \"dp\"\n}");
    says(refused(&late, &[("replicate", &[])]), "put the optimizer after it");
    says(refused(&late, &[("update", &[])]), "put the optimizer after it");
    let first = ADAMW.replace("{\n", "{\n strategy.replicate over \"dp\"\n ");
    says(
        refused(&first, &[("replicate", &[("stage", "1")])]),
        "says stage = 0, but pass 'replicate' was given stage = 1",
    );
    says(refused(&first, &[("update", &[])]), "run 'replicate' (or 'zero') before 'update'");
    // 8 rows in 8 microbatches leave nothing to divide.
    let odd = compiled(&text(8, ""), &[OVER_DP]).unwrap_err().join("\n");
    assert!(odd.contains("cannot divide a batch of 1 into 2 equal parts"), "{odd}");
}
