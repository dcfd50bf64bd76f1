//! `--verify-roundtrip`: what is printed must be read back as the same.

use piper_ir::text::{PrintOptions, parse_module, parse_without_module, print_module};
use piper_ir::{Module, Reporter, SourceFile};

use crate::flags::CheckingFlags;

/// Prints the module in both forms and reads it again. True if it was the same each time; else there is an error.
pub(crate) fn check(module: &Module, flags: &CheckingFlags, reporter: &mut Reporter<'_>) -> bool {
    let all = PrintOptions { generic: true, locations: true, ..PrintOptions::default() };
    let before = print_module(module, all);
    let ctx = module.ctx_arc();
    for (form, generic) in [("custom", false), ("generic", true)] {
        let text = print_module(module, PrintOptions { generic, ..all });
        let name = format!("<{form} form>");
        let mut found = Reporter::new(&ctx);
        let parse = if flags.no_implicit_module { parse_without_module } else { parse_module };
        let again = parse(&ctx, &SourceFile::new(&*name, &*text), &mut found);
        let loc = module.op_loc(module.root());
        let Some(again) = again else {
            let first = found.take().into_iter().next();
            let error =
                reporter.error(loc, format!("the {form} form that was printed cannot be read"));
            if let Some(first) = first {
                error.note(first.loc, first.message);
            }
            return false;
        };
        let after = print_module(&again, all);
        if after != before {
            let line = before.lines().zip(after.lines()).find(|(a, b)| a != b);
            let error = reporter
                .error(loc, format!("the {form} form that was printed is read as something else"));
            if let Some((was, is)) = line {
                error.note(loc, format!("was:    {}\nbecame: {}", was.trim(), is.trim()));
            }
            return false;
        }
    }
    true
}
