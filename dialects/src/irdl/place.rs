//! Where in a file a byte of a string attribute stands.

use piper_ir::{Attr, Loc, LocData, Module, Op, SourceFile};

/// The location of byte `at` of the string that an attribute of `op` holds; of the operation, if the string is not found in
/// the text as it is written there.
pub(super) fn in_string(
    module: &Module,
    op: Op,
    key: &str,
    value: Attr,
    at: usize,
    source: &SourceFile,
) -> Loc {
    let (ctx, loc) = (module.ctx(), module.op_loc(op));
    let found = || {
        let LocData::File { file, line, col } = loc.data(ctx) else { return None };
        if file.text(ctx) != source.name {
            return None;
        }
        let wanted = value.as_str(ctx)?;
        let begin = start_of(&source.text, line)? + col as usize - 1;
        let mut from = begin;
        // A comment may have the name too: the string itself decides.
        while let Some(found) = source.text.get(from..)?.find(key) {
            from += found + key.len();
            let rest = source.text[from..].trim_start().strip_prefix('=');
            let Some(string) = rest.and_then(|rest| rest.trim_start().strip_prefix('"')) else {
                continue;
            };
            let start = source.text.len() - string.len();
            if let Some(offset) = offset_of(string, wanted, at) {
                let (line, col) = source.line_col(u32::try_from(start + offset).ok()?);
                return Some(ctx.file_loc(&source.name, line, col));
            }
        }
        None
    };
    found().unwrap_or(loc)
}

/// The offset at which a line (from 1) begins.
fn start_of(text: &str, line: u32) -> Option<usize> {
    match line {
        1 => Some(0),
        _ => text.match_indices('\n').nth(line as usize - 2).map(|(at, _)| at + 1),
    }
}

/// Where byte `at` of a string's value is in its spelling, which `written` begins with; `None` if that spells another string.
fn offset_of(written: &str, value: &str, at: usize) -> Option<usize> {
    let (bytes, value) = (written.as_bytes(), value.as_bytes());
    let (mut from, mut found) = (0, None);
    for (i, expected) in value.iter().enumerate() {
        if i == at {
            found = Some(from);
        }
        let (byte, len) = match (bytes.get(from)?, bytes.get(from + 1)) {
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b't')) => (b'\t', 2),
            (b'\\', Some(c @ (b'"' | b'\\'))) => (*c, 2),
            (b'\\', _) => {
                let digits = written.get(from + 1..from + 3)?;
                (u8::from_str_radix(digits, 16).ok()?, 3)
            }
            (byte, _) => (*byte, 1),
        };
        if byte != *expected {
            return None;
        }
        from += len;
    }
    (bytes.get(from) == Some(&b'"')).then(|| found.unwrap_or(from))
}

#[cfg(test)]
mod tests {
    use super::offset_of;

    #[test]
    fn escapes_are_longer_in_the_text() {
        assert_eq!(offset_of("ab\" }", "ab", 1), Some(1));
        assert_eq!(offset_of(r#"a\"b\0Ac" x"#, "a\"b\nc", 4), Some(7));
        assert_eq!(offset_of(r#"a\"b" x"#, "a\"b", 3), Some(4), "the end");
        assert_eq!(offset_of("ab\"", "ac", 1), None);
        assert_eq!(offset_of("ab", "abc", 1), None);
    }
}
