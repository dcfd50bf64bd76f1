//! Which comments meet which diagnostics.

use piper_ir::{Context, Reporter, Severity};

use super::compare;

/// Diagnostics are (severity, line, message); line 0 has no place.
fn faults(text: &str, found: &[(Severity, u32, &str)]) -> Vec<(Option<u32>, String)> {
    let ctx = Context::new([]);
    let mut reporter = Reporter::new(&ctx);
    for (severity, line, message) in found {
        let loc = if *line == 0 { ctx.unknown_loc() } else { ctx.file_loc("f", *line, 1) };
        match severity {
            Severity::Note => {
                let loc_of_error = ctx.file_loc("f", 1, 1);
                reporter.error(loc_of_error, "base").note(loc, *message);
            }
            severity => {
                let one = piper_ir::Diagnostic::new(*severity, loc, *message);
                reporter.report(one);
            }
        }
    }
    let faults = compare(&ctx, "f", text, reporter.diagnostics());
    faults.into_iter().map(|f| (f.line, f.message)).collect()
}

#[test]
fn what_is_expected_and_comes_is_no_fault() {
    use Severity::{Error, Note, Remark, Warning};
    for (text, found) in [
        ("x // expected-error {{bad}}", (Error, 1, "very bad thing")),
        ("// expected-warning@+1 {{w}}\nx", (Warning, 2, "w")),
        ("x\n// expected-remark @-1 {{r}}", (Remark, 1, "r")),
        ("x\n// expected-error@above {{e}}", (Error, 1, "e")),
        ("// expected-error@below {{e}}\nx", (Error, 2, "e")),
        ("// expected-error@unknown {{e}}", (Error, 0, "e")),
        ("// expected-error-re@+1 {{a{{[0-9]+}}b.}}\nx", (Error, 2, "xa12b.")),
        ("x // expected-error {{base}} expected-note {{n}}", (Note, 1, "an n")),
        ("x // expected-error {{a {{b}} c}}", (Error, 1, "a {{b}} c")),
    ] {
        assert_eq!(faults(text, &[found]), [], "{text}");
    }
    let stacked = "// expected-error@below {{a}}\n// expected-error@below {{b}}\nx";
    assert_eq!(faults(stacked, &[(Error, 3, "b"), (Error, 3, "a")]), []);
}

#[test]
fn what_came_instead_is_told() {
    let ctx = Context::new([]);
    let mut reporter = Reporter::new(&ctx);
    reporter.warning(ctx.file_loc("f", 2, 1), "very bad");
    reporter.error(ctx.file_loc("g", 1, 1), "elsewhere");
    let text = "x // expected-error {{bad}}\n// expected-error@unknown {{elsewhere}}";
    let faults = compare(&ctx, "f", text, reporter.diagnostics());
    let unmet: Vec<_> = faults.iter().filter(|f| !f.is_surplus).collect();
    let hints: Vec<_> = unmet.iter().map(|f| f.hint.as_deref().unwrap_or("")).collect();
    assert_eq!(hints, ["it came as warning on line 2", "it came as error in another file"]);
    assert_eq!(faults.len(), 4);
}

#[test]
fn every_difference_is_a_fault_at_its_line() {
    use Severity::{Error, Warning};
    for (text, found, line, message) in [
        ("x // expected-error {{bad}}", None, Some(1), "expected error 'bad' did not come"),
        (
            "//expected-error@+2 {{b}}\n\nx",
            None,
            Some(1),
            "expected error 'b' did not come on line 3",
        ),
        ("x", Some((Error, 1, "e")), Some(1), "unexpected error: e"),
        ("x", Some((Error, 0, "e")), None, "unexpected error: e"),
        (
            "x // expected-error@here {{b}}",
            None,
            Some(1),
            "'@here' is no place for an expected diagnostic: @+n, @-n, @above, @below, @unknown",
        ),
    ] {
        let found: Vec<_> = found.into_iter().collect();
        assert_eq!(faults(text, &found), [(line, message.to_owned())], "{text}");
    }
    // The kind and the line both count, and one comment meets one diagnostic.
    assert_eq!(faults("x // expected-error {{e}}", &[(Warning, 1, "e")]).len(), 2);
    assert_eq!(faults("x // expected-error {{e}}\ny", &[(Error, 2, "e")]).len(), 2);
    assert_eq!(faults("x // expected-error {{e}}", &[(Error, 1, "e"), (Error, 1, "e")]).len(), 1);
    assert_eq!(faults("x // expected-error-re {{a{{(}}}}", &[])[0].0, Some(1));
}
