//! Generated PTX, run on a CPU by an interpreter that checks bounds, races, barriers and unwritten memory: every kind of kernel at edge
//! sizes gives what the reference gives.
#![cfg(feature = "llvm")]

#[path = "support/ptx_catalog.rs"]
#[allow(dead_code)] // the sizes people train with are assembled, not run
mod catalog;
mod support;

use std::num::NonZeroU32;

use piper_codegen::Isolation;
use piper_codegen::catalog::{self as single, AdamW};
use piper_codegen::kernel::{
    Attention, Body, CrossEntropy, Dtype, Embedding, Gemm, Kernel, Mode, Norm, NormKind,
};
use piper_codegen::ptx::{Chip, PtxKernel, compile};
use piper_ptx::{Arg, Machine, Module};
use support::{Data, agree, by_reference, random_data};

/// Rows of the tables that kernels of the catalogue look tokens up in, and tokens they predict: the least of them.
fn tokens_below(kernel: &Kernel) -> u64 {
    match &kernel.body {
        Body::CrossEntropy(c) | Body::CrossEntropyDx(c) => c.vocab,
        Body::Embedding(e) | Body::EmbeddingDw(e) => e.vocab,
        _ => 1,
    }
}

fn bytes(data: &Data) -> Vec<u8> {
    match data {
        Data::F32(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Data::F64(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Data::I32(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Data::Bf16(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}

fn from_bytes(like: &Data, bytes: &[u8]) -> Data {
    match like {
        Data::F32(_) => Data::F32(words(bytes, f32::from_le_bytes)),
        Data::F64(_) => Data::F64(words(bytes, f64::from_le_bytes)),
        Data::I32(_) => Data::I32(words(bytes, i32::from_le_bytes)),
        Data::Bf16(_) => Data::Bf16(words(bytes, u16::from_le_bytes)),
    }
}

fn words<const N: usize, T>(bytes: &[u8], of: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|word| of(*word)).collect()
}

/// Runs a kernel's stages. Each buffer is an allocation of its own, so that no access beyond it goes unseen; what the kernel
/// only writes is memory that nobody wrote before, and so is workspace.
fn run(module: &Module, launched: &PtxKernel, data: &[Data], scalars: &[f64]) -> Vec<Data> {
    let mut machine = Machine::new();
    let mut args = Vec::new();
    let mut places = Vec::new();
    for (data, parameter) in data.iter().zip(&launched.params) {
        let bytes = bytes(data);
        let place = machine.alloc(bytes.len());
        if parameter.mode != Mode::Write {
            machine.copy_in(place, &bytes).expect("it fits");
        }
        args.push(Arg::Ptr(place));
        places.push(place);
    }
    args.extend(scalars[..launched.scalars as usize].iter().map(|s| Arg::F64(*s)));
    if launched.workspace_bytes > 0 {
        args.push(Arg::Ptr(machine.alloc(launched.workspace_bytes as usize)));
    }
    for stage in &launched.stages {
        let kernel = module.kernel(&stage.entry).unwrap_or_else(|e| panic!("{e}"));
        machine
            .launch(&kernel, stage.grid, stage.block, stage.dynamic_shared_bytes, &args)
            .unwrap_or_else(|fault| panic!("{}: {fault}", launched.symbol));
    }
    let read = |(data, place): (&Data, &piper_ptx::DevicePtr)| {
        let mut found = bytes(data);
        machine.copy_out(*place, &mut found).expect("it is there");
        from_bytes(data, &found)
    };
    data.iter().zip(&places).map(read).collect()
}

/// Every kind of kernel around `size` on `chip`, over all element types; how many.
fn check(chip: Chip, size: u64) -> usize {
    catalog::DTYPES.map(|dtype| check_kernels(chip, &catalog::around(dtype, size))).iter().sum()
}

/// On a few blocks, each of which takes the work of several, kernels compute the same to the bit.
#[test]
fn persistent_grids_compute_the_same_bits() {
    let mut bounded = 0;
    for dtype in catalog::DTYPES {
        let kernels = catalog::around(dtype, 33);
        let few = |k: &Kernel| Kernel { most_blocks: NonZeroU32::new(2), ..k.clone() };
        let all = kernels.iter().cloned().chain(kernels.iter().map(few));
        let named: Vec<_> = all.map(|k| (k.symbol(), k)).collect();
        let (text, launched) = compile(&named, Chip::Sm80, Isolation::InProcess).expect("PTX");
        let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
        let (whole, few) = launched.split_at(kernels.len());
        for (seed, (kernel, (whole, few))) in
            (0u64..).zip(kernels.iter().zip(whole.iter().zip(few)))
        {
            assert!(few.stages.iter().all(|s| s.grid.iter().product::<u32>() <= 2));
            bounded += usize::from(few.stages.iter().any(|s| s.work.is_some()));
            let mut data = random_data(kernel, seed, tokens_below(kernel));
            if kernel.scalars() == 2 {
                data.iter_mut().for_each(support::Data::absolute);
            }
            let found = [whole, few].map(|k| run(&module, k, &data, &[0.01, 3.0]));
            let [whole, few] = found.map(|data| data.iter().flat_map(bytes).collect::<Vec<u8>>());
            assert_eq!(whole, few, "{}", kernel.symbol());
        }
    }
    assert!(bounded >= 20, "{bounded}");
}

fn check_kernels(chip: Chip, kernels: &[Kernel]) -> usize {
    let named: Vec<_> = kernels.iter().map(|k| (k.symbol(), k.clone())).collect();
    let (text, launched) = compile(&named, chip, Isolation::InProcess).expect("PTX");
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(module.target(), chip.architecture());
    for (seed, (kernel, launched)) in (0u64..).zip(kernels.iter().zip(&launched)) {
        let mut data = random_data(kernel, seed, tokens_below(kernel));
        // Second moments are not negative.
        if kernel.scalars() == 2 {
            data.iter_mut().for_each(support::Data::absolute);
        }
        let scalars = [0.01, 3.0];
        let expected = by_reference(kernel, &data, &scalars[..kernel.scalars() as usize]);
        let found = run(&module, launched, &data, &scalars);
        // Probabilities and gradients of scores are rounded to bf16 where tensor cores multiply them, so that an error is
        // relative to what is added up, not to the sum.
        let is_attention = matches!(kernel.body, Body::Attention { .. } | Body::AttentionDx(_));
        let factor = match is_attention && kernel.dtype == Dtype::Bf16 {
            true => 2_f64.powi(-8) / f64::from(f32::EPSILON),
            false => 30.0,
        };
        agree(kernel, &expected, &found, factor, chip.name());
    }
    kernels.len()
}

/// The edge sizes on one chip.
fn check_chip(chip: Chip) {
    let checked: usize = [1, 7, 33, 257].map(|size| check(chip, size)).iter().sum();
    println!("{}: {checked} kernels agree", chip.name());
}

#[test]
fn sm_80_gives_what_the_reference_gives() {
    check_chip(Chip::Sm80);
}

#[test]
fn sm_90a_gives_what_the_reference_gives() {
    check_chip(Chip::Sm90a);
}

#[test]
fn sm_100a_gives_what_the_reference_gives() {
    check_chip(Chip::Sm100a);
}

/// Enough products for every multiprocessor get tiles of 128 by 128 on tensor cores.
#[test]
fn large_tiles_of_tensor_cores_give_what_the_reference_gives() {
    let kernels: Vec<_> = [(false, false), (false, true), (true, false), (true, true)]
        .map(|(a, b)| Gemm { batch: 110, ..catalog::gemm(40, 136, 72, a, b) })
        .map(|g| Kernel::new(Dtype::Bf16, Body::Gemm(g)))
        .to_vec();
    check_kernels(Chip::Sm80, &kernels);
}

/// The same by warpgroups, whose operands lie in cores: every way of storing them, with edges.
#[test]
fn products_of_warpgroups_give_what_the_reference_gives() {
    let ways = [(false, false), (false, true), (true, false), (true, true)];
    let product = |m, n, k, (a, b)| Gemm { batch: 132, ..catalog::gemm(m, n, k, a, b) };
    let mut products: Vec<_> = ways.iter().map(|&way| product(40, 136, 72, way)).collect();
    products.extend(ways.map(|way| Gemm { batch: 66, ..product(130, 24, 200, way) }));
    products.extend(ways.map(|way| product(9, 7, 33, way)));
    let kernels: Vec<_> =
        products.into_iter().map(|g| Kernel::new(Dtype::Bf16, Body::Gemm(g))).collect();
    check_kernels(Chip::Sm90aWarpgroups, &kernels);
}

/// Bytes of each load from and each store to global memory in a text, and whether it is a store.
fn accesses(text: &str) -> Vec<(bool, u32)> {
    let access = |line: &str| {
        let opcode = line.split_whitespace().find(|word| word.contains(".global."))?;
        let mut words = opcode.split('.');
        let is_store = match words.next()? {
            "ld" => false,
            "st" => true,
            _ => return None,
        };
        if words.next()? != "global" {
            return None;
        }
        let words: Vec<_> = words.collect();
        let count =
            words.iter().find_map(|w| w.strip_prefix('v')).map_or(Some(1), |n| n.parse().ok())?;
        let bits: u32 = words.last()?.trim_start_matches(char::is_alphabetic).parse().ok()?;
        Some((is_store, count * bits / 8))
    };
    text.lines().filter_map(access).collect()
}

/// Where rows are multiples of 16 bytes, accesses are that wide; where they are not, only what is left over is narrower.
#[test]
fn memory_is_accessed_16_bytes_at_a_time() {
    let constants = AdamW { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01 };
    for dtype in catalog::DTYPES {
        let norm = |cols| Norm { kind: NormKind::Layer, rows: 8, cols, eps: 1e-5.into() };
        let loss = CrossEntropy { rows: 8, vocab: 1024, denominator: 8, lse: true };
        let of = |body| Kernel::new(dtype, body);
        let to = if dtype == Dtype::F32 { Dtype::Bf16 } else { Dtype::F32 };
        let rotary = Body::Rotary {
            batch: 1,
            seq: 64,
            heads: 2,
            head_dim: 64,
            base: 10000.0.into(),
            inverse: false,
        };
        // With the loads that are of single numbers by their nature: a token, a scale, a log-sum-exp.
        let kernels = [
            (single::add(dtype, 1024), 0),
            (single::gelu(dtype, 1024), 0),
            (single::gelu_dx(dtype, 1024), 0),
            (single::sgd(dtype, 1024, 0.01, Some(0.9)), 1),
            (single::adamw(dtype, 1024, constants), 1),
            (of(Body::Norm(norm(1024))), 0),
            (of(Body::NormDx { norm: norm(1024), adds: true }), 0),
            (of(Body::CrossEntropyDx(loss)), 3),
            (of(Body::Embedding(Embedding { rows: 8, vocab: 11, dim: 1024 })), 1),
            (of(Body::SwapBlocks { a: 3, b: 5, block: 64 }), 0),
            (of(Body::Cast { elems: 1024, to }), 0),
            (of(rotary), 0),
        ];
        for (kernel, singles) in kernels {
            let named = [("k".to_owned(), kernel.clone())];
            let (text, _) = compile(&named, Chip::Sm80, Isolation::InProcess).expect("PTX");
            let found = accesses(&text);
            let narrow = |is_store| found.iter().filter(|a| a.0 == is_store && a.1 < 16).count();
            assert!(found.len() > singles, "{kernel:?}: {found:?}");
            assert!(narrow(true) == 0 && narrow(false) <= singles, "{kernel:?}: {found:?}");
        }
        let tail = [("k".to_owned(), single::gelu(dtype, 1027))];
        let (text, _) = compile(&tail, Chip::Sm80, Isolation::InProcess).expect("PTX");
        let element = u32::try_from(dtype.bytes()).expect("a few bytes");
        let expected = [(false, 16), (true, 16), (false, element), (true, element)];
        assert_eq!(accesses(&text), expected, "{dtype:?}");
    }
}

/// Heads wider than 64, whose gradients two warps share, at the edges of tiles of queries and keys.
#[test]
fn attention_of_wide_heads_gives_what_the_reference_gives() {
    let mut kernels = vec![];
    for head_dim in [72, 96, 128] {
        for seq in [1, 7, 33, 257] {
            // A group of two queries' heads to a head of keys, and sequences that follow each other.
            let (batch, heads) = if seq < 257 { (2, 2) } else { (1, 1) };
            let shape = Attention { batch, seq, heads, kv_heads: 1, head_dim };
            let bodies = [Body::Attention { shape, lse: true }, Body::AttentionDx(shape)];
            kernels.extend(bodies.map(|body| Kernel::new(Dtype::Bf16, body)));
        }
    }
    check_kernels(Chip::Sm90a, &kernels);
}

/// Widths that no copy of two elements fits, and that fill no warp's part.
#[test]
fn attention_of_odd_wide_heads_gives_what_the_reference_gives() {
    let shapes = [65, 66, 100, 127].map(|head_dim| Attention {
        batch: 1,
        seq: 70,
        heads: 2,
        kv_heads: 1,
        head_dim,
    });
    let kernels = shapes.map(|shape| Kernel::new(Dtype::Bf16, Body::AttentionDx(shape)));
    check_kernels(Chip::Sm80, &kernels);
}
