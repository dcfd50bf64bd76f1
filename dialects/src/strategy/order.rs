//! `order stages = "PP" on {pp = 0} "0F0 0F1 (0F2 | 0B0)"`: a row of the schedule, in the order language.

use piper_ir::{Op, ParseResult, Parser, Printer, TokenKind};
use piper_schedule::{Slot, TextError, text, torch_csv};

use super::OrderOp;

/// The slots of a row: in the order language, or with commas a line of torch's CSV.
///
/// # Errors
/// The first mistake, with its place in the row; a row with several lines.
pub fn row_of(row: &str) -> Result<Vec<Slot>, TextError> {
    if row.contains(',') {
        return torch_csv::read(row).map(|table| table.ranks.into_iter().flatten().collect());
    }
    // The language has a rank a line; here a rank that does nothing is an empty row.
    if row.trim().is_empty() {
        return Ok(Vec::new());
    }
    text::order::parse(row).map(|table| table.ranks.into_iter().flatten().collect())
}

pub(super) fn parse(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    p.expect_keyword("stages")?;
    p.expect(TokenKind::Equal, "'='")?;
    let stages = p.parse_string()?;
    p.set_attr("stages", ctx.str_attr(&stages));
    p.expect_keyword("on")?;
    let slice = p.parse_attribute()?;
    p.set_attr("slice", slice);
    let start = p.token().start;
    let row = p.parse_string()?;
    if let Err(error) = row_of(&row) {
        report_row(p, start, &error);
        return Err(piper_ir::text::Failed);
    }
    p.set_attr("row", ctx.str_attr(&row));
    p.parse_optional_attributes()
}

/// Reports what is wrong in a row at its place in the string that begins at `start`.
pub(super) fn report_row(p: &mut Parser<'_>, start: u32, error: &TextError) {
    let mut message = error.message.clone();
    if let Some(expected) = &error.expected {
        message.push_str(&format!("; expected {expected}"));
    }
    let at = start + 1 + u32::try_from(error.span.start).unwrap_or(0);
    p.report_at(at, message).hint.clone_from(&error.hint);
}

pub(super) fn print(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    let order = OrderOp(op);
    p.text(" stages = ");
    p.attr(order.stages(module));
    p.text(" on ");
    p.attr(order.slice(module));
    p.text(" ");
    p.attr(order.row(module));
    p.attr_dict(op, &["stages", "slice", "row"]);
}
