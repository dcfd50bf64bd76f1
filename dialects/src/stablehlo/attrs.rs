//! StableHLO's attributes: enumerations (`#stablehlo<comparison_direction LT>`), records of dimension numbers
//! (`#stablehlo.dot<lhs_contracting_dimensions = [1], ...>`) and a few that are kept as their text.
//!
//! A record is stored as pairs (key, value) in the order of its declaration, whatever the order in the text; empty lists are
//! left out, as StableHLO does. So equal dimension numbers are one attribute.

use piper_ir::diag::did_you_mean;
use piper_ir::text::{Failed, Parser};
use piper_ir::{
    Attr, AttrConstraint, AttrData, Context, ParamDef, ParseResult, Printer, TokenKind,
};

/// The enumerations with their cases.
const ENUMS: &[(&str, &[&str])] = &[
    ("comparison_direction", &["EQ", "NE", "GE", "GT", "LE", "LT"]),
    ("comparison_type", &["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"]),
    ("precision", &["DEFAULT", "HIGH", "HIGHEST", "PACKED_NIBBLE"]),
    ("fft_type", &["FFT", "IFFT", "RFFT", "IRFFT"]),
    ("transpose", &["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]),
    ("rng_distribution", &["UNIFORM", "NORMAL"]),
    ("rng_algorithm", &["DEFAULT", "THREE_FRY", "PHILOX"]),
    ("result_accuracy_mode", &["DEFAULT", "HIGHEST", "TOLERANCE"]),
];

/// What a field of a record holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    /// `[0, 1]`; left out when empty.
    List,
    /// `[0, 1]`, always written.
    Indices,
    /// A number; zero is left out.
    Index,
    /// A number.
    Number,
    /// `true` or `false`.
    Flag,
    /// A type.
    Type,
}

type Fields = &'static [(&'static str, Field)];

const DOT: Fields = &[
    ("lhs_batching_dimensions", Field::List),
    ("rhs_batching_dimensions", Field::List),
    ("lhs_contracting_dimensions", Field::List),
    ("rhs_contracting_dimensions", Field::List),
];

const DOT_ALGORITHM: Fields = &[
    ("lhs_precision_type", Field::Type),
    ("rhs_precision_type", Field::Type),
    ("accumulation_type", Field::Type),
    ("lhs_component_count", Field::Number),
    ("rhs_component_count", Field::Number),
    ("num_primitive_operations", Field::Number),
    ("allow_imprecise_accumulation", Field::Flag),
];

const GATHER: Fields = &[
    ("offset_dims", Field::List),
    ("collapsed_slice_dims", Field::List),
    ("operand_batching_dims", Field::List),
    ("start_indices_batching_dims", Field::List),
    ("start_index_map", Field::List),
    ("index_vector_dim", Field::Index),
];

const SCATTER: Fields = &[
    ("update_window_dims", Field::List),
    ("inserted_window_dims", Field::List),
    ("input_batching_dims", Field::List),
    ("scatter_indices_batching_dims", Field::List),
    ("scatter_dims_to_operand_dims", Field::List),
    ("index_vector_dim", Field::Index),
];

const CHANNEL: Fields = &[("handle", Field::Number), ("type", Field::Number)];

const ALIAS: Fields = &[
    ("output_tuple_indices", Field::Indices),
    ("operand_index", Field::Number),
    ("operand_tuple_indices", Field::Indices),
];

/// `#stablehlo.dot<...>`
pub(super) const DOT_ATTR: AttrConstraint = AttrConstraint::Dialect("stablehlo.dot");
/// `#stablehlo.gather<...>`
pub(super) const GATHER_ATTR: AttrConstraint = AttrConstraint::Dialect("stablehlo.gather");
/// `#stablehlo.scatter<...>`
pub(super) const SCATTER_ATTR: AttrConstraint = AttrConstraint::Dialect("stablehlo.scatter");
/// `#stablehlo.channel_handle<...>`
pub(super) const CHANNEL_ATTR: AttrConstraint = AttrConstraint::Dialect("stablehlo.channel_handle");
/// `#stablehlo<comparison_direction ...>`
pub(super) const DIRECTION: AttrConstraint = AttrConstraint::Pred(
    "a comparison direction (#stablehlo<comparison_direction EQ>)",
    |ctx, attr| enum_case(ctx, attr, "comparison_direction").is_some(),
);
/// `#stablehlo<comparison_type ...>`
pub(super) const COMPARISON: AttrConstraint =
    AttrConstraint::Pred("a comparison type (#stablehlo<comparison_type SIGNED>)", |ctx, attr| {
        enum_case(ctx, attr, "comparison_type").is_some()
    });
/// Precisions of the operands, one each.
pub(super) const PRECISIONS: AttrConstraint = AttrConstraint::Pred(
    "an array of precisions ([#stablehlo<precision DEFAULT>])",
    |ctx, attr| {
        let is_precision = |item: &Attr| enum_case(ctx, *item, "precision").is_some();
        attr.as_array(ctx).is_some_and(|items| items.iter().all(is_precision))
    },
);

/// The attributes of the dialect.
pub(super) fn definitions() -> Vec<ParamDef> {
    vec![
        ParamDef::new(
            "stablehlo",
            "A case of an enumeration: `#stablehlo<comparison_direction LT>`.",
            parse_enum,
            |p, params| {
                let ctx = p.ctx();
                let words: Vec<&str> = params.iter().filter_map(|a| a.as_str(ctx)).collect();
                p.text("<");
                p.text(&words.join(" "));
                p.text(">");
            },
        ),
        ParamDef::new(
            "stablehlo.dot",
            "Which dimensions of a product's operands run together, and which are summed over.",
            |p| parse_record(p, DOT),
            print_record,
        ),
        ParamDef::new(
            "stablehlo.dot_algorithm",
            "In which types and how many parts a product is computed.",
            |p| parse_record(p, DOT_ALGORITHM),
            print_record,
        ),
        ParamDef::new(
            "stablehlo.gather",
            "How indices pick slices and where these stand in the result.",
            |p| parse_record(p, GATHER),
            print_record,
        ),
        ParamDef::new(
            "stablehlo.scatter",
            "How indices pick where updates go.",
            |p| parse_record(p, SCATTER),
            print_record,
        ),
        ParamDef::new(
            "stablehlo.channel_handle",
            "The channel of a collective: its number and kind.",
            |p| parse_record(p, CHANNEL),
            print_record,
        ),
        ParamDef::new(
            "stablehlo.output_operand_alias",
            "A result of a custom call that shares an operand's memory.",
            |p| parse_record(p, ALIAS),
            print_record,
        ),
        raw(
            "stablehlo.conv",
            "The roles of a convolution's dimensions: `<[b, 0, f]x[0, i, o]->[b, 0, f]>`.",
        ),
        raw("stablehlo.result_accuracy", "How accurate a function's values must be."),
        raw("stablehlo.bounds", "Bounds of dynamic dimensions: `<?, 4>`."),
        raw("stablehlo.type_extensions", "Bounds of dynamic dimensions: `<bounds = [4]>`."),
    ]
}

/// An attribute kept as its text.
fn raw(name: &'static str, doc: &'static str) -> ParamDef {
    ParamDef::new(name, doc, parse_raw, |p, params| {
        let ctx = p.ctx();
        p.text("<");
        for text in params.iter().filter_map(|a| a.as_str(ctx)) {
            p.text(text);
        }
        p.text(">");
    })
}

/// The attribute `#stablehlo<kind case>`.
pub(super) fn enum_attr(ctx: &Context, kind: &str, case: &str) -> Attr {
    let params = [ctx.str_attr(kind), ctx.str_attr(case)];
    ctx.attr(AttrData::Dialect { name: ctx.name("stablehlo"), params: params.into() })
}

/// The case of an enumeration's attribute.
pub fn enum_case<'c>(ctx: &'c Context, attr: Attr, kind: &str) -> Option<&'c str> {
    let AttrData::Dialect { name, params } = attr.data(ctx) else { return None };
    let (of, case) = match params[..] {
        [of, case] if name.text(ctx) == "stablehlo" => (of.as_str(ctx)?, case.as_str(ctx)?),
        _ => return None,
    };
    (of == kind).then_some(case)
}

/// Reads a case of an enumeration, a bare word.
pub(super) fn parse_case(p: &mut Parser<'_>, kind: &str) -> ParseResult<Attr> {
    let cases = ENUMS.iter().find(|(known, _)| *known == kind).map_or(&[][..], |(_, cases)| cases);
    let start = p.token().start;
    let what = format!("one of {}", cases.join(", "));
    let word = p.parse_keyword(&what)?;
    if !cases.contains(&word) {
        let close = did_you_mean(word, cases.iter().copied());
        p.report_at(start, format!("expected {what}, found '{word}'")).hint =
            close.map(|close| format!("did you mean '{close}'?"));
        return Err(Failed);
    }
    Ok(enum_attr(p.ctx(), kind, word))
}

fn parse_enum(p: &mut Parser<'_>) -> ParseResult<Vec<Attr>> {
    let ctx = p.ctx();
    p.expect(TokenKind::Less, "'<' and an enumeration")?;
    let start = p.token().start;
    let kind = p.parse_keyword("an enumeration")?;
    if !ENUMS.iter().any(|(known, _)| *known == kind) {
        let close = did_you_mean(kind, ENUMS.iter().map(|(name, _)| *name));
        p.report_at(start, format!("unknown enumeration '{kind}' of dialect 'stablehlo'")).hint =
            close.map(|close| format!("did you mean '{close}'?"));
        return Err(Failed);
    }
    let case = parse_case(p, kind)?;
    p.expect(TokenKind::Greater, "'>'")?;
    let AttrData::Dialect { params, .. } = case.data(ctx) else { return Err(Failed) };
    Ok(params.to_vec())
}

fn parse_record(p: &mut Parser<'_>, fields: Fields) -> ParseResult<Vec<Attr>> {
    let ctx = p.ctx();
    p.expect(TokenKind::Less, "'<' and the fields")?;
    let mut found: Vec<Option<Attr>> = vec![None; fields.len()];
    p.comma_list(TokenKind::Greater, "',' or '>'", |p| {
        let start = p.token().start;
        let key = p.parse_keyword("the name of a field")?;
        let Some(at) = fields.iter().position(|(known, _)| *known == key) else {
            let close = did_you_mean(key, fields.iter().map(|(name, _)| *name));
            let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            p.report_at(start, format!("there is no field '{key}'")).hint(close.map_or_else(
                || format!("the fields are {}", names.join(", ")),
                |close| format!("did you mean '{close}'?"),
            ));
            return Err(Failed);
        };
        if found[at].is_some() {
            return Err(p.error_at(start, format!("field '{key}' is given twice")));
        }
        p.expect(TokenKind::Equal, "'='")?;
        found[at] = Some(match fields[at].1 {
            Field::List | Field::Indices => ctx.int_array_attr(&super::forms::int_list(p)?),
            Field::Index | Field::Number => ctx.int_attr(p.parse_integer()?),
            Field::Flag => {
                let flag = p.at_keyword("true");
                if !flag && !p.at_keyword("false") {
                    return Err(p.expected("true or false"));
                }
                p.advance();
                ctx.bool_attr(flag)
            }
            Field::Type => ctx.type_attr(p.parse_type()?),
        });
        Ok(())
    })?;
    Ok(pairs(ctx, fields, &found))
}

/// A record's parameters, without what says nothing.
fn pairs(ctx: &Context, fields: Fields, values: &[Option<Attr>]) -> Vec<Attr> {
    let mut params = Vec::new();
    for ((key, field), value) in fields.iter().zip(values) {
        let Some(value) = *value else { continue };
        let is_idle = match field {
            Field::List => value.as_int_array(ctx).is_some_and(<[i64]>::is_empty),
            Field::Index => value.as_int(ctx) == Some(0),
            _ => false,
        };
        if !is_idle {
            params.extend([ctx.str_attr(key), value]);
        }
    }
    params
}

fn print_record(p: &mut Printer<'_>, params: &[Attr]) {
    let ctx = p.ctx();
    p.text("<");
    let (pairs, _) = params.as_chunks::<2>();
    p.commas(pairs, |p, [key, value]| {
        p.text(key.as_str(ctx).unwrap_or_default());
        p.text(" = ");
        match value.as_int_array(ctx) {
            Some(list) => super::forms::print_int_list(p, list),
            None => p.attr(*value),
        }
    });
    p.text(">");
}

/// The dimension numbers of a product, in the order of [`DOT`].
pub(super) fn dot_attr(ctx: &Context, lists: [Vec<i64>; 4]) -> Attr {
    let lists = lists.map(|list| Some(ctx.int_array_attr(&list)));
    let params = pairs(ctx, DOT, &lists);
    ctx.attr(AttrData::Dialect { name: ctx.name("stablehlo.dot"), params: params.into() })
}

/// Reads a product's algorithm: `<lhs_precision_type = tf32, ...>`.
pub(super) fn parse_algorithm(p: &mut Parser<'_>) -> ParseResult<Attr> {
    let ctx = p.ctx();
    let params = parse_record(p, DOT_ALGORITHM)?;
    Ok(ctx.attr(AttrData::Dialect {
        name: ctx.name("stablehlo.dot_algorithm"),
        params: params.into(),
    }))
}

/// Writes an attribute of the dialect without its name: `<...>`.
pub(super) fn print_body(p: &mut Printer<'_>, attr: Attr) {
    if let AttrData::Dialect { params, .. } = attr.data(p.ctx()) {
        print_record(p, params);
    }
}

/// A field of a record; `None` if it is left out.
pub fn field(ctx: &Context, attr: Attr, key: &str) -> Option<Attr> {
    let AttrData::Dialect { params, .. } = attr.data(ctx) else { return None };
    let (pairs, _) = params.as_chunks::<2>();
    pairs.iter().find(|[name, _]| name.as_str(ctx) == Some(key)).map(|[_, value]| *value)
}

/// A list of a record; empty if it is left out.
pub fn list<'c>(ctx: &'c Context, attr: Attr, key: &str) -> &'c [i64] {
    field(ctx, attr, key).and_then(|value| value.as_int_array(ctx)).unwrap_or(&[])
}

/// Keeps the tokens up to the closing bracket; runs of blanks become one.
fn parse_raw(p: &mut Parser<'_>) -> ParseResult<Vec<Attr>> {
    let ctx = p.ctx();
    p.expect(TokenKind::Less, "'<'")?;
    let (mut text, mut depth, mut end) = (String::new(), 0u32, p.token().start);
    loop {
        let token = p.token();
        match token.kind {
            TokenKind::Greater if depth == 0 => break,
            TokenKind::Less | TokenKind::LSquare | TokenKind::LParen => depth += 1,
            TokenKind::Greater | TokenKind::RSquare | TokenKind::RParen => {
                depth = depth.saturating_sub(1);
            }
            TokenKind::Eof | TokenKind::Error(_) => return Err(p.expected("'>'")),
            _ => {}
        }
        if token.start > end {
            text.push(' ');
        }
        text.push_str(p.text(token));
        end = token.end;
        p.advance();
    }
    p.advance();
    Ok(vec![ctx.str_attr(&text)])
}
