//! The macro that declares operations: one block of text an operation, from which the definition and a typed view come.

/// Declares operations of a dialect: for each one a typed view (a struct around an [`Op`](crate::Op) with an accessor a
/// declared part) and its [`OpDef`](crate::OpDef). Every clause is optional but must stand in this order:
///
/// ```
/// use piper_ir::{dialect_ops, TypeConstraint, AttrConstraint};
///
/// dialect_ops! {
///     /// A matrix product with a bias.
///     ///
///     /// `y[.., N] = x[.., K] w[K, N] + bias[N]`
///     Linear = "demo.linear" {
///         operands: { x: one(TypeConstraint::FloatTensor), w: one(TypeConstraint::FloatTensor), bias: optional(TypeConstraint::FloatTensor) },
///         results: { y: one(TypeConstraint::FloatTensor) },
///         attrs: { transpose_w: optional(AttrConstraint::Unit) },
///         traits: [Pure],
///         format: "$x `,` $w (`,` $bias^)? attr-dict `:` functional-type(operands, results)",
///     }
/// }
/// assert_eq!(Linear::NAME, "demo.linear");
/// assert_eq!(Linear::def().summary, "A matrix product with a bias.");
/// ```
#[macro_export]
macro_rules! dialect_ops {
    ($(
        $(#[doc = $doc:expr])+
        $view:ident = $name:literal {
            $(operands: { $($o:ident : $oa:ident ( $oc:expr )),* $(,)? },)?
            $(results: { $($r:ident : $ra:ident ( $rc:expr )),* $(,)? },)?
            $(attrs: { $($a:ident : $aa:ident ( $ac:expr )),* $(,)? },)?
            $(regions: { $($g:ident : $ga:ident),* $(,)? },)?
            $(traits: [ $($t:ident),* $(,)? ],)?
            $(format: $format:expr,)?
            $(syntax: ($parse:expr, $print:expr),)?
            $(verify: $verify:expr,)?
            $(interfaces: [ $($interface:expr),* $(,)? ],)?
        }
    )*) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
            pub struct $view(pub $crate::Op);

            #[allow(missing_docs, dead_code)]
            impl $view {
                /// The operation's full name.
                pub const NAME: &'static str = $name;

                /// The view of `op`, if it is one.
                pub fn cast(module: &$crate::Module, op: $crate::Op) -> Option<Self> {
                    (module.name(op).text(module.ctx()) == Self::NAME).then_some(Self(op))
                }

                $crate::dialect_ops!(@values operand_group, 0usize; $($($o $oa,)*)?);
                $crate::dialect_ops!(@values result_group, 0usize; $($($r $ra,)*)?);
                $crate::dialect_ops!(@attrs 0usize; $($($a $aa,)*)?);
                $crate::dialect_ops!(@regions 0usize; $($($g $ga,)*)?);

                /// The operation's definition.
                pub fn def() -> $crate::OpDef {
                    #[allow(unused_mut)]
                    let mut def = $crate::OpDef::new($name).doc(concat!($($doc, "\n"),+));
                    $($(def.operands.push($crate::ValueDef { name: stringify!($o).into(), arity: $crate::dialect_ops!(@arity $oa), constraint: $oc });)*)?
                    $($(def.results.push($crate::ValueDef { name: stringify!($r).into(), arity: $crate::dialect_ops!(@arity $ra), constraint: $rc });)*)?
                    $($(def.attrs.push($crate::AttrDef { name: stringify!($a).into(), required: $crate::dialect_ops!(@required $aa), constraint: $ac });)*)?
                    $crate::finish_segments(&mut def);
                    $($(def.regions.push($crate::RegionDef { name: stringify!($g).into(), arity: $crate::dialect_ops!(@arity $ga) });)*)?
                    $(def.traits.extend([$($crate::Trait::$t),*]);)?
                    $(def.syntax = $crate::Syntax::Declarative(::std::sync::Arc::new($crate::text::Format::compile($format, &def)));)?
                    $(def.syntax = $crate::Syntax::Custom { parse: $parse, print: $print };)?
                    $(def.verify = Some($verify);)?
                    $($(let def = def.with_interface($interface);)*)?
                    def
                }
            }
        )*

        /// The definitions of all operations declared here.
        pub fn op_defs() -> Vec<::std::sync::Arc<$crate::OpDef>> {
            vec![$(::std::sync::Arc::new($view::def())),*]
        }
    };

    (@arity one) => { $crate::Arity::One };
    (@arity optional) => { $crate::Arity::Optional };
    (@arity many) => { $crate::Arity::Variadic };
    (@required one) => { true };
    (@required optional) => { false };

    (@values $group:ident, $i:expr;) => {};
    (@values $group:ident, $i:expr; $v:ident one, $($rest:tt)*) => {
        pub fn $v(self, module: &$crate::Module) -> $crate::Value {
            module.$group(self.0, $i).next().expect("a verified operation has its declared values")
        }
        $crate::dialect_ops!(@values $group, $i + 1usize; $($rest)*);
    };
    (@values $group:ident, $i:expr; $v:ident optional, $($rest:tt)*) => {
        pub fn $v(self, module: &$crate::Module) -> Option<$crate::Value> {
            module.$group(self.0, $i).next()
        }
        $crate::dialect_ops!(@values $group, $i + 1usize; $($rest)*);
    };
    (@values $group:ident, $i:expr; $v:ident many, $($rest:tt)*) => {
        pub fn $v(self, module: &$crate::Module) -> impl ExactSizeIterator<Item = $crate::Value> + '_ {
            module.$group(self.0, $i)
        }
        $crate::dialect_ops!(@values $group, $i + 1usize; $($rest)*);
    };

    (@attrs $i:expr;) => {};
    (@attrs $i:expr; $a:ident one, $($rest:tt)*) => {
        pub fn $a(self, module: &$crate::Module) -> $crate::Attr {
            module.slot(self.0, $i).expect("a verified operation has its declared attributes")
        }
        $crate::dialect_ops!(@attrs $i + 1usize; $($rest)*);
    };
    (@attrs $i:expr; $a:ident optional, $($rest:tt)*) => {
        pub fn $a(self, module: &$crate::Module) -> Option<$crate::Attr> {
            module.slot(self.0, $i)
        }
        $crate::dialect_ops!(@attrs $i + 1usize; $($rest)*);
    };

    (@regions $i:expr;) => {};
    (@regions $i:expr; $g:ident one, $($rest:tt)*) => {
        pub fn $g(self, module: &$crate::Module) -> $crate::Region {
            module.regions(self.0)[$i]
        }
        $crate::dialect_ops!(@regions $i + 1usize; $($rest)*);
    };
    (@regions $i:expr; $g:ident $arity:ident, $($rest:tt)*) => {
        $crate::dialect_ops!(@regions $i + 1usize; $($rest)*);
    };
}

/// The attribute that holds how many operands each declared group has, as in MLIR.
pub const OPERAND_SEGMENTS: &str = "operandSegmentSizes";
/// The attribute that holds how many results each declared group has, as in MLIR.
pub const RESULT_SEGMENTS: &str = "resultSegmentSizes";

/// Adds the segment-size attributes to a definition with more than one group of unknown length.
#[doc(hidden)]
pub fn finish_segments(def: &mut crate::OpDef) {
    use crate::{Arity, AttrConstraint, AttrDef};
    for (values, name) in [(&def.operands, OPERAND_SEGMENTS), (&def.results, RESULT_SEGMENTS)] {
        if values.iter().filter(|v| v.arity != Arity::One).count() > 1 {
            def.attrs.push(AttrDef {
                name: name.into(),
                required: true,
                constraint: AttrConstraint::IntArray,
            });
        }
    }
}
