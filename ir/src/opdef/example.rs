//! Examples in the documentation of operations.

use std::borrow::Cow;

/// Text that shows an operation in use. It parses and verifies: a test sees to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The text as shown.
    pub text: Cow<'static, str>,
    /// Whether it is a whole file. Otherwise it stands in the dialect's setting
    /// ([`Dialect::setting`](crate::Dialect::setting)).
    pub is_whole: bool,
}

impl Example {
    /// An example that stands in its dialect's setting.
    pub fn in_setting(text: &'static str) -> Self {
        Self { text: text.into(), is_whole: false }
    }

    /// The file that the example is part of.
    pub fn file(&self, setting: &str) -> String {
        let hole = setting.lines().position(|line| line.trim() == "...");
        let Some(hole) = hole.filter(|_| !self.is_whole) else { return format!("{}\n", self.text) };
        let mut out = String::new();
        for (i, line) in setting.lines().enumerate() {
            let (indent, text) = match i == hole {
                true => (&line[..line.len() - line.trim_start().len()], &*self.text),
                false => ("", line),
            };
            for line in text.lines() {
                out.push_str(indent);
                out.push_str(line);
                out.push('\n');
            }
        }
        out
    }
}

/// Parts a doc comment into prose and its code blocks in the language `mlir` (`mlir module`: a whole file).
pub(super) fn split(text: &str) -> (String, Vec<Example>) {
    let (mut prose, mut examples) = (String::new(), Vec::new());
    let mut open: Option<(Vec<&str>, bool)> = None;
    for line in text.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        match (&mut open, line.trim()) {
            (None, "```mlir") => open = Some((Vec::new(), false)),
            (None, "```mlir module") => open = Some((Vec::new(), true)),
            (None, _) => {
                prose.push_str(line);
                prose.push('\n');
            }
            (Some((lines, is_whole)), "```") => {
                examples.push(Example { text: lines.join("\n").into(), is_whole: *is_whole });
                open = None;
            }
            (Some((lines, _)), _) => lines.push(line),
        }
    }
    // A block leaves the blank lines around it.
    while prose.contains("\n\n\n") {
        prose = prose.replace("\n\n\n", "\n\n");
    }
    (prose, examples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_in_mlir_are_examples_and_others_are_prose() {
        let text = " One line.\n\n More.\n\n ```mlir\n a.b\n   c.d\n ```\n\n ```text\n x\n ```\n\n ```mlir module\n e.f\n ```\n";
        let (prose, examples) = split(text);
        assert_eq!(prose.trim(), "One line.\n\nMore.\n\n```text\nx\n```");
        let texts: Vec<_> = examples.iter().map(|e| (&*e.text, e.is_whole)).collect();
        assert_eq!(texts, [("a.b\n  c.d", false), ("e.f", true)]);
    }

    #[test]
    fn an_example_stands_in_its_setting() {
        let example = Example::in_setting("x.y\nx.z");
        assert_eq!(example.file("a {\n  ...\n}"), "a {\n  x.y\n  x.z\n}\n");
        assert_eq!(example.file(""), "x.y\nx.z\n");
        let whole = Example { is_whole: true, ..example };
        assert_eq!(whole.file("a {\n  ...\n}"), "x.y\nx.z\n");
    }
}
