//! Kernel descriptions: names, validation, parameters, and what the reference and the compiler refuse.

use piper_codegen::kernel::{Access, Body, Dtype, Gemm, Kernel, Mode};
use piper_codegen::reference::{ReferenceError, Slice, evaluate};
use piper_codegen::{CodegenError, Isolation, OptLevel, Target, VectorLevel, catalog, compile};

fn gemm() -> Gemm {
    Gemm {
        m: 2,
        n: 3,
        k: 4,
        transpose_a: false,
        transpose_b: false,
        batch: 1,
        bias: false,
        accumulate: false,
        epilogue: None,
    }
}

fn kernel(gemm: Gemm) -> Kernel {
    Kernel::new(Dtype::F32, Body::Gemm(gemm))
}

#[test]
fn symbols_follow_structure_and_survive_serialisation() {
    let a = kernel(gemm());
    let text = serde_json::to_string(&a).unwrap();
    let back: Kernel = serde_json::from_str(&text).unwrap();
    assert_eq!(a, back);
    assert_eq!(a.symbol(), back.symbol());
    let others = [
        kernel(Gemm { m: 3, ..gemm() }),
        kernel(Gemm { transpose_a: true, ..gemm() }),
        Kernel { dtype: Dtype::F64, ..a.clone() },
        catalog::scale(Dtype::F32, 10, 0.5),
        catalog::scale(Dtype::F32, 10, f64::NAN),
    ];
    assert!(others.iter().all(|k| k.symbol() != a.symbol()));
    assert_eq!(
        others[4],
        serde_json::from_str(&serde_json::to_string(&others[4]).unwrap()).unwrap()
    );
}

#[test]
fn parameters_and_costs() {
    let k = kernel(Gemm { bias: true, batch: 5, ..gemm() });
    let elems: Vec<_> = k.parameters().iter().map(|p| (p.elems, p.mode)).collect();
    assert_eq!(elems, [(40, Mode::Read), (60, Mode::Read), (3, Mode::Read), (30, Mode::Write)]);
    assert_eq!(k.flops(), 30 * (2 * 4 + 1));
    assert_eq!(k.bytes_moved(), 4 * (40 + 60 + 3 + 30));
    let add = catalog::add(Dtype::F64, 7);
    assert_eq!((add.flops(), add.bytes_moved(), add.workspace_bytes()), (7, 3 * 7 * 8, 0));
    let update = catalog::sgd(Dtype::F32, 7, 0.0, None);
    assert_eq!(update.bytes_moved(), 4 * (2 * 7 + 7 + 1));
    assert_eq!(update.scalars(), 1);
}

#[test]
fn meaningless_kernels_are_refused_with_the_reason() {
    let reason = |k: &Kernel| k.validate().unwrap_err();
    assert!(
        reason(&kernel(Gemm { accumulate: true, bias: true, ..gemm() })).contains("accumulating")
    );
    assert!(reason(&kernel(Gemm { k: 0, ..gemm() })).contains("contraction"));
    assert!(reason(&Kernel { dtype: Dtype::I32, ..kernel(gemm()) }).contains("f32, f64 or bf16"));
    let mut add = catalog::add(Dtype::F32, 4);
    let Body::Map(map) = &mut add.body else { unreachable!() };
    map.operands[2].access = Access::Row;
    assert!(reason(&add).contains("broadcast"));
    let Body::Map(map) = &mut add.body else { unreachable!() };
    map.operands[2].access = Access::Full;
    map.stores[0] = 9;
    assert!(reason(&add).contains("stored 0 times"));
    assert!(reason(&kernel(Gemm { m: 1 << 46, ..gemm() })).contains("2^48"));
    assert!(reason(&kernel(Gemm { m: u64::MAX, n: u64::MAX, ..gemm() })).contains("2^48"));
}

#[test]
fn the_reference_checks_what_it_is_given() {
    let add = catalog::add(Dtype::F32, 2);
    let (mut a, mut b, mut y) = ([1.0_f32, 2.0], [3.0_f32, 4.0], [0.0_f32; 2]);
    let mut buffers = [Slice::F32(&mut a), Slice::F32(&mut b), Slice::F32(&mut y)];
    evaluate(&add, &mut buffers, &[]).unwrap();
    assert!(matches!(
        evaluate(&add, &mut buffers[..2], &[]),
        Err(ReferenceError::BufferCount { wanted: 3, given: 2 })
    ));
    let mut long = [0.0_f64; 2];
    buffers[1] = Slice::F64(&mut long);
    let message = evaluate(&add, &mut buffers, &[]).unwrap_err().to_string();
    assert_eq!(message, "parameter 1 is 2 x F32, the buffer holds 2 x F64");
    assert_eq!(y, [4.0, 6.0]);
}

#[test]
fn bad_requests_are_refused_before_any_code_is_generated() {
    let target = Target::generic(VectorLevel::Portable);
    let run = |kernels: &[(String, Kernel)]| {
        compile(kernels, &target, OptLevel::Full, Isolation::InProcess).unwrap_err()
    };
    let (add, mul) = (catalog::add(Dtype::F32, 2), catalog::mul(Dtype::F32, 2));
    let clash = [("f".to_owned(), add.clone()), ("f".to_owned(), mul)];
    assert!(matches!(run(&clash), CodegenError::SymbolClash { symbol } if symbol == "f"));
    for bad in ["", "1f", "a b", "a\0b"] {
        assert!(matches!(run(&[(bad.to_owned(), add.clone())]), CodegenError::BadSymbol { .. }));
    }
    let invalid = run(&[("f".to_owned(), kernel(Gemm { k: 0, ..gemm() }))]);
    assert!(matches!(invalid, CodegenError::InvalidKernel { .. }), "{invalid}");
    #[cfg(not(feature = "llvm"))]
    assert!(matches!(run(&[("f".to_owned(), add)]), CodegenError::WithoutLlvm));
}
