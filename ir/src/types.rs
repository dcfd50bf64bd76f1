//! Types: what a value is. Interned, so that equality is handle equality. Counterpart: MLIR's builtin types.

use crate::{Attr, Context, Name, Type};

/// The extent of a dimension that is not known at compile time (printed `?`).
pub const DYNAMIC: i64 = i64::MIN;

/// How an integer type reads its top bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Signedness {
    /// `i32`: the operations decide.
    Signless,
    /// `si32`
    Signed,
    /// `ui32`
    Unsigned,
}

/// The floating-point formats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum FloatKind {
    F4E2M1FN,
    F6E2M3FN,
    F6E3M2FN,
    F8E5M2,
    F8E4M3,
    F8E4M3FN,
    F8E5M2FNUZ,
    F8E4M3FNUZ,
    F8E4M3B11FNUZ,
    F8E3M4,
    F8E8M0FNU,
    BF16,
    F16,
    TF32,
    F32,
    F64,
    F80,
    F128,
}

impl FloatKind {
    /// Every format with its spelling.
    pub const ALL: [(FloatKind, &'static str); 18] = [
        (FloatKind::F32, "f32"),
        (FloatKind::BF16, "bf16"),
        (FloatKind::F16, "f16"),
        (FloatKind::F64, "f64"),
        (FloatKind::TF32, "tf32"),
        (FloatKind::F4E2M1FN, "f4E2M1FN"),
        (FloatKind::F6E2M3FN, "f6E2M3FN"),
        (FloatKind::F6E3M2FN, "f6E3M2FN"),
        (FloatKind::F8E5M2, "f8E5M2"),
        (FloatKind::F8E4M3, "f8E4M3"),
        (FloatKind::F8E4M3FN, "f8E4M3FN"),
        (FloatKind::F8E5M2FNUZ, "f8E5M2FNUZ"),
        (FloatKind::F8E4M3FNUZ, "f8E4M3FNUZ"),
        (FloatKind::F8E4M3B11FNUZ, "f8E4M3B11FNUZ"),
        (FloatKind::F8E3M4, "f8E3M4"),
        (FloatKind::F8E8M0FNU, "f8E8M0FNU"),
        (FloatKind::F80, "f80"),
        (FloatKind::F128, "f128"),
    ];

    /// The format's spelling in text.
    pub fn spelling(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("f32", |(_, text)| text)
    }

    /// The format of a spelling.
    pub fn from_spelling(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, t)| *t == text).map(|(kind, _)| *kind)
    }

    /// Storage bits of one number.
    pub fn bits(self) -> u32 {
        match self {
            FloatKind::BF16 | FloatKind::F16 => 16,
            FloatKind::TF32 => 19,
            FloatKind::F32 => 32,
            FloatKind::F64 => 64,
            FloatKind::F80 => 80,
            FloatKind::F128 => 128,
            FloatKind::F8E5M2
            | FloatKind::F8E4M3
            | FloatKind::F8E4M3FN
            | FloatKind::F8E5M2FNUZ
            | FloatKind::F8E4M3FNUZ
            | FloatKind::F8E4M3B11FNUZ
            | FloatKind::F8E3M4
            | FloatKind::F8E8M0FNU => 8,
            FloatKind::F6E2M3FN | FloatKind::F6E3M2FN => 6,
            FloatKind::F4E2M1FN => 4,
        }
    }
}

/// The data behind a [`Type`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum TypeData {
    /// `i32`, `si8`, `ui64`
    Integer { width: u32, signedness: Signedness },
    /// `f32`
    Float(FloatKind),
    /// `index`
    Index,
    /// `none`
    None,
    /// `tensor<4x?xf32, encoding>`
    Tensor { shape: Box<[i64]>, element: Type, encoding: Option<Attr> },
    /// `tensor<*xf32>`
    UnrankedTensor { element: Type },
    /// `memref<4xf32, layout, space>`; no layout is the identity, no space the default one.
    MemRef { shape: Box<[i64]>, element: Type, layout: Option<Attr>, space: Option<Attr> },
    /// `memref<*xf32, space>`
    UnrankedMemRef { element: Type, space: Option<Attr> },
    /// `vector<4x[8]xf32>`: `scalable` says which dimensions are multiplied at run time; empty if none is.
    Vector { shape: Box<[i64]>, scalable: Box<[bool]>, element: Type },
    /// `complex<f32>`
    Complex(Type),
    /// `tuple<i32, f32>`
    Tuple(Box<[Type]>),
    /// `(i32) -> f32`
    Function { inputs: Box<[Type]>, results: Box<[Type]> },
    /// `!dialect.name<...>` of a registered definition, its parameters as attributes.
    Dialect { name: Name, params: Box<[Attr]> },
    /// `!dialect<body>` or `!dialect.body` of an unregistered dialect, kept byte for byte.
    Opaque { dialect: Name, body: Box<str> },
}

impl Type {
    /// The type's data.
    pub fn data(self, ctx: &Context) -> &TypeData {
        ctx.type_data(self)
    }

    /// `(shape, element)` of a ranked tensor.
    pub fn as_tensor(self, ctx: &Context) -> Option<(&[i64], Type)> {
        match self.data(ctx) {
            TypeData::Tensor { shape, element, .. } => Some((shape, *element)),
            _ => None,
        }
    }

    /// `(shape, element)` of a ranked tensor, memory reference or vector.
    pub fn as_shaped(self, ctx: &Context) -> Option<(&[i64], Type)> {
        match self.data(ctx) {
            TypeData::Tensor { shape, element, .. }
            | TypeData::MemRef { shape, element, .. }
            | TypeData::Vector { shape, element, .. } => Some((shape, *element)),
            _ => None,
        }
    }

    /// `(inputs, results)` of a function type.
    pub fn as_function(self, ctx: &Context) -> Option<(&[Type], &[Type])> {
        match self.data(ctx) {
            TypeData::Function { inputs, results } => Some((inputs, results)),
            _ => None,
        }
    }

    /// The format of a floating-point type.
    pub fn as_float(self, ctx: &Context) -> Option<FloatKind> {
        match self.data(ctx) {
            TypeData::Float(kind) => Some(*kind),
            _ => None,
        }
    }

    /// Bytes of one element of a number type, as stored: whole bytes, `i1` takes one. `None` for anything else.
    pub fn byte_width(self, ctx: &Context) -> Option<u64> {
        match self.data(ctx) {
            TypeData::Integer { width, .. } => Some(u64::from(width.div_ceil(8))),
            TypeData::Float(kind) => Some(u64::from(kind.bits().div_ceil(8))),
            TypeData::Index => Some(8),
            TypeData::Complex(element) => element.byte_width(ctx).map(|bytes| 2 * bytes),
            _ => None,
        }
    }

    /// Number of elements of a ranked tensor with static shape.
    pub fn num_elements(self, ctx: &Context) -> Option<u64> {
        let (shape, _) = self.as_tensor(ctx)?;
        shape.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::try_from(d).ok()?))
    }

    /// Bytes of a ranked tensor with static shape.
    pub fn num_bytes(self, ctx: &Context) -> Option<u64> {
        let (_, element) = self.as_tensor(ctx)?;
        self.num_elements(ctx)?.checked_mul(element.byte_width(ctx)?)
    }

    /// The type as it is written.
    pub fn display(self, ctx: &Context) -> String {
        crate::text::print_type(ctx, self)
    }
}
