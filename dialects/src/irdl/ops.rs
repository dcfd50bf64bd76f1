//! The operations, spelt as in MLIR's `irdl`, names of attributes included.

#![allow(non_snake_case)]

use piper_ir::{AttrConstraint as A, TypeConstraint as T, dialect_ops};

use super::{syntax, verify};

/// A constraint.
pub(super) const CONSTRAINT: T = T::Dialect(super::ATTRIBUTE);
/// A constraint on a region.
const REGION: T = T::Dialect(super::REGION);
/// `@dialect::@name`
const REFERENCE: A = A::Pred("a reference (@dialect::@name)", |ctx, attr| {
    matches!(attr.data(ctx), piper_ir::AttrData::Symbol { .. })
});
const NAMES: A = A::Pred("an array of names", |ctx, attr| {
    attr.as_array(ctx).is_some_and(|items| items.iter().all(|item| item.as_str(ctx).is_some()))
});
const VARIADICITY: A = A::Pred("#irdl<variadicity_array[...]>", |ctx, attr| {
    super::syntax::variadicities(ctx, attr).is_some()
});

dialect_ops! {
    /// A dialect.
    ///
    /// Holds the dialect's types, attributes and operations. `piper.summary` says what it is for.
    ///
    /// ```mlir module
    /// irdl.dialect @cmath {
    ///   irdl.type @complex {
    ///     %0 = irdl.is f32
    ///     %1 = irdl.is f64
    ///     %2 = irdl.any_of(%0, %1)
    ///     irdl.parameters(elem: %2)
    ///   }
    ///   irdl.operation @mul attributes {
    ///     piper.format = "$lhs `,` $rhs attr-dict `:` type($lhs)",
    ///     piper.summary = "The product of two complex numbers.",
    ///     piper.traits = ["Pure", "Commutative"]
    ///   } {
    ///     %0 = irdl.any
    ///     %1 = irdl.parametric @cmath::@complex<%0>
    ///     irdl.operands(lhs: %1, rhs: %1)
    ///     irdl.results(res: %1)
    ///   }
    /// }
    /// ```
    DialectOp = "irdl.dialect" {
        attrs: { sym_name: one(A::Str) },
        regions: { body: optional },
        traits: [IsolatedFromAbove, NoTerminator, Symbol, SymbolTable],
        format: "$sym_name attr-dict-with-keyword ($body^)?",
        verify: verify::dialect,
    }

    /// A type of the dialect around it.
    ///
    /// It is written `!dialect.name`, with its parameters, if it has any, in angle brackets. `piper.summary` documents it.
    TypeOp = "irdl.type" {
        attrs: { sym_name: one(A::Str) },
        regions: { body: optional },
        traits: [IsolatedFromAbove, NoTerminator, Symbol],
        format: "$sym_name attr-dict-with-keyword ($body^)?",
        verify: verify::type_or_attribute,
    }

    /// An attribute of the dialect around it.
    ///
    /// It is written `#dialect.name`, with its parameters, if it has any, in angle brackets. `piper.summary` documents it.
    AttributeOp = "irdl.attribute" {
        attrs: { sym_name: one(A::Str) },
        regions: { body: optional },
        traits: [IsolatedFromAbove, NoTerminator, Symbol],
        format: "$sym_name attr-dict-with-keyword ($body^)?",
        verify: verify::type_or_attribute,
    }

    /// The parameters of a type or an attribute.
    Parameters = "irdl.parameters" {
        operands: { args: many(CONSTRAINT) },
        attrs: { names: one(NAMES) },
        format: "custom<Named>($args, $names) attr-dict",
        directives: { Named: (syntax::parse_named, syntax::print_named) },
        verify: verify::parameters,
    }

    /// An operation of the dialect around it.
    ///
    /// What `irdl` cannot say stands in further attributes, which MLIR passes over: `piper.format`, `piper.summary`,
    /// `piper.description`, `piper.traits`, `piper.optional`, `piper.defaults`, `piper.infer`, `piper.cost`, `piper.shard` and
    /// `piper.expand`. See docs/first-dialect.md.
    OperationOp = "irdl.operation" {
        attrs: { sym_name: one(A::Str) },
        regions: { body: optional },
        traits: [IsolatedFromAbove, NoTerminator, Symbol],
        format: "$sym_name attr-dict-with-keyword ($body^)?",
        verify: verify::operation,
    }

    /// The operands of an operation, each with a constraint.
    ///
    /// One is `single` (which need not be said), `optional` or `variadic`. Constraints of one name hold for one type: operands
    /// that share one have the same type.
    Operands = "irdl.operands" {
        operands: { args: many(CONSTRAINT) },
        attrs: { names: one(NAMES), variadicity: one(VARIADICITY) },
        format: "custom<Counted>($args, $names, $variadicity) attr-dict",
        directives: { Counted: (syntax::parse_counted, syntax::print_counted) },
        verify: verify::counted,
    }

    /// The results of an operation, as [`irdl.operands`](#irdloperands).
    Results = "irdl.results" {
        operands: { args: many(CONSTRAINT) },
        attrs: { names: one(NAMES), variadicity: one(VARIADICITY) },
        format: "custom<Counted>($args, $names, $variadicity) attr-dict",
        directives: { Counted: (syntax::parse_counted, syntax::print_counted) },
        verify: verify::counted,
    }

    /// The attributes of an operation, each with a constraint.
    ///
    /// All are required, but for those that `piper.optional` or `piper.defaults` of the operation names.
    Attributes = "irdl.attributes" {
        operands: { attributeValues: many(CONSTRAINT) },
        attrs: { attributeValueNames: one(NAMES) },
        format: "custom<Entries>($attributeValues, $attributeValueNames) attr-dict",
        directives: { Entries: (syntax::parse_entries, syntax::print_entries) },
        verify: verify::attributes,
    }

    /// The regions of an operation, each with a constraint.
    Regions = "irdl.regions" {
        operands: { args: many(REGION) },
        attrs: { names: one(NAMES) },
        format: "custom<Named>($args, $names) attr-dict",
        directives: { Named: (syntax::parse_named, syntax::print_named) },
        verify: verify::regions,
    }

    /// What a region must be: the types of its entry block's arguments, and how many blocks it has.
    ///
    /// Without brackets the arguments are free; empty brackets mean that there are none.
    RegionOp = "irdl.region" {
        operands: { entryBlockArgs: many(CONSTRAINT) },
        results: { output: one(REGION) },
        attrs: { numberOfBlocks: optional(A::Int), constrainedArguments: optional(A::Unit) },
        format: "custom<Arguments>($entryBlockArgs, $constrainedArguments, $numberOfBlocks) attr-dict",
        directives: { Arguments: (syntax::parse_arguments, syntax::print_arguments) },
        infer: syntax::region_type,
        verify: verify::region,
    }

    /// Exactly this type or attribute.
    Is = "irdl.is" {
        results: { output: one(CONSTRAINT) },
        attrs: { expected: one(A::Any) },
        format: "$expected attr-dict",
        infer: syntax::attribute_type,
        verify: verify::is,
    }

    /// A type or attribute of this name, whatever its parameters.
    ///
    /// Either a definition, `@dialect::@name`, or the name of a built-in one, `"!builtin.tensor"` or `"#builtin.string"`. Of
    /// tensors `piper.elements` may ask for `"float"` or `"integer"` elements, which MLIR does not see.
    Base = "irdl.base" {
        results: { output: one(CONSTRAINT) },
        attrs: { base_ref: optional(REFERENCE), base_name: optional(A::Str) },
        format: "custom<Base>($base_ref, $base_name) attr-dict",
        directives: { Base: (syntax::parse_base, syntax::print_base) },
        infer: syntax::attribute_type,
        verify: verify::base,
    }

    /// A type or attribute of this definition whose parameters meet these constraints.
    Parametric = "irdl.parametric" {
        operands: { args: many(CONSTRAINT) },
        results: { output: one(CONSTRAINT) },
        attrs: { base_type: one(REFERENCE) },
        format: "$base_type `<` $args `>` attr-dict",
        infer: syntax::attribute_type,
        verify: verify::parametric,
    }

    /// Any type or attribute.
    AnyType = "irdl.any" {
        results: { output: one(CONSTRAINT) },
        format: "attr-dict",
        infer: syntax::attribute_type,
    }

    /// What meets at least one of these constraints. The first that is met counts.
    AnyOf = "irdl.any_of" {
        operands: { args: many(CONSTRAINT) },
        results: { output: one(CONSTRAINT) },
        format: "`(` $args `)` attr-dict",
        infer: syntax::attribute_type,
        verify: verify::not_empty,
    }

    /// What meets all of these constraints.
    AllOf = "irdl.all_of" {
        operands: { args: many(CONSTRAINT) },
        results: { output: one(CONSTRAINT) },
        format: "`(` $args `)` attr-dict",
        infer: syntax::attribute_type,
        verify: verify::not_empty,
    }

    /// A predicate written in C++. It can be read and printed, but not loaded: there is no C++ here.
    CPred = "irdl.c_pred" {
        results: { output: one(CONSTRAINT) },
        attrs: { pred: one(A::Str) },
        format: "$pred attr-dict",
        infer: syntax::attribute_type,
    }
}
