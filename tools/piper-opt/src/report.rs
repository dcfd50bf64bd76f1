//! Messages on standard error: for people, or as JSON for editors.

use piper_ir::diag::{position, render};
use piper_ir::{Context, Diagnostic, Loc, Severity, SourceFile, Sources};
use piper_passes::pipeline_text::PipelineError;
use serde_json::{Map, Value, json};

use crate::flags::{MessageFlags, OutputFormat, Verbosity};

/// Errors beyond these are counted, not shown: after so many, the first ones are what to look at.
const MOST_ERRORS: usize = 100;

/// How messages are written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    pub(crate) colour: bool,
    pub(crate) json: bool,
    pub(crate) verbosity: Verbosity,
    pub(crate) without_notes: bool,
}

impl Style {
    /// What the flags say; `colour` is what the terminal can.
    pub(crate) fn of(flags: &MessageFlags, colour: bool) -> Self {
        Self {
            colour: flags.color.unwrap_or(colour),
            json: flags.diagnostic_format == OutputFormat::Json,
            verbosity: flags.mlir_diagnostic_verbosity_level,
            without_notes: flags.mlir_disable_diagnostic_notes,
        }
    }

    /// What the flags say, before they are read.
    pub(crate) fn before_flags(args: &[String], colour: bool) -> Self {
        const FLAG: &str = "-diagnostic-format";
        let args = args.iter().map(String::as_str).take_while(|arg| *arg != "--");
        let formats = args.clone().zip(args.skip(1).chain([""])).filter_map(|(arg, next)| {
            let rest =
                arg.strip_prefix(FLAG).or_else(|| arg.strip_prefix('-')?.strip_prefix(FLAG))?;
            if rest.is_empty() { Some(next) } else { rest.strip_prefix('=') }
        });
        // The last one counts.
        let json = formats.last() == Some("json");
        Self { colour, json, ..Self::default() }
    }

    /// A message about no place.
    pub(crate) fn plain_error(self, message: &str) -> String {
        self.hinted_error(message, None)
    }

    /// A message about no place, and what to do about it.
    pub(crate) fn hinted_error(self, message: &str, hint: Option<String>) -> String {
        let ctx = Context::new([]);
        let mut error = Diagnostic::new(Severity::Error, ctx.unknown_loc(), message);
        error.hint = hint;
        self.rendered(&ctx, &Sources::default(), &[error])
    }

    /// Diagnostics, one after the other, as far as they are wanted.
    pub(crate) fn rendered(
        self,
        ctx: &Context,
        sources: &Sources,
        diagnostics: &[Diagnostic],
    ) -> String {
        let (mut out, mut errors) = (String::new(), 0);
        for diagnostic in diagnostics.iter().filter(|d| self.wants(d.severity)) {
            errors += usize::from(diagnostic.severity == Severity::Error);
            if errors > MOST_ERRORS && diagnostic.severity == Severity::Error {
                continue;
            }
            let mut shown = diagnostic.clone();
            if self.without_notes {
                shown.notes.clear();
            }
            if self.json {
                out += &as_json(ctx, sources, &shown).to_string();
            } else {
                out += &render(ctx, sources, &shown, self.colour);
            }
            out.push('\n');
        }
        if errors > MOST_ERRORS {
            let message = format!("{} more error(s) are not shown", errors - MOST_ERRORS);
            out += &self.rendered(
                ctx,
                sources,
                &[Diagnostic::new(Severity::Error, ctx.unknown_loc(), message)],
            );
        }
        out
    }

    fn wants(self, severity: Severity) -> bool {
        match severity {
            Severity::Error => true,
            Severity::Warning => self.verbosity >= Verbosity::Warnings,
            Severity::Remark | Severity::Note => self.verbosity >= Verbosity::Remarks,
        }
    }

    /// A mistake in the text of an option that names passes, pointing into that text.
    pub(crate) fn pipeline_error(
        self,
        ctx: &Context,
        option: &str,
        text: &str,
        error: &PipelineError,
    ) -> String {
        let file = SourceFile::new(option, text);
        let (line, col) = file.line_col(u32::try_from(error.span.start).unwrap_or(u32::MAX));
        let mut diagnostic =
            Diagnostic::new(Severity::Error, ctx.file_loc(option, line, col), &error.message);
        diagnostic.hint.clone_from(&error.hint);
        let mut sources = Sources::default();
        sources.add(file);
        self.rendered(ctx, &sources, &[diagnostic])
    }
}

/// A diagnostic as an object; docs/errors.md says what is in it.
fn as_json(ctx: &Context, sources: &Sources, diagnostic: &Diagnostic) -> Value {
    let mut object = placed(ctx, sources, diagnostic.loc, &diagnostic.message);
    object.insert("severity".to_owned(), diagnostic.severity.text().into());
    let notes = diagnostic.notes.iter();
    let notes = notes.map(|note| placed(ctx, sources, note.loc, &note.message).into());
    object.insert("notes".to_owned(), Value::Array(notes.collect()));
    object.insert("hint".to_owned(), json!(diagnostic.hint));
    object.into()
}

fn placed(ctx: &Context, sources: &Sources, loc: Loc, message: &str) -> Map<String, Value> {
    let place = position(ctx, sources, loc);
    let place = place.as_ref();
    let mut object = Map::new();
    object.insert("message".to_owned(), message.into());
    object.insert("file".to_owned(), json!(place.map(|p| &p.file)));
    object.insert("line".to_owned(), json!(place.map(|p| p.line)));
    object.insert("column".to_owned(), json!(place.map(|p| p.column)));
    object.insert("end_column".to_owned(), json!(place.map(|p| p.end_column)));
    object.insert("source".to_owned(), json!(place.and_then(|p| p.text.as_ref())));
    object
}

#[cfg(test)]
mod tests {
    use piper_ir::{Context, Diagnostic, Severity, SourceFile, Sources};

    use super::Style;
    use crate::flags::Verbosity;

    #[test]
    fn errors_beyond_a_hundred_are_counted() {
        let ctx = Context::new([]);
        let error = Diagnostic::new(Severity::Error, ctx.unknown_loc(), "wrong");
        let text = Style::default().rendered(&ctx, &Sources::default(), &vec![error; 150]);
        assert_eq!(text.matches("error: wrong").count(), 100);
        assert!(text.ends_with("error: 50 more error(s) are not shown\n"), "{text}");
    }

    #[test]
    fn an_object_has_all_that_is_shown_to_people() {
        let (ctx, mut sources) = (Context::new([]), Sources::default());
        sources.add(SourceFile::new("f.pir", "\u{e4} \"bad\"\n"));
        let mut error = Diagnostic::new(Severity::Error, ctx.file_loc("f.pir", 1, 4), "no \"x\"");
        error.note(ctx.unknown_loc(), "why").hint("do this");
        let style = Style { json: true, ..Style::default() };
        let text = style.rendered(&ctx, &sources, &[error.clone(), error.clone()]);
        assert_eq!(text.lines().count(), 2, "one object a line");
        let read: serde_json::Value =
            serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
        let expected = serde_json::json!({
            "severity": "error", "message": "no \"x\"", "file": "f.pir", "line": 1, "column": 3,
            "end_column": 8, "source": "\u{e4} \"bad\"", "hint": "do this",
            "notes": [{"message": "why", "file": null, "line": null, "column": null,
                       "end_column": null, "source": null}],
        });
        assert_eq!(read, expected);
        let style = Style { without_notes: true, ..style };
        assert!(style.rendered(&ctx, &sources, &[error]).contains("\"notes\":[]"));
    }

    #[test]
    fn the_format_is_known_before_the_flags_are_read() {
        let is_json = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            Style::before_flags(&args, false).json
        };
        assert!(
            is_json(&["--diagnostic-format=json", "x"]) && is_json(&["-diagnostic-format=json"])
        );
        assert!(
            is_json(&["--diagnostic-format", "json"]) && is_json(&["-diagnostic-format", "json"])
        );
        assert!(is_json(&["--diagnostic-format=text", "--diagnostic-format", "json"]));
        for text in [
            &["--diagnostic-format", "json", "--diagnostic-format=text"][..],
            &["--diagnostic-format"],
            &["json"],
            &["--diagnostic-formats=json"],
            &["--", "--diagnostic-format=json"],
        ] {
            assert!(!is_json(text), "{text:?}");
        }
    }

    #[test]
    fn less_serious_ones_can_be_left_out() {
        let ctx = Context::new([]);
        let all = [Severity::Error, Severity::Warning, Severity::Remark]
            .map(|severity| Diagnostic::new(severity, ctx.unknown_loc(), "m"));
        for (verbosity, lines) in
            [(Verbosity::Errors, 1), (Verbosity::Warnings, 2), (Verbosity::Remarks, 3)]
        {
            let style = Style { verbosity, ..Style::default() };
            let text = style.rendered(&ctx, &Sources::default(), &all);
            assert_eq!(text.lines().count(), lines, "{text}");
        }
    }
}
