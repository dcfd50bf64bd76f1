//! The affine map over the last dimension and its two gradients.
//!
//! With `transpose_w` the weight is stored `[N, K]`, as for an output layer tied to an embedding table. Each result value
//! is one sum in ascending order of the contracted index; the loops are nested i-k-j so that the innermost one runs over
//! contiguous memory.

use crate::error::NumericError;
use crate::real::{Real, add_scaled};
use crate::shapes::Shapes;
use crate::tensor::Tensor;

/// `x[.., K], w[K, N], bias[N]? -> y[.., N]`: `y[r, n] = sum_k x[r, k] w[k, n] + bias[n]`, the bias added last.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn linear<T: Real>(
    x: &Tensor,
    w: &Tensor,
    bias: Option<&Tensor>,
    transpose_w: bool,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.linear");
    let x = shapes.operand::<T>("x", x, &["*", "K"])?;
    let w = shapes.operand::<T>("w", w, weight_form(transpose_w))?;
    let bias = bias.map(|bias| shapes.operand::<T>("bias", bias, &["N"])).transpose()?;
    let (rows, k, n) = (shapes.rows(), shapes.size("K"), shapes.size("N"));
    let mut y = if transpose_w {
        product(x, &transposed(w, n, k), rows, k, n)
    } else {
        product(x, w, rows, k, n)
    };
    if let Some(bias) = bias {
        for row in y.chunks_exact_mut(n.max(1)) {
            for (y, &b) in row.iter_mut().zip(bias) {
                *y += b;
            }
        }
    }
    shapes.result(&["*", "N"], y)
}

/// `dy[.., N], w -> dx[.., K]`: `dx[r, k] = sum_n dy[r, n] w[k, n]`.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn linear_dx<T: Real>(
    dy: &Tensor,
    w: &Tensor,
    transpose_w: bool,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.linear_dx");
    let dy = shapes.operand::<T>("dy", dy, &["*", "N"])?;
    let w = shapes.operand::<T>("w", w, weight_form(transpose_w))?;
    let (rows, k, n) = (shapes.rows(), shapes.size("K"), shapes.size("N"));
    let dx = if transpose_w {
        product(dy, w, rows, n, k)
    } else {
        product(dy, &transposed(w, k, n), rows, n, k)
    };
    shapes.result(&["*", "K"], dx)
}

/// `x[.., K], dy[.., N] -> dw` shaped like `w`: `dw[k, n] = sum_r x[r, k] dy[r, n]`, rows ascending.
///
/// # Errors
/// When shapes or element types do not fit.
pub fn linear_dw<T: Real>(
    x: &Tensor,
    dy: &Tensor,
    transpose_w: bool,
) -> Result<Tensor, NumericError> {
    let mut shapes = Shapes::new("nn.linear_dw");
    let x = shapes.operand::<T>("x", x, &["*", "K"])?;
    let dy = shapes.operand::<T>("dy", dy, &["*", "N"])?;
    let (rows, k, n) = (shapes.rows(), shapes.size("K"), shapes.size("N"));
    let dw =
        if transpose_w { row_product(dy, x, rows, n, k) } else { row_product(x, dy, rows, k, n) };
    shapes.result(weight_form(transpose_w), dw)
}

fn weight_form(transpose_w: bool) -> &'static [&'static str] {
    if transpose_w { &["N", "K"] } else { &["K", "N"] }
}

/// `c[I, J] = a[I, K] b[K, J]`.
fn product<T: Real>(a: &[T], b: &[T], i_size: usize, k_size: usize, j_size: usize) -> Vec<T> {
    let mut c = vec![T::ZERO; i_size * j_size];
    for i in 0..i_size {
        let c_row = &mut c[i * j_size..(i + 1) * j_size];
        for k in 0..k_size {
            add_scaled(c_row, a[i * k_size + k], &b[k * j_size..(k + 1) * j_size]);
        }
    }
    c
}

/// `c[I, J] = sum_r a[r, I] b[r, J]`.
fn row_product<T: Real>(a: &[T], b: &[T], rows: usize, i_size: usize, j_size: usize) -> Vec<T> {
    let mut c = vec![T::ZERO; i_size * j_size];
    for r in 0..rows {
        let b_row = &b[r * j_size..(r + 1) * j_size];
        for i in 0..i_size {
            add_scaled(&mut c[i * j_size..(i + 1) * j_size], a[r * i_size + i], b_row);
        }
    }
    c
}

/// `a[I, J]` stored as `[J, I]`.
fn transposed<T: Real>(a: &[T], i_size: usize, j_size: usize) -> Vec<T> {
    let mut t = Vec::with_capacity(a.len());
    for j in 0..j_size {
        for i in 0..i_size {
            t.push(a[i * j_size + j]);
        }
    }
    t
}
