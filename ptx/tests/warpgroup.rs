//! Products of four warps: where descriptors lead and where sums lie, written down from the formulas of the PTX ISA ("Strides",
//! "Matrix Descriptor Format", "Register Fragments for wgmma.mma_async.m64n8k16") and from nothing else; and what is reported
//! when a kernel breaks the rules of asynchronous products.

use piper_ptx::{Arg, FaultKind, Machine, Module};

const COLUMNS: usize = 16;
const SUMS: usize = COLUMNS / 2;
/// Bytes of the image of shared memory, and where the right matrix begins in it.
const IMAGE: usize = 3072;
const RIGHT: usize = 2432;

/// A matrix of `rows` rows (or columns) and 16 steps of the contraction in shared memory.
#[derive(Clone, Copy)]
struct Layout {
    start: usize,
    leading: usize,
    stride: usize,
    is_across: bool,
}

impl Layout {
    fn address(self, row: usize, step: usize) -> usize {
        let core = self.start + (row / 8) * self.stride + (step / 8) * self.leading;
        match self.is_across {
            false => core + (row % 8) * 16 + (step % 8) * 2,
            true => core + (step % 8) * 16 + (row % 8) * 2,
        }
    }

    /// All of the descriptor but the address of the image.
    fn fields(self) -> u64 {
        let field = |bytes: usize, at: u32| (bytes as u64 >> 4) << at;
        field(self.start, 0) | field(self.leading, 16) | field(self.stride, 32)
    }
}

fn layouts(is_across: [bool; 2]) -> [Layout; 2] {
    let of = |start, rows: usize, is_across| match is_across {
        false => Layout { start, leading: 144, stride: 304, is_across },
        true => Layout { start, leading: rows / 8 * 144 + 16, stride: 144, is_across },
    };
    [of(0, 64, is_across[0]), of(RIGHT, COLUMNS, is_across[1])]
}

/// Whole numbers so small that bf16 holds them and every sum is exact.
fn number(row: usize, step: usize, salt: usize) -> f32 {
    ((row * 7 + step * 3 + salt * 5 + row * step) % 11) as f32 - 5.0
}

fn image(layouts: [Layout; 2]) -> Vec<u8> {
    let mut image = vec![0; IMAGE];
    for (salt, (layout, rows)) in layouts.into_iter().zip([64, COLUMNS]).enumerate() {
        for row in 0..rows {
            for step in 0..16 {
                let bits = (number(row, step, salt).to_bits() >> 16) as u16;
                let at = layout.address(row, step);
                image[at..at + 2].copy_from_slice(&bits.to_le_bytes());
            }
        }
    }
    image
}

fn sums() -> String {
    let names: Vec<_> = (0..SUMS).map(|i| format!("%f{i}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// One product into the sums.
fn product(is_across: [bool; 2], predicate: &str, scale: i32) -> String {
    let [a, b] = is_across.map(u8::from);
    format!(
        "wgmma.mma_async.sync.aligned.m64n{COLUMNS}k16.f32.bf16.bf16 {}, %a, %b, {predicate}, {scale}, 1, {a}, {b};\n",
        sums()
    )
}

const FENCES: &str = "fence.proxy.async.shared::cta;\nbar.sync 0;\nwgmma.fence.sync.aligned;\n";
const END: &str = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";

/// A kernel that copies the image to shared memory, runs `body`, and stores the sums of each thread.
fn kernel_text(layouts: [Layout; 2], body: &str) -> String {
    let copies: String = (0..IMAGE / 4 / 128)
        .map(|i| format!("ld.global.b32 %r0, [%g+{0}];\nst.shared.b32 [%s+{0}], %r0;\n", 512 * i))
        .collect();
    let stores: String =
        (0..SUMS).map(|i| format!("st.global.f32 [%o+{}], %f{i};\n", 4 * i)).collect();
    let [a, b] = layouts.map(Layout::fields);
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n\
         .shared .align 128 .b8 image[{IMAGE}];\n\
         .visible .entry f(.param .u64 p0, .param .u64 p1)\n{{\n\
         .reg .b32 %r<4>;\n.reg .b64 %g, %s, %o, %i, %a, %b, %t;\n.reg .f32 %f<{SUMS}>;\n.reg .pred %yes, %no;\n\
         mov.u32 %r1, %tid.x;\nld.param.u64 %g, [p0];\nld.param.u64 %o, [p1];\n\
         mul.wide.u32 %t, %r1, 4;\nadd.s64 %g, %g, %t;\nmov.u64 %i, image;\nadd.s64 %s, %i, %t;\n\
         mul.wide.u32 %t, %r1, {};\nadd.s64 %o, %o, %t;\n{copies}\
         shr.u64 %i, %i, 4;\nor.b64 %a, %i, {a};\nadd.s64 %b, %i, {b};\n\
         setp.eq.u32 %yes, 0, 0;\nsetp.ne.u32 %no, 0, 0;\n{body}{stores}ret;\n}}\n",
        4 * SUMS
    )
}

fn run(is_across: [bool; 2], threads: u32, body: &str) -> Result<Vec<f32>, piper_ptx::Fault> {
    let layouts = layouts(is_across);
    let text = kernel_text(layouts, body);
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let kernel = module.kernel("f").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut machine = Machine::new();
    let from = machine.alloc(IMAGE);
    machine.copy_in(from, &image(layouts)).expect("it fits");
    let to = machine.alloc(128 * SUMS * 4);
    machine.launch(&kernel, 1, threads, 0, &[Arg::Ptr(from), Arg::Ptr(to)])?;
    let mut bytes = vec![0; 128 * SUMS * 4];
    machine.copy_out(to, &mut bytes).expect("it is there");
    Ok(bytes.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word)).collect())
}

/// The sum that thread `t` holds as its number `i`.
fn expected(t: usize, i: usize) -> f32 {
    let (warp, lane) = (t / 32, t % 32);
    let row = 16 * warp + lane / 4 + 8 * ((i / 2) % 2);
    let column = 8 * (i / 4) + 2 * (lane % 4) + (i & 1);
    (0..16).map(|step| number(row, step, 0) * number(column, step, 1)).sum()
}

fn check(found: &[f32], factor: f32) {
    for t in 0..128 {
        for i in 0..SUMS {
            assert_eq!(found[t * SUMS + i], factor * expected(t, i), "thread {t}, sum {i}");
        }
    }
}

#[test]
fn matrices_and_sums_lie_where_the_manual_says() {
    for is_across in [[false, false], [false, true], [true, false], [true, true]] {
        let once = FENCES.to_owned() + &product(is_across, "%no", 1) + END;
        check(&run(is_across, 128, &once).unwrap_or_else(|e| panic!("{e}")), 1.0);
        // Products into the same sums need no wait between them.
        let twice = FENCES.to_owned()
            + &product(is_across, "%no", -1)
            + &product(is_across, "%yes", -1)
            + END;
        check(&run(is_across, 128, &twice).unwrap_or_else(|e| panic!("{e}")), -2.0);
    }
}

fn fault(threads: u32, body: &str) -> (FaultKind, String) {
    let fault = run([false, false], threads, body).expect_err("a fault");
    (fault.kind, fault.to_string())
}

#[test]
fn sums_are_used_only_after_the_wait() {
    let product = product([false, false], "%no", 1);
    let start = FENCES.to_owned() + &product + "wgmma.commit_group.sync.aligned;\n";
    let (kind, said) = fault(128, &(start.clone() + "add.f32 %f0, %f0, %f0;\n" + END));
    assert_eq!(kind, FaultKind::EarlyRead);
    assert!(said.contains("register %f0 is used while a product"), "{said}");
    let (kind, said) = fault(128, &(start.clone() + "mov.f32 %f3, 0f00000000;\n" + END));
    assert_eq!(kind, FaultKind::EarlyRead);
    assert!(said.contains("register %f3 was written while"), "{said}");
    let (kind, _) = fault(128, &(start + "wgmma.wait_group.sync.aligned 1;\n"));
    assert_eq!(kind, FaultKind::EarlyRead);
}

#[test]
fn sums_that_are_added_to_have_to_be_there() {
    let body = FENCES.to_owned() + &product([false, false], "%yes", 1) + END;
    assert_eq!(fault(128, &body).0, FaultKind::Uninitialised);
}

#[test]
fn memory_is_written_only_after_the_wait_of_all() {
    let product = product([false, false], "%no", 1);
    let write = "st.shared.b32 [%s], %r0;\n";
    // By the same thread before its wait, and by others after it without a barrier.
    let early = FENCES.to_owned() + &product + write + END;
    assert_eq!(fault(128, &early).0, FaultKind::Race);
    let unordered = FENCES.to_owned() + &product + END + write;
    assert_eq!(fault(128, &unordered).0, FaultKind::Race);
    let behind_a_barrier = FENCES.to_owned()
        + &product
        + "wgmma.commit_group.sync.aligned;\nbar.sync 0;\n"
        + write
        + "wgmma.wait_group.sync.aligned 0;\n";
    assert_eq!(fault(128, &behind_a_barrier).0, FaultKind::Race);
    let ordered = FENCES.to_owned() + &product + END + "bar.sync 0;\n" + write;
    check(&run([false, false], 128, &ordered).unwrap_or_else(|e| panic!("{e}")), 1.0);
}

#[test]
fn fences_are_wanted() {
    let product = product([false, false], "%no", 1);
    let (kind, said) =
        fault(128, &format!("bar.sync 0;\nwgmma.fence.sync.aligned;\n{product}{END}"));
    assert_eq!(kind, FaultKind::Unfenced);
    assert!(said.contains("has not passed fence.proxy.async since"), "{said}");
    let (kind, said) = fault(128, &format!("fence.proxy.async;\nbar.sync 0;\n{product}{END}"));
    assert_eq!(kind, FaultKind::Unfenced);
    assert!(said.contains("no wgmma.fence"), "{said}");
    // A fence without a barrier is of this thread's writes only.
    let body = format!("fence.proxy.async;\nwgmma.fence.sync.aligned;\n{product}{END}");
    assert!(matches!(
        fault(128, &body).0,
        FaultKind::Race | FaultKind::Unfenced | FaultKind::Uninitialised
    ));
}

#[test]
fn four_whole_warps_multiply() {
    let product = product([false, false], "%no", 1);
    let (kind, said) = fault(96, &format!("{FENCES}{product}{END}"));
    assert_eq!(kind, FaultKind::InactiveLanes);
    assert!(said.contains("four neighbouring warps"), "{said}");
    // The second warp leaves a product out.
    let skip = "setp.eq.u32 %no, %r2, 1;\n@%no bra SKIP;\n";
    let body = format!("shr.u32 %r2, %r1, 5;\n{FENCES}{product}{END}{skip}{product}{END}SKIP:\n");
    let (kind, said) = fault(128, &body);
    assert_eq!(kind, FaultKind::InactiveLanes);
    assert!(said.contains("warp 1 of the same four 1"), "{said}");
}

#[test]
fn what_is_not_supported_is_said_at_load() {
    let swizzled = "or.b64 %a, %a, 4611686018427387904;\n";
    let body = FENCES.to_owned() + swizzled + &product([false, false], "%no", 1) + END;
    let (kind, said) = fault(128, &body);
    assert_eq!(kind, FaultKind::Trap);
    assert!(said.contains("swizzled"), "{said}");
    let odd = FENCES.to_owned() + &product([false, false], "%no", 1).replace("n16k16", "n12k16");
    let text = kernel_text(layouts([false, false]), &odd);
    let error = Module::parse(&text).and_then(|m| m.kernel("f").map(|_| ())).expect_err("refused");
    assert!(error.to_string().contains("of this shape is not supported"), "{error}");
}
