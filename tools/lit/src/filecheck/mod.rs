//! FileCheck: does a text hold, in order, what the directives of a check file say?
//!
//! The directive language, the order of matching (label blocks, `-DAG` groups, `-NOT` regions) and the verdicts
//! are LLVM's; a test compares them with the real tool where that is installed. The one liberty: a back-reference
//! within one directive (`[[X:...]] [[X]]`) is matched leftmost-first, not leftmost-longest.

use std::fs;
use std::path::Path;

use crate::Output;

mod command;
mod directive;
mod ere;
mod matcher;
mod numeric;
mod pattern;
mod report;

pub(crate) use command::{Invocation, parse_arguments};
pub(crate) use ere::translate as translate_regex;
use numeric::Format;
use pattern::{Scope, Variables};

/// What the command line of FileCheck says, files apart.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directive prefixes; each must occur in the check file.
    pub prefixes: Vec<String>,
    /// Whether `prefixes` were named by the user (then each must be used even under `implicit_check_not`).
    pub prefixes_given: bool,
    /// Prefixes that make the rest of a line a comment.
    pub comment_prefixes: Vec<String>,
    /// Patterns that may not occur between positive matches.
    pub implicit_check_not: Vec<String>,
    /// Do not treat runs of spaces and tabs as one space.
    pub strict_whitespace: bool,
    /// A positive match must cover a whole line.
    pub match_full_lines: bool,
    /// Accept an empty input.
    pub allow_empty: bool,
    /// Accept prefixes that occur nowhere.
    pub allow_unused_prefixes: bool,
    /// Match letters of either case.
    pub ignore_case: bool,
    /// `CHECK-LABEL` ends the scope of variables without `$`.
    pub enable_var_scope: bool,
    /// `-DNAME=VALUE`; a name with `#` defines a number.
    pub defines: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            prefixes: vec!["CHECK".into()],
            prefixes_given: false,
            comment_prefixes: vec!["COM".into(), "RUN".into()],
            implicit_check_not: Vec::new(),
            strict_whitespace: false,
            match_full_lines: false,
            allow_empty: false,
            allow_unused_prefixes: false,
            ignore_case: false,
            enable_var_scope: false,
            defines: Vec::new(),
        }
    }
}

/// A text and the name reports give it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Such as a path, or `<stdin>`.
    pub name: &'a str,
    /// The whole text.
    pub text: &'a str,
}

/// Checks `input` against the directives in `check_file`.
///
/// # Errors
/// The report FileCheck would print: each failed directive as `file:line:column`, its line, and where in the
/// input the search began; or what is wrong with the check file.
pub fn check(check_file: Source<'_>, input: Source<'_>, options: &Options) -> Result<(), String> {
    let mut scope = Scope::default();
    let mut variables = Variables::default();
    for (name, value) in &options.defines {
        if let Some(number) = name.strip_prefix('#') {
            let value = numeric::parse_block(value, 0)
                .and_then(|block| block.expr.ok_or_else(|| "a value is missing".into()))
                .and_then(|expr| expr.value(&variables.numbers))
                .map_err(|e| format!("error: -D{name}={value}: {e}\n"))?;
            scope.define_number(number, Format::UNSIGNED);
            variables.numbers.insert(number.into(), (value, Format::UNSIGNED));
        } else {
            scope.define_string(name);
            variables.strings.insert(name.clone(), value.clone());
        }
    }
    let checks = directive::read_checks(check_file.text, options, &mut scope)
        .map_err(|fault| report::fault(check_file, &fault))?;
    let canonical = canonical(input.text, options.strict_whitespace);
    if canonical.is_empty() && !options.allow_empty {
        return Err(format!("FileCheck error: '{}' is empty.\n", input.name));
    }
    let failures = matcher::run_checks(&checks, &canonical, variables, options.enable_var_scope);
    if failures.is_empty() {
        return Ok(());
    }
    Err(report::mismatches(check_file, Source { name: input.name, text: &canonical }, &failures))
}

/// FileCheck as a command: `args` are its arguments, `cwd` is where file names start from.
///
/// Status 0 means that the checks hold, 1 that they do not, 2 that the command line or a file is at fault.
pub fn run(args: &[String], stdin: &[u8], cwd: &Path) -> Output {
    match parse_arguments(args) {
        Ok(invocation) => check_invocation(&invocation, stdin, cwd),
        Err(message) => Output::failure(2, message + "\n"),
    }
}

/// Runs FileCheck with a parsed command line.
fn check_invocation(invocation: &Invocation, stdin: &[u8], cwd: &Path) -> Output {
    let check_text = match fs::read(cwd.join(&invocation.check_file)) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) => {
            return Output::failure(
                2,
                format!("Could not open check file '{}': {e}\n", invocation.check_file),
            );
        }
    };
    let (name, text) = match invocation.input(stdin, cwd) {
        Ok(input) => input,
        Err(message) => return Output::failure(2, message + "\n"),
    };
    let check_file = Source { name: &invocation.check_file, text: &check_text };
    match check(check_file, Source { name: &name, text: &text }, &invocation.options) {
        Ok(()) => Output::default(),
        Err(report) => Output::failure(1, report),
    }
}

/// Line endings become `\n`; runs of blanks become one space unless whitespace is strict.
fn canonical(text: &str, strict_whitespace: bool) -> String {
    let unix = text.replace("\r\n", "\n");
    if strict_whitespace { unix } else { directive::collapse_whitespace(&unix) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(check: &str, input: &str) -> Result<(), String> {
        super::check(
            Source { name: "t.pir", text: check },
            Source { name: "<stdin>", text: input },
            &Options::default(),
        )
    }

    #[test]
    fn a_missing_line_is_quoted_with_both_places() {
        let report =
            verdict("// CHECK: alpha\n// CHECK: beta\n", "alpha\ngamma\nbeat a\n").unwrap_err();
        assert!(
            report.contains("t.pir:2:11: error: CHECK: expected string not found in input"),
            "{report}"
        );
        assert!(report.contains("// CHECK: beta\n          ^"), "{report}");
        assert!(report.contains("<stdin>:1:6: note: scanning from here"), "{report}");
        assert!(report.contains("<stdin>:3:1: note: possible intended match here"), "{report}");
    }

    #[test]
    fn next_on_a_later_line_names_both_matches() {
        let report = verdict("CHECK: a\nCHECK-NEXT: c\n", "a\nb\nc\n").unwrap_err();
        assert!(
            report.contains("CHECK-NEXT: is not on the line after the previous match"),
            "{report}"
        );
        assert!(report.contains("<stdin>:3:1: note: 'next' match was here"), "{report}");
        assert!(report.contains("<stdin>:1:2: note: previous match ended here"), "{report}");
    }

    #[test]
    fn an_excluded_string_is_shown_where_it_stands() {
        let report = verdict("CHECK: a\nCHECK-NOT: bad\nCHECK: z\n", "a\nis bad\nz\n").unwrap_err();
        assert!(
            report.contains("t.pir:2:12: error: CHECK-NOT: excluded string found in input"),
            "{report}"
        );
        assert!(report.contains("<stdin>:2:4: note: found here"), "{report}");
    }

    #[test]
    fn values_of_variables_are_shown() {
        let report = verdict("CHECK: def [[X:%[0-9]+]]\nCHECK: use [[X]]\n", "def %7\nuse %8\n")
            .unwrap_err();
        assert!(report.contains("with \"X\" equal to \"%7\""), "{report}");
    }

    #[test]
    fn a_count_says_how_far_it_came() {
        let report = verdict("CHECK-COUNT-3: x\n", "x\nx\n").unwrap_err();
        assert!(
            report.contains("CHECK-COUNT: expected string not found in input (2 out of 3)"),
            "{report}"
        );
    }

    #[test]
    fn failures_after_a_label_do_not_hide_later_blocks() {
        let check = "CHECK-LABEL: f1\nCHECK: x\nCHECK-LABEL: f2\nCHECK: y\n";
        let report = verdict(check, "f1\nf2\n").unwrap_err();
        assert!(report.contains("t.pir:2:8:") && report.contains("t.pir:4:8:"), "{report}");
    }

    #[test]
    fn an_empty_input_needs_leave() {
        assert!(verdict("CHECK-NOT: x\n", "").unwrap_err().contains("'<stdin>' is empty"));
    }
}
