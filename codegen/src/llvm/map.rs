//! Elementwise kernels and the epilogues of matrix products: scalar programs over vectors.

use super::Launch;
use super::emit::{Emitter, I, P, V};
use super::gemm::{self, Finished, Product};
use crate::blocking::{Blocking, SUM_ROWS};
use crate::kernel::{Access, Dtype, Epilogue, Gemm, Map, Mode};
use crate::scalar::{ScalarOp, ScalarProgram};
use crate::split::{COLUMNS, Cut, TILE_ROWS};
use inkwell::{FloatPredicate, IntPredicate};

/// Emits `program` and returns its results. With `lanes` the values are vectors, else scalars.
pub(crate) fn program<'c>(
    e: &Emitter<'c>,
    program: &ScalarProgram,
    lanes: Option<u64>,
    input: impl Fn(u32) -> V<'c>,
    scalar: impl Fn(u32) -> V<'c>,
) -> Vec<V<'c>> {
    let shaped = |v: V<'c>| match (v, lanes) {
        (V::FloatValue(_), Some(lanes)) => e.splat(v, lanes).into(),
        _ => v,
    };
    let mut values: Vec<V<'c>> = Vec::with_capacity(program.ops.len());
    for op in &program.ops {
        let get = |id: u32| values[id as usize];
        let value = match *op {
            ScalarOp::Const(c) => shaped(e.float(c.get())),
            ScalarOp::Input(i) => shaped(input(i)),
            ScalarOp::Scalar(i) => shaped(scalar(i)),
            ScalarOp::Add(a, b) => e.add(get(a), get(b)),
            ScalarOp::Sub(a, b) => e.sub(get(a), get(b)),
            ScalarOp::Mul(a, b) => e.mul(get(a), get(b)),
            ScalarOp::Div(a, b) => e.div(get(a), get(b)),
            ScalarOp::Neg(a) => e.neg(get(a)),
            ScalarOp::Max(a, b) => e.max(get(a), get(b)),
            ScalarOp::Min(a, b) => e.min(get(a), get(b)),
            ScalarOp::Sqrt(a) => e.sqrt(get(a)),
            ScalarOp::Rsqrt(a) => e.div(e.like(get(a), 1.0), e.sqrt(get(a))),
            ScalarOp::Exp(a) => e.exp(get(a)),
            ScalarOp::Log(a) => e.log(get(a)),
            ScalarOp::Tanh(a) => e.tanh(get(a)),
            ScalarOp::Sin(a) => e.sin(get(a)),
            ScalarOp::Cos(a) => e.cos(get(a)),
            ScalarOp::Erf(a) => e.erf(get(a)),
            ScalarOp::PowInt(a, b) => power(e, get(a), get(b)),
            ScalarOp::Less(a, b) => e.compare(FloatPredicate::OLT, get(a), get(b)),
            ScalarOp::LessEqual(a, b) => e.compare(FloatPredicate::OLE, get(a), get(b)),
            ScalarOp::Equal(a, b) => e.compare(FloatPredicate::OEQ, get(a), get(b)),
            ScalarOp::Select(c, a, b) => e.select(get(c), get(a), get(b)),
        };
        values.push(value);
    }
    program.results.iter().map(|&r| values[r as usize]).collect()
}

/// `base` to a whole power below 2^32: one squaring for each of 32 bits, so that the operations do not depend on it.
fn power<'c>(e: &Emitter<'c>, base: V<'c>, exponent: V<'c>) -> V<'c> {
    let exponent =
        e.min(e.max(exponent, e.like(exponent, 0.0)), e.like(exponent, f64::from(u32::MAX)));
    let bits = super::emit::built(e.b.build_float_to_unsigned_int(
        exponent.into_float_value(),
        e.i64(),
        "",
    ));
    let (square, result) = (e.local(base), e.local(e.like(base, 1.0)));
    e.for_each(e.n(0), e.n(32), 1, |i| {
        let shifted = super::emit::built(e.b.build_right_shift(bits, i, false, ""));
        let odd = e.icmp(IntPredicate::EQ, e.irem(shifted, 2), e.n(1));
        let s = e.get(&square);
        let r = e.get(&result);
        e.set(&result, e.select(odd.into(), e.mul(r, s), r));
        e.set(&square, e.mul(s, s));
    });
    e.get(&result)
}

/// Run-time scalars as f64.
fn runtime_scalars<'c>(k: &Launch<'_, 'c>, count: u32) -> Vec<V<'c>> {
    (0..count).map(|i| k.e.load(k.scalars, k.e.n(u64::from(i)))).collect()
}

/// Bytes of an operand from which it is taken to come from memory.
const LARGE_BYTES: u64 = 4 << 20;

/// Emits an elementwise kernel.
pub(super) fn map<'c>(k: &Launch<'_, 'c>, m: &Map) {
    let e = k.e;
    let dtype = e.dtype();
    let scalars = runtime_scalars(k, m.scalars);
    e.set_dtype(Dtype::F64);
    let uniforms = program(
        e,
        &m.uniforms,
        None,
        |_| unreachable!("uniform programs were checked to read no input"),
        |i| scalars[i as usize],
    );
    e.set_dtype(dtype);
    let uniforms: Vec<V> = uniforms.into_iter().map(|u| e.convert(u, dtype)).collect();

    let is_large = m.rows * m.cols * e.dtype().bytes() >= LARGE_BYTES;
    // Scalar operands are read once: a buffer that is both such an operand and an output would change under way.
    let ones = scalar_operands(e, m.operands.iter().map(|o| o.access), &k.buffers);
    let piece = |r: I<'c>, c: I<'c>, here: I<'c>, width: u64| {
        let input = |i: u32| {
            let buffer = k.buffers[i as usize];
            match m.operands[i as usize].access {
                Access::Full if is_large => e.load_streamed(buffer, here, width),
                Access::Full => e.load_piece(buffer, here, width),
                Access::Row => e.load_piece(buffer, c, width),
                Access::Column => e.load(buffer, r),
                Access::Scalar => ones[i as usize].expect("loaded above"),
            }
        };
        let results = program(e, &m.body, Some(e.lanes()), input, |i| uniforms[i as usize]);
        for (&operand, value) in m.stores.iter().zip(results) {
            let to = k.buffers[operand as usize];
            match m.operands[operand as usize].mode {
                // What was just read lies in the nearest cache.
                Mode::ReadWrite => e.store_piece(to, here, value, width),
                _ => e.store_result(to, here, value, width),
            }
        }
    };
    match m.walked() {
        (1, elems) => k.for_elements(elems, |i, width| piece(e.n(0), i, i, width)),
        (rows, cols) => k.for_rows(rows, |r| {
            let start = e.imul(r, e.n(cols));
            e.for_pieces(cols, |c, width| piece(r, c, e.iadd(start, c), width));
        }),
    }
}

/// The values of operands of one element, each read once; `None` for the others.
pub(crate) fn scalar_operands<'c>(
    e: &Emitter<'c>,
    accesses: impl Iterator<Item = Access>,
    buffers: &[P<'c>],
) -> Vec<Option<V<'c>>> {
    let one = |(access, &buffer)| (access == Access::Scalar).then(|| e.load(buffer, e.n(0)));
    accesses.zip(buffers).map(one).collect()
}

/// Emits a matrix product with its bias and epilogue.
pub(super) fn gemm<'c>(k: &Launch<'_, 'c>, g: &Gemm) {
    let e = k.e;
    let default = Epilogue::default();
    let epilogue = g.epilogue.as_ref().unwrap_or(&default);
    let bias = g.bias.then(|| k.buffers[2]);
    let reads = 2 + usize::from(g.bias);
    let operands = &k.buffers[reads..reads + epilogue.operands.len()];
    let outputs = &k.buffers[reads + epilogue.operands.len()..];
    let scalars: Vec<V> =
        runtime_scalars(k, epilogue.scalars).into_iter().map(|s| e.convert(s, e.dtype())).collect();
    let ones = scalar_operands(e, epilogue.operands.iter().copied(), operands);
    let lanes = e.lanes();
    let blocking = Blocking::of_gemm(g, outputs[0].element);
    let has_sums = blocking.has_sums;
    let sums = e.at(k.workspace, e.n(blocking.packing_elems(blocking.packs_a, e.dtype())));
    let rows_at_once = if has_sums { SUM_ROWS } else { g.m.max(1) };

    // The columns of this part, and the rows of each product of the batch that are its own.
    let (columns, pieces) = match g.cut() {
        Cut::Rows => ([e.n(0), e.n(g.n)], k.share(g.batch * g.pieces())),
        Cut::Columns => (k.share_of(g.n, COLUMNS), [e.n(0), e.n(g.batch * g.pieces())]),
    };
    let each = |batch: I<'c>, top: I<'c>, bottom: I<'c>| {
        let part = |rows: u64, cols: u64| e.imul(batch, e.n(rows * cols));
        let first_row = e.iadd(e.imul(batch, e.n(g.m)), top);
        let lda = if g.transpose_a { g.m } else { g.k };
        let a_top = if g.transpose_a { top } else { e.imul(top, e.n(lda)) };
        let piece = |f: &Finished<'c>, r: I<'c>, c: I<'c>, width: u64| {
            let row = e.iadd(first_row, r);
            let here = e.iadd(e.imul(row, e.n(g.n)), c);
            let mut value = if has_sums {
                let place =
                    e.iadd(e.imul(r, e.n(blocking.nc)), e.isub(e.isub(c, columns[0]), f.col));
                e.load_piece(sums, place, width)
            } else {
                e.load_piece(outputs[0], here, width)
            };
            if has_sums && g.accumulate {
                value = e.add(e.load_piece(outputs[0], here, width), value);
            }
            if let Some(bias) = bias {
                value = e.add(value, e.load_piece(bias, c, width));
            }
            if g.epilogue.is_none() {
                return e.store_piece(outputs[0], here, value, width);
            }
            let input = |i: u32| match i.checked_sub(1).map(|i| i as usize) {
                None => value,
                Some(i) => match epilogue.operands[i] {
                    Access::Full => e.load_piece(operands[i], here, width),
                    Access::Row => e.load_piece(operands[i], c, width),
                    Access::Column => e.load(operands[i], row),
                    Access::Scalar => ones[i].expect("loaded above"),
                },
            };
            let results = program(e, &epilogue.body, Some(lanes), input, |i| scalars[i as usize]);
            for (&output, value) in outputs.iter().zip(results) {
                e.store_piece(output, here, value, width);
            }
        };
        let finish = |f: Finished<'c>| {
            let rest = g.n % lanes;
            let [first, end] = [f.col, f.col_end].map(|c| e.iadd(columns[0], c));
            e.for_each(f.row, f.row_end, 1, |r| {
                // Blocks start at multiples of the virtual vector, so only the last one of a row ends within one.
                let whole = e.isub(end, e.irem(end, lanes));
                e.for_each(first, whole, lanes, |c| piece(&f, r, c, lanes));
                if rest > 0 {
                    let last = e.icmp(IntPredicate::EQ, end, e.n(g.n));
                    e.if_true(last, || piece(&f, r, e.n(g.n - rest), rest));
                }
            });
        };
        let b_first = if g.transpose_b { e.imul(columns[0], e.n(g.k)) } else { columns[0] };
        let c_first = e.iadd(e.imul(first_row, e.n(g.n)), columns[0]);
        let product = Product {
            m: e.imin(e.n(rows_at_once), e.isub(bottom, top)),
            n: e.isub(columns[1], columns[0]),
            k: e.n(g.k),
            a: e.at(k.buffers[0], e.iadd(part(g.m, g.k), a_top)),
            lda: e.n(lda),
            transpose_a: g.transpose_a,
            b: e.at(k.buffers[1], e.iadd(part(g.k, g.n), b_first)),
            ldb: e.n(if g.transpose_b { g.k } else { g.n }),
            transpose_b: g.transpose_b,
            c: if has_sums { sums } else { e.at(outputs[0], c_first) },
            ldc: e.n(if has_sums { blocking.nc } else { g.n }),
            accumulate: g.accumulate && !has_sums,
            is_narrow: gemm::is_narrow(e, g.n),
            blocking,
            workspace: k.workspace,
        };
        let finish: Option<&dyn Fn(Finished<'c>)> =
            if g.bias || g.epilogue.is_some() || has_sums { Some(&finish) } else { None };
        gemm::product(e, &product, finish);
    };
    let all = g.pieces();
    let [from, to] = pieces;
    let end = e.idiv(e.iadd(to, e.n(all - 1)), all);
    e.for_each(e.idiv(from, all), end, 1, |batch| {
        let [top, bottom] = match g.cut() {
            Cut::Columns => [e.n(0), e.n(g.m)],
            // What of this product's pieces lies between the part's first and last.
            Cut::Rows => {
                let first = e.imul(batch, e.n(all));
                let inside = |piece| e.imin(e.isub(piece, first), e.n(all));
                let from = e.select(
                    e.icmp(IntPredicate::ULT, from, first).into(),
                    first.into(),
                    from.into(),
                );
                [from.into_int_value(), to]
                    .map(|piece| e.imin(e.imul(inside(piece), e.n(TILE_ROWS)), e.n(g.m)))
            }
        };
        e.for_each(top, bottom, rows_at_once, |top| each(batch, top, bottom));
    });
}
