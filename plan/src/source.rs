//! From instructions back to the text they came from.
//!
//! The runtime knows no IR, yet its errors must show `.pir` lines. So a plan carries, for every op that became
//! instructions, the position, the op's name and the text of its line.

use crate::schema::handle;
use serde::{Deserialize, Serialize};

handle!(
    /// An entry of the [`SourceTable`].
    SourceId
);

impl SourceId {
    /// An instruction that comes from no line, e.g. in hand-built plans.
    pub const UNKNOWN: SourceId = SourceId(u32::MAX);
}

/// One op of the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    /// Index of the file in [`SourceTable::files`].
    pub file: u32,
    /// Line, from 1; 0 = unknown.
    pub line: u32,
    /// Column, from 1; 0 = unknown.
    pub col: u32,
    /// What a person would call the op, e.g. `block_0 F mb3`.
    pub name: String,
    /// Index of the line's text in [`SourceTable::lines`].
    pub text: u32,
}

/// The table of sources. Files and lines are stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceTable {
    /// File names.
    pub files: Vec<String>,
    /// Texts of lines.
    pub lines: Vec<String>,
    /// The entries.
    pub entries: Vec<Source>,
}

impl SourceTable {
    /// Adds an entry. Files and line texts that were the last ones added are shared; for full sharing keep your own map.
    pub fn add(
        &mut self,
        file: &str,
        line: u32,
        col: u32,
        name: impl Into<String>,
        text: &str,
    ) -> SourceId {
        let file = intern(&mut self.files, file);
        let text = intern(&mut self.lines, text);
        self.entries.push(Source { file, line, col, name: name.into(), text });
        SourceId(self.entries.len() as u32 - 1)
    }

    /// The entry, unless the id is unknown.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.entries.get(id.index())
    }

    /// The op's name, or `<unknown>`.
    pub fn name(&self, id: SourceId) -> &str {
        self.get(id).map_or("<unknown>", |s| s.name.as_str())
    }

    /// `file:line:col`, or `<unknown>`.
    pub fn position(&self, id: SourceId) -> String {
        match self.get(id) {
            Some(s) => {
                let file = self.files.get(s.file as usize).map_or("<unknown>", String::as_str);
                format!("{file}:{}:{}", s.line, s.col)
            }
            None => "<unknown>".to_owned(),
        }
    }

    /// The text of the line, without surrounding blanks; empty if unknown.
    pub fn text(&self, id: SourceId) -> &str {
        self.get(id).and_then(|s| self.lines.get(s.text as usize)).map_or("", |line| line.trim())
    }

    /// `file:line:col: name` and, if known, the source line below it, indented by four.
    pub fn render(&self, id: SourceId) -> String {
        let head = format!("{}: {}", self.position(id), self.name(id));
        match self.text(id) {
            "" => head,
            text => format!("{head}\n    | {text}"),
        }
    }
}

/// Position of `text` in `list`, looking back only a little: neighbours share lines, and a full search would be quadratic.
fn intern(list: &mut Vec<String>, text: &str) -> u32 {
    const WINDOW: usize = 16;
    let from = list.len().saturating_sub(WINDOW);
    match list[from..].iter().position(|have| have == text) {
        Some(at) => (from + at) as u32,
        None => {
            list.push(text.to_owned());
            list.len() as u32 - 1
        }
    }
}
