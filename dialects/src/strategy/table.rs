//! `table over "pp" stages = "PP" rows = ["0F0 0B0", "1F0 1B0"]`: a whole schedule, a row a rank.

use piper_ir::text::Failed;
use piper_ir::{Attr, Context, Op, ParseResult, Parser, Printer, TokenKind};
use piper_schedule::Slot;

use super::TableOp;
use super::order::{report_row, row_of};

/// The rows of an attribute; `None` if one is no row.
pub(super) fn rows_of(ctx: &Context, rows: Attr) -> Option<Vec<Vec<Slot>>> {
    rows.as_array(ctx)?.iter().map(|row| row_of(row.as_str(ctx)?).ok()).collect()
}

/// How many microbatches the rows name: one more than the largest number.
pub(super) fn microbatches(rows: &[Vec<Slot>]) -> u32 {
    let actions = rows.iter().flatten().flat_map(Slot::actions);
    actions.map(|action| action.mb.saturating_add(1)).max().unwrap_or(0)
}

pub(super) fn parse(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    p.expect_keyword("over")?;
    let axis = p.parse_string()?;
    p.set_attr("axis", ctx.str_attr(&axis));
    p.expect_keyword("stages")?;
    p.expect(TokenKind::Equal, "'='")?;
    let stages = p.parse_string()?;
    p.set_attr("stages", ctx.str_attr(&stages));
    p.expect_keyword("rows")?;
    p.expect(TokenKind::Equal, "'='")?;
    p.expect(TokenKind::LSquare, "'[' and a row for each rank")?;
    let (mut rows, mut is_wrong) = (Vec::new(), false);
    p.comma_list(TokenKind::RSquare, "',' or ']'", |p| {
        let start = p.token().start;
        let row = p.parse_string()?;
        // All rows are read, so that all that is wrong is said.
        if let Err(error) = row_of(&row) {
            report_row(p, start, &error);
            is_wrong = true;
        }
        rows.push(ctx.str_attr(&row));
        Ok(())
    })?;
    if is_wrong {
        return Err(Failed);
    }
    p.set_attr("rows", ctx.array_attr(rows));
    p.parse_optional_attributes()
}

pub(super) fn print(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    let table = TableOp(op);
    p.text(" over ");
    p.attr(table.axis(module));
    p.text(" stages = ");
    p.attr(table.stages(module));
    p.text(" rows = [");
    p.commas(table.rows(module).as_array(ctx).unwrap_or_default(), |p, row| p.attr(*row));
    p.text("]");
    p.attr_dict(op, &["axis", "stages", "rows"]);
}
