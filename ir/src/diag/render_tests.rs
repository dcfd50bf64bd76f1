//! Columns are those a reader counts; calls are shown.

use super::{Position, position, render};
use crate::{Context, Diagnostic, LocData, Severity, SourceFile, Sources};

fn place(text: &str, line: u32, col: u32) -> Position {
    let (ctx, mut sources) = (Context::new([]), Sources::default());
    sources.add(SourceFile::new("f", text));
    position(&ctx, &sources, ctx.file_loc("f", line, col)).expect("a position")
}

#[test]
fn columns_count_characters() {
    // Columns of locations are bytes.
    for (text, line, col, column, end) in [
        ("abc def", 1, 5, 5, 8),
        ("\tabc def", 1, 6, 6, 9),
        ("\u{e4}\u{f6} def", 1, 6, 4, 7),
        ("x\r\n%y = z\r\n", 2, 1, 1, 3),
        ("\u{feff}abc", 1, 4, 1, 4),
        ("ab", 1, 3, 3, 3),
        ("\"a b\" c", 1, 1, 1, 6),
    ] {
        let found = place(text, line, col);
        assert_eq!((found.column, found.end_column), (column, end), "{text:?}");
        assert!(!found.text.expect("known").contains(['\r', '\u{feff}']));
    }
    let ctx = Context::new([]);
    let unknown = position(&ctx, &Sources::default(), ctx.file_loc("g", 3, 4)).expect("a place");
    assert_eq!((unknown.line, unknown.column, unknown.end_column, unknown.text), (3, 4, 4, None));
    assert_eq!(position(&ctx, &Sources::default(), ctx.unknown_loc()), None);
}

#[test]
fn the_caret_stands_under_the_word() {
    let (ctx, mut sources) = (Context::new([]), Sources::default());
    sources.add(SourceFile::new("f", "\u{feff}\u{e4} bad\r\n"));
    let diagnostic = Diagnostic::new(Severity::Error, ctx.file_loc("f", 1, 7), "no");
    assert_eq!(
        render(&ctx, &sources, &diagnostic, false),
        "error: no\n --> f:1:3\n  |\n1 | \u{e4} bad\n  |   ^^^"
    );
}

#[test]
fn calls_are_shown_innermost_first() {
    let ctx = Context::new([]);
    let file = |name| ctx.file_loc(name, 1, 1);
    let inner = ctx.loc(LocData::CallSite { callee: file("a"), caller: file("b") });
    let outer = ctx.loc(LocData::CallSite { callee: inner, caller: file("c") });
    let fused = ctx.loc(LocData::Fused { locs: [ctx.unknown_loc(), outer].into(), metadata: None });
    let diagnostic = Diagnostic::new(Severity::Warning, fused, "deep");
    let text = render(&ctx, &Sources::default(), &diagnostic, false);
    let order: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(
        order,
        [
            "warning: deep",
            "--> a:1:1",
            "|",
            "note: called from here",
            "--> b:1:1",
            "note: called from here",
            "--> c:1:1"
        ]
    );
}
