//! Inputs of several parts, and outputs of as many.

/// The marker between parts, unless another is asked for.
pub(crate) const MARKER: &str = "// -----";

/// A part of an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// Its text, after as many empty lines as keep its line numbers.
    pub(crate) text: String,
    /// Lines that look as if they were meant to be the marker.
    pub(crate) near_misses: Vec<u32>,
}

/// The parts of a text between lines that begin with the marker.
pub(crate) fn split(text: &str, marker: &str) -> Vec<Part> {
    let part = |lines: usize| Part { text: "\n".repeat(lines), near_misses: Vec::new() };
    let mut parts = vec![part(0)];
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let Some(last) = parts.last_mut() else { break };
        if line.starts_with(marker) {
            parts.push(part(number + 1));
        } else {
            if is_near_miss(line.trim_end(), marker) {
                last.near_misses.push(number as u32 + 1);
            }
            last.text.push_str(line);
        }
    }
    // What ends the last part ends nothing.
    if let Some(last) = parts.last_mut()
        && last.near_misses.last().is_some_and(|&line| line as usize == text.lines().count())
    {
        last.near_misses.pop();
    }
    parts
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
pub(crate) fn join(texts: &[String], marker: &str) -> String {
    texts.join(&format!("\n{marker}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::{MARKER, split};

    #[test]
    fn parts_keep_their_line_numbers() {
        let parts = split("a\nb\n// -----\nc\n// ----- more\n", MARKER);
        let texts: Vec<&str> = parts.iter().map(|part| &*part.text).collect();
        assert_eq!(texts, ["a\nb\n", "\n\n\nc\n", "\n\n\n\n\n"]);
        let texts: Vec<String> = split("a\n#\nb\n", "#").into_iter().map(|p| p.text).collect();
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
