//! `diff` and `cmp`: do two files agree, and if not, where?

use std::path::Path;

use super::builtins::read;
use crate::Output;

/// Above this many cells the table of common subsequences is skipped and the differing middle shown whole.
const TABLE_LIMIT: usize = 4_000_000;

pub(super) fn command(args: &[String], stdin: &[u8], cwd: &Path) -> Result<Output, String> {
    let (mut all_space, mut space_amount, mut quiet) = (false, false, false);
    let mut files = Vec::new();
    for arg in args {
        match arg.as_str() {
            "-w" => all_space = true,
            "-b" => space_amount = true,
            "-q" | "-s" => quiet = true,
            "-u" | "-U" | "-a" | "--strip-trailing-cr" => {}
            option if option.len() > 1 && option.starts_with('-') => {
                return Err(format!(
                    "option '{option}' is not supported by the in-process builtin"
                ));
            }
            file => files.push(file),
        }
    }
    let [left, right] = files[..] else { return Err("two files are needed".into()) };
    let (a, b) = (read(left, stdin, cwd)?, read(right, stdin, cwd)?);
    let lines = |bytes: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(bytes);
        let clean = |line: &str| {
            if all_space {
                line.split_whitespace().collect()
            } else if space_amount {
                line.split_whitespace().collect::<Vec<_>>().join(" ")
            } else {
                line.to_string()
            }
        };
        text.split_inclusive('\n').map(clean).collect()
    };
    let (a, b) = (lines(&a), lines(&b));
    if a == b {
        return Ok(Output::default());
    }
    let text = if quiet {
        format!("Files {left} and {right} differ\n")
    } else {
        differences(left, right, &a, &b)
    };
    Ok(Output { stdout: text.into_bytes(), stderr: Vec::new(), code: 1 })
}

/// A unified diff of one hunk: everything between the first and the last difference.
fn differences(left: &str, right: &str, a: &[String], b: &[String]) -> String {
    let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let suffix =
        a[prefix..].iter().rev().zip(b[prefix..].iter().rev()).take_while(|(x, y)| x == y).count();
    let (x, y) = (&a[prefix..a.len() - suffix], &b[prefix..b.len() - suffix]);
    let mut out = format!(
        "--- {left}\n+++ {right}\n@@ -{},{} +{},{} @@\n",
        prefix + 1,
        x.len(),
        prefix + 1,
        y.len()
    );
    let mut push = |mark: char, line: &String| {
        out.push(mark);
        out.push_str(line.trim_end_matches('\n'));
        out.push('\n');
    };
    if x.len().saturating_mul(y.len()) > TABLE_LIMIT {
        x.iter().for_each(|line| push('-', line));
        y.iter().for_each(|line| push('+', line));
        return out;
    }
    let width = y.len() + 1;
    let mut common = vec![0u32; (x.len() + 1) * width];
    for i in (0..x.len()).rev() {
        for j in (0..y.len()).rev() {
            common[i * width + j] = if x[i] == y[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < x.len() || j < y.len() {
        if i < x.len() && j < y.len() && x[i] == y[j] {
            push(' ', &x[i]);
            (i, j) = (i + 1, j + 1);
        } else if j == y.len()
            || (i < x.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            push('-', &x[i]);
            i += 1;
        } else {
            push('+', &y[j]);
            j += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn common_lines_are_kept() {
        let lines = |text: &str| text.split_inclusive('\n').map(String::from).collect::<Vec<_>>();
        let text = differences("l", "r", &lines("a\nb\nc\nd\n"), &lines("a\nx\nc\ny\nd\n"));
        assert_eq!(text, "--- l\n+++ r\n@@ -2,2 +2,3 @@\n-b\n+x\n c\n+y\n");
    }
}
