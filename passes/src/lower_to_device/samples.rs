//! Graphs for tests: a pipeline over `pp` with replicas over `dp`, in as many flavours as lowering knows.

use std::fmt::Write;
use std::sync::Arc;

use piper_ir::{Context, Module, Reporter, SourceFile, Sources};

/// A pipeline to be generated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) pp: usize,
    pub(crate) dp: usize,
    pub(crate) microbatches: usize,
    /// Optimizer state is sharded over `dp` in flat buckets.
    pub(crate) zero: bool,
    /// The first and the last stage share a parameter.
    pub(crate) tied: bool,
    /// The global gradient norm is limited.
    pub(crate) clip: bool,
    /// One forward, one backward instead of all forwards first.
    pub(crate) interleaved: bool,
}

const W: &str = "tensor<4x4xf32>";

struct Writer {
    shape: Shape,
    out: String,
}

impl Writer {
    fn line(&mut self, text: &str) {
        writeln!(self.out, "  {text}").expect("writing to a String does not fail");
    }

    fn activation(&self, stage: usize, mb: usize) -> String {
        let rows = 2 * self.shape.dp * self.shape.microbatches;
        format!(
            "!dag.dist<tensor<{rows}x4xf32>, @c on {{mb = {mb}, pp = {stage}}}, [{{\"dp\", \"mb\"}}, {{}}]>"
        )
    }

    fn weight(home: &str) -> String {
        format!("!dag.dist<{W}, @c on {home}>")
    }

    /// A partial sum of microbatches `0..hi` if `from_start`, else of `hi - 1` alone.
    fn gradient(&self, home: &str, lo: usize, hi: usize, part: Option<usize>) -> String {
        let all = lo == 0 && hi == self.shape.microbatches;
        let held = match part {
            None if all => String::new(),
            None => format!(", mb[{lo}:{hi}]"),
            Some(part) => format!(", use {part}/2 mb[{lo}:{hi}]"),
        };
        format!("!dag.dist<{W}, @c on {home}, partial = {{\"dp\"{held}}}>")
    }
}

/// The text of a pipeline.
pub(crate) fn text(shape: Shape) -> String {
    let Shape { pp, dp, microbatches, zero, tied, clip, interleaved } = shape;
    let last = pp - 1;
    let mut w = Writer { shape, out: String::new() };
    let e = if tied { ", tensor<4x4xf32>" } else { "" };
    writeln!(w.out, "strategy.mesh @c <[\"pp\" = {pp}, \"dp\" = {dp}]>").unwrap();
    writeln!(w.out, "strategy.group @ends on @c [{{pp = 0}}, {{pp = {last}}}]").unwrap();
    let slices: Vec<String> = (0..pp).map(|p| format!("{{pp = {p}}}")).collect();
    writeln!(w.out, "strategy.group @stages on @c [{}]", slices.join(", ")).unwrap();
    let x = "tensor<2x4xf32>";
    writeln!(w.out, "func.func private @first({x}, {W}{e}) -> {x}").unwrap();
    writeln!(w.out, "func.func private @mid({x}, {W}) -> {x}").unwrap();
    writeln!(w.out, "func.func private @last({x}, {x}, {W}{e}) -> tensor<f32>").unwrap();
    writeln!(w.out, "func.func private @last_b({x}, {x}, {W}{e}) -> ({x}, {W}{e})").unwrap();
    writeln!(w.out, "func.func private @mid_b({x}, {W}, {x}) -> ({x}, {W})").unwrap();
    let de = if tied { format!("({W}, {W})") } else { W.to_owned() };
    writeln!(w.out, "func.func private @first_b({x}, {x}) -> {de}").unwrap();
    writeln!(w.out, "dag.graph @train of @loss on @c microbatches {microbatches} {{").unwrap();
    for p in 0..pp {
        let ty = Writer::weight(&format!("{{pp = {p}}}"));
        w.line(&format!(
            "%w{p} = dag.parameter \"w{p}\" {{init = #nn.init<normal<0.0, 0.02>>}} : {ty}"
        ));
    }
    let init = "{init = #nn.init<ones>}";
    if tied {
        let (ty, at0, at1) = (
            Writer::weight("@ends"),
            Writer::weight("{pp = 0}"),
            Writer::weight(&format!("{{pp = {last}}}")),
        );
        w.line(&format!("%e = dag.parameter \"e\" {init} : {ty}"));
        w.line(&format!("%e0 = dag.project %e : {ty} -> {at0}"));
        w.line(&format!("%e1 = dag.project %e : {ty} -> {at1}"));
    }
    for m in 0..microbatches {
        forward(&mut w, m);
    }
    for m in 0..microbatches {
        backward(&mut w, m);
    }
    let loss = |m: usize| {
        let held = if microbatches == 1 { String::new() } else { format!(", mb[{m}:{}]", m + 1) };
        format!("!dag.dist<tensor<f32>, @c on {{pp = {last}}}, partial = {{\"dp\"{held}}}>")
    };
    let names: Vec<String> = (0..microbatches).map(|m| format!("%l{m}")).collect();
    let types: Vec<String> = (0..microbatches).map(loss).collect();
    w.line(&format!("dag.output \"loss\" {} : {}", names.join(", "), types.join(", ")));
    optimizer(&mut w, zero, clip);
    if tied {
        tied_gradient(&mut w);
    }
    for p in 0..pp {
        let mut order = Vec::new();
        let ahead = if interleaved { pp - p } else { microbatches };
        for step in 0..microbatches + ahead {
            if step < microbatches {
                order.push(format!("[@f{p}.{step}]"));
            }
            if let Some(back) = (step + 1).checked_sub(ahead).filter(|b| *b < microbatches) {
                order.push(format!("[@b{p}.{back}]"));
            }
        }
        w.line(&format!("dag.order on {{pp = {p}}} [{}]", order.join(", ")));
    }
    w.out.push_str("}\n");
    w.out
}

fn forward(w: &mut Writer, m: usize) {
    let Shape { pp, tied, microbatches, .. } = w.shape;
    let last = pp - 1;
    for (p, name) in [(0, "x"), (last, "t")] {
        let ty = w.activation(p, m);
        w.line(&format!("%{name}{p}.{m} = dag.input \"{name}\" : {ty}"));
    }
    for p in 0..pp {
        let (a, wt) = (w.activation(p, m), Writer::weight(&format!("{{pp = {p}}}")));
        let tags = format!("F {{MB = {m}, PP = {p}}} node \"f{p}.{m}\"");
        if p == last {
            let held =
                if microbatches == 1 { String::new() } else { format!(", mb[{m}:{}]", m + 1) };
            let loss =
                format!("!dag.dist<tensor<f32>, @c on {{pp = {p}}}, partial = {{\"dp\"{held}}}>");
            let (e, te) = if tied { (", %e1", format!(", {wt}")) } else { ("", String::new()) };
            w.line(&format!("%l{m} = dag.compute @last(%x{p}.{m}, %t{p}.{m}, %w{p}{e}) {tags} : ({a}, {a}, {wt}{te}) -> {loss}"));
        } else {
            let callee = if p == 0 { "first" } else { "mid" };
            let (e, te) =
                if tied && p == 0 { (", %e0", format!(", {wt}")) } else { ("", String::new()) };
            w.line(&format!("%y{p}.{m} = dag.compute @{callee}(%x{p}.{m}, %w{p}{e}) {tags} : ({a}, {wt}{te}) -> {a}"));
            let next = w.activation(p + 1, m);
            w.line(&format!("%x{}.{m} = dag.transfer %y{p}.{m} : {a} -> {next}", p + 1));
        }
    }
}

fn backward(w: &mut Writer, m: usize) {
    let Shape { pp, tied, .. } = w.shape;
    let last = pp - 1;
    for p in (0..pp).rev() {
        let home = format!("{{pp = {p}}}");
        let (a, wt, g) =
            (w.activation(p, m), Writer::weight(&home), w.gradient(&home, m, m + 1, None));
        let tags = format!("B {{MB = {m}, PP = {p}}} node \"b{p}.{m}\"");
        if p == last {
            let (e, te) = if tied { (", %e1", format!(", {wt}")) } else { ("", String::new()) };
            let (de, tde) = if tied {
                (format!(", %de1.{m}"), format!(", {}", w.gradient(&home, m, m + 1, Some(1))))
            } else {
                Default::default()
            };
            w.line(&format!("%dx{p}.{m}, %dw{p}.{m}{de} = dag.compute @last_b(%x{p}.{m}, %t{p}.{m}, %w{p}{e}) {tags} : ({a}, {a}, {wt}{te}) -> ({a}, {g}{tde})"));
        } else if p > 0 {
            w.line(&format!("%dx{p}.{m}, %dw{p}.{m} = dag.compute @mid_b(%x{p}.{m}, %w{p}, %dy{p}.{m}) {tags} : ({a}, {wt}, {a}) -> ({a}, {g})"));
        } else {
            let (de, tde) = if tied {
                (format!(", %de0.{m}"), format!("({g}, {})", w.gradient(&home, m, m + 1, Some(0))))
            } else {
                (String::new(), g.clone())
            };
            w.line(&format!("%dw0.{m}{de} = dag.compute @first_b(%x0.{m}, %dy0.{m}) {tags} : ({a}, {a}) -> {tde}"));
        }
        if p > 0 {
            let before = w.activation(p - 1, m);
            w.line(&format!("%dy{}.{m} = dag.transfer %dx{p}.{m} : {a} -> {before}", p - 1));
        }
        accumulate(w, &format!("dw{p}"), &home, m, None);
        if tied && (p == last || p == 0) {
            let part = usize::from(p == last);
            accumulate(w, &format!("de{part}"), &home, m, Some(part));
        }
    }
}

/// `%dw0.sum1 = %dw0.sum0 + %dw0.1`
fn accumulate(w: &mut Writer, name: &str, home: &str, m: usize, part: Option<usize>) {
    if m == 0 {
        return;
    }
    let (before, one, after) = (
        w.gradient(home, 0, m, part),
        w.gradient(home, m, m + 1, part),
        w.gradient(home, 0, m + 1, part),
    );
    let running = if m == 1 { format!("%{name}.0") } else { format!("%{name}.sum{}", m - 1) };
    w.line(&format!(
        "%{name}.sum{m} = dag.add {running}, %{name}.{m} : ({before}, {one}) -> {after}"
    ));
}

fn complete(microbatches: usize, name: &str) -> String {
    if microbatches == 1 {
        format!("%{name}.0")
    } else {
        format!("%{name}.sum{}", microbatches - 1)
    }
}

const SGD: &str = "lr = 0.1 {momentum = 0.0, weight_decay = 0.0}";
const ADAMW: &str = "lr = {kind = \"warmup_cosine\", peak = 0.001, floor = 0.0001, warmup = 4, total = 20} \
                     {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}";

fn optimizer(w: &mut Writer, zero: bool, clip: bool) {
    let Shape { pp, dp, microbatches, .. } = w.shape;
    let flat = 17usize.next_multiple_of(dp);
    for p in 0..pp {
        let home = format!("{{pp = {p}}}");
        let (partial, wt) = (w.gradient(&home, 0, microbatches, None), Writer::weight(&home));
        let sum = complete(microbatches, &format!("dw{p}"));
        if zero {
            let whole =
                format!("!dag.dist<tensor<{flat}xf32>, @c on {home}, partial = {{\"dp\"}}>");
            let shard = format!("!dag.dist<tensor<{flat}xf32>, @c on {home}, [{{\"dp\"}}]>");
            w.line(&format!("%flat{p} = dag.pack {sum} at array<i64: 0> : ({partial}) -> {whole}"));
            w.line(&format!(
                "%shard{p} = dag.reduce_scatter %flat{p} over [\"dp\"] : {whole} -> {shard}"
            ));
            w.line(&format!("%g{p} = dag.gradient \"bucket{p}\" %shard{p} : {shard} -> {shard}"));
        } else {
            w.line(&format!("%r{p} = dag.all_reduce {sum} over [\"dp\"] : {partial} -> {wt}"));
            w.line(&format!("%g{p} = dag.gradient \"w{p}\" %r{p} : {wt} -> {wt}"));
        }
    }
    if clip {
        clipping(w, zero, flat);
    }
    for p in 0..pp {
        let home = format!("{{pp = {p}}}");
        let wt = Writer::weight(&home);
        let number = format!("!dag.dist<tensor<f32>, @c on {home}>");
        let (scale, scale_ty, clipped) = if clip {
            (format!(", %scale{p}"), format!(", {number}"), " clipped")
        } else {
            (String::new(), String::new(), "")
        };
        if zero {
            let whole = format!("!dag.dist<tensor<{flat}xf32>, @c on {home}>");
            let t = format!("!dag.dist<tensor<{flat}xf32>, @c on {home}, [{{\"dp\"}}]>");
            w.line(&format!(
                "%master{p} = dag.state \"bucket{p}.master\" {{init = {{w{p} = 0}}}} : {t}"
            ));
            for s in ["m", "v"] {
                w.line(&format!("%{s}{p} = dag.state \"bucket{p}.{s}\" {{init = 0.0}} : {t}"));
            }
            w.line(&format!("%p{p}, %m{p}.new, %v{p}.new = dag.update adamw (%master{p}, %g{p}, %m{p}, %v{p}{scale}) {ADAMW}{clipped} : ({t}, {t}, {t}, {t}{scale_ty}) -> ({t}, {t}, {t})"));
            for (state, new) in [
                ("master", format!("%p{p}")),
                ("m", format!("%m{p}.new")),
                ("v", format!("%v{p}.new")),
            ] {
                w.line(&format!("dag.commit %{state}{p}, {new} : {t}"));
            }
            w.line(&format!("%all{p} = dag.all_gather %p{p} over [\"dp\"] : {t} -> {whole}"));
            w.line(&format!("%w{p}.new = dag.unpack %all{p} at array<i64: 0> : ({whole}) -> {wt}"));
        } else {
            w.line(&format!("%w{p}.new = dag.update sgd (%w{p}, %g{p}{scale}) {SGD}{clipped} : ({wt}, {wt}{scale_ty}) -> {wt}"));
        }
        w.line(&format!("dag.commit %w{p}, %w{p}.new : {wt}"));
    }
}

/// The norm over all stages: a sum on each, joined and reduced over the group of stages.
fn clipping(w: &mut Writer, zero: bool, flat: usize) {
    let pp = w.shape.pp;
    let number =
        |home: &str, partial: &str| format!("!dag.dist<tensor<f64>, @c on {home}{partial}>");
    let (mut names, mut types) = (Vec::new(), Vec::new());
    for p in 0..pp {
        let home = format!("{{pp = {p}}}");
        let whole = number(&home, "");
        if zero {
            let shard = format!("!dag.dist<tensor<{flat}xf32>, @c on {home}, [{{\"dp\"}}]>");
            let part = number(&home, ", partial = {\"dp\"}");
            w.line(&format!("%sp{p} = dag.sum_squares %g{p} : ({shard}) -> {part}"));
            w.line(&format!("%sq{p} = dag.all_reduce %sp{p} over [\"dp\"] : {part} -> {whole}"));
        } else {
            let wt = Writer::weight(&home);
            w.line(&format!("%sq{p} = dag.sum_squares %g{p} : ({wt}) -> {whole}"));
        }
        names.push(format!("%sq{p}"));
        types.push(whole);
    }
    let (part, all) = (number("@stages", ", partial = {\"stages\"}"), number("@stages", ""));
    w.line(&format!("%sq = dag.join {} : ({}) -> {part}", names.join(", "), types.join(", ")));
    w.line(&format!("%total = dag.all_reduce %sq over [@stages] : {part} -> {all}"));
    for (p, here) in types.iter().enumerate() {
        w.line(&format!("%total{p} = dag.project %total : {all} -> {here}"));
        w.line(&format!("%scale{p} = dag.clip_scale %total{p} max 1.0 : {here} -> !dag.dist<tensor<f32>, @c on {{pp = {p}}}>"));
    }
}

fn tied_gradient(w: &mut Writer) {
    let Shape { pp, microbatches, .. } = w.shape;
    let last = format!("{{pp = {}}}", pp - 1);
    let (a, b) = (
        w.gradient("{pp = 0}", 0, microbatches, Some(0)),
        w.gradient(&last, 0, microbatches, Some(1)),
    );
    let whole = Writer::weight("@ends");
    let joined = format!("!dag.dist<{W}, @c on @ends, partial = {{\"dp\", \"ends\"}}>");
    let (first, second) = (complete(microbatches, "de0"), complete(microbatches, "de1"));
    w.line(&format!("%de = dag.join {first}, {second} : ({a}, {b}) -> {joined}"));
    w.line(&format!("%re = dag.all_reduce %de over [\"dp\", @ends] : {joined} -> {whole}"));
    w.line(&format!("%ge = dag.gradient \"e\" %re : {whole} -> {whole}"));
    w.line(&format!("%e.new = dag.update sgd (%e, %ge) {SGD} : ({whole}, {whole}) -> {whole}"));
    w.line(&format!("dag.commit %e, %e.new : {whole}"));
}

/// A context that knows what the samples are made of.
pub(crate) fn context() -> Arc<Context> {
    Arc::new(Context::new(piper_dialects::all()))
}

/// Reads a module and verifies it; panics with the diagnostics if either fails.
pub(crate) fn module(ctx: &Arc<Context>, text: &str) -> Module {
    let file = SourceFile::new("sample.pir", text);
    let mut reporter = Reporter::new(ctx);
    let module = piper_ir::text::parse_module(ctx, &file, &mut reporter);
    let verified = module.filter(|module| piper_ir::verify::verify(module, &mut reporter));
    verified.unwrap_or_else(|| {
        let mut sources = Sources::default();
        sources.add(file);
        let render = |d| piper_ir::diag::render(ctx, &sources, d, false);
        panic!("{}", reporter.diagnostics().iter().map(render).collect::<Vec<_>>().join("\n"))
    })
}

/// Diagnostics as text, one a line.
pub(crate) fn shown(reporter: &Reporter<'_>) -> String {
    let note = |n: &piper_ir::diag::Note| format!("\n    note: {}", n.message);
    let one = |d: &piper_ir::Diagnostic| {
        format!("{}{}", d.message, d.notes.iter().map(note).collect::<String>())
    };
    reporter.diagnostics().iter().map(one).collect::<Vec<_>>().join("\n")
}
