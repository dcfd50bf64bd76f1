//! Matrix products against the reference, on every vector level of this machine.
#![cfg(feature = "llvm")]

mod support;

use piper_codegen::catalog;
use piper_codegen::kernel::{Access, Body, Dtype, Epilogue, Gemm, Kernel};
use piper_codegen::scalar::{ScalarOp, ScalarProgram};

fn plain(m: u64, n: u64, k: u64) -> Gemm {
    Gemm {
        m,
        n,
        k,
        transpose_a: false,
        transpose_b: false,
        batch: 1,
        bias: false,
        accumulate: false,
        epilogue: None,
    }
}

fn kernel(dtype: Dtype, gemm: Gemm) -> Kernel {
    Kernel::new(dtype, Body::Gemm(gemm))
}

#[test]
fn every_transposition_and_edge() {
    for dtype in [Dtype::F32, Dtype::F64, Dtype::Bf16] {
        let mut kernels = vec![];
        let shapes = [
            (1, 1, 1),
            (3, 5, 7),
            (8, 32, 16),
            (13, 33, 17),
            (64, 128, 32),
            (65, 70, 257),
            (7, 600, 300),
            (300, 31, 5),
            (23, 16, 64),
            (48, 96, 40),
            (257, 33, 7),
            (33, 7, 257),
            (7, 257, 33),
            (1, 257, 600),
            (257, 1, 33),
            // More than one block of columns, of the contraction, and of rows of sums.
            (20, 1050, 390),
            (1030, 40, 400),
        ];
        for (m, n, k) in shapes {
            for transposes in 0..4 {
                for accumulate in [false, true] {
                    let (transpose_a, transpose_b) = (transposes & 1 == 1, transposes & 2 == 2);
                    kernels.push(kernel(
                        dtype,
                        Gemm { transpose_a, transpose_b, accumulate, ..plain(m, n, k) },
                    ));
                }
            }
        }
        kernels.push(kernel(dtype, Gemm { batch: 3, transpose_b: true, ..plain(17, 40, 9) }));
        support::check(&kernels, &[], 1, 40.0);
    }
}

/// `c = gelu(ab + bias) * row + residual * s`, with the product itself as a second output.
fn rich_epilogue() -> Epilogue {
    let mut body = ScalarProgram::default();
    let product = body.push(ScalarOp::Input(0));
    let activated = catalog::push_gelu(&mut body, product);
    let row = body.push(ScalarOp::Input(2));
    let scaled = body.push(ScalarOp::Mul(activated, row));
    let residual = body.push(ScalarOp::Input(1));
    let s = body.push(ScalarOp::Scalar(0));
    let residual = body.push(ScalarOp::Mul(residual, s));
    let column = body.push(ScalarOp::Input(3));
    let one = body.push(ScalarOp::Input(4));
    let column = body.push(ScalarOp::Mul(column, one));
    let residual = body.push(ScalarOp::Add(residual, column));
    let sum = body.push(ScalarOp::Add(scaled, residual));
    body.results = vec![sum, product];
    Epilogue {
        operands: vec![Access::Full, Access::Row, Access::Column, Access::Scalar],
        scalars: 1,
        body,
    }
}

#[test]
fn bias_and_epilogue() {
    for dtype in [Dtype::F32, Dtype::F64, Dtype::Bf16] {
        let mut kernels = vec![];
        for (m, n, k) in [(5, 9, 3), (64, 128, 300), (33, 1030, 20), (9, 528, 11)] {
            kernels.push(kernel(dtype, Gemm { bias: true, ..plain(m, n, k) }));
            kernels.push(kernel(dtype, Gemm { epilogue: Some(rich_epilogue()), ..plain(m, n, k) }));
            let epilogue = Some(rich_epilogue());
            kernels.push(kernel(
                dtype,
                Gemm { bias: true, batch: 2, epilogue, transpose_a: true, ..plain(m, n, k) },
            ));
        }
        support::check(&kernels, &[0.75], 1, 40.0);
    }
}

#[test]
fn an_element_keeps_its_bits_wherever_the_edges_fall() {
    let (big, small) =
        (kernel(Dtype::F32, plain(64, 96, 50)), kernel(Dtype::F32, plain(13, 96, 50)));
    let native =
        support::Native::new(&[big.clone(), small.clone()], piper_codegen::Target::host_level());
    let data = support::random_data(&big, 3, 1);
    let whole = native.run(&big, &data, &[]);
    let support::Data::F32(a) = &data[0] else { unreachable!() };
    let part = vec![
        support::Data::F32(a[..13 * 50].to_vec()),
        data[1].clone(),
        support::Data::F32(vec![0.0; 13 * 96]),
    ];
    let part = native.run(&small, &part, &[]);
    assert_eq!(part[2].bits(), whole[2].bits()[..13 * 96]);
}
