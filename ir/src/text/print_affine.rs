//! Writing affine maps, integer sets and strided layouts.

use std::fmt::Write;

use super::printer::Printer;
use crate::affine::{AffineExpr, AffineMap, AffineOp, IntegerSet};
use crate::types::DYNAMIC;

impl Printer<'_> {
    pub(super) fn affine_map(&mut self, map: &AffineMap) {
        self.text("affine_map<");
        self.affine_scope(map.dims, map.symbols);
        self.text(" -> (");
        self.commas(&map.results, |p, expr| p.affine_expr(expr, false));
        self.text(")>");
    }

    pub(super) fn integer_set(&mut self, set: &IntegerSet) {
        self.text("affine_set<");
        self.affine_scope(set.dims, set.symbols);
        self.text(" : (");
        self.commas(&set.constraints, |p, (expr, is_equality)| {
            p.affine_expr(expr, false);
            p.text(if *is_equality { " == 0" } else { " >= 0" });
        });
        self.text(")>");
    }

    fn affine_scope(&mut self, dims: u32, symbols: u32) {
        self.text("(");
        self.commas(0..dims, |p, at| p.letter('d', at));
        self.text(")");
        if symbols > 0 {
            self.text("[");
            self.commas(0..symbols, |p, at| p.letter('s', at));
            self.text("]");
        }
    }

    fn letter(&mut self, letter: char, at: impl std::fmt::Display) {
        write!(self.out, "{letter}{at}").expect("writing to a string");
    }

    fn number(&mut self, value: impl std::fmt::Display) {
        write!(self.out, "{value}").expect("writing to a string");
    }

    /// Writes an expression; sums and products inside a product (`tight`) get parentheses.
    fn affine_expr(&mut self, expr: &AffineExpr, tight: bool) {
        match expr {
            AffineExpr::Dim(at) => self.letter('d', at),
            AffineExpr::Symbol(at) => self.letter('s', at),
            AffineExpr::Constant(value) => self.number(value),
            AffineExpr::Binary(op, sides) => {
                if tight {
                    self.text("(");
                }
                match op {
                    AffineOp::Add => self.affine_sum(&sides.0, &sides.1),
                    _ => self.affine_product(*op, &sides.0, &sides.1),
                }
                if tight {
                    self.text(")");
                }
            }
        }
    }

    fn affine_product(&mut self, op: AffineOp, lhs: &AffineExpr, rhs: &AffineExpr) {
        if op == AffineOp::Mul && rhs.as_constant() == Some(-1) {
            self.text("-");
            return self.affine_expr(lhs, true);
        }
        self.affine_expr(lhs, true);
        self.text(match op {
            AffineOp::FloorDiv => " floordiv ",
            AffineOp::CeilDiv => " ceildiv ",
            AffineOp::Mod => " mod ",
            _ => " * ",
        });
        self.affine_expr(rhs, true);
    }

    /// A sum; what is added to with a negative factor is subtracted.
    fn affine_sum(&mut self, lhs: &AffineExpr, rhs: &AffineExpr) {
        self.affine_expr(lhs, false);
        if let AffineExpr::Binary(AffineOp::Mul, sides) = rhs
            && let Some(factor @ ..0) = sides.1.as_constant()
        {
            self.text(" - ");
            if factor == -1 {
                let is_sum = matches!(sides.0, AffineExpr::Binary(AffineOp::Add, _));
                return self.affine_expr(&sides.0, is_sum);
            }
            self.affine_expr(&sides.0, true);
            self.text(" * ");
            return self.number(factor.unsigned_abs());
        }
        match rhs.as_constant() {
            Some(value @ ..0) => {
                self.text(" - ");
                self.number(value.unsigned_abs());
            }
            _ => {
                self.text(" + ");
                self.affine_expr(rhs, false);
            }
        }
    }

    pub(super) fn strided(&mut self, strides: &[i64], offset: i64) {
        self.text("strided<[");
        self.commas(strides, |p, stride| p.extent(*stride));
        self.text("]");
        if offset != 0 {
            self.text(", offset: ");
            self.extent(offset);
        }
        self.text(">");
    }

    fn extent(&mut self, value: i64) {
        if value == DYNAMIC { self.text("?") } else { self.number(value) }
    }
}
