//! A pass while it runs.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use piper_ir::pass::PassContext;
use piper_ir::{Diagnostic, Op};

use crate::fault::{Fault, PIPER_NULL, PIPER_OK, PIPER_STALE, PiperStatus, caught};
use crate::handle::{PiperLoc, PiperModule, PiperOp};
use crate::report::severity;
use crate::text::PiperStr;

/// A pass that runs: what it works on and with. Lives until the function that runs the pass returns.
#[derive(Debug)]
pub struct PiperPass {
    /// Null when the pass has ended.
    context: Option<NonNull<PassContext<'static, 'static>>>,
    module: Box<PiperModule>,
    op: Option<Op>,
    options: Vec<(String, Option<String>)>,
}

// SAFETY: the context is used by whoever runs the pass alone, and the pointer to it is gone when the pass ends.
unsafe impl Send for PiperPass {}

impl Default for PiperPass {
    fn default() -> Self {
        let module = Box::new(PiperModule::ended());
        Self { context: None, module, op: None, options: Vec::new() }
    }
}

impl PiperPass {
    /// Begins a run. The context must stay where it is, used by nobody else, until [`end`](Self::end).
    pub(crate) fn begin(
        &mut self,
        context: NonNull<PassContext<'static, 'static>>,
        op: Op,
        only_reads: bool,
        options: &[(String, Option<String>)],
    ) {
        self.context = Some(context);
        // SAFETY: the caller's promise; no other reference to the context is used until the end of the run.
        let module = NonNull::from(unsafe { &mut *(*context.as_ptr()).module });
        self.module.lend(module, only_reads);
        self.op = Some(op);
        self.options = options.to_vec();
    }

    /// Ends the run: the first misuse of its module, if there was one.
    pub(crate) fn end(&mut self) -> Option<(PiperStatus, String)> {
        self.context = None;
        self.op = None;
        self.module.end();
        self.module.misuse()
    }

    fn context(&mut self) -> Result<&mut PassContext<'static, 'static>, Fault> {
        let context = self.context.ok_or_else(|| Fault::new(PIPER_STALE, "the pass has ended"))?;
        // SAFETY: the promise of whoever began the run; the pass is borrowed mutably.
        Ok(unsafe { &mut *context.as_ptr() })
    }
}

/// What a pointer of a caller points to, if it is not null.
fn pass_of<'a>(pass: *mut PiperPass) -> Option<&'a mut PiperPass> {
    // SAFETY: the header's contract: null, or what the library gave to the function that runs the pass, on its thread.
    unsafe { pass.as_mut() }
}

/// Works with a pass; a fault is a misuse of its module.
fn with(
    pass: *mut PiperPass,
    function: &str,
    work: impl FnOnce(&mut PiperPass) -> Result<(), Fault>,
) -> PiperStatus {
    let Some(pass) = pass_of(pass) else { return PIPER_NULL };
    match caught(|| work(pass)) {
        Ok(()) => PIPER_OK,
        Err(fault) => {
            let status = fault.status;
            pass.module.note(function, fault);
            status
        }
    }
}

/// The module that the pass works on. Threads: the pass's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_pass_module(pass: *mut PiperPass) -> *mut PiperModule {
    pass_of(pass).map_or(std::ptr::null_mut(), |pass| &raw mut *pass.module)
}

/// The operation that the pass works on: the module's outermost one, unless the pass says otherwise. Threads: the pass's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_pass_op(pass: *mut PiperPass) -> PiperOp {
    let op = |pass: &mut PiperPass| Some(pass.module.give_op(pass.op?));
    pass_of(pass).and_then(op).unwrap_or_default()
}

/// The value of an option, given or its default; null data if it has neither. Lives as long as the pass runs. Threads: the
/// pass's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_pass_option(pass: *mut PiperPass, name: PiperStr) -> PiperStr {
    let mut found = PiperStr::default();
    with(pass, "piper_pass_option", |pass| {
        let name = name.get("the name")?;
        let option = pass.options.iter().find(|(known, _)| known == name);
        let (_, value) = option.ok_or_else(|| {
            Fault::new(
                crate::fault::PIPER_OUT_OF_RANGE,
                format!("the pass declares no option '{name}'"),
            )
        })?;
        found = PiperStr::of_some(value.as_deref());
        Ok(())
    });
    found
}

/// Reports something: an error (the pass then fails), a warning or a remark, at a location. `hint` says what to do about it; null
/// data for none. Threads: the pass's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_pass_report(
    pass: *mut PiperPass,
    how_serious: u32,
    loc: PiperLoc,
    text: PiperStr,
    hint: PiperStr,
) -> PiperStatus {
    with(pass, "piper_pass_report", |pass| {
        let (how_serious, loc) = (severity(how_serious)?, pass.module.loc(loc)?);
        let mut diagnostic = Diagnostic::new(how_serious, loc, text.get("the text")?);
        diagnostic.hint = hint.optional("the hint")?.map(str::to_owned);
        pass.context()?.reporter.report(diagnostic);
        Ok(())
    })
}

/// Adds a fact, at a place of its own, to what was reported last. Threads: the pass's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_pass_note(
    pass: *mut PiperPass,
    loc: PiperLoc,
    text: PiperStr,
) -> PiperStatus {
    with(pass, "piper_pass_note", |pass| {
        let loc = pass.module.loc(loc)?;
        let text = text.get("the text")?;
        let last = pass.context()?.reporter.last_mut();
        let last = last.ok_or_else(|| Fault::new(PIPER_STALE, "nothing was reported yet"))?;
        last.note(loc, text);
        Ok(())
    })
}

/// Adds to a number that tools show under statistics. Threads: the pass's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_pass_count(
    pass: *mut PiperPass,
    name: PiperStr,
    by: u64,
) -> PiperStatus {
    with(pass, "piper_pass_count", |pass| {
        let name = interned(name.get("the name")?)?;
        pass.context()?.count(name, by);
        Ok(())
    })
}

/// Statistics have names that live for ever: those of foreign passes are kept once.
static NAMES: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());

/// Enough for every pass; a pass that makes names in a loop is stopped.
const MOST_NAMES: usize = 4096;

fn interned(name: &str) -> Result<&'static str, Fault> {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return Ok(known);
    }
    if names.len() == MOST_NAMES {
        let text = format!("more than {MOST_NAMES} names of statistics");
        return Err(Fault::new(crate::fault::PIPER_OUT_OF_RANGE, text));
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name.to_owned(), kept);
    Ok(kept)
}
