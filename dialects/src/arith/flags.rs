//! What a program promises of its arithmetic: `#arith.overflow<nsw, nuw>`, `#arith.fastmath<fast>`.
//!
//! Both are sets of flags, kept as one integer with MLIR's bits. A flag is a licence, not a command: dropping one is always
//! right, keeping one is right only where it still holds.

use piper_ir::{
    Attr, AttrConstraint, AttrData, Context, Module, Op, ParamDef, ParseResult, Parser, Printer,
    TokenKind,
};

/// A set of flags.
pub(super) struct Flags {
    /// The attribute's full name, `arith.overflow`.
    pub(super) name: &'static str,
    /// The word in custom forms.
    pub(super) keyword: &'static str,
    cases: &'static [(&'static str, i64)],
    separator: &'static str,
}

pub(super) const OVERFLOW: Flags = Flags {
    name: "arith.overflow",
    keyword: "overflow",
    cases: &[("nsw", NSW), ("nuw", NUW)],
    separator: ", ",
};

pub(super) const FASTMATH: Flags = Flags {
    name: "arith.fastmath",
    keyword: "fastmath",
    cases: &[
        ("reassoc", 1),
        ("nnan", NNAN),
        ("ninf", NINF),
        ("nsz", NSZ),
        ("arcp", 16),
        ("contract", CONTRACT),
        ("afn", 64),
        ("fast", 127),
    ],
    separator: ",",
};

/// The result does not wrap as a signed number.
pub(super) const NSW: i64 = 1;
/// The result does not wrap as an unsigned number.
pub(super) const NUW: i64 = 2;
/// No value is a NaN.
pub(super) const NNAN: i64 = 2;
/// No value is infinite.
pub(super) const NINF: i64 = 4;
/// Operations may be combined without rounding in between.
pub(super) const CONTRACT: i64 = 32;
/// The sign of a zero does not matter.
pub(super) const NSZ: i64 = 8;

pub(super) const IS_OVERFLOW: AttrConstraint = AttrConstraint::Dialect("arith.overflow");
pub(super) const IS_FASTMATH: AttrConstraint = AttrConstraint::Dialect("arith.fastmath");

/// The attributes of the dialect.
pub(super) fn definitions() -> Vec<ParamDef> {
    vec![
        ParamDef::new(
            OVERFLOW.name,
            "Which overflows do not happen: `nsw` signed, `nuw` unsigned ones, or `none` is promised.",
            |p| OVERFLOW.parse_params(p),
            |p, params| OVERFLOW.print_params(p, params),
        ),
        ParamDef::new(
            FASTMATH.name,
            "Which laws of real numbers may be used: `reassoc nnan ninf nsz arcp contract afn`, all (`fast`) or `none`.",
            |p| FASTMATH.parse_params(p),
            |p, params| FASTMATH.print_params(p, params),
        ),
    ]
}

impl Flags {
    /// The attribute for a set of bits.
    pub(super) fn attr(&self, ctx: &Context, bits: i64) -> Attr {
        let params = Box::new([ctx.int_attr(bits)]);
        ctx.attr(AttrData::Dialect { name: ctx.name(self.name), params })
    }

    /// The attribute for a set of bits; `None`, which means the same, if it is empty.
    pub(super) fn attr_if(&self, ctx: &Context, bits: i64) -> Option<Attr> {
        (bits != 0).then(|| self.attr(ctx, bits))
    }

    /// Reads `<nsw, nuw>`.
    pub(super) fn parse(&self, p: &mut Parser<'_>) -> ParseResult<Attr> {
        let params = self.parse_params(p)?;
        let ctx = p.ctx();
        Ok(ctx.attr(AttrData::Dialect { name: ctx.name(self.name), params: params.into() }))
    }

    fn parse_params(&self, p: &mut Parser<'_>) -> ParseResult<Vec<Attr>> {
        p.expect(TokenKind::Less, "'<' and flags")?;
        let mut bits = 0;
        loop {
            let at = p.token().start;
            let word = p.parse_keyword("a flag")?;
            match self.cases.iter().find(|(case, _)| *case == word) {
                Some((_, bit)) => bits |= bit,
                None if word == "none" => {}
                None => {
                    let known: Vec<&str> = self.cases.iter().map(|(case, _)| *case).collect();
                    let message = format!(
                        "'{word}' is no {} flag; they are none, {}",
                        self.keyword,
                        known.join(", ")
                    );
                    return Err(p.error_at(at, message));
                }
            }
            if !p.eat(TokenKind::Comma) {
                break;
            }
        }
        p.expect(TokenKind::Greater, "',' or '>'")?;
        Ok(vec![p.ctx().int_attr(bits)])
    }

    fn print_params(&self, p: &mut Printer<'_>, params: &[Attr]) {
        let bits = params.first().and_then(|bits| bits.as_int(p.ctx())).unwrap_or(0);
        let text = self.text(bits);
        p.text("<");
        p.text(&text);
        p.text(">");
    }

    /// `nsw, nuw`
    pub(super) fn text(&self, bits: i64) -> String {
        if bits == 0 {
            return "none".to_owned();
        }
        if let Some((all, _)) = self.cases.iter().find(|(_, case)| *case == bits) {
            return (*all).to_owned();
        }
        let single = self.cases.iter().filter(|(_, bit)| bit.count_ones() == 1 && bits & bit != 0);
        single.map(|(case, _)| *case).collect::<Vec<_>>().join(self.separator)
    }
}

/// The bits of a flag attribute.
pub(super) fn bits_of(ctx: &Context, attr: Option<Attr>) -> i64 {
    match attr.map(|attr| attr.data(ctx)) {
        Some(AttrData::Dialect { params, .. }) => {
            params.first().and_then(|bits| bits.as_int(ctx)).unwrap_or(0)
        }
        _ => 0,
    }
}

/// What an integer operation promises.
pub(super) fn overflow(module: &Module, op: Op) -> i64 {
    bits_of(module.ctx(), module.attr_by(op, "overflowFlags"))
}

/// What a floating-point operation may assume.
pub(super) fn fastmath(module: &Module, op: Op) -> i64 {
    bits_of(module.ctx(), module.attr_by(op, "fastmath"))
}
