//! Whether a product fits together, and how it would be computed.
//!
//! An algorithm is the product that it was chosen for, as a hash, with the alignment that it relies on: one of another product, or
//! operands that begin elsewhere, are found when it is used.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::call::{Failure, Result, Status, calls, put, refuse};
use crate::objects::{self, Description, Layout, Preference, description, layout, preference};

/// A product whose parts fit together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    pub(crate) product: Description,
    pub(crate) a: Layout,
    pub(crate) b: Layout,
    pub(crate) c: Layout,
    pub(crate) d: Layout,
    /// Rows and columns of the result, and the length of the contraction.
    pub(crate) m: u64,
    pub(crate) n: u64,
    pub(crate) k: u64,
}

impl Problem {
    /// # Errors
    /// Parts that do not fit.
    pub(crate) fn of(product: usize, [a, b, c, d]: [usize; 4]) -> Result<Self> {
        let product = description(product)?;
        let [a, b, c, d] = [layout(a)?, layout(b)?, layout(c)?, layout(d)?];
        let turned = |matrix: &Layout, is_turned: bool| match is_turned {
            true => (matrix.columns, matrix.rows),
            false => (matrix.rows, matrix.columns),
        };
        let ((m, k), (inner, n)) =
            (turned(&a, product.is_transposed[0]), turned(&b, product.is_transposed[1]));
        if k != inner {
            return refuse(format!("{m}x{k} times {inner}x{n}"));
        }
        for (name, matrix) in [("C", &c), ("D", &d)] {
            if (matrix.rows, matrix.columns) != (m, n) {
                let (rows, columns) = (matrix.rows, matrix.columns);
                return refuse(format!("{name} is {rows}x{columns}, but the product is {m}x{n}"));
            }
        }
        for (name, matrix) in [("B", &b), ("C", &c), ("D", &d)] {
            if matrix.batch != a.batch {
                return refuse(format!("{name} has a batch of {}, A of {}", matrix.batch, a.batch));
            }
            if matrix.element != a.element {
                return Err(Failure {
                    status: Status::NOT_SUPPORTED,
                    message: format!("{name} is of {:?}, A of {:?}", matrix.element, a.element),
                });
            }
        }
        if d.batch > 1 && d.stride < d.leading * d.columns {
            return refuse("the results of a batch overlap");
        }
        Ok(Self { product, a, b, c, d, m, n, k })
    }

    /// What it is called where work is logged: sizes, and what it was given besides.
    pub(crate) fn told(&self) -> String {
        let mut text = format!("cublaslt {}x{}x{}", self.m, self.n, self.k);
        if self.d.batch > 1 {
            text += &format!(", batch {}", self.d.batch);
        }
        if self.product.has_bias {
            text += ", bias";
        }
        if self.product.multiprocessors > 0 {
            text += &format!(", multiprocessors {}", self.product.multiprocessors);
        }
        text
    }

    /// Workspace that the product likes to have: some of it, so that whoever forgets it is found.
    fn workspace(&self) -> u64 {
        (self.m * self.n * 4).next_multiple_of(256).min(64 << 10)
    }

    /// What an algorithm for it says. The bias may lie elsewhere: callers change that between products.
    pub(crate) fn algorithm(&self, workspace: u64, alignments: [u32; 4]) -> [u64; 8] {
        let mut hasher = DefaultHasher::new();
        let p = &self.product;
        (p.is_transposed, p.has_bias, p.multiprocessors).hash(&mut hasher);
        for matrix in [&self.a, &self.b, &self.c, &self.d] {
            let Layout { element, rows, columns, leading, batch, stride } = *matrix;
            (element.bytes(), rows, columns, leading, batch, stride).hash(&mut hasher);
        }
        let two = |at: usize| u64::from(alignments[at]) << 32 | u64::from(alignments[at + 1]);
        [hasher.finish(), workspace, two(0), two(2), 0, 0, 0, 0]
    }

    /// What an algorithm of a caller needs, as bytes of workspace and alignments, if it is one for this product.
    pub(crate) fn needs(&self, algorithm: [u64; 8]) -> Result<(u64, [u32; 4])> {
        let [_, workspace, ab, cd, ..] = algorithm;
        let alignments = [(ab >> 32) as u32, ab as u32, (cd >> 32) as u32, cd as u32];
        if self.algorithm(workspace, alignments) != algorithm {
            return refuse("the algorithm was chosen for another product");
        }
        Ok((workspace, alignments))
    }

    /// A way that keeps to a preference.
    pub(crate) fn way(&self, kept: Preference) -> [u64; 8] {
        let workspace = if self.workspace() <= kept.most_workspace { self.workspace() } else { 0 };
        self.algorithm(workspace, kept.alignments)
    }
}

/// `cublasLtMatmulHeuristicResult_t`
#[repr(C)]
pub(crate) struct Way {
    algorithm: [u64; 8],
    workspace_bytes: usize,
    status: u32,
    waves: f32,
    reserved: [i32; 4],
}

calls! {
    /// Ways to compute a product: one.
    fn cublasLtMatmulAlgoGetHeuristic(
        handle: usize,
        product: usize,
        a: usize,
        b: usize,
        c: usize,
        d: usize,
        kept: usize,
        most: i32,
        ways: *mut Way,
        count: *mut i32,
    ) {
        objects::handle(handle)?;
        let problem = Problem::of(product, [a, b, c, d])?;
        let kept = preference(kept)?;
        if most < 1 {
            return refuse(format!("{most} ways are asked for"));
        }
        let least = problem.a.element.bytes() as u32;
        if kept.alignments.iter().any(|alignment| *alignment < least) {
            return Err(Failure {
                status: Status::NOT_SUPPORTED,
                message: "operands do not begin at elements".to_owned(),
            });
        }
        let algorithm = problem.way(kept);
        let way = Way {
            algorithm,
            workspace_bytes: algorithm[1] as usize,
            status: 0,
            waves: 1.0,
            reserved: [0; 4],
        };
        // SAFETY: the caller's places for the results, of which the first has room for at least one.
        unsafe {
            put(ways, way)?;
            put(count, 1)
        }
    }
}
