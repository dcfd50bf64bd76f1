//! Change any one line of correct device programs: `verify-device` objects, or they still do the same.
//!
//! Here the programs are text beside the graph they were made from, and nothing else says what they should do: no seal was
//! made of them before they were changed. So what is rejected is rejected by the correspondence with the graph, or because it
//! races, hangs or does not pair. The judge executes the programs on symbolic numbers.

#![allow(unreachable_pub)] // private modules, of more than one target

#[path = "../../tools/piper-run/tests/mutants/symbolic.rs"]
mod symbolic;

use std::collections::BTreeMap;
use std::sync::Arc;

use piper_ir::pass::{Instrumentation, RunOptions};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{Context, Reporter, SourceFile};
use piper_passes::pipeline_text::pass_manager;
use piper_passes::{emit_plan, registry, verify_device};
use symbolic::{Meaning, Order, Random, execute};

const ORDERS: [Order; 3] = [Order::FirstStream, Order::LastStream, Order::Random(1)];

/// Two stages; the first has two weights of one shape.
fn model(mesh: &str, directives: &str) -> String {
    let (x, w) = ("tensor<16x4xf32>", "tensor<4x4xf32>");
    format!(
        "strategy.mesh @c <[{mesh}]>
func.func @loss(%x: {x} {{role = \"data\", batch_dim = 0}}, %t: tensor<16xi32> {{role = \"data\", batch_dim = 0}}) -> tensor<f32> {{
  %h = strategy.annotate {{PP = 0}} {{
    %w0 = nn.parameter \"w0\" init = normal<0.0, 0.7> : {w}
    %w1 = nn.parameter \"w1\" init = normal<0.0, 0.7> : {w}
    %a = nn.linear %x, %w0 : ({x}, {w}) -> {x}
    %g = nn.gelu %a : {x}
    %b = nn.linear %g, %w1 : ({x}, {w}) -> {x}
    strategy.yield %b : {x}
  }} : {x}
  %loss = strategy.annotate {{PP = 1}} {{
    %w2 = nn.parameter \"w2\" init = normal<0.0, 0.7> : {w}
    %c = nn.linear %h, %w2 : ({x}, {w}) -> {x}
    %l = nn.cross_entropy %c, %t {{denominator = 16}} : ({x}, tensor<16xi32>) -> tensor<f32>
    strategy.yield %l : tensor<f32>
  }} : tensor<f32>
  func.return %loss : tensor<f32>
}}
strategy.plan @train for @loss on @c {{
  {directives}
  strategy.optimizer sgd <lr = 0.1, momentum = 0.9>
}}
"
    )
}

/// The graph of a strategy and the device programs made from it, as text.
fn programs(text: &str, replicas: bool) -> String {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut reporter = Reporter::new(&ctx);
    let mut module = parse_module(&ctx, &SourceFile::new("t.pir", text), &mut reporter)
        .unwrap_or_else(|| panic!("{:#?}", reporter.diagnostics()));
    let replicate = if replicas { "replicate," } else { "" };
    let pipeline = format!(
        "builtin.module(import-tags,autodiff,expand-directives,build-dag,split-backward,split,place,order,{replicate}update,verify-dag,lower-to-device,memory-plan)"
    );
    let mut manager = pass_manager(&registry::all(), &pipeline).expect("passes exist");
    struct Quiet;
    impl Instrumentation for Quiet {}
    let ran = manager.run(&mut module, &mut reporter, &RunOptions::default(), &mut Quiet);
    assert!(ran.is_ok(), "{:#?}", reporter.diagnostics());
    print_module(&module, PrintOptions::default())
}

/// The meaning of programs in several interleavings (`None`: they hang); an error if they are rejected.
fn meanings(text: &str) -> Result<Vec<Option<Meaning>>, String> {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("d.pir", text), &mut reporter)
        .filter(|m| verify(m, &mut reporter));
    let said = |reporter: &Reporter<'_>| {
        reporter.diagnostics().first().map_or(String::new(), |d| d.message.clone())
    };
    let Some(module) = module else { return Err(said(&reporter)) };
    let Some(&plan) = emit_plan::device_plans(&module).first() else {
        return Err("no programs".to_owned());
    };
    let (emit, options) = (emit_plan::Options::default(), verify_device::Options::default());
    match verify_device::verified(&module, plan, &mut reporter, emit, options) {
        Ok(emitted) => Ok(ORDERS.iter().map(|order| execute(&emitted.plan, *order)).collect()),
        Err(_) => Err(said(&reporter)),
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')
}

/// The values a text names.
fn values(text: &str) -> Vec<&str> {
    text.match_indices('%')
        .map(|(at, _)| {
            let rest = &text[at + 1..];
            &text[at..at + 1 + rest.find(|c| !is_name(c)).unwrap_or(rest.len())]
        })
        .collect()
}

/// The numbers a text has as words.
fn numbers(text: &str) -> Vec<(usize, &str)> {
    let is_digit = |c: char| c.is_ascii_digit();
    text.match_indices(is_digit)
        .filter(|(at, _)| *at > 0 && matches!(&text[at - 1..*at], " " | "="))
        .map(|(at, _)| {
            (at, &text[at..at + text[at..].find(|c| !is_digit(c)).unwrap_or(text.len() - at)])
        })
        .collect()
}

fn word<'t>(text: &'t str, before: &str) -> Option<&'t str> {
    let at = text.find(before)? + before.len();
    let rest = &text[at..];
    Some(&rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())])
}

/// All changed texts, with what was done.
fn mutants(text: &str) -> Vec<(&'static str, usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut program = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("device.program") {
            types.clear();
            // The buffers of the program, which stand before their uses but anywhere.
            for line in lines[at + 1..].iter().take_while(|l| !l.trim_start().starts_with('}')) {
                if let Some((name, rest)) = line.trim().split_once(" = device.")
                    && let Some(from) = rest.find("memref<")
                {
                    let end = from + rest[from..].find('>').expect("types end") + 1;
                    types.insert(name, &rest[from..end]);
                }
            }
            program = lines[at + 1..]
                .iter()
                .take_while(|l| !l.trim_start().starts_with('}'))
                .copied()
                .collect();
        }
        let is_instruction = trimmed.contains(" on \"")
            && trimmed.starts_with("device.")
            && !trimmed.starts_with("device.plan");
        if !is_instruction {
            continue;
        }
        let mut push = |what, new: Vec<String>| {
            let before = lines[..at].iter().map(|l| (*l).to_owned());
            let after = lines[at + 1..].iter().map(|l| (*l).to_owned());
            let text = before.chain(new).chain(after).collect::<Vec<_>>().join("\n");
            all.push((what, at, text));
        };
        push("drop", vec![]);
        push("duplicate", vec![(*line).to_owned(), (*line).to_owned()]);
        for (from, to) in [("on \"compute\"", "on \"comm\""), ("on \"comm\"", "on \"compute\"")] {
            if line.contains(from) {
                push("re-stream", vec![line.replacen(from, to, 1)]);
            }
        }
        for operand in values(line) {
            let others = types.iter().filter(|(name, ty)| {
                **name != operand && types.get(operand) == Some(*ty) && !line.contains(**name)
            });
            for (other, _) in others.take(3) {
                let from = line.find(operand).expect("it is there");
                let rest = &line[from + operand.len()..];
                push("other buffer", vec![format!("{}{other}{rest}", &line[..from])]);
            }
        }
        if !trimmed.starts_with("device.launch") {
            let body = line.split(" {origin").next().unwrap_or(line);
            for (place, number) in numbers(body) {
                let value: u64 = number.parse().expect("digits");
                for new in [value + 1, value.wrapping_sub(1)] {
                    if new < u64::MAX {
                        let tail = &line[place + number.len()..];
                        push("other number", vec![format!("{}{new}{tail}", &line[..place])]);
                    }
                }
            }
        }
        if let Some(callee) = word(trimmed, "device.launch @") {
            let others: std::collections::BTreeSet<&str> =
                program.iter().filter_map(|l| word(l, "device.launch @")).collect();
            for other in others.into_iter().filter(|o| *o != callee) {
                push("other kernel", vec![line.replacen(callee, other, 1)]);
            }
        }
    }
    for at in 0..lines.len() - 1 {
        let is_instruction =
            |l: &str| l.contains(" on \"") && l.trim_start().starts_with("device.");
        for gap in [1, 2, 5] {
            if at + gap < lines.len()
                && is_instruction(lines[at])
                && is_instruction(lines[at + gap])
            {
                let mut swapped = lines.clone();
                swapped.swap(at, at + gap);
                all.push(("swap", at, swapped.join("\n")));
            }
        }
    }
    all
}

#[test]
fn every_change_of_meaning_is_rejected() {
    let pipeline = |schedule: &str| {
        format!(
            "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"{schedule}\" microbatches = 2"
        )
    };
    let zero = |stage: u32| format!("\n  strategy.zero over \"dp\" stage = {stage}");
    let cases = [
        ("1f1b", "\"pp\" = 2", pipeline("1f1b"), false),
        ("zb-h1 zero 0", "\"pp\" = 2, \"dp\" = 2", pipeline("zb-h1") + &zero(0), true),
        ("1f1b zero 1", "\"pp\" = 2, \"dp\" = 2", pipeline("1f1b") + &zero(1), true),
        (
            "dualpipe zero 1",
            "\"pp\" = 2, \"dp\" = 2",
            "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 4".to_owned() + &zero(1),
            true,
        ),
    ];
    const EACH: usize = 400;
    let mut counts: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    let mut holes = Vec::new();
    for (name, mesh, directives, replicas) in cases {
        let text = programs(&model(mesh, &directives), replicas);
        let wanted = meanings(&text).unwrap_or_else(|why| panic!("{name}: {why}\n{text}"));
        assert!(wanted.iter().all(|m| m.is_some() && *m == wanted[0]), "{name}");
        let mut all = mutants(&text);
        let mut random = Random(7);
        for at in (1..all.len()).rev() {
            all.swap(at, random.below(at + 1));
        }
        let all_of_them = std::env::var_os("PIPER_ALL_MUTANTS").is_some();
        all.truncate(if all_of_them { usize::MAX } else { EACH });
        for (what, at, changed) in all {
            let count = counts.entry(what).or_default();
            count.0 += 1;
            match meanings(&changed) {
                Err(_) => count.1 += 1,
                Ok(found) if found == wanted => count.2 += 1,
                Ok(_) => {
                    let line = |text: &str| text.lines().nth(at).unwrap_or("").trim().to_owned();
                    holes.push(format!("{name}: {what}:\n  {}\n  {}", line(&text), line(&changed)));
                }
            }
        }
    }
    for (what, (all, rejected, same)) in &counts {
        println!("{what:<16} {all:>6} mutants {rejected:>6} rejected {same:>5} accepted, the same");
    }
    let shown = holes.len().min(40);
    assert!(holes.is_empty(), "{} holes, among them\n{}", holes.len(), holes[..shown].join("\n"));
}
