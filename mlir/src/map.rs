//! Fused elementwise kernels, casts, and what is as simple.

use piper_codegen::kernel::{Access, Dtype, Map};

use crate::function::{Buffer, Function, Value, element};
use crate::scalar::program;

pub(crate) fn map(f: &mut Function, m: &Map, dtype: Dtype) {
    let real = element(dtype);
    let operands: Vec<(Buffer, &str)> = m
        .operands
        .iter()
        .map(|operand| {
            let (shape, at) = match operand.access {
                Access::Full => (vec![m.rows, m.cols], "row col"),
                Access::Row => (vec![m.cols], "col"),
                Access::Column => (vec![m.rows], "row"),
                Access::Scalar => (vec![1], "0"),
            };
            (f.buffer(&shape, real), at)
        })
        .collect();
    let scalars: Vec<Value> = (0..m.scalars).map(|_| f.scalar()).collect();
    let uniforms = program(f, &m.uniforms, "f64", &[], &scalars);
    let (mut ins, mut outs) = (Vec::new(), Vec::new());
    for (operand, (buffer, at)) in m.operands.iter().zip(&operands) {
        match operand.mode.writes() {
            true => outs.push((buffer, *at)),
            false => ins.push((buffer, *at)),
        }
    }
    f.generic("row col", "", &ins, &outs, |f, ins, outs| {
        // Inputs are numbered as operands are; what is written may be read as well.
        let (mut read, mut written) = (ins.iter(), outs.iter());
        let mut inputs = Vec::new();
        for operand in &m.operands {
            let next = if operand.mode.writes() { written.next() } else { read.next() };
            inputs.extend(next.map(|value| f.computed(value)));
        }
        let results = program(f, &m.body, f.computed, &inputs, &uniforms);
        let stored = |index: usize| {
            let at = m.stores.iter().position(|store| *store as usize == index);
            at.map(|at| results[at].clone())
        };
        (0..m.operands.len()).filter_map(stored).collect()
    });
}

pub(crate) fn cast(f: &mut Function, elems: u64, from: Dtype, to: Dtype) {
    let x = f.buffer(&[elems], element(from));
    let y = f.buffer(&[elems], element(to));
    f.each("i", &[(&x, "i")], (&y, "i"), |_, ins| ins[0].clone());
}

pub(crate) fn swap_blocks(f: &mut Function, [a, b, block]: [u64; 3], dtype: Dtype) {
    let x = f.buffer(&[a, b, block], element(dtype));
    let y = f.buffer(&[b, a, block], element(dtype));
    f.each("j i e", &[(&x, "i j e")], (&y, "j i e"), |_, ins| ins[0].clone());
}
