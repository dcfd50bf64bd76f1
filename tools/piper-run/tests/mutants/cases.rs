//! The plans that are mutated: every schedule, alone and with replicas, made through all passes from a small model.

use piper_codegen::Isolation;
use piper_plan::Plan;
use piper_run::Failure;
use piper_run::args::Level;
use piper_run::compile::{Options, compile};
use piper_run::lower::lower;
use piper_run::models::{ADAMW, Gpt, SGD, Strategy};
use piper_runtime::KernelLibrary;

/// Tokens there are.
pub const VOCABULARY: u32 = 16;

const MODEL: Gpt = Gpt {
    layers: 4,
    stages: 4,
    width: 4,
    heads: 1,
    length: 2,
    vocabulary: VOCABULARY as usize,
    batch: 8,
    is_f64: false,
    is_tied: false,
};

/// Something to compile.
pub struct Case {
    /// Schedule, sizes and sharding.
    pub name: String,
    text: String,
}

/// A plan and what it launches.
pub struct Compiled {
    pub plan: Plan,
    pub library: Box<dyn KernelLibrary>,
}

impl Case {
    fn new(
        name: String,
        stages: usize,
        mesh: String,
        directives: String,
        optimizer: &str,
        is_tied: bool,
    ) -> Self {
        // A case is made once and lives as long as the program.
        let strategy = Strategy {
            name: "case",
            stages,
            mesh: String::leak(mesh),
            directives: String::leak(directives),
        };
        let text = Gpt { layers: stages, is_tied, ..MODEL }.text(&strategy, optimizer);
        Self { name, text }
    }

    /// Compiles it down to device programs, with a kernel for each chunk.
    ///
    /// # Errors
    /// A pass that fails.
    pub fn compile(&self) -> Result<Compiled, Failure> {
        let mut compiled = compile(&self.name, &self.text, Options::default())?;
        let (plan, library) = lower(&mut compiled, Level::Device, false, Isolation::InProcess)?;
        Ok(Compiled { plan, library })
    }
}

/// Schedule, stages per rank, microbatches for two ranks.
const SCHEDULES: [(&str, usize, usize); 10] = [
    ("gpipe", 1, 2),
    ("1f1b", 1, 4),
    ("interleaved1f1b", 2, 4),
    ("looped-bfs", 2, 2),
    ("zb-h1", 1, 4),
    ("zb-h2", 1, 4),
    ("interleaved-zb", 2, 4),
    ("zbv", 2, 4),
    ("dualpipe", 1, 4),
    ("dualpipev", 2, 4),
];

fn pipeline(schedule: &str, microbatches: usize) -> String {
    match schedule {
        "dualpipe" => {
            format!("strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = {microbatches}")
        }
        "dualpipev" => format!(
            "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = {microbatches} variant = \"v\""
        ),
        _ => format!(
            "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"{schedule}\" microbatches = {microbatches}"
        ),
    }
}

/// All cases.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (schedule, per_rank, microbatches) in SCHEDULES {
        let stages = 2 * per_rank;
        let directives = pipeline(schedule, microbatches);
        let mut add = |suffix: &str, mesh: &str, more: &str, optimizer: &str| {
            let (name, mesh) = (format!("{schedule}{suffix}"), mesh.to_owned());
            let directives = format!("{directives}{more}");
            cases.push(Case::new(name, stages, mesh, directives, optimizer, false));
        };
        add(" pp2", r#""pp" = 2"#, "", SGD);
        let (mesh, zero) = (r#""pp" = 2, "dp" = 2"#, "\nstrategy.zero over \"dp\" stage = ");
        add(" pp2 x dp2 zero 0", mesh, &format!("{zero}0"), ADAMW);
        add(" pp2 x dp2 zero 1", mesh, &format!("{zero}1 bucket = \"1KiB\""), ADAMW);
    }
    let more = [
        ("one device", 2, r#""pp" = 1"#, "strategy.split \"MB\" into 4".to_owned(), false),
        (
            "dp4",
            1,
            r#""dp" = 4"#,
            "strategy.split \"MB\" into 2\nstrategy.replicate over \"dp\"".to_owned(),
            false,
        ),
        ("1f1b pp4", 4, r#""pp" = 4"#, pipeline("1f1b", 8), false),
        ("dualpipe pp4", 4, r#""pp" = 4"#, pipeline("dualpipe", 8), false),
        ("tied 1f1b pp2", 2, r#""pp" = 2"#, pipeline("1f1b", 4), true),
        (
            "tied dualpipe pp2 x dp2 zero 1",
            2,
            r#""pp" = 2, "dp" = 2"#,
            pipeline("dualpipe", 4) + "\nstrategy.zero over \"dp\" stage = 1",
            true,
        ),
    ];
    for (name, stages, mesh, directives, is_tied) in more {
        let case = Case::new(name.to_owned(), stages, mesh.to_owned(), directives, ADAMW, is_tied);
        cases.push(case);
    }
    for (name, mesh, directives) in [
        ("tensor parallel tp2", r#""tp" = 2"#, TENSOR.to_owned()),
        (
            "1f1b pp2 x tp2 zero 1",
            r#""pp" = 2, "dp" = 2, "tp" = 2"#,
            format!("{}\n{TENSOR}\nstrategy.zero over \"dp\" stage = 1", pipeline("1f1b", 2)),
        ),
        (
            "sequence parallel sp2",
            r#""tp" = 2"#,
            format!("{TENSOR}\nstrategy.replicate over \"tp\""),
        ),
        (
            "all-to-all pp2 x sp2",
            r#""pp" = 2, "tp" = 2"#,
            format!("{}\n{COLUMNS}\nstrategy.replicate over \"tp\"", pipeline("zb-h1", 4)),
        ),
    ] {
        cases.push(Case { name: name.to_owned(), text: sharded(mesh, &directives) });
    }
    let zero = |stage: &str| format!("\nstrategy.zero over \"dp\" stage = {stage}");
    // Sharded gradients and parameters, and computing again, for schedules of every kind: one backward, two, both directions.
    for (schedule, stages) in [("1f1b", 2), ("interleaved1f1b", 4), ("zb-h1", 2), ("dualpipe", 2)] {
        for (suffix, more) in [
            ("zero 2", zero("2 reduce = \"each\"")),
            ("zero 3", zero("3 gather = \"microbatch\" prefetch = 1")),
            ("zero 3 kept", zero("3 gather = \"keep\" reduce = \"each\"")),
            ("recompute zero 1", format!("\nstrategy.recompute {{PP = *}}{}", zero("1"))),
        ] {
            let name = format!("{schedule} pp2 x dp2 {suffix}");
            let mesh = r#""pp" = 2, "dp" = 2"#.to_owned();
            let directives = pipeline(schedule, 4) + &more;
            cases.push(Case::new(name, stages, mesh, directives, ADAMW, false));
        }
    }
    let precision = "\nstrategy.precision compute = bf16";
    cases.push(Case::new(
        "1f1b pp2 x dp2 mixed zero 3".to_owned(),
        2,
        r#""pp" = 2, "dp" = 2"#.to_owned(),
        pipeline("1f1b", 4) + precision + &zero("3 gather = \"keep\""),
        ADAMW,
        false,
    ));
    for (name, mesh, directives) in [
        (
            "expert parallel ep2",
            r#""ep" = 2"#,
            format!("{EXPERTS}\nstrategy.replicate over \"ep\""),
        ),
        (
            "dualpipe pp2 x ep2 zero 1",
            r#""pp" = 2, "ep" = 2"#,
            format!("{}\n{EXPERTS}\nstrategy.zero over \"ep\" stage = 1", pipeline("dualpipe", 4)),
        ),
        (
            "dualpipe pp2 x ep2 overlapped",
            r#""pp" = 2, "ep" = 2"#,
            format!(
                "{}\n{EXPERTS}\nstrategy.zero over \"ep\" stage = 1\n{OVERLAP}",
                pipeline("dualpipe", 4)
            ),
        ),
        (
            "pairs pp1 x ep2 overlapped, in partitions",
            r#""pp" = 1, "ep" = 2"#,
            format!(
                "{} overlap\n{EXPERTS}\nstrategy.replicate over \"ep\"\nstrategy.overlap over \"ep\"\n{PARTITION}",
                pipeline("interleaved1f1b", 4)
            ),
        ),
    ] {
        cases.push(Case { name: name.to_owned(), text: experts(mesh, &directives) });
    }
    cases
}

const EXPERTS: &str = r#"strategy.shard {PART = experts} over "ep" parameters = {"*" = 0}"#;
const OVERLAP: &str = "strategy.overlap over \"ep\"\nstrategy.resource stream \"p2p\" for transfer";
const PARTITION: &str =
    r#"strategy.sm_partition arch = "sm_90" comm = 24 streams = ["a2a", "comm"] ctas = 20"#;

const TENSOR: &str =
    r#"strategy.shard {PART = up|down} over "tp" parameters = {"*.up" = 1, "*.down" = 0}"#;
const COLUMNS: &str = r#"strategy.shard {PART = down} over "tp" parameters = {"*.down" = 0}"#;

/// Two stages with two products each, every product in a segment of its own, so that its parameter can be divided.
fn sharded(mesh: &str, directives: &str) -> String {
    let (x, wide, tokens) = ("tensor<8x2x4xf32>", "tensor<8x2x8xf32>", "tensor<8x2xi32>");
    let block = |n: u32, input: &str| {
        format!(
            r#"
  %a{n} = strategy.annotate {{PP = {n}, PART = "up"}} {{
    %up = nn.parameter "h{n}.up" init = normal<0.0, 0.3> : tensor<4x8xf32>
    %u = nn.linear {input}, %up : ({x}, tensor<4x8xf32>) -> {wide}
    %a = nn.gelu %u : {wide}
    strategy.yield %a : {wide}
  }} : {wide}
  %m{n} = strategy.annotate {{PP = {n}, PART = "down"}} {{
    %down = nn.parameter "h{n}.down" init = normal<0.0, 0.3> : tensor<8x4xf32>
    %d = nn.linear %a{n}, %down : ({wide}, tensor<8x4xf32>) -> {x}
    strategy.yield %d : {x}
  }} : {x}
  %h{n} = strategy.annotate {{PP = {n}, PART = "residual"}} {{
    %r = nn.add {input}, %m{n} : {x}
    strategy.yield %r : {x}
  }} : {x}"#
        )
    };
    let (first, second) = (block(0, "%e"), block(1, "%h0"));
    let body = format!(
        r#"
  %e = strategy.annotate {{PP = 0, PART = "in"}} {{
    %wte = nn.parameter "wte" init = normal<0.0, 0.3> : tensor<16x4xf32>
    %r = nn.embedding %tokens, %wte : ({tokens}, tensor<16x4xf32>) -> {x}
    strategy.yield %r : {x}
  }} : {x}
  {first}
  {second}
  %loss = strategy.annotate {{PP = 1, PART = "out"}} {{
    %head = nn.parameter "head" init = normal<0.0, 0.3> : tensor<4x16xf32>
    %z = nn.linear %h1, %head : ({x}, tensor<4x16xf32>) -> tensor<8x2x16xf32>
    %l = nn.cross_entropy %z, %targets {{denominator = 16}} : (tensor<8x2x16xf32>, {tokens}) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  }} : tensor<f32>
"#
    );
    module(mesh, directives, &body)
}

/// Two stages, each with a layer of two experts between sorting tokens and putting them back.
fn experts(mesh: &str, directives: &str) -> String {
    let (x, sorted, tokens) = ("tensor<8x2x4xf32>", "tensor<2x8x1x4xf32>", "tensor<8x2xi32>");
    let layer = |n: u32| {
        format!(
            r#"
  %m{n} = strategy.annotate {{PP = {n}, PART = "experts"}} {{
    %w = nn.parameter "h{n}.w" init = normal<0.0, 0.3> : tensor<2x4x4xf32>
    %u = nn.expert_linear %s{n}, %w : ({sorted}, tensor<2x4x4xf32>) -> {sorted}
    %a = nn.gelu %u : {sorted}
    strategy.yield %a : {sorted}
  }} : {sorted}"#
        )
    };
    let (first, second) = (layer(0), layer(1));
    let body = format!(
        r#"
  %e, %s0 = strategy.annotate {{PP = 0, PART = "in"}} {{
    %wte = nn.parameter "wte" init = normal<0.0, 0.3> : tensor<16x4xf32>
    %r = nn.embedding %tokens, %wte : ({tokens}, tensor<16x4xf32>) -> {x}
    %s = nn.dispatch %r {{experts = 2}} : ({x}) -> {sorted}
    strategy.yield %r, %s : {x}, {sorted}
  }} : {x}, {sorted}
  {first}
  %h, %s1 = strategy.annotate {{PP = 1, PART = "middle"}} {{
    %c = nn.combine %m0 : ({sorted}) -> {x}
    %r = nn.add %e, %c : {x}
    %s = nn.dispatch %r {{experts = 2}} : ({x}) -> {sorted}
    strategy.yield %r, %s : {x}, {sorted}
  }} : {x}, {sorted}
  {second}
  %loss = strategy.annotate {{PP = 1, PART = "out"}} {{
    %head = nn.parameter "head" init = normal<0.0, 0.3> : tensor<4x16xf32>
    %c = nn.combine %m1 : ({sorted}) -> {x}
    %r = nn.add %h, %c : {x}
    %z = nn.linear %r, %head : ({x}, tensor<4x16xf32>) -> tensor<8x2x16xf32>
    %l = nn.cross_entropy %z, %targets {{denominator = 16}} : (tensor<8x2x16xf32>, {tokens}) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  }} : tensor<f32>
"#
    );
    module(mesh, directives, &body)
}

/// A model of tokens with a plan to train it. The body gives `%loss`.
fn module(mesh: &str, directives: &str, body: &str) -> String {
    let tokens = r#"tensor<8x2xi32> {role = "data", batch_dim = 0}"#;
    format!(
        r#"
strategy.mesh @cluster <[{mesh}]>
func.func @loss(%tokens: {tokens}, %targets: {tokens}) -> tensor<f32> {{
{body}
  func.return %loss : tensor<f32>
}}
strategy.plan @train for @loss on @cluster {{
  {directives}
  {ADAMW}
}}
"#
    )
}
