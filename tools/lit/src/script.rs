//! Reads what a test file says about itself: `RUN:`, `REQUIRES:`, `UNSUPPORTED:`, `XFAIL:`, `END.`.

use std::collections::BTreeSet;

use crate::features;

/// One `RUN:` line, continuations joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// 1-based line of the first part.
    pub(crate) line: usize,
    pub(crate) command: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) runs: Vec<Run>,
    requires: Vec<String>,
    unsupported: Vec<String>,
    xfail: Vec<String>,
}

impl Script {
    /// # Errors
    /// A message when a continuation has no next part, or when nothing is to be run.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut script = Self::default();
        let mut continued = false;
        for (index, line) in text.lines().enumerate() {
            let list =
                |rest: &str| rest.split(',').map(|e| e.trim().to_string()).collect::<Vec<_>>();
            if keyword(line, "END.").is_some() {
                break;
            } else if let Some(rest) = keyword(line, "RUN:") {
                let rest = rest.trim();
                let (part, continues) =
                    rest.strip_suffix('\\').map_or((rest, false), |p| (p, true));
                match script.runs.last_mut() {
                    Some(run) if continued => {
                        run.command = format!("{} {}", run.command.trim_end(), part.trim())
                    }
                    _ => script.runs.push(Run { line: index + 1, command: part.trim().into() }),
                }
                continued = continues;
            } else if let Some(rest) = keyword(line, "REQUIRES:") {
                script.requires.extend(list(rest));
            } else if let Some(rest) = keyword(line, "UNSUPPORTED:") {
                script.unsupported.extend(list(rest));
            } else if let Some(rest) = keyword(line, "XFAIL:") {
                script.xfail.extend(list(rest));
            }
        }
        if continued {
            return Err("the last RUN line ends in '\\' but is not continued".into());
        }
        if script.runs.is_empty() {
            return Err("test has no RUN line".into());
        }
        Ok(script)
    }

    /// Why the test cannot run with these features, if so.
    ///
    /// # Errors
    /// A message for a malformed expression.
    pub(crate) fn unsupported(
        &self,
        features: &BTreeSet<String>,
    ) -> Result<Option<String>, String> {
        for expr in &self.requires {
            if !features::holds(expr, features)? {
                return Ok(Some(format!("requires {expr}")));
            }
        }
        for expr in &self.unsupported {
            if expr == "*" || features::holds(expr, features)? {
                return Ok(Some(format!("unsupported with {expr}")));
            }
        }
        Ok(None)
    }

    /// Whether the test is expected to fail.
    ///
    /// # Errors
    /// A message for a malformed expression.
    pub(crate) fn expected_to_fail(&self, features: &BTreeSet<String>) -> Result<bool, String> {
        for expr in &self.xfail {
            if expr == "*" || features::holds(expr, features)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn keyword<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let at = line.find(word)?;
    let preceded =
        line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
    (!preceded).then(|| &line[at + word.len()..])
}

/// Replaces `%s` and the like; `%%` is a percent sign, `%(line+n)` the line of the RUN directive.
///
/// # Errors
/// A message for a `%(line...)` that does not parse.
pub(crate) fn substitute(
    command: &str,
    line: usize,
    table: &[(String, String)],
) -> Result<String, String> {
    let mut keys: Vec<&(String, String)> = table.iter().collect();
    keys.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
    let mut out = String::with_capacity(command.len());
    let mut rest = command;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("%%") {
            out.push('%');
            rest = after;
        } else if let Some(after) = rest.strip_prefix("%(line") {
            let end = after.find(')').ok_or("'%(line' without ')'")?;
            let offset: i64 = match after[..end].trim() {
                "" => 0,
                text => text
                    .replace(' ', "")
                    .parse()
                    .map_err(|_| format!("bad offset in '%(line{text})'"))?,
            };
            out.push_str(&(line as i64 + offset).to_string());
            rest = &after[end + 1..];
        } else if let Some((key, value)) =
            keys.iter().find(|(key, _)| rest.starts_with(key.as_str()))
        {
            out.push_str(value);
            rest = &rest[key.len()..];
        } else {
            out.push('%');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_lines_join_and_end_is_heeded() {
        let text = "// RUN: a %s \\\n// RUN:   | b\n# RUN: c\n// END.\n// RUN: d\n";
        let script = Script::parse(text).unwrap();
        let expected =
            [Run { line: 1, command: "a %s | b".into() }, Run { line: 3, command: "c".into() }];
        assert_eq!(script.runs, expected);
    }

    #[test]
    fn a_dangling_continuation_and_no_run_are_errors() {
        assert!(Script::parse("// RUN: a \\\n").is_err());
        assert!(Script::parse("// nothing\n").is_err());
        assert!(Script::parse("// PRERUN: a\n").is_err());
    }

    #[test]
    fn features_decide() {
        let script =
            Script::parse("RUN: x\nREQUIRES: llvm, cpu\nXFAIL: slow\nUNSUPPORTED: odd\n").unwrap();
        let set = |names: &[&str]| names.iter().map(|n| (*n).to_string()).collect::<BTreeSet<_>>();
        assert_eq!(script.unsupported(&set(&["llvm"])).unwrap().as_deref(), Some("requires cpu"));
        assert_eq!(script.unsupported(&set(&["llvm", "cpu"])).unwrap(), None);
        assert!(script.unsupported(&set(&["llvm", "cpu", "odd"])).unwrap().is_some());
        assert!(script.expected_to_fail(&set(&["slow"])).unwrap());
        assert!(!script.expected_to_fail(&set(&[])).unwrap());
    }

    #[test]
    fn substitutions_prefer_the_longest_key() {
        let table = [("%s", "S"), ("%split", "X"), ("%t", "T")]
            .map(|(k, v)| (k.to_string(), v.to_string()));
        assert_eq!(
            substitute("%s %split %t2 %% %q %(line+1)", 4, &table).unwrap(),
            "S X T2 % %q 5"
        );
    }
}
