//! Every kind of kernel by two roads, ours through LLVM and MLIR's own, against the reference; and MLIR's verifier on sizes that
//! people train with.
#![cfg(feature = "mlir")]

#[path = "../../codegen/tests/support/ptx_catalog.rs"]
mod catalog;
#[path = "../../codegen/tests/support/mod.rs"]
mod support;

use piper_codegen::Target;
use piper_codegen::kernel::{Body, Kernel};
use piper_mlir::{Jit, text, verify};
use support::{Data, Native, agree, by_reference, random_data};

fn tokens_below(kernel: &Kernel) -> u64 {
    match &kernel.body {
        Body::CrossEntropy(c) | Body::CrossEntropyDx(c) => c.vocab,
        Body::Embedding(e) | Body::EmbeddingDw(e) => e.vocab,
        _ => 1,
    }
}

/// All kernels around some sizes: those numbers by MLIR, by LLVM and by the reference.
fn compare(sizes: &[u64]) {
    for dtype in catalog::DTYPES {
        let kernels: Vec<Kernel> =
            sizes.iter().flat_map(|size| catalog::around(dtype, *size)).collect();
        let named: Vec<_> = kernels.iter().map(|k| (k.symbol(), k.clone())).collect();
        let distinct: std::collections::BTreeMap<_, _> = named.iter().cloned().collect();
        let distinct: Vec<_> = distinct.into_iter().collect();
        let jit = Jit::new(&distinct).unwrap_or_else(|e| panic!("{e}"));
        let native = Native::new(&kernels, Target::host_level());
        for (seed, (symbol, kernel)) in (0..).zip(&named) {
            let mut data = random_data(kernel, seed, tokens_below(kernel));
            // Second moments are not negative.
            if kernel.scalars() == 2 {
                data.iter_mut().for_each(Data::absolute);
            }
            let scalars = &[0.01, 3.0][..kernel.scalars() as usize];
            let expected = by_reference(kernel, &data, scalars);
            let ours = native.run(kernel, &data, scalars);
            let mut theirs = data.clone();
            let mut slices: Vec<_> = theirs.iter_mut().map(Data::slice).collect();
            jit.run(symbol, &mut slices, scalars).unwrap_or_else(|e| panic!("{e}"));
            agree(kernel, &expected, &theirs, 30.0, "MLIR and the reference");
            agree(kernel, &ours, &theirs, 30.0, "MLIR and LLVM");
        }
    }
}

#[test]
fn small_kernels_agree() {
    compare(&[1, 7]);
}

#[test]
fn larger_kernels_agree() {
    compare(&[33, 257]);
}

#[test]
fn kernels_of_a_training_step_verify() {
    for dtype in catalog::DTYPES {
        let kernels = catalog::training(dtype);
        let named: Vec<_> =
            kernels.into_iter().enumerate().map(|(i, k)| (format!("k{i}"), k)).collect();
        verify(&text(&named)).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn what_mlir_rejects_is_said_in_its_words() {
    let error = verify(
        "module {\n  func.func @f() {\n    %0 = arith.constant 1 : f32\n    func.return\n  }\n}",
    );
    let said = error.expect_err("an integer is no f32").to_string();
    assert!(said.contains("2:") || said.contains("3:"), "{said}");
    let jit = Jit::new(&[]).expect("nothing compiles");
    let error = jit.run("k", &mut [], &[]).expect_err("nothing is there").to_string();
    assert_eq!(error, "there is no kernel k");
}
