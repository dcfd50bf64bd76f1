//! What formats cannot say: lists of named constraints.

use piper_ir::text::{DirectiveReader, DirectiveWriter, OperandName};
use piper_ir::{
    Attr, AttrData, Context, InferInput, ParamDef, ParseResult, Parser, Printer, TokenKind, Type,
    TypeData, Value,
};

/// How many values a name of `irdl.operands` or `irdl.results` may stand for.
pub(super) const VARIADICITIES: [&str; 3] = ["single", "optional", "variadic"];

/// `!irdl.attribute`
pub(super) fn attribute_type(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    Ok(vec![constraint_type(input.ctx, super::ATTRIBUTE)])
}

/// `!irdl.region`
pub(super) fn region_type(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    Ok(vec![constraint_type(input.ctx, super::REGION)])
}

fn constraint_type(ctx: &Context, name: &str) -> Type {
    ctx.ty(TypeData::Dialect { name: ctx.name(name), params: Box::new([]) })
}

/// The words of `#irdl<variadicity_array[...]>`.
pub(super) fn variadicities(ctx: &Context, attr: Attr) -> Option<Vec<&str>> {
    let AttrData::Dialect { name, params } = attr.data(ctx) else { return None };
    let (kind, words) = params.split_first()?;
    let is_one = name.text(ctx) == "irdl" && kind.as_str(ctx) == Some(ARRAY);
    is_one.then(|| words.iter().filter_map(|word| word.as_str(ctx)).collect())
}

fn variadicity_attr(ctx: &Context, words: &[&str]) -> Attr {
    let params = std::iter::once(&ARRAY).chain(words).map(|word| ctx.str_attr(word));
    ctx.attr(AttrData::Dialect { name: ctx.name("irdl"), params: params.collect() })
}

const ARRAY: &str = "variadicity_array";

/// `#irdl<variadicity_array[single, optional]>`: what the generic form of `irdl.operands` has.
pub(super) fn variadicity_definition() -> ParamDef {
    ParamDef::new(
        "irdl",
        "How many values each name stands for: `#irdl<variadicity_array[single, optional, variadic]>`.",
        |p| {
            p.expect(TokenKind::Less, "'<'")?;
            p.expect_keyword(ARRAY)?;
            p.expect(TokenKind::LSquare, "'['")?;
            let ctx = p.ctx();
            let mut params = vec![ctx.str_attr(ARRAY)];
            p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
                params.push(ctx.str_attr(variadicity(p)?));
                Ok(())
            })?;
            p.expect(TokenKind::Greater, "'>'")?;
            Ok(params)
        },
        |p, params| {
            let ctx = p.ctx();
            let words: Vec<&str> = params.iter().filter_map(|param| param.as_str(ctx)).collect();
            let (kind, words) = words.split_first().unwrap_or((&ARRAY, &[]));
            p.text(&format!("<{kind}[{}]>", words.join(", ")));
        },
    )
}

fn variadicity<'p>(p: &mut Parser<'p>) -> ParseResult<&'p str> {
    let start = p.token().start;
    let word = p.parse_keyword("single, optional or variadic")?;
    match VARIADICITIES.contains(&word) {
        true => Ok(word),
        false => {
            Err(p.error_at(start, format!("expected single, optional or variadic, found '{word}'")))
        }
    }
}

/// `(name: %constraint, ...)`; with `counts`, a word may stand before the constraint.
fn parse_list<'p>(
    p: &mut Parser<'p>,
    mut counts: Option<&mut Vec<&'p str>>,
) -> ParseResult<(Vec<Attr>, Vec<OperandName<'p>>)> {
    let ctx = p.ctx();
    let (mut names, mut values) = (Vec::new(), Vec::new());
    p.expect(TokenKind::LParen, "'(' and constraints by name (x: %constraint)")?;
    p.comma_list(TokenKind::RParen, "',' or ')'", |p| {
        names.push(ctx.str_attr(p.parse_keyword("a name")?));
        p.expect(TokenKind::Colon, "':' and a constraint")?;
        if let Some(counts) = counts.as_deref_mut() {
            counts.push(if p.at(TokenKind::Percent) { "single" } else { variadicity(p)? });
        }
        values.push(p.parse_operand()?);
        Ok(())
    })?;
    Ok((names, values))
}

pub(super) fn parse_named<'p>(
    p: &mut Parser<'p>,
    reader: &mut DirectiveReader<'_, 'p>,
) -> ParseResult<()> {
    let (names, values) = parse_list(p, None)?;
    reader.operands(0, &values);
    let names = p.ctx().array_attr(names);
    reader.attr(p, 1, names);
    Ok(())
}

pub(super) fn parse_counted<'p>(
    p: &mut Parser<'p>,
    reader: &mut DirectiveReader<'_, 'p>,
) -> ParseResult<()> {
    let mut counts = Vec::new();
    let (names, values) = parse_list(p, Some(&mut counts))?;
    reader.operands(0, &values);
    let (names, counts) = (p.ctx().array_attr(names), variadicity_attr(p.ctx(), &counts));
    reader.attr(p, 1, names);
    reader.attr(p, 2, counts);
    Ok(())
}

/// `{"name" = %constraint, ...}`
pub(super) fn parse_entries<'p>(
    p: &mut Parser<'p>,
    reader: &mut DirectiveReader<'_, 'p>,
) -> ParseResult<()> {
    let ctx = p.ctx();
    let (mut names, mut values) = (Vec::new(), Vec::new());
    p.expect(TokenKind::LBrace, "'{' and constraints by name (\"x\" = %constraint)")?;
    p.comma_list(TokenKind::RBrace, "',' or '}'", |p| {
        let name = p.parse_string()?;
        names.push(ctx.str_attr(&name));
        p.expect(TokenKind::Equal, "'=' and a constraint")?;
        values.push(p.parse_operand()?);
        Ok(())
    })?;
    reader.operands(0, &values);
    let names = ctx.array_attr(names);
    reader.attr(p, 1, names);
    Ok(())
}

/// `(%constraint, ...) with size 2`, or one of them, or nothing.
pub(super) fn parse_arguments<'p>(
    p: &mut Parser<'p>,
    reader: &mut DirectiveReader<'_, 'p>,
) -> ParseResult<()> {
    let ctx = p.ctx();
    if p.at(TokenKind::LParen) && !p.token().first_of_line {
        p.advance();
        let values = p.parse_operands()?;
        p.expect(TokenKind::RParen, "',' or ')'")?;
        reader.operands(0, &values);
        reader.attr(p, 1, ctx.unit());
    }
    if p.eat_keyword("with") {
        p.expect_keyword("size")?;
        let size = p.parse_integer()?;
        reader.attr(p, 2, ctx.int_attr_of(ctx.i32(), size.into()));
    }
    Ok(())
}

/// `@dialect::@name` or `"!dialect.name"`
pub(super) fn parse_base<'p>(
    p: &mut Parser<'p>,
    reader: &mut DirectiveReader<'_, 'p>,
) -> ParseResult<()> {
    let argument = match p.token().kind {
        TokenKind::At => 0,
        TokenKind::String => 1,
        _ => return Err(p.error("expected @dialect::@name or \"!builtin.name\"")),
    };
    let base = p.parse_attribute()?;
    reader.attr(p, argument, base);
    Ok(())
}

fn texts(ctx: &Context, attr: Option<Attr>) -> Vec<&str> {
    let items = attr.and_then(|attr| attr.as_array(ctx)).unwrap_or_default();
    items.iter().map(|item| item.as_str(ctx).unwrap_or_default()).collect()
}

fn print_list(p: &mut Printer<'_>, names: &[&str], counts: &[&str], values: &[Value]) {
    p.text("(");
    let items: Vec<(usize, &Value)> = values.iter().enumerate().collect();
    p.commas(&items, |p, (i, value)| {
        p.text(names.get(*i).copied().unwrap_or_default());
        p.text(": ");
        if let Some(count) = counts.get(*i).filter(|count| **count != "single") {
            p.text(count);
            p.text(" ");
        }
        p.value(**value);
    });
    p.text(")");
}

pub(super) fn print_named(p: &mut Printer<'_>, writer: &DirectiveWriter<'_>) {
    let (module, ctx) = (p.module(), p.ctx());
    print_list(p, &texts(ctx, writer.attr(module, 1)), &[], &writer.values(module, 0));
}

pub(super) fn print_counted(p: &mut Printer<'_>, writer: &DirectiveWriter<'_>) {
    let (module, ctx) = (p.module(), p.ctx());
    let counts = writer.attr(module, 2).and_then(|attr| variadicities(ctx, attr));
    let names = texts(ctx, writer.attr(module, 1));
    print_list(p, &names, &counts.unwrap_or_default(), &writer.values(module, 0));
}

pub(super) fn print_entries(p: &mut Printer<'_>, writer: &DirectiveWriter<'_>) {
    let (module, ctx) = (p.module(), p.ctx());
    let names = texts(ctx, writer.attr(module, 1));
    let items: Vec<(&str, Value)> = names.into_iter().zip(writer.values(module, 0)).collect();
    p.text(" {");
    p.commas(&items, |p, (name, value)| {
        p.string(name);
        p.text(" = ");
        p.value(*value);
    });
    p.text("}");
}

pub(super) fn print_arguments(p: &mut Printer<'_>, writer: &DirectiveWriter<'_>) {
    let (module, ctx) = (p.module(), p.ctx());
    if writer.attr(module, 1).is_some() {
        p.text("(");
        p.values(writer.values(module, 0));
        p.text(")");
    }
    if let Some(size) = writer.attr(module, 2).and_then(|size| size.as_int(ctx)) {
        p.text(&format!(" with size {size}"));
    }
}

pub(super) fn print_base(p: &mut Printer<'_>, writer: &DirectiveWriter<'_>) {
    let module = p.module();
    for attr in [0, 1].into_iter().filter_map(|argument| writer.attr(module, argument)) {
        p.text(" ");
        p.attr(attr);
    }
}
