//! What a program says on standard error.
//!
//! A line that is a JSON object with a `severity` and a `message` is a diagnostic; `file`, `line`, `column`, `hint` and
//! `notes` may stand beside, as `piper-opt --diagnostic-format=json` writes them (docs/errors.md). Any other line is text.

use piper_ir::{Context, Diagnostic, Loc, Reporter, Severity};
use serde_json::{Map, Value};

/// Lines beyond these are counted, not shown.
const MOST_LINES: usize = 1000;

/// Reports the diagnostics in `stderr`, and returns its other lines.
pub(super) fn report(stderr: &[u8], command: &str, reporter: &mut Reporter<'_>) -> Vec<String> {
    let text = String::from_utf8_lossy(stderr);
    let (mut plain, mut count) = (Vec::new(), 0);
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        count += 1;
        if count > MOST_LINES {
            continue;
        }
        match diagnostic(line, command, reporter.ctx()) {
            Some(diagnostic) => {
                reporter.report(diagnostic);
            }
            None => plain.push(line.to_owned()),
        }
    }
    if count > MOST_LINES {
        plain.push(format!("({} more lines)", count - MOST_LINES));
    }
    plain
}

/// The diagnostic that a line stands for, if it is one.
fn diagnostic(line: &str, command: &str, ctx: &Context) -> Option<Diagnostic> {
    let object = line.starts_with('{').then(|| serde_json::from_str::<Value>(line).ok())??;
    let object = object.as_object()?;
    let severity = match object.get("severity")?.as_str()? {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        "remark" | "note" => Severity::Remark,
        _ => return None,
    };
    let message = object.get("message")?.as_str()?;
    let mut diagnostic =
        Diagnostic::new(severity, place(object, ctx), format!("{command}: {message}"));
    diagnostic.hint = object.get("hint").and_then(Value::as_str).map(str::to_owned);
    let notes = object.get("notes").and_then(Value::as_array).into_iter().flatten();
    for note in notes.filter_map(Value::as_object) {
        if let Some(text) = note.get("message").and_then(Value::as_str) {
            diagnostic.note(place(note, ctx), text);
        }
    }
    Some(diagnostic)
}

/// Where `file`, `line` and `column` point; a line without a column is its beginning.
fn place(object: &Map<String, Value>, ctx: &Context) -> Loc {
    let number = |key: &str| {
        let number = object.get(key).and_then(Value::as_u64);
        number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
    };
    match (object.get("file").and_then(Value::as_str), number("line")) {
        (Some(file), Some(line)) => ctx.file_loc(file, line, number("column").unwrap_or(1)),
        _ => ctx.unknown_loc(),
    }
}

#[cfg(test)]
mod tests {
    use piper_ir::{Context, Reporter, Severity};

    use super::report;

    #[test]
    fn objects_are_diagnostics_and_the_rest_is_text() {
        let ctx = Context::new([]);
        let mut reporter = Reporter::new(&ctx);
        let text = concat!(
            "looking\n",
            "{\"severity\":\"error\",\"message\":\"too many\",\"file\":\"f.pir\",\"line\":3,\"column\":5,\"hint\":\"fewer\",",
            "\"notes\":[{\"message\":\"the first\",\"file\":\"f.pir\",\"line\":1},{\"x\":1}]}\n",
            "{\"severity\":\"fatal\",\"message\":\"?\"}\n{\"severity\":\"remark\"}\n{ not JSON\n\n",
            "{\"severity\":\"warning\",\"message\":\"odd\",\"line\":99999999999,\"file\":\"f.pir\"}\n",
        );
        let plain = report(text.as_bytes(), "p.py", &mut reporter);
        assert_eq!(plain.len(), 4, "{plain:?}");
        let [error, warning] = reporter.diagnostics() else { panic!("two") };
        assert_eq!((error.severity, &*error.message), (Severity::Error, "p.py: too many"));
        assert_eq!(error.loc.file_position(&ctx), Some(("f.pir", 3, 5)));
        assert_eq!(error.hint.as_deref(), Some("fewer"));
        assert_eq!(error.notes.len(), 1);
        assert_eq!(error.notes[0].loc.file_position(&ctx), Some(("f.pir", 1, 1)));
        assert_eq!((warning.severity, warning.loc), (Severity::Warning, ctx.unknown_loc()));
    }

    #[test]
    fn a_flood_is_cut() {
        let ctx = Context::new([]);
        let plain = report("x\n".repeat(5000).as_bytes(), "p.py", &mut Reporter::new(&ctx));
        assert_eq!(plain.len(), 1001);
        assert_eq!(plain[1000], "(4000 more lines)");
        assert_eq!(report(b"\xff\xfe\n", "p", &mut Reporter::new(&ctx)).len(), 1);
    }
}
