//! Dense `u32` handles.
//!
//! Everything in a [`Module`](crate::Module) and a [`Context`](crate::Context) is named by a small copyable handle,
//! never by a reference or a pointer: modules are `Send`, copies are cheap, and side tables are plain vectors.

/// Declares a handle type over `u32` with a reserved "none" value.
macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The reserved handle that names nothing.
            pub const NONE: Self = Self(u32::MAX);

            /// The handle's index into its arena.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The handle with this index. Meaningful only for indices obtained from [`index`](Self::index).
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("more than 2^32 entities of one kind"))
            }

            /// `None` for the reserved handle.
            pub fn some(self) -> Option<Self> {
                (self != Self::NONE).then_some(self)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                if *self == Self::NONE { write!(f, "{}-", $prefix) } else { write!(f, "{}{}", $prefix, self.0) }
            }
        }
    };
}

entity!(
    /// An operation of a module.
    Op, "op"
);
entity!(
    /// An SSA value: an operation's result or a block's argument.
    Value, "v"
);
entity!(
    /// A block: a list of operations with arguments.
    Block, "bb"
);
entity!(
    /// A region: a list of blocks owned by an operation.
    Region, "region"
);
entity!(
    /// An interned type of a context.
    Type, "type"
);
entity!(
    /// An interned attribute of a context.
    Attr, "attr"
);
entity!(
    /// An interned location of a context.
    Loc, "loc"
);
entity!(
    /// An interned string: identifiers, attribute names, symbol names.
    Name, "name"
);
entity!(
    /// An operation's name, resolved to its definition if its dialect is registered.
    OpName, "opname"
);
