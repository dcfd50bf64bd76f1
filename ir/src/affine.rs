//! Affine expressions, maps and integer sets: arithmetic on indices that stays linear.
//!
//! Expressions are simplified when they are built, with the rules of MLIR's builder, so that equal text gives equal
//! attributes and prints as `mlir-opt` prints it. Counterpart: MLIR's `AffineExpr`, `AffineMap`, `IntegerSet`.

/// What a binary expression does. Division is of integers: `floordiv` towards minus infinity, `ceildiv` towards plus
/// infinity, `mod` never negative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum AffineOp {
    Add,
    Mul,
    FloorDiv,
    CeilDiv,
    Mod,
}

/// An expression over dimensions and symbols.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum AffineExpr {
    /// `d0`
    Dim(u32),
    /// `s0`
    Symbol(u32),
    Constant(i64),
    Binary(AffineOp, Box<(AffineExpr, AffineExpr)>),
}

/// `(d0, d1)[s0] -> (results)`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct AffineMap {
    pub dims: u32,
    pub symbols: u32,
    pub results: Box<[AffineExpr]>,
}

/// `(d0)[s0] : (constraints)`: each expression is zero, if marked as an equality, or not negative.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct IntegerSet {
    pub dims: u32,
    pub symbols: u32,
    pub constraints: Box<[(AffineExpr, bool)]>,
}

use AffineExpr::{Binary, Constant};
use AffineOp::{Add, CeilDiv, FloorDiv, Mod, Mul};

impl AffineExpr {
    /// Whether no dimension occurs.
    pub fn is_symbolic_or_constant(&self) -> bool {
        match self {
            AffineExpr::Dim(_) => false,
            AffineExpr::Symbol(_) | Constant(_) => true,
            Binary(_, sides) => {
                sides.0.is_symbolic_or_constant() && sides.1.is_symbolic_or_constant()
            }
        }
    }

    /// The value of a constant.
    pub fn as_constant(&self) -> Option<i64> {
        match self {
            Constant(value) => Some(*value),
            _ => None,
        }
    }

    fn sides(&self, wanted: AffineOp) -> Option<(&AffineExpr, &AffineExpr)> {
        match self {
            Binary(op, sides) if *op == wanted => Some((&sides.0, &sides.1)),
            _ => None,
        }
    }

    /// The two sides, if this is such an operation and its right side a constant.
    fn with_constant(&self, wanted: AffineOp) -> Option<(&AffineExpr, i64)> {
        let (lhs, rhs) = self.sides(wanted)?;
        Some((lhs, rhs.as_constant()?))
    }

    /// The simplified result of an operation. Products and divisions of two expressions with dimensions are built as they
    /// are; that they are not affine is for the caller to refuse.
    pub fn binary(op: AffineOp, lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr {
        let simplified = match op {
            Add => simplify_add(&lhs, &rhs),
            Mul => simplify_mul(&lhs, &rhs),
            FloorDiv | CeilDiv => simplify_div(op, &lhs, &rhs),
            Mod => simplify_mod(&lhs, &rhs),
        };
        simplified.unwrap_or_else(|| Binary(op, Box::new((lhs, rhs))))
    }

    /// `self - other`
    pub fn minus(self, other: AffineExpr) -> AffineExpr {
        AffineExpr::binary(Add, self, other.negated())
    }

    /// `-self`
    pub fn negated(self) -> AffineExpr {
        AffineExpr::binary(Mul, self, Constant(-1))
    }

    /// The largest number that is known to divide the value whatever the dimensions and symbols are; 0 for the constant 0.
    pub fn known_divisor(&self) -> u64 {
        match self {
            AffineExpr::Dim(_) | AffineExpr::Symbol(_) => 1,
            Constant(value) => value.unsigned_abs(),
            Binary(Mul, sides) => sides.0.known_divisor().saturating_mul(sides.1.known_divisor()),
            Binary(FloorDiv | CeilDiv, sides) => match sides.1.as_constant() {
                Some(by) if by != 0 && sides.0.known_divisor() % by.unsigned_abs() == 0 => {
                    sides.0.known_divisor() / by.unsigned_abs()
                }
                _ => 1,
            },
            Binary(Add | Mod, sides) => gcd(sides.0.known_divisor(), sides.1.known_divisor()),
        }
    }

    /// The value for given dimensions and symbols; `None` if it overflows or divides by what is not positive.
    pub fn eval(&self, dims: &[i64], symbols: &[i64]) -> Option<i64> {
        Some(match self {
            AffineExpr::Dim(at) => *dims.get(*at as usize)?,
            AffineExpr::Symbol(at) => *symbols.get(*at as usize)?,
            Constant(value) => *value,
            Binary(op, sides) => {
                let (lhs, rhs) = (sides.0.eval(dims, symbols)?, sides.1.eval(dims, symbols)?);
                match op {
                    Add => lhs.checked_add(rhs)?,
                    Mul => lhs.checked_mul(rhs)?,
                    _ if rhs <= 0 => return None,
                    FloorDiv => lhs.div_euclid(rhs),
                    CeilDiv => -(lhs.checked_neg()?.div_euclid(rhs)),
                    Mod => lhs.rem_euclid(rhs),
                }
            }
        })
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Whether two dimensions, or two symbols, stand against their numbering.
fn out_of_order(lhs: &AffineExpr, rhs: &AffineExpr) -> bool {
    match (lhs, rhs) {
        (AffineExpr::Dim(a), AffineExpr::Dim(b))
        | (AffineExpr::Symbol(a), AffineExpr::Symbol(b)) => a > b,
        _ => false,
    }
}

fn simplify_add(lhs: &AffineExpr, rhs: &AffineExpr) -> Option<AffineExpr> {
    let again = |a: &AffineExpr, b: &AffineExpr| AffineExpr::binary(Add, a.clone(), b.clone());
    if let (Constant(a), Constant(b)) = (lhs, rhs) {
        return Some(Constant(a.checked_add(*b)?));
    }
    // The constant stands on the right, or what has no dimension.
    if lhs.as_constant().is_some()
        || out_of_order(lhs, rhs)
        || (lhs.is_symbolic_or_constant() && !rhs.is_symbolic_or_constant())
    {
        return Some(again(rhs, lhs));
    }
    let constant = rhs.as_constant();
    if constant == Some(0) {
        return Some(lhs.clone());
    }
    // Text writes sums of sums without brackets and so reads e + (f + g) as (e + f) + g: that is what is built.
    // (MLIR keeps the former, and may simplify it when it reads its own text.)
    if let Some((a, b)) = rhs.sides(Add) {
        return Some(AffineExpr::binary(Add, again(lhs, a), b.clone()));
    }
    if let (Some((inner, a)), Some(b)) = (lhs.with_constant(Add), constant) {
        return Some(again(inner, &Constant(a.checked_add(b)?)));
    }
    // c1 * e + c2 * e is (c1 + c2) * e.
    let (first, a) = lhs.with_constant(Mul).unwrap_or((lhs, 1));
    let (second, b) = rhs.with_constant(Mul).unwrap_or((rhs, 1));
    if first == second {
        return Some(AffineExpr::binary(Mul, first.clone(), Constant(a.checked_add(b)?)));
    }
    // (e + c) + f is (e + f) + c.
    if let Some((inner, c)) = lhs.with_constant(Add) {
        return Some(AffineExpr::binary(Add, again(inner, rhs), Constant(c)));
    }
    // e - (e floordiv q) * q is e mod q.
    let (product, factor) = rhs.sides(Mul)?;
    if factor.as_constant() == Some(-1)
        && let Some((quotient, q)) = product.sides(Mul)
        && quotient.sides(FloorDiv) == Some((lhs, q))
    {
        return Some(AffineExpr::binary(Mod, lhs.clone(), q.clone()));
    }
    let (dividend, q) = product.with_constant(FloorDiv)?;
    if dividend == lhs && factor.as_constant() == q.checked_neg() {
        return Some(AffineExpr::binary(Mod, lhs.clone(), Constant(q)));
    }
    None
}

fn simplify_mul(lhs: &AffineExpr, rhs: &AffineExpr) -> Option<AffineExpr> {
    let again = |a: &AffineExpr, b: &AffineExpr| AffineExpr::binary(Mul, a.clone(), b.clone());
    if let (Constant(a), Constant(b)) = (lhs, rhs) {
        return Some(Constant(a.checked_mul(*b)?));
    }
    if !lhs.is_symbolic_or_constant() && !rhs.is_symbolic_or_constant() {
        return None;
    }
    if !rhs.is_symbolic_or_constant() || lhs.as_constant().is_some() || out_of_order(lhs, rhs) {
        return Some(again(rhs, lhs));
    }
    match rhs.as_constant() {
        Some(1) => return Some(lhs.clone()),
        Some(0) => return Some(Constant(0)),
        _ => {}
    }
    let (inner, a) = lhs.with_constant(Mul)?;
    match rhs.as_constant() {
        Some(b) => Some(again(inner, &Constant(a.checked_mul(b)?))),
        None => Some(AffineExpr::binary(Mul, again(inner, rhs), Constant(a))),
    }
}

fn simplify_div(op: AffineOp, lhs: &AffineExpr, rhs: &AffineExpr) -> Option<AffineExpr> {
    let by = rhs.as_constant().filter(|by| *by != 0)?;
    if let Constant(value) = lhs {
        let (quotient, rest) = (value.checked_div(by)?, value % by);
        let apart = (rest < 0) != (by < 0);
        return Some(Constant(match op {
            CeilDiv => quotient + i64::from(rest != 0 && !apart),
            _ => quotient - i64::from(rest != 0 && apart),
        }));
    }
    if by == 1 {
        return Some(lhs.clone());
    }
    if let Some((inner, factor)) = lhs.with_constant(Mul)
        && factor.checked_rem(by)? == 0
    {
        return Some(AffineExpr::binary(Mul, inner.clone(), Constant(factor / by)));
    }
    if op == FloorDiv
        && let Some((a, b)) = lhs.sides(Add)
        && (a.known_divisor() % by.unsigned_abs() == 0
            || b.known_divisor() % by.unsigned_abs() == 0)
    {
        let divided = |e: &AffineExpr| AffineExpr::binary(FloorDiv, e.clone(), Constant(by));
        return Some(AffineExpr::binary(Add, divided(a), divided(b)));
    }
    None
}

fn simplify_mod(lhs: &AffineExpr, rhs: &AffineExpr) -> Option<AffineExpr> {
    let by = rhs.as_constant().filter(|by| *by >= 1)?;
    if let Constant(value) = lhs {
        return Some(Constant(value.rem_euclid(by)));
    }
    let divides = |e: &AffineExpr| e.known_divisor().is_multiple_of(by.unsigned_abs());
    let rest = |e: &AffineExpr| Some(AffineExpr::binary(Mod, e.clone(), Constant(by)));
    if divides(lhs) {
        return Some(Constant(0));
    }
    if let Some((a, b)) = lhs.sides(Add) {
        if divides(a) {
            return rest(b);
        }
        if divides(b) {
            return rest(a);
        }
    }
    match lhs.with_constant(Mod) {
        Some((inner, before)) if before >= 1 && before % by == 0 => rest(inner),
        _ => None,
    }
}

impl AffineMap {
    /// `(d0, d1, ...) -> (d0, d1, ...)`
    pub fn identity(dims: u32) -> AffineMap {
        AffineMap { dims, symbols: 0, results: (0..dims).map(AffineExpr::Dim).collect() }
    }

    /// Whether the results are the dimensions in their order.
    pub fn is_identity(&self) -> bool {
        self.results.len() == self.dims as usize
            && self.results.iter().enumerate().all(|(i, e)| *e == AffineExpr::Dim(i as u32))
    }

    /// The dimensions that the results name, if the map only reorders or drops dimensions.
    pub fn as_permutation(&self) -> Option<Vec<u32>> {
        let mut seen = vec![false; self.dims as usize];
        let dims: Option<Vec<u32>> = self
            .results
            .iter()
            .map(|e| match e {
                AffineExpr::Dim(at) => Some(*at),
                _ => None,
            })
            .collect();
        dims.filter(|dims| {
            dims.len() == seen.len()
                && dims.iter().all(|&at| !std::mem::replace(&mut seen[at as usize], true))
        })
    }

    /// The results for given dimensions and symbols; `None` if one overflows or divides by what is not positive.
    pub fn eval(&self, dims: &[i64], symbols: &[i64]) -> Option<Vec<i64>> {
        self.results.iter().map(|e| e.eval(dims, symbols)).collect()
    }
}

impl IntegerSet {
    /// Whether the point satisfies all constraints; `None` if one cannot be evaluated.
    pub fn contains(&self, dims: &[i64], symbols: &[i64]) -> Option<bool> {
        self.constraints.iter().try_fold(true, |inside, (expr, is_equality)| {
            let value = expr.eval(dims, symbols)?;
            Some(inside && if *is_equality { value == 0 } else { value >= 0 })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d(at: u32) -> AffineExpr {
        AffineExpr::Dim(at)
    }

    #[test]
    fn what_is_known_is_computed() {
        let twice = AffineExpr::binary(Mul, Constant(2), d(0));
        assert_eq!(twice, Binary(Mul, Box::new((d(0), Constant(2)))));
        assert_eq!(AffineExpr::binary(Mod, twice.clone(), Constant(2)), Constant(0));
        assert_eq!(AffineExpr::binary(FloorDiv, twice.clone(), Constant(2)), d(0));
        assert_eq!(d(0).minus(d(0)), Constant(0));
        let quotient = AffineExpr::binary(FloorDiv, d(0), Constant(4));
        let back = AffineExpr::binary(Mul, quotient, Constant(4));
        assert_eq!(d(0).minus(back), Binary(Mod, Box::new((d(0), Constant(4)))));
        let three =
            AffineExpr::binary(Add, AffineExpr::binary(Add, Constant(1), Constant(2)), d(0));
        assert_eq!(three, Binary(Add, Box::new((d(0), Constant(3)))));
    }

    #[test]
    fn division_rounds_as_its_name_says() {
        for (op, value, by, result) in [
            (FloorDiv, -7, 2, -4),
            (FloorDiv, 7, -2, -4),
            (CeilDiv, -7, 2, -3),
            (CeilDiv, 7, 2, 4),
            (Mod, -7, 4, 1),
        ] {
            assert_eq!(AffineExpr::binary(op, Constant(value), Constant(by)), Constant(result));
            if by > 0 {
                let expr = Binary(op, Box::new((d(0), Constant(by))));
                assert_eq!(expr.eval(&[value], &[]), Some(result));
            }
        }
        assert_eq!(Binary(Mod, Box::new((d(0), Constant(0)))).eval(&[1], &[]), None);
    }

    #[test]
    fn maps_and_sets_are_evaluated() {
        let swap = AffineMap { dims: 2, symbols: 0, results: Box::new([d(1), d(0)]) };
        assert_eq!(swap.eval(&[3, 5], &[]), Some(vec![5, 3]));
        assert_eq!(swap.as_permutation(), Some(vec![1, 0]));
        assert!(AffineMap::identity(3).is_identity() && !swap.is_identity());
        let below_four = Constant(4).minus(d(0));
        let set = IntegerSet { dims: 1, symbols: 0, constraints: Box::new([(below_four, false)]) };
        assert_eq!((set.contains(&[4], &[]), set.contains(&[5], &[])), (Some(true), Some(false)));
    }
}
