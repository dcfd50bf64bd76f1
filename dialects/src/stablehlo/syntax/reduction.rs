//! The two forms of a reduction: `applies` for a region of one commutative operation, and `reducer` with the region.

use piper_ir::text::{EntryArg, Parser};
use piper_ir::{Module, Op, OpState, ParseResult, Printer, Region, TokenKind, Trait, Type};

use crate::stablehlo::forms::{int_list, ints, key, print_int_list, resolve};
use crate::stablehlo::ops::control::Return;
use crate::stablehlo::ops::reduction::Reduce;

/// See `stablehlo.reduce`.
pub(in crate::stablehlo) fn parse_reduce(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    let (mut operands, mut inits) = (Vec::new(), Vec::new());
    loop {
        p.expect(TokenKind::LParen, "'(' and an operand with its initial value")?;
        operands.push(p.parse_operand()?);
        p.expect_keyword("init")?;
        p.expect(TokenKind::Colon, "':' and the initial value")?;
        inits.push(p.parse_operand()?);
        p.expect(TokenKind::RParen, "')'")?;
        if !p.eat(TokenKind::Comma) {
            break;
        }
    }
    let count = operands.len() as i64;
    operands.extend(inits);
    let at = p.token().start;
    let short = p.eat_keyword("applies");
    let applied =
        if short { Some(p.parse_keyword("the operation that joins two values")?) } else { None };
    p.expect_keyword("across")?;
    key(p, "dimensions")?;
    let dimensions = int_list(p)?;
    let dimensions = ctx.int_array_attr(&dimensions);
    p.set_attr("dimensions", dimensions);
    p.parse_optional_attributes()?;
    p.expect(TokenKind::Colon, "':' and the operation's type")?;
    let start = p.token().start;
    let inputs = p.parse_type_list()?;
    p.expect(TokenKind::Arrow, "'->' and the result types")?;
    let results = p.parse_function_results()?;
    resolve(p, &operands, &inputs, start)?;
    p.state().result_types.extend(results);
    let region = match applied {
        Some(name) => {
            let Some((_, element)) = inputs.last().and_then(|ty| ty.as_tensor(ctx)) else {
                return Err(p.error_at(start, "the values of a reduction are tensors"));
            };
            if count != 1 || ctx.op_name(name).def(ctx).is_none() {
                return Err(p.error_at(
                    at,
                    format!(
                        "'{name}' cannot be applied here: expected a known operation on one operand"
                    ),
                ));
            }
            region_of(p, name, ctx.tensor(&[], element))
        }
        None => {
            p.expect_keyword("reducer")?;
            let mut entry: (Vec<EntryArg<'_>>, Vec<EntryArg<'_>>) = Default::default();
            for _ in 0..count {
                p.expect(TokenKind::LParen, "'(' and two values")?;
                entry.0.push(p.parse_entry_arg()?);
                optional_loc(p)?;
                p.expect(TokenKind::Comma, "','")?;
                entry.1.push(p.parse_entry_arg()?);
                optional_loc(p)?;
                p.expect(TokenKind::RParen, "')'")?;
            }
            entry.0.extend(entry.1);
            p.parse_body(false, &entry.0)?
        }
    };
    p.state().regions.push(region);
    Ok(())
}

/// Arguments have no location of their own here.
fn optional_loc(p: &mut Parser<'_>) -> ParseResult<()> {
    if p.at_keyword("loc") {
        p.parse_location()?;
    }
    Ok(())
}

/// The region of one operation on scalars of type `ty`.
fn region_of(p: &mut Parser<'_>, name: &str, ty: Type) -> Region {
    let (ctx, loc) = (p.ctx(), p.state_loc());
    let module = p.module();
    let region = module.create_region();
    let block = module.add_block(region);
    let args = [module.add_arg(block, ty), module.add_arg(block, ty)];
    let joined = module.create(OpState::new(ctx.op_name(name), loc).operands(args).results([ty]));
    module.append(block, joined);
    let joined = module.result(joined, 0);
    let end = module.create(OpState::new(ctx.op_name(Return::NAME), loc).operands([joined]));
    module.append(block, end);
    region
}

/// The one commutative operation that a region applies to its two arguments in order, if that is all it does.
pub(in crate::stablehlo) fn applied(module: &Module, op: Op) -> Option<Op> {
    let region = *module.regions(op).first()?;
    let block = module.first_block(region)?;
    let &[a, b] = module.args(block) else { return None };
    let (inner, end) = (module.first_op(block)?, module.last_op(block)?);
    if module.next_op(inner) != Some(end) || Return::cast(module, end).is_none() {
        return None;
    }
    let plain = module.has_trait(inner, Trait::Commutative)
        && module.name_text(inner).starts_with("stablehlo.")
        && module.regions(inner).is_empty()
        && module.all_attrs(inner).is_empty()
        && module.all_attrs(end).is_empty();
    let types = [a, b, module.results(inner).next()?].map(|v| module.ty(v));
    // What the short form says again: scalars of the element type.
    let init = module.operands(op).last().map(|v| module.ty(v))?;
    let (_, element) = init.as_tensor(module.ctx())?;
    let scalar = module.ctx().tensor(&[], element);
    let fits = types.iter().all(|ty| *ty == scalar)
        && module.operands(inner).eq([a, b])
        && module.operands(end).eq(module.results(inner));
    (plain && fits && module.num_operands(op) == 2).then_some(inner)
}

pub(in crate::stablehlo) fn print_reduce(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    let (inputs, inits) = (Reduce(op).reduced(module), Reduce(op).initial(module));
    let count = inputs.len();
    p.commas(inputs.into_iter().zip(inits), |p, (input, init)| {
        p.text("(");
        p.value(input);
        p.text(" init: ");
        p.value(init);
        p.text(")");
    });
    let short = applied(module, op);
    if let Some(inner) = short {
        p.text(" applies ");
        p.text(module.name_text(inner));
    }
    p.text(" across dimensions = ");
    let dimensions = ints(p, op, "dimensions");
    print_int_list(p, dimensions);
    p.attr_dict(op, &["dimensions"]);
    p.text(" : ");
    p.op_type(op);
    if short.is_some() {
        return;
    }
    let region = module.regions(op)[0];
    p.name_entry_args(region);
    p.newline();
    p.text(" reducer");
    let args = module.first_block(region).map_or(&[][..], |block| module.args(block));
    let (left, right) = args.split_at(count.min(args.len()));
    for (i, (a, b)) in left.iter().zip(right).enumerate() {
        p.text(if i > 0 { " (" } else { "(" });
        p.typed_value(*a);
        p.text(", ");
        p.typed_value(*b);
        p.text(")");
    }
    p.text("  ");
    p.region(region, false);
}
