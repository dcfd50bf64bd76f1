//! Reading affine maps, integer sets and strided layouts.

use rustc_hash::FxHashMap;

use super::lexer::TokenKind;
use super::numbers::parse_int;
use super::parser::{Failed, ParseResult, Parser};
use crate::affine::{AffineExpr, AffineMap, AffineOp, IntegerSet};
use crate::types::DYNAMIC;
use crate::{Attr, AttrData};

/// The names that an expression may use, with what they stand for.
struct Scope<'p> {
    names: FxHashMap<&'p str, AffineExpr>,
    dims: u32,
    symbols: u32,
    /// How many operations were read.
    operations: std::cell::Cell<u32>,
}

/// Expressions of more operations than these in one attribute are refused: they are trees, which are walked recursively.
const MOST_OPERATIONS: u32 = 1000;

/// What a reader of text must know of an operator: `-` is not one of the expression's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Minus,
    Affine(AffineOp),
}

impl<'p> Parser<'p> {
    /// `affine_map<(d0)[s0] -> (d0 + s0)>`, the word already taken.
    pub(super) fn affine_map(&mut self) -> ParseResult<Attr> {
        self.expect(TokenKind::Less, "'<'")?;
        let scope = self.affine_scope()?;
        self.expect(TokenKind::Arrow, "'->' in an affine map")?;
        self.expect(TokenKind::LParen, "'(' and the results of an affine map")?;
        let mut results = Vec::new();
        self.comma_list(TokenKind::RParen, "',' or ')'", |p| {
            results.push(p.affine_expr(&scope)?);
            Ok(())
        })?;
        self.expect(TokenKind::Greater, "'>' after an affine map")?;
        let (dims, symbols) = (scope.dims, scope.symbols);
        let map = AffineMap { dims, symbols, results: results.into() };
        Ok(self.ctx.attr(AttrData::AffineMap(map)))
    }

    /// `affine_set<(d0) : (d0 >= 0)>`, the word already taken.
    pub(super) fn affine_set(&mut self) -> ParseResult<Attr> {
        self.expect(TokenKind::Less, "'<'")?;
        let scope = self.affine_scope()?;
        self.expect(TokenKind::Colon, "':' in an affine set")?;
        self.expect(TokenKind::LParen, "'(' and the constraints of an affine set")?;
        let mut constraints = Vec::new();
        self.comma_list(TokenKind::RParen, "',' or ')'", |p| {
            constraints.push(p.affine_constraint(&scope)?);
            Ok(())
        })?;
        self.expect(TokenKind::Greater, "'>' after an affine set")?;
        // A set without constraints holds every point.
        if constraints.is_empty() {
            constraints.push((AffineExpr::Constant(0), true));
        }
        let (dims, symbols) = (scope.dims, scope.symbols);
        let set = IntegerSet { dims, symbols, constraints: constraints.into() };
        Ok(self.ctx.attr(AttrData::IntegerSet(set)))
    }

    /// `(d0, d1)[s0]`
    fn affine_scope(&mut self) -> ParseResult<Scope<'p>> {
        let mut scope = Scope {
            names: FxHashMap::default(),
            dims: 0,
            symbols: 0,
            operations: Default::default(),
        };
        self.expect(TokenKind::LParen, "'(' and the dimensions")?;
        self.comma_list(TokenKind::RParen, "',' or ')'", |p| {
            let next = scope.dims;
            p.affine_name(&mut scope, AffineExpr::Dim(next))?;
            scope.dims += 1;
            Ok(())
        })?;
        if self.eat(TokenKind::LSquare) {
            self.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
                let next = scope.symbols;
                p.affine_name(&mut scope, AffineExpr::Symbol(next))?;
                scope.symbols += 1;
                Ok(())
            })?;
        }
        Ok(scope)
    }

    fn affine_name(&mut self, scope: &mut Scope<'p>, expr: AffineExpr) -> ParseResult<()> {
        let at = self.tok.start;
        let name = self.parse_keyword("the name of a dimension or symbol")?;
        if scope.names.insert(name, expr).is_some() {
            return Err(self.error_at(at, format!("redefinition of affine identifier '{name}'")));
        }
        Ok(())
    }

    fn affine_constraint(&mut self, scope: &Scope<'p>) -> ParseResult<(AffineExpr, bool)> {
        let lhs = self.affine_expr(scope)?;
        let relation = self.tok.kind;
        if !matches!(relation, TokenKind::Greater | TokenKind::Less | TokenKind::Equal) {
            return Err(self.expected("'>=', '<=' or '=='"));
        }
        self.advance();
        self.expect(TokenKind::Equal, "'>=', '<=' or '=='")?;
        let rhs = self.affine_expr(scope)?;
        Ok(match relation {
            TokenKind::Less => (rhs.minus(lhs), false),
            _ => (lhs.minus(rhs), relation == TokenKind::Equal),
        })
    }

    /// Sums; products bind tighter.
    fn affine_expr(&mut self, scope: &Scope<'p>) -> ParseResult<AffineExpr> {
        let mut sum = self.affine_product(scope)?;
        loop {
            let operator = match self.tok.kind {
                TokenKind::Plus => Operator::Affine(AffineOp::Add),
                TokenKind::Minus => Operator::Minus,
                _ => return Ok(sum),
            };
            self.advance();
            self.count_operation(scope)?;
            let term = self.affine_product(scope)?;
            sum = match operator {
                Operator::Minus => sum.minus(term),
                Operator::Affine(op) => AffineExpr::binary(op, sum, term),
            };
        }
    }

    fn affine_product(&mut self, scope: &Scope<'p>) -> ParseResult<AffineExpr> {
        let mut product = self.nested(|p| p.affine_operand(scope))?;
        loop {
            let at = self.tok.start;
            let op = match self.tok.kind {
                TokenKind::Star => AffineOp::Mul,
                TokenKind::BareId => match self.text(self.tok) {
                    "floordiv" => AffineOp::FloorDiv,
                    "ceildiv" => AffineOp::CeilDiv,
                    "mod" => AffineOp::Mod,
                    _ => return Ok(product),
                },
                _ => return Ok(product),
            };
            self.advance();
            self.count_operation(scope)?;
            let factor = self.nested(|p| p.affine_operand(scope))?;
            let is_affine = factor.is_symbolic_or_constant()
                || (op == AffineOp::Mul && product.is_symbolic_or_constant());
            if !is_affine {
                let why = match op {
                    AffineOp::Mul => "at least one factor of a product",
                    AffineOp::FloorDiv => "the right side of floordiv",
                    AffineOp::CeilDiv => "the right side of ceildiv",
                    _ => "the right side of mod",
                };
                return Err(self.error_at(
                    at,
                    format!("non-affine expression: {why} has to be a constant or symbolic"),
                ));
            }
            product = AffineExpr::binary(op, product, factor);
        }
    }

    fn count_operation(&mut self, scope: &Scope<'p>) -> ParseResult<()> {
        let count = scope.operations.get() + 1;
        scope.operations.set(count);
        if count <= MOST_OPERATIONS {
            return Ok(());
        }
        Err(self.error(format!("an affine map or set has more than {MOST_OPERATIONS} operations")))
    }

    fn affine_operand(&mut self, scope: &Scope<'p>) -> ParseResult<AffineExpr> {
        let token = self.tok;
        match token.kind {
            TokenKind::BareId => {
                let text = self.text(token);
                match scope.names.get(text) {
                    Some(expr) => {
                        self.advance();
                        Ok(expr.clone())
                    }
                    None => {
                        Err(self.error(format!("use of undeclared affine identifier '{text}'")))
                    }
                }
            }
            TokenKind::Integer => {
                self.advance();
                let value = parse_int(self.text(token)).and_then(|v| i64::try_from(v).ok());
                value
                    .map(AffineExpr::Constant)
                    .ok_or_else(|| self.error_at(token.start, "constant too large for index"))
            }
            TokenKind::LParen => {
                self.advance();
                if self.at(TokenKind::RParen) {
                    return Err(self.error("no expression inside parentheses"));
                }
                let inner = self.nested(|p| p.affine_expr(scope))?;
                self.expect(TokenKind::RParen, "')'")?;
                Ok(inner)
            }
            TokenKind::Minus => {
                self.advance();
                Ok(self.nested(|p| p.affine_operand(scope))?.negated())
            }
            _ => Err(self.expected("an affine expression")),
        }
    }

    /// `strided<[1, ?], offset: ?>`, the word already taken.
    pub(super) fn strided(&mut self) -> ParseResult<Attr> {
        self.expect(TokenKind::Less, "'<'")?;
        self.expect(TokenKind::LSquare, "'[' and the strides")?;
        let mut strides = Vec::new();
        self.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
            strides.push(p.stride()?);
            Ok(())
        })?;
        let mut offset = 0;
        if self.eat(TokenKind::Comma) {
            self.expect_keyword("offset")?;
            self.expect(TokenKind::Colon, "':' after 'offset'")?;
            offset = self.stride()?;
        }
        self.expect(TokenKind::Greater, "'>' after a strided layout")?;
        Ok(self.ctx.attr(AttrData::Strided { strides: strides.into(), offset }))
    }

    fn stride(&mut self) -> ParseResult<i64> {
        if self.eat(TokenKind::Question) {
            return Ok(DYNAMIC);
        }
        if !matches!(self.tok.kind, TokenKind::Integer | TokenKind::Minus) {
            return Err(self.expected("a 64-bit signed integer or '?'"));
        }
        let at = self.tok.start;
        match self.parse_integer()? {
            DYNAMIC => Err(self.out_of_range(at)),
            value => Ok(value),
        }
    }

    fn out_of_range(&mut self, at: u32) -> Failed {
        self.error_at(at, "integer does not fit 64 bits")
    }
}
