//! Passes that are functions of a caller.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::ThreadId;

use piper_ir::pass::{
    OptionDef, Origin, Pass, PassContext, PassFailed, PassInfo, PassOptions, PassResult,
};

use crate::fault::{Fault, PIPER_OK, PIPER_WRONG_KIND, PiperStatus};
use crate::pass::PiperPass;
use crate::text::{PiperStr, Sized0, list, sized};

/// The pass changes nothing, so that nothing is verified or computed again after it; it fails if it tries to.
pub const PIPER_PASS_ONLY_READS: u32 = 1;
/// The pass may run on several threads at once, on different operations. Without it there is one run at a time in the process.
pub const PIPER_PASS_CONCURRENT: u32 = 2;

/// Runs a pass: answers `PIPER_OK`, or anything else after it reported why it failed. It must return: no `longjmp` out of it, no
/// exception through it.
pub type PiperPassRun =
    Option<unsafe extern "C" fn(user: *mut c_void, pass: *mut PiperPass) -> PiperStatus>;

/// Called once when the pass is not known to anybody any more.
pub type PiperRelease = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// An option of a pass.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PiperOptionInfo {
    /// Its name, as in `my-pass{name=3}`.
    pub name: PiperStr,
    /// One line.
    pub summary: PiperStr,
    /// Its value when it is not given; null data if it has none then.
    pub default_value: PiperStr,
}

/// A pass to be registered. Set `size` to `sizeof(PiperPassInfo)` and the rest to zero, then what there is. All texts are copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PiperPassInfo {
    /// `sizeof(PiperPassInfo)`
    pub size: usize,
    /// Its name, as in pipelines.
    pub name: PiperStr,
    /// One line.
    pub summary: PiperStr,
    /// Markdown: input, output, failure cases.
    pub description: PiperStr,
    /// The operation it runs on; null data for `builtin.module`. A pass on another one changes nothing outside that operation.
    pub anchor: PiperStr,
    /// Its options.
    pub options: *const PiperOptionInfo,
    /// How many.
    pub num_options: usize,
    /// The passes on whose result it works, which tools run first when they are asked for this one alone.
    pub after: *const PiperStr,
    /// How many.
    pub num_after: usize,
    /// `PIPER_PASS_*`
    pub flags: u32,
    /// Runs it.
    pub run: PiperPassRun,
    /// Given to `run`.
    pub user: *mut c_void,
    /// Called with `user` in the end; may be null.
    pub release: PiperRelease,
}

// SAFETY: it begins with its size; null pointers, functions that are none, and numbers are zero.
unsafe impl Sized0 for PiperPassInfo {}

/// A function of a caller with what it wants.
struct Function {
    run: unsafe extern "C" fn(*mut c_void, *mut PiperPass) -> PiperStatus,
    user: *mut c_void,
    release: PiperRelease,
    turn: Option<Turn>,
    /// Passes that have ended. They are kept, so that a pointer that somebody kept leads to a pass that says so.
    #[expect(clippy::vec_box, reason = "they stay where they are: somebody may hold the address")]
    ended: Mutex<Vec<Box<PiperPass>>>,
}

// SAFETY: `user` goes to the caller's functions alone, which run one at a time unless the caller said that they need not.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Drop for Function {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the header's contract: a function of this type; it is called once.
            unsafe { release(self.user) }
        }
    }
}

/// One thread at a time, which may come again while it is in.
#[derive(Default)]
struct Turn {
    inside: Mutex<Option<(ThreadId, usize)>>,
    left: Condvar,
}

impl Turn {
    fn take(&self) -> Taken<'_> {
        let me = std::thread::current().id();
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &mut *inside {
                None => {
                    *inside = Some((me, 1));
                    return Taken(self);
                }
                Some((thread, depth)) if *thread == me => {
                    *depth += 1;
                    return Taken(self);
                }
                Some(_) => {
                    inside = self.left.wait(inside).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

struct Taken<'t>(&'t Turn);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut inside = self.0.inside.lock().unwrap_or_else(PoisonError::into_inner);
        *inside = match *inside {
            Some((thread, depth)) if depth > 1 => Some((thread, depth - 1)),
            _ => None,
        };
        self.0.left.notify_one();
    }
}

/// A pass with its options.
struct CPass {
    name: String,
    only_reads: bool,
    options: Vec<(String, Option<String>)>,
    function: Arc<Function>,
}

impl Pass for CPass {
    fn name(&self) -> &str {
        &self.name
    }

    fn only_reads(&self) -> bool {
        self.only_reads
    }

    fn run(&self, cx: &mut PassContext<'_, '_>) -> PassResult {
        let taken = self.function.turn.as_ref().map(Turn::take);
        let kept = self.function.ended.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut pass = kept.unwrap_or_default();
        let (op, errors) = (cx.op, cx.reporter.error_count());
        pass.begin(NonNull::from(&mut *cx).cast(), op, self.only_reads, &self.options);
        let raw: *mut PiperPass = &raw mut *pass;
        // SAFETY: the header's contract: a function of this type, and `user` is what it wants. The pass lives, and reaches the
        // context, which nothing else uses now.
        let status = unsafe { (self.function.run)(self.function.user, raw) };
        let misuse = pass.end();
        self.function.ended.lock().unwrap_or_else(PoisonError::into_inner).push(pass);
        drop(taken);
        let loc = cx.module.op_loc(cx.op);
        if let Some((_, text)) = misuse {
            let message = format!("pass '{}' misused the interface: {text}", self.name);
            cx.reporter.error(loc, message).hint("this is a fault of the pass, not of its input");
        } else if status != PIPER_OK && cx.reporter.error_count() == errors {
            let message = format!("pass '{}' failed with status {status}", self.name);
            cx.reporter.error(loc, message).hint("it did not report why");
        }
        if cx.reporter.error_count() > errors { Err(PassFailed) } else { Ok(()) }
    }
}

/// The pass that a caller describes.
pub(crate) fn pass_info(given: *const PiperPassInfo, origin: Origin) -> Result<PassInfo, Fault> {
    let info = sized(given, "the pass")?;
    // From here on the pass is ours, and released whatever happens.
    let function = info.run.map(|run| {
        let turn = (info.flags & PIPER_PASS_CONCURRENT == 0).then(Turn::default);
        let (user, release, ended) = (info.user, info.release, Mutex::default());
        Arc::new(Function { run, user, release, turn, ended })
    });
    let function = function.ok_or_else(|| Fault::null("the pass's function 'run'"))?;
    let name = info.name.get("the pass's name")?.to_owned();
    if info.flags & !(PIPER_PASS_ONLY_READS | PIPER_PASS_CONCURRENT) != 0 {
        let text = "the pass has flags that this version of the library does not know";
        return Err(Fault::new(PIPER_WRONG_KIND, text));
    }
    let text = |text: PiperStr, what: &str| text.get(what).map(str::to_owned);
    let mut options = Vec::new();
    for option in list(info.options, info.num_options) {
        options.push(OptionDef {
            name: text(option.name, "an option's name")?.into(),
            summary: text(option.summary, "an option's summary")?.into(),
            default: option.default_value.optional("a default")?.map(|d| d.to_owned().into()),
        });
    }
    let after: Vec<String> = list(info.after, info.num_after)
        .iter()
        .map(|name| text(*name, "the name of a pass"))
        .collect::<Result<_, Fault>>()?;
    let only_reads = info.flags & PIPER_PASS_ONLY_READS != 0;
    let anchor = info.anchor.optional("the anchor")?.unwrap_or("builtin.module").to_owned();
    let names: Vec<String> = options.iter().map(|option| option.name.to_string()).collect();
    let called = name.clone();
    let mut made = PassInfo::from_fn(name, text(info.summary, "the summary")?, |_| Ok(()))
        .describe(text(info.description, "the description")?)
        .from_origin(origin)
        .after(&after);
    made.anchor = Some(anchor.into());
    made.check().map_err(|why| Fault::refused(PIPER_WRONG_KIND, &why))?;
    made.options = options;
    made.build = Arc::new(move |given: &PassOptions| {
        let value = |name: &String| (name.clone(), given.text(name).map(str::to_owned));
        Ok(Box::new(CPass {
            name: called.clone(),
            only_reads,
            options: names.iter().map(value).collect(),
            function: Arc::clone(&function),
        }))
    });
    Ok(made)
}
