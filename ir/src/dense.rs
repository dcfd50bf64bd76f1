//! Constant tensors: `dense<...>` as bytes, and reading them.
//!
//! Elements lie one after another in little-endian order, each in whole bytes (`i1` takes one, an `f6` too), complex numbers
//! as two. If all elements are the same, one is kept. The bytes are shared: an attribute that is used a thousand times, or
//! copied, does not copy them. Counterpart: MLIR's `DenseElementsAttr`.

use std::sync::Arc;

use crate::attrs::extend;
use crate::types::{Signedness, TypeData};
use crate::{Attr, AttrData, Context, FloatKind, Type};

/// Bytes that copies share.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Blob(Arc<[u8]>);

impl Blob {
    /// Takes bytes.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(bytes.into())
    }
}

impl std::ops::Deref for Blob {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A kind of number that a constant tensor can hold, complex numbers by their parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    Int { width: u32, signedness: Signedness },
    Float(FloatKind),
}

impl Number {
    /// The number of an element type, and whether an element is a pair of them. `None` for what is no number.
    pub(crate) fn of(element: Type, ctx: &Context) -> Option<(Number, bool)> {
        match *element.data(ctx) {
            TypeData::Integer { width, signedness } => {
                Some((Number::Int { width, signedness }, false))
            }
            TypeData::Index => {
                Some((Number::Int { width: 64, signedness: Signedness::Signless }, false))
            }
            TypeData::Float(kind) => Some((Number::Float(kind), false)),
            TypeData::Complex(part) => match Number::of(part, ctx)? {
                (number, false) => Some((number, true)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Bytes of one number.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Number::Int { width, .. } => width.div_ceil(8).max(1) as usize,
            Number::Float(kind) => kind.bits().div_ceil(8) as usize,
        }
    }

    /// Whether it is `i1`, which text packs into bits.
    pub(crate) fn is_bit(self) -> bool {
        matches!(self, Number::Int { width: 1, .. })
    }
}

/// A constant tensor to read from. Elements are numbered in row-major order.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'c> {
    /// Its type: a tensor, memory reference or vector.
    pub ty: Type,
    /// The type of its elements.
    pub element: Type,
    shape: &'c [i64],
    data: &'c [u8],
    number: Number,
    is_pair: bool,
    len: usize,
}

impl<'c> Dense<'c> {
    /// The extents.
    pub fn shape(&self) -> &'c [i64] {
        self.shape
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether all elements are the same; then one is stored.
    pub fn is_splat(&self) -> bool {
        self.len > 0 && self.data.len() == self.element_bytes()
    }

    /// The bytes as stored: of all elements, or of one.
    pub fn raw(&self) -> &'c [u8] {
        self.data
    }

    /// Bytes of one element.
    pub fn element_bytes(&self) -> usize {
        self.number.bytes() * if self.is_pair { 2 } else { 1 }
    }

    pub(crate) fn number(&self) -> (Number, bool) {
        (self.number, self.is_pair)
    }

    /// The bytes of an element.
    pub fn bytes_at(&self, at: usize) -> &'c [u8] {
        assert!(at < self.len, "element {at} of {}", self.len);
        let size = self.element_bytes();
        let start = if self.is_splat() { 0 } else { at * size };
        &self.data[start..start + size]
    }

    /// An integer element of at most 128 bits; `i1` is 0 or 1.
    pub fn int(&self, at: usize) -> Option<i128> {
        if self.is_pair { None } else { int_of(self.number, self.bytes_at(at)) }
    }

    /// A boolean element.
    pub fn bool(&self, at: usize) -> Option<bool> {
        if self.number.is_bit() && !self.is_pair { Some(self.bytes_at(at)[0] != 0) } else { None }
    }

    /// A floating-point element.
    pub fn float(&self, at: usize) -> Option<f64> {
        if self.is_pair { None } else { float_of(self.number, self.bytes_at(at)) }
    }

    /// A complex element of floating-point parts: real, imaginary.
    pub fn complex(&self, at: usize) -> Option<(f64, f64)> {
        if !self.is_pair {
            return None;
        }
        let (re, im) = self.bytes_at(at).split_at(self.number.bytes());
        Some((float_of(self.number, re)?, float_of(self.number, im)?))
    }

    /// All elements, if they are integers of at most 128 bits.
    pub fn ints(self) -> Option<impl Iterator<Item = i128> + 'c> {
        let readable = matches!(self.number, Number::Int { width: ..=128, .. }) && !self.is_pair;
        readable.then(|| (0..self.len).filter_map(move |at| self.int(at)))
    }

    /// All elements, if they are floating-point numbers.
    pub fn floats(self) -> Option<impl Iterator<Item = f64> + 'c> {
        let readable = matches!(self.number, Number::Float(_)) && !self.is_pair;
        readable.then(|| (0..self.len).filter_map(move |at| self.float(at)))
    }
}

/// An integer of at most 128 bits from its bytes.
pub(crate) fn int_of(number: Number, bytes: &[u8]) -> Option<i128> {
    match number {
        Number::Int { width, signedness } if width <= 128 => {
            Some(extend(low_bits(bytes) as i128, width, signedness))
        }
        _ => None,
    }
}

fn float_of(number: Number, bytes: &[u8]) -> Option<f64> {
    match number {
        Number::Float(kind) => Some(kind.value_of(low_bits(bytes))),
        Number::Int { .. } => None,
    }
}

/// The first 16 bytes, the lowest first.
pub(crate) fn low_bits(bytes: &[u8]) -> u128 {
    let mut wide = [0; 16];
    let used = bytes.len().min(16);
    wide[..used].copy_from_slice(&bytes[..used]);
    u128::from_le_bytes(wide)
}

impl Attr {
    /// A `dense<...>` of numbers, to read from.
    pub fn as_dense(self, ctx: &Context) -> Option<Dense<'_>> {
        let AttrData::Dense { ty, data } = self.data(ctx) else { return None };
        let (shape, element) = ty.as_shaped(ctx)?;
        let (number, is_pair) = Number::of(element, ctx)?;
        let len = num_elements(shape)?;
        Some(Dense { ty: *ty, element, shape, data, number, is_pair, len })
    }
}

/// The product of static extents; `None` if one is dynamic or the product does not fit.
pub(crate) fn num_elements(shape: &[i64]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, &size| n.checked_mul(usize::try_from(size).ok()?))
}

impl Context {
    /// A constant tensor from its bytes: of all elements, or of one if all are the same. `ty` must have a static shape and
    /// number elements.
    pub fn dense_attr(&self, ty: Type, bytes: Vec<u8>) -> Attr {
        let (shape, element) = ty.as_shaped(self).expect("a tensor, memref or vector");
        let (number, is_pair) = Number::of(element, self).expect("elements that are numbers");
        let size = number.bytes() * if is_pair { 2 } else { 1 };
        let len = num_elements(shape).expect("a static shape");
        assert!(
            bytes.len() == size.saturating_mul(len) || (len > 0 && bytes.len() == size),
            "{} bytes for {len} elements of {size}",
            bytes.len()
        );
        let is_splat = bytes.len() > size && bytes.chunks_exact(size).all(|e| e == &bytes[..size]);
        let data = if is_splat { Blob::new(&bytes[..size]) } else { Blob::new(bytes) };
        self.attr(AttrData::Dense { ty, data })
    }

    /// A constant tensor of integers (of at most 128 bits, or `index`), or a splat if there is one value.
    pub fn dense_ints(&self, ty: Type, values: &[i128]) -> Attr {
        let (_, element) = ty.as_shaped(self).expect("a tensor, memref or vector");
        let Some((number @ Number::Int { width, .. }, false)) = Number::of(element, self) else {
            panic!("elements are integers")
        };
        let mask = if width >= 128 { u128::MAX } else { (1 << width) - 1 };
        let size = number.bytes();
        let bytes =
            values.iter().flat_map(|v| (*v as u128 & mask).to_le_bytes().into_iter().take(size));
        self.dense_attr(ty, bytes.collect())
    }

    /// A constant tensor of floating-point numbers, each rounded to the type, or a splat if there is one value.
    pub fn dense_floats(&self, ty: Type, values: &[f64]) -> Attr {
        let (_, element) = ty.as_shaped(self).expect("a tensor, memref or vector");
        let kind = element.as_float(self).expect("elements are floating-point numbers");
        let size = Number::Float(kind).bytes();
        let bytes =
            values.iter().flat_map(|v| kind.pattern_of(*v).to_le_bytes().into_iter().take(size));
        self.dense_attr(ty, bytes.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read() {
        let ctx = Context::new([]);
        let ints = ctx.dense_ints(ctx.tensor(&[2, 2], ctx.i32()), &[1, -2, 3, 4]);
        let dense = ints.as_dense(&ctx).expect("dense");
        assert_eq!(dense.ints().expect("integers").collect::<Vec<_>>(), [1, -2, 3, 4]);
        assert!(dense.floats().is_none() && !dense.is_splat());
        let bools = ctx.dense_ints(ctx.tensor(&[3], ctx.i1()), &[1, 0, 1]).as_dense(&ctx);
        assert_eq!(bools.and_then(|d| d.bool(2)), Some(true));
        let half = ctx.ty(TypeData::Float(FloatKind::F16));
        let floats = ctx.dense_floats(ctx.tensor(&[2], half), &[0.5, 1e9]).as_dense(&ctx);
        assert_eq!(
            floats.and_then(|d| Some(d.floats()?.collect())),
            Some(vec![0.5, f64::INFINITY])
        );
    }

    #[test]
    fn equal_elements_are_stored_once() {
        let ctx = Context::new([]);
        let ty = ctx.tensor(&[1000], ctx.f32());
        let splat = ctx.dense_floats(ty, &[1.0]);
        assert_eq!(ctx.dense_floats(ty, &[1.0; 1000]), splat);
        let dense = splat.as_dense(&ctx).expect("dense");
        assert_eq!((dense.len(), dense.raw().len(), dense.float(999)), (1000, 4, Some(1.0)));
    }
}
