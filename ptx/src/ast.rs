//! A parsed PTX module. Registers and variables are resolved to numbers; labels, functions and module variables are
//! still names. Opcodes are text: what an instruction means is decided when a kernel is loaded.

use crate::error::Place;

/// State spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Memory of the device.
    Global,
    /// Memory of a block.
    Shared,
    /// Memory of a thread.
    Local,
    /// Arguments.
    Param,
    /// Read-only memory of the device.
    Const,
    /// An address that says by itself which space it points into.
    Generic,
}

/// The type of a declaration or an instruction, by its PTX name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F32x2,
    F64,
}

impl Type {
    /// The type that `name` (without a dot) stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "pred" => Self::Pred,
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "b128" => Self::B128,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "bf16" => Self::Bf16,
            "bf16x2" => Self::Bf16x2,
            "tf32" => Self::Tf32,
            "f32" => Self::F32,
            "f32x2" => Self::F32x2,
            "f64" => Self::F64,
            _ => return None,
        })
    }

    /// Bytes that a value takes in memory; a predicate takes one.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Pred | Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32
            | Self::U32
            | Self::S32
            | Self::F32
            | Self::F16x2
            | Self::Bf16x2
            | Self::Tf32 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 | Self::F32x2 => 8,
            Self::B128 => 16,
        }
    }

    /// Whether a narrow value is widened with its sign.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }
}

/// A variable or parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it lives.
    pub space: Space,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes; zero for `extern .shared x[]`, whose size the launch gives.
    pub bytes: u64,
    /// Initial bytes, where the text gives any; shorter than `bytes` means that zeros follow.
    pub init: Option<Vec<u8>>,
    /// Whether it is declared `.extern`.
    pub is_extern: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// A register of the function, by number.
    Register(u32),
    /// A variable of the function, by number.
    Variable(u32),
    /// A label, function, module variable or special register.
    Name(String),
    Int(u64),
    Single(u32),
    Double(u64),
    /// `_`.
    Sink,
    /// `!p`.
    Not(Box<Operand>),
    /// `p|q`.
    Pair(Box<Operand>, Box<Operand>),
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `[base+offset]`.
    Address(Box<Operand>, i64),
    /// `(a, b)` of a call.
    List(Vec<Operand>),
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instruction {
    /// The predicate register, and whether it is negated.
    pub(crate) guard: Option<(u32, bool)>,
    /// With all modifiers.
    pub(crate) opcode: String,
    pub(crate) operands: Vec<Operand>,
    pub(crate) place: Place,
}

/// What a body consists of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Statement {
    Label(String, Place),
    Instruction(Instruction),
    /// `NAME: .branchtargets a, b;`
    Targets(String, Vec<String>),
    /// A register whose value LLVM leaves open on purpose.
    Undefined(u32, Place),
}

/// A kernel (`.entry`) or device function (`.func`).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_entry: bool,
    /// Whether it has a body.
    pub(crate) is_defined: bool,
    /// Numbers of its parameters among `variables`.
    pub(crate) params: Vec<u32>,
    /// Numbers of its results among `variables`.
    pub(crate) results: Vec<u32>,
    /// Types of the registers, by number.
    pub(crate) registers: Vec<(String, Type)>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) body: Vec<Statement>,
    /// `.maxntid` or `.reqntid`: the most threads a block may have in each direction, and whether it is exact.
    pub(crate) threads: Option<([u32; 3], bool)>,
    pub(crate) place: Place,
}
