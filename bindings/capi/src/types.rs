//! Types: read from text, made, and asked.

use piper_ir::text::parse_type;
use piper_ir::{DYNAMIC, SourceFile, Type, TypeData};

use crate::fault::{Fault, PIPER_OUT_OF_RANGE, PIPER_WRONG_KIND, PiperStatus};
use crate::handle::{PiperModule, PiperType, read};
use crate::report::PiperError;
use crate::text::{PiperStr, PiperString, list};

/// A type of no kind that this header knows, or none.
pub const PIPER_TYPE_OTHER: u32 = 0;
/// `i32`, `si8`, `ui64`
pub const PIPER_TYPE_INTEGER: u32 = 1;
/// `f32`, `bf16`
pub const PIPER_TYPE_FLOAT: u32 = 2;
/// `index`
pub const PIPER_TYPE_INDEX: u32 = 3;
/// `tensor<4x?xf32>`
pub const PIPER_TYPE_TENSOR: u32 = 4;
/// `(i32) -> f32`
pub const PIPER_TYPE_FUNCTION: u32 = 5;
/// `!dialect.name<...>`
pub const PIPER_TYPE_DIALECT: u32 = 6;
/// `vector<4xf32>`
pub const PIPER_TYPE_VECTOR: u32 = 7;
/// `memref<4xf32>`
pub const PIPER_TYPE_MEMREF: u32 = 8;

/// The extent of a dimension that is not known (`?`). The header defines it by hand.
///
/// cbindgen:ignore
pub const PIPER_DYNAMIC: i64 = DYNAMIC;

/// Reads a type from text, as `tensor<4xf32>`. `error` may be null. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_parse(
    module: *const PiperModule,
    text: PiperStr,
    out: *mut PiperType,
    error: *mut *mut PiperError,
) -> PiperStatus {
    crate::report::parsed(module, "piper_type_parse", out, error, |h, reporter| {
        let source = SourceFile::new("<type>", text.get("the text")?);
        let ctx = h.ctx()?;
        Ok((parse_type(&ctx, &source, reporter).map(|ty| h.give_type(ty)), source))
    })
}

/// A type as text, to be freed by the caller. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_text(
    module: *const PiperModule,
    ty: PiperType,
    out: *mut PiperString,
) -> PiperStatus {
    crate::report::written(module, "piper_type_text", out, |h, m| Ok(h.ty(ty)?.display(m.ctx())))
}

/// The signless integer type of a width in bits, from 1 to 128. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_integer(module: *const PiperModule, width: u32) -> PiperType {
    read(module, "piper_type_integer", |h, m| {
        if !(1..=128).contains(&width) {
            return Err(Fault::new(PIPER_OUT_OF_RANGE, format!("{width} bits; from 1 to 128")));
        }
        let signedness = piper_ir::Signedness::Signless;
        Ok(h.give_type(m.ctx().ty(TypeData::Integer { width, signedness })))
    })
}

/// The floating-point type that is spelt so, as `bf16`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_float(
    module: *const PiperModule,
    spelling: PiperStr,
) -> PiperType {
    read(module, "piper_type_float", |h, m| {
        let spelling = spelling.get("the spelling")?;
        let kind = piper_ir::FloatKind::from_spelling(spelling);
        let kind = kind.ok_or_else(|| {
            Fault::new(PIPER_WRONG_KIND, format!("'{spelling}' is no floating-point type"))
        })?;
        Ok(h.give_type(m.ctx().ty(TypeData::Float(kind))))
    })
}

/// The ranked tensor type of these extents, each at least 0 or `PIPER_DYNAMIC`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_tensor(
    module: *const PiperModule,
    shape: *const i64,
    rank: usize,
    element: PiperType,
) -> PiperType {
    read(module, "piper_type_tensor", |h, m| {
        let (shape, element) = (list(shape, rank), h.ty(element)?);
        if let Some(extent) = shape.iter().find(|e| **e < 0 && **e != DYNAMIC) {
            return Err(Fault::new(PIPER_OUT_OF_RANGE, format!("an extent of {extent}")));
        }
        Ok(h.give_type(m.ctx().tensor(shape, element)))
    })
}

/// The function type `(inputs) -> results`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_function(
    module: *const PiperModule,
    inputs: *const PiperType,
    num_inputs: usize,
    results: *const PiperType,
    num_results: usize,
) -> PiperType {
    read(module, "piper_type_function", |h, m| {
        let types = |given: &[PiperType]| {
            given.iter().map(|ty| h.ty(*ty)).collect::<Result<Vec<Type>, Fault>>()
        };
        let inputs = types(list(inputs, num_inputs))?;
        let results = types(list(results, num_results))?;
        Ok(h.give_type(m.ctx().function(&inputs, &results)))
    })
}

/// The kind of a type: one of `PIPER_TYPE_*`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_kind(module: *const PiperModule, ty: PiperType) -> u32 {
    read(module, "piper_type_kind", |h, m| {
        Ok(match h.ty(ty)?.data(m.ctx()) {
            TypeData::Integer { .. } => PIPER_TYPE_INTEGER,
            TypeData::Float(_) => PIPER_TYPE_FLOAT,
            TypeData::Index => PIPER_TYPE_INDEX,
            TypeData::Tensor { .. } => PIPER_TYPE_TENSOR,
            TypeData::Function { .. } => PIPER_TYPE_FUNCTION,
            TypeData::Dialect { .. } => PIPER_TYPE_DIALECT,
            TypeData::Vector { .. } => PIPER_TYPE_VECTOR,
            TypeData::MemRef { .. } => PIPER_TYPE_MEMREF,
            _ => PIPER_TYPE_OTHER,
        })
    })
}

/// Bits of an integer or floating-point type; 0 for others. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_width(module: *const PiperModule, ty: PiperType) -> u32 {
    read(module, "piper_type_width", |h, m| {
        Ok(match h.ty(ty)?.data(m.ctx()) {
            TypeData::Integer { width, .. } => *width,
            TypeData::Float(kind) => kind.bits(),
            _ => 0,
        })
    })
}

/// How many dimensions a ranked tensor, vector or memory reference has; 0 for others. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_rank(module: *const PiperModule, ty: PiperType) -> usize {
    read(module, "piper_type_rank", |h, m| {
        Ok(h.ty(ty)?.as_shaped(m.ctx()).map_or(0, |(shape, _)| shape.len()))
    })
}

/// The extent of a dimension, or `PIPER_DYNAMIC`; 0 where there is none. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_extent(
    module: *const PiperModule,
    ty: PiperType,
    dimension: usize,
) -> i64 {
    read(module, "piper_type_extent", |h, m| {
        let shape = h.ty(ty)?.as_shaped(m.ctx()).map_or(&[][..], |(shape, _)| shape);
        let extent = shape.get(dimension).copied();
        extent.ok_or_else(|| Fault::range("dimension", dimension, shape.len()))
    })
}

/// The type of the elements of a tensor, vector or memory reference; none for others. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_element(
    module: *const PiperModule,
    ty: PiperType,
) -> PiperType {
    read(module, "piper_type_element", |h, m| {
        let element = h.ty(ty)?.as_shaped(m.ctx()).map(|(_, element)| h.give_type(element));
        Ok(element.unwrap_or_default())
    })
}

/// How many inputs a function type has; 0 for others. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_num_inputs(module: *const PiperModule, ty: PiperType) -> usize {
    read(module, "piper_type_num_inputs", |h, m| {
        Ok(h.ty(ty)?.as_function(m.ctx()).map_or(0, |(inputs, _)| inputs.len()))
    })
}

/// An input of a function type. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_input(
    module: *const PiperModule,
    ty: PiperType,
    index: usize,
) -> PiperType {
    read(module, "piper_type_input", |h, m| {
        let types = h.ty(ty)?.as_function(m.ctx()).map_or(&[][..], |(inputs, _)| inputs);
        let found = types.get(index).map(|ty| h.give_type(*ty));
        found.ok_or_else(|| Fault::range("input", index, types.len()))
    })
}

/// How many results a function type has; 0 for others. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_num_results(
    module: *const PiperModule,
    ty: PiperType,
) -> usize {
    read(module, "piper_type_num_results", |h, m| {
        Ok(h.ty(ty)?.as_function(m.ctx()).map_or(0, |(_, results)| results.len()))
    })
}

/// A result of a function type. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_type_result(
    module: *const PiperModule,
    ty: PiperType,
    index: usize,
) -> PiperType {
    read(module, "piper_type_result", |h, m| {
        let types = h.ty(ty)?.as_function(m.ctx()).map_or(&[][..], |(_, results)| results);
        let found = types.get(index).map(|ty| h.give_type(*ty));
        found.ok_or_else(|| Fault::range("result", index, types.len()))
    })
}
