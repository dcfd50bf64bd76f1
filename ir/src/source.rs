//! Source files, kept so that diagnostics can quote them.

use std::sync::Arc;

/// A file's name and text, with the beginnings of its lines.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name used in locations.
    pub name: String,
    /// The text.
    pub text: Arc<str>,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// Takes a file's text.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1))
            .collect();
        Self { name: name.into(), text, line_starts }
    }

    /// Line and column of a byte offset, both from 1; columns count bytes.
    pub fn line_col(&self, offset: u32) -> (u32, u32) {
        let line = self.line_starts.partition_point(|&start| start <= offset) - 1;
        (line as u32 + 1, offset - self.line_starts[line] + 1)
    }

    /// The text of a line (from 1), without its end.
    pub fn line(&self, line: u32) -> Option<&str> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.line_starts.get(index)? as usize;
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |&next| next as usize);
        Some(self.text[start..end].trim_end_matches(['\n', '\r']))
    }
}

/// The files of a run.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    /// Adds a file.
    pub fn add(&mut self, file: SourceFile) {
        self.files.push(file);
    }

    /// The file of this name; the last one added, if several have it.
    pub fn get(&self, name: &str) -> Option<&SourceFile> {
        self.files.iter().rev().find(|file| file.name == name)
    }
}
