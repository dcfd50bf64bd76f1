//! Regenerates expected output: the block of directives under a marker line is replaced by what the tools print now.
//!
//! A test asks for it with a line of its own,
//!
//! ```text
//! // CHECK lines below are generated: cargo xtask bless
//! ```
//!
//! whose first word is the prefix of the FileCheck run it serves (a file may have one marker per prefix). Under
//! `PIPER_BLESS=1` the pipeline runs up to FileCheck, and the directive lines of that prefix that follow the marker
//! give way to fresh ones: `CHECK:` for the first line, `CHECK-NEXT:` for the others, `CHECK-EMPTY:` for empty ones, and a final
//! `CHECK-NOT: {{[^ ]}}` so that nothing may follow unseen. `{{` and `[[` are escaped, the test's own folder becomes
//! `{{.*}}`. Nothing is written when any RUN line fails, and the test is then run again as usual: output that
//! depends on the generated lines themselves (a line number below the block) is thereby found.

use std::fs;
use std::path::{Path, PathBuf};

/// What follows the prefix on a marker line.
pub const MARKER: &str = " lines below are generated: cargo xtask bless";

/// Whether the environment asks for regeneration.
pub(crate) fn requested() -> bool {
    std::env::var_os("PIPER_BLESS").is_some_and(|v| !v.is_empty() && v != "0")
}

/// The test file while its blocks are being replaced.
#[derive(Debug)]
pub(crate) struct Blesser {
    path: PathBuf,
    text: String,
    done: Vec<String>,
}

impl Blesser {
    pub(crate) fn new(path: &Path, text: &str) -> Self {
        Self { path: path.into(), text: text.into(), done: Vec::new() }
    }

    /// Whether this check file and one of these prefixes have a block to generate.
    pub(crate) fn is_for(&self, check_file: &Path, prefixes: &[String]) -> bool {
        let same =
            check_file == self.path || fs::canonicalize(check_file).is_ok_and(|p| p == self.path);
        same && prefixes.iter().any(|p| marker_line(&self.text, p).is_some())
    }

    /// Puts `output` into the block of the first of `prefixes` that has one and was not yet generated.
    ///
    /// # Errors
    /// A message when there is nothing to expect.
    pub(crate) fn record(&mut self, prefixes: &[String], output: &str) -> Result<(), String> {
        let Some(prefix) = prefixes.iter().find(|p| marker_line(&self.text, p).is_some()) else {
            return Ok(());
        };
        if self.done.contains(prefix) {
            return Ok(()); // the run after the rewrite compares it
        }
        if output.trim().is_empty() {
            return Err(format!(
                "bless: the command printed nothing, so no {prefix} lines can be generated"
            ));
        }
        self.done.push(prefix.clone());
        let folder = self.path.parent().map(|p| format!("{}/", p.display())).unwrap_or_default();
        self.text =
            replaced(&self.text, prefix, output, &folder).unwrap_or_else(|| self.text.clone());
        Ok(())
    }

    /// Writes the file if its text changed.
    ///
    /// # Errors
    /// A message when the file cannot be written.
    pub(crate) fn save(self, old: &str) -> Result<(), String> {
        if self.text == old {
            return Ok(());
        }
        fs::write(&self.path, self.text)
            .map_err(|e| format!("bless: cannot write {}: {e}", self.path.display()))
    }
}

/// Index of the marker line for `prefix`, and what stands before the prefix on it.
fn marker_line<'a>(text: &'a str, prefix: &str) -> Option<(usize, &'a str)> {
    text.lines().enumerate().find_map(|(index, line)| {
        let leader = line.trim_end().strip_suffix(MARKER)?.strip_suffix(prefix)?;
        leader
            .chars()
            .all(|c| !c.is_alphanumeric() && c != '-' && c != '_')
            .then_some((index, leader))
    })
}

/// `text` with the block under the marker replaced; `None` without a marker.
fn replaced(text: &str, prefix: &str, output: &str, folder: &str) -> Option<String> {
    let (marker, leader) = marker_line(text, prefix)?;
    let is_directive = |line: &str| {
        line.trim_start()
            .strip_prefix(leader.trim_start())
            .and_then(|l| l.strip_prefix(prefix))
            .is_some_and(|rest| {
                rest.starts_with(':')
                    || (rest.starts_with('-') && rest.contains(':') && !rest.ends_with(MARKER))
            })
    };
    let lines: Vec<&str> = text.lines().collect();
    let end = marker + 1 + lines[marker + 1..].iter().take_while(|line| is_directive(line)).count();
    let mut out = String::new();
    for line in &lines[..=marker] {
        out.push_str(line);
        out.push('\n');
    }
    let mut first = true;
    for line in
        output.trim_end_matches(['\n', '\r']).lines().skip_while(|line| line.trim().is_empty())
    {
        let text = line.trim_end();
        // A pattern loses its trailing blanks, and CHECK-EMPTY accepts none, so blanks are spelt as expressions.
        let body = match (text.is_empty(), text.len() == line.len()) {
            (true, false) => "{{^ +$}}".to_string(),
            (_, true) => escaped(text, folder),
            (false, false) => escaped(text, folder) + "{{ +}}",
        };
        // The first directive is padded, so that the printed text keeps its columns.
        let directive = match (first, body.is_empty()) {
            (true, _) => format!("{prefix}:      {body}"),
            (false, true) => format!("{prefix}-EMPTY:"),
            (false, false) => format!("{prefix}-NEXT: {body}"),
        };
        out.push_str(&format!("{leader}{directive}\n"));
        first = false;
    }
    out.push_str(&format!("{leader}{prefix}-NOT:  {{{{[^ ]}}}}\n"));
    for line in &lines[end..] {
        out.push_str(line);
        out.push('\n');
    }
    Some(out)
}

/// `line` as a pattern that matches it.
fn escaped(line: &str, folder: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let (pattern, length) = if folder.len() > 1 && rest.starts_with(folder) {
            ("{{.*}}", folder.len())
        } else if rest.starts_with("{{") {
            (r"{{\{\{}}", 2)
        } else if rest.starts_with("[[") {
            (r"{{\[\[}}", 2)
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.push_str(pattern);
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filecheck::{Options, Source, check};

    const TEST: &str = "// RUN: x\nbody\n// CHECK lines below are generated: cargo xtask bless\n// CHECK: old\n// CHECK-NEXT: old\n// keep\n";

    #[test]
    fn the_block_is_replaced_and_the_rest_kept() {
        let new = replaced(TEST, "CHECK", "\n a\n\n  b\n", "").unwrap();
        assert_eq!(
            new,
            "// RUN: x\nbody\n// CHECK lines below are generated: cargo xtask bless\n// CHECK:       a\n// CHECK-EMPTY:\n// CHECK-NEXT:   b\n// CHECK-NOT:  {{[^ ]}}\n// keep\n"
        );
        assert_eq!(
            replaced(&new, "CHECK", "\n a\n\n  b\n", "").unwrap(),
            new,
            "blessing twice changes nothing"
        );
        assert_eq!(replaced(TEST, "OTHER", "a", ""), None);
    }

    #[test]
    fn generated_directives_accept_exactly_their_output() {
        let output =
            "a {{x}} [[y]] [[[[z {{{\n/w/t.pir:1: error\n\n  %0 = \"q\"() {a = [[1, 2]]} \\d+ .*\n";
        let text = replaced(TEST, "CHECK", output, "/w/").unwrap();
        let verdict = |input: &str| {
            let options = Options::default();
            check(Source { name: "t", text: &text }, Source { name: "i", text: input }, &options)
        };
        assert_eq!(verdict(output), Ok(()));
        assert!(verdict(&output.replace("[1, 2]", "[1, 3]")).is_err());
        assert!(verdict(&format!("{output}more\n")).is_err());
        assert!(verdict(&output.replace("\n\n", "\n")).is_err());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig {
            failure_persistence: None,
            ..proptest::prelude::ProptestConfig::default()
        })]

        #[test]
        fn any_output_is_accepted_by_its_own_block(output in "[a-z0-9 {}\\[\\]%.*+()|\\\\$^\n]{1,80}") {
            proptest::prop_assume!(!output.trim().is_empty());
            let text = replaced(TEST, "CHECK", &output, "").expect("the test has a marker");
            let options = Options::default();
            let verdict = check(Source { name: "t", text: &text }, Source { name: "i", text: &output }, &options);
            proptest::prop_assert_eq!(verdict, Ok(()), "{}", text);
        }
    }
}
