//! Change any one line of a correct graph: `verify-dag` objects, or the graph still gives the same numbers.
//!
//! The graphs are those of whole strategies, the changes are made in their text: sums left out or made twice, collectives
//! over other axes or left out, other partial sums in types (in one place, and everywhere alike), other operands of equal
//! type. The interpreter, which takes nothing from the types but layout, is the judge.

use std::collections::BTreeMap;
use std::sync::Arc;

use piper_interp::Tensor;
use piper_interp::dag::{Interpreter, Tensors};
use piper_ir::pass::{Instrumentation, RunOptions};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{Context, Module, Reporter, SourceFile};
use piper_passes::pipeline_text::pass_manager;
use piper_passes::{nodes::graphs, registry, verify_dag};

/// Two stages of two weights each; the first weight is used again in the second stage if it is tied.
fn model(is_tied: bool, mesh: &str, directives: &str) -> String {
    let (x, w) = ("tensor<16x4xf64>", "tensor<4x4xf64>");
    let last = if is_tied { "w0" } else { "w3" };
    let weight = |name: &str| format!("nn.parameter \"{name}\" init = normal<0.0, 0.7> : {w}");
    format!(
        "strategy.mesh @c <[{mesh}]>
func.func @loss(%x: {x} {{role = \"data\", batch_dim = 0}}, %t: tensor<16xi32> {{role = \"data\", batch_dim = 0}}) -> tensor<f64> {{
  %h = strategy.annotate {{PP = 0}} {{
    %w0 = {}
    %w1 = {}
    %a = nn.linear %x, %w0 : ({x}, {w}) -> {x}
    %g = nn.gelu %a : {x}
    %b = nn.linear %g, %w1 : ({x}, {w}) -> {x}
    strategy.yield %b : {x}
  }} : {x}
  %loss = strategy.annotate {{PP = 1}} {{
    %w2 = {}
    %w3 = {}
    %c = nn.linear %h, %w2 : ({x}, {w}) -> {x}
    %d = nn.linear %c, %w3 : ({x}, {w}) -> {x}
    %l = nn.cross_entropy %d, %t {{denominator = 16}} : ({x}, tensor<16xi32>) -> tensor<f64>
    strategy.yield %l : tensor<f64>
  }} : tensor<f64>
  func.return %loss : tensor<f64>
}}
strategy.plan @train for @loss on @c {{
  {directives}
}}
",
        weight("w0"),
        weight("w1"),
        weight("w2"),
        weight(last)
    )
}

/// The graph of a strategy, as text.
fn graph_text(text: &str, replicas: bool) -> String {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut reporter = Reporter::new(&ctx);
    let mut module = parse_module(&ctx, &SourceFile::new("t.pir", text), &mut reporter)
        .unwrap_or_else(|| panic!("{:#?}", reporter.diagnostics()));
    let replicate = if replicas { "replicate," } else { "" };
    let pipeline = format!(
        "builtin.module(import-tags,autodiff,expand-directives,build-dag,split-backward,split,place,order,{replicate}update,verify-dag)"
    );
    let mut manager = pass_manager(&registry::all(), &pipeline).expect("passes exist");
    struct Quiet;
    impl Instrumentation for Quiet {}
    let ran = manager.run(&mut module, &mut reporter, &RunOptions::default(), &mut Quiet);
    assert!(ran.is_ok(), "{:#?}", reporter.diagnostics());
    print_module(&module, PrintOptions::default())
}

/// Everything a step gives: loss, gradients, new state.
type Numbers = BTreeMap<String, Vec<f64>>;

/// What a graph gives; `None` if it does not verify.
fn numbers(text: &str) -> Option<Result<Numbers, String>> {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("g.pir", text), &mut reporter)
        .filter(|m| verify(m, &mut reporter))?;
    let graph = *graphs(&module).first()?;
    verify_dag::verify(&module, graph, &mut reporter).then(|| run(&module, graph))
}

fn run(module: &Module, graph: piper_ir::Op) -> Result<Numbers, String> {
    let fail = |e: piper_interp::dag::Error| e.message;
    let interpreter = Interpreter::new(module, graph).map_err(fail)?;
    let state = interpreter.initial_state().map_err(fail)?;
    let x = (0..64).map(|i| f64::from(i * 7 % 13) / 6.0 - 1.0).collect();
    let t = (0..16).map(|i| i * 3 % 4).collect();
    let data: Tensors = [
        ("x".to_owned(), Tensor::new::<f64>([16, 4], x).expect("its shape")),
        ("t".to_owned(), Tensor::new::<i32>([16], t).expect("its shape")),
    ]
    .into();
    let step = interpreter.step(&data, &state, 1).map_err(fail)?;
    let mut all: Numbers = step.outputs.iter().map(|(n, v)| (n.clone(), vec![*v])).collect();
    all.extend(step.gradients.iter().map(|(n, t)| (format!("grad {n}"), t.to_f64())));
    all.extend(step.state.iter().map(|(n, t)| (format!("state {n}"), t.to_f64())));
    Ok(all)
}

fn is_same(a: &Numbers, b: &Numbers) -> bool {
    let close = |x: &[f64], y: &[f64]| {
        x.len() == y.len()
            && x.iter().zip(y).all(|(x, y)| (x - y).abs() <= 1e-12 * y.abs().max(1.0))
    };
    a.len() == b.len() && a.iter().all(|(name, x)| b.get(name).is_some_and(|y| close(x, y)))
}

/// One operation's line.
struct Line<'t> {
    text: &'t str,
    name: &'t str,
    /// What it defines, without `#n`.
    result: Option<&'t str>,
    operands: Vec<&'t str>,
    types: Vec<&'t str>,
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '#')
}

/// The values a text names.
fn values(text: &str) -> Vec<&str> {
    text.match_indices('%')
        .map(|(at, _)| {
            let rest = &text[at + 1..];
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            &text[at..at + 1 + end]
        })
        .collect()
}

fn types(text: &str) -> Vec<&str> {
    let of = |(at, _): (usize, &str)| {
        let mut depth = 0;
        let end = text[at..].char_indices().find(|(_, c)| {
            depth += i32::from(*c == '<') - i32::from(*c == '>');
            *c == '>' && depth == 0
        });
        &text[at..=at + end.expect("types end").0]
    };
    text.match_indices("!dag.dist<").map(of).collect()
}

impl<'t> Line<'t> {
    fn of(text: &'t str) -> Self {
        let (result, body) = match text.split_once(" = dag.") {
            Some((result, _)) => (Some(result.trim()), &text[result.len() + 3..]),
            None => (None, text.trim_start()),
        };
        let name = body.split([' ', '@']).next().unwrap_or("");
        let result = result.map(|r| r.split(':').next().unwrap_or(r));
        Self { text, name, result, operands: values(body), types: types(text) }
    }
}

/// A text with every use of a value replaced.
fn with_uses(text: &str, old: &str, new: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let end = at + old.len();
        let goes_on = rest[end..].starts_with(is_name);
        out.push_str(&rest[..at]);
        out.push_str(if goes_on { old } else { new });
        rest = &rest[end..];
    }
    out + rest
}

/// All changed graphs, with what was done.
fn mutants(text: &str) -> Vec<(&'static str, String)> {
    let lines: Vec<Line<'_>> = text.lines().map(Line::of).collect();
    let mut type_of: BTreeMap<String, &str> = BTreeMap::new();
    for line in &lines {
        let Some(result) = line.result else { continue };
        let results = match line.name {
            "dag.compute" | "dag.update" | "dag.unpack" => &line.types[..],
            _ => &line.types[line.types.len().saturating_sub(1)..],
        };
        match results {
            [only] => drop(type_of.insert(result.to_owned(), only)),
            _ => type_of
                .extend(results.iter().enumerate().map(|(n, ty)| (format!("{result}#{n}"), *ty))),
        }
    }
    let mut all = Vec::new();
    let replaced = |at: usize, new: &[String]| {
        let before = lines[..at].iter().map(|l| l.text.to_owned());
        let after = lines[at + 1..].iter().map(|l| l.text.to_owned());
        before.chain(new.iter().cloned()).chain(after).collect::<Vec<_>>().join("\n")
    };
    for (at, line) in lines.iter().enumerate() {
        if !line.name.starts_with("dag.") || line.name == "dag.graph" {
            continue;
        }
        let mut push = |what, text| all.push((what, text));
        // Left out: what uses it uses an operand instead.
        if let (
            Some(result),
            "dag.add" | "dag.all_reduce" | "dag.reduce_scatter" | "dag.all_gather" | "dag.transfer"
            | "dag.gradient" | "dag.join" | "dag.project",
        ) = (line.result, line.name)
        {
            for operand in &line.operands {
                push("leave out", with_uses(&replaced(at, &[]), result, operand));
            }
            // As if the types were right: the operand is given the result's type everywhere.
            for operand in &line.operands {
                if let (Some(old), Some(new)) = (type_of.get(*operand), type_of.get(result)) {
                    let text = with_uses(&replaced(at, &[]), result, operand);
                    push("leave out, types alike", text.replace(old, new));
                }
            }
        }
        if line.name == "dag.add" {
            let (result, last) = (line.result.expect("it has one"), line.operands[1]);
            let ty = line.types.last().expect("it has one");
            let again = format!("    %again = dag.add %twice, {last} -> {ty}");
            let first = line.text.replacen(result, "%twice", 1);
            let text = replaced(at, &[first, again]);
            push("add twice", with_uses(&text, result, "%again"));
            let both = line.text.replacen(line.operands[0], last, 1);
            push("add twice", replaced(at, &[both]));
        }
        if line.text.contains("over [") {
            for axis in ["\"dp\"", "\"pp\"", "@own0"] {
                let (head, tail) = line.text.split_once("over [").expect("it is there");
                let (axes, tail) = tail.split_once(']').expect("it is there");
                push("other axes", replaced(at, &[format!("{head}over [{axis}]{tail}")]));
                push("other axes", replaced(at, &[format!("{head}over [{axes}, {axis}]{tail}")]));
            }
        }
        for ty in &line.types {
            for new in wrong_partial(ty) {
                push("wrong partial", replaced(at, &[line.text.replacen(ty, &new, 1)]));
                push("wrong partial everywhere", text.replace(ty, &new));
            }
        }
        if matches!(
            line.name,
            "dag.add"
                | "dag.pack"
                | "dag.gradient"
                | "dag.commit"
                | "dag.output"
                | "dag.update"
                | "dag.join"
        ) {
            for operand in &line.operands {
                let others = type_of.iter().filter(|(name, ty)| {
                    *name != operand
                        && type_of.get(*operand) == Some(*ty)
                        && !line.text.contains(&**name)
                });
                for (other, _) in others.take(4) {
                    let head = line.text.find(line.name).expect("it is there");
                    let body = with_uses(&line.text[head..], operand, other);
                    let text = format!("{}{body}", &line.text[..head]);
                    push("other operand", replaced(at, &[text]));
                }
            }
        }
        if matches!(line.name, "dag.commit" | "dag.gradient" | "dag.output" | "dag.order") {
            // A loss that is not reported is still trained.
            if line.name != "dag.output" {
                push("leave out", replaced(at, &[]));
            }
            push("twice", replaced(at, &[line.text.to_owned(), line.text.to_owned()]));
        }
        if line.name == "dag.order" {
            let slots: Vec<&str> = line.text.matches("[@").collect();
            for slot in 0..slots.len() {
                push("order", replaced(at, &[without_slot(line.text, slot, false)]));
                push("order", replaced(at, &[without_slot(line.text, slot, true)]));
            }
        }
        if line.name == "dag.compute" {
            for (old, new) in [
                ("MB = 0", "MB = 1"),
                ("MB = 1", "MB = 0"),
                (" B {", " F {"),
                (" F {", " B {"),
                (" BW {", " BI {"),
            ] {
                push("other tags", replaced(at, &[line.text.replacen(old, new, 1)]));
            }
        }
    }
    all.retain(|(_, changed)| changed != text);
    all.sort();
    all.dedup();
    all
}

/// An order without a slot, or with it twice.
fn without_slot(order: &str, slot: usize, twice: bool) -> String {
    let (at, _) = order.match_indices("[@").nth(slot).expect("it is there");
    let end = at + order[at..].find(']').expect("it is there") + 1;
    let found = &order[at..end];
    let new = if twice { format!("{found}, {found}") } else { String::new() };
    let text = format!("{}{new}{}", &order[..at], &order[end..]);
    text.replace("[, ", "[").replace(", , ", ", ").replace(", ]", "]")
}

/// The type as a sum over more, less or other parts.
fn wrong_partial(ty: &str) -> Vec<String> {
    let mut all = Vec::new();
    let Some((head, tail)) = ty.split_once(", partial = {") else {
        let bare = ty.strip_suffix('>').expect("types end");
        all.push(format!("{bare}, partial = {{\"dp\"}}>"));
        all.push(format!("{bare}, partial = {{mb[0:1]}}>"));
        return all;
    };
    let inner = tail.strip_suffix("}>").expect("types end");
    let parts: Vec<&str> = inner.split(", ").collect();
    for leave in 0..parts.len() {
        let mut rest = parts.clone();
        rest.remove(leave);
        all.push(match rest.is_empty() {
            true => format!("{head}>"),
            false => format!("{head}, partial = {{{}}}>", rest.join(", ")),
        });
    }
    for (old, new) in [
        ("mb[0:1]", "mb[1:2]"),
        ("mb[1:2]", "mb[0:1]"),
        ("mb[0:1]", "mb[0:2]"),
        ("use 0", "use 1"),
        ("use 1", "use 0"),
    ] {
        if inner.contains(old) {
            all.push(ty.replacen(old, new, 1));
        }
    }
    all
}

#[test]
fn every_change_of_the_numbers_is_rejected() {
    let pipeline = |schedule: &str| {
        format!(
            "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"{schedule}\" microbatches = 2"
        )
    };
    let optimizer = "\n  strategy.optimizer sgd <lr = 0.1, momentum = 0.9>";
    let zero = |stage: u32| format!("\n  strategy.zero over \"dp\" stage = {stage}");
    let cases = [
        ("1f1b", false, "\"pp\" = 2", pipeline("1f1b"), false),
        ("1f1b tied", true, "\"pp\" = 2", pipeline("1f1b"), false),
        ("zb-h1 zero 0", false, "\"pp\" = 2, \"dp\" = 2", pipeline("zb-h1") + &zero(0), true),
        ("1f1b zero 1", false, "\"pp\" = 2, \"dp\" = 2", pipeline("1f1b") + &zero(1), true),
        ("1f1b zero 2", false, "\"pp\" = 2, \"dp\" = 2", pipeline("1f1b") + &zero(2), true),
        ("1f1b zero 3", false, "\"pp\" = 2, \"dp\" = 2", pipeline("1f1b") + &zero(3), true),
        ("gpipe tied zero 1", true, "\"pp\" = 2, \"dp\" = 2", pipeline("gpipe") + &zero(1), true),
        (
            "dualpipe zero 1",
            false,
            "\"pp\" = 2, \"dp\" = 2",
            "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 4".to_owned() + &zero(1),
            true,
        ),
    ];
    let mut counts: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    let mut holes = Vec::new();
    for (name, is_tied, mesh, directives, replicas) in cases {
        let text = graph_text(&model(is_tied, mesh, &format!("{directives}{optimizer}")), replicas);
        let wanted = numbers(&text).expect("the graph verifies").expect("and runs");
        for (what, changed) in mutants(&text) {
            let count = counts.entry(what).or_default();
            count.0 += 1;
            match numbers(&changed) {
                None => count.1 += 1,
                Some(Ok(found)) if is_same(&found, &wanted) => count.2 += 1,
                Some(found) => {
                    let differs: Vec<&str> = text
                        .lines()
                        .zip(changed.lines())
                        .filter(|(a, b)| a != b)
                        .map(|(_, b)| b)
                        .take(3)
                        .collect();
                    let why = found.err().unwrap_or_else(|| "other numbers".to_owned());
                    holes.push(format!("{name}: {what}: {why}\n{}", differs.join("\n")));
                }
            }
        }
    }
    for (what, (all, rejected, same)) in &counts {
        println!(
            "{what:<28} {all:>6} mutants {rejected:>6} rejected {same:>5} accepted with the same numbers"
        );
    }
    let shown = holes.len().min(12);
    assert!(holes.is_empty(), "{} holes, among them\n{}", holes.len(), holes[..shown].join("\n\n"));
    let all: usize = counts.values().map(|c| c.0).sum();
    assert!(all > 2000, "only {all} mutants");
}
