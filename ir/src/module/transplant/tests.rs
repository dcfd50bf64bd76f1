//! Splitting a module and joining it again changes nothing that can be seen.

use std::sync::Arc;

use crate::text::{PrintOptions, parse_module, print_module};
use crate::{Context, Module, Op, OpState, Reporter, SourceFile};

fn parsed(text: &str) -> Module {
    let mut ctx = Context::new([]);
    ctx.allow_unregistered = true;
    let ctx = Arc::new(ctx);
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("t", text), &mut reporter);
    module.unwrap_or_else(|| panic!("{:?}", reporter.diagnostics()))
}

const TEXT: &str = r#"
module {
  "t.table"() {sym_name = "before"} : () -> ()
  module @a attributes {t.x = 1 : i64} {
    %0 = "t.make"() : () -> i32 loc("f":1:2)
    %named, %other = "t.two"(%0, %0) {k = "v"} : (i32, i32) -> (i32, i32)
    "t.cfg"() ({
    ^bb0(%early: i32 loc("arg":3:4)):
      "t.br"(%0)[^bb1, ^bb2] : (i32) -> ()
    ^bb1(%arg: i32):
      %2 = "t.use"(%arg, %named) : (i32, i32) -> i32
      "t.br"(%2)[^bb2] : (i32) -> ()
    ^bb2(%b: i32):
      "t.end"(%b, %other) : (i32, i32) -> ()
    }, {}) : () -> ()
  }
  %v = "t.value"() : () -> f32
  module @b {
    module @inner {
      "t.deep"() ({
        "t.deeper"() : () -> ()
      }) : () -> ()
    }
  }
  "t.user"(%v) : (f32) -> ()
  module @empty attributes {t.blob = dense_resource<key> : tensor<1xi8>} {
  }
}
{-#
  dialect_resources: { builtin: { key: "0x0100000001" } }
#-}
"#;

fn modules_inside(module: &Module) -> Vec<Op> {
    module.top_level().into_iter().filter(|op| module.name_text(*op) == "builtin.module").collect()
}

fn printed(module: &Module) -> String {
    print_module(module, PrintOptions { generic: true, locations: true, ..Default::default() })
}

#[test]
fn what_is_split_and_joined_is_as_before() {
    for sizes in [&[3][..], &[1, 2], &[1, 1, 1]] {
        let mut module = parsed(TEXT);
        let before = printed(&module);
        let uses = |module: &Module| -> Vec<Vec<(String, usize)>> {
            let ops = module.walk(module.root()).flat_map(|op| module.results(op));
            let name = |op| module.name_text(op).to_owned();
            ops.map(|value| module.uses(value).map(|u| (name(u.op), u.index)).collect()).collect()
        };
        let uses_before = uses(&module);
        let mut anchors = modules_inside(&module).into_iter();
        let groups: Vec<Vec<Op>> =
            sizes.iter().map(|size| anchors.by_ref().take(*size).collect()).collect();
        let mut live = [module.root()];
        let parts = module.split(&groups, &mut live).expect("modules are isolated");
        assert_eq!(live, [module.root()]);
        assert!(!printed(&module).contains("t.make"), "bodies are gone");
        for part in parts {
            let absorbed = module.absorb(part);
            assert!(absorbed.strays.is_empty() && !absorbed.attributes_changed);
        }
        assert_eq!(printed(&module), before);
        assert_eq!(uses(&module), uses_before, "uses keep their order");
    }
}

#[test]
fn a_part_shows_the_symbols_around_it_and_takes_changes_back() {
    let mut module = parsed(TEXT);
    let groups: Vec<Vec<Op>> = modules_inside(&module).into_iter().map(|op| vec![op]).collect();
    let mut live = [module.root()];
    let mut parts = module.split(&groups, &mut live).expect("modules are isolated");
    let anchor = parts[1].anchors()[0];
    let part = parts[1].module_mut();
    for symbol in ["before", "a", "b", "empty"] {
        let found = part.lookup_nearest(part.root(), symbol).expect(symbol);
        assert_eq!(found == anchor, symbol == "b");
    }
    // Erase what is there, add something, set an attribute.
    let (name, loc) = (part.ctx().op_name("t.new"), part.ctx().unknown_loc());
    let body = part.only_block(anchor).expect("a body");
    let old: Vec<Op> = part.ops(body).collect();
    old.into_iter().for_each(|op| part.erase(op));
    let new = part.create(OpState::new(name, loc));
    part.append(body, new);
    let one = part.ctx().int_attr(1);
    part.set_attr_by(anchor, "t.changed", one);
    // And, in the last, something where it must not be.
    let last = parts[2].anchors()[0];
    let part = parts[2].module_mut();
    let beside = part.create(OpState::new(name, loc));
    part.insert_before(last, beside);
    let absorbed = parts.into_iter().map(|part| module.absorb(part));
    let found: Vec<_> = absorbed.map(|a| (a.strays.len(), a.attributes_changed)).collect();
    assert_eq!(found, [(0, false), (0, true), (1, false)]);
    let text = printed(&module);
    let b = text.split("sym_name = \"b\"").nth(1).expect("it is still there");
    assert!(b.contains("t.new") && b.contains("t.changed") && !b.contains("t.deep"), "{text}");
    assert!(text.contains("t.end"));
}

#[test]
fn what_is_not_isolated_is_not_split() {
    let mut module = parsed(TEXT);
    let top = module.top_level();
    let before = printed(&module);
    assert!(module.split(&[vec![top[0]]], &mut []).is_none());
    assert!(module.split(&[], &mut []).is_none());
    assert_eq!(printed(&module), before);
}
