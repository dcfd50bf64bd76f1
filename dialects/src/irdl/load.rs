//! From a text to dialects.

use std::sync::Arc;

use piper_ir::diag::render;
use piper_ir::text::parse_module;
use piper_ir::{Context, Diagnostic, Dialect, Reporter, SourceFile, Sources, verify};

use super::define;
use super::ops::DialectOp;

/// Why a text is no definition of dialects: what is wrong with it, and what is needed to show that.
pub struct Refusal {
    /// The context of the locations.
    pub ctx: Arc<Context>,
    /// The text.
    pub sources: Sources,
    /// What is wrong; at least one error.
    pub diagnostics: Vec<Diagnostic>,
}

impl std::fmt::Debug for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Refusal").field(&self.to_string()).finish()
    }
}

/// The diagnostics with their source lines, one after the other.
impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, diagnostic) in self.diagnostics.iter().enumerate() {
            let gap = if i > 0 { "\n" } else { "" };
            write!(f, "{gap}{}", render(&self.ctx, &self.sources, diagnostic, false))?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

/// The dialects that a text of `irdl.dialect`s defines. `name` is what messages call it; `known` are the dialects beside which
/// they are to stand ([`all`](crate::all) and those loaded before), whose types a definition may name.
///
/// # Errors
/// A text that does not parse or verify, a dialect whose name is taken, a format that is none, and everything else that is
/// wrong with a definition, each at its place.
pub fn load(text: &str, name: &str, known: &[Dialect]) -> Result<Vec<Dialect>, Refusal> {
    let own = known.iter().all(|dialect| dialect.name != "irdl").then(super::dialect);
    let ctx = Arc::new(Context::new(known.iter().cloned().chain(own)));
    let source = SourceFile::new(name, text);
    let mut sources = Sources::default();
    sources.add(source.clone());
    let mut reporter = Reporter::new(&ctx);
    let dialects = read(&ctx, &source, &mut reporter);
    match (dialects, reporter.error_count()) {
        (Some(dialects), 0) => Ok(dialects),
        _ => {
            let diagnostics = reporter.take();
            Err(Refusal { ctx: Arc::clone(&ctx), sources, diagnostics })
        }
    }
}

fn read(
    ctx: &Arc<Context>,
    source: &SourceFile,
    reporter: &mut Reporter<'_>,
) -> Option<Vec<Dialect>> {
    let module = parse_module(ctx, source, reporter)?;
    if !verify::verify(&module, reporter) {
        return None;
    }
    let all = module.top_level();
    if all.is_empty() {
        reporter
            .error(module.op_loc(module.root()), "no dialect is defined here")
            .hint("write irdl.dialect @name { ... }");
    }
    let mut dialects = Vec::new();
    for op in all {
        let loc = module.op_loc(op);
        if DialectOp::cast(&module, op).is_none() {
            let what = module.name_text(op);
            reporter.error(loc, format!("'{what}' stands where only irdl.dialect may"));
            continue;
        }
        let name = module.symbol_name(op).unwrap_or_default();
        if ctx.has_dialect(name) {
            reporter
                .error(loc, format!("there is a dialect '{name}' already"))
                .hint("a dialect is defined once and as a whole: choose another name");
            continue;
        }
        dialects.push(define::dialect(&module, op, source, reporter));
    }
    Some(dialects)
}
