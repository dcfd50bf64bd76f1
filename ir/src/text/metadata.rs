//! Reading and writing the file metadata: `{-# dialect_resources: {...}, external_resources: {...} #-}`.

use super::lexer::TokenKind;
use super::parse_dense::{hex_bytes, print_hex};
use super::parser::{Failed, ParseResult, Parser, unescape};
use super::printer::Printer;
use crate::Blob;
use crate::resources::{Resource, ResourceBlob, Resources};

impl Parser<'_> {
    /// `{-# ... #-}` at the top level.
    pub(super) fn file_metadata(&mut self) -> ParseResult<()> {
        self.advance();
        if self.eat(TokenKind::MetadataEnd) {
            return Ok(());
        }
        loop {
            let at = self.tok.start;
            let key =
                self.parse_keyword("an identifier as the key of the file metadata dictionary")?;
            self.expect(TokenKind::Colon, "':'")?;
            match key {
                "dialect_resources" => self.resource_sections(Self::dialect_resources)?,
                "external_resources" => self.resource_sections(Self::external_resources)?,
                _ => {
                    self.report_at(at, format!("unknown key '{key}' in file metadata dictionary"))
                        .hint("the keys are dialect_resources and external_resources");
                    return Err(Failed);
                }
            }
            if !self.eat(TokenKind::Comma) {
                self.expect(TokenKind::MetadataEnd, "',' or '#-}'")?;
                return Ok(());
            }
        }
    }

    /// `{ owner: { ... }, ... }`
    fn resource_sections(
        &mut self,
        section: impl Fn(&mut Self, &str, u32) -> ParseResult<()>,
    ) -> ParseResult<()> {
        self.expect(TokenKind::LBrace, "'{'")?;
        self.comma_list(TokenKind::RBrace, "',' or '}'", |p| {
            let at = p.tok.start;
            let owner = p.parse_keyword("an identifier as the key of a 'resource' entry")?;
            p.expect(TokenKind::Colon, "':'")?;
            section(p, owner, at)
        })
    }

    /// `{ key: value, ... }`
    fn resource_entries(
        &mut self,
        mut entry: impl FnMut(&mut Self, Box<str>) -> ParseResult<()>,
    ) -> ParseResult<()> {
        self.expect(TokenKind::LBrace, "'{'")?;
        self.comma_list(TokenKind::RBrace, "',' or '}'", |p| {
            let key = p.parse_resource_key()?.text(p.ctx).into();
            p.expect(TokenKind::Colon, "':'")?;
            entry(p, key)
        })
    }

    fn dialect_resources(&mut self, dialect: &str, at: u32) -> ParseResult<()> {
        if !self.ctx.has_dialect(dialect) {
            return Err(self.error_at(at, format!("dialect '{dialect}' is unknown")));
        }
        if dialect != "builtin" {
            self.report_at(at, format!("unexpected 'resource' section for dialect '{dialect}'"))
                .hint("blobs of dense_resource attributes belong to 'builtin'");
            return Err(Failed);
        }
        self.resource_entries(|p, key| {
            let blob = p.resource_blob(&key)?;
            p.module.resources_mut().set_blob(&key, blob);
            Ok(())
        })
    }

    fn external_resources(&mut self, tool: &str, _at: u32) -> ParseResult<()> {
        let mut entries = Vec::new();
        self.resource_entries(|p, key| {
            let token = p.tok;
            let is_blob =
                token.kind == TokenKind::String && unescape(p.text(token)).starts_with("0x");
            let value = if is_blob {
                Resource::Blob(p.resource_blob(&key)?)
            } else if token.kind == TokenKind::String {
                Resource::Text(p.parse_string()?.into())
            } else if p.eat_keyword("true") {
                Resource::Bool(true)
            } else if p.eat_keyword("false") {
                Resource::Bool(false)
            } else {
                return Err(p.error(format!(
                    "expected a string, a blob, true or false as the value of key '{key}'"
                )));
            };
            entries.push((key, value));
            Ok(())
        })?;
        let external = &mut self.module.resources_mut().external;
        match external.iter_mut().find(|(known, _)| **known == *tool) {
            Some((_, known)) => known.extend(entries),
            None => external.push((tool.into(), entries)),
        }
        Ok(())
    }

    /// `"0x<alignment in four little-endian bytes><data>"`
    fn resource_blob(&mut self, key: &str) -> ParseResult<ResourceBlob> {
        let token = self.tok;
        let bytes = match token.kind {
            TokenKind::String => {
                let text = self.text(token);
                hex_bytes(&text[1..text.len() - 1])
            }
            _ => None,
        };
        let Some(bytes) = bytes else {
            return Err(self.error(format!("expected hex string blob for key '{key}'")));
        };
        let Some((alignment, data)) = bytes.split_first_chunk::<4>() else {
            return Err(self.error(format!(
                "expected hex string blob for key '{key}' to encode alignment in first 4 bytes"
            )));
        };
        let alignment = u32::from_le_bytes(*alignment);
        if alignment != 0 && !alignment.is_power_of_two() {
            return Err(self.error(format!(
                "expected hex string blob for key '{key}' to encode alignment in first 4 bytes, but got non-power-of-2 value: {alignment}"
            )));
        }
        self.advance();
        Ok(ResourceBlob { alignment, data: Blob::new(data) })
    }
}

impl Printer<'_> {
    /// Writes the resources of a module: of its blobs those that `used` names, in the order of the text.
    pub(super) fn file_metadata(&mut self, resources: &Resources, used: impl Fn(&str) -> bool) {
        // Two digits a byte, and the quotes, the prefix and the alignment around them.
        let most = self.options.elide_resources.unwrap_or(usize::MAX);
        let is_kept = |blob: &ResourceBlob| 2 * blob.data.len() + 12 <= most;
        let blobs: Vec<_> =
            resources.blobs.iter().filter(|(key, blob)| used(key) && is_kept(blob)).collect();
        let external: Vec<_> =
            resources.external.iter().filter(|(_, entries)| !entries.is_empty()).collect();
        if blobs.is_empty() && external.is_empty() {
            return;
        }
        self.text("\n{-#\n");
        if !blobs.is_empty() {
            self.text("  dialect_resources: {\n    builtin: {\n");
            self.resource_lines(blobs.iter().map(|(key, blob)| (&**key, print_blob(blob))));
            self.text("    }\n  }");
            self.text(if external.is_empty() { "\n" } else { ",\n" });
        }
        if !external.is_empty() {
            self.text("  external_resources: {\n");
            for (i, (tool, entries)) in external.iter().enumerate() {
                self.text("    ");
                self.word(tool);
                self.text(": {\n");
                self.resource_lines(entries.iter().map(|(key, value)| {
                    let text = match value {
                        Resource::Blob(blob) => print_blob(blob),
                        Resource::Bool(value) => value.to_string(),
                        Resource::Text(text) => super::print_attrs::quoted(text),
                    };
                    (&**key, text)
                }));
                self.text(if i + 1 < external.len() { "    },\n" } else { "    }\n" });
            }
            self.text("  }\n");
        }
        self.text("#-}\n");
    }

    fn resource_lines<'a>(&mut self, lines: impl Iterator<Item = (&'a str, String)>) {
        for (i, (key, value)) in lines.enumerate() {
            self.text(if i > 0 { ",\n      " } else { "      " });
            self.word(key);
            self.text(": ");
            self.text(&value);
        }
        self.text("\n");
    }
}

fn print_blob(blob: &ResourceBlob) -> String {
    let bytes = blob.alignment.to_le_bytes().into_iter().chain(blob.data.iter().copied());
    format!("\"{}\"", print_hex(bytes))
}
