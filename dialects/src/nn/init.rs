//! How a parameter starts: `#nn.init<normal<0.0, 0.02>>`, written `normal<0.0, 0.02>` in `nn.parameter`.
//!
//! The values themselves are defined by the plan's schema, as a function of the parameter's name and the logical index.

use piper_ir::diag::did_you_mean;
use piper_ir::text::{Failed, Parser};
use piper_ir::{Attr, AttrData, Context, ParamDef, ParseResult, Printer, TokenKind};

/// The attribute's full name.
pub(super) const NAME: &str = "nn.init";

/// Distribution of a parameter's initial values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// `normal<mean, std>`
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation, 0 or more.
        std: f64,
    },
    /// `uniform<lo, hi>`: in `[lo, hi)`.
    Uniform {
        /// Lower bound.
        lo: f64,
        /// Upper bound.
        hi: f64,
    },
    /// `zeros`
    Zeros,
    /// `ones`
    Ones,
    /// `constant<c>`
    Constant(f64),
}

/// The distributions by name, with what stands in their brackets.
const FORMS: [(&str, &[&str]); 5] = [
    ("normal", &["mean", "std"]),
    ("uniform", &["lo", "hi"]),
    ("zeros", &[]),
    ("ones", &[]),
    ("constant", &["value"]),
];

impl Init {
    /// Reads the attribute `#nn.init<...>`.
    pub fn from_attr(ctx: &Context, attr: Attr) -> Option<Self> {
        let AttrData::Dialect { name, params } = attr.data(ctx) else { return None };
        if name.text(ctx) != NAME {
            return None;
        }
        let (kind, numbers) = params.split_first()?;
        let n: Vec<f64> = numbers.iter().filter_map(|a| a.as_float(ctx)).collect();
        Some(match (kind.as_str(ctx)?, &n[..]) {
            ("normal", &[mean, std]) => Self::Normal { mean, std },
            ("uniform", &[lo, hi]) => Self::Uniform { lo, hi },
            ("zeros", []) => Self::Zeros,
            ("ones", []) => Self::Ones,
            ("constant", &[value]) => Self::Constant(value),
            _ => return None,
        })
    }

    /// The attribute `#nn.init<...>`.
    pub fn to_attr(self, ctx: &Context) -> Attr {
        let (kind, numbers) = match self {
            Self::Normal { mean, std } => ("normal", vec![mean, std]),
            Self::Uniform { lo, hi } => ("uniform", vec![lo, hi]),
            Self::Zeros => ("zeros", vec![]),
            Self::Ones => ("ones", vec![]),
            Self::Constant(value) => ("constant", vec![value]),
        };
        let mut params = vec![ctx.str_attr(kind)];
        params.extend(numbers.into_iter().map(|n| ctx.float_attr(n)));
        ctx.attr(AttrData::Dialect { name: ctx.name(NAME), params: params.into() })
    }
}

pub(super) fn definition() -> ParamDef {
    ParamDef::new(
        NAME,
        "Initial values of a parameter: `normal<mean, std>`, `uniform<lo, hi>`, `zeros`, `ones` or `constant<value>`. \
              Value `i` (row-major, in the whole tensor) depends on the parameter's name and `i` alone.",
        |p| {
            p.expect(TokenKind::Less, "'<' and a distribution")?;
            let params = parse(p)?;
            p.expect(TokenKind::Greater, "'>'")?;
            Ok(params)
        },
        |p, params| {
            p.text("<");
            print(p, params);
            p.text(">");
        },
    )
}

/// Reads `normal<0.0, 0.02>` and returns the attribute's parameters.
pub(super) fn parse(p: &mut Parser<'_>) -> ParseResult<Vec<Attr>> {
    let ctx = p.ctx();
    let start = p.token().start;
    let kind = p.parse_keyword("a distribution (normal, uniform, zeros, ones, constant)")?;
    let Some((_, names)) = FORMS.iter().find(|(known, _)| *known == kind) else {
        let close = did_you_mean(kind, FORMS.iter().map(|(name, _)| *name));
        p.report_at(start, format!("unknown distribution '{kind}'")).hint(match close {
            Some(close) => format!("did you mean '{close}'?"),
            None => "normal<mean, std>, uniform<lo, hi>, zeros, ones or constant<value>".to_owned(),
        });
        return Err(Failed);
    };
    let mut params = vec![ctx.str_attr(kind)];
    if names.is_empty() {
        return Ok(params);
    }
    p.expect(TokenKind::Less, &format!("'<' and {}", names.join(", ")))?;
    let mut values = Vec::new();
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            p.expect(TokenKind::Comma, &format!("',' and {name}"))?;
        }
        let at = p.token().start;
        let number = p.parse_attribute()?;
        match number.as_number(ctx) {
            Some(value) if value.is_finite() => values.push(value),
            _ => return Err(p.error_at(at, format!("{name} of '{kind}' must be a finite number"))),
        }
    }
    match (kind, &values[..]) {
        ("normal", [_, std]) if *std < 0.0 => {
            return Err(p.error_at(start, format!("std = {std} of 'normal' is negative")));
        }
        ("uniform", [lo, hi]) if lo > hi => {
            return Err(p.error_at(start, format!("lo = {lo} of 'uniform' is above hi = {hi}")));
        }
        _ => {}
    }
    p.expect(TokenKind::Greater, "'>'")?;
    params.extend(values.into_iter().map(|v| ctx.float_attr(v)));
    Ok(params)
}

/// Writes `normal<0.0, 0.02>`.
pub(super) fn print(p: &mut Printer<'_>, params: &[Attr]) {
    let ctx = p.ctx();
    let Some((kind, numbers)) = params.split_first() else { return };
    p.text(kind.as_str(ctx).unwrap_or_default());
    if !numbers.is_empty() {
        p.text("<");
        p.commas(numbers, |p, number| p.text(&decimal(number.as_number(ctx).unwrap_or(0.0))));
        p.text(">");
    }
}

/// The shortest decimal that reads back as `value`; MLIR wants a point in every floating-point number.
fn decimal(value: f64) -> String {
    let text = format!("{value:?}");
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn decimals_have_a_point_and_read_back() {
        for value in [0.0, 0.02, 1.0, -3.5, 1e-5, 1e300, 5e-324, 0.1 + 0.2] {
            let text = decimal(value);
            assert!(text.contains('.'), "{text}");
            assert_eq!(text.parse::<f64>().unwrap(), value);
        }
    }
}
