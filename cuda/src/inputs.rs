//! Inputs of a step on the host, where a data source fills them and devices take their rows from.

#![allow(unsafe_code)]

use piper_plan::{DType, Input};
use piper_runtime::SliceMut;

/// An input of the whole batch, on the host.
pub(crate) enum HostInput {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I32(Vec<i32>),
    Bf16(Vec<u16>),
}

impl HostInput {
    pub(crate) fn of(input: &Input) -> Self {
        let elems = input.shape.iter().product::<u64>() as usize;
        match input.dtype {
            DType::F32 => Self::F32(vec![0.0; elems]),
            DType::F64 => Self::F64(vec![0.0; elems]),
            DType::I32 => Self::I32(vec![0; elems]),
            DType::Bf16 => Self::Bf16(vec![0; elems]),
        }
    }

    pub(crate) fn slice(&mut self) -> SliceMut<'_> {
        match self {
            Self::F32(v) => SliceMut::F32(v),
            Self::F64(v) => SliceMut::F64(v),
            Self::I32(v) => SliceMut::I32(v),
            Self::Bf16(v) => SliceMut::Bf16(v),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        fn of<T>(values: &[T]) -> &[u8] {
            // SAFETY: numbers without padding, as many bytes as they have.
            unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
        }
        match self {
            Self::F32(v) => of(v),
            Self::F64(v) => of(v),
            Self::I32(v) => of(v),
            Self::Bf16(v) => of(v),
        }
    }
}
