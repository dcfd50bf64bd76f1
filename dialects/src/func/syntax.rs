//! The custom forms of functions and calls.

use piper_ir::text::{EntryArg, Parser};
use piper_ir::{Attr, AttrData, Context, Name, Op, ParseResult, Printer, TokenKind, Type};

use super::{Func, PREFIX};

/// Types with the attributes written after them.
#[derive(Default)]
struct Typed {
    types: Vec<Type>,
    attrs: Vec<Vec<(Name, Attr)>>,
}

impl Typed {
    /// `[{...}, {}]`, or nothing if no dictionary has an entry.
    fn attr(self, ctx: &Context) -> Option<Attr> {
        if self.attrs.iter().all(Vec::is_empty) {
            return None;
        }
        let dicts: Vec<Attr> =
            self.attrs.into_iter().map(|entries| ctx.dict_attr(entries)).collect();
        Some(ctx.array_attr(dicts))
    }

    /// Takes an optional dictionary; keys without a prefix get Piper's.
    fn attr_dict(&mut self, p: &mut Parser<'_>) -> ParseResult<()> {
        let ctx = p.ctx();
        let entries = p.parse_optional_attr_dict()?.into_iter().map(|(name, attr)| {
            let text = name.text(ctx);
            (if text.contains('.') { name } else { ctx.name(&format!("{PREFIX}{text}")) }, attr)
        });
        self.attrs.push(entries.collect());
        Ok(())
    }
}

/// What is written in the head of a function and nowhere else.
const HEAD: [&str; 3] = ["sym_name", "function_type", "sym_visibility"];

pub(crate) fn parse_func(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    for visibility in ["private", "public", "nested"] {
        if p.eat_keyword(visibility) {
            p.set_attr("sym_visibility", ctx.str_attr(visibility));
            break;
        }
    }
    let name = p.parse_symbol_name()?;
    p.set_attr("sym_name", ctx.str_attr(name.text(ctx)));

    let (mut entry, mut args): (Vec<EntryArg<'_>>, Typed) = Default::default();
    p.expect(TokenKind::LParen, "'(' and the arguments")?;
    let named = p.at_operand();
    p.comma_list(TokenKind::RParen, "',' or ')'", |p| {
        if named {
            let arg = p.parse_entry_arg()?;
            args.types.push(arg.ty);
            entry.push(arg);
        } else {
            args.types.push(p.parse_type()?);
        }
        args.attr_dict(p)?;
        let loc = p.parse_arg_location()?;
        if let (true, Some(arg)) = (named, entry.last_mut()) {
            arg.loc = loc;
        }
        Ok(())
    })?;

    let mut results = Typed::default();
    if p.eat(TokenKind::Arrow) {
        if p.eat(TokenKind::LParen) {
            p.comma_list(TokenKind::RParen, "',' or ')'", |p| {
                results.types.push(p.parse_type()?);
                results.attr_dict(p)
            })?;
        } else {
            results.types.push(p.parse_type()?);
        }
    }
    let ty = ctx.function(&args.types, &results.types);
    p.set_attr("function_type", ctx.type_attr(ty));
    if let Some(attr) = args.attr(ctx) {
        p.set_attr("arg_attrs", attr);
    }
    if let Some(attr) = results.attr(ctx) {
        p.set_attr("res_attrs", attr);
    }

    if p.eat_keyword("attributes") {
        let start = p.token().start;
        for (name, attr) in p.parse_attr_dict()? {
            let is_head = HEAD.contains(&name.text(ctx));
            if is_head || p.state().attrs.iter().any(|(known, _)| *known == name) {
                let text = name.text(ctx);
                return Err(p.error_at(
                    start,
                    format!("attribute '{text}' belongs to the function's head; do not repeat it"),
                ));
            }
            p.state().attrs.push((name, attr));
        }
    }

    let region = if p.at(TokenKind::LBrace) {
        p.parse_body(true, &entry)?
    } else {
        p.module().create_region()
    };
    p.state().regions.push(region);
    Ok(())
}

pub(crate) fn print_func(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    if let Some(visibility) = module.attr_by(op, "sym_visibility").and_then(|a| a.as_str(ctx)) {
        p.text(" ");
        p.text(visibility);
    }
    p.text(" ");
    p.symbol_name(op);
    let region = module.regions(op)[0];
    let (inputs, outputs) = Func(op).signature(module);
    let dict = |list: &str, index: usize| {
        module.attr_by(op, list).and_then(|a| a.as_array(ctx)?.get(index).copied())
    };
    let block = Func(op).entry(module);
    if block.is_some() {
        p.name_entry_args(region);
    }
    p.text("(");
    p.commas(inputs.iter().enumerate(), |p, (i, &ty)| {
        match block.and_then(|b| module.args(b).get(i)) {
            Some(&arg) => p.typed_value(arg),
            None => p.ty(ty),
        }
        print_short_dict(p, dict("arg_attrs", i));
        if let Some(&arg) = block.and_then(|b| module.args(b).get(i)) {
            p.arg_location(arg);
        }
    });
    p.text(")");
    if !outputs.is_empty() {
        p.text(" -> ");
        let has_attrs = |dict: &Attr| dict.as_dict(ctx).is_none_or(|entries| !entries.is_empty());
        if let ([only], None) = (outputs, dict("res_attrs", 0).filter(has_attrs)) {
            p.ty(*only);
        } else {
            p.text("(");
            p.commas(outputs.iter().enumerate(), |p, (i, &ty)| {
                p.ty(ty);
                print_short_dict(p, dict("res_attrs", i));
            });
            p.text(")");
        }
    }
    let head = ["sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs"];
    if module.all_attrs(op).iter().any(|(name, _)| !head.contains(&name.text(ctx))) {
        p.text(" attributes");
        p.attr_dict(op, &head);
    }
    if block.is_some() {
        p.text(" ");
        p.region(region, false);
    }
}

/// ` {role = "data"}`: Piper's own keys without their prefix; nothing for an empty dictionary.
fn print_short_dict(p: &mut Printer<'_>, dict: Option<Attr>) {
    let ctx = p.ctx();
    let Some(AttrData::Dict(entries)) = dict.map(|d| d.data(ctx)) else { return };
    if entries.is_empty() {
        return;
    }
    let short: Vec<(Name, Attr)> = entries
        .iter()
        .map(|&(name, attr)| match name.text(ctx).strip_prefix(PREFIX) {
            Some(short) if !short.is_empty() && !short.contains('.') => (ctx.name(short), attr),
            _ => (name, attr),
        })
        .collect();
    p.text(" {");
    p.entries(&short);
    p.text("}");
}

pub(crate) fn parse_call(p: &mut Parser<'_>) -> ParseResult<()> {
    let start = p.token().start;
    let callee = p.parse_symbol_name()?;
    let callee = p.ctx().symbol_attr_of(callee);
    p.set_attr("callee", callee);
    p.expect(TokenKind::LParen, "'(' and the operands")?;
    let operands = p.parse_operands()?;
    p.expect(TokenKind::RParen, "',' or ')'")?;
    p.parse_optional_attributes()?;
    p.expect(TokenKind::Colon, "':' and the callee's type")?;
    let types = p.parse_type_list()?;
    p.expect(TokenKind::Arrow, "'->' and the result types")?;
    let results = p.parse_function_results()?;
    let values = p.resolve_all(&operands, &types, start)?;
    p.state().operands.extend(values);
    p.state().result_types.extend(results);
    Ok(())
}

pub(crate) fn print_call(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    p.text(" ");
    if let Some(callee) = module.attr_by(op, "callee") {
        p.attr(callee);
    }
    p.text("(");
    p.values(module.operands(op));
    p.text(")");
    p.attr_dict(op, &["callee"]);
    p.text(" : ");
    p.op_type(op);
}
