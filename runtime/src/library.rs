//! Where kernels come from: machine code in the plan, or closures of an interpreter.

#![allow(unsafe_code)]

use piper_plan::{Code, DType, KernelDecl, Mode, Plan, Variant};
use rustc_hash::FxHashMap;
use std::io::Write;
use std::sync::Arc;

/// Entry point of a compiled kernel: one pointer per buffer parameter, one value per scalar, and workspace.
pub type NativeFn =
    unsafe extern "C" fn(bufs: *const *mut u8, scalars: *const f64, workspace: *mut u8);

/// Entry point of one part of a compiled kernel: as [`NativeFn`], with which part it is and of how many.
pub type NativePartFn = unsafe extern "C" fn(
    bufs: *const *mut u8,
    scalars: *const f64,
    workspace: *mut u8,
    part: u64,
    parts: u64,
);

/// How a compiled kernel runs on several threads. All parts may run at the same time, on one workspace: the bytes they share, then
/// those of each. Results do not depend on the number of parts.
#[derive(Clone, Copy, Debug)]
pub struct NativeParts {
    /// One part.
    pub entry: NativePartFn,
    /// What is left to do after all parts.
    pub end: Option<NativeFn>,
    /// The most parts that are worth it.
    pub most: u32,
    /// Bytes of workspace for all parts.
    pub shared_bytes: u64,
    /// Bytes of workspace for each part.
    pub part_bytes: u64,
}

impl NativeParts {
    /// Bytes of workspace of a launch in `parts` parts.
    pub(crate) fn workspace_bytes(&self, parts: u32) -> u64 {
        self.shared_bytes.saturating_add(self.part_bytes.saturating_mul(u64::from(parts)))
    }
}

/// A kernel as a function on slices: one [`Arg`] per parameter, and the scalars. An error fails the step.
pub type Closure = dyn Fn(&mut [Arg<'_>], &[f64]) -> Result<(), String> + Send + Sync;

/// Something to launch.
#[derive(Clone)]
pub enum Kernel {
    /// Machine code, with what keeps it loaded.
    Native {
        /// The entry point.
        entry: NativeFn,
        /// How it runs on several threads, if it may.
        parts: Option<NativeParts>,
        /// Keeps the code in memory; unloaded with the last clone.
        keep: Option<Arc<libloading::Library>>,
    },
    /// A function on slices.
    Closure(Arc<Closure>),
}

/// Elements that are only read.
#[derive(Clone, Copy, Debug)]
pub enum Slice<'a> {
    /// binary32.
    F32(&'a [f32]),
    /// binary64.
    F64(&'a [f64]),
    /// 32-bit integers.
    I32(&'a [i32]),
    /// bfloat16, as its bits.
    Bf16(&'a [u16]),
}

/// Elements that are written, and possibly read.
#[derive(Debug)]
pub enum SliceMut<'a> {
    /// binary32.
    F32(&'a mut [f32]),
    /// binary64.
    F64(&'a mut [f64]),
    /// 32-bit integers.
    I32(&'a mut [i32]),
    /// bfloat16, as its bits.
    Bf16(&'a mut [u16]),
}

/// A buffer argument of a [`Closure`], by the mode of its parameter.
#[derive(Debug)]
pub enum Arg<'a> {
    /// Mode `Read`.
    Read(Slice<'a>),
    /// Mode `Write` or `ReadWrite`.
    Write(SliceMut<'a>),
}

impl<'a> SliceMut<'a> {
    /// Views memory as elements.
    ///
    /// # Safety
    /// `start` is aligned and valid for reads and writes of `elems` elements, initialised, and unused by others for `'a`.
    pub(crate) unsafe fn new(start: *mut u8, elems: usize, dtype: DType) -> SliceMut<'a> {
        // SAFETY: the caller's promise; every bit pattern is a value of these types.
        unsafe {
            match dtype {
                DType::F32 => SliceMut::F32(std::slice::from_raw_parts_mut(start.cast(), elems)),
                DType::F64 => SliceMut::F64(std::slice::from_raw_parts_mut(start.cast(), elems)),
                DType::I32 => SliceMut::I32(std::slice::from_raw_parts_mut(start.cast(), elems)),
                DType::Bf16 => SliceMut::Bf16(std::slice::from_raw_parts_mut(start.cast(), elems)),
            }
        }
    }
}

impl<'a> Arg<'a> {
    /// # Safety
    /// As for [`SliceMut::new`]; for mode `Read`, others may read too.
    pub(crate) unsafe fn new(start: *mut u8, elems: usize, dtype: DType, mode: Mode) -> Arg<'a> {
        if mode != Mode::Read {
            // SAFETY: the caller's promise.
            return Arg::Write(unsafe { SliceMut::new(start, elems, dtype) });
        }
        // SAFETY: the caller's promise; every bit pattern is a value of these types.
        Arg::Read(unsafe {
            match dtype {
                DType::F32 => Slice::F32(std::slice::from_raw_parts(start.cast(), elems)),
                DType::F64 => Slice::F64(std::slice::from_raw_parts(start.cast(), elems)),
                DType::I32 => Slice::I32(std::slice::from_raw_parts(start.cast(), elems)),
                DType::Bf16 => Slice::Bf16(std::slice::from_raw_parts(start.cast(), elems)),
            }
        })
    }
}

/// Supplies the kernels that a plan declares.
pub trait KernelLibrary {
    /// The kernel of a declaration, or why there is none.
    fn kernel(&self, decl: &KernelDecl) -> Result<Kernel, String>;
}

/// Kernels given as closures, by symbol.
#[derive(Default)]
pub struct Closures {
    by_symbol: FxHashMap<String, Arc<Closure>>,
}

impl Closures {
    /// An empty library.
    pub fn new() -> Closures {
        Closures::default()
    }

    /// Adds a kernel.
    pub fn with(
        mut self,
        symbol: &str,
        kernel: impl Fn(&mut [Arg<'_>], &[f64]) -> Result<(), String> + Send + Sync + 'static,
    ) -> Closures {
        self.by_symbol.insert(symbol.to_owned(), Arc::new(kernel));
        self
    }
}

impl KernelLibrary for Closures {
    fn kernel(&self, decl: &KernelDecl) -> Result<Kernel, String> {
        let found = self.by_symbol.get(&decl.symbol);
        found
            .map(|k| Kernel::Closure(Arc::clone(k)))
            .ok_or_else(|| format!("no kernel is called {}", decl.symbol))
    }
}

/// Why machine code could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The plan has none.
    #[error(
        "the plan carries no machine code for this processor (its kernels have to come from an interpreter)"
    )]
    NoCode,
    /// It is for other machines.
    #[error("the plan's code is for {target}, this machine is {host}")]
    Target {
        /// The plan's triple.
        target: String,
        /// This machine, as architecture and system.
        host: String,
    },
    /// It uses vector instructions that this machine lacks.
    #[error(
        "the plan's code needs {vectors}, which this processor lacks; make the plan again on this machine"
    )]
    Vectors {
        /// The level of instructions.
        vectors: String,
    },
    /// The temporary file could not be written.
    #[error("cannot unpack the plan's code: {0}")]
    Unpack(#[from] std::io::Error),
    /// The system's loader refused.
    #[error("cannot load the plan's code: {0}")]
    Load(#[from] libloading::Error),
}

/// Levels of vector instructions, the best first.
const LEVELS: [&str; 4] = ["avx512", "avx2", "neon", "portable"];

/// The best variant that a processor has the instructions for.
fn best_variant(
    variants: &[Variant],
    has_vectors: impl Fn(&str) -> bool,
) -> Result<&Variant, LibraryError> {
    let best = LEVELS
        .iter()
        .filter(|level| has_vectors(level))
        .find_map(|level| variants.iter().find(|variant| variant.vectors == *level));
    let names = || variants.iter().map(|variant| variant.vectors.as_str()).collect::<Vec<_>>();
    best.ok_or_else(|| LibraryError::Vectors { vectors: names().join(" or ") })
}

/// Whether this processor has a level of vector instructions, as code generation names them.
fn has_vectors(level: &str) -> bool {
    match level {
        #[cfg(target_arch = "x86_64")]
        "portable" => is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("popcnt"),
        #[cfg(not(target_arch = "x86_64"))]
        "portable" => true,
        "neon" => cfg!(target_arch = "aarch64"),
        #[cfg(target_arch = "x86_64")]
        "avx2" => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        #[cfg(target_arch = "x86_64")]
        "avx512" => {
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
        }
        _ => false,
    }
}

/// Kernels in a shared object.
pub struct NativeLibrary {
    library: Arc<libloading::Library>,
}

impl NativeLibrary {
    /// Loads the code a plan carries, if it is for this machine.
    ///
    /// The code runs with all rights of this process, like any program; load only plans you would run as programs.
    pub fn of_plan(plan: &Plan) -> Result<NativeLibrary, LibraryError> {
        let (arch, os) = (std::env::consts::ARCH, std::env::consts::OS);
        let target = &plan.misc.target;
        let is_for_host = target.is_empty() || (target.starts_with(arch) && target.contains(os));
        if !is_for_host {
            return Err(LibraryError::Target {
                target: target.clone(),
                host: format!("{arch} {os}"),
            });
        }
        match &plan.code {
            Code::SharedObject(bytes) => {
                let vectors = plan.misc.notes.iter().find(|(name, _)| name == "vectors");
                match vectors.filter(|(_, vectors)| !has_vectors(vectors)) {
                    Some((_, vectors)) => Err(LibraryError::Vectors { vectors: vectors.clone() }),
                    None => NativeLibrary::of_bytes(bytes),
                }
            }
            Code::Variants(variants) => {
                NativeLibrary::of_bytes(&best_variant(variants, has_vectors)?.object)
            }
            Code::None | Code::ModuleText(_) | Code::Ptx(_) => Err(LibraryError::NoCode),
        }
    }

    /// Loads a shared object from memory, through a temporary file that is removed at once.
    pub fn of_bytes(bytes: &[u8]) -> Result<NativeLibrary, LibraryError> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("piper-{}-{}.so", unique.0, unique.1));
        // create_new: never follow or overwrite what somebody else put there.
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
        let written = file.write_all(bytes).and_then(|()| file.flush());
        drop(file);
        // SAFETY: loading runs the object's initialisers; it is the compiler's own output (see `of_plan`).
        let loaded = written
            .map_err(LibraryError::from)
            .and_then(|()| Ok(unsafe { libloading::Library::new(&path) }?));
        // A leftover file in the temporary folder does no harm.
        let _ = std::fs::remove_file(&path);
        Ok(NativeLibrary { library: Arc::new(loaded?) })
    }
}

impl KernelLibrary for NativeLibrary {
    fn kernel(&self, decl: &KernelDecl) -> Result<Kernel, String> {
        // SAFETY: the plan declares the symbol as a kernel, whose ABI is NativeFn.
        let symbol = unsafe { self.library.get::<NativeFn>(decl.symbol.as_bytes()) };
        let entry =
            *symbol.map_err(|_| format!("the plan's code has no symbol {}", decl.symbol))?;
        let parts = self.parts(&decl.symbol)?;
        Ok(Kernel::Native { entry, parts, keep: Some(Arc::clone(&self.library)) })
    }
}

impl NativeLibrary {
    /// How a kernel may be divided, which its code says beside it: `symbol$split` holds the most parts, the bytes of workspace that
    /// they share, those of each part, and whether there is an end.
    fn parts(&self, symbol: &str) -> Result<Option<NativeParts>, String> {
        let name = |suffix| format!("{symbol}${suffix}");
        // SAFETY: the symbol, where it exists, is of this type: it is the compiler's own output.
        let split = unsafe { self.library.get::<*const [u64; 4]>(name("split").as_bytes()) };
        let Ok(split) = split else { return Ok(None) };
        // SAFETY: as above; the object stays loaded.
        let [most, shared_bytes, part_bytes, has_end] = unsafe { split.read_unaligned() };
        let missing = |_| format!("the plan's code divides {symbol}, but has no parts of it");
        // SAFETY: as above.
        let entry = *unsafe { self.library.get::<NativePartFn>(name("part").as_bytes()) }
            .map_err(missing)?;
        let end = match has_end {
            0 => None,
            // SAFETY: as above.
            _ => Some(
                *unsafe { self.library.get::<NativeFn>(name("end").as_bytes()) }
                    .map_err(missing)?,
            ),
        };
        let most = u32::try_from(most).unwrap_or(u32::MAX).max(1);
        Ok(Some(NativeParts { entry, end, most, shared_bytes, part_bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_variant_that_the_processor_has_is_taken() {
        let variants = ["portable", "avx512", "avx2"]
            .map(|vectors| Variant { vectors: vectors.into(), object: vec![] });
        let best = |has: &[&str]| best_variant(&variants, |level| has.contains(&level));
        let name = |has: &[&str]| best(has).unwrap().vectors.clone();
        assert_eq!(name(&["portable"]), "portable");
        assert_eq!(name(&["portable", "avx2"]), "avx2");
        assert_eq!(name(&["portable", "avx2", "avx512"]), "avx512");
        let none = best(&["neon"]).unwrap_err().to_string();
        assert!(none.contains("needs portable or avx512 or avx2, which this"), "{none}");
    }
}
