//! Parameters divided over an axis (tensor and expert parallelism at the boundaries of segments): the numbers of one device.

use piper_codegen::Isolation;
use piper_run::args::Level;
use piper_run::beside::Beside;
use piper_run::compare::Tier;
use piper_run::data::Corpus;

const TEXT: &[u8] = b"Nothing composes silently wrong: a lost gradient is an error with a place, not a loss a little off.";

/// Two blocks of a norm, two products and a residual, in two stages; each product is in a segment of its own.
fn model(element: &str, mesh: &str, plan: &str) -> String {
    let x = format!("tensor<16x6x8x{element}>");
    let block = |n: u32, x_in: &str| {
        format!(
            r#"
  %a{n} = strategy.annotate {{PP = {n}, PART = "up"}} {{
    %norm = nn.parameter "h{n}.norm" init = ones : tensor<8x{element}>
    %up = nn.parameter "h{n}.up" init = normal<0.0, 0.3> : tensor<8x16x{element}>
    %n = nn.rms_norm {x_in}, %norm {{eps = 1.0e-5}} : ({x}, tensor<8x{element}>) -> {x}
    %u = nn.linear %n, %up : ({x}, tensor<8x16x{element}>) -> tensor<16x6x16x{element}>
    %a = nn.gelu %u : tensor<16x6x16x{element}>
    strategy.yield %a : tensor<16x6x16x{element}>
  }} : tensor<16x6x16x{element}>
  %m{n} = strategy.annotate {{PP = {n}, PART = "down"}} {{
    %down = nn.parameter "h{n}.down" init = normal<0.0, 0.3> : tensor<16x8x{element}>
    %d = nn.linear %a{n}, %down : (tensor<16x6x16x{element}>, tensor<16x8x{element}>) -> {x}
    strategy.yield %d : {x}
  }} : {x}
  %h{n} = strategy.annotate {{PP = {n}, PART = "residual"}} {{
    %r = nn.add {x_in}, %m{n} : {x}
    strategy.yield %r : {x}
  }} : {x}"#
        )
    };
    let (first, second) = (block(0, "%e"), block(1, "%h0"));
    format!(
        r#"
strategy.mesh @cluster <{mesh}>
func.func @loss(%tokens: tensor<16x6xi32> {{role = "data", batch_dim = 0}}, %targets: tensor<16x6xi32> {{role = "data", batch_dim = 0}}) -> tensor<{element}> {{
  %e = strategy.annotate {{PP = 0, PART = "in"}} {{
    %wte = nn.parameter "wte" init = normal<0.0, 0.3> : tensor<128x8x{element}>
    %r = nn.embedding %tokens, %wte : (tensor<16x6xi32>, tensor<128x8x{element}>) -> {x}
    strategy.yield %r : {x}
  }} : {x}
  {first}
  {second}
  %loss = strategy.annotate {{PP = 1, PART = "out"}} {{
    %head = nn.parameter "head" init = normal<0.0, 0.3> : tensor<8x128x{element}>
    %z = nn.linear %h1, %head : ({x}, tensor<8x128x{element}>) -> tensor<16x6x128x{element}>
    %l = nn.cross_entropy %z, %targets {{denominator = 96}} : (tensor<16x6x128x{element}>, tensor<16x6xi32>) -> tensor<{element}>
    strategy.yield %l : tensor<{element}>
  }} : tensor<{element}>
  func.return %loss : tensor<{element}>
}}
strategy.plan @train for @loss on @cluster {{
{plan}
  strategy.optimizer adamw <lr = 0.01, weight_decay = 0.1, clip = 0.5>
}}
"#
    )
}

/// Trains a plan and one device side by side.
fn check(name: &str, text: &str, level: Level, tier: Tier) {
    let corpus = Corpus::of("text", TEXT.to_vec(), 7).expect("long enough");
    let isolation = Isolation::InProcess;
    let beside = Beside { corpus: &corpus, steps: 3, level, isolation, fixed_tree: false };
    let outcome = beside.train(name, text).unwrap_or_else(|e| panic!("{name}: {e}"));
    let comparison = outcome.comparison;
    assert!(
        comparison.meets(tier) && comparison.has_gradients,
        "{name}\n{}",
        comparison.report(tier)
    );
}

const TENSOR: &str =
    r#"  strategy.shard {PART = up|down} over "tp" parameters = {"*.up" = 1, "*.down" = 0}"#;

const COLUMNS: &str = r#"  strategy.shard {PART = down} over "tp" parameters = {"*.down" = 0}"#;

/// Mesh and directives.
fn tensor_parallel() -> Vec<(&'static str, &'static str, String)> {
    let pipeline =
        r#"  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4"#;
    let zb = r#"  strategy.pipeline over "pp" stages = "PP" schedule = "zb-h1" microbatches = 4"#;
    vec![
        ("tp2", r#"["tp" = 2]"#, TENSOR.to_owned()),
        ("tp4", r#"["tp" = 4]"#, TENSOR.to_owned()),
        ("pp2 x tp2", r#"["pp" = 2, "tp" = 2]"#, format!("{pipeline}\n{TENSOR}")),
        ("zb-h1 pp2 x tp2", r#"["pp" = 2, "tp" = 2]"#, format!("{zb}\n{TENSOR}")),
        // The batch is divided over "tp" outside: gathered before, reduced and scattered after.
        ("sp2", r#"["tp" = 2]"#, format!("{TENSOR}\n  strategy.replicate over \"tp\"")),
        // The second product alone: an all-to-all before it, a reduce-scatter after it.
        ("columns", r#"["tp" = 2]"#, format!("{COLUMNS}\n  strategy.replicate over \"tp\"")),
        (
            "pp2 x dp2 x sp2",
            r#"["pp" = 2, "dp" = 2, "tp" = 2]"#,
            format!(
                "{pipeline}\n{COLUMNS}\n  strategy.replicate over \"tp\"\n  strategy.replicate over \"dp\""
            ),
        ),
        (
            "pp2 x dp2 zero 1 x tp2",
            r#"["pp" = 2, "dp" = 2, "tp" = 2]"#,
            format!("{pipeline}\n{TENSOR}\n  strategy.zero over \"dp\" stage = 1"),
        ),
    ]
}

/// ZeRO over the copies of what is divided already: every stage, the bound of the gradients' norm among what is compared.
fn sharded_state() -> Vec<(String, String)> {
    const EXPERTS: &str = r#"  strategy.shard {PART = experts} over "ep" parameters = {"*" = 0}"#;
    let interleaved =
        r#"  strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 4"#;
    let dualpipe = r#"  strategy.dualpipe over "pp" stages = "PP" microbatches = 4"#;
    let mut cases = Vec::new();
    for stage in 1..=3 {
        let zero = format!("  strategy.zero over \"dp\" stage = {stage}");
        let text = |of: fn(&str, &str, &str) -> String, mesh: &str, rest: &str| {
            of("ELEMENT", mesh, &format!("{rest}\n{zero}"))
        };
        let ep = format!("{EXPERTS}\n  strategy.replicate over \"ep\"");
        cases.extend([
            (format!("tp2 x dp2 zero {stage}"), text(model, r#"["dp" = 2, "tp" = 2]"#, TENSOR)),
            (
                format!("pp2 x tp2 x dp2 zero {stage}"),
                text(
                    model,
                    r#"["pp" = 2, "dp" = 2, "tp" = 2]"#,
                    &format!("{interleaved}\n{TENSOR}"),
                ),
            ),
            (format!("ep2 x dp2 zero {stage}"), text(experts, r#"["dp" = 2, "ep" = 2]"#, &ep)),
            (
                format!("dualpipe pp2 x ep2 x dp2 zero {stage}"),
                text(experts, r#"["pp" = 2, "dp" = 2, "ep" = 2]"#, &format!("{dualpipe}\n{ep}")),
            ),
        ]);
    }
    cases
}

#[test]
fn sharded_state_of_divided_parameters_has_the_numbers_of_one_device_in_graphs() {
    for (name, text) in sharded_state() {
        check(&name, &text.replace("ELEMENT", "f64"), Level::Dag, Tier::F64);
    }
}

#[test]
fn sharded_state_of_divided_parameters_has_the_numbers_of_one_device_in_device_programs() {
    for (name, text) in sharded_state() {
        check(&name, &text.replace("ELEMENT", "f32"), Level::Kernel, Tier::F32);
    }
}

#[test]
fn tensor_parallel_graphs_have_the_numbers_of_one_device() {
    for (name, mesh, plan) in tensor_parallel() {
        check(name, &model("f64", mesh, &plan), Level::Dag, Tier::F64);
    }
}

#[test]
fn tensor_parallel_device_programs_have_the_numbers_of_one_device() {
    for (name, mesh, plan) in tensor_parallel() {
        check(name, &model("f32", mesh, &plan), Level::Kernel, Tier::F32);
    }
}

/// Two blocks of experts (four, each a product, an activation and a product) in two stages. Tokens are sorted in the segments
/// before the experts and put back in those after them.
fn experts(element: &str, mesh: &str, plan: &str) -> String {
    let x = format!("tensor<16x8x6x{element}>");
    let sorted = format!("tensor<4x16x2x6x{element}>");
    let wide = format!("tensor<4x16x2x10x{element}>");
    let block = |n: u32| {
        format!(
            r#"
  %m{n} = strategy.annotate {{PP = {n}, PART = "experts"}} {{
    %up = nn.parameter "h{n}.up" init = normal<0.0, 0.3> : tensor<4x6x10x{element}>
    %down = nn.parameter "h{n}.down" init = normal<0.0, 0.3> : tensor<4x10x6x{element}>
    %u = nn.expert_linear %s{n}, %up : ({sorted}, tensor<4x6x10x{element}>) -> {wide}
    %a = nn.gelu %u : {wide}
    %d = nn.expert_linear %a, %down : ({wide}, tensor<4x10x6x{element}>) -> {sorted}
    strategy.yield %d : {sorted}
  }} : {sorted}"#
        )
    };
    let (first, second) = (block(0), block(1));
    format!(
        r#"
strategy.mesh @cluster <{mesh}>
func.func @loss(%tokens: tensor<16x8xi32> {{role = "data", batch_dim = 0}}, %targets: tensor<16x8xi32> {{role = "data", batch_dim = 0}}) -> tensor<{element}> {{
  %e, %s0 = strategy.annotate {{PP = 0, PART = "in"}} {{
    %wte = nn.parameter "wte" init = normal<0.0, 0.3> : tensor<128x6x{element}>
    %r = nn.embedding %tokens, %wte : (tensor<16x8xi32>, tensor<128x6x{element}>) -> {x}
    %s = nn.dispatch %r {{experts = 4}} : ({x}) -> {sorted}
    strategy.yield %r, %s : {x}, {sorted}
  }} : {x}, {sorted}
  {first}
  %h, %s1 = strategy.annotate {{PP = 1, PART = "middle"}} {{
    %mix = nn.parameter "mix" init = normal<0.0, 0.3> : tensor<6x6x{element}>
    %c = nn.combine %m0 : ({sorted}) -> {x}
    %r = nn.add %e, %c : {x}
    %q = nn.linear %r, %mix : ({x}, tensor<6x6x{element}>) -> {x}
    %s = nn.dispatch %q {{experts = 4}} : ({x}) -> {sorted}
    strategy.yield %q, %s : {x}, {sorted}
  }} : {x}, {sorted}
  {second}
  %loss = strategy.annotate {{PP = 1, PART = "out"}} {{
    %head = nn.parameter "head" init = normal<0.0, 0.3> : tensor<6x128x{element}>
    %c = nn.combine %m1 : ({sorted}) -> {x}
    %r = nn.add %h, %c : {x}
    %z = nn.linear %r, %head : ({x}, tensor<6x128x{element}>) -> tensor<16x8x128x{element}>
    %l = nn.cross_entropy %z, %targets {{denominator = 128}} : (tensor<16x8x128x{element}>, tensor<16x8xi32>) -> tensor<{element}>
    strategy.yield %l : tensor<{element}>
  }} : tensor<{element}>
  func.return %loss : tensor<{element}>
}}
strategy.plan @train for @loss on @cluster {{
{plan}
  strategy.optimizer adamw <lr = 0.01, weight_decay = 0.1, clip = 0.5>
}}
"#
    )
}

fn expert_parallel() -> Vec<(&'static str, &'static str, String)> {
    const SHARD: &str = r#"  strategy.shard {PART = experts} over "ep" parameters = {"*" = 0}"#;
    let ep = format!("{SHARD}\n  strategy.replicate over \"ep\"");
    let zero = format!("{SHARD}\n  strategy.zero over \"ep\" stage = 1");
    let pipeline = |schedule: &str| {
        format!(
            "  strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"{schedule}\" microbatches = 4"
        )
    };
    let dualpipe = r#"  strategy.dualpipe over "pp" stages = "PP" microbatches = 4"#;
    let parts = r#"  strategy.shard {PART = experts} over "dp:(2)2" parameters = {"*" = 0}
  strategy.zero over "dp:(2)2" stage = 1
  strategy.replicate over "dp:(1)2""#;
    let pairs = format!("{} overlap", pipeline("interleaved1f1b"));
    const OVERLAP: &str =
        "  strategy.overlap over \"ep\"\n  strategy.resource stream \"p2p\" for transfer";
    vec![
        // The experts are divided over a part of the data-parallel axis.
        ("ep2 in dp4", r#"["dp" = 4]"#, parts.to_owned()),
        ("ep2", r#"["ep" = 2]"#, ep.clone()),
        ("ep4 zero 1", r#"["ep" = 4]"#, zero.clone()),
        ("1f1b pp2 x ep2", r#"["pp" = 2, "ep" = 2]"#, format!("{}\n{ep}", pipeline("1f1b"))),
        ("zb-h1 pp2 x ep2", r#"["pp" = 2, "ep" = 2]"#, format!("{}\n{ep}", pipeline("zb-h1"))),
        ("dualpipe pp2 x ep2", r#"["pp" = 2, "ep" = 2]"#, format!("{dualpipe}\n{zero}")),
        // Slots of pairs in turns, exchanges and transfers on streams of their own.
        (
            "dualpipe pp2 x ep2 overlapped",
            r#"["pp" = 2, "ep" = 2]"#,
            format!("{dualpipe}\n{zero}\n{OVERLAP}"),
        ),
        (
            "pairs pp1 x ep2 overlapped, in partitions",
            r#"["pp" = 1, "ep" = 2]"#,
            format!(
                "{pairs}\n{ep}\n  strategy.overlap over \"ep\"\n  strategy.resource stream \"weights\" for compute {{PASS = BW}}\n  strategy.sm_partition arch = \"sm_90\" comm = 24 streams = [\"a2a\", \"comm\"] ctas = 20"
            ),
        ),
        (
            "1f1b pp2 x ep2 zero 1 x dp2",
            r#"["pp" = 2, "dp" = 2, "ep" = 2]"#,
            format!("{}\n{zero}\n  strategy.replicate over \"dp\"", pipeline("1f1b")),
        ),
    ]
}

#[test]
fn expert_parallel_graphs_have_the_numbers_of_one_device() {
    for (name, mesh, plan) in expert_parallel() {
        check(name, &experts("f64", mesh, &plan), Level::Dag, Tier::F64);
    }
}

#[test]
fn expert_parallel_device_programs_have_the_numbers_of_one_device() {
    for (name, mesh, plan) in expert_parallel() {
        check(name, &experts("f32", mesh, &plan), Level::Kernel, Tier::F32);
    }
}

#[cfg(feature = "llvm")]
#[test]
fn sharded_native_device_programs_have_the_numbers_of_one_device() {
    for (name, mesh, plan) in expert_parallel() {
        check(name, &experts("f32", mesh, &plan), Level::Native, Tier::F32);
    }
    for (name, mesh, plan) in tensor_parallel() {
        check(name, &model("f32", mesh, &plan), Level::Native, Tier::F32);
    }
    for (name, text) in sharded_state() {
        check(&name, &text.replace("ELEMENT", "f32"), Level::Native, Tier::F32);
    }
}

/// bf16 rounds partial sums of tensor parallelism before they are added, so one device has other bits; but graphs and device
/// programs have the same, whatever the stage of ZeRO, and stay as near to one device as bf16 allows.
#[test]
fn mixed_precision_of_divided_parameters_is_the_same_in_every_stage_and_level() {
    let corpus = Corpus::of("text", TEXT.to_vec(), 7).expect("long enough");
    let mut seen = std::collections::BTreeMap::new();
    for (name, text) in sharded_state() {
        const PLAN: &str = "strategy.plan @train for @loss on @cluster {";
        let precise = format!("{PLAN}\n  strategy.precision compute = bf16");
        let text = text.replace("ELEMENT", "f32").replace(PLAN, &precise);
        for level in [Level::Dag, Level::Kernel] {
            let isolation = Isolation::InProcess;
            let beside = Beside { corpus: &corpus, steps: 3, level, isolation, fixed_tree: false };
            let outcome = beside.train(&name, &text).unwrap_or_else(|e| panic!("{name}: {e}"));
            let comparison = outcome.comparison;
            let is_near = comparison.loss < 1e-3 && comparison.gradient.0 < 0.03;
            assert!(is_near && comparison.has_gradients, "{name} {level:?} {comparison:?}");
            let (mesh, _) = name.split_once(" zero").expect("names end in the stage");
            let first = seen.entry(mesh.to_owned()).or_insert_with(|| comparison.clone());
            assert_eq!(format!("{first:?}"), format!("{comparison:?}"), "{name} {level:?}");
        }
    }
    assert_eq!(seen.len(), 4);
}
