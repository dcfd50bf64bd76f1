//! What a library says of itself, as data: read before any of its code runs.
//!
//! [`Head`] is the same in all versions and kinds of plugins, so that any host can say of any plugin what is wrong with it.
//! What follows it may be read once head and size are known to fit.

use std::ffi::c_void;

/// The name of the exported [`Descriptor`].
pub const SYMBOL: &str = "PIPER_PLUGIN";
/// How a descriptor begins.
pub const MAGIC: [u8; 8] = *b"PIPERPLG";
/// The kind of a plugin that shares Rust types with its host.
pub const SAME_BUILD: u32 = 1;
/// The version of [`Descriptor`] and [`HostApi`]. Whoever changes one of them changes it.
pub const ABI: u32 = 1;

/// How every descriptor begins.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`SAME_BUILD`].
    pub kind: u32,
    /// [`ABI`].
    pub abi: u32,
    /// Bytes of the whole descriptor.
    pub size: u32,
    /// 0.
    pub reserved: u32,
}

/// A text of the library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    data: *const u8,
    len: usize,
}

// SAFETY: it is made of a `&'static str` and never written.
unsafe impl Sync for Text {}
// SAFETY: as above.
unsafe impl Send for Text {}

impl Text {
    /// This text.
    pub const fn new(text: &'static str) -> Self {
        Self { data: text.as_ptr(), len: text.len() }
    }

    /// The text, if it is one.
    ///
    /// # Safety
    /// It was made by [`Text::new`], of whichever library, which stays loaded.
    pub unsafe fn get(self) -> &'static str {
        // SAFETY: the caller promises that these are the parts of a `&'static str`.
        unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.data, self.len)) }
    }
}

/// What must be the same on both sides, because Rust promises no layout of types between different builds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// Release and commit of the compiler.
    pub rustc: Text,
    /// The target and its features.
    pub target: Text,
    /// `unwind` or `abort`.
    pub panic: Text,
    /// Whether debug assertions are compiled: types may have fields for them.
    pub assertions: Text,
    /// A hash of the sources of the crates whose types cross.
    pub sources: Text,
    /// A hash of the sizes and alignments of types that cross: it changes with most changes of a dependency's types.
    pub layout: u64,
}

impl Build {
    /// The build of the code that contains this.
    pub const HERE: Build = Build {
        rustc: Text::new(env!("PIPER_PLUGIN_RUSTC")),
        target: Text::new(env!("PIPER_PLUGIN_TARGET")),
        panic: Text::new(env!("PIPER_PLUGIN_PANIC")),
        assertions: Text::new(if cfg!(debug_assertions) { "on" } else { "off" }),
        sources: Text::new(env!("PIPER_PLUGIN_SOURCES")),
        layout: layout(),
    };
}

/// A hash of what the compiler made of types that cross.
const fn layout() -> u64 {
    macro_rules! sizes {
        ($($ty:ty),* $(,)?) => { [$(size_of::<$ty>() as u64, align_of::<$ty>() as u64),*] };
    }
    let sizes = sizes![
        piper_ir::Context,
        piper_ir::Module,
        piper_ir::Reporter<'static>,
        piper_ir::Diagnostic,
        piper_ir::Dialect,
        piper_ir::OpDef,
        piper_ir::ParamDef,
        piper_ir::AttrData,
        piper_ir::TypeData,
        piper_ir::pass::PassInfo,
        piper_ir::pass::PassContext<'static, 'static>,
        piper_ir::pass::PassOptions,
        piper_ir::pass::AnalysisCache,
        crate::Registrar,
        piper_schedule::Schedules,
        piper_schedule::Config,
        piper_schedule::Table,
    ];
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < sizes.len() {
        hash = (hash ^ sizes[at]).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// What a host offers to a plugin.
#[repr(C)]
#[derive(Debug)]
pub struct HostApi {
    /// Memory of the host's allocator: size and alignment, a power of two.
    pub alloc: unsafe extern "C" fn(usize, usize) -> *mut u8,
    /// The same, zeroed.
    pub alloc_zeroed: unsafe extern "C" fn(usize, usize) -> *mut u8,
    /// Gives memory back: address, size, alignment.
    pub dealloc: unsafe extern "C" fn(*mut u8, usize, usize),
    /// Changes a size: address, size, alignment, new size.
    pub realloc: unsafe extern "C" fn(*mut u8, usize, usize, usize) -> *mut u8,
    /// Goes on as a panic of the host, with this message.
    pub panic: unsafe extern "C-unwind" fn(*const u8, usize) -> !,
}

/// What a library says of itself, under the name [`SYMBOL`]. Made by [`export!`](crate::export).
#[repr(C)]
#[derive(Debug)]
pub struct Descriptor {
    /// How it begins.
    pub head: Head,
    /// The build.
    pub build: Build,
    /// The plugin's name, for people.
    pub name: Text,
    /// Its version, for people.
    pub version: Text,
    /// Takes up the host's interface. 0 if it did; see [`connect`](crate::connect).
    pub connect: unsafe extern "C" fn(*const HostApi) -> u32,
    /// Fills a [`Registrar`](crate::Registrar).
    pub register: unsafe extern "C-unwind" fn(*mut c_void),
    /// Makes the interfaces of operations known to the plugin: a `Vec<Dialect>`, and the host's
    /// [`interface_ids`](crate::interface_ids).
    pub adopt: unsafe extern "C-unwind" fn(*mut c_void, *const c_void),
}

impl Descriptor {
    /// A descriptor of this build.
    pub const fn new(
        name: &'static str,
        version: &'static str,
        register: unsafe extern "C-unwind" fn(*mut c_void),
    ) -> Self {
        Self {
            head: Head {
                magic: MAGIC,
                kind: SAME_BUILD,
                abi: ABI,
                size: size_of::<Self>() as u32,
                reserved: 0,
            },
            build: Build::HERE,
            name: Text::new(name),
            version: Text::new(version),
            connect: crate::connect::connect,
            register,
            adopt: crate::adopt::adopt_all,
        }
    }
}
