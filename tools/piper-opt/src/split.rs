//! Inputs of several parts, and outputs of as many.

use piper_ir::SourceFile;

/// The marker between parts, unless another is asked for.
pub(crate) const MARKER: &str = "// -----";

/// A part of an input.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Its text, after as many empty lines as keep its line numbers.
    pub(crate) source: SourceFile,
    /// Lines that look as if they were meant to be the marker.
    pub(crate) near_misses: Vec<u32>,
}

/// The parts of a source between lines that begin with the marker.
pub(crate) fn split(source: &SourceFile, marker: &str) -> Vec<Part> {
    let mut parts = vec![(String::new(), Vec::new())];
    let lines = source.text.split_inclusive('\n').enumerate();
    for (number, line) in lines {
        let Some((text, near_misses)) = parts.last_mut() else { break };
        if line.starts_with(marker) {
            parts.push(("\n".repeat(number + 1), Vec::new()));
        } else {
            if is_near_miss(line.trim_end(), marker) {
                near_misses.push(number as u32 + 1);
            }
            text.push_str(line);
        }
    }
    // What ends the last part ends nothing.
    if let Some((_, near_misses)) = parts.last_mut()
        && near_misses.last().is_some_and(|&line| line as usize == source.text.lines().count())
    {
        near_misses.pop();
    }
    let part =
        |(text, near_misses)| Part { source: SourceFile::new(&*source.name, text), near_misses };
    parts.into_iter().map(part).collect()
}

/// Whether a line is the marker with a dash or two too few, or with blanks before it.
fn is_near_miss(line: &str, marker: &str) -> bool {
    let trimmed = line.trim_start();
    if trimmed == marker {
        return true;
    }
    let missing = marker.len().saturating_sub(trimmed.len());
    (1..=2).contains(&missing) && trimmed.len() > 3 && marker.starts_with(trimmed)
}

/// The parts' outputs, joined.
pub(crate) fn join(texts: &[Vec<u8>], marker: &str) -> Vec<u8> {
    texts.join(format!("\n{marker}\n\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{MARKER, SourceFile};

    fn split(text: &str, marker: &str) -> Vec<super::Part> {
        super::split(&SourceFile::new("f", text), marker)
    }

    #[test]
    fn parts_keep_their_line_numbers() {
        let parts = split("a\nb\n// -----\nc\n// ----- more\n", MARKER);
        let texts: Vec<&str> = parts.iter().map(|part| part.source.text.as_str()).collect();
        assert_eq!(texts, ["a\nb\n", "\n\n\nc\n", "\n\n\n\n\n"]);
        let texts: Vec<String> =
            split("a\n#\nb\n", "#").into_iter().map(|p| p.source.text.to_string()).collect();
        assert_eq!(texts, ["a\n", "\n\nb\n"]);
    }

    #[test]
    fn what_is_almost_a_marker_is_noticed() {
        let near = |text: &str| -> Vec<u32> {
            split(text, MARKER).into_iter().flat_map(|part| part.near_misses).collect()
        };
        assert_eq!(near("a\n// ----\nb\n  // -----\nc\n// ---\nd"), [2, 4, 6]);
        assert!(near("a\n// --\nb // ----\n// ------\nc").is_empty());
        assert!(near("a\n// ----\n").is_empty(), "nothing follows");
    }
}
