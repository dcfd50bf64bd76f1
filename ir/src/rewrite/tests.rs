//! The driver on a small dialect of its own.

use std::sync::Arc;

use super::*;
use crate::interfaces::{Branch, Fold, FoldInput, Folded, MemoryEffects};
use crate::text::{PrintOptions, parse_module, print_module};
use crate::{
    Arity, AttrConstraint, AttrDef, Context, Dialect, Module, Op, OpDef, OpState, RegionDef,
    Reporter, SourceFile, SuccessorDef, Trait, TypeConstraint, ValueDef,
};

/// `t.const`, `t.add` (folds, constants to the right), `t.use` (stays), `t.region`, `t.func`, `t.br`, `t.cond`.
fn dialect() -> Dialect {
    let op = |name: &'static str, traits: &[Trait]| {
        let mut def = OpDef::new(name);
        def.traits = traits.to_vec();
        let any = ValueDef {
            name: "any".into(),
            arity: Arity::Variadic,
            constraint: TypeConstraint::Any,
        };
        def.operands.push(any.clone());
        def.results.push(any);
        def.regions.push(RegionDef { name: "any".into(), arity: Arity::Variadic });
        def.successors.push(SuccessorDef { name: "any".into(), arity: Arity::Variadic });
        def
    };
    let mut constant = op("t.const", &[Trait::Pure, Trait::ConstantLike]);
    constant.attrs.push(AttrDef {
        name: "value".into(),
        required: true,
        constraint: AttrConstraint::Any,
        default: None,
    });
    let add = |input: &FoldInput<'_>| {
        let ctx = input.ctx();
        let known = |i: usize| input.constant(i).and_then(|attr| attr.as_int(ctx));
        match (known(0), known(1)) {
            (Some(a), Some(b)) => ctx.int_attr(a + b).into(),
            (None, Some(0)) => input.operand(0).into(),
            _ => Folded::No,
        }
    };
    let branch = |operands: fn(&Module, Op, usize) -> std::ops::Range<usize>| Branch {
        operands,
        set_operands: |module, op, _, values| module.set_operands(op, values),
        taken: |_, _, _| None,
    };
    Dialect {
        name: "t".into(),
        ops: [
            constant,
            op("t.add", &[Trait::Pure, Trait::Commutative]).with_interface(Fold(add)),
            op("t.use", &[]),
            op("t.func", &[Trait::IsolatedFromAbove]),
            op("t.region", &[Trait::NoTerminator]).with_interface(MemoryEffects::Recursive),
            op("t.br", &[Trait::Terminator])
                .with_interface(branch(|m, op, _| 0..m.num_operands(op))),
            op("t.cond", &[Trait::Terminator])
                .with_interface(branch(|m, op, _| m.num_operands(op)..m.num_operands(op))),
            op("t.ret", &[Trait::Terminator]),
        ]
        .map(Arc::new)
        .to_vec(),
        materialize: Some(|ctx, value, ty, loc| {
            Some(OpState::new(ctx.op_name("t.const"), loc).results([ty]).attr(ctx, "value", value))
        }),
        ..Dialect::default()
    }
}

fn parsed(text: &str) -> Module {
    let ctx = Arc::new(Context::new([dialect()]));
    let mut reporter = Reporter::new(&ctx);
    parse_module(&ctx, &SourceFile::new("t.pir", text), &mut reporter)
        .unwrap_or_else(|| panic!("{:?}", reporter.diagnostics()))
}

fn printed(module: &Module) -> String {
    let mut module = module.clone();
    module.forget_value_names();
    print_module(&module, PrintOptions { generic: true, ..PrintOptions::default() })
}

fn simplified(text: &str, patterns: PatternSet, options: SimplifyOptions) -> (String, Outcome) {
    let mut module = parsed(text);
    let frozen = patterns.freeze(&module.ctx_arc());
    let root = module.root();
    let outcome = simplify(&mut module, root, &frozen, options);
    let mut reporter_ctx = Reporter::new(module.ctx());
    assert!(crate::verify::verify(&module, &mut reporter_ctx), "{:?}", reporter_ctx.diagnostics());
    (printed(&module), outcome)
}

const SUM: &str = r#"
"t.func"() ({
  %a = "t.const"() {value = 2} : () -> i64
  "t.use"(%a) : (i64) -> ()
  %b = "t.const"() {value = 3} : () -> i64
  %s = "t.add"(%a, %b) : (i64, i64) -> i64
  %c = "t.const"() {value = 2} : () -> i64
  %t = "t.add"(%s, %c) : (i64, i64) -> i64
  %dead = "t.add"(%t, %t) : (i64, i64) -> i64
  "t.region"() ({
    %z = "t.const"() {value = 2} : () -> i64
    "t.use"(%z) : (i64) -> ()
  }) : () -> ()
  "t.use"(%t) : (i64) -> ()
  "t.ret"() : () -> ()
}) : () -> ()
"#;

#[test]
fn constants_fold_and_stand_once_at_the_head_of_their_scope() {
    let expected = r#""builtin.module"() ({
  "t.func"() ({
    %0 = "t.const"() <{value = 7}> : () -> i64
    %1 = "t.const"() <{value = 2}> : () -> i64
    "t.use"(%1) : (i64) -> ()
    "t.region"() ({
      "t.use"(%1) : (i64) -> ()
    }) : () -> ()
    "t.use"(%0) : (i64) -> ()
    "t.ret"() : () -> ()
  }) : () -> ()
}) : () -> ()
"#;
    for top_down in [true, false] {
        let options = SimplifyOptions { top_down, ..SimplifyOptions::default() };
        let (text, outcome) = simplified(SUM, PatternSet::default(), options);
        assert_eq!(text, expected);
        assert!(outcome.changed && outcome.stuck.is_none() && outcome.folds >= 2, "{outcome:?}");
        let (again, outcome) = simplified(&text, PatternSet::default(), options);
        assert_eq!(again, expected);
        assert!(
            outcome.folds == 0 && outcome.erased == 0 && outcome.iterations == 1,
            "{outcome:?}"
        );
    }
}

#[test]
fn a_pattern_that_never_ends_is_named() {
    let mut patterns = PatternSet::default();
    patterns.add_fn("swap-for-ever", "t.use", |r, op| {
        let operand = r.module().operand(op, 0);
        r.modify(op, |module| module.set_operand(op, 0, operand));
        true
    });
    patterns.add_fn("never", "t.add", |_, _| false);
    let text = "\"t.func\"() ({\n  %a = \"u.x\"() : () -> i64\n  \"t.use\"(%a) : (i64) -> ()\n  \"t.ret\"() : () -> ()\n}) : () -> ()";
    let limits = Limits { iterations: Some(3), rewrites: Some(100) };
    let options = SimplifyOptions { limits, ..SimplifyOptions::default() };
    let mut module = {
        let mut ctx = Context::new([dialect()]);
        ctx.allow_unregistered = true;
        let ctx = Arc::new(ctx);
        let mut reporter = Reporter::new(&ctx);
        parse_module(&ctx, &SourceFile::new("t.pir", text), &mut reporter).expect("parses")
    };
    let frozen = patterns.freeze(&module.ctx_arc());
    let root = module.root();
    let stuck = simplify(&mut module, root, &frozen, options).stuck.expect("does not end");
    assert_eq!((stuck.pattern.as_deref(), stuck.times), (Some("swap-for-ever"), 100));
    assert_eq!(stuck.loc.file_position(module.ctx()).map(|(_, line, _)| line), Some(3));
}

#[test]
fn the_pattern_of_greater_benefit_goes_first() {
    struct Rename(&'static str, u16, &'static str);
    impl Pattern for Rename {
        fn name(&self) -> &str {
            self.0
        }
        fn root(&self) -> Option<&str> {
            Some("t.region")
        }
        fn benefit(&self) -> u16 {
            self.1
        }
        fn rewrite(&self, r: &mut Rewriter<'_>, op: Op) -> bool {
            let state = r.state(self.2, r.module().op_loc(op));
            r.replace_with(op, state);
            true
        }
    }
    let mut patterns = PatternSet::default();
    patterns.add(Rename("low", 1, "t.func"));
    patterns.add(Rename("high", 2, "t.use"));
    // The region has an effect that is not known, so it is not erased as dead.
    let text = "\"t.region\"() ({\n  \"t.use\"() : () -> ()\n}) : () -> ()";
    let (text, outcome) = simplified(text, patterns, SimplifyOptions::default());
    assert!(text.contains("t.use") && !text.contains("t.func"), "{text}");
    assert_eq!(outcome.rewrites, 1);
}

#[test]
fn blocks_that_nobody_reaches_and_values_that_feed_only_themselves_go() {
    let text = r#"
"t.func"() ({
  %a = "t.const"() {value = 2} : () -> i64
  "t.br"(%a, %a)[^bb1] : (i64, i64) -> ()
^bb1(%x: i64, %y: i64):
  %next = "t.add"(%y, %a) : (i64, i64) -> i64
  "t.use"(%x) : (i64) -> ()
  "t.br"(%x, %next)[^bb1] : (i64, i64) -> ()
^bb2(%z: i64):
  "t.br"(%z)[^bb3] : (i64) -> ()
^bb3(%w: i64):
  "t.br"(%w)[^bb2] : (i64) -> ()
}) : () -> ()
"#;
    let (normal, _) = simplified(text, PatternSet::default(), SimplifyOptions::default());
    let expected = r#""builtin.module"() ({
  "t.func"() ({
    %0 = "t.const"() <{value = 2}> : () -> i64
    "t.br"(%0)[^bb1] : (i64) -> ()
  ^bb1(%arg0: i64):
    "t.use"(%arg0) : (i64) -> ()
    "t.br"(%arg0)[^bb1] : (i64) -> ()
  }) : () -> ()
}) : () -> ()
"#;
    assert_eq!(normal, expected);
    let options =
        SimplifyOptions { regions: RegionSimplification::Aggressive, ..Default::default() };
    let (aggressive, _) = simplified(text, PatternSet::default(), options);
    assert!(
        aggressive.contains("\"t.br\"()[^bb1]") && aggressive.contains("\"t.use\"(%0)"),
        "{aggressive}"
    );
    let options = SimplifyOptions { regions: RegionSimplification::Disabled, ..Default::default() };
    let (disabled, _) = simplified(text, PatternSet::default(), options);
    assert!(disabled.contains("^bb3"), "{disabled}");
}
