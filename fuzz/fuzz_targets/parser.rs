//! Any bytes as the text of a module: nothing panics, hangs or takes more memory than the text explains, and what verifies
//! is written as text that reads back and is written the same again.
#![no_main]

mod memory;

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use piper_ir::diag::render;
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{Context, Module, Reporter, SourceFile, Sources};

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

/// A context with every dialect, the tables of a small module, a stack segment for nesting.
const FIXED_BYTES: usize = 48 << 20;
/// Reading, verifying, writing and reading again, of the densest text there is.
const BYTES_A_BYTE: usize = 8 << 10;

fn context() -> Arc<Context> {
    let mut ctx = Context::new(piper_dialects::all());
    ctx.allow_unregistered = true;
    Arc::new(ctx)
}

/// Reads a text; what is wrong with it is rendered, as a user would see it.
fn read(ctx: &Arc<Context>, text: &str) -> Result<Module, String> {
    let source = SourceFile::new("fuzz.pir", text);
    let mut sources = Sources::default();
    sources.add(source.clone());
    let mut reporter = Reporter::new(ctx);
    let module = parse_module(ctx, &source, &mut reporter);
    assert_eq!(
        module.is_none(),
        reporter.error_count() > 0,
        "an error is reported, or there is a module"
    );
    let module = module.filter(|module| verify(module, &mut reporter));
    let mut rendered = String::new();
    for diagnostic in reporter.diagnostics().iter().take(20) {
        rendered.push_str(&render(ctx, &sources, diagnostic, false));
    }
    module.ok_or(rendered)
}

fn check(text: &str) {
    let Ok(module) = read(&context(), text) else { return };
    for generic in [false, true] {
        for locations in [false, true] {
            let options = PrintOptions { generic, locations, ..PrintOptions::default() };
            let printed = print_module(&module, options);
            let again = match read(&context(), &printed) {
                Ok(again) => print_module(&again, options),
                Err(errors) => panic!("what was printed does not read:\n{printed}\n{errors}"),
            };
            assert_eq!(printed, again, "what was printed is printed differently when read again");
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let most = memory::most_held(|| check(&text));
    let allowed = FIXED_BYTES + BYTES_A_BYTE * text.len();
    assert!(most <= allowed, "{most} bytes were held for a text of {} bytes", text.len());
});
