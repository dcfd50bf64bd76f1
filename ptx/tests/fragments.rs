//! Where the elements of a tile lie in the registers of a warp, written down from the formulas of the PTX ISA ("Matrix Fragments
//! for mma.m16n8k16", "mma.m16n8k8", "ldmatrix") and from nothing else: what the interpreter decodes has to agree.

use piper_ptx::{Arg, Machine, Module};

/// A kernel of one warp, with pointers as parameters and `%t` as the lane.
fn kernel_text(pointers: usize, shared: &str, body: &str) -> String {
    let params: Vec<_> = (0..pointers).map(|i| format!(".param .u64 p{i}")).collect();
    let loads: String = (0..pointers).map(|i| format!("ld.param.u64 %p{i}, [p{i}];\n")).collect();
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{shared}\n.visible .entry f({})\n{{\n\
         .reg .b32 %r<40>;\n.reg .b32 %t;\n.reg .b64 %p<8>;\n.reg .b64 %o<8>;\n.reg .f32 %f<8>;\n.reg .pred %q;\n.reg .b64 %s;\n{loads}\
         mov.u32 %t, %tid.x;\n{body}ret;\n}}\n",
        params.join(", ")
    )
}

/// Loads `count` words of this lane from pointer `p` into registers from `first` on.
fn load(p: usize, count: usize, kind: &str, first: usize) -> String {
    let mut text =
        format!("mul.wide.u32 %o{p}, %t, {};\nadd.s64 %o{p}, %p{p}, %o{p};\n", 4 * count);
    for i in 0..count {
        let ty = if kind == "f" { "f32" } else { "b32" };
        text += &format!("ld.global.{ty} %{kind}{}, [%o{p}+{}];\n", first + i, 4 * i);
    }
    text
}

fn store(p: usize, count: usize, kind: &str, first: usize) -> String {
    load(p, count, kind, first)
        .lines()
        .map(|line| match line.split_once("ld.global.") {
            Some((_, rest)) => {
                let (ty, rest) = rest.split_once(' ').expect("a type");
                let (register, place) = rest.trim_end_matches(';').split_once(", ").expect("two");
                format!("st.global.{ty} {place}, {register};\n")
            }
            None => format!("{line}\n"),
        })
        .collect()
}

fn list(kind: &str, first: usize, count: usize) -> String {
    let names: Vec<_> = (first..first + count).map(|i| format!("%{kind}{i}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// Whole numbers so small that bf16 and f16 hold them and every sum is exact; no two places have the same neighbours.
fn number(place: usize, salt: usize) -> f32 {
    ((place * 7 + salt * 5 + place / 9) % 13) as f32 - 6.0
}

fn bf16(x: f32) -> u32 {
    x.to_bits() >> 16
}

/// f16 of a whole number of at most 6 in magnitude.
fn f16(x: f32) -> u32 {
    let (bits, sign) = (x.abs().to_bits(), u32::from(x < 0.0) << 15);
    if x == 0.0 { 0 } else { sign | ((bits >> 23) - 127 + 15) << 10 | (bits >> 13 & 0x3ff) }
}

/// Row and column of element `i` of the left operand that lane `lane` holds.
fn left(lane: usize, i: usize) -> (usize, usize) {
    let (group, within) = (lane >> 2, lane % 4);
    let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
    let col = within * 2 + (i & 1) + if i < 4 { 0 } else { 8 };
    (row, col)
}

/// Row and column of element `i` of the right operand.
fn right(lane: usize, i: usize) -> (usize, usize) {
    let (group, within) = (lane >> 2, lane % 4);
    (within * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, group)
}

/// Row and column of number `i` of the sums.
fn sums(lane: usize, i: usize) -> (usize, usize) {
    let (group, within) = (lane >> 2, lane % 4);
    (if i < 2 { group } else { group + 8 }, within * 2 + (i & 1))
}

#[test]
fn fragments_of_products_lie_where_the_manual_says() {
    type Encode = fn(f32) -> u32;
    let cases: [(&str, usize, Encode); 3] =
        [("bf16", 16, bf16), ("f16", 16, f16), ("bf16", 8, bf16)];
    for (ty, depth, narrow) in cases {
        let (a_count, b_count) = (depth / 4, depth / 8);
        let body = load(0, a_count, "r", 0)
            + &load(1, b_count, "r", 8)
            + &load(2, 4, "f", 0)
            + &format!(
                "mma.sync.aligned.m16n8k{depth}.row.col.f32.{ty}.{ty}.f32 {}, {}, {}, {};\n",
                list("f", 4, 4),
                list("r", 0, a_count),
                list("r", 8, b_count),
                list("f", 0, 4)
            )
            + &store(3, 4, "f", 4);
        let text = kernel_text(4, "", &body);
        let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let kernel = module.kernel("f").unwrap_or_else(|e| panic!("{e}"));
        let a = |row: usize, col: usize| number(row * 16 + col, 1);
        let b = |row: usize, col: usize| number(row * 8 + col, 2);
        let c = |row: usize, col: usize| number(row * 8 + col, 3);
        let packed = |count: usize, element: &dyn Fn(usize, usize) -> f32| -> Vec<u8> {
            let words = (0..32).flat_map(|lane| (0..count).map(move |word| (lane, word)));
            let word = |(lane, word): (usize, usize)| {
                let [low, high] = [0, 1].map(|part| narrow(element(lane, 2 * word + part)));
                (low | high << 16).to_le_bytes()
            };
            words.flat_map(word).collect()
        };
        let of_a = |lane, i| {
            let (row, col) = left(lane, i);
            a(row, col)
        };
        let of_b = |lane, i| {
            let (row, col) = right(lane, i);
            b(row, col)
        };
        let places = || (0..32).flat_map(|lane| (0..4).map(move |i| sums(lane, i)));
        let start: Vec<f32> = places().map(|(row, col)| c(row, col)).collect();
        let mut machine = Machine::new();
        let pa = machine.alloc_bytes(&packed(a_count, &of_a));
        let pb = machine.alloc_bytes(&packed(b_count, &of_b));
        let (pc, pd) = (machine.alloc_f32(&start), machine.alloc(512));
        let args = [pa, pb, pc, pd].map(Arg::Ptr);
        machine.launch(&kernel, 1, 32, 0, &args).unwrap_or_else(|fault| panic!("{fault}"));
        let expected: Vec<f32> = places()
            .map(|(row, col)| c(row, col) + (0..depth).map(|k| a(row, k) * b(k, col)).sum::<f32>())
            .collect();
        assert_eq!(machine.read_f32(pd, 128).expect("it is there"), expected, "{ty}, {depth}");
    }
}

#[test]
fn matrices_are_loaded_where_the_manual_says() {
    for (is_transposed, modifier) in [(false, ""), (true, ".trans")] {
        // Row `r` of matrix `m` begins at 16 (8 m + r); lane `8 m + r` gives its place.
        let body = load(0, 4, "r", 0)
            + "mov.b64 %s, tile;\nmul.wide.u32 %o5, %t, 16;\nadd.s64 %s, %s, %o5;\n"
            + &format!("st.shared.v4.b32 [%s], {};\nbar.sync 0;\n", list("r", 0, 4))
            + &format!(
                "ldmatrix.sync.aligned.m8n8.x4{modifier}.shared.b16 {}, [%s];\n",
                list("r", 8, 4)
            )
            + &store(1, 4, "r", 8);
        let text = kernel_text(2, ".shared .align 16 .b8 tile[512];", &body);
        let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let kernel = module.kernel("f").unwrap_or_else(|e| panic!("{e}"));
        let mut machine = Machine::new();
        let halves: Vec<u8> = (0..256_u16).flat_map(|i| (1000 + i).to_le_bytes()).collect();
        let (from, to) = (machine.alloc_bytes(&halves), machine.alloc(512));
        let args = [from, to].map(Arg::Ptr);
        machine.launch(&kernel, 1, 32, 0, &args).unwrap_or_else(|fault| panic!("{fault}"));
        let found = machine.read_u32(to, 128).expect("it is there");
        for lane in 0..32 {
            for matrix in 0..4 {
                for part in 0..2 {
                    let (row, col) = (lane / 4, 2 * (lane % 4) + part);
                    let (row, col) = if is_transposed { (col, row) } else { (row, col) };
                    let expected = (1000 + 64 * matrix + 8 * row + col) as u32;
                    let word = found[4 * lane + matrix];
                    let place = format!("lane {lane}, matrix {matrix}, part {part}{modifier}");
                    assert_eq!(word >> (16 * part) & 0xffff, expected, "{place}");
                }
            }
        }
    }
}

/// The bytes beyond the source size are zeros, and the source is not read for them.
#[test]
fn copies_fill_up_with_zeros() {
    for bytes in [4, 8, 16] {
        for taken in (0..=bytes).step_by(2) {
            let cache = if bytes == 16 { "cg" } else { "ca" };
            let copy = format!(
                "mov.b64 %s, tile;\nmov.u32 %r21, {taken};\nsetp.ne.u32 %q, %t, 0;\n@%q bra done;\n\
                 cp.async.{cache}.shared.global [%s], [%p0], {bytes}, %r21;\ncp.async.wait_all;\n"
            );
            let words: String = (0..bytes / 4)
                .map(|i| {
                    format!("ld.shared.b32 %r1, [%s+{0}];\nst.global.b32 [%p1+{0}], %r1;\n", 4 * i)
                })
                .collect();
            let body = format!("{copy}{words}done:\n");
            let text = kernel_text(2, ".shared .align 16 .b8 tile[16];", &body);
            let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let kernel = module.kernel("f").unwrap_or_else(|e| panic!("{e}"));
            let mut machine = Machine::new();
            let source: Vec<u8> = (1..=taken as u8).collect();
            let (from, to) = (machine.alloc_bytes(&source), machine.alloc(bytes));
            let args = [from, to].map(Arg::Ptr);
            machine.launch(&kernel, 1, 32, 0, &args).unwrap_or_else(|fault| panic!("{fault}"));
            let mut expected = source;
            expected.resize(bytes, 0);
            let mut found = vec![9; bytes];
            machine.copy_out(to, &mut found).expect("it is there");
            assert_eq!(found, expected, "{taken} of {bytes}");
        }
    }
}
