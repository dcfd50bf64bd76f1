//! Modules as a whole.

use piper_ir::diag::Reporter;
use piper_ir::text::{PrintOptions, print_module, print_op};
use piper_ir::verify::verify;

use crate::fault::{PIPER_OK, PiperStatus};
use crate::handle::{PiperBlock, PiperModule, PiperOp, edit, read};
use crate::report::{PiperError, fail, written};
use crate::text::{PiperStr, PiperString};

/// Print every operation in the generic form.
pub const PIPER_PRINT_GENERIC: u32 = 1;
/// Print locations after operations.
pub const PIPER_PRINT_LOCATIONS: u32 = 2;

/// The outermost operation, a `builtin.module`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_root(module: *const PiperModule) -> PiperOp {
    read(module, "piper_module_root", |h, m| Ok(h.give_op(m.root())))
}

/// The block of the outermost operation. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_body(module: *const PiperModule) -> PiperBlock {
    read(module, "piper_module_body", |h, m| Ok(h.give_block(m.body())))
}

/// The module as text, to be freed by the caller; `flags` are `PIPER_PRINT_*`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_text(
    module: *const PiperModule,
    flags: u32,
    out: *mut PiperString,
) -> PiperStatus {
    written(module, "piper_module_text", out, |_, m| Ok(print_module(m, options(flags))))
}

/// An operation as text, to be freed by the caller; `flags` are `PIPER_PRINT_*`. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_text(
    module: *const PiperModule,
    op: PiperOp,
    flags: u32,
    out: *mut PiperString,
) -> PiperStatus {
    written(module, "piper_op_text", out, |h, m| Ok(print_op(m, h.op(m, op)?, options(flags))))
}

fn options(flags: u32) -> PrintOptions {
    PrintOptions {
        generic: flags & PIPER_PRINT_GENERIC != 0,
        locations: flags & PIPER_PRINT_LOCATIONS != 0,
        ..PrintOptions::default()
    }
}

/// Checks the module, as pipelines do before and after every pass. `error` may be null. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_verify(
    module: *const PiperModule,
    error: *mut *mut PiperError,
) -> PiperStatus {
    let mut found = None;
    let status = crate::report::asked(module, "piper_module_verify", error, |h, m| {
        let mut reporter = Reporter::new(m.ctx());
        if !verify(m, &mut reporter) {
            found = Some(PiperError::of(m.ctx(), &h.origin.sources, &reporter.take()));
        }
        Ok(())
    });
    match found {
        Some(found) if status == PIPER_OK => fail(error, found),
        _ => status,
    }
}

/// The first misuse of the module since it was made or `piper_module_clear_misuse`: a function that could not do what it was
/// asked answers with "nothing" or a status, and leaves here which function it was and why. Null data if there was none. Lives
/// until the next call with this module that changes it. A pass that leaves a misuse behind has failed. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_misuse(module: *const PiperModule) -> PiperStr {
    crate::handle::misuse_text(module)
}

/// The status of that misuse; `PIPER_OK` if there was none. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_misuse_status(module: *const PiperModule) -> PiperStatus {
    crate::handle::misuse_status(module)
}

/// Forgets the misuse. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_clear_misuse(module: *mut PiperModule) -> PiperStatus {
    edit(module, "piper_module_clear_misuse", |h| {
        h.clear_misuse();
        Ok(())
    })
}
