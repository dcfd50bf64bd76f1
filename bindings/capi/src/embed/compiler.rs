//! The compiler: what is known, and how it runs.

use std::ffi::c_void;
use std::path::Path;

use piper::ir::pass::{Origin, RegisterError};
use piper::{CompileOptions, Compiler, Executable, Failure, Kernels, Message, Native, Program};

use super::plan::{PiperPlan, plan_of};
use super::{Problem, Tag, done, told};
use crate::fault::{Fault, PIPER_IN_USE, PIPER_OUT_OF_RANGE, PiperStatus};
use crate::handle::{self, PiperModule};
use crate::pass_info::{PiperPassInfo, pass_info};
use crate::plugin::{NotAdded, open_stable};
use crate::report::{PiperDiagnostic, PiperError, Said};
use crate::text::{PiperStr, Sized0, sized, store};

/// Called with a diagnostic, which lives until it returns.
pub type PiperListener =
    Option<unsafe extern "C" fn(user: *mut c_void, diagnostic: *const PiperDiagnostic)>;

/// Machine code in a build with LLVM, else the interpreter.
pub const PIPER_KERNELS_DEFAULT: u32 = 0;
/// The reference interpreter: slow, and needs nothing. Its plans run in this process alone.
pub const PIPER_KERNELS_INTERPRETED: u32 = 1;
/// Machine code for this processor; needs a build with LLVM.
pub const PIPER_KERNELS_NATIVE: u32 = 2;

/// How to compile. Set `size` to `sizeof(PiperCompileOptions)` and the rest to zero, then what is wanted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PiperCompileOptions {
    /// `sizeof(PiperCompileOptions)`
    pub size: usize,
    /// The strategy's name; null data for the only one.
    pub plan: PiperStr,
    /// One of `PIPER_KERNELS_*`.
    pub kernels: u32,
    /// Every complete gradient is an output of a step, called `grad.` and its parameter's name.
    pub gradients: bool,
    /// Add gradients as a balanced tree over the grains of the batch, so that strategies agree bit for bit.
    pub fixed_tree: bool,
}

// SAFETY: it begins with its size; null pointers, numbers and truth values may be zero.
unsafe impl Sized0 for PiperCompileOptions {}

/// Dialects and passes: what the compiler knows. There is no global one; programs may have several.
#[derive(Debug)]
pub struct PiperCompiler {
    tag: Tag,
    compiler: Compiler,
    listener: Option<(unsafe extern "C" fn(*mut c_void, *const PiperDiagnostic), *mut c_void)>,
}

/// What a pointer of a caller points to, if it is a compiler that lives.
fn compiler_of<'a>(compiler: *const PiperCompiler) -> Result<&'a PiperCompiler, Fault> {
    // SAFETY: the header's contract: null, or a compiler of this library that was not destroyed.
    let found = unsafe { compiler.as_ref() }.filter(|compiler| compiler.tag == Tag::COMPILER);
    found.ok_or_else(|| Fault::null("the compiler"))
}

/// As [`compiler_of`], to be changed.
fn compiler_mut<'a>(compiler: *mut PiperCompiler) -> Result<&'a mut PiperCompiler, Fault> {
    // SAFETY: the header's contract: as in `compiler_of`, and nobody else uses it now.
    let found = unsafe { compiler.as_mut() }.filter(|compiler| compiler.tag == Tag::COMPILER);
    found.ok_or_else(|| Fault::null("the compiler"))
}

impl PiperCompiler {
    fn tell(&self, messages: &[Message]) {
        let Some((listener, user)) = self.listener else { return };
        for message in messages {
            let said = Said::new(told(message));
            // SAFETY: the header's contract: a function of this type, and `user` is what it wants.
            unsafe { listener(user, said.view()) }
        }
    }

    /// Tells what was said, whichever way it ended.
    fn heard(&self, outcome: Result<Vec<Message>, Failure>) -> Result<(), Problem> {
        match outcome {
            Ok(said) => self.tell(&said),
            Err(why) => {
                self.tell(why.messages());
                return Err(why.into());
            }
        }
        Ok(())
    }
}

/// A compiler that knows Piper's dialects and passes. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn piper_compiler_create() -> *mut PiperCompiler {
    let made = crate::fault::caught(|| {
        Ok(PiperCompiler { tag: Tag::COMPILER, compiler: Compiler::new(), listener: None })
    });
    made.map_or(std::ptr::null_mut(), |compiler| Box::into_raw(Box::new(compiler)))
}

/// Destroys a compiler; null is none. Modules and plans that it made live on. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_compiler_destroy(compiler: *mut PiperCompiler) {
    let Ok(found) = compiler_mut(compiler) else { return };
    found.tag = Tag::DEAD;
    // SAFETY: the header's contract: made by this library, as a box, and not used any more.
    drop(unsafe { Box::from_raw(compiler) });
}

/// Sets who hears diagnostics: remarks and warnings, and errors, which are in the error as well. It is called on the thread of the
/// function that has something to say; null for nobody. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_compiler_listen(
    compiler: *mut PiperCompiler,
    listener: PiperListener,
    user: *mut c_void,
) -> PiperStatus {
    done("piper_compiler_listen", std::ptr::null_mut(), || {
        compiler_mut(compiler)?.listener = listener.map(|listener| (listener, user));
        Ok(())
    })
}

/// Sets whether the module is verified after every pass, which it is unless one says otherwise; after a pass of somebody else it
/// always is. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_compiler_verify_each(
    compiler: *mut PiperCompiler,
    verify_each: bool,
) -> PiperStatus {
    done("piper_compiler_verify_each", std::ptr::null_mut(), || {
        compiler_mut(compiler)?.compiler.options.verify_each = verify_each;
        Ok(())
    })
}

/// Adds a pass of the program's own. `error` may be null. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_compiler_add_pass(
    compiler: *mut PiperCompiler,
    pass: *const PiperPassInfo,
    error: *mut *mut PiperError,
) -> PiperStatus {
    done("piper_compiler_add_pass", error, || {
        let found = compiler_mut(compiler)?;
        let pass = pass_info(pass, Origin::Host("libpiper".into()))?;
        found.compiler.register_pass(pass).map_err(name_taken)?;
        Ok(())
    })
}

fn name_taken(why: RegisterError) -> Fault {
    Fault::refused(PIPER_IN_USE, &why)
}

/// Loads a plugin, a shared library that stays loaded for ever, and adds all that it has, or nothing. `error` may be null.
/// Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_compiler_load_plugin(
    compiler: *mut PiperCompiler,
    path: PiperStr,
    error: *mut *mut PiperError,
) -> PiperStatus {
    done("piper_compiler_load_plugin", error, || {
        let found = compiler_mut(compiler)?;
        let path = Path::new(path.get("the path")?);
        // SAFETY: the header's contract: who names a library trusts it.
        let plugin = unsafe { open_stable(path) };
        let plugin = plugin.map_err(|why| Failure::with_hint(why.message, why.hint))?;
        let compiler = &found.compiler;
        let (mut passes, mut dialects) = (compiler.passes().clone(), compiler.dialects().to_vec());
        plugin.add_to(&mut passes, &mut dialects).map_err(|why| match why {
            NotAdded::Pass(why) => Problem::from(name_taken(why)),
            NotAdded::Dialects(why) => Failure::of(&why.ctx, &why.sources, &why.diagnostics).into(),
        })?;
        let options = compiler.options.clone();
        found.compiler = Compiler::with(dialects, passes);
        found.compiler.options = options;
        Ok(())
    })
}

/// Adds dialects from their definitions in the `irdl` dialect, for modules made from now on; `name` is what messages call the text.
/// `error` may be null. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_compiler_add_dialects(
    compiler: *mut PiperCompiler,
    name: PiperStr,
    text: PiperStr,
    error: *mut *mut PiperError,
) -> PiperStatus {
    done("piper_compiler_add_dialects", error, || {
        let found = compiler_mut(compiler)?;
        found.compiler.register_dialect_text(name.get("the name")?, text.get("the text")?)?;
        Ok(())
    })
}

/// How many passes the compiler knows. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_compiler_num_passes(compiler: *const PiperCompiler) -> usize {
    compiler_of(compiler).map_or(0, |found| found.compiler.passes().iter().count())
}

/// The name of a pass, by number, in the order of names; null data if there are not so many. `summary` gets its summary, and may
/// be null. Lives until a pass is added. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_compiler_pass(
    compiler: *const PiperCompiler,
    index: usize,
    summary: *mut PiperStr,
) -> PiperStr {
    let Ok(found) = compiler_of(compiler) else { return PiperStr::default() };
    let Some(pass) = found.compiler.passes().iter().nth(index) else { return PiperStr::default() };
    store(summary, PiperStr::of(&pass.summary));
    PiperStr::of(&pass.name)
}

/// An empty module, to be built; `name` is what messages call it. Null if there is no compiler. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_create(
    compiler: *const PiperCompiler,
    name: PiperStr,
) -> *mut PiperModule {
    let made = crate::fault::caught(|| {
        Ok(of_program(compiler_of(compiler)?.compiler.program(name.get("the name")?)))
    });
    made.unwrap_or(std::ptr::null_mut())
}

/// A parsed and verified text; `name` is what messages call it. `error` may be null. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_parse(
    compiler: *const PiperCompiler,
    name: PiperStr,
    text: PiperStr,
    out: *mut *mut PiperModule,
    error: *mut *mut PiperError,
) -> PiperStatus {
    store(out, std::ptr::null_mut());
    done("piper_module_parse", error, || {
        let found = compiler_of(compiler)?;
        parse(found, name.get("the name")?, text.get("the module's text")?, out)
    })
}

/// As `piper_module_parse`, of a file. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_read(
    compiler: *const PiperCompiler,
    path: PiperStr,
    out: *mut *mut PiperModule,
    error: *mut *mut PiperError,
) -> PiperStatus {
    store(out, std::ptr::null_mut());
    done("piper_module_read", error, || {
        let found = compiler_of(compiler)?;
        let path = path.get("the path")?;
        let text = std::fs::read_to_string(path)
            .map_err(|why| Failure::new(format!("cannot read {path}: {why}")))?;
        parse(found, path, &text, out)
    })
}

fn parse(
    found: &PiperCompiler,
    name: &str,
    text: &str,
    out: *mut *mut PiperModule,
) -> Result<(), Problem> {
    match found.compiler.parse(name, text) {
        Ok(program) => store_module(out, of_program(program)),
        Err(why) => return found.heard(Err(why)),
    }
    Ok(())
}

/// Gives a module to the caller, or ends it where nobody wants it.
fn store_module(out: *mut *mut PiperModule, module: *mut PiperModule) {
    match out.is_null() {
        true => handle::destroy(module),
        false => store(out, module),
    }
}

fn of_program(program: Program) -> *mut PiperModule {
    let origin = handle::Origin { sources: program.sources, name: program.name };
    Box::into_raw(Box::new(PiperModule::owned(program.module, origin)))
}

/// A copy, of which types, attributes and locations hold for the other. Null if there is no module. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_copy(module: *const PiperModule) -> *mut PiperModule {
    let mut copy = std::ptr::null_mut();
    handle::inspect(module, "piper_module_copy", |h| {
        copy = Box::into_raw(Box::new(h.copied()?));
        Ok(())
    });
    copy
}

/// Destroys a module; null is none. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_module_destroy(module: *mut PiperModule) {
    handle::destroy(module);
}

/// Runs exactly these passes: `canonicalize,cse`, or with anchors, `builtin.module(func.func(cse))`. Handles of operations, values,
/// blocks and regions are stale afterwards; after a failure the module is half changed and of no use. `error` may be null.
/// Threads: reader of the compiler, writer of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_compiler_run(
    compiler: *const PiperCompiler,
    module: *mut PiperModule,
    pipeline: PiperStr,
    error: *mut *mut PiperError,
) -> PiperStatus {
    done("piper_compiler_run", error, || {
        let found = compiler_of(compiler)?;
        let pipeline = pipeline.get("the pipeline")?;
        found.heard(handle::worked_on(module, |program| found.compiler.run(program, pipeline))?)
    })
}

/// As `piper_compiler_run`, each pass after what it builds on, as `piper-opt --pass` does: `dualpipe`,
/// `lower-to-device{probe-gradients=true}`. Threads: reader of the compiler, writer of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_compiler_run_with_implied(
    compiler: *const PiperCompiler,
    module: *mut PiperModule,
    passes: PiperStr,
    error: *mut *mut PiperError,
) -> PiperStatus {
    done("piper_compiler_run_with_implied", error, || {
        let found = compiler_of(compiler)?;
        let passes = passes.get("the passes")?;
        found.heard(handle::worked_on(module, |program| {
            found.compiler.run_with_implied(program, passes)
        })?)
    })
}

/// All the way from a module at any level to device programs with kernels. The module stays as it is. `options` and `error` may be
/// null. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_compiler_compile(
    compiler: *const PiperCompiler,
    module: *const PiperModule,
    options: *const PiperCompileOptions,
    out: *mut *mut PiperPlan,
    error: *mut *mut PiperError,
) -> PiperStatus {
    store(out, std::ptr::null_mut());
    done("piper_compiler_compile", error, || {
        let found = compiler_of(compiler)?;
        let options = if options.is_null() { CompileOptions::default() } else { read(options)? };
        let program = handle::program_of(module)?;
        let compiled: Result<Executable, Failure> = found.compiler.compile(program, &options);
        match compiled {
            Ok(executable) => {
                if !out.is_null() {
                    store(out, plan_of(executable));
                }
            }
            Err(why) => return found.heard(Err(why)),
        }
        Ok(())
    })
}

fn read(options: *const PiperCompileOptions) -> Result<CompileOptions, Fault> {
    let options = sized(options, "the options")?;
    let kernels = match options.kernels {
        PIPER_KERNELS_DEFAULT => Kernels::default(),
        PIPER_KERNELS_INTERPRETED => Kernels::Interpreted,
        PIPER_KERNELS_NATIVE => Kernels::Native(Native::default()),
        other => {
            return Err(Fault::new(PIPER_OUT_OF_RANGE, format!("{other} are no kernels")));
        }
    };
    let (gradients, fixed_tree) = (options.gradients, options.fixed_tree);
    let plan = options.plan.optional("the plan's name")?.map(str::to_owned);
    Ok(CompileOptions { plan, kernels, gradients, fixed_tree })
}
