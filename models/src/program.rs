//! A model and its layout as `.pir` text.

use std::fmt::Write;

use crate::layers::Piece;
use crate::model::Model;
use crate::run::{Run, Schedule};

/// The text of a file: mesh, declarations, the loss as calls of them, and a plan.
///
/// Each layer has the segments `attn` and `mlp` (the tags `LAYER` and `PART`, with `PP` the stage), one with experts a third,
/// `combine`: its `attn` sends tokens out as `[experts, sequences, capacity, width]`, its `mlp` is the experts, and
/// `combine` weighs what comes back; the layers without experts of such a model have `dense` for `mlp`. With `tp` above 1 the parts of a layer give partial sums, which a segment `tail` adds.
///
/// # Errors
/// A layout that the model does not have; see [`Run::check`].
pub fn text(model: &Model, run: &Run) -> Result<String, String> {
    run.check(model)?;
    Ok(Text::new(model, run).file())
}

struct Text<'a> {
    model: &'a Model,
    run: &'a Run,
    out: String,
    /// Tensor types: the stream, tokens sorted by expert, tokens.
    x: String,
    sorted: String,
    tokens: String,
}

impl<'a> Text<'a> {
    fn new(model: &'a Model, run: &'a Run) -> Self {
        let (batch, sequence, d, dtype) = (run.batch(), model.sequence, model.width, run.dtype);
        let sorted = model.experts.map_or(String::new(), |experts| {
            let capacity = (sequence * experts.top_k).div_ceil(experts.count);
            format!("tensor<{}x{batch}x{capacity}x{d}x{dtype}>", experts.count)
        });
        Self {
            model,
            run,
            out: String::new(),
            x: format!("tensor<{batch}x{sequence}x{d}x{dtype}>"),
            sorted,
            tokens: format!("tensor<{batch}x{sequence}xi32>"),
        }
    }

    fn line(&mut self, text: impl AsRef<str>) {
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    /// A tensor of weights. What is divided lies along its first dimension.
    fn weights(&self, parameters: u64) -> String {
        format!("tensor<{parameters}x{}>", self.run.dtype)
    }

    fn expert_weights(&self) -> String {
        let count = self.model.experts.map_or(1, |experts| experts.count);
        format!("tensor<{count}x{}x{}>", self.model.experts().parameters / count, self.run.dtype)
    }

    fn file(mut self) -> String {
        let (model, run) = (self.model, self.run);
        self.line(format!(
            "// {}: {} layers, {:.1}e9 parameters, on {} devices; {} sequences of {} tokens a step. Written by piper-models.",
            model.name,
            model.layers,
            model.parameters() as f64 / 1e9,
            run.devices(),
            run.batch(),
            model.sequence
        ));
        let axes = [("pp", run.pp), ("dp", run.dp), ("ep", run.ep), ("tp", run.tp)];
        let axes: Vec<String> = axes
            .iter()
            .filter(|(name, size)| *size > 1 || *name == "pp")
            .map(|(name, size)| format!("\"{name}\" = {size}"))
            .collect();
        self.line(format!("strategy.mesh @cluster <[{}]>\n", axes.join(", ")));
        self.declarations();
        self.loss();
        self.plan();
        self.out
    }

    /// Operations of the whole batch.
    fn cost(&self, piece: Piece) -> (String, String) {
        let cost = piece.cost.times((self.run.batch() * self.model.sequence) as f64);
        let number = |n: f64| format!("{{flops = {n:.4e}}}");
        (
            number(cost.forward),
            format!("input = {}, weight = {}", number(cost.input), number(cost.weight)),
        )
    }

    /// A declaration; what it keeps is a second result.
    fn declare(
        &mut self,
        name: &str,
        operands: &[String],
        result: &str,
        piece: Piece,
        kept: Option<String>,
    ) {
        let (cost, mut vjp) = self.cost(piece);
        let mut results = result.to_owned();
        if let Some(kept) = kept {
            results = format!("{result}, {kept}");
            let all: Vec<String> = (0..operands.len()).map(|i| i.to_string()).collect();
            let _ = write!(vjp, ", saved = {{operands = [{}], results = [1]}}", all.join(", "));
        }
        self.line(format!(
            "func.func private @{name}({}) -> ({results})\n  attributes {{cost = {cost}, vjp = {{{vjp}}}}}",
            operands.join(", ")
        ));
    }

    /// The type of what a function keeps of each token, if it keeps anything.
    fn kept(&self, piece: Piece) -> Option<String> {
        let (batch, sequence) = (self.run.batch(), self.model.sequence);
        let ty = || format!("tensor<{batch}x{sequence}x{}x{}>", piece.kept, self.run.dtype);
        // Divided weights and what is kept are of different sizes, which one `shard_dim` cannot say.
        (self.run.keeps && self.run.tp == 1 && piece.kept > 0).then(ty)
    }

    /// The same of experts, for each token that was sent to one.
    fn experts_kept(&self) -> Option<String> {
        let piece = self.model.experts();
        let at = self.sorted.strip_suffix(&format!("{}x{}>", self.model.width, self.run.dtype))?;
        self.run.keeps.then(|| format!("{at}{}x{}>", piece.kept, self.run.dtype))
    }

    fn declarations(&mut self) {
        let model = self.model;
        let (x, sorted) = (self.x.clone(), self.sorted.clone());
        let of_batch = |ty: &str| format!("{ty} {{batch_dim = 0}}");
        let (stream, tokens) = (of_batch(&x), of_batch(&self.tokens));
        let is_divided = self.run.tp > 1;
        let divided = |ty: String| if is_divided { format!("{ty} {{shard_dim = 0}}") } else { ty };
        let summed = if is_divided { ", shard_sum" } else { "" };
        let result = format!("{x} {{batch_dim = 0{summed}}}");
        let keeps = |ty: Option<String>| ty.map(|ty| of_batch(&ty));
        let table = format!("tensor<{}x{}x{}>", model.vocab, model.width, self.run.dtype);
        let lookup = Piece { parameters: 0, cost: crate::Cost::default(), kept: 0 };
        self.declare("embed", &[tokens.clone(), table.clone()], &stream, lookup, None);
        let mut part = |name: &str, piece: Piece| {
            let operands = [stream.clone(), divided(self.weights(piece.parameters))];
            let kept = keeps(self.kept(piece));
            self.declare(name, &operands, &result, piece, kept);
        };
        part("attn", model.attention());
        if model.dense_layers > 0 {
            part("mlp", model.mlp());
        }
        if model.dense_layers < model.layers {
            let gate = self.weights(model.route().parameters);
            let sent = format!("{sorted} {{batch_dim = 1}}");
            self.declare("route", &[stream.clone(), gate], &sent, model.route(), None);
            let of_experts = |ty: String| format!("{ty} {{batch_dim = 1, shard_dim = 0}}");
            let (arrived, weights) = (of_experts(sorted), self.expert_weights());
            let operands = [arrived.clone(), format!("{weights} {{shard_dim = 0}}")];
            let kept = self.experts_kept().map(of_experts);
            self.declare("experts", &operands, &arrived, model.experts(), kept);
            let shared = model.shared();
            let mut operands = vec![stream.clone(), sent];
            if shared.parameters > 0 {
                operands.push(self.weights(shared.parameters));
            }
            let kept = self.kept(shared).map(|ty| of_batch(&ty));
            self.declare("combine", &operands, &stream, shared, kept);
        }
        self.declare("head", &[stream, table, tokens], "tensor<f32>", model.head(), None);
        self.line("");
    }

    /// A segment: what it computes is its last line's value, of this type.
    fn segment(&mut self, result: &str, ty: &str, tags: &str, body: &[String], value: &str) {
        self.line(format!("  %{result} = strategy.annotate {{{tags}}} {{"));
        for line in body {
            self.line(format!("    {line}"));
        }
        self.line(format!("    strategy.yield %{value} : {ty}\n  }} : {ty}"));
    }

    /// The embedding, layers and head over the stages, as evenly as they go.
    fn stage(&self, item: u64) -> u64 {
        item * self.run.stages() / (self.model.layers + 2)
    }

    fn loss(&mut self) {
        let (model, run) = (self.model, self.run);
        let (x, tokens) = (self.x.clone(), self.tokens.clone());
        let table = format!("tensor<{}x{}x{}>", model.vocab, model.width, run.dtype);
        self.line(format!(
            "func.func @loss(%tokens: {tokens} {{role = \"data\", batch_dim = 0}}, %targets: {tokens} {{role = \"data\", batch_dim = 0}}) -> tensor<f32> {{"
        ));
        let embed = [
            parameter("w", "embed", &table),
            format!("%y = func.call @embed(%tokens, %w) : ({tokens}, {table}) -> {x}"),
        ];
        let tags = format!("PP = {}, PART = \"embed\"", self.stage(0));
        self.segment("h0", &x, &tags, &embed, "y");
        for layer in 0..model.layers {
            let stage = self.stage(layer + 1);
            let tags = |part: &str| format!("PP = {stage}, LAYER = {layer}, PART = \"{part}\"");
            if layer < model.dense_layers {
                self.dense_layer(layer, &tags);
            } else {
                self.sparse_layer(layer, &tags);
            }
        }
        let last = self.stage(model.layers + 1);
        let name = if model.tied { "embed" } else { "head" };
        let head = [
            parameter("w", name, &table),
            format!(
                "%y = func.call @head(%h{}, %w, %targets) : ({x}, {table}, {tokens}) -> tensor<f32>",
                model.layers
            ),
        ];
        self.segment("loss", "tensor<f32>", &format!("PP = {last}, PART = \"head\""), &head, "y");
        self.line("  func.return %loss : tensor<f32>\n}\n");
    }

    /// The call of a part of a layer, and the name of its first result.
    fn call(
        &self,
        layer: u64,
        name: &str,
        from: &str,
        piece: Piece,
    ) -> ([String; 2], &'static str) {
        let (x, weights) = (&self.x, self.weights(piece.parameters));
        let (given, types, y) = results(x, self.kept(piece));
        let call =
            format!("{given} = func.call @{name}(%{from}, %w) : ({x}, {weights}) -> {types}");
        ([parameter("w", &format!("l{layer}.{name}"), &weights), call], y)
    }

    fn dense_layer(&mut self, layer: u64, tags: &dyn Fn(&str) -> String) {
        let (x, next) = (self.x.clone(), layer + 1);
        let (attention, y) = self.call(layer, "attn", &format!("h{layer}"), self.model.attention());
        self.segment(&format!("a{layer}"), &x, &tags("attn"), &attention, y);
        if self.run.tp == 1 {
            let (mlp, y) = self.call(layer, "mlp", &format!("a{layer}"), self.model.mlp());
            // Where others have experts, `mlp` means these.
            let part = if self.model.experts.is_some() { "dense" } else { "mlp" };
            self.segment(&format!("h{next}"), &x, &tags(part), &mlp, y);
            return;
        }
        // Sums over ranks are complete where they leave their segment; the stream is added to them outside.
        let sum = |a: String, b: String| [format!("%y = nn.add %{a}, %{b} : {x}")];
        let residual = sum(format!("h{layer}"), format!("a{layer}"));
        self.segment(&format!("r{layer}"), &x, &tags("residual"), &residual, "y");
        let (mlp, y) = self.call(layer, "mlp", &format!("r{layer}"), self.model.mlp());
        self.segment(&format!("m{layer}"), &x, &tags("mlp"), &mlp, y);
        let tail = sum(format!("r{layer}"), format!("m{layer}"));
        self.segment(&format!("h{next}"), &x, &tags("tail"), &tail, "y");
    }

    fn sparse_layer(&mut self, layer: u64, tags: &dyn Fn(&str) -> String) {
        let (x, sorted, next) = (self.x.clone(), self.sorted.clone(), layer + 1);
        let (gate, experts) = (self.weights(self.model.route().parameters), self.expert_weights());
        let (attention, y) = self.call(layer, "attn", &format!("h{layer}"), self.model.attention());
        let gating = [
            parameter("g", &format!("l{layer}.gate"), &gate),
            format!("%s = func.call @route(%{y}, %g) : ({x}, {gate}) -> {sorted}"),
        ];
        self.line(format!("  %a{layer}, %s{layer} = strategy.annotate {{{}}} {{", tags("attn")));
        for line in attention.iter().chain(&gating) {
            self.line(format!("    {line}"));
        }
        self.line(format!("    strategy.yield %{y}, %s : {x}, {sorted}\n  }} : {x}, {sorted}"));
        let (given, types, y) = results(&sorted, self.experts_kept());
        let body = [
            parameter("w", &format!("l{layer}.experts"), &experts),
            format!(
                "{given} = func.call @experts(%s{layer}, %w) : ({sorted}, {experts}) -> {types}"
            ),
        ];
        self.segment(&format!("e{layer}"), &sorted, &tags("mlp"), &body, y);
        let shared = self.model.shared();
        let (given, types, y) = results(&x, self.kept(shared));
        let call = format!("{given} = func.call @combine(%a{layer}, %e{layer}");
        let body = if shared.parameters > 0 {
            let weights = self.weights(shared.parameters);
            vec![
                parameter("w", &format!("l{layer}.shared"), &weights),
                format!("{call}, %w) : ({x}, {sorted}, {weights}) -> {types}"),
            ]
        } else {
            vec![format!("{call}) : ({x}, {sorted}) -> {types}")]
        };
        self.segment(&format!("h{next}"), &x, &tags("combine"), &body, y);
    }

    fn plan(&mut self) {
        let run = self.run;
        self.line("strategy.plan @train for @loss on @cluster {");
        let microbatches = run.microbatches;
        let pipeline = match &run.schedule {
            Schedule::Pipeline(name) => format!(
                "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"{name}\" microbatches = {microbatches}"
            ),
            Schedule::DualPipe => {
                format!(
                    "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = {microbatches}"
                )
            }
            Schedule::DualPipeV => format!(
                "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = {microbatches} variant = \"v\""
            ),
        };
        self.line(format!("  {pipeline}"));
        if run.tp > 1 {
            self.line("  strategy.shard {PART = attn} over \"tp\" parameters = {\"*\" = 0}");
            self.line("  strategy.shard {PART = mlp} over \"tp\" parameters = {\"*\" = 0}");
        }
        if run.ep > 1 {
            self.line("  strategy.shard {PART = mlp} over \"ep\" parameters = {\"*.experts\" = 0}");
            self.line("  strategy.replicate over \"ep\"");
            if run.overlap {
                self.line("  strategy.overlap over \"ep\"");
            }
        }
        if run.dp > 1 {
            match run.zero {
                0 => self.line("  strategy.replicate over \"dp\""),
                stage => self.line(format!("  strategy.zero over \"dp\" stage = {stage}")),
            }
        }
        self.line("  strategy.optimizer adamw <lr = 1.0e-4, betas = [0.9, 0.95], weight_decay = 0.1, clip = 1.0>\n}");
    }
}

/// How a call's results are named and typed, with what it keeps, and the name of the first.
fn results(ty: &str, kept: Option<String>) -> (&'static str, String, &'static str) {
    match kept {
        Some(kept) => ("%y:2", format!("({ty}, {kept})"), "y#0"),
        None => ("%y", ty.to_owned(), "y"),
    }
}

/// A declared tensor of weights.
fn parameter(value: &str, name: &str, ty: &str) -> String {
    format!("%{value} = nn.parameter \"{name}\" init = normal<0.0, 0.02> : {ty}")
}
