//! Elementwise kernels: every thread takes pieces of up to 16 bytes, a grid's width apart.

use super::device::Device;
use super::launch;
use crate::kernel::{Access, Dtype, Map};
use crate::llvm::emit::{I, V};
use crate::llvm::map::{program, scalar_operands};

/// Evaluates the uniform program, once a thread.
fn uniforms<'c>(k: &Device<'_, 'c>, m: &Map) -> Vec<V<'c>> {
    let e = k.e;
    let dtype = e.dtype();
    e.set_dtype(Dtype::F64);
    let values = program(
        e,
        &m.uniforms,
        None,
        |_| unreachable!("uniform programs were checked to read no input"),
        |i| k.scalars[i as usize],
    );
    e.set_dtype(dtype);
    values.into_iter().map(|value| e.convert(value, dtype)).collect()
}

/// The operands of a map.
pub(super) fn map(k: &Device<'_, '_>, m: &Map, dtype: Dtype) {
    let e = k.e;
    let uniforms = uniforms(k, m);
    let lanes = launch::map_lanes(m, dtype);
    // One buffer may be both a scalar operand and an output only if that has one element, which one thread handles.
    let ones = scalar_operands(e, m.operands.iter().map(|o| o.access), &k.buffers);
    let is_broadcast = m.operands.iter().any(|o| matches!(o.access, Access::Row | Access::Column));
    k.pieces(m.rows * m.cols, lanes, |here, lanes| {
        let place = is_broadcast.then(|| (e.idiv(here, m.cols), e.irem(here, m.cols)));
        let (row, col): (I, I) = place.unwrap_or((here, here));
        let input = |i: u32| {
            let buffer = k.buffers[i as usize];
            match m.operands[i as usize].access {
                Access::Full => k.load(buffer, here, lanes),
                Access::Row => k.load(buffer, col, lanes),
                Access::Column => e.load(buffer, row),
                Access::Scalar => ones[i as usize].expect("loaded above"),
            }
        };
        let shape = (lanes > 1).then_some(lanes);
        let results = program(e, &m.body, shape, input, |i| uniforms[i as usize]);
        for (&operand, value) in m.stores.iter().zip(results) {
            k.store(k.buffers[operand as usize], here, value);
        }
    });
}
