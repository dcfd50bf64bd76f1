//! Text both ways, what a plan reads as, and every message of the verifiers.

use std::sync::Arc;

use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{Context, Module, Reporter, SourceFile};

use super::*;

fn context() -> Arc<Context> {
    Arc::new(Context::new([dialect(), crate::func::dialect()]))
}

/// The module, or the messages (`line: text [hint]`) of what is wrong with it.
fn read(ctx: &Arc<Context>, text: &str) -> Result<Module, String> {
    let source = SourceFile::new("t.pir", text);
    let mut reporter = Reporter::new(ctx);
    let module = parse_module(ctx, &source, &mut reporter);
    if let Some(module) = &module {
        verify(module, &mut reporter);
    }
    let messages: Vec<String> = reporter
        .take()
        .into_iter()
        .map(|d| {
            let line = d.loc.file_position(ctx).map_or(0, |(_, line, _)| line);
            let hint = d.hint.map_or(String::new(), |hint| format!(" [{hint}]"));
            format!("{line}: {}{hint}", d.message)
        })
        .collect();
    if messages.is_empty() { Ok(module.expect("no error")) } else { Err(messages.join("\n")) }
}

const HEAD: &str = "strategy.mesh @cluster <[\"pp\" = 4, \"dp\" = 2]>
func.func @loss() {
  return
}
strategy.plan @train for @loss on @cluster {
";

fn plan(directives: &str) -> String {
    format!("{HEAD}{directives}\n}}\n")
}

const EVERYTHING: &str = r#"module {
  strategy.mesh @cluster <["pp" = 4, "dp" = 2]>
  strategy.group @own0 on @cluster [{pp = 0}, {pp = 3}]
  func.func @loss(%arg0: i32) -> i32 {
    %0 = strategy.annotate {PP = 0} {
      %1 = strategy.annotate {kind = "mlp"} {
        strategy.yield %arg0 : i32
      } : i32
      strategy.yield %1 : i32
    } : i32
    strategy.annotate {PP = 1} {
      strategy.yield
    }
    func.return %0 : i32
  }
  strategy.plan @train for @loss on @cluster {
    strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 8
    strategy.pipeline over "pp" stages = "PP" schedule = "interleaved1f1b" microbatches = 8 group = 4 overlap
    strategy.dualpipe over "pp" stages = "PP" microbatches = 8
    strategy.dualpipe over "pp" stages = "PP" microbatches = 8 variant = "v"
    strategy.zero over "dp" stage = 1 bucket = "25MiB"
    strategy.replicate over "dp"
    strategy.replicate over "dp" zero = 1 bucket = "1KiB"
    strategy.place {PP = 1} on {pp = 1}
    strategy.place {EP = -, PASS = F, PP = 0|2, kind = "a b"} on [{pp = 0}, {pp = 3}] microbatches = [0:4, 4:8]
    strategy.split "MB" into 8
    strategy.split_backward {PP = *}
    strategy.order stages = "PP" on {pp = 0} "0F0 (0F1 | 0B0) 0I1 0W1"
    strategy.order stages = "PP" on {pp = 1} ""
    strategy.optimizer sgd <lr = 1.000000e-01, momentum = 9.000000e-01>
    strategy.update adamw <lr = warmup_cosine<peak = 3.000000e-04, floor = 3.000000e-05, warmup = 20, total = 300>, betas = [9.000000e-01, 0.94999999999999996], eps = 1.000000e-08, weight_decay = 1.000000e-01, clip = 1.000000e+00>
  }
}
"#;

#[test]
fn every_form_prints_as_it_reads_custom_and_generic() {
    let ctx = context();
    let module = read(&ctx, EVERYTHING).expect("reads");
    let custom = print_module(&module, PrintOptions::default());
    assert_eq!(custom, EVERYTHING);
    let generic = print_module(&module, PrintOptions { generic: true, ..Default::default() });
    let again = read(&ctx, &generic).expect("the generic form reads");
    assert_eq!(print_module(&again, PrintOptions::default()), custom);
}

#[test]
fn a_plan_reads_as_values() {
    let ctx = context();
    let module = read(&ctx, EVERYTHING).expect("reads");
    let [plan] = plans(&module)[..] else { panic!("one plan") };
    let plan = PlanSpec::read(&module, plan).expect("verified");
    assert_eq!((&*plan.name, &*plan.function_name, &*plan.mesh_name), ("train", "loss", "cluster"));
    assert_eq!(plan.mesh, Mesh::new([("pp", 4), ("dp", 2)]));
    let kinds: Vec<&Kind> = plan.directives.iter().map(|d| &d.kind).collect();
    assert_eq!(
        *kinds[1],
        Kind::Pipeline {
            axis: "pp".into(),
            stages: "PP".into(),
            schedule: "interleaved1f1b".into(),
            microbatches: 8,
            group: Some(4),
            overlap: true,
            count: None,
        }
    );
    assert!(matches!(kinds[3], Kind::DualPipe { vee: true, .. }));
    assert_eq!(*kinds[5], Kind::Replicate { axis: "dp".into(), sharding: Sharding::default() });
    let Kind::Place { filter, homes } = kinds[8] else { panic!("a place") };
    assert_eq!(filter.to_string(), "{EP = -, PASS = F, PP = 0|2, kind = \"a b\"}");
    assert!(filter.matches(|tag| match tag {
        "PASS" => Some("F"),
        "PP" => Some("2"),
        "kind" => Some("a b"),
        _ => None,
    }));
    assert_eq!(homes[1], Home { slice: Slice::new([("pp", 3)]), microbatches: Some(4..8) });
    let Kind::Order { row, .. } = kinds[11] else { panic!("an order") };
    assert_eq!(row.len(), 4);
    assert!(matches!(kinds[12], Kind::Order { row, .. } if row.is_empty()));
    let Kind::Update(update) = kinds[14] else { panic!("an update") };
    assert_eq!(update.algorithm, Algorithm::AdamW { beta1: 0.9, beta2: 0.95, eps: 1e-8 });
    assert_eq!(
        update.lr,
        LearningRate::WarmupCosine { peak: 3e-4, floor: 3e-5, warmup: 20, total: 300 }
    );
    assert_eq!((update.weight_decay, update.clip), (0.1, Some(1.0)));
}

#[test]
fn mistakes_are_named_where_they_stand() {
    let ctx = context();
    let fails = |text: &str| read(&ctx, text).err().unwrap_or_else(|| panic!("accepted:\n{text}"));
    let cases = [
        (
            r#"strategy.pipeline over "ppp" stages = "PP" schedule = "1f1b" microbatches = 8"#,
            "6: the mesh has no axis \"ppp\" [did you mean \"pp\"?]",
        ),
        (
            r#"strategy.zero over "expert" stage = 1"#,
            "6: the mesh has no axis \"expert\" [the mesh has \"pp\", \"dp\"]",
        ),
        (
            r#"strategy.pipelin over "pp""#,
            "6: dialect 'strategy' has no operation 'strategy.pipelin' [did you mean 'strategy.pipeline'?]",
        ),
        (
            r#"strategy.pipeline over "pp" stages = "PP" schedule = "1f1bb" microbatches = 8"#,
            "6: unknown schedule '1f1bb' [did you mean '1f1b'?]",
        ),
        (
            r#"strategy.pipeline over "pp" stages = "PP" schedule = "1f1b" microbatches = 0"#,
            "6: 'microbatches' must be a number from 1 to 10000, but is 0",
        ),
        (
            r#"strategy.pipeline over "pp" stages = "PP" schedule = "1f1b""#,
            r#"6: expected 'microbatches', found the end of the line [the form is: strategy.pipeline over "<axis>" stages = "<stages>" [count = <count>] schedule = "<schedule>" microbatches = <microbatches> [group = <group>] [overlap]]"#,
        ),
        (
            r#"strategy.dualpipe over "pp" stages = "PP" microbatches = 8 variant = "w""#,
            "6: attribute 'variant' of 'strategy.dualpipe' must be \"v\" or \"bidirectional\", but is \"w\"",
        ),
        (
            r#"strategy.zero over "dp" stage = 4"#,
            "6: the ZeRO stage is 0, 1, 2 or 3, not 4 [1 shards the optimizer state, 2 gradients too, 3 parameters too; 0 shards nothing]",
        ),
        (
            r#"strategy.replicate over "dp" zero = 1 bucket = "25""#,
            "6: 'bucket': \"25\" is not a size: write a number and B, KiB, MiB or GiB",
        ),
        (
            r#"strategy.place {PP = 1} on {pp = 4}"#,
            "6: {pp = 4} is outside the mesh: axis \"pp\" has coordinates 0 to 3, not 4",
        ),
        (
            r#"strategy.place {PP = 1} on {ppp = 1}"#,
            "6: the mesh has no axis \"ppp\" [did you mean \"pp\"?]",
        ),
        (
            r#"strategy.place {PP = 1, PP = 2} on {pp = 1}"#,
            "6: the tag PP stands twice [for either of two values write PP = 0|1]",
        ),
        (r#"strategy.place {PP = } on {pp = 1}"#, "6: expected a value, '*' or '-', found '}'"),
        (
            r#"strategy.place {PP = 0} on [{pp = 1}, {pp = 2}]"#,
            "6: several homes: which microbatches run where? [add a range for each home, as in microbatches = [0:4, 4:8]]",
        ),
        (
            r#"strategy.place {PP = 0} on [{pp = 1}, {dp = 0}] microbatches = [0:4, 4:8]"#,
            "6: the slices {pp = 1} and {dp = 0} have devices in common",
        ),
        (
            r#"strategy.place {PP = 0} on [{pp = 1}, {pp = 2}] microbatches = [0:4, 5:8]"#,
            "6: no home runs microbatch 4",
        ),
        (
            r#"strategy.place {PP = 0} on [{pp = 1}, {pp = 2}] microbatches = [4:8, 0:5]"#,
            "6: two homes run microbatch 4",
        ),
        (
            r#"strategy.place {PP = 0} on 3"#,
            "6: expected a mesh slice such as {pp = 0}, or a list of them",
        ),
        (
            r#"strategy.order stages = "PP" on {pp = 0} "0F0 0f1""#,
            "6: '0f1' is not an action [did you mean 0F1?]",
        ),
        (
            r#"strategy.order stages = "PP" on {pp = 0} "0F0\n1F0""#,
            "6: an order is the row of one rank, but this one has several lines [write one strategy.order for each rank]",
        ),
        (
            r#"strategy.optimizer adam <lr = 0.1>"#,
            "6: expected an optimizer, found 'adam' [did you mean 'adamw'?]",
        ),
        (
            r#"strategy.optimizer sgd <lr = 0.1, moment = 0.9>"#,
            "6: expected an option of sgd, found 'moment' [did you mean 'momentum'?]",
        ),
        (
            r#"strategy.optimizer adamw <lr = 0.1, momentum = 0.9>"#,
            "6: expected an option of adamw, found 'momentum' [known: lr, betas, eps, weight_decay, clip]",
        ),
        (
            r#"strategy.optimizer adamw <eps = 0.1>"#,
            "6: 'strategy.optimizer' requires attribute 'lr'",
        ),
        (
            r#"strategy.optimizer adamw <lr = warmup_cosin<peak = 0.1>>"#,
            "6: expected a learning-rate schedule, found 'warmup_cosin' [did you mean 'warmup_cosine'?]",
        ),
        (
            r#"strategy.optimizer adamw <lr = warmup_cosine<peak = 0.1>>"#,
            "6: warmup_cosine needs 'floor'",
        ),
        (
            r#"strategy.optimizer adamw <lr = warmup_linear<peak = 0.1, floor = 0.0, warmup = 9, total = 9>>"#,
            "6: the warmup of 9 steps must end before the total of 9 steps",
        ),
        (
            r#"strategy.optimizer adamw <lr = -1.0, betas = [0.9], clip = 0.0>"#,
            "6: 'clip' must be above 0, but is 0\n6: 'betas' must be two numbers, as in [0.9, 0.95]\n6: a learning rate must be at least 0, but is -1",
        ),
        (
            r#"strategy.annotate {PP = 0} { strategy.yield }"#,
            "6: 'strategy.annotate' is not a directive [a plan holds directives only; what the model computes stands in its function]",
        ),
    ];
    for (directive, expected) in cases {
        assert_eq!(fails(&plan(directive)), expected, "{directive}");
    }
    let whole = [
        (
            "strategy.mesh @m <[\"pp\" = 2, \"pp\" = 0]>",
            "1: the mesh has two axes \"pp\" [each axis has a name of its own]",
        ),
        (
            "strategy.mesh @m <[]>",
            "1: a mesh has at least one axis [for one device: <[\"dp\" = 1]>]",
        ),
        (
            "strategy.mesh @m <[\"pp\" = 0]>",
            "1: axis \"pp\" must have a size of at least 1, but has 0",
        ),
        (
            "strategy.mesh @m <[\"a\" = 65536, \"b\" = 65536]>",
            "1: the mesh has more than 16777216 devices",
        ),
        (
            "strategy.group @g on @m [{pp = 0}]",
            "1: @m is not a strategy.mesh [declare one: strategy.mesh @m <[\"dp\" = 2]>]",
        ),
        (
            "strategy.split \"MB\" into 8",
            "1: 'strategy.split' is a directive and stands in a strategy.plan [move it into the braces of the plan]",
        ),
        ("strategy.yield", "1: strategy.yield ends a strategy.annotate"),
        (
            "strategy.annotate {PP = 1.0} {\n strategy.yield\n}",
            "1: tag PP must be an integer or a string, but is 1.000000e+00",
        ),
        (
            "strategy.annotate {MB = 1} {\n strategy.yield\n}",
            "1: the tag MB is given by the compiler [choose another name]",
        ),
        (
            "strategy.mesh @m <[\"pp\" = 2]>\nstrategy.plan @p for @f on @n {\n}",
            "2: @n is not a strategy.mesh [the file has @m]\n2: there is no function @f to be trained",
        ),
        (
            "%0 = strategy.annotate {PP = 1} {\n strategy.yield\n} : i32",
            "2: yields (), but the annotation has results (i32)",
        ),
    ];
    for (text, expected) in whole {
        assert_eq!(fails(text), expected, "{text}");
    }
}

#[test]
fn tags_merge_with_the_inner_ones_on_top() {
    let ctx = context();
    let dict = |entries: &[(&str, i64)]| {
        ctx.dict_attr(entries.iter().map(|(k, v)| (ctx.name(k), ctx.int_attr(*v))))
    };
    let merged = merge(&ctx, Some(dict(&[("PP", 0), ("L", 1)])), Some(dict(&[("L", 2), ("A", 3)])));
    assert_eq!(merged, Some(dict(&[("A", 3), ("L", 2), ("PP", 0)])));
    assert_eq!(merge(&ctx, None, None), None);
}
