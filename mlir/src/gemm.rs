//! Matrix products with what follows them.

use piper_codegen::kernel::{Access, Dtype, Epilogue, Gemm};

use crate::function::{Buffer, Function, element};
use crate::scalar::program;

pub(crate) fn gemm(f: &mut Function, g: &Gemm, dtype: Dtype) {
    let real = element(dtype);
    let (a, a_at) = match g.transpose_a {
        false => (f.buffer(&[g.batch, g.m, g.k], real), "b i p"),
        true => (f.buffer(&[g.batch, g.k, g.m], real), "b p i"),
    };
    let (b, b_at) = match g.transpose_b {
        false => (f.buffer(&[g.batch, g.k, g.n], real), "b p j"),
        true => (f.buffer(&[g.batch, g.n, g.k], real), "b j p"),
    };
    let bias = g.bias.then(|| f.buffer(&[g.n], real));
    let identity = Epilogue::default();
    let epilogue = g.epilogue.as_ref().unwrap_or(&identity);
    let operand = |access: &Access| match access {
        Access::Full => (vec![g.batch, g.m, g.n], "b i j"),
        Access::Row => (vec![g.n], "j"),
        Access::Column => (vec![g.batch, g.m], "b i"),
        Access::Scalar => (vec![1], "0"),
    };
    let operands: Vec<(Buffer, &str)> = epilogue
        .operands
        .iter()
        .map(operand)
        .map(|(shape, at)| (f.buffer(&shape, real), at))
        .collect();
    let outputs = epilogue.body.results.len().max(1);
    let outputs: Vec<Buffer> = (0..outputs).map(|_| f.buffer(&[g.batch, g.m, g.n], real)).collect();
    let scalars: Vec<_> = (0..epilogue.scalars).map(|_| f.scalar()).collect();

    let product = f.sums(&[g.batch, g.m, g.n]);
    f.sum("b i j p", &[(&a, a_at), (&b, b_at)], (&product, "b i j"), |f, ins| {
        f.binary("arith.mulf", &ins[0], &ins[1])
    });
    let mut ins = vec![(&product, "b i j")];
    ins.extend(bias.iter().map(|bias| (bias, "j")));
    ins.extend(operands.iter().map(|(buffer, at)| (buffer, *at)));
    let outs: Vec<(&Buffer, &str)> = outputs.iter().map(|out| (out, "b i j")).collect();
    f.generic("b i j", "", &ins, &outs, |f, ins, outs| {
        let mut inputs = ins.to_vec();
        if g.bias {
            let bias = inputs.remove(1);
            inputs[0] = f.binary("arith.addf", &inputs[0], &bias);
        }
        if g.accumulate {
            let before = f.computed(&outs[0]);
            inputs[0] = f.binary("arith.addf", &before, &inputs[0]);
        }
        match g.epilogue {
            None => vec![inputs[0].clone()],
            Some(_) => program(f, &epilogue.body, f.computed, &inputs, &scalars),
        }
    });
}
