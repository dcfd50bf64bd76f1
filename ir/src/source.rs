//! Source files, kept so that diagnostics can quote them, and the numbering of their positions.
//!
//! An operation's location is usually the place it was read from. Such a location is not data but a number: the context
//! gives every source a range of positions, and a [`Loc`](crate::Loc) with its top bit set is a position in one of them.
//! So locations cost nothing to make, and line and column are computed for the few that are shown. (Clang's
//! `SourceLocation` and rustc's `BytePos` are the same idea.)

use std::sync::{Arc, RwLock};

use memchr::memchr_iter;

use crate::Name;

/// A file's name and text, with the beginnings of its lines. Copies share the text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name used in locations.
    pub name: String,
    /// The text.
    pub text: Arc<String>,
    line_starts: Arc<[u32]>,
}

impl SourceFile {
    /// Takes a file's text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let newlines = memchr_iter(b'\n', text.as_bytes());
        let line_starts = std::iter::once(0).chain(newlines.map(|i| i as u32 + 1)).collect();
        Self { name: name.into(), text: Arc::new(text), line_starts }
    }

    /// Line and column of a byte offset, both from 1; columns count bytes.
    pub fn line_col(&self, offset: u32) -> (u32, u32) {
        line_col(&self.line_starts, offset)
    }

    /// How many lines the text has; an unfinished last one counts.
    pub fn num_lines(&self) -> usize {
        self.line_starts.len()
    }

    /// The text of a line (from 1), without its end.
    pub fn line(&self, line: u32) -> Option<&str> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.line_starts.get(index)? as usize;
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |&next| next as usize);
        Some(self.text[start..end].trim_end_matches(['\n', '\r']))
    }
}

fn line_col(line_starts: &[u32], offset: u32) -> (u32, u32) {
    let line = line_starts.partition_point(|&start| start <= offset) - 1;
    (line as u32 + 1, offset - line_starts[line] + 1)
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

/// A source's range of positions.
#[derive(Debug)]
struct Range {
    first: u32,
    file: Name,
    line_starts: Arc<[u32]>,
}

/// The sources that a context has numbered: line tables, not texts.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    ranges: RwLock<(Vec<Range>, u32)>,
}

/// Positions there are: the lower half of a handle's values, less the reserved one.
const LIMIT: u32 = (1 << 31) - 1;

impl Positions {
    /// Gives `source` a range and returns its first position; nothing if so many were read that none is left.
    pub(crate) fn add(&self, source: &SourceFile, file: Name) -> Option<u32> {
        let mut ranges = self.ranges.write().expect("source positions");
        let first = ranges.1;
        // The end of the text is a position too.
        let size = u32::try_from(source.text.len()).ok()?.checked_add(1)?;
        let end = first.checked_add(size).filter(|&end| end <= LIMIT)?;
        ranges.0.push(Range { first, file, line_starts: Arc::clone(&source.line_starts) });
        ranges.1 = end;
        Some(first)
    }

    /// File, line and column of a position that was handed out.
    pub(crate) fn resolve(&self, position: u32) -> (Name, u32, u32) {
        let ranges = &self.ranges.read().expect("source positions").0;
        let range = &ranges[ranges.partition_point(|range| range.first <= position) - 1];
        let (line, col) = line_col(&range.line_starts, position - range.first);
        (range.file, line, col)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, LocData};

    #[test]
    fn positions_of_several_files_are_told_apart() {
        let ctx = Context::new([]);
        let place = |source: &SourceFile, offset| {
            let first = ctx.add_source(source).expect("room for two small files");
            ctx.position(first + offset).data(&ctx)
        };
        let a = SourceFile::new("a", "x\nyz\n");
        let b = SourceFile::new("b", "\nq");
        let file = |name: &str, line, col| LocData::File { file: ctx.name(name), line, col };
        assert_eq!(place(&a, 3), file("a", 2, 2));
        assert_eq!(place(&a, 5), file("a", 3, 1));
        assert_eq!(place(&b, 1), file("b", 2, 1));
        assert_eq!(place(&b, 0), file("b", 1, 1));
    }

    #[test]
    fn a_position_is_one_of_the_last_file_when_none_is_left() {
        let positions = Positions::default();
        positions.ranges.write().unwrap().1 = LIMIT - 3;
        let ctx = Context::new([]);
        assert!(positions.add(&SourceFile::new("a", "four"), ctx.name("a")).is_none());
        assert_eq!(positions.add(&SourceFile::new("a", "ab"), ctx.name("a")), Some(LIMIT - 3));
    }
}
