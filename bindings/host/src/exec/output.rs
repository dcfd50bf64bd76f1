//! Reading the module that a program wrote, and saying of what is wrong in it where that stands.

use std::sync::Arc;

use piper_ir::text::parse_module;
use piper_ir::verify::verify;
use piper_ir::{Context, Diagnostic, Module, Reporter, SourceFile};

/// The module in the text, or what the text is instead; and what is to be told of it.
pub(super) fn read(
    ctx: &Arc<Context>,
    source: &SourceFile,
) -> (Result<Module, &'static str>, Vec<Diagnostic>) {
    let mut found = Reporter::new(ctx);
    let parsed = parse_module(ctx, source, &mut found).filter(|_| found.error_count() == 0);
    let read = match parsed {
        None => Err("something that is not a module"),
        Some(module) if !verify(&module, &mut found) => Err("a module that does not verify"),
        Some(module) => Ok(module),
    };
    let mut diagnostics = found.take();
    // Locations that came the whole way say where something stood at first. Without them it is where it stands now.
    let places = match &read {
        Err(_) if diagnostics.iter().any(|d| line(ctx, source, d).is_none()) => {
            places(ctx, source, &diagnostics)
        }
        _ => Vec::new(),
    };
    for (at, diagnostic) in diagnostics.iter_mut().enumerate() {
        let line = line(ctx, source, diagnostic).or_else(|| *places.get(at)?);
        if let Some((line, text)) = line.and_then(|line| Some((line, source.line(line)?))) {
            let message = format!("line {line} of what it wrote: {}", text.trim());
            diagnostic.note(diagnostic.loc, message);
        }
    }
    (read, diagnostics)
}

/// The line of the text that a diagnostic is about, if it says so.
fn line(ctx: &Context, source: &SourceFile, diagnostic: &Diagnostic) -> Option<u32> {
    let (file, line, _) = diagnostic.loc.file_position(ctx)?;
    (*file == *source.name).then_some(line)
}

/// The lines that these diagnostics about the text are about, found by reading it without its locations; none if other things
/// are then said of it.
fn places(ctx: &Arc<Context>, source: &SourceFile, said: &[Diagnostic]) -> Vec<Option<u32>> {
    let plain = SourceFile::new(&*source.name, without_locations(&source.text));
    let mut found = Reporter::new(ctx);
    if let Some(module) = parse_module(ctx, &plain, &mut found)
        && found.error_count() == 0
    {
        verify(&module, &mut found);
    }
    let found = found.take();
    if !found.iter().map(|d| &d.message).eq(said.iter().map(|d| &d.message)) {
        return Vec::new();
    }
    found.iter().map(|diagnostic| line(ctx, source, diagnostic)).collect()
}

/// The text with blanks for each `loc(...)` outside of strings and comments.
fn without_locations(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    let (mut at, mut blank_from, mut depth) = (0, None, 0usize);
    while let Some(byte) = text.as_bytes().get(at) {
        let rest = &text.as_bytes()[at..];
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.$#@%!^-".contains(byte);
        let length = match byte {
            b'"' => string_length(rest),
            b'/' if rest.starts_with(b"//") => {
                rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
            }
            _ if blank_from.is_none() && is_word(byte) => {
                let length = rest.iter().position(|b| !is_word(b)).unwrap_or(rest.len());
                if rest.starts_with(b"loc(") {
                    blank_from = Some(at);
                }
                length
            }
            _ => 1,
        };
        if let Some(from) = blank_from {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if *byte == b')' && depth == 0 {
                out[from..=at].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
                blank_from = None;
            }
        }
        at += length;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The length of the string that a text begins with, quotes included.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use piper_ir::{Context, SourceFile};

    use super::{places, read, without_locations};

    #[test]
    fn lines_are_those_of_the_same_messages() {
        let ctx = Arc::new(Context::new(piper_dialects::all()));
        let source = SourceFile::new("out", "module {\n\"func.call\"() : () -> ()\n}\n");
        let (_, mut said) = read(&ctx, &source);
        assert_eq!(places(&ctx, &source, &said), [Some(2)]);
        // As many, but of something else.
        said[0].message = "other".to_owned();
        assert!(places(&ctx, &source, &said).is_empty());
    }

    #[test]
    fn locations_are_blanked_and_nothing_else() {
        let text = concat!(
            "a.loc(\"x\") ^loc(%x) loc(\"f(\\\")\":1:2) // loc(\"c\")\n",
            "\"loc(1)\" %loc(2) b loc(fused<\"\u{e4}\">[\"a\", callsite(\"b\" at unknown)]) c\n loc(\"open",
        );
        let blank = |count| " ".repeat(count);
        let expected = format!(
            "a.loc(\"x\") ^loc(%x) {} // loc(\"c\")\n\"loc(1)\" %loc(2) b {} c\n loc(\"open",
            blank(16),
            blank(47)
        );
        assert_eq!(without_locations(text), expected);
    }
}
