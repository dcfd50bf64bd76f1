//! FileCheck's command line.

use std::fs;
use std::path::Path;

use super::Options;

/// A parsed command line: the options, the check file, and the input file when it is not standard input.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    pub(crate) options: Options,
    pub(crate) check_file: String,
    pub(crate) input_file: Option<String>,
}

impl Invocation {
    /// The name and text of what is to be checked.
    ///
    /// # Errors
    /// A message when the input file cannot be read.
    pub(crate) fn input(&self, stdin: &[u8], cwd: &Path) -> Result<(String, String), String> {
        let (name, bytes) = match &self.input_file {
            None => ("<stdin>", stdin.to_vec()),
            Some(file) => (
                file.as_str(),
                fs::read(cwd.join(file))
                    .map_err(|e| format!("Could not open input file '{file}': {e}"))?,
            ),
        };
        Ok((name.to_string(), String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// # Errors
/// A message for an unknown option, a missing value or a missing check file.
pub(crate) fn parse_arguments(arguments: &[String]) -> Result<Invocation, String> {
    let mut options = Options::default();
    let mut prefixes: Vec<String> = Vec::new();
    let mut comments: Vec<String> = Vec::new();
    let mut check_file = None;
    let mut input_file = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let Some(option) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'))
        else {
            if check_file.replace(argument.clone()).is_some() {
                return Err(format!("FileCheck: more than one check file: '{argument}'"));
            }
            continue;
        };
        let (name, inline) =
            option.split_once('=').map_or((option, None), |(n, v)| (n, Some(v.to_string())));
        if let Some(define) = option.strip_prefix('D') {
            let (name, value) = define.split_once('=').ok_or_else(|| {
                format!("FileCheck: missing equal sign in global definition '-D{define}'")
            })?;
            options.defines.push((name.into(), value.into()));
            continue;
        }
        let mut value = || {
            inline
                .clone()
                .or_else(|| rest.next().cloned())
                .ok_or_else(|| format!("FileCheck: option '{argument}' needs a value"))
        };
        let list = |text: String| text.split(',').map(str::to_string).collect::<Vec<_>>();
        match name {
            "check-prefix" | "check-prefixes" => prefixes.extend(list(value()?)),
            "comment-prefixes" => comments.extend(list(value()?)),
            "input-file" => input_file = Some(value()?).filter(|f| f != "-"),
            "implicit-check-not" => options.implicit_check_not.push(value()?),
            "dump-input" | "dump-input-context" | "dump-input-filter" => drop(value()?),
            "strict-whitespace" => options.strict_whitespace = true,
            "match-full-lines" => options.match_full_lines = true,
            "allow-empty" => options.allow_empty = true,
            "allow-unused-prefixes" => {
                options.allow_unused_prefixes = inline.as_deref() != Some("false")
            }
            "ignore-case" => options.ignore_case = true,
            "enable-var-scope" => options.enable_var_scope = true,
            "color" | "v" | "vv" => {}
            _ => return Err(format!("FileCheck: unknown option '{argument}'")),
        }
    }
    if !prefixes.is_empty() {
        for (index, prefix) in prefixes.iter().enumerate() {
            let valid = prefix.starts_with(|c: char| c.is_ascii_alphabetic())
                && prefix.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            if !valid {
                return Err(format!(
                    "FileCheck: check prefix '{prefix}' must start with a letter and hold only letters, digits, '-' and '_'"
                ));
            }
            if prefixes[..index].contains(prefix) {
                return Err(format!("FileCheck: check prefix '{prefix}' is given twice"));
            }
        }
        options.prefixes = prefixes;
        options.prefixes_given = true;
    }
    if !comments.is_empty() {
        options.comment_prefixes = comments;
    }
    let check_file = check_file.ok_or("FileCheck: no check file given")?;
    Ok(Invocation { options, check_file, input_file })
}

#[cfg(test)]
mod tests {
    use super::parse_arguments;

    fn parse(line: &str) -> Result<super::Invocation, String> {
        parse_arguments(&line.split(' ').map(str::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn single_and_double_dashes_and_both_value_forms() {
        let run = parse("-check-prefix=A --check-prefixes B,C --input-file in.txt t.pir -DX=a=b")
            .unwrap();
        assert_eq!(run.options.prefixes, ["A", "B", "C"]);
        assert_eq!(run.input_file.as_deref(), Some("in.txt"));
        assert_eq!(run.check_file, "t.pir");
        assert_eq!(run.options.defines, [("X".to_string(), "a=b".to_string())]);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(parse("t.pir --nope").unwrap_err().contains("unknown option '--nope'"));
        assert!(parse("--strict-whitespace").unwrap_err().contains("no check file"));
        assert!(parse("t.pir --check-prefix").unwrap_err().contains("needs a value"));
        assert!(parse("t.pir --check-prefix=1A").unwrap_err().contains("must start with a letter"));
        assert!(parse("t.pir --check-prefixes=A,A").unwrap_err().contains("given twice"));
    }
}
