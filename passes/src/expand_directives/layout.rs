//! `layout`: from a text such as `Ett|tt|L` to the tags of its stages.

use piper_dialects::strategy::{Directive, Kind, PlanSpec, TagOp};
use piper_ir::pass::PassFailed;
use piper_ir::{Module, Op, Reporter};

use super::Primitives;
use super::stages::tagged_operations;

/// Replaces a `layout` by a `tag` for every run of parts, which are returned. Any other directive is left alone.
///
/// # Errors
/// A part that the model has not, or one of the model that no stage has.
pub fn layout(
    module: &mut Module,
    plan: &PlanSpec,
    directive: &Directive,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Op>, PassFailed> {
    let Kind::Layout { stages: tag, parts } = &directive.kind else { return Ok(Vec::new()) };
    let ops = tagged_operations(module, plan);
    let errors = reporter.error_count();
    let all: Vec<(char, u32)> = parts.iter().flatten().copied().collect();
    for (letter, number) in &all {
        let (name, value) = (letter.to_string(), number.to_string());
        if ops.iter().all(|op| op.tag(&name) != Some(&value)) {
            let count = all.iter().filter(|(other, _)| other == letter).count();
            reporter
                .error(
                    directive.loc,
                    format!("the layout has {count} {letter}, but no operation is tagged {letter} = {number}"),
                )
                .hint(format!("strategy.annotate {{{letter} = {number}}} tags the part"));
            break;
        }
    }
    let letters: Vec<String> = all.iter().map(|(letter, _)| letter.to_string()).collect();
    let left = ops.iter().find_map(|op| {
        let letter = letters.iter().find(|letter| {
            let number = op.tag(letter).and_then(|value| value.parse().ok());
            number.is_some_and(|k| !all.contains(&(letter.chars().next().unwrap_or(' '), k)))
        })?;
        Some((op, letter))
    });
    if let Some((op, letter)) = left {
        let value = op.tag(letter).unwrap_or_default();
        reporter
            .error(directive.loc, format!("no stage of the layout has the part {letter} = {value}"))
            .note(module.op_loc(op.op), "which stands here")
            .hint(format!(
                "the layout has {letter} from 0 to {}",
                all.iter().filter(|(l, _)| l.to_string() == *letter).count() - 1
            ));
    }
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    let ctx = module.ctx_arc();
    let mut primitives = Primitives::instead_of(module, directive.op);
    for (stage, parts) in parts.iter().enumerate() {
        for run in parts.chunk_by(|a, b| a.0 == b.0) {
            let (letter, first) = run[0];
            let value = match run.len() {
                1 => ctx.int_attr(first.into()),
                count => ctx.str_attr(&format!("{first}:{}", first as usize + count)),
            };
            let filter = ctx.dict_attr([(ctx.name(&letter.to_string()), value)]);
            let stage = ctx.dict_attr([(ctx.name(tag), ctx.int_attr(stage as i64))]);
            primitives.add(TagOp::NAME, [("filter", Some(filter)), ("tags", Some(stage))]);
        }
    }
    Ok(primitives.finish())
}
