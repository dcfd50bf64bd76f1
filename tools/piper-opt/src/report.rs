//! Messages on standard error.

use annotate_snippets::{Level, Renderer};
use piper_ir::diag::render;
use piper_ir::{Context, Diagnostic, Severity, SourceFile, Sources};
use piper_passes::pipeline_text::PipelineError;

/// A message about no place.
pub(crate) fn plain_error(message: &str, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let title = Level::ERROR.primary_title(message.to_owned());
    format!("{}\n", renderer.render(&[annotate_snippets::Group::with_title(title)]))
}

/// Diagnostics with their source lines, one after the other.
pub(crate) fn rendered(
    ctx: &Context,
    sources: &Sources,
    diagnostics: &[Diagnostic],
    colour: bool,
) -> String {
    let render = |diagnostic| format!("{}\n", render(ctx, sources, diagnostic, colour));
    diagnostics.iter().map(render).collect()
}

/// A mistake in the text of an option that names passes, pointing into that text.
pub(crate) fn pipeline_error(
    ctx: &Context,
    option: &str,
    text: &str,
    error: &PipelineError,
    colour: bool,
) -> String {
    let file = SourceFile::new(option, text);
    let (line, col) = file.line_col(u32::try_from(error.span.start).unwrap_or(u32::MAX));
    let mut diagnostic =
        Diagnostic::new(Severity::Error, ctx.file_loc(option, line, col), &error.message);
    diagnostic.hint.clone_from(&error.hint);
    let mut sources = Sources::default();
    sources.add(file);
    rendered(ctx, &sources, &[diagnostic], colour)
}
