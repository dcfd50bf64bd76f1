//! Kernels evaluated in plain Rust, one element at a time.
//!
//! This is what generated code is tested against and what runs where LLVM is absent. Sums run in ascending order except
//! where a kernel's definition says otherwise, and the standard library supplies `exp`, `ln` and `tanh`; so results
//! agree with generated code to rounding, and to the bit where a kernel neither sums nor calls those. Buffers
//! of bf16 are widened when read and rounded when written.

mod attention;
mod map;
mod norm;
mod product;
mod rows;

pub use rows::rotary_angle;

use crate::kernel::{Body, Dtype, Kernel, bf16_from_f32, bf16_to_f32};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A buffer bound to one kernel parameter.
#[derive(Debug)]
pub enum Slice<'a> {
    /// f32 elements.
    F32(&'a mut [f32]),
    /// f64 elements.
    F64(&'a mut [f64]),
    /// i32 elements.
    I32(&'a mut [i32]),
    /// bf16 elements, as bits.
    Bf16(&'a mut [u16]),
}

impl Slice<'_> {
    /// Element type.
    pub fn dtype(&self) -> Dtype {
        match self {
            Self::F32(_) => Dtype::F32,
            Self::F64(_) => Dtype::F64,
            Self::I32(_) => Dtype::I32,
            Self::Bf16(_) => Dtype::Bf16,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(s) => s.len(),
            Self::F64(s) => s.len(),
            Self::I32(s) => s.len(),
            Self::Bf16(s) => s.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Why a launch by the reference was refused; nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The kernel description is not meaningful.
    #[error("invalid kernel: {0}")]
    Invalid(String),
    /// Wrong number of buffers.
    #[error("the kernel takes {wanted} buffers, {given} were given")]
    BufferCount {
        /// Number of parameters.
        wanted: usize,
        /// Number given.
        given: usize,
    },
    /// A buffer of the wrong type or size.
    #[error(
        "parameter {index} is {wanted} x {wanted_dtype:?}, the buffer holds {given} x {given_dtype:?}"
    )]
    Buffer {
        /// Parameter.
        index: usize,
        /// Elements wanted.
        wanted: u64,
        /// Type wanted.
        wanted_dtype: Dtype,
        /// Elements given.
        given: usize,
        /// Type given.
        given_dtype: Dtype,
    },
    /// Too few scalars.
    #[error("the kernel takes {wanted} scalars, {given} were given")]
    ScalarCount {
        /// Number of scalars.
        wanted: u32,
        /// Number given.
        given: usize,
    },
}

/// Runs `kernel` on `buffers`, one for each of [`Kernel::parameters`], with run-time `scalars`.
///
/// # Errors
/// [`ReferenceError`] if the kernel is invalid or the buffers or scalars do not fit it.
pub fn evaluate(
    kernel: &Kernel,
    buffers: &mut [Slice<'_>],
    scalars: &[f64],
) -> Result<(), ReferenceError> {
    kernel.validate().map_err(ReferenceError::Invalid)?;
    let parameters = kernel.parameters();
    if parameters.len() != buffers.len() {
        return Err(ReferenceError::BufferCount { wanted: parameters.len(), given: buffers.len() });
    }
    for (index, (parameter, buffer)) in parameters.iter().zip(buffers.iter()).enumerate() {
        if parameter.dtype != buffer.dtype() || parameter.elems != buffer.len() as u64 {
            return Err(ReferenceError::Buffer {
                index,
                wanted: parameter.elems,
                wanted_dtype: parameter.dtype,
                given: buffer.len(),
                given_dtype: buffer.dtype(),
            });
        }
    }
    if scalars.len() < kernel.scalars() as usize {
        return Err(ReferenceError::ScalarCount { wanted: kernel.scalars(), given: scalars.len() });
    }
    if kernel.dtype == Dtype::F64 {
        run::<f64>(&kernel.body, &mut Buffers(buffers), scalars);
    } else {
        run::<f32>(&kernel.body, &mut Buffers(buffers), scalars);
    }
    Ok(())
}

fn run<T: Element>(body: &Body, b: &mut Buffers<'_, '_>, scalars: &[f64]) {
    match body {
        Body::Gemm(g) => product::gemm::<T>(g, b, scalars),
        Body::Map(m) => map::map::<T>(m, b, scalars),
        Body::Norm(n) => norm::forward::<T>(n, b),
        Body::NormDx { norm: n, adds } => norm::input_gradient::<T>(n, *adds, b),
        Body::NormDw(n) => norm::weight_gradient::<T>(n, b),
        Body::Attention { shape, lse } => attention::forward::<T>(shape, *lse, b),
        Body::AttentionDx(shape) => attention::gradient::<T>(shape, b),
        &Body::Rotary { seq, heads, head_dim, base, inverse, .. } => {
            rows::rotary::<T>([seq, heads, head_dim].map(|n| n as usize), base.get(), inverse, b);
        }
        Body::CrossEntropy(c) => rows::cross_entropy::<T>(c, b),
        Body::CrossEntropyDx(c) => rows::cross_entropy_gradient::<T>(c, b),
        Body::Embedding(e) => rows::embedding::<T>(e, b),
        Body::EmbeddingDw(e) => rows::embedding_gradient::<T>(e, b),
        &Body::SumRows { cols, .. } => rows::sum_rows::<T>(cols as usize, b),
        &Body::SwapBlocks { a, b: columns, block } => {
            rows::swap_blocks::<T>([a, columns, block].map(|n| n as usize), b);
        }
        &Body::Cast { to, .. } => rows::cast::<T>(to, b),
        Body::SumSquares { .. } => rows::sum_squares::<T>(b),
        Body::ClipScale { max_norm } => rows::clip_scale::<T>(max_norm.get(), b),
    }
}

/// The buffers of one launch, already checked against the parameters. Inputs are copied out, which keeps the
/// evaluation free of aliasing at the cost of one copy.
struct Buffers<'a, 'b>(&'a mut [Slice<'b>]);

impl Buffers<'_, '_> {
    fn read<T: Element>(&self, index: usize) -> Vec<T> {
        match &self.0[index] {
            Slice::Bf16(bits) => bits.iter().map(|&b| T::narrow(bf16_to_f32(b))).collect(),
            slice => T::of(slice).to_vec(),
        }
    }

    fn tokens(&self, index: usize) -> Vec<i32> {
        match &self.0[index] {
            Slice::I32(s) => s.to_vec(),
            other => {
                unreachable!("parameter {index} was checked to be i32, not {:?}", other.dtype())
            }
        }
    }

    fn write<T: Element>(&mut self, index: usize, values: &[T]) {
        match &mut self.0[index] {
            Slice::Bf16(bits) => {
                let rounded = values.iter().map(|v| bf16_from_f32(v.narrowed()));
                bits.iter_mut().zip(rounded).for_each(|(to, from)| *to = from);
            }
            slice => T::of_mut(slice).copy_from_slice(values),
        }
    }
}

/// f32 or f64.
pub(crate) trait Element:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    /// Lanes of the virtual vector of generated code: sums that fix an order use as many partial sums.
    const LANES: usize;
    fn new(value: f64) -> Self;
    fn double(self) -> f64;
    /// From f32, exactly; and to f32, rounded: what buffers of bf16 are read and written by.
    fn narrow(value: f32) -> Self;
    fn narrowed(self) -> f32;
    fn sqrt(self) -> Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn tanh(self) -> Self;
    fn of<'s>(slice: &'s Slice<'_>) -> &'s [Self];
    fn of_mut<'s>(slice: &'s mut Slice<'_>) -> &'s mut [Self];
}

macro_rules! element {
    ($type:ident, $variant:ident, $lanes:expr) => {
        impl Element for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LANES: usize = $lanes;
            fn new(value: f64) -> Self {
                value as $type
            }
            fn double(self) -> f64 {
                f64::from(self)
            }
            fn narrow(value: f32) -> Self {
                $type::from(value)
            }
            fn narrowed(self) -> f32 {
                self as f32
            }
            fn sqrt(self) -> Self {
                $type::sqrt(self)
            }
            fn exp(self) -> Self {
                $type::exp(self)
            }
            fn ln(self) -> Self {
                $type::ln(self)
            }
            fn tanh(self) -> Self {
                $type::tanh(self)
            }
            fn of<'s>(slice: &'s Slice<'_>) -> &'s [Self] {
                match slice {
                    Slice::$variant(s) => s,
                    other => unreachable!(
                        "buffer was checked to be {}, not {:?}",
                        stringify!($type),
                        other.dtype()
                    ),
                }
            }
            fn of_mut<'s>(slice: &'s mut Slice<'_>) -> &'s mut [Self] {
                match slice {
                    Slice::$variant(s) => s,
                    other => unreachable!(
                        "buffer was checked to be {}, not {:?}",
                        stringify!($type),
                        other.dtype()
                    ),
                }
            }
        }
    };
}

element!(f32, F32, 16);
element!(f64, F64, 8);

/// `if a > b { a } else { b }`.
fn larger<T: Element>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

/// `if a < b { a } else { b }`.
fn smaller<T: Element>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

fn dot<T: Element>(a: &[T], b: &[T]) -> T {
    a.iter().zip(b).fold(T::ZERO, |sum, (&x, &y)| sum + x * y)
}
