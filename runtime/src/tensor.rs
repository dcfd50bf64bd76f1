//! Logical tensors: gathered from shards, spread to them.

use piper_plan::DType;
use piper_plan::state::Run;

/// A logical tensor on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorValue {
    /// Logical shape.
    pub shape: Vec<u64>,
    /// Element type.
    pub dtype: DType,
    /// Row-major elements in the machine's byte order.
    pub bytes: Vec<u8>,
}

impl TensorValue {
    /// The elements as f64 (exact for all types).
    pub fn to_f64(&self) -> Vec<f64> {
        let size = self.dtype.size() as usize;
        self.bytes.chunks_exact(size).map(|bytes| element(bytes, self.dtype)).collect()
    }
}

fn element(bytes: &[u8], dtype: DType) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::from_ne_bytes(bytes.try_into().expect("4 bytes"))),
        DType::F64 => f64::from_ne_bytes(bytes.try_into().expect("8 bytes")),
        DType::I32 => f64::from(i32::from_ne_bytes(bytes.try_into().expect("4 bytes"))),
        DType::Bf16 => f64::from(f32::from_bits(
            u32::from(u16::from_ne_bytes(bytes.try_into().expect("2 bytes"))) << 16,
        )),
    }
}

/// Writes `value`, rounded to nearest even, as one element.
pub fn write_element(value: f64, dtype: DType, to: &mut [u8]) {
    match dtype {
        DType::F32 => to.copy_from_slice(&(value as f32).to_ne_bytes()),
        DType::F64 => to.copy_from_slice(&value.to_ne_bytes()),
        DType::I32 => to.copy_from_slice(&(value as i32).to_ne_bytes()),
        DType::Bf16 => to.copy_from_slice(&bf16_bits(value).to_ne_bytes()),
    }
}

/// Nearest bfloat16, ties to even; through f32 rounded to odd, so that rounding twice is rounding once.
pub(crate) fn bf16_bits(value: f64) -> u16 {
    let nearest = value as f32;
    if nearest.is_nan() {
        return ((nearest.to_bits() >> 16) as u16) | 0x40;
    }
    let mut bits = nearest.to_bits();
    if nearest.is_finite() && f64::from(nearest) != value {
        if f64::from(nearest).abs() > value.abs() {
            bits -= 1; // towards zero
        }
        bits |= 1;
    }
    let round = 0x7FFF + ((bits >> 16) & 1);
    ((bits.wrapping_add(round)) >> 16) as u16
}

/// Why a tensor could not be read back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadBackError {
    /// Nothing has this name.
    #[error("no state is called {0}")]
    Unknown(String),
    /// Two devices disagree on an element that both hold.
    #[error("replicas of {name} differ: element {element} is {values}")]
    Replicas {
        /// The tensor.
        name: String,
        /// Row-major index.
        element: u64,
        /// Both values with the coordinates of their devices.
        values: String,
    },
    /// No device holds it.
    #[error("element {element} of {name} was not stored")]
    Missing {
        /// The tensor.
        name: String,
        /// Row-major index.
        element: u64,
    },
    /// A device's memory could not be read or written.
    #[error("{0}")]
    Device(String),
    /// A value to write does not fit the tensor.
    #[error("{name} is {expected}, the value is {found}")]
    Mismatch {
        /// The tensor.
        name: String,
        /// Shape and type in the plan.
        expected: String,
        /// Shape and type given.
        found: String,
    },
}

/// Puts a tensor together, checking that replicas agree.
pub(crate) struct Gather<'a> {
    name: &'a str,
    value: TensorValue,
    /// Device that supplied each element, or `NONE`.
    from: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl<'a> Gather<'a> {
    pub(crate) fn new(name: &'a str, shape: &[u64], dtype: DType) -> Gather<'a> {
        let elems = shape.iter().product::<u64>() as usize;
        let value = TensorValue {
            shape: shape.to_vec(),
            dtype,
            bytes: vec![0; elems * dtype.size() as usize],
        };
        Gather { name, value, from: vec![NONE; elems] }
    }

    /// Adds what a device holds; `buffer` is its buffer's contents.
    pub(crate) fn add(
        &mut self,
        device: usize,
        runs: &[Run],
        buffer: &[u8],
        render: impl Fn(usize) -> String,
    ) -> Result<(), ReadBackError> {
        let size = self.value.dtype.size() as usize;
        for run in runs {
            for k in 0..run.len as usize {
                let (to, from) = (run.tensor as usize + k, run.buffer as usize + k);
                let new = &buffer[from * size..(from + 1) * size];
                let have = &mut self.value.bytes[to * size..(to + 1) * size];
                if self.from[to] == NONE {
                    have.copy_from_slice(new);
                    self.from[to] = device as u32;
                } else if have != new {
                    let (first, second) =
                        (element(have, self.value.dtype), element(new, self.value.dtype));
                    let (one, other) = (render(self.from[to] as usize), render(device));
                    let values = format!("{first:e} on {one} and {second:e} on {other}");
                    return Err(ReadBackError::Replicas {
                        name: self.name.to_owned(),
                        element: to as u64,
                        values,
                    });
                }
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<TensorValue, ReadBackError> {
        match self.from.iter().position(|&d| d == NONE) {
            Some(at) => {
                Err(ReadBackError::Missing { name: self.name.to_owned(), element: at as u64 })
            }
            None => Ok(self.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bf16_rounds_once() {
        assert_eq!(bf16_bits(1.0), 0x3F80);
        assert_eq!(bf16_bits(1.0 + 1.0 / 256.0), 0x3F80); // tie to even
        assert_eq!(bf16_bits(1.0 + 1.0 / 256.0 + 1e-12), 0x3F81); // f32 would have rounded to the tie
        assert_eq!(bf16_bits(-1.0 - 3.0 / 256.0), 0xBF82);
        assert_eq!(bf16_bits(f64::INFINITY), 0x7F80);
        assert!(f32::from_bits(u32::from(bf16_bits(f64::NAN)) << 16).is_nan());
    }
}
