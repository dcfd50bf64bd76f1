//! Any text as a pass pipeline, a tag filter, an order table and a schedule in PyTorch's form: an answer or an error that
//! points into the text, and what is written back reads as the same.
#![no_main]

mod memory;

use libfuzzer_sys::fuzz_target;
use piper_schedule::text::filter::Filter;
use piper_schedule::text::pipeline::Pipeline;
use piper_schedule::text::{TextError, order};
use piper_schedule::torch_csv;

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

const FIXED_BYTES: usize = 16 << 20;
/// A parser of a grammar keeps a few tokens a byte, each rule of the grammar being one.
const BYTES_A_BYTE: usize = 8 << 10;

fn pointed(error: &TextError, text: &str) {
    let _ = error.to_string();
    let _ = error.source_line();
    let span = error.span;
    assert!(span.start <= span.end && span.end <= text.len(), "{span:?} is not in the text");
    assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
}

fn check(text: &str) {
    if let Err(error) = Pipeline::parse(text) {
        pointed(&error, text);
    }
    let registry = piper_passes::registry::all();
    if let Ok(manager) = piper_passes::pipeline_text::pass_manager(&registry, text) {
        let printed = manager.text();
        let again = piper_passes::pipeline_text::pass_manager(&registry, &printed)
            .unwrap_or_else(|_| panic!("what was printed does not read: {printed}"));
        assert_eq!(again.text(), printed);
    }
    let _ = piper_passes::pipeline_text::pass_list(&registry, text);
    match Filter::parse(text) {
        Ok(filter) => {
            let printed = filter.to_string();
            let again = Filter::parse(&printed).map(|filter| filter.to_string());
            assert_eq!(again.as_deref(), Ok(&*printed));
        }
        Err(error) => pointed(&error, text),
    }
    match order::parse(text) {
        Ok(table) => {
            let printed = order::print(&table);
            let again = order::parse(&printed).map(|table| order::print(&table));
            assert_eq!(again.as_deref(), Ok(&*printed));
        }
        Err(error) => pointed(&error, text),
    }
    match torch_csv::read(text) {
        Ok(table) => {
            if let Ok(printed) = torch_csv::write(&table) {
                let again = torch_csv::read(&printed).map(|table| torch_csv::write(&table));
                assert_eq!(again, Ok(Ok(printed)));
            }
        }
        Err(error) => pointed(&error, text),
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let most = memory::most_held(|| check(&text));
    let allowed = FIXED_BYTES + BYTES_A_BYTE * text.len();
    assert!(most <= allowed, "{most} bytes were held for a text of {} bytes", text.len());
});
