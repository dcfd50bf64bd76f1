//! Types and attributes that stand alone in a text: what an interface of texts is given.

use std::sync::Arc;

use super::lexer::TokenKind;
use super::parser::{ParseResult, Parser};
use crate::{Attr, Context, Module, Reporter, SourceFile, Type};

/// Reads a text that is one type and nothing else. What is wrong goes to `reporter`.
pub fn parse_type(
    ctx: &Arc<Context>,
    source: &SourceFile,
    reporter: &mut Reporter<'_>,
) -> Option<Type> {
    alone(ctx, source, reporter, Parser::parse_type)
}

/// Reads a text that is one attribute and nothing else. What is wrong goes to `reporter`.
pub fn parse_attr(
    ctx: &Arc<Context>,
    source: &SourceFile,
    reporter: &mut Reporter<'_>,
) -> Option<Attr> {
    alone(ctx, source, reporter, Parser::parse_attribute)
}

fn alone<'p, T>(
    ctx: &'p Arc<Context>,
    source: &'p SourceFile,
    reporter: &mut Reporter<'_>,
    read: impl FnOnce(&mut Parser<'p>) -> ParseResult<T>,
) -> Option<T> {
    let mut parser = Parser::new(ctx, source, Module::without_root(Arc::clone(ctx)));
    let found = read(&mut parser).and_then(|found| match parser.at(TokenKind::Eof) {
        true => Ok(found),
        false => Err(parser.expected("the end of the text")),
    });
    for diagnostic in parser.reporter.take() {
        reporter.report(diagnostic);
    }
    found.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_type_or_attribute() {
        let ctx = Arc::new(Context::new([]));
        let mut reporter = Reporter::new(&ctx);
        let source = |text: &str| SourceFile::new("text", text);
        let ty = parse_type(&ctx, &source("tensor<2xf32>"), &mut reporter).expect("a type");
        assert_eq!(ty, ctx.tensor(&[2], ctx.f32()));
        let attr = parse_attr(&ctx, &source(" [1, \"a\"] "), &mut reporter).expect("an attribute");
        assert_eq!(attr.display(&ctx), "[1, \"a\"]");
        assert_eq!(reporter.error_count(), 0);
        assert_eq!(parse_type(&ctx, &source("f32 f32"), &mut reporter), None);
        assert!(reporter.diagnostics()[0].message.contains("the end of the text"));
        assert_eq!(parse_attr(&ctx, &source(""), &mut reporter), None);
        assert_eq!(reporter.error_count(), 2);
    }
}
