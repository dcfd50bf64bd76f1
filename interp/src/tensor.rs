//! Dense row-major values: what an SSA value of tensor type holds while it is interpreted.

use std::fmt;
use std::ops::Range;

use crate::error::NumericError;

/// What a tensor holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// Tokens and class indices.
    I32,
    /// bfloat16, which values are stored in; operations compute in f32.
    Bf16,
}

/// A bfloat16: the upper half of an f32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bf16(pub u16);

impl Bf16 {
    /// Rounds to nearest, ties to even; a NaN stays one.
    pub fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        if value.is_nan() {
            return Self((bits >> 16) as u16 | 0x40);
        }
        let odd = (bits >> 16) & 1;
        Self((bits.wrapping_add(0x7FFF + odd) >> 16) as u16)
    }

    /// Exact.
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I32 => "i32",
            Self::Bf16 => "bf16",
        })
    }
}

/// The values of a tensor, in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Values of `f32` tensors.
    F32(Vec<f32>),
    /// Values of `f64` tensors.
    F64(Vec<f64>),
    /// Values of `i32` tensors.
    I32(Vec<i32>),
    /// Values of `bf16` tensors.
    Bf16(Vec<Bf16>),
}

/// A Rust type that tensors can hold.
pub trait Element: Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Its name in tensor types.
    const TYPE: ElementType;
    /// Values as tensor data.
    fn into_data(values: Vec<Self>) -> Data;
    /// The values, if they are of this type.
    fn from_data(data: &Data) -> Option<&[Self]>;
    /// The values for writing, if they are of this type.
    fn from_data_mut(data: &mut Data) -> Option<&mut Vec<Self>>;
}

macro_rules! element {
    ($t:ty, $variant:ident) => {
        impl Element for $t {
            const TYPE: ElementType = ElementType::$variant;
            fn into_data(values: Vec<Self>) -> Data {
                Data::$variant(values)
            }
            fn from_data(data: &Data) -> Option<&[Self]> {
                match data {
                    Data::$variant(values) => Some(values),
                    _ => None,
                }
            }
            fn from_data_mut(data: &mut Data) -> Option<&mut Vec<Self>> {
                match data {
                    Data::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    };
}
element!(f32, F32);
element!(f64, F64);
element!(i32, I32);
element!(Bf16, Bf16);

/// Runs `$body` with `$values` bound to the typed vector inside a [`Data`].
macro_rules! with_values {
    ($data:expr, $values:ident => $body:expr) => {
        match $data {
            Data::F32($values) => $body,
            Data::F64($values) => $body,
            Data::I32($values) => $body,
            Data::Bf16($values) => $body,
        }
    };
}

/// A dense tensor. A scalar has the empty shape and one value.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Sizes of the dimensions, outermost first.
    pub shape: Vec<usize>,
    /// As many values as the product of `shape`, the last dimension contiguous.
    pub data: Data,
}

impl Tensor {
    /// A tensor of the given values.
    ///
    /// # Errors
    /// When the number of values is not the product of the shape.
    pub fn new<T: Element>(
        shape: impl Into<Vec<usize>>,
        values: Vec<T>,
    ) -> Result<Self, NumericError> {
        let shape = shape.into();
        let expected = shape.iter().product();
        if values.len() != expected {
            return Err(NumericError::Length { shape, expected, found: values.len() });
        }
        Ok(Self { shape, data: T::into_data(values) })
    }

    /// Every value the same.
    pub fn filled<T: Element>(shape: impl Into<Vec<usize>>, value: T) -> Self {
        let shape = shape.into();
        let len = shape.iter().product();
        Self { shape, data: T::into_data(vec![value; len]) }
    }

    /// A tensor of rank 0.
    pub fn scalar<T: Element>(value: T) -> Self {
        Self::filled(Vec::new(), value)
    }

    /// All zeros, of an element type known at run time.
    pub fn zeros(shape: impl Into<Vec<usize>>, element_type: ElementType) -> Self {
        match element_type {
            ElementType::F32 => Self::filled(shape, 0f32),
            ElementType::F64 => Self::filled(shape, 0f64),
            ElementType::I32 => Self::filled(shape, 0i32),
            ElementType::Bf16 => Self::filled(shape, Bf16::default()),
        }
    }

    /// What it holds.
    pub fn element_type(&self) -> ElementType {
        match self.data {
            Data::F32(_) => ElementType::F32,
            Data::F64(_) => ElementType::F64,
            Data::I32(_) => ElementType::I32,
            Data::Bf16(_) => ElementType::Bf16,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        with_values!(&self.data, values => values.len())
    }

    /// Whether it has no values (some dimension is 0).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, if they are of type `T`.
    pub fn values<T: Element>(&self) -> Option<&[T]> {
        T::from_data(&self.data)
    }

    /// The values for writing, if they are of type `T`.
    pub fn values_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        T::from_data_mut(&mut self.data).map(Vec::as_mut_slice)
    }

    /// All values in double precision, for comparing and reporting.
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            Data::F32(values) => values.iter().map(|&v| f64::from(v)).collect(),
            Data::F64(values) => values.clone(),
            Data::I32(values) => values.iter().map(|&v| f64::from(v)).collect(),
            Data::Bf16(values) => values.iter().map(|v| f64::from(v.to_f32())).collect(),
        }
    }

    /// The same values in another element type, rounded to the nearest. Between f64 and bf16 it goes by f32.
    pub fn cast(&self, to: ElementType) -> Self {
        let data = match (&self.data, to) {
            (data, to) if to == self.element_type() => data.clone(),
            (_, ElementType::F64) => Data::F64(self.to_f64()),
            (_, ElementType::I32) => Data::I32(self.to_f64().iter().map(|&v| v as i32).collect()),
            (Data::Bf16(values), _) => Data::F32(values.iter().map(|v| v.to_f32()).collect()),
            (Data::F32(values), _) => {
                Data::Bf16(values.iter().map(|&v| Bf16::from_f32(v)).collect())
            }
            (_, ElementType::F32) => Data::F32(self.to_f64().iter().map(|&v| v as f32).collect()),
            (_, ElementType::Bf16) => {
                let narrow = |v: &f64| Bf16::from_f32(*v as f32);
                Data::Bf16(self.to_f64().iter().map(narrow).collect())
            }
        };
        Self { shape: self.shape.clone(), data }
    }

    /// The same values under another shape.
    ///
    /// # Errors
    /// When the shapes have different element counts.
    pub fn reshape(self, shape: impl Into<Vec<usize>>) -> Result<Self, NumericError> {
        let shape = shape.into();
        let (expected, found) = (shape.iter().product(), self.len());
        if expected != found {
            return Err(NumericError::Length { shape, expected, found });
        }
        Ok(Self { shape, data: self.data })
    }

    /// The part of dimension `dim` inside `range`, all other dimensions whole: one microbatch, or one shard.
    ///
    /// # Errors
    /// When there is no such dimension or the range leaves it.
    pub fn slice(&self, dim: usize, range: Range<usize>) -> Result<Self, NumericError> {
        let size = *self.shape.get(dim).ok_or_else(|| NumericError::Attribute {
            op: "slice",
            reason: format!("shape {:?} has no dimension {dim}", self.shape),
        })?;
        if range.start > range.end || range.end > size {
            return Err(NumericError::Attribute {
                op: "slice",
                reason: format!("{range:?} leaves dimension {dim}, which has size {size}"),
            });
        }
        let inner: usize = self.shape[dim + 1..].iter().product();
        let outer: usize = self.shape[..dim].iter().product();
        let mut shape = self.shape.clone();
        shape[dim] = range.len();
        fn pick<T: Element>(values: &[T], outer: usize, stride: usize, part: Range<usize>) -> Data {
            let rows =
                (0..outer).flat_map(|o| &values[o * stride + part.start..o * stride + part.end]);
            T::into_data(rows.copied().collect())
        }
        let part = range.start * inner..range.end * inner;
        let data = with_values!(&self.data, values => pick(values, outer, size * inner, part));
        Ok(Self { shape, data })
    }

    /// The parts joined along dimension `dim`; the inverse of cutting with [`Tensor::slice`].
    ///
    /// # Errors
    /// When there is no part, or two parts differ in element type or in another dimension.
    pub fn concat(dim: usize, parts: &[&Tensor]) -> Result<Self, NumericError> {
        let error = |reason: String| NumericError::Attribute { op: "concat", reason };
        let first = parts.first().ok_or_else(|| error("no parts".into()))?;
        if dim >= first.shape.len() {
            return Err(error(format!("shape {:?} has no dimension {dim}", first.shape)));
        }
        let mut shape = first.shape.clone();
        shape[dim] = 0;
        for part in parts {
            let same_outside = part.shape.len() == shape.len()
                && (0..shape.len()).all(|d| d == dim || part.shape[d] == shape[d]);
            if !same_outside || part.element_type() != first.element_type() {
                return Err(error(format!(
                    "a part of {} {:?} does not fit one of {} {:?} along dimension {dim}",
                    part.element_type(),
                    part.shape,
                    first.element_type(),
                    first.shape
                )));
            }
            shape[dim] += part.shape[dim];
        }
        fn join<T: Element>(_: &[T], dim: usize, outer: usize, parts: &[&Tensor]) -> Data {
            let mut joined = Vec::with_capacity(parts.iter().map(|p| p.len()).sum());
            for o in 0..outer {
                for part in parts {
                    let row: usize = part.shape[dim..].iter().product();
                    if let Some(values) = part.values::<T>() {
                        joined.extend_from_slice(&values[o * row..(o + 1) * row]);
                    }
                }
            }
            T::into_data(joined)
        }
        let outer = shape[..dim].iter().product();
        let data = with_values!(&first.data, values => join(values, dim, outer, parts));
        Ok(Self { shape, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_and_joining_are_inverse_along_every_dimension() {
        let t = Tensor::new([2, 3, 4], (0..24).collect::<Vec<i32>>()).unwrap();
        for (dim, size) in [(0, 2), (1, 3), (2, 4)] {
            let parts: Vec<_> = (0..size).map(|i| t.slice(dim, i..i + 1).unwrap()).collect();
            assert_eq!(Tensor::concat(dim, &parts.iter().collect::<Vec<_>>()).unwrap(), t);
        }
        assert_eq!(
            t.slice(1, 1..2).unwrap().values::<i32>().unwrap(),
            [4, 5, 6, 7, 16, 17, 18, 19]
        );
    }

    #[test]
    fn misfits_are_errors() {
        assert_eq!(
            Tensor::new([2, 3], vec![0f32; 5]).unwrap_err().to_string(),
            "shape [2, 3] has 6 elements, but 5 values were given"
        );
        let t = Tensor::filled([2, 3], 1f32);
        assert!(t.slice(2, 0..1).unwrap_err().to_string().contains("no dimension 2"));
        assert!(t.slice(1, 2..4).unwrap_err().to_string().contains("leaves dimension 1"));
        assert!(t.clone().reshape([7]).is_err());
        assert!(Tensor::concat(0, &[&t, &Tensor::filled([2, 4], 1f32)]).is_err());
        assert!(Tensor::concat(0, &[&t, &Tensor::filled([2, 3], 1f64)]).is_err());
        assert!(Tensor::concat(0, &[]).is_err());
    }
}
