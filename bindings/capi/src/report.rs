//! Diagnostics as C reads them.

use piper_ir::diag::{Position, Reporter, position, render};
use piper_ir::{Context, Diagnostic, Module, Severity, SourceFile, Sources};

use crate::fault::{Fault, PIPER_FAILED, PIPER_NULL, PIPER_OK, PiperStatus, caught};
use crate::handle::{PiperModule, inspect};
use crate::text::{PiperStr, PiperString, store};

/// Nothing can be made of the input.
pub const PIPER_ERROR: u32 = 0;
/// It may not be what was meant.
pub const PIPER_WARNING: u32 = 1;
/// Worth knowing.
pub const PIPER_REMARK: u32 = 2;
/// Belongs to another diagnostic.
pub const PIPER_NOTE: u32 = 3;

/// A further fact of a diagnostic, at a place of its own.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PiperNote {
    /// What it says.
    pub text: PiperStr,
    /// The file; null data if it is about no line of a source.
    pub file: PiperStr,
    /// From 1; 0 if there is no place.
    pub line: u32,
    /// In characters, from 1; 0 if there is no place.
    pub column: u32,
}

/// What the compiler says. Its texts live as long as whatever it was got from: an error, or the call of a function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PiperDiagnostic {
    /// One of `PIPER_ERROR`, `PIPER_WARNING`, `PIPER_REMARK`, `PIPER_NOTE`.
    pub severity: u32,
    /// From 1; 0 if there is no place.
    pub line: u32,
    /// In characters, from 1; 0 if there is no place.
    pub column: u32,
    /// Where the word that begins there ends, one past its last character.
    pub end_column: u32,
    /// What it says.
    pub text: PiperStr,
    /// The file; null data if it is about no line of a source.
    pub file: PiperStr,
    /// What to do about it; null data if that is not said.
    pub hint: PiperStr,
    /// Further facts.
    pub notes: *const PiperNote,
    /// How many.
    pub num_notes: usize,
    /// All of it with the source lines, as the tools print it; ends with a line break.
    pub rendered: PiperStr,
}

/// A diagnostic that owns its texts.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) severity: Severity,
    pub(crate) text: String,
    pub(crate) place: Option<Position>,
    pub(crate) hint: Option<String>,
    pub(crate) notes: Vec<(Option<Position>, String)>,
    pub(crate) rendered: String,
}

impl Told {
    fn of(ctx: &Context, sources: &Sources, diagnostic: &Diagnostic) -> Self {
        let notes = diagnostic.notes.iter();
        Self {
            severity: diagnostic.severity,
            text: diagnostic.message.clone(),
            place: position(ctx, sources, diagnostic.loc),
            hint: diagnostic.hint.clone(),
            notes: notes.map(|n| (position(ctx, sources, n.loc), n.message.clone())).collect(),
            rendered: format!("{}\n", render(ctx, sources, diagnostic, false)),
        }
    }

    /// A diagnostic about no line of a source.
    pub(crate) fn plain(severity: Severity, text: impl Into<String>) -> Self {
        let text = text.into();
        let rendered = format!("{}: {text}\n", severity.text());
        Self { severity, text, place: None, hint: None, notes: Vec::new(), rendered }
    }
}

/// A diagnostic with its view for C.
#[derive(Debug)]
pub(crate) struct Said {
    view: PiperDiagnostic,
    // What the view points into; never touched again.
    _notes: Box<[PiperNote]>,
    _told: Box<Told>,
}

impl Said {
    pub(crate) fn new(told: Told) -> Self {
        let told = Box::new(told);
        let place = |place: &Option<Position>| match place {
            Some(p) => (PiperStr::of(&p.file), p.line, p.column, p.end_column),
            None => (PiperStr::default(), 0, 0, 0),
        };
        let note = |(at, text): &(Option<Position>, String)| {
            let (file, line, column, _) = place(at);
            PiperNote { text: PiperStr::of(text), file, line, column }
        };
        let notes: Box<[PiperNote]> = told.notes.iter().map(note).collect();
        let (file, line, column, end_column) = place(&told.place);
        let view = PiperDiagnostic {
            severity: severity_number(told.severity),
            line,
            column,
            end_column,
            text: PiperStr::of(&told.text),
            file,
            hint: PiperStr::of_some(told.hint.as_deref()),
            notes: notes.as_ptr(),
            num_notes: notes.len(),
            rendered: PiperStr::of(&told.rendered),
        };
        Self { view, _notes: notes, _told: told }
    }

    #[cfg(feature = "embed")]
    pub(crate) fn view(&self) -> &PiperDiagnostic {
        &self.view
    }
}

fn severity_number(severity: Severity) -> u32 {
    match severity {
        Severity::Error => PIPER_ERROR,
        Severity::Warning => PIPER_WARNING,
        Severity::Remark => PIPER_REMARK,
        Severity::Note => PIPER_NOTE,
    }
}

/// The severity of a number.
pub(crate) fn severity(number: u32) -> Result<Severity, Fault> {
    Ok(match number {
        PIPER_ERROR => Severity::Error,
        PIPER_WARNING => Severity::Warning,
        PIPER_REMARK => Severity::Remark,
        PIPER_NOTE => Severity::Note,
        _ => {
            let text = format!("{number} is no severity");
            return Err(Fault::new(crate::fault::PIPER_OUT_OF_RANGE, text));
        }
    })
}

/// Why something failed: at least one diagnostic, which is an error. Owned by whoever asked for it.
#[derive(Debug)]
pub struct PiperError {
    status: PiperStatus,
    text: String,
    said: Vec<Said>,
}

impl PiperError {
    pub(crate) fn new(status: PiperStatus, told: Vec<Told>) -> Self {
        let text = told.iter().map(|told| told.rendered.as_str()).collect();
        Self { status, text, said: told.into_iter().map(Said::new).collect() }
    }

    pub(crate) fn of(ctx: &Context, sources: &Sources, diagnostics: &[Diagnostic]) -> Self {
        let told = diagnostics.iter().map(|d| Told::of(ctx, sources, d)).collect();
        Self::new(PIPER_FAILED, told)
    }

    pub(crate) fn of_fault(function: &str, fault: &Fault) -> Self {
        let text = format!("{function}: {}", fault.text);
        Self::new(fault.status, vec![Told::plain(Severity::Error, text)])
    }
}

/// Gives an error to whoever wants it, and its status.
pub(crate) fn fail(out: *mut *mut PiperError, error: PiperError) -> PiperStatus {
    let status = error.status;
    if !out.is_null() {
        store(out, Box::into_raw(Box::new(error)));
    }
    status
}

/// What a pointer of a caller points to, if it is not null.
fn error_of<'a>(error: *const PiperError) -> Option<&'a PiperError> {
    // SAFETY: the header's contract: null, or an error of this library that was not destroyed.
    unsafe { error.as_ref() }
}

/// The status that the function gave. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_error_status(error: *const PiperError) -> PiperStatus {
    error_of(error).map_or(PIPER_NULL, |error| error.status)
}

/// All of it with the source lines, as the tools print it; ends with a line break. Lives as long as the error. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_error_text(error: *const PiperError) -> PiperStr {
    PiperStr::of_some(error_of(error).map(|error| error.text.as_str()))
}

/// How many diagnostics it has. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_error_len(error: *const PiperError) -> usize {
    error_of(error).map_or(0, |error| error.said.len())
}

/// A diagnostic of it; null if there are not so many. Lives as long as the error. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_error_at(
    error: *const PiperError,
    index: usize,
) -> *const PiperDiagnostic {
    let found = error_of(error).and_then(|error| error.said.get(index));
    found.map_or(std::ptr::null(), |said| &raw const said.view)
}

/// Destroys an error; null is none. Threads: any, each its own error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_error_destroy(error: *mut PiperError) {
    if !error.is_null() {
        // SAFETY: the header's contract: made by this library, as a box, and not used any more.
        drop(unsafe { Box::from_raw(error) });
    }
}

/// Asks a module; a fault goes into the module and into `error`.
pub(crate) fn asked(
    module: *const PiperModule,
    function: &str,
    error: *mut *mut PiperError,
    ask: impl FnOnce(&PiperModule, &Module) -> Result<(), Fault>,
) -> PiperStatus {
    let mut fault = None;
    let status = inspect(module, function, |h| {
        let asked = caught(|| ask(h, h.module()?));
        fault = asked.as_ref().err().cloned();
        asked
    });
    match (status, fault) {
        (PIPER_OK, _) => PIPER_OK,
        (_, Some(fault)) => fail(error, PiperError::of_fault(function, &fault)),
        (_, None) => fail(error, PiperError::of_fault(function, &Fault::null("the module"))),
    }
}

/// Reads a text in the context of a module. Errors of the text are diagnostics and no misuse.
pub(crate) fn parsed<T>(
    module: *const PiperModule,
    function: &str,
    out: *mut T,
    error: *mut *mut PiperError,
    read: impl FnOnce(&PiperModule, &mut Reporter<'_>) -> Result<(Option<T>, SourceFile), Fault>,
) -> PiperStatus {
    let mut wrong = None;
    let status = asked(module, function, error, |h, m| {
        let mut reporter = Reporter::new(m.ctx());
        let (found, source) = read(h, &mut reporter)?;
        match found {
            Some(found) => store(out, found),
            None => {
                let mut sources = Sources::default();
                sources.add(source);
                wrong = Some(PiperError::of(m.ctx(), &sources, &reporter.take()));
            }
        }
        Ok(())
    });
    match wrong {
        Some(wrong) => fail(error, wrong),
        None => status,
    }
}

/// Gives a text to the caller.
pub(crate) fn written(
    module: *const PiperModule,
    function: &str,
    out: *mut PiperString,
    write: impl FnOnce(&PiperModule, &Module) -> Result<String, Fault>,
) -> PiperStatus {
    inspect(module, function, |h| {
        if out.is_null() {
            return Err(Fault::null("where the text goes"));
        }
        store(out, PiperString::own(write(h, h.module()?)?));
        Ok(())
    })
}
