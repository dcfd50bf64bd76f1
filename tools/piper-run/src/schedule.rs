//! A strategy's schedule as a table a person can read.

use piper_dialects::strategy::{Kind, PlanSpec, Slice};
use piper_ir::Module;
use piper_schedule::table::{Style, Table, render};

use crate::Failure;
use crate::compile::compiler;

/// The rows that a plan's order directives say, with the slices that run them; none if it orders nothing.
pub fn rows(plan: &PlanSpec) -> Vec<(Slice, Vec<piper_schedule::Slot>)> {
    let row = |kind: &Kind| match kind {
        Kind::Order { slice, row, .. } => Some((slice.clone(), row.clone())),
        _ => None,
    };
    plan.directives.iter().filter_map(|d| row(&d.kind)).collect()
}

/// The text of a plan with its directives expanded, and the schedule drawn in lines of `width` columns (empty without orders).
///
/// # Errors
/// Whatever is wrong with the file.
pub fn expanded(
    file: &str,
    text: &str,
    plan: Option<&str>,
    width: usize,
) -> Result<(String, String), Failure> {
    let compiler = compiler();
    let mut program = compiler.parse(file, text)?;
    program.choose_plan(plan)?;
    compiler.run(&mut program, "import-tags,inline-calls,expand-directives")?;
    let plan = program.choose_plan(None)?;
    let table = draw(&plan, width)?;
    Ok((print(&program.module, &plan), table))
}

fn print(module: &Module, plan: &PlanSpec) -> String {
    piper_ir::text::print_op(module, plan.op, piper_ir::text::PrintOptions::default())
}

fn draw(plan: &PlanSpec, width: usize) -> Result<String, Failure> {
    let rows = rows(plan);
    if rows.is_empty() {
        return Ok(String::new());
    }
    let table = Table::from_rows(rows.into_iter().map(|(_, slots)| slots).collect());
    let style = Style { width, ..Style::default() };
    render(&table, style).map_err(|cycle| Failure::new(format!("the schedule deadlocks: {cycle}")))
}
