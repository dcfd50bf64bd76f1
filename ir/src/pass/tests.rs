//! Pipelines on real modules: order, analyses, failures, threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    Analysis, Failure, Instrumentation, IrDump, IrPrinting, PassContext, PassInfo, PassManager,
    PassRegistry, PassResult, RemarkFilter, RemarkKind, RunOptions, Step,
};
use crate::text::{PrintOptions, parse_module, print_module};
use crate::{Context, Diagnostic, Module, Op, OpState, Reporter, SourceFile};

/// Sees nothing and needs no order.
pub(super) struct Silent;
impl Instrumentation for Silent {
    fn needs_order(&self) -> bool {
        false
    }
}

/// Notes what it is told.
#[derive(Default)]
struct Log(Vec<String>);

impl Instrumentation for Log {
    fn before_pipeline(&mut self, anchor: &str, module: &Module, op: Op) {
        self.0.push(format!("{anchor}( {}", module.symbol_name(op).unwrap_or("-")));
    }
    fn after_pipeline(&mut self, anchor: &str, _module: &Module, _op: Op, _result: PassResult) {
        self.0.push(format!("){anchor}"));
    }
    fn before_pass(&mut self, step: Step<'_>, module: &Module, op: Op) {
        self.0.push(format!("{} {}", step.name(), module.symbol_name(op).unwrap_or("-")));
    }
    fn after_pass(&mut self, step: Step<'_>, _module: &Module, _op: Op, result: PassResult) {
        if result.is_err() {
            self.0.push(format!("{} failed", step.name()));
        }
    }
    fn after_verifier_failed(&mut self, step: Step<'_>, _module: &Module, _op: Op) {
        self.0.push(format!("{} broke it", step.name()));
    }
    fn pass_panicked(&mut self, failure: &Failure) {
        self.0.push(format!("{} panicked on {}", failure.pass, failure.op));
    }
    fn after_analysis(&mut self, analysis: &'static str, _module: &Module, _op: Op) {
        self.0.push(format!("(A) {analysis}"));
    }
    fn print(&mut self, dump: &IrDump<'_>) {
        self.0.push(dump.title.clone());
    }
}

/// How many operations there are; counts how often it is computed.
struct Count(usize);
static COMPUTED: AtomicUsize = AtomicUsize::new(0);
impl Analysis for Count {
    const NAME: &'static str = "Count";
    fn compute(module: &Module, op: Op) -> Self {
        COMPUTED.fetch_add(1, Ordering::Relaxed);
        Self(module.walk(op).count())
    }
}

fn grow(cx: &mut PassContext<'_, '_>) -> PassResult {
    let block = cx.module.only_block(cx.op).expect("a body");
    let (name, loc) = (cx.ctx().op_name("t.new"), cx.ctx().unknown_loc());
    let op = cx.module.create(OpState::new(name, loc));
    cx.module.append(block, op);
    cx.count("grown", 1);
    Ok(())
}

fn registry() -> PassRegistry {
    let mut registry = PassRegistry::default();
    registry.register(
        [
            PassInfo::from_fn("print-count", "", |cx| {
                let count = cx.analysis::<Count>();
                assert_eq!(count.0, cx.module.walk(cx.op).count(), "a stale analysis");
                Ok(())
            }),
            PassInfo::from_fn("grow", "", grow),
            PassInfo::from_fn("rename", "", |cx| {
                // Changes no number of operations.
                let yes = cx.ctx().unit();
                cx.module.set_attr_by(cx.op, "t.renamed", yes);
                cx.preserve::<Count>();
                Ok(())
            }),
            PassInfo::from_fn("idle", "", |cx| {
                cx.preserve_all();
                Ok(())
            }),
            PassInfo::from_fn("judge", "", |cx| {
                let loc = cx.module.op_loc(cx.op);
                let name = cx.module.symbol_name(cx.op).unwrap_or("-").to_owned();
                let number: usize = name.trim_start_matches('m').parse().unwrap_or(0);
                if number.is_multiple_of(3) {
                    cx.remark(loc, format!("{name} is divisible"));
                }
                cx.remark_if(RemarkKind::Missed, cx.op, |_| format!("{name} was not improved"));
                let bad = cx.module.attr_by(cx.op, "t.bad").is_some();
                if bad {
                    cx.reporter.error(loc, format!("{name} is bad")).note(loc, "so it is");
                }
                grow(cx)
            }),
            PassInfo::from_fn("same-name", "", |cx| {
                let name = cx.ctx().str_attr("x");
                cx.module.set_attr_by(cx.op, "sym_name", name);
                Ok(())
            }),
            PassInfo::from_fn("boom", "", |cx| {
                assert!(cx.module.attr_by(cx.op, "t.bad").is_none(), "a bad one");
                Ok(())
            }),
            PassInfo::from_fn("break", "", |cx| {
                // A module without its block does not verify.
                let region = cx.module.regions(cx.op)[0];
                cx.module.add_block(region);
                Ok(())
            }),
        ]
        .map(|info| info.anchored(None)),
    );
    registry
}

pub(super) fn parsed(text: &str) -> Module {
    let mut ctx = Context::new([]);
    ctx.allow_unregistered = true;
    let ctx = Arc::new(ctx);
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("t", text), &mut reporter);
    module.unwrap_or_else(|| panic!("{:?}", reporter.diagnostics()))
}

/// `outer(a,b(c))` with anchors that have a dot or are `any`.
fn pipeline(anchor: &str, passes: &[&str]) -> PassManager {
    pipeline_of(&registry(), anchor, passes)
}

pub(super) fn pipeline_of(registry: &PassRegistry, anchor: &str, passes: &[&str]) -> PassManager {
    let mut manager = PassManager::new(anchor);
    for name in passes {
        manager.add(registry.build(name, &[]).expect(name));
    }
    manager
}

fn run(
    manager: &mut PassManager,
    module: &mut Module,
    options: &RunOptions,
    hooks: &mut dyn Instrumentation,
) -> (PassResult, Vec<Diagnostic>) {
    let ctx = module.ctx_arc();
    let mut reporter = Reporter::new(&ctx);
    let result = manager.run(module, &mut reporter, options, hooks);
    (result, reporter.take())
}

const TWO: &str = "module { module @m1 {} module @m2 { module @m3 {} } }";

#[test]
fn nested_pipelines_run_on_what_is_directly_inside() {
    let mut manager = pipeline("builtin.module", &["idle"]);
    manager.nest(pipeline("builtin.module", &["grow"]));
    manager.nest(pipeline("builtin.module", &["rename"]));
    manager.nest(pipeline("any", &["idle"]));
    assert_eq!(
        manager.text(),
        "builtin.module(idle,builtin.module(grow),builtin.module(rename),any(idle))"
    );
    let mut log = Log::default();
    let (result, _) = run(&mut manager, &mut parsed(TWO), &RunOptions::default(), &mut log);
    assert!(result.is_ok());
    let told: Vec<&str> = log.0.iter().map(String::as_str).collect();
    assert_eq!(
        told,
        [
            "builtin.module( -",
            "idle -",
            // Neighbours with one anchor run on each operation in turn.
            "builtin.module( m1",
            "grow m1",
            ")builtin.module",
            "builtin.module( m1",
            "rename m1",
            ")builtin.module",
            "builtin.module( m2",
            "grow m2",
            ")builtin.module",
            "builtin.module( m2",
            "rename m2",
            ")builtin.module",
            "any( m1",
            "idle m1",
            ")any",
            "any( m2",
            "idle m2",
            ")any",
            ")builtin.module",
        ]
    );
    let records = manager.records();
    assert_eq!((records[0].runs, records[1].runs, records[3].runs), (1, 2, 2));
    assert_eq!(records[1].children[0].statistics, [("grown", 2)]);
}

#[test]
fn analyses_are_kept_while_they_are_preserved() {
    let before = |passes: &[&str]| {
        let mut log = Log::default();
        let mut manager = pipeline("builtin.module", passes);
        let (result, _) = run(&mut manager, &mut parsed(TWO), &RunOptions::default(), &mut log);
        assert!(result.is_ok());
        log.0.iter().filter(|line| line.starts_with("(A)")).count()
    };
    assert_eq!(before(&["print-count", "print-count"]), 1, "a pass that reads preserves");
    assert_eq!(before(&["print-count", "rename", "idle", "print-count"]), 1);
    assert_eq!(before(&["print-count", "grow", "print-count"]), 2);
    // What a nested pass changes, the outer operation's analyses do not survive.
    for (inner, computed) in [("grow", 2), ("rename", 1), ("idle", 1)] {
        let mut manager = pipeline("builtin.module", &["print-count"]);
        manager.nest(pipeline("builtin.module", &[inner]));
        manager.add(registry().build("print-count", &[]).expect("known"));
        let mut log = Log::default();
        assert!(run(&mut manager, &mut parsed(TWO), &RunOptions::default(), &mut log).0.is_ok());
        let found = log.0.iter().filter(|line| line.starts_with("(A)")).count();
        assert_eq!(found, computed, "{inner}");
        assert_eq!(manager.records()[0].analyses[0].name, "Count");
    }
}

#[test]
fn what_a_pass_breaks_is_its_fault() {
    let mut log = Log::default();
    let mut manager = pipeline("builtin.module", &["break", "idle"]);
    let (result, diagnostics) =
        run(&mut manager, &mut parsed(TWO), &RunOptions::default(), &mut log);
    assert!(result.is_err());
    let last = diagnostics.last().expect("a remark");
    assert_eq!(last.message, "the errors above are in what pass 'break' made");
    assert!(log.0.contains(&"break broke it".to_owned()));
    let failure = manager.failure().expect("it failed");
    assert_eq!((&*failure.pass, &*failure.op), ("break", "'builtin.module'"));
    assert!(!log.0.contains(&"idle -".to_owned()));
    let options = RunOptions { verify_each: false, ..RunOptions::default() };
    let mut manager = pipeline("builtin.module", &["break", "idle"]);
    assert!(run(&mut manager, &mut parsed(TWO), &options, &mut Silent).0.is_ok());
}

#[test]
fn what_a_nested_pass_does_to_its_operation_is_checked_around_it() {
    for threads in [1, 3] {
        let mut manager = PassManager::new("builtin.module");
        manager.nest(pipeline("builtin.module", &["same-name"]));
        let options = RunOptions { threads, parallel_from: 1, ..RunOptions::default() };
        let (result, diagnostics) = run(&mut manager, &mut parsed(TWO), &options, &mut Silent);
        assert!(result.is_err(), "{threads} threads");
        let messages: Vec<_> = diagnostics.iter().map(|d| &*d.message).collect();
        assert!(messages[0].contains("redefinition of symbol"), "{messages:?}");
        assert_eq!(messages[1], "the errors above are in what a pipeline on 'builtin.module' made");
    }
}

#[test]
fn a_pipeline_needs_its_operation() {
    let mut manager = pipeline("func.func", &["idle"]);
    let (result, diagnostics) =
        run(&mut manager, &mut parsed(TWO), &RunOptions::default(), &mut Silent);
    assert!(result.is_err());
    assert!(
        diagnostics[0].message.contains("runs on 'func.func', but the root is 'builtin.module'")
    );
    let mut manager = PassManager::new("builtin.module");
    manager.nest(pipeline("t.loose", &["idle"]));
    let mut module = parsed("module { \"t.loose\"() ({}) : () -> () }");
    let (result, diagnostics) = run(&mut manager, &mut module, &RunOptions::default(), &mut Silent);
    assert!(result.is_err());
    assert_eq!(diagnostics[0].message, "a pass cannot run on the unregistered operation 't.loose'");
}

#[test]
fn printing_is_by_pass_change_failure_and_operation() {
    let titles = |printing: IrPrinting, bad: bool| {
        let mut manager = PassManager::new("builtin.module");
        let mut nested = pipeline("builtin.module", &["idle", "grow"]);
        nested.add(registry().build("judge", &[]).expect("known"));
        manager.nest(nested);
        let mut log = Log::default();
        let text = if bad { TWO.replace("@m2", "@m2 attributes {t.bad}") } else { TWO.to_owned() };
        let options = RunOptions { printing, ..RunOptions::default() };
        let _ = run(&mut manager, &mut parsed(&text), &options, &mut log);
        log.0.into_iter().filter(|line| line.starts_with("IR Dump")).collect::<Vec<_>>()
    };
    let all = IrPrinting { after_all: true, ..IrPrinting::default() };
    assert_eq!(titles(all.clone(), false).len(), 6);
    let changes = IrPrinting { only_changes: true, ..all.clone() };
    assert_eq!(
        titles(changes, false),
        ["IR Dump After grow", "IR Dump After judge", "IR Dump After grow", "IR Dump After judge"]
    );
    let failures = IrPrinting { only_failures: true, module_scope: true, ..IrPrinting::default() };
    assert_eq!(
        titles(failures, true),
        ["IR Dump After judge Failed ('builtin.module' operation: @m2)"]
    );
    let before = IrPrinting { before: vec!["grow".to_owned()], ..IrPrinting::default() };
    assert_eq!(titles(before, false), ["IR Dump Before grow", "IR Dump Before grow"]);
    let only = IrPrinting { only: vec!["@m3".to_owned()], ..all };
    assert_eq!(titles(only, false).len(), 3, "only m2 contains it");
}

/// Many modules, of which some are bad.
fn many(count: usize, bad: &[usize]) -> String {
    let mut text = "module {\n".to_owned();
    for i in 0..count {
        let attributes = if bad.contains(&i) { " attributes {t.bad}" } else { "" };
        text += &format!(
            "  module @m{i}{attributes} {{\n    %a = \"t.a\"() : () -> i32\n    \"t.b\"(%a) : (i32) -> ()\n  }}\n"
        );
    }
    text + "}\n"
}

/// Result, output, messages, statistics with a number of threads.
fn with_threads(
    threads: usize,
    text: &str,
    passes: &[&str],
) -> (bool, String, Vec<String>, String) {
    let mut module = parsed(text);
    let mut manager = PassManager::new("builtin.module");
    manager.nest(pipeline("builtin.module", passes));
    manager.add(registry().build("grow", &[]).expect("known"));
    let filter = RemarkFilter::new(|kind, pass| kind == RemarkKind::Missed && pass == "judge");
    let options =
        RunOptions { threads, parallel_from: 1, remarks: filter, ..RunOptions::default() };
    let (result, diagnostics) = run(&mut manager, &mut module, &options, &mut Silent);
    let text = if result.is_ok() {
        print_module(&module, PrintOptions { locations: true, ..PrintOptions::default() })
    } else {
        String::new()
    };
    let messages = diagnostics.iter().map(|d| d.message.clone()).collect();
    let counted = manager.records().iter().map(|r| (&r.statistics, r.children.first()));
    let statistics =
        counted.map(|(own, nested)| format!("{own:?} {:?}", nested.map(|r| &r.statistics)));
    let statistics = if result.is_ok() { statistics.collect() } else { String::new() };
    (result.is_ok(), text, messages, statistics)
}

#[test]
fn threads_change_neither_output_nor_diagnostics() {
    let passes = ["judge", "print-count", "rename"];
    for bad in [&[][..], &[17, 40, 41], &[0], &[99]] {
        let text = many(100, bad);
        let one = with_threads(1, &text, &passes);
        assert_eq!(one.0, bad.is_empty());
        let remarks = one.2.iter().filter(|m| m.contains("divisible")).count();
        assert!(bad == [0] || remarks > 5, "{remarks}");
        assert_eq!(one.2.iter().filter(|m| m.ends_with("is bad")).count(), usize::from(!one.0));
        assert!(one.2.iter().any(|m| m.starts_with("[Missed] judge: m0 was not")));
        for threads in [2, 3, 8] {
            assert_eq!(with_threads(threads, &text, &passes), one, "{threads} threads");
        }
    }
}

#[test]
fn the_first_panic_in_order_is_the_one_that_is_told() {
    for threads in [1, 4] {
        struct Told(Vec<String>);
        impl Instrumentation for Told {
            fn needs_order(&self) -> bool {
                false
            }
            fn pass_panicked(&mut self, failure: &Failure) {
                self.0.push(format!("{} {}", failure.pass, failure.op));
            }
        }
        let mut told = Told(Vec::new());
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut module = parsed(&many(40, &[11, 12, 30]));
            let mut manager = PassManager::new("builtin.module");
            manager.nest(pipeline("builtin.module", &["boom"]));
            let options = RunOptions { threads, parallel_from: 1, ..RunOptions::default() };
            let _ = run(&mut manager, &mut module, &options, &mut told);
        }));
        assert!(caught.is_err());
        assert_eq!(told.0, ["boom 'builtin.module' @m11"]);
    }
}

#[test]
fn a_pipeline_is_written_with_the_options_it_was_given() {
    let info = PassInfo::from_fn("idle", "", |_| Ok(()));
    for (value, written) in [
        (None, "idle{k}"),
        (Some("3"), "idle{k=3}"),
        (Some("1,2"), "idle{k=1,2}"),
        (Some("a b"), "idle{k='a b'}"),
        (Some("a=1,b=2"), "idle{k='a=1,b=2'}"),
        (Some("it's"), "idle{k=\"it's\"}"),
        (Some("'x' \"y\""), "idle{k={'x' \"y\"}}"),
        (Some(""), "idle{k=''}"),
    ] {
        let mut manager = PassManager::new("any");
        let pass = registry().build("idle", &[]).expect("known");
        manager.add_registered(pass, &info, vec![("k".to_owned(), value.map(str::to_owned))]);
        assert_eq!(manager.text(), format!("any({written})"));
    }
}
