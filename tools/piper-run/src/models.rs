//! Models and strategies as text, of any size: what tests and figures are made with.

use std::fmt::Write;

/// A byte-level GPT: rotary attention and a gelu perceptron a block, RMS norms before each, untied head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpt {
    /// Blocks, divided evenly over the stages.
    pub layers: usize,
    /// Values of the tag `PP`.
    pub stages: usize,
    /// Width of the residual stream; divisible by `heads`, and the quotient even.
    pub width: usize,
    /// Attention heads.
    pub heads: usize,
    /// Tokens of a sequence.
    pub length: usize,
    /// Tokens there are.
    pub vocabulary: usize,
    /// Sequences of the global batch.
    pub batch: usize,
    /// `f64` instead of `f32`.
    pub is_f64: bool,
    /// The head is the embedding again, used in the last stage too.
    pub is_tied: bool,
}

/// Tags of the parts of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tags {
    /// `PP`, the number of the stage: a stage is a segment.
    #[default]
    Stages,
    /// `PP`, and `PART`, the number of the part: every part is a segment.
    Parts,
    /// The letter of the part, with its number among those of the letter; `strategy.layout` makes stages of them.
    Letters,
}

/// What stands in which stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout<'a> {
    /// Stages divided by `|`: `E` is the embedding, `t` a block, `L` the norm, the head and the loss. A stage of no letter is
    /// empty. The first part is `E`, the last is `L`.
    pub stages: &'a str,
    /// How parts are tagged.
    pub tags: Tags,
    /// The embedding is added to what enters the head.
    pub has_skip: bool,
}

/// A strategy to be compared with one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// What figures call it.
    pub name: &'static str,
    /// Stages that the model needs: the values of `PP`.
    pub stages: usize,
    /// Axes of the mesh, as they are written.
    pub mesh: &'static str,
    /// Directives, the optimizer apart.
    pub directives: &'static str,
}

const fn strategy(
    name: &'static str,
    stages: usize,
    mesh: &'static str,
    directives: &'static str,
) -> Strategy {
    Strategy { name, stages, mesh, directives }
}

/// The strategies whose numbers are compared with one device's.
pub const STRATEGIES: [Strategy; 15] = [
    strategy("one device", 4, r#""pp" = 1"#, r#"strategy.split "MB" into 8"#),
    strategy(
        "dp2",
        4,
        r#""dp" = 2"#,
        "strategy.split \"MB\" into 4\nstrategy.replicate over \"dp\"",
    ),
    strategy(
        "dp4",
        4,
        r#""dp" = 4"#,
        "strategy.split \"MB\" into 2\nstrategy.replicate over \"dp\"",
    ),
    strategy(
        "gpipe pp2",
        2,
        r#""pp" = 2"#,
        r#"strategy.pipeline over "pp" stages = "PP" schedule = "gpipe" microbatches = 8"#,
    ),
    strategy(
        "gpipe pp4",
        4,
        r#""pp" = 4"#,
        r#"strategy.pipeline over "pp" stages = "PP" schedule = "gpipe" microbatches = 8"#,
    ),
    strategy(
        "1f1b pp2",
        2,
        r#""pp" = 2"#,
        r#"strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 8"#,
    ),
    strategy(
        "1f1b pp4",
        4,
        r#""pp" = 4"#,
        r#"strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 8"#,
    ),
    strategy(
        "1f1b pp2 x dp2",
        2,
        r#""pp" = 2, "dp" = 2"#,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 4\nstrategy.zero over \"dp\" stage = 0",
    ),
    strategy(
        "1f1b pp2 x dp2 zero 1",
        2,
        r#""pp" = 2, "dp" = 2"#,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 4\nstrategy.zero over \"dp\" stage = 1 bucket = \"64KiB\"",
    ),
    strategy(
        "dualpipe pp2",
        2,
        r#""pp" = 2"#,
        r#"strategy.dualpipe over "pp" stages = "PP" microbatches = 8"#,
    ),
    strategy(
        "dualpipe pp4",
        4,
        r#""pp" = 4"#,
        r#"strategy.dualpipe over "pp" stages = "PP" microbatches = 8"#,
    ),
    strategy(
        "dualpipe pp4 x dp2 zero 1",
        4,
        r#""pp" = 4, "dp" = 2"#,
        "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 8\nstrategy.zero over \"dp\" stage = 1 bucket = \"64KiB\"",
    ),
    strategy(
        "dualpipev pp2",
        4,
        r#""pp" = 2"#,
        r#"strategy.dualpipe over "pp" stages = "PP" microbatches = 8 variant = "v""#,
    ),
    // DualPipeV holds two stages a rank.
    strategy(
        "dualpipev pp4",
        8,
        r#""pp" = 4"#,
        r#"strategy.dualpipe over "pp" stages = "PP" microbatches = 8 variant = "v""#,
    ),
    strategy(
        "dualpipev pp2 x dp2 zero 1",
        4,
        r#""pp" = 2, "dp" = 2"#,
        "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 4 variant = \"v\"\nstrategy.zero over \"dp\" stage = 1",
    ),
];

/// Strategies that shard with ZeRO, stages 2 and 3 with every option, over every kind of pipeline; eight devices at most.
pub const ZERO_STRATEGIES: [Strategy; 18] = [
    strategy(
        "dp4 zero 2",
        4,
        r#""dp" = 4"#,
        "strategy.split \"MB\" into 2\nstrategy.zero over \"dp\" stage = 2 bucket = \"4KiB\"",
    ),
    strategy(
        "dp2 zero 2, reduced at the last",
        4,
        r#""dp" = 2"#,
        "strategy.split \"MB\" into 4\nstrategy.zero over \"dp\" stage = 2 bucket = \"4KiB\" reduce = \"last\"",
    ),
    strategy(
        "dp4 zero 3",
        4,
        r#""dp" = 4"#,
        "strategy.split \"MB\" into 2\nstrategy.zero over \"dp\" stage = 3 bucket = \"4KiB\"",
    ),
    strategy(
        "dp8 zero 3, one microbatch, a group a segment",
        4,
        r#""dp" = 8"#,
        "strategy.zero over \"dp\" stage = 3 group = \"segment\" prefetch = 1",
    ),
    strategy(
        "dp2 zero 3, kept, reduced at the last",
        4,
        r#""dp" = 2"#,
        "strategy.split \"MB\" into 4\nstrategy.zero over \"dp\" stage = 3 group = \"PP\" gather = \"keep\" prefetch = 1 reduce = \"last\"",
    ),
    strategy(
        "1f1b pp2 x dp2 zero 2, reduced each",
        2,
        r#""pp" = 2, "dp" = 2"#,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 4\nstrategy.zero over \"dp\" stage = 2 bucket = \"4KiB\" reduce = \"each\"",
    ),
    strategy(
        "1f1b pp2 x dp4 zero 3",
        2,
        r#""pp" = 2, "dp" = 4"#,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 4\nstrategy.zero over \"dp\" stage = 3 bucket = \"4KiB\"",
    ),
    strategy(
        "1f1b pp4 x dp2 zero 3, gathered each, reduced each",
        4,
        r#""pp" = 4, "dp" = 2"#,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 4\nstrategy.zero over \"dp\" stage = 3 group = \"segment\" gather = \"microbatch\" prefetch = 1 reduce = \"each\"",
    ),
    strategy(
        "gpipe pp2 x dp2 zero 3, gathered each",
        2,
        r#""pp" = 2, "dp" = 2"#,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"gpipe\" microbatches = 4\nstrategy.zero over \"dp\" stage = 3 gather = \"microbatch\"",
    ),
    strategy(
        "interleaved pp2 x dp2 zero 3, two live",
        4,
        r#""pp" = 2, "dp" = 2"#,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"interleaved1f1b\" microbatches = 4\nstrategy.zero over \"dp\" stage = 3 group = \"segment\" gather = 2 prefetch = 1",
    ),
    strategy(
        "interleaved zb pp2 x dp2 zero 2, reduced each",
        4,
        r#""pp" = 2, "dp" = 2"#,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"interleavedzb\" microbatches = 4\nstrategy.zero over \"dp\" stage = 2 bucket = \"8KiB\" reduce = \"each\"",
    ),
    strategy(
        "zbh1 pp2 x dp2 zero 3, gathered each",
        2,
        r#""pp" = 2, "dp" = 2"#,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"zbh1\" microbatches = 4\nstrategy.zero over \"dp\" stage = 3 bucket = \"8KiB\" gather = \"microbatch\" reduce = \"each\"",
    ),
    strategy(
        "zbv pp2 x dp2 zero 3, one live",
        4,
        r#""pp" = 2, "dp" = 2"#,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"zbv\" microbatches = 4\nstrategy.zero over \"dp\" stage = 3 group = \"segment\" gather = 1",
    ),
    strategy(
        "dualpipe pp2 x dp2 zero 2, reduced each",
        2,
        r#""pp" = 2, "dp" = 2"#,
        "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 4\nstrategy.zero over \"dp\" stage = 2 bucket = \"8KiB\" reduce = \"each\"",
    ),
    strategy(
        "dualpipe pp4 x dp2 zero 3",
        4,
        r#""pp" = 4, "dp" = 2"#,
        "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 8\nstrategy.zero over \"dp\" stage = 3 bucket = \"8KiB\"",
    ),
    strategy(
        "dualpipe pp4 x dp2 zero 3, gathered each, reduced each",
        4,
        r#""pp" = 4, "dp" = 2"#,
        "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 8\nstrategy.zero over \"dp\" stage = 3 gather = \"microbatch\" reduce = \"each\"",
    ),
    strategy(
        "dualpipev pp2 x dp2 zero 2, reduced each",
        4,
        r#""pp" = 2, "dp" = 2"#,
        "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 4 variant = \"v\"\nstrategy.zero over \"dp\" stage = 2 reduce = \"each\"",
    ),
    strategy(
        "dualpipev pp2 x dp4 zero 3, two live",
        4,
        r#""pp" = 2, "dp" = 4"#,
        "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 4 variant = \"v\"\nstrategy.zero over \"dp\" stage = 3 group = \"segment\" gather = 2 prefetch = 1 reduce = \"each\"",
    ),
];

/// SGD, whose steps are the gradients themselves.
pub const SGD: &str = "strategy.optimizer sgd <lr = 0.1>";
/// AdamW with everything it has.
pub const ADAMW: &str = "strategy.optimizer adamw <lr = warmup_cosine<peak = 0.003, floor = 0.0003, warmup = 4, total = 20>, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>";

impl Gpt {
    /// A byte-level model in f32 as the benchmarks take it, on one device with AdamW and clipping.
    pub fn text_to_measure(
        width: usize,
        layers: usize,
        heads: usize,
        length: usize,
        batch: usize,
    ) -> String {
        let model = Self {
            layers,
            stages: 1,
            width,
            heads,
            length,
            vocabulary: 256,
            batch,
            is_f64: false,
            is_tied: false,
        };
        let layout = model.even_layout();
        let layout = Layout { stages: &layout, ..Layout::default() };
        let optimizer = "strategy.optimizer adamw <lr = 0.001, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>";
        model.text_of(layout, r#""pp" = 1"#, "", optimizer)
    }

    /// The model under a strategy and an optimizer.
    pub fn text(&self, strategy: &Strategy, optimizer: &str) -> String {
        let layout = Gpt { stages: strategy.stages, ..*self }.even_layout();
        let layout = Layout { stages: &layout, ..Layout::default() };
        self.text_of(layout, strategy.mesh, strategy.directives, optimizer)
    }

    fn tensor(&self, shape: &[usize]) -> String {
        let element = if self.is_f64 { "f64" } else { "f32" };
        format!("tensor<{}{element}>", shape.iter().map(|d| format!("{d}x")).collect::<String>())
    }

    /// The model cut into stages as `layout` says, under a mesh, directives and an optimizer.
    pub fn text_of(
        &self,
        layout: Layout<'_>,
        mesh: &str,
        directives: &str,
        optimizer: &str,
    ) -> String {
        let directives = directives.replace('\n', "\n  ");
        format!(
            "strategy.mesh @cluster <[{mesh}]>\n{}strategy.plan @train for @loss on @cluster {{\n  {directives}\n  {optimizer}\n}}\n",
            self.function(layout)
        )
    }

    /// The layout of equal stages: the embedding with the first, the head with the last.
    fn even_layout(&self) -> String {
        let mut text = "E".to_owned();
        for stage in 0..self.stages {
            let blocks =
                (stage + 1) * self.layers / self.stages - stage * self.layers / self.stages;
            text.push_str(if stage == 0 { "" } else { "|" });
            text.push_str(&"t".repeat(blocks));
        }
        text + "L"
    }

    /// `@loss`, each part an annotated region. The blocks are those of the layout.
    fn function(&self, layout: Layout<'_>) -> String {
        let (b, s, d, v) = (self.batch, self.length, self.width, self.vocabulary);
        let (x, row) = (self.tensor(&[b, s, d]), self.tensor(&[d]));
        let tokens = format!("tensor<{b}x{s}xi32>");
        let scalar = self.tensor(&[]);
        let mut out = format!(
            "func.func @loss(%tokens: {tokens} {{role = \"data\", batch_dim = 0}}, %targets: {tokens} {{role = \"data\", batch_dim = 0}}) -> {scalar} {{\n"
        );
        let parts = layout.stages.split('|').enumerate().flat_map(|(stage, parts)| {
            parts.chars().map(move |part| (stage, part)).collect::<Vec<_>>()
        });
        let (mut value, mut layer) = (String::new(), 0);
        for (number, (stage, part)) in parts.enumerate() {
            let is_last = part == 'L';
            let ty = if is_last { &scalar } else { &x };
            let tags = match layout.tags {
                Tags::Stages => format!("PP = {stage}"),
                Tags::Parts => format!("PP = {stage}, PART = {number}"),
                Tags::Letters => {
                    let count = if part == 't' { layer } else { 0 };
                    format!("{part} = {count}")
                }
            };
            let _ = writeln!(out, "  %s{number} = strategy.annotate {{{tags}}} {{");
            match part {
                'E' => {
                    let wte = self.tensor(&[v, d]);
                    let _ = writeln!(
                        out,
                        "    %wte = nn.parameter \"wte\" init = normal<0.0, 0.05> : {wte}"
                    );
                    let _ = writeln!(
                        out,
                        "    %e = nn.embedding %tokens, %wte : ({tokens}, {wte}) -> {x}"
                    );
                    value = "e".to_owned();
                }
                'L' => {
                    if layout.has_skip {
                        let _ = writeln!(out, "    %skip = nn.add %{value}, %s0 : {x}");
                        value = "skip".to_owned();
                    }
                    let logits = self.tensor(&[b, s, v]);
                    let (name, shape, transpose) = match self.is_tied {
                        true => ("wte", [v, d], " {transpose_w}"),
                        false => ("head", [d, v], ""),
                    };
                    let head = self.tensor(&shape);
                    let _ = writeln!(out, "    %norm = nn.parameter \"norm\" init = ones : {row}");
                    let _ = writeln!(
                        out,
                        "    %head = nn.parameter \"{name}\" init = normal<0.0, 0.05> : {head}"
                    );
                    let _ = writeln!(
                        out,
                        "    %n = nn.rms_norm %{value}, %norm {{eps = 1.0e-5}} : ({x}, {row}) -> {x}"
                    );
                    let _ = writeln!(
                        out,
                        "    %logits = nn.linear %n, %head{transpose} : ({x}, {head}) -> {logits}"
                    );
                    let _ = writeln!(
                        out,
                        "    %l = nn.cross_entropy %logits, %targets {{denominator = {}}} : ({logits}, {tokens}) -> {scalar}",
                        b * s
                    );
                    value = "l".to_owned();
                }
                _ => {
                    value = self.block(&mut out, layer, &value);
                    layer += 1;
                }
            }
            let _ = writeln!(out, "    strategy.yield %{value} : {ty}\n  }} : {ty}");
            value = format!("s{number}");
        }
        let _ = writeln!(out, "  func.return %{value} : {scalar}\n}}");
        out
    }

    /// One block; returns the name of what it computes.
    fn block(&self, out: &mut String, layer: usize, input: &str) -> String {
        let (b, s, d, heads) = (self.batch, self.length, self.width, self.heads);
        let (x, row) = (self.tensor(&[b, s, d]), self.tensor(&[d]));
        let wide = self.tensor(&[b, s, 4 * d]);
        let parameter = |out: &mut String, name: &str, init: &str, ty: &str| {
            let _ = writeln!(
                out,
                "    %h{layer}_{name} = nn.parameter \"h{layer}.{name}\" init = {init} : {ty}"
            );
        };
        let p = |name: &str| format!("%h{layer}_{name}");
        let (square, up, down) =
            (self.tensor(&[d, d]), self.tensor(&[d, 4 * d]), self.tensor(&[4 * d, d]));
        for (name, init, ty) in [
            ("norm1", "ones", &row),
            ("q", "normal<0.0, 0.08>", &square),
            ("k", "normal<0.0, 0.08>", &square),
            ("v", "normal<0.0, 0.08>", &square),
            ("o", "normal<0.0, 0.04>", &square),
            ("norm2", "ones", &row),
            ("up", "normal<0.0, 0.08>", &up),
            ("down", "normal<0.0, 0.04>", &down),
        ] {
            parameter(out, name, init, ty);
        }
        let v = |name: &str| format!("%v{layer}_{name}");
        let linear =
            |out: &mut String, to: &str, from: &str, w: &str, types: (&str, &str, &str)| {
                let _ = writeln!(
                    out,
                    "    {} = nn.linear {from}, {} : ({}, {}) -> {}",
                    v(to),
                    p(w),
                    types.0,
                    types.1,
                    types.2
                );
            };
        let _ = writeln!(
            out,
            "    {} = nn.rms_norm %{input}, {} {{eps = 1.0e-5}} : ({x}, {row}) -> {x}",
            v("n1"),
            p("norm1")
        );
        linear(out, "q0", &v("n1"), "q", (&x, &square, &x));
        linear(out, "k0", &v("n1"), "k", (&x, &square, &x));
        linear(out, "v", &v("n1"), "v", (&x, &square, &x));
        let _ = writeln!(
            out,
            "    {} = nn.rotary {} {{heads = {heads}, base = 10000.0}} : {x}",
            v("q"),
            v("q0")
        );
        let _ = writeln!(
            out,
            "    {} = nn.rotary {} {{heads = {heads}, base = 10000.0}} : {x}",
            v("k"),
            v("k0")
        );
        let _ = writeln!(
            out,
            "    {} = nn.attention {}, {}, {} {{heads = {heads}, kv_heads = {heads}}} : ({x}, {x}, {x}) -> {x}",
            v("a"),
            v("q"),
            v("k"),
            v("v")
        );
        linear(out, "ao", &v("a"), "o", (&x, &square, &x));
        let _ = writeln!(out, "    {} = nn.add %{input}, {} : {x}", v("h"), v("ao"));
        let _ = writeln!(
            out,
            "    {} = nn.rms_norm {}, {} {{eps = 1.0e-5}} : ({x}, {row}) -> {x}",
            v("n2"),
            v("h"),
            p("norm2")
        );
        linear(out, "u", &v("n2"), "up", (&x, &up, &wide));
        let _ = writeln!(out, "    {} = nn.gelu {} : {wide}", v("g"), v("u"));
        linear(out, "d", &v("g"), "down", (&wide, &down, &x));
        let _ = writeln!(out, "    {} = nn.add {}, {} : {x}", v("y"), v("h"), v("d"));
        format!("v{layer}_y")
    }
}
