//! Products and maps of random shapes against the reference.
#![cfg(feature = "llvm")]

mod support;

use piper_codegen::Target;
use piper_codegen::catalog;
use piper_codegen::kernel::{Attention, Body, Dtype, Gemm, Kernel};
use proptest::prelude::*;

fn dtype() -> impl Strategy<Value = Dtype> {
    prop_oneof![Just(Dtype::F32), Just(Dtype::F64), Just(Dtype::Bf16)]
}

fn gemm() -> impl Strategy<Value = Gemm> {
    (1_u64..80, 1_u64..90, 1_u64..600, any::<[bool; 3]>(), 1_u64..3).prop_map(
        |(m, n, k, [transpose_a, transpose_b, accumulate], batch)| Gemm {
            m,
            n,
            k,
            transpose_a,
            transpose_b,
            batch,
            bias: !accumulate,
            accumulate,
            epilogue: None,
        },
    )
}

fn attention() -> impl Strategy<Value = Attention> {
    (1_u64..3, 1_u64..140, 1_u64..4, 1_u64..3, 1_u64..40).prop_map(
        |(batch, seq, group, kv_heads, head_dim)| Attention {
            batch,
            seq,
            heads: group * kv_heads,
            kv_heads,
            head_dim,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn products(dtype in dtype(), gemm in gemm(), seed: u64) {
        run(Kernel::new(dtype, Body::Gemm(gemm)), seed, 60.0);
    }

    #[test]
    fn attentions(dtype in dtype(), shape in attention(), seed: u64) {
        run(Kernel::new(dtype, Body::Attention { shape, lse: true }), seed, 60.0);
        run(Kernel::new(dtype, Body::AttentionDx(shape)), seed, 200.0);
    }

    #[test]
    fn activations(dtype in dtype(), elems in 1_u64..200, seed: u64) {
        run(catalog::gelu_dx(dtype, elems), seed, 10.0);
        run(catalog::silu_dx(dtype, elems), seed, 10.0);
    }
}

fn run(kernel: Kernel, seed: u64, factor: f64) {
    let native = support::Native::new(std::slice::from_ref(&kernel), Target::host_level());
    let data = support::random_data(&kernel, seed, 1);
    support::check_one(&native, &kernel, &data, &[], factor, Target::host_level());
}
