//! Matrix products.

use super::map::{index, program};
use super::{Buffers, Element};
use crate::kernel::{Epilogue, Gemm};

pub(super) fn gemm<T: Element>(g: &Gemm, b: &mut Buffers<'_, '_>, scalars: &[f64]) {
    let (m, n, k) = (g.m as usize, g.n as usize, g.k as usize);
    let default = Epilogue::default();
    let epilogue = g.epilogue.as_ref().unwrap_or(&default);
    let scalars: Vec<T> = scalars.iter().map(|&s| T::new(s)).collect();
    let (left, right) = (b.read::<T>(0), b.read::<T>(1));
    let bias = g.bias.then(|| b.read::<T>(2));
    let first = 2 + usize::from(g.bias);
    let operands: Vec<Vec<T>> = (0..epilogue.operands.len()).map(|i| b.read(first + i)).collect();
    let output = first + operands.len();
    let mut outputs: Vec<Vec<T>> = (output..b.0.len()).map(|i| b.read(i)).collect();
    let (mut sums, mut values) = (vec![T::ZERO; n], vec![]);
    for row in 0..g.batch as usize * m {
        let (batch, i) = (row / m, row % m);
        let left = &left[batch * m * k..][..m * k];
        let right = &right[batch * k * n..][..k * n];
        // Column by column of `a`, so that an untransposed `b` is read along its rows; each sum still ascends in `p`.
        sums.fill(T::ZERO);
        for p in 0..k {
            let a = left[if g.transpose_a { p * m + i } else { i * k + p }];
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = *sum + a * right[if g.transpose_b { j * k + p } else { p * n + j }];
            }
        }
        for (j, &sum) in sums.iter().enumerate() {
            let sum = bias.as_ref().map_or(sum, |bias| sum + bias[j]);
            let here = row * n + j;
            if g.accumulate {
                outputs[0][here] = outputs[0][here] + sum;
            } else if g.epilogue.is_some() {
                let input = |i: u32| match i.checked_sub(1).map(|i| i as usize) {
                    None => sum,
                    Some(i) => operands[i][index(epilogue.operands[i], row, j, n)],
                };
                program(&epilogue.body, input, &scalars, &mut values);
                for (output, &result) in outputs.iter_mut().zip(&epilogue.body.results) {
                    output[here] = values[result as usize];
                }
            } else {
                outputs[0][here] = sum;
            }
        }
    }
    for (i, values) in outputs.iter().enumerate() {
        b.write(output + i, values);
    }
}
