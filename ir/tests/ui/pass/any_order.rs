//! Clauses in any order, all of them.
use piper_ir::{AttrConstraint as A, TypeConstraint as T, dialect_ops};

#[derive(Debug)]
struct Cheap;

dialect_ops! {
    /// An operation that declares everything.
    ///
    /// And describes it.
    Everything = "demo.everything" {
        verify: |_module, _op, _reporter| {},
        interfaces: [Cheap],
        format: "$x (`with` $more^)? $mode (`flag` $flag^)? $body attr-dict `:` type($x) (`also` type($more)^)?",
        infer: |input| Ok(input.operands.to_vec()),
        traits: [NoTerminator],
        regions: { body: one },
        attrs: { mode: one(A::Enum(&["a", "b"])), flag: optional(A::Unit), size: default(A::Int, 4), name: default(A::Str, "x") },
        results: { y: one(T::Any) },
        operands: { x: one(T::Any), more: many(T::Any) },
        examples: ["%y = demo.everything %x a {} : i32"],
    }
}

fn main() {
    let def = Everything::def();
    assert_eq!(def.summary, "An operation that declares everything.");
    assert_eq!(def.description, "And describes it.");
    assert_eq!((def.operands.len(), def.results.len(), def.attrs.len(), def.regions.len()), (2, 1, 4, 1));
    assert!(def.interface::<Cheap>().is_some());
    assert_eq!(def.interface_names, ["InferTypes", "Cheap"]);
    assert_eq!(op_defs().len(), 1);
}
