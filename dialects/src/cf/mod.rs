//! Control flow between the blocks of a region, as MLIR's `cf` dialect has it.
//!
//! A branch names blocks and passes values to their arguments; there are no phi nodes. The generic form keeps the values
//! among the operands, with their numbers in segment attributes, so `mlir-opt` reads what Piper prints.

mod build;
mod patterns;
mod switch;
mod syntax;
mod verify;

use piper_ir::interfaces::{
    Branch, Canonicalize, Effect, EffectKind, EffectTarget, MemoryEffects, replace_segment,
};
use piper_ir::{AttrConstraint, Dialect, OPERAND_SEGMENTS, TypeConstraint};

pub use build::{branch_to, cond_branch};

const I1: TypeConstraint = TypeConstraint::Pred("i1", |ctx, ty| ty == ctx.i1());
const INTEGER: TypeConstraint = TypeConstraint::Pred("an integer", |ctx, ty| {
    matches!(ty.data(ctx), piper_ir::TypeData::Integer { .. })
});

piper_ir::dialect_ops! {
    /// Goes on in another block: `cf.br ^next(%a, %b : i32, f32)`.
    Br = "cf.br" {
        operands: { dest_operands: many(TypeConstraint::Any) },
        successors: { dest: one },
        traits: [Terminator, Pure],
        syntax: (syntax::parse_br, syntax::print_br),
        verify: verify::branch,
        interfaces: [
            Branch {
                operands: |module, op, _| 0..module.num_operands(op),
                set_operands: |module, op, _, values| module.set_operands(op, values),
                taken: |_, _, _| Some(0),
            },
            Canonicalize(patterns::of_br),
        ],
    }

    /// Goes on in the first block if the condition holds, else in the second.
    ///
    /// `cf.cond_br %c, ^then(%a : i32), ^else`. `weights([3, 1])` says how often each way is taken.
    CondBr = "cf.cond_br" {
        operands: {
            condition: one(I1),
            true_operands: many(TypeConstraint::Any),
            false_operands: many(TypeConstraint::Any),
        },
        attrs: { branch_weights: optional(AttrConstraint::IntArray) },
        successors: { true_dest: one, false_dest: one },
        traits: [Terminator, Pure],
        syntax: (syntax::parse_cond_br, syntax::print_cond_br),
        verify: verify::cond_br,
        interfaces: [
            Branch {
                operands: |module, op, index| {
                    let sizes = segments(module, op);
                    match index {
                        0 => 1..1 + sizes[1],
                        _ => 1 + sizes[1]..1 + sizes[1] + sizes[2],
                    }
                },
                set_operands: |module, op, index, values| {
                    let branch = Branch::of(module, op).expect("a branch");
                    let range = (branch.operands)(module, op, index);
                    replace_segment(module, op, range, values, Some((OPERAND_SEGMENTS, index + 1)));
                },
                taken: |module, _, known| match known[0]?.as_int(module.ctx())? {
                    0 => Some(1),
                    _ => Some(0),
                },
            },
            Canonicalize(patterns::of_cond_br),
        ],
    }

    /// Goes on in the block of the case that equals the flag, or in the default block.
    ///
    /// `cf.switch %flag : i32, [default: ^bb1(%a : i32), 42: ^bb2]`
    Switch = "cf.switch" {
        operands: {
            flag: one(INTEGER),
            default_operands: many(TypeConstraint::Any),
            case_operands: many(TypeConstraint::Any),
        },
        attrs: {
            case_values: optional(AttrConstraint::Pred("constant integers", |ctx, attr| attr.as_dense(ctx).is_some())),
            case_operand_segments: one(AttrConstraint::IntArray),
        },
        successors: { default_destination: one, case_destinations: many },
        traits: [Terminator, Pure],
        syntax: (syntax::parse_switch, syntax::print_switch),
        verify: verify::switch,
        interfaces: [
            Branch {
                operands: switch::operands,
                set_operands: switch::set_operands,
                taken: switch::taken,
            },
            Canonicalize(switch::patterns),
        ],
    }

    /// Ends the program with a message unless the condition holds: `cf.assert %c, "message"`.
    Assert = "cf.assert" {
        operands: { arg: one(I1) },
        attrs: { msg: one(AttrConstraint::Str) },
        format: "$arg `,` $msg attr-dict",
        interfaces: [
            MemoryEffects::Of(|_, _| {
                vec![Effect { kind: EffectKind::Write, target: EffectTarget::Resource("the program's end") }]
            }),
            Canonicalize(patterns::of_assert),
        ],
    }
}

/// The sizes of the three operand groups of a conditional branch or switch.
fn segments(module: &piper_ir::Module, op: piper_ir::Op) -> [usize; 3] {
    let known =
        module.attr_by(op, OPERAND_SEGMENTS).and_then(|attr| attr.as_int_array(module.ctx()));
    let size = |i: usize| known.and_then(|sizes| usize::try_from(*sizes.get(i)?).ok()).unwrap_or(0);
    [size(0), size(1), size(2)]
}

/// The dialect.
pub fn dialect() -> Dialect {
    Dialect {
        name: "cf".into(),
        doc: "Branches between blocks, as in MLIR.".into(),
        ops: op_defs(),
        ..Dialect::default()
    }
}
