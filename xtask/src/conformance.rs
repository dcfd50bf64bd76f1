//! `cargo xtask conformance`: MLIR's own parser tests, read by `piper-opt` and by `mlir-opt`.
//!
//! The tests are not in this repository; the command takes the folder of a checkout (`mlir/test/IR`). Each file is cut at
//! its `// -----` lines and each chunk is given to both tools. They agree if both reject it, or if both accept it and
//! `mlir-opt` prints the same generic text for the chunk and for what Piper printed of it. Chunks that need a dialect
//! Piper does not have, or the C++ test dialect, say nothing about the text and are listed apart. A file that is one such
//! chunk is cut further, into its top-level operations with the aliases before them; of these, what `mlir-opt` accepts
//! alone is compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The tools that are compared.
struct Tools {
    ours: PathBuf,
    theirs: String,
    /// Dialects that MLIR has and Piper does not.
    missing: Vec<String>,
}

/// What became of a chunk.
enum Verdict {
    Agrees,
    Differs(String),
    Excluded(String),
}

/// The chunks of a file by verdict.
#[derive(Default)]
struct Tally {
    agree: usize,
    differ: Vec<(usize, String)>,
    excluded: BTreeMap<String, usize>,
    /// Whether the chunks are single operations of the file.
    is_cut: bool,
}

/// Runs the comparison and prints what differs; with `table`, writes the counts there.
///
/// # Errors
/// When a tool cannot be started or the folder not be read.
pub(crate) fn run(
    folder: &Path,
    ours: PathBuf,
    table: Option<&Path>,
    filter: Option<&str>,
) -> Result<bool> {
    let theirs = std::env::var("MLIR_OPT").unwrap_or_else(|_| "mlir-opt-22".into());
    let tools = Tools { missing: missing_dialects(&theirs)?, ours, theirs };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "mlir"))
        .collect();
    files.sort();
    ensure!(!files.is_empty(), "{} has no .mlir files", folder.display());
    let mut tallies = Vec::new();
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if filter.is_some_and(|filter| !name.contains(filter)) {
            continue;
        }
        let text =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let tally = tools.file(&text)?;
        for (chunk, why) in &tally.differ {
            println!("{name}, chunk {chunk}: {why}");
        }
        tallies.push((name, tally));
    }
    let report = report(&tallies);
    println!("{report}");
    if let Some(table) = table {
        std::fs::write(table, report)?;
    }
    Ok(tallies.iter().all(|(_, tally)| tally.differ.is_empty()))
}

/// Dialects that `mlir-opt` has and whose operations Piper does not read.
fn missing_dialects(theirs: &str) -> Result<Vec<String>> {
    let output = Command::new(theirs)
        .arg("--show-dialects")
        .output()
        .with_context(|| format!("cannot start {theirs} (set MLIR_OPT to another)"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let known = ["builtin", "func", "cf", "arith"];
    let mut names: Vec<String> = text
        .split([':', ',', '\n'])
        .map(|word| word.trim().to_owned())
        .filter(|word| !word.is_empty() && !word.contains(' ') && !known.contains(&word.as_str()))
        .collect();
    names.push("test".into());
    Ok(names)
}

impl Tools {
    fn file(&self, text: &[u8]) -> Result<Tally> {
        let mut tally = Tally::default();
        let shown = String::from_utf8_lossy(text);
        let run_lines: String = shown.lines().filter(|line| line.contains("RUN:")).collect();
        let uses_test_pass = run_lines.split([' ', '=', '(', ',']).any(|word| {
            word.trim_start_matches(['-', '"', '\'']).starts_with("test-")
                || word.contains("load-dialect-plugin")
        });
        let unregistered = run_lines.contains("allow-unregistered-dialect");
        let splits = run_lines.contains("split-input-file");
        let mut parts = chunks(text, splits);
        let needs = |chunk: &[u8]| self.needs(&String::from_utf8_lossy(chunk));
        let is_cut = parts.len() == 1 && !uses_test_pass && needs(&parts[0]).is_some();
        if is_cut {
            let aliases = |line: &str| self.needs(line).is_none();
            parts = operations(&String::from_utf8_lossy(&parts[0]), aliases);
        }
        tally.is_cut = is_cut;
        for (number, chunk) in parts.into_iter().enumerate() {
            let verdict = if uses_test_pass {
                Verdict::Excluded("a C++ test pass".into())
            } else if !run_lines.contains("mlir-opt") {
                Verdict::Excluded("another tool".into())
            } else {
                self.chunk(&chunk, unregistered, is_cut)?
            };
            match verdict {
                Verdict::Agrees => tally.agree += 1,
                Verdict::Differs(why) => tally.differ.push((number + 1, why)),
                Verdict::Excluded(why) => *tally.excluded.entry(why).or_default() += 1,
            }
        }
        Ok(tally)
    }

    fn chunk(&self, chunk: &[u8], unregistered: bool, is_cut: bool) -> Result<Verdict> {
        if let Some(dialect) = self.needs(&String::from_utf8_lossy(chunk)) {
            return Ok(Verdict::Excluded(format!("dialect {dialect}")));
        }
        let (theirs, ours) = (Path::new(&self.theirs), self.ours.as_path());
        let expected = opt(theirs, chunk, unregistered)?;
        if is_cut && expected.is_err() {
            return Ok(Verdict::Excluded("nothing alone".into()));
        }
        let found = opt(ours, chunk, unregistered)?;
        if let Err(errors) = &found
            && let Some(what) = unregistered_operation(errors)
        {
            return Ok(Verdict::Excluded(format!("operation {what}")));
        }
        Ok(match (expected, found) {
            (Err(_), Err(_)) => Verdict::Agrees,
            (Ok(_), Err(errors)) => {
                Verdict::Differs(format!("only mlir-opt accepts it: {}", first_line(&errors)))
            }
            (Err(errors), Ok(_)) => {
                Verdict::Differs(format!("only Piper accepts it: {}", first_line(&errors)))
            }
            (Ok(expected), Ok(found)) => match opt(theirs, found.as_bytes(), true)? {
                Err(errors) => Verdict::Differs(format!(
                    "mlir-opt rejects Piper's text: {}",
                    first_line(&errors)
                )),
                Ok(again) if again == expected => Verdict::Agrees,
                Ok(again) => Verdict::Differs(difference(&expected, &again)),
            },
        })
    }

    /// A dialect that the chunk uses and Piper does not have.
    fn needs(&self, chunk: &str) -> Option<String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        chunk.lines().find_map(|line| {
            let code = line.split("//").next().unwrap_or("");
            let mut rest = code;
            let mut before = ' ';
            while let Some(at) = rest.find(is_part) {
                before = rest[..at].chars().last().unwrap_or(before);
                let word_end = rest[at..].find(|c| !is_part(c)).map_or(rest.len(), |n| at + n);
                let (word, after) = (&rest[at..word_end], &rest[word_end..]);
                let is_name = after.starts_with('.')
                    && after[1..].starts_with(|c: char| c.is_ascii_alphabetic());
                let is_section = after.starts_with(": {");
                let is_symbol = matches!(before, '#' | '!') && after.starts_with(['.', '<']);
                let is_outside = !matches!(before, '.' | '@' | '%' | '^' | '$' | '-');
                if (is_name || is_symbol || is_section)
                    && is_outside
                    && self.missing.iter().any(|m| m == word)
                {
                    return Some(word.to_owned());
                }
                before = word.chars().last().unwrap_or(' ');
                rest = after;
            }
            None
        })
    }
}

/// The parts between `// -----` lines, each at its lines: errors are on the same line in both tools anyway.
fn chunks(text: &[u8], splits: bool) -> Vec<Vec<u8>> {
    let mut chunks = vec![Vec::new()];
    for line in text.split_inclusive(|b| *b == b'\n') {
        if splits && line.trim_ascii() == b"// -----" {
            chunks.push(Vec::new());
        } else if let Some(last) = chunks.last_mut() {
            last.extend_from_slice(line);
        }
    }
    let has_code = |chunk: &Vec<u8>| {
        String::from_utf8_lossy(chunk)
            .lines()
            .any(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//"))
    };
    chunks.into_iter().filter(has_code).collect()
}

/// The top-level operations of a file, each behind the aliases that `keep` lets stand.
fn operations(text: &str, keep: impl Fn(&str) -> bool) -> Vec<Vec<u8>> {
    let (mut aliases, mut pieces, mut piece, mut depth) =
        (String::new(), Vec::new(), String::new(), 0i32);
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or("");
        if code.trim().is_empty() {
            continue;
        }
        let mut in_string = false;
        for c in code.chars() {
            match c {
                '"' => in_string = !in_string,
                '(' | '{' | '[' if !in_string => depth += 1,
                ')' | '}' | ']' if !in_string => depth -= 1,
                _ => {}
            }
        }
        piece.push_str(line);
        piece.push('\n');
        if depth > 0 {
            continue;
        }
        let done = std::mem::take(&mut piece);
        depth = 0;
        if !done.starts_with(['#', '!']) {
            pieces.push(format!("{aliases}{done}").into_bytes());
        } else if keep(&done) {
            aliases.push_str(&done);
        }
    }
    pieces
}

/// What the tool prints in the generic form, or its errors.
fn opt(tool: &Path, input: &[u8], unregistered: bool) -> Result<Result<String, String>> {
    let mut command = Command::new(tool);
    command.arg("--mlir-print-op-generic");
    if unregistered {
        command.arg("--allow-unregistered-dialect");
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", tool.display()))?;
    let mut stdin = child.stdin.take().expect("a pipe");
    // A tool may end without having read everything.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output()?;
    let (out, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok(if output.status.success() { Ok(out.into_owned()) } else { Err(errors.into_owned()) })
}

/// The operation of a known dialect that our tool says it does not have.
fn unregistered_operation(errors: &str) -> Option<String> {
    let line = first_line(errors);
    let (_, name) = line.split_once("' has no operation '")?;
    Some(name.split('\'').next()?.to_owned())
}

fn first_line(errors: &str) -> String {
    errors.lines().find(|line| line.contains("error")).unwrap_or("no message").trim().to_owned()
}

fn difference(expected: &str, found: &str) -> String {
    let differing = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
    let (expected, found) = differing.unwrap_or(("", "one text is longer"));
    format!("reads otherwise\n    mlir-opt: {}\n    Piper:    {}", expected.trim(), found.trim())
}

fn report(tallies: &[(String, Tally)]) -> String {
    let mut out = String::from(
        "# Conformance\n\nMLIR's own tests of its text (`mlir/test/IR` of release 19.1.7), with `mlir-opt` 22 as the judge: \
         `cargo xtask conformance <folder>`.\nA chunk agrees if both tools reject it, or if `mlir-opt` reads the same from \
         it and from what Piper printed of it.\nChunks that need a dialect, an operation or a C++ test pass that Piper \
         does not have are left out, by name.\nA file that is one such chunk is compared operation by \
         operation, as far as they stand alone.\n\n| file | agree | differ | left out |\n|---|---|---|---|\n",
    );
    let (mut agree, mut differ, mut left_out) = (0, 0, 0);
    for (name, tally) in tallies {
        let excluded: Vec<String> =
            tally.excluded.iter().map(|(why, count)| format!("{count} {why}")).collect();
        let numbers: Vec<String> = tally.differ.iter().map(|(n, _)| n.to_string()).collect();
        let differing = match numbers.len() {
            0 => "0".to_owned(),
            count => format!("{count} (chunks {})", numbers.join(", ")),
        };
        let excluded_text = if excluded.is_empty() { "0".to_owned() } else { excluded.join(", ") };
        let name =
            if tally.is_cut { format!("`{name}`, by operation") } else { format!("`{name}`") };
        writeln!(out, "| {name} | {} | {differing} | {excluded_text} |", tally.agree)
            .expect("writing to a string");
        agree += tally.agree;
        differ += tally.differ.len();
        left_out += tally.excluded.values().sum::<usize>();
    }
    let compared = agree + differ;
    let percent = 100.0 * agree as f64 / compared.max(1) as f64;
    writeln!(
        out,
        "\n**{agree} of {compared} chunks agree: {percent:.1} %**; {left_out} are left out."
    )
    .expect("writing to a string");
    out.push_str(KNOWN);
    out
}

/// Why the chunks that are known to differ do.
const KNOWN: &str = "
## Known to differ

- `affine-map.mlir`: Piper builds `d0 + (d1 + 5)` as `(d0 + d1) + 5`, which is how both are written; MLIR keeps two maps of the
  same text. So the text of a map reads back as the map.
- `zero_whitespace.mlir`: a NUL byte is an error here, not a blank.
- `file-metadata-resources.mlir`: its blobs belong to the test dialect.
";
