//! `strategy.mesh @cluster <["pp" = 4, "dp" = 2]>`: axes keep their order, which a dictionary would not.

use piper_ir::{Op, ParseResult, Parser, Printer, TokenKind};

use super::MeshOp;

pub(super) fn parse(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    let name = p.parse_symbol_name()?;
    p.set_attr("sym_name", ctx.str_attr(name.text(ctx)));
    p.expect(TokenKind::Less, "'<' and the axes, as in <[\"pp\" = 4, \"dp\" = 2]>")?;
    p.expect(TokenKind::LSquare, "'[' and the axes, as in <[\"pp\" = 4, \"dp\" = 2]>")?;
    let (mut axes, mut sizes) = (Vec::new(), Vec::new());
    p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
        let axis = p.parse_string()?;
        axes.push(ctx.str_attr(&axis));
        p.expect(TokenKind::Equal, "'=' and the size of the axis")?;
        sizes.push(p.parse_integer()?);
        Ok(())
    })?;
    p.expect(TokenKind::Greater, "'>'")?;
    p.set_attr("axes", ctx.array_attr(axes));
    p.set_attr("sizes", ctx.int_array_attr(&sizes));
    p.parse_optional_attributes()
}

pub(super) fn print(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    let mesh = MeshOp(op);
    p.text(" ");
    p.symbol_name(op);
    p.text(" <[");
    let axes = mesh.axes(module).as_array(ctx).unwrap_or_default();
    let sizes = mesh.sizes(module).as_int_array(ctx).unwrap_or_default();
    p.commas(axes.iter().zip(sizes), |p, (axis, size)| {
        p.attr(*axis);
        p.text(&format!(" = {size}"));
    });
    p.text("]>");
    p.attr_dict(op, &["sym_name", "axes", "sizes"]);
}
