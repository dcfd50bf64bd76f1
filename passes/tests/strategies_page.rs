//! `docs/strategies.md` tells the truth: what it says a directive expands into is what `expand-directives` makes of it, its other
//! examples are read, and no directive or schedule is left out.
//!
//! A fence ` ```mlir expand mesh="pp=4,dp=2" stages=4 ` holds directives; the next fence is their expansion. With `PIPER_BLESS=1` that is
//! written anew.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use piper_dialects::strategy::plans;
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{Context, Module, Reporter, SourceFile, verify};
use piper_passes::expand_directives;
use piper_schedule::generate::SCHEDULES;

fn page() -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/strategies.md");
    let text = std::fs::read_to_string(&path).expect("the page");
    (path, text)
}

/// One fenced block: its info string and the range of its text.
struct Fence<'p> {
    info: &'p str,
    text: std::ops::Range<usize>,
}

fn fences(page: &str) -> Vec<Fence<'_>> {
    let (mut found, mut at, mut open) = (Vec::new(), 0, None::<(&str, usize)>);
    for line in page.split_inclusive('\n') {
        let end = at + line.len();
        if let Some(info) = line.trim_end().strip_prefix("```") {
            open = match open {
                None => Some((info, end)),
                Some((info, start)) => {
                    found.push(Fence { info, text: start..at });
                    None
                }
            };
        }
        at = end;
    }
    found
}

fn option<'i>(info: &'i str, name: &str) -> Option<&'i str> {
    let rest = info.split_once(&format!("{name}="))?.1;
    Some(rest.trim_start_matches('"').split(['"', ' ']).next().unwrap_or(rest))
}

/// A file with the directives, and a function of gelus: one a stage, tagged `PP`, `LAYER` and `kind`.
fn file(info: &str, directives: &str) -> String {
    let mesh: Vec<String> = option(info, "mesh")
        .unwrap_or("pp=4,dp=2")
        .split(',')
        .filter_map(|axis| axis.split_once('='))
        .map(|(axis, size)| format!("\"{axis}\" = {size}"))
        .collect();
    let stages = option(info, "stages").unwrap_or("4");
    let stages: Vec<u32> = match stages.contains(',') {
        true => stages.split(',').filter_map(|stage| stage.parse().ok()).collect(),
        false => (0..stages.parse().expect("a number of stages")).collect(),
    };
    let ty = "tensor<64x4xf32>";
    let (mut body, mut value) = (String::new(), "x".to_owned());
    // Parts by letter instead: the k-th of a letter is tagged with the letter and k.
    if let Some(parts) = option(info, "parts") {
        for (number, part) in parts.char_indices() {
            let count = parts[..number].matches(part).count();
            body +=
                &format!("  %{number} = nn.gelu %{value} {{tags = {{{part} = {count}}}}} : {ty}\n");
            value = number.to_string();
        }
    }
    let stages = if body.is_empty() { stages } else { Vec::new() };
    for (layer, stage) in stages.iter().enumerate() {
        body += &format!(
            "  %{layer} = nn.gelu %{value} {{tags = {{PP = {stage}, LAYER = {layer}, kind = \"block\"}}}} : {ty}\n"
        );
        value = layer.to_string();
    }
    format!(
        "strategy.mesh @cluster <[{}]>\nfunc.func @loss(%x: {ty} {{role = \"data\", batch_dim = 0}}) -> {ty} {{\n{body}  func.return %{value} : {ty}\n}}\nstrategy.plan @train for @loss on @cluster {{\n{directives}}}\n",
        mesh.join(", ")
    )
}

fn parsed(ctx: &Arc<Context>, text: &str) -> Module {
    let mut reporter = Reporter::new(ctx);
    let module = parse_module(ctx, &SourceFile::new("page", text), &mut reporter)
        .filter(|module| verify::verify(module, &mut reporter));
    module.unwrap_or_else(|| panic!("{text}\n{:#?}", reporter.diagnostics()))
}

fn expanded(info: &str, directives: &str) -> String {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut module = parsed(&ctx, &file(info, directives));
    let mut reporter = Reporter::new(&ctx);
    let done = expand_directives::run(&mut module, &mut reporter);
    assert!(done.is_ok(), "{directives}\n{:#?}", reporter.diagnostics());
    assert_eq!(plans(&module).len(), 1);
    let text = print_module(&module, PrintOptions::default());
    let from = text.lines().skip_while(|line| !line.trim_start().starts_with("strategy.plan"));
    from.skip(1)
        .map(str::trim)
        .take_while(|line| *line != "}")
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn expansions_are_what_the_page_shows() {
    let (path, page) = page();
    let all = fences(&page);
    let (mut fresh, mut at, mut count) = (String::new(), 0, 0);
    for (number, fence) in all.iter().enumerate().filter(|(_, f)| f.info.starts_with("mlir expand"))
    {
        let shown = all.get(number + 1).expect("an expansion follows");
        assert_eq!(shown.info, "mlir", "the expansion of\n{}", &page[fence.text.clone()]);
        let made = expanded(fence.info, &page[fence.text.clone()]);
        fresh += &page[at..shown.text.start];
        fresh += &made;
        at = shown.text.end;
        count += 1;
    }
    fresh += &page[at..];
    if std::env::var_os("PIPER_BLESS").is_some() {
        std::fs::write(path, fresh).expect("the page can be written");
        return;
    }
    assert!(count >= 10, "{count} expansions");
    assert!(
        fresh == page,
        "stale expansions: PIPER_BLESS=1 cargo test -p piper-passes --test strategies_page"
    );
}

#[test]
fn examples_of_directives_are_read() {
    let (_, page) = page();
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let mut count = 0;
    for fence in fences(&page) {
        let text = &page[fence.text.clone()];
        // Each example of a primitive stands alone: one plan updates the parameters once.
        if fence.info == "mlir"
            && text.lines().all(|line| line.starts_with("strategy.") || line.is_empty())
        {
            for line in text.lines().filter(|line| !line.is_empty()) {
                parsed(&ctx, &file("", &format!("{line}\n")));
                count += 1;
            }
        }
    }
    assert!(count >= 20, "{count} examples");
}

#[test]
fn nothing_is_left_out() {
    let (_, page) = page();
    let dialect = piper_dialects::strategy::dialect();
    let structure = ["mesh", "group", "annotate", "yield", "plan"];
    for op in &dialect.ops {
        let name = op.name.trim_start_matches("strategy.");
        let shown = page.contains(&format!("`strategy.{name}"))
            || page.contains(&format!("\nstrategy.{name} "));
        assert!(shown || structure.contains(&name), "the page does not show {}", op.name);
    }
    // A name is written with `-`, `_` or neither.
    let bare = |text: &str| text.replace(['-', '_'], "");
    let page = bare(&page);
    for schedule in SCHEDULES {
        let written = bare(&format!("schedule = \"{}\"", schedule.name));
        let is_dualpipe = schedule.name.starts_with("dualpipe");
        assert!(is_dualpipe || page.contains(&written), "the page does not show {written}");
    }
}
