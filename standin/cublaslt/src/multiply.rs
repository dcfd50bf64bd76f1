//! Products on streams.

use piper_standin_interface::driver::{self, Order, Range};

use crate::call::{Failure, Result, Status, calls, refuse};
use crate::choose::Problem;
use crate::objects::{self, Element, Layout, Preference};

/// Where the operands of a product lie, and what scales it.
#[derive(Clone, Copy, Debug)]
struct Operands {
    alpha: f32,
    beta: f32,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    workspace: Range,
}

/// A matrix that was read.
struct Matrix {
    layout: Layout,
    bytes: Vec<u8>,
}

impl Matrix {
    fn read(layout: Layout, start: u64) -> std::result::Result<Self, u32> {
        Ok(Self { layout, bytes: driver::read(Range { start, bytes: layout.bytes() })? })
    }

    fn place(&self, of: u64, row: u64, column: u64) -> usize {
        let Layout { leading, stride, .. } = self.layout;
        (of * stride + column * leading + row) as usize
    }

    fn get(&self, of: u64, row: u64, column: u64) -> f32 {
        number(self.layout.element, &self.bytes, self.place(of, row, column))
    }

    fn set(&mut self, of: u64, row: u64, column: u64, value: f32) {
        let at = self.place(of, row, column);
        match self.layout.element {
            Element::F32 => self.bytes[at * 4..][..4].copy_from_slice(&value.to_ne_bytes()),
            Element::Bf16 => {
                self.bytes[at * 2..][..2].copy_from_slice(&rounded(value).to_ne_bytes())
            }
        }
    }
}

/// Element `at` of some bytes.
fn number(element: Element, bytes: &[u8], at: usize) -> f32 {
    let of = |at: usize| bytes[at];
    match element {
        Element::F32 => f32::from_ne_bytes([0, 1, 2, 3].map(|i| of(at * 4 + i))),
        Element::Bf16 => {
            let bits = u16::from_ne_bytes([0, 1].map(|i| of(at * 2 + i)));
            f32::from_bits(u32::from(bits) << 16)
        }
    }
}

/// The nearest bf16, ties to even; a NaN stays one.
fn rounded(value: f32) -> u16 {
    let bits = value.to_bits();
    match value.is_nan() {
        true => (bits >> 16) as u16 | 0x40,
        false => (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16,
    }
}

/// What a stream does for a product when it gets there.
fn multiply(problem: &Problem, at: &Operands) -> std::result::Result<(), u32> {
    let Problem { product, m, n, k, .. } = *problem;
    let (a, b) = (Matrix::read(problem.a, at.a)?, Matrix::read(problem.b, at.b)?);
    // What is multiplied by zero need not have been written.
    let c = (at.beta != 0.0).then(|| Matrix::read(problem.c, at.c)).transpose()?;
    let bias = match product.has_bias {
        true => {
            let bytes = m * problem.d.element.bytes();
            Some(driver::read(Range { start: product.bias, bytes })?)
        }
        false => None,
    };
    // As it leaves it: contents of no use to anybody.
    if at.workspace.bytes > 0 {
        driver::write(at.workspace.start, &vec![0xA5; at.workspace.bytes as usize])?;
    }
    let mut d = Matrix { layout: problem.d, bytes: vec![0; problem.d.bytes() as usize] };
    let is_dense = problem.d.leading == m && (problem.d.batch == 1 || problem.d.stride == m * n);
    if !is_dense {
        // What lies between columns stays.
        d.bytes = driver::read(Range { start: at.d, bytes: problem.d.bytes() })?;
    }
    let [turn_a, turn_b] = product.is_transposed;
    for of in 0..problem.d.batch {
        for column in 0..n {
            for row in 0..m {
                let mut sum = 0f32;
                for i in 0..k {
                    let left = if turn_a { a.get(of, i, row) } else { a.get(of, row, i) };
                    let right = if turn_b { b.get(of, column, i) } else { b.get(of, i, column) };
                    sum = left.mul_add(right, sum);
                }
                let mut value = at.alpha * sum;
                if let Some(c) = &c {
                    value += at.beta * c.get(of, row, column);
                }
                if let Some(bias) = &bias {
                    value += number(problem.d.element, bias, row as usize);
                }
                d.set(of, row, column, value);
            }
        }
    }
    driver::write(at.d, &d.bytes)
}

/// Checks that a place is as aligned as the algorithm relies on.
fn check_alignment(name: &str, at: u64, alignment: u32) -> Result {
    if at.is_multiple_of(u64::from(alignment)) {
        return Ok(());
    }
    refuse(format!("{name} begins at {at:#x}, but the algorithm relies on {alignment} bytes"))
}

calls! {
    /// `d = alpha op(a) op(b) + beta c (+ bias)`. Without an algorithm one that needs no workspace is taken.
    fn cublasLtMatmul(
        handle: usize,
        product: usize,
        alpha: *const f32,
        a: u64,
        a_layout: usize,
        b: u64,
        b_layout: usize,
        beta: *const f32,
        c: u64,
        c_layout: usize,
        d: u64,
        d_layout: usize,
        algorithm: *const [u64; 8],
        workspace: u64,
        workspace_bytes: usize,
        stream: usize,
    ) {
        objects::handle(handle)?;
        let problem = Problem::of(product, [a_layout, b_layout, c_layout, d_layout])?;
        if alpha.is_null() || beta.is_null() {
            return refuse("a factor is null");
        }
        let algorithm = match algorithm.is_null() {
            true => problem.way(Preference {
                alignments: [problem.a.element.bytes() as u32; 4],
                ..Preference::default()
            }),
            // SAFETY: the caller's algorithm.
            false => unsafe { algorithm.read_unaligned() },
        };
        let (bytes, alignments) = problem.needs(algorithm)?;
        for ((name, at), alignment) in
            [("A", a), ("B", b), ("C", c), ("D", d)].into_iter().zip(alignments)
        {
            check_alignment(name, at, alignment)?;
        }
        if bytes > workspace_bytes as u64 {
            return refuse(format!(
                "the algorithm needs {bytes} bytes of workspace, but has {workspace_bytes}"
            ));
        }
        if bytes > 0 && !(workspace > 0 && workspace.is_multiple_of(16)) {
            return refuse(format!("workspace at {workspace:#x}: 16 bytes aligned are needed"));
        }
        // SAFETY: not null, and the caller's factors.
        let (alpha, beta) = unsafe { (alpha.read_unaligned(), beta.read_unaligned()) };
        if c == d && problem.c != problem.d {
            return refuse("C and D are one matrix of two layouts");
        }
        if problem.product.has_bias && problem.product.bias == 0 {
            return refuse("the epilogue adds a bias, but the pointer to it is null");
        }
        let workspace = Range { start: workspace, bytes };
        let at = Operands { alpha, beta, a, b, c, d, workspace };
        let mut read = vec![
            Range { start: a, bytes: problem.a.bytes() },
            Range { start: b, bytes: problem.b.bytes() },
        ];
        if beta != 0.0 {
            read.push(Range { start: c, bytes: problem.c.bytes() });
        }
        if problem.product.has_bias {
            let bytes = problem.m * problem.d.element.bytes();
            read.push(Range { start: problem.product.bias, bytes });
        }
        let mut written = vec![Range { start: d, bytes: problem.d.bytes() }];
        written.extend((bytes > 0).then_some(workspace));
        if let Some(operand) = read[..2].iter().find(|r| overlap(r, &written[0])) {
            return Err(Failure {
                status: Status::INVALID_VALUE,
                message: format!("D overlaps the operand at {:#x}", operand.start),
            });
        }
        let name = problem.told();
        let work = move || multiply(&problem, &at).err().unwrap_or(0);
        driver::submit(stream, Order::Free, &name, Box::new(work), &read, &written)?;
        Ok(())
    }
}

fn overlap(one: &Range, other: &Range) -> bool {
    one.start < other.start + other.bytes && other.start < one.start + one.bytes
}
