//! The procedural macro behind `piper_ir::dialect_ops!`.
//!
//! It is procedural, not `macro_rules!`, for its errors: a declaration is read clause by clause in any order, every mistake
//! of all operations is reported at once and at its own place, and the textual format is checked against the declared
//! parts while compiling. Cost: two seconds of build, as `syn` is built for other derives anyway.

#![forbid(unsafe_code)]

mod declaration;
mod expand;

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};

/// Expands declarations. The first token is a bracket with the path of `piper_ir`; use `piper_ir::dialect_ops!`, which puts
/// it there.
#[proc_macro]
pub fn declare_ops(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse::<Input>(input) {
        Ok(input) => expand::all(&input.krate, &input.ops).into(),
        Err(error) => error.into_compile_error().into(),
    }
}

struct Input {
    krate: TokenStream,
    ops: Vec<declaration::Op>,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let path;
        syn::bracketed!(path in input);
        let krate = path.parse()?;
        let mut ops = Vec::new();
        let mut errors: Option<syn::Error> = None;
        while !input.is_empty() {
            match declaration::Op::parse(input) {
                Ok(op) => ops.push(op),
                Err(error) => {
                    combine(&mut errors, error);
                    // The rest of a head that does not read cannot be told from the next declaration.
                    break;
                }
            }
        }
        declaration::check_names_of_ops(&mut ops);
        match errors {
            Some(error) => Err(error),
            None => Ok(Self { krate, ops }),
        }
    }
}

fn combine(errors: &mut Option<syn::Error>, error: syn::Error) {
    match errors {
        Some(errors) => errors.combine(error),
        None => *errors = Some(error),
    }
}
