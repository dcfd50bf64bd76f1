//! What named directives expand to, and every message of the checks.

use std::sync::Arc;

use piper_dialects::strategy::plans;
use piper_ir::text::{PrintOptions, parse_module, print_op};
use piper_ir::verify::verify;
use piper_ir::{Context, Diagnostic, Module, Reporter, SourceFile};

use super::run;

/// `line: text [note line: text]... [hint]` for each message.
fn messages(ctx: &Context, diagnostics: &[Diagnostic]) -> String {
    let line = |loc: piper_ir::Loc| loc.file_position(ctx).map_or(0, |(_, line, _)| line);
    let all: Vec<String> = diagnostics
        .iter()
        .map(|d| {
            let mut text = format!("{}: {}", line(d.loc), d.message);
            for note in &d.notes {
                text.push_str(&format!("\n  note {}: {}", line(note.loc), note.message));
            }
            d.hint.iter().for_each(|hint| text.push_str(&format!("\n  hint: {hint}")));
            text
        })
        .collect();
    all.join("\n")
}

fn read(text: &str) -> Module {
    let ctx = Arc::new(Context::new(piper_dialects::all()));
    let source = SourceFile::new("t.pir", text);
    let mut reporter = Reporter::new(&ctx);
    let module =
        parse_module(&ctx, &source, &mut reporter).filter(|module| verify(module, &mut reporter));
    module.unwrap_or_else(|| panic!("{}\n{text}", messages(&ctx, reporter.diagnostics())))
}

/// The plan after the pass, or its messages.
fn expand(text: &str) -> Result<String, String> {
    let mut module = read(text);
    let ctx = module.ctx_arc();
    let mut reporter = Reporter::new(&ctx);
    if run(&mut module, &mut reporter).is_err() {
        return Err(messages(&ctx, reporter.diagnostics()));
    }
    assert!(verify(&module, &mut reporter), "{}", messages(&ctx, reporter.diagnostics()));
    let printed = print_op(&module, plans(&module)[0], PrintOptions::default());
    // Once more changes nothing.
    assert_eq!(run(&mut module, &mut reporter).ok(), Some(0));
    assert_eq!(print_op(&module, plans(&module)[0], PrintOptions::default()), printed);
    Ok(printed)
}

/// A function of `stages` stages on lines 2 to 2 + 4 stages, batch 16, and a plan whose directives begin on line 6 + 4 stages.
fn model(mesh: &str, stages: u32, directives: &str) -> String {
    let mut text = format!(
        "strategy.mesh @m <[{mesh}]>\nfunc.func @loss(%x: tensor<16x4xf32> {{role = \"data\", batch_dim = 0}}) -> tensor<16x4xf32> {{\n"
    );
    let mut value = "x".to_owned();
    for s in 0..stages {
        text.push_str(&format!(
            "  %{s} = strategy.annotate {{PP = {s}}} {{\n    %g = nn.gelu %{value} : tensor<16x4xf32>\n    strategy.yield %g : tensor<16x4xf32>\n  }} : tensor<16x4xf32>\n"
        ));
        value = s.to_string();
    }
    text.push_str(&format!("  func.return %{value} : tensor<16x4xf32>\n}}\nstrategy.plan @train for @loss on @m {{\n{directives}\n}}\n"));
    text
}

const PP2: &str = "\"pp\" = 2, \"dp\" = 2";

#[test]
fn a_1f1b_is_made_of_split_places_and_orders() {
    let text = model(
        PP2,
        2,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 4\nstrategy.zero over \"dp\" stage = 1 bucket = \"1MiB\"\nstrategy.optimizer sgd <lr = 0.5>",
    );
    assert_eq!(
        expand(&text).expect("expands"),
        r#"strategy.plan @train for @loss on @m {
  strategy.split "MB" into 4
  strategy.place {PP = 0} on {pp = 0}
  strategy.place {PP = 1} on {pp = 1}
  strategy.order stages = "PP" on {pp = 0} "0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3"
  strategy.order stages = "PP" on {pp = 1} "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3"
  strategy.replicate over "dp" zero = 1 bucket = "1MiB"
  strategy.update sgd <lr = 5.000000e-01>
}
"#
    );
}

#[test]
fn expanded_operations_stand_where_their_directive_stood() {
    let mut module = read(&model(
        PP2,
        2,
        "strategy.optimizer sgd <lr = 0.5>\nstrategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 4",
    ));
    let ctx = module.ctx_arc();
    let mut reporter = Reporter::new(&ctx);
    assert_eq!(run(&mut module, &mut reporter).ok(), Some(2));
    let plan = plans(&module)[0];
    let body = module.only_block(plan).expect("a plan has a body");
    let lines: Vec<u32> = module
        .ops(body)
        .map(|op| module.op_loc(op).file_position(&ctx).expect("located").1)
        .collect();
    assert_eq!(lines, [14, 15, 15, 15, 15, 15, 15]);
}

#[test]
fn dualpipe_gives_every_stage_two_homes() {
    let text = model(PP2, 2, "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 4");
    assert_eq!(
        expand(&text).expect("expands"),
        r#"strategy.plan @train for @loss on @m {
  strategy.split "MB" into 4
  strategy.place {PP = 0} on [{pp = 0}, {pp = 1}] microbatches = [0:2, 2:4]
  strategy.place {PP = 1} on [{pp = 1}, {pp = 0}] microbatches = [0:2, 2:4]
  strategy.split_backward {PP = 0}
  strategy.order stages = "PP" on {pp = 0} "0F0 1F2 0F1 1B2 (1F3 | 0B0) 1B3 0I1 0W1"
  strategy.order stages = "PP" on {pp = 1} "0F2 1F0 0F3 1B0 (1F1 | 0B2) 1B1 0I3 0W3"
}
"#
    );
}

#[test]
fn every_schedule_expands_and_checks() {
    let cases = [
        ("\"pp\" = 2", 2, "gpipe", 4),
        ("\"pp\" = 2", 2, "1f1b", 4),
        ("\"pp\" = 2", 4, "interleaved1f1b", 4),
        ("\"pp\" = 2", 4, "looped-bfs", 4),
        ("\"pp\" = 4", 4, "zb-h1", 8),
        ("\"pp\" = 4", 4, "zb-h2", 8),
        ("\"pp\" = 2", 4, "interleaved-zb", 4),
        ("\"pp\" = 2", 4, "zbv", 4),
        ("\"pp\" = 2", 2, "dualpipe", 8),
        ("\"pp\" = 2", 4, "dualpipev", 8),
    ];
    for (mesh, stages, schedule, microbatches) in cases {
        let directive = format!(
            "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"{schedule}\" microbatches = {microbatches}"
        );
        let plan =
            expand(&model(mesh, stages, &directive)).unwrap_or_else(|e| panic!("{schedule}: {e}"));
        let count = |name: &str| plan.matches(&format!("strategy.{name} ")).count();
        assert_eq!(count("place"), stages as usize, "{schedule}");
        let rows = plan.lines().filter(|line| line.contains("strategy.order"));
        let halves = rows.filter_map(|line| line.rsplit('"').nth(1)).any(|row| row.contains('I'));
        assert_eq!(count("split_backward"), usize::from(halves), "{schedule}");
        assert_eq!(count("order"), if mesh.contains('4') { 4 } else { 2 }, "{schedule}");
    }
}

/// The messages of a wrong plan.
fn wrong(text: &str) -> String {
    expand(text).expect_err("the plan is wrong")
}

#[test]
fn a_pipeline_needs_stages_that_fit() {
    let pipeline = |stages: &str, schedule: &str, microbatches: u32| {
        format!(
            "strategy.pipeline over \"pp\" stages = \"{stages}\" schedule = \"{schedule}\" microbatches = {microbatches}"
        )
    };
    assert_eq!(
        wrong(&model(PP2, 2, &pipeline("PPP", "1f1b", 4))),
        "14: no operation is tagged \"PPP\"\n  hint: did you mean \"PP\"?"
    );
    assert_eq!(
        wrong(&model(PP2, 3, &pipeline("PP", "1f1b", 4))),
        "18: 1f1b needs a number of stages that is a multiple of its 2 ranks; got 3\n  hint: divide the model into 4 stages, or run it on a number of ranks that divides 3"
    );
    assert_eq!(
        wrong(&model(PP2, 2, "strategy.dualpipe over \"pp\" stages = \"PP\" microbatches = 2")),
        "14: dualpipe needs an even number of microbatches, at least 2*P = 4; got 2\n  hint: use 4 microbatches"
    );
    assert_eq!(
        wrong(&model(PP2, 2, &pipeline("PP", "1f1b", 5))),
        "14: 5 microbatches do not divide the batch of 16 (dimension 0 of '%x')\n  note 2: the batch dimension is declared here\n  hint: use 4 microbatches, or a batch that is a multiple of 5"
    );
    assert_eq!(
        wrong(&model(
            PP2,
            2,
            &format!("{}\nstrategy.replicate over \"dp\"", pipeline("PP", "1f1b", 16))
        )),
        "14: 16 microbatches on 2 replicas do not divide the batch of 16 (dimension 0 of '%x')\n  note 2: the batch dimension is declared here\n  hint: use 8 microbatches, or a batch that is a multiple of 32"
    );
    let gap = model(PP2, 2, &pipeline("PP", "1f1b", 4)).replace("{PP = 1}", "{PP = 2}");
    assert_eq!(
        wrong(&gap),
        "14: the stages are not numbered 0 to 1: no operation has PP = 1\n  note 8: but this one has PP = 2"
    );
    let word = model(PP2, 2, &pipeline("PP", "1f1b", 4)).replace("{PP = 1}", "{PP = \"last\"}");
    assert_eq!(
        wrong(&word),
        "8: PP = last is no stage: stages are numbered from 0\n  note 14: the tag \"PP\" names the stages here"
    );
}

#[test]
fn an_axis_serves_one_purpose() {
    let pipeline =
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 4";
    assert_eq!(
        wrong(&model(PP2, 2, &format!("{pipeline}\nstrategy.zero over \"pp\" stage = 1"))),
        "15: 'strategy.zero' takes axis \"pp\", which 'strategy.pipeline' already uses\n  note 14: 'strategy.pipeline' stands here\n  hint: not used yet: \"dp\""
    );
    assert_eq!(
        wrong(&model(
            PP2,
            2,
            "strategy.place {PP = *} on {pp = 0}\nstrategy.replicate over \"pp\""
        )),
        "15: 'strategy.replicate' takes axis \"pp\", which 'strategy.place' already uses\n  note 14: 'strategy.place' stands here\n  hint: not used yet: \"dp\""
    );
    assert_eq!(
        wrong(&model(
            PP2,
            2,
            "strategy.optimizer sgd <lr = 0.1>\nstrategy.optimizer sgd <lr = 0.2>"
        )),
        "15: a plan updates the parameters once\n  note 14: already done here"
    );
}

#[test]
fn every_operation_has_one_place() {
    let untagged = model(
        PP2,
        2,
        "strategy.pipeline over \"pp\" stages = \"PP\" schedule = \"1f1b\" microbatches = 4",
    )
    .replace("func.return %1", "%z = nn.gelu %1 : tensor<16x4xf32>\n  func.return %z");
    assert_eq!(
        wrong(&untagged),
        "11: 'nn.gelu' has no place: it has no tags\n  note 15: operations are placed from here on\n  hint: put it into the strategy.annotate of a stage, or place its tags"
    );
    assert_eq!(
        wrong(&model(PP2, 2, "strategy.place {PP = 7} on {pp = 0}")),
        "14: {PP = 7} matches no operation\n  hint: PP has the values 0, 1"
    );
    assert_eq!(
        wrong(&model(PP2, 2, "strategy.split_backward {EP = *}")),
        "14: no operation is tagged \"EP\"\n  hint: did you mean \"PP\"?"
    );
    assert_eq!(
        wrong(&model(
            PP2,
            2,
            "strategy.place {PP = 0} on {pp = 0}\nstrategy.place {PP = *} on {pp = 1}"
        )),
        "4: this operation is placed twice, on different devices\n  note 14: once here\n  note 15: and again here"
    );
    assert_eq!(
        wrong(&model(
            PP2,
            2,
            "strategy.place {PP = 0} on {pp = 0}\nstrategy.place {PP = 1} on {pp = 1}"
        )),
        "14: nothing says in which order {pp = 0}, {pp = 1} and other ranks run their stages\n  hint: add a strategy.order for each, or use strategy.pipeline"
    );
}

fn ordered(first: &str, second: &str) -> String {
    model(
        PP2,
        2,
        &format!(
            "strategy.split \"MB\" into 2\nstrategy.place {{PP = 0}} on {{pp = 0}}\nstrategy.place {{PP = 1}} on {{pp = 1}}\nstrategy.order stages = \"PP\" on {{pp = 0}} \"{first}\"\nstrategy.order stages = \"PP\" on {{pp = 1}} \"{second}\""
        ),
    )
}

#[test]
fn orders_are_complete_and_free_of_deadlock() {
    assert!(expand(&ordered("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1")).is_ok());
    let cases = [
        (
            "0F0 0F1 0B0",
            "1F0 1B0 1F1 1B1",
            "17: 0B1 is missing in the order of {pp = 0}\n  hint: every stage runs F and B (or I and W) once for every microbatch",
        ),
        (
            "0F0 0F1 0B0 0B1 0F1",
            "1F0 1B0 1F1 1B1",
            "17: slot 4 of {pp = 0}: 0F1 runs a second time\n  note 17: already run in slot 1 of {pp = 0}\n  hint: remove one of the two",
        ),
        (
            "0F0 0F1 0B0 0B1 0F2",
            "1F0 1B0 1F1 1B1",
            "17: slot 4 of {pp = 0}: 0F2 does not exist: there are 2 stages and 2 microbatches, counted from 0",
        ),
        (
            "0F0 0F1 0B0 0B1",
            "1F0 1B0 1F1 1B1 0F0",
            "18: slot 4 of {pp = 1}: 0F0 does not belong here\n  hint: PP = 0 is placed on {pp = 0} for microbatch 0\n18: slot 4 of {pp = 1}: 0F0 runs a second time\n  note 17: already run in slot 0 of {pp = 0}\n  hint: remove one of the two",
        ),
        (
            "0F0 0B0 0F1 0B1",
            "1F1 1B1 1F0 1B0",
            "17: the orders deadlock: {pp = 0} waits in slot 1: 0B0 needs 1B0, which is slot 3 of {pp = 1}\n  note 18: {pp = 1} waits in slot 0: 1F1 needs 0F1, which is slot 2 of {pp = 0}\n  hint: in the order of {pp = 0}, put 0F1 before 0B0",
        ),
        (
            "0F0 0F1 0B0 0I1 0W1",
            "1F0 1B0 1F1 1B1",
            "17: 0I1 is half a backward, but the backward of stage 0 is not split\n  hint: add strategy.split_backward {PP = *}",
        ),
    ];
    for (first, second, expected) in cases {
        assert_eq!(wrong(&ordered(first, second)), expected, "{first} / {second}");
    }
    let missing = ordered("0F0 0F1 0B0 0B1", "")
        .replace("\nstrategy.order stages = \"PP\" on {pp = 1} \"\"", "");
    assert_eq!(
        wrong(&missing),
        "17: there is no order for {pp = 1}\n  note 16: which is given work here\n  hint: add strategy.order stages = \"PP\" on {pp = 1} \"...\""
    );
    let twice = ordered("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1")
        .replace("order stages = \"PP\" on {pp = 1}", "order stages = \"PP\" on {dp = 1}");
    assert!(
        wrong(&twice).starts_with("18: 'strategy.order'")
            || wrong(&twice).starts_with("18: a second order"),
        "{}",
        wrong(&twice)
    );
}

#[test]
fn tags_are_seen_through_calls_and_annotations() {
    let text = r#"strategy.mesh @m <["pp" = 2]>
func.func private @block(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.gelu %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @loss(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @block(%x) {tags = {PP = 0}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = strategy.annotate {PP = 1} {
    %2 = func.call @block(%0) : (tensor<4xf32>) -> tensor<4xf32>
    strategy.yield %2 : tensor<4xf32>
  } : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
strategy.plan @train for @loss on @m {
  strategy.pipeline over "pp" stages = "PP" schedule = "gpipe" microbatches = 1
}
"#;
    let plan = expand(text).expect("two stages");
    assert!(plan.contains("strategy.place {PP = 1} on {pp = 1}"), "{plan}");
}
