//! A compiled kernel with buffers of its own, for benchmarks.
#![allow(unsafe_code)]

use piper_codegen::{Isolation, Kernel, OptLevel, Target, compile};
use std::ffi::c_void;
use std::io::Write;

type Function = unsafe extern "C" fn(*const *mut c_void, *const f64, *mut c_void);

/// Memory at a 64-byte boundary.
struct Aligned {
    words: Vec<u64>,
    first: usize,
}

impl Aligned {
    /// Every word is written, so that no page is the one that all untouched pages share. The bytes are a legal token and a
    /// small number of every type.
    fn new(bytes: u64) -> Self {
        let mut words = vec![0_u64; bytes as usize / 8 + 16];
        words.fill(0);
        words.iter_mut().for_each(|w| *w = std::hint::black_box(0));
        let first = words.as_ptr().align_offset(64);
        Self { words, first }
    }

    fn pointer(&mut self) -> *mut c_void {
        self.words[self.first..].as_mut_ptr().cast()
    }
}

/// Kernels compiled together.
pub(crate) struct Library(libloading::Library);

impl Library {
    pub(crate) fn new<'k>(kernels: impl IntoIterator<Item = &'k Kernel>) -> Self {
        let named: Vec<(String, Kernel)> =
            kernels.into_iter().map(|k| (k.symbol(), k.clone())).collect();
        let bytes = compile(&named, &Target::host(), OptLevel::Full, Isolation::InProcess)
            .expect("compiles");
        let mut file = tempfile::Builder::new().suffix(".so").tempfile().expect("a temporary file");
        file.write_all(&bytes).expect("written");
        // SAFETY: the object was just generated and has no initialisers.
        Self(unsafe { libloading::Library::new(file.path()) }.expect("loads"))
    }

    /// One of the kernels, with buffers.
    pub(crate) fn launch(&self, kernel: &Kernel) -> Launch<'_> {
        // SAFETY: the symbol has the documented ABI.
        let function = unsafe { self.0.get::<Function>(kernel.symbol().as_bytes()) };
        let bytes = kernel.parameters().into_iter().map(|p| p.elems * p.dtype.bytes());
        let mut buffers: Vec<Aligned> = bytes.map(Aligned::new).collect();
        let pointers = buffers.iter_mut().map(Aligned::pointer).collect();
        let mut workspace = Aligned::new(kernel.workspace_bytes());
        let space = workspace.pointer();
        Launch {
            function: function.expect("exported"),
            pointers,
            space,
            _held: (buffers, workspace),
        }
    }
}

/// A kernel and what it runs on.
pub(crate) struct Launch<'l> {
    function: libloading::Symbol<'l, Function>,
    pointers: Vec<*mut c_void>,
    space: *mut c_void,
    _held: (Vec<Aligned>, Aligned),
}

impl Launch<'_> {
    pub(crate) fn run(&mut self) {
        // A learning rate and a step count are the most that any kernel takes.
        let scalars = [1e-3, 1.0, 1.0, 1.0];
        // SAFETY: buffers and workspace have the kernel's sizes and are held here.
        unsafe { (self.function)(self.pointers.as_ptr(), scalars.as_ptr(), self.space) }
    }
}
