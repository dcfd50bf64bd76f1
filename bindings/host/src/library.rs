//! Libraries of plugins: opened, looked at, and only then run.
//!
//! What a library says of itself is data ([`Descriptor`]): its first bytes are the same for all versions and kinds, the rest
//! is read when these fit, and nothing of the library is called before its build is known to be the host's. (Opening a
//! library runs its constructors, which no host can prevent; a plugin made in Rust has none.)
//!
//! A library stays loaded for as long as the process runs: passes, types and panics' messages point into it.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libloading::Library;
use piper_capi::library::{located, opened};
use piper_capi::plugin::{self as stable, NotAdded, PluginError, StablePlugin};
use piper_dialects::irdl::Refusal;
use piper_ir::pass::{Origin, PassInfo, PassRegistry, RegisterError};
use piper_ir::{Dialect, DialectError};
use piper_plugin::dialects::strategy;
use piper_plugin::schedule::Schedules;
use piper_plugin::{
    ABI, Build, Contribution, Descriptor, Head, MAGIC, Registrar, SAME_BUILD, SYMBOL, TOO_LATE,
};

use crate::memory::API;

/// Why a plugin is not loaded; [`hint`](Self::hint) is what to do about it.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum LoadError {
    #[error("plugin '{path}' is a library, but not a plugin: it exports no '{SYMBOL}'")]
    NoDescriptor { path: String },
    #[error(
        "plugin '{path}': what it exports as '{SYMBOL}' is not the descriptor of a plugin (it begins with {found})"
    )]
    Magic { path: String, found: String },
    #[error(
        "plugin '{path}' is of kind {kind}, which this version of Piper does not know; a newer one may"
    )]
    Kind { path: String, kind: u32 },
    #[error(
        "plugin '{path}' was made for version {theirs} of the interface of plugins; this is version {ABI}"
    )]
    Abi { path: String, theirs: u32, which: &'static str },
    #[error(
        "plugin '{path}' has a descriptor of {theirs} bytes where {} are right: it is damaged, or made by hand",
        size_of::<Descriptor>()
    )]
    Size { path: String, theirs: u32 },
    #[error("plugin '{path}' is of another build than this program:{differences}")]
    Build { path: String, differences: String, advice: String },
    #[error(
        "plugin '{path}' takes memory from the system before it is asked anything, by a constructor; it cannot share the host's"
    )]
    TooLate { path: String },
    #[error(
        "plugin '{path}' is loaded by another part of this program, with another copy of the host"
    )]
    Taken { path: String },
    #[error("plugin '{path}' panicked while it registered what it has: {message}")]
    Panicked { path: String, message: String },
    #[error(
        "plugin '{path}' comes too late: a context shares the dialects already, which plugins must be told of"
    )]
    Shared { path: String },
    #[error("plugin '{path}' registers a schedule: {why}")]
    Schedule { path: String, why: String },
    #[error("{0}")]
    Name(RegisterError),
    #[error("{0}")]
    Library(PluginError),
    #[error("plugin '{path}' defines dialects that are none:\n{why}")]
    Definition { path: String, why: Box<Refusal> },
    #[error(
        "plugin '{path}' registers dialect '{name}', which is the name of a dialect of {owner}"
    )]
    Dialect { path: String, name: String, owner: String },
    #[error("plugin '{path}': {why}")]
    Names { path: String, why: DialectError },
}

impl LoadError {
    /// What to do about it, where the message does not say it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Library(error) => &error.hint,
            Self::Name(error) => return error.hint(),
            Self::Names { why, .. } => return Some(why.hint()),
            Self::Build { advice, .. } => advice,
            Self::NoDescriptor { .. } => {
                "a plugin in Rust has piper_plugin::export!, one in C PIPER_DEFINE_PLUGIN"
            }
            Self::Size { .. } => "rebuild it with piper_plugin::export!",
            Self::Abi { which, .. } => return Some(format!("rebuild {which}")),
            Self::Schedule { .. } | Self::Dialect { .. } => "choose another name",
            Self::Magic { .. }
            | Self::Kind { .. }
            | Self::TooLate { .. }
            | Self::Taken { .. }
            | Self::Panicked { .. }
            | Self::Shared { .. }
            | Self::Definition { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

impl From<PluginError> for LoadError {
    fn from(error: PluginError) -> Self {
        Self::Library(error)
    }
}

/// A plugin that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Its path, as it was given.
    pub path: String,
    /// The one path that its file has, whichever way it is named.
    pub file: PathBuf,
    /// What it calls itself.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What passes and dialects there are, and what plugins add to them.
#[derive(Debug, Default)]
pub struct Extensions {
    /// The passes.
    pub registry: PassRegistry,
    /// The dialects.
    pub dialects: Vec<Dialect>,
    /// The plugins, in the order they were loaded.
    pub loaded: Vec<Loaded>,
    /// The dialects that plugins added, with theirs.
    owners: Vec<(String, String)>,
    schedules: Schedules,
    adopters: Vec<Adopter>,
}

/// Makes interfaces of operations known to a plugin.
type Adopter = unsafe extern "C-unwind" fn(*mut c_void, *const c_void);

impl Extensions {
    /// What there is without plugins. No dialect may be shared with anyone yet.
    pub fn new(registry: PassRegistry, dialects: Vec<Dialect>) -> Self {
        Self { registry, dialects, ..Self::default() }
    }

    /// The published schedules and those of plugins.
    pub fn schedules(&self) -> &Schedules {
        &self.schedules
    }

    /// Whether this file is loaded, under whichever path.
    pub fn is_loaded(&self, path: &str, folder: &Path) -> bool {
        let file = located(&folder.join(path), path);
        file.is_ok_and(|file| self.loaded.iter().any(|known| known.file == file))
    }

    /// Whether there is everything that passes of plugins work on the result of. To be asked by who runs passes, once all
    /// plugins are loaded.
    ///
    /// # Errors
    /// A pass that is not there.
    pub fn check_required(&self) -> Result<(), LoadError> {
        self.registry.check_required().map_err(LoadError::Name)
    }

    /// Loads a plugin and adds what it has. A relative path is under `folder`. The same file twice is loaded once.
    ///
    /// # Errors
    /// Whatever is wrong with it. What it would have added is then not there; the library may stay in memory.
    pub fn load(&mut self, path: &str, folder: &Path) -> Result<(), LoadError> {
        if self.is_loaded(path, folder) {
            return Ok(());
        }
        let file = located(&folder.join(path), path)?;
        let named = || path.to_owned();
        let is_shared = |dialect: &Dialect| dialect.ops.iter().any(|op| Arc::strong_count(op) > 1);
        if self.dialects.iter().any(is_shared) {
            return Err(LoadError::Shared { path: named() });
        }
        let descriptor = match open(path, &file)? {
            Opened::SameBuild(descriptor) => descriptor,
            Opened::Stable(plugin) => return self.add_stable(path, file, plugin),
        };
        // SAFETY: the interface is a static, and its functions are those of this program's allocator.
        match unsafe { (descriptor.connect)(&raw const API) } {
            0 => {}
            TOO_LATE => return Err(LoadError::TooLate { path: named() }),
            _ => return Err(LoadError::Taken { path: named() }),
        }
        let mut registrar = Registrar::new(Origin::Plugin(path.into()));
        let at: *mut Registrar = &raw mut registrar;
        let filled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // SAFETY: the builds are equal, so this is a registrar to the plugin, too.
            unsafe { (descriptor.register)(at.cast()) }
        }));
        if let Err(payload) = filled {
            let message = payload.downcast_ref::<String>().cloned().unwrap_or_default();
            return Err(LoadError::Panicked { path: named(), message });
        }
        let Contribution { passes, dialects, schedules, interface_ids } = registrar.finish();
        self.check(path, &passes, &dialects)?;
        let mut all_schedules = self.schedules.clone();
        for schedule in schedules {
            all_schedules.add(schedule).map_err(|rejected| LoadError::Schedule {
                path: named(),
                why: rejected.to_string(),
            })?;
        }
        for pass in passes {
            self.registry.try_register(pass).map_err(LoadError::Name)?;
        }
        self.owners.extend(dialects.iter().map(|d| (d.name.to_string(), path.to_owned())));
        self.dialects.extend(dialects);
        self.adopters.push(descriptor.adopt);
        self.schedules = all_schedules;
        // A tool without the strategy level has no use for schedules.
        strategy::set_schedules(&mut self.dialects, &self.schedules);
        // SAFETY: the builds are equal, so these are its identities of the same interfaces.
        unsafe { piper_plugin::adopt_dialects(&mut self.dialects, &interface_ids, false) };
        self.adopt();
        // SAFETY: these are texts of a library that stays loaded.
        let (name, version) = unsafe { (descriptor.name.get(), descriptor.version.get()) };
        self.loaded.push(Loaded {
            path: named(),
            file,
            name: name.to_owned(),
            version: version.to_owned(),
        });
        Ok(())
    }

    /// What is known here is known under our identities; each plugin of the same build learns it under its own.
    fn adopt(&mut self) {
        let ours = piper_plugin::interface_ids();
        for adopt in &self.adopters {
            // SAFETY: as the descriptor says: dialects and our identities.
            unsafe { adopt((&raw mut self.dialects).cast(), (&raw const ours).cast()) };
        }
    }

    /// Adds what a plugin against the C interface has.
    fn add_stable(
        &mut self,
        path: &str,
        file: PathBuf,
        plugin: StablePlugin,
    ) -> Result<(), LoadError> {
        let (name, version) = (plugin.name.clone(), plugin.version.clone());
        let added =
            plugin.add_to(&mut self.registry, &mut self.dialects).map_err(|why| match why {
                NotAdded::Pass(error) => LoadError::Name(error),
                NotAdded::Dialects(refusal) => {
                    LoadError::Definition { path: path.to_owned(), why: Box::new(refusal) }
                }
            })?;
        self.owners.extend(added.into_iter().map(|dialect| (dialect, path.to_owned())));
        self.adopt();
        self.loaded.push(Loaded { path: path.to_owned(), file, name, version });
        Ok(())
    }

    /// Whether all names are free, so that a plugin adds all it has or nothing.
    fn check(
        &self,
        path: &str,
        passes: &[PassInfo],
        dialects: &[Dialect],
    ) -> Result<(), LoadError> {
        let mut registry = self.registry.clone();
        for pass in passes {
            registry.try_register(pass.clone()).map_err(LoadError::Name)?;
        }
        for (at, dialect) in dialects.iter().enumerate() {
            let others = self.dialects.iter().chain(&dialects[..at]);
            let path = path.to_owned();
            match dialect.check_beside(others) {
                Ok(()) => {}
                Err(DialectError::Taken { name }) => {
                    let owner = self.owners.iter().find(|(known, _)| *known == name);
                    let is_twice = dialects[..at].iter().any(|other| other.name == name);
                    let owner = match owner {
                        Some((_, path)) => Origin::Plugin(path.as_str().into()).to_string(),
                        None if is_twice => "itself".to_owned(),
                        None => Origin::Builtin.to_string(),
                    };
                    return Err(LoadError::Dialect { path, name, owner });
                }
                Err(why) => return Err(LoadError::Names { path, why }),
            }
        }
        Ok(())
    }
}

/// A library that stays loaded, by its kind.
enum Opened {
    SameBuild(&'static Descriptor),
    Stable(StablePlugin),
}

/// Opens a library for good and checks what it says of itself.
fn open(path: &str, file: &Path) -> Result<Opened, LoadError> {
    let named = || path.to_owned();
    // SAFETY: whoever names a library to load trusts it so far.
    let library = unsafe { opened(file, path) }?;
    if stable::is_stable(&library) {
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: it stays loaded; whoever names a library trusts its function to be what its name says.
        let plugin = unsafe { stable::load_stable(library, path) };
        return Ok(Opened::Stable(plugin?));
    }
    // SAFETY: only the address is used until more is known.
    let symbol = unsafe { library.get::<*const Head>(SYMBOL.as_bytes()) };
    let address: *const Head = match &symbol {
        Ok(symbol) => **symbol,
        Err(_) => return Err(LoadError::NoDescriptor { path: named() }),
    };
    if address.is_null() {
        return Err(LoadError::NoDescriptor { path: named() });
    }
    // SAFETY: byte arrays need no alignment; every descriptor begins with so many bytes, and a symbol with this name that is
    // shorter is caught by its first ones in all but contrived cases.
    let magic = unsafe { address.cast::<[u8; 8]>().read_unaligned() };
    if magic != MAGIC {
        return Err(LoadError::Magic { path: named(), found: magic.escape_ascii().to_string() });
    }
    // SAFETY: as above: with this beginning, a head follows in all versions.
    let head = unsafe { address.read_unaligned() };
    if head.kind != SAME_BUILD {
        return Err(LoadError::Kind { path: named(), kind: head.kind });
    }
    if head.abi != ABI {
        let which = if head.abi < ABI { "the plugin" } else { "Piper, or use an older plugin" };
        return Err(LoadError::Abi { path: named(), theirs: head.abi, which });
    }
    let is_aligned = address.cast::<Descriptor>().is_aligned();
    if head.size as usize != size_of::<Descriptor>() || !is_aligned {
        return Err(LoadError::Size { path: named(), theirs: head.size });
    }
    // SAFETY: version and size of the descriptor are those of this program, and it is in a library that stays loaded.
    let descriptor = unsafe { &*address.cast::<Descriptor>() };
    check_build(path, &descriptor.build, &Build::HERE)?;
    std::mem::forget(library);
    Ok(Opened::SameBuild(descriptor))
}

/// Compares a plugin's build with this program's.
fn check_build(path: &str, theirs: &Build, ours: &Build) -> Result<(), LoadError> {
    let facts = [
        ("compiler", theirs.rustc, ours.rustc),
        ("target", theirs.target, ours.target),
        ("panic strategy", theirs.panic, ours.panic),
        ("debug assertions", theirs.assertions, ours.assertions),
        ("sources of Piper", theirs.sources, ours.sources),
    ];
    let mut differences = String::new();
    let mut names = Vec::new();
    for (what, theirs, ours) in facts {
        // SAFETY: they are made by `Text::new`, and the library is loaded.
        let (theirs, ours) = unsafe { (theirs.get(), ours.get()) };
        if theirs != ours {
            differences += &format!("\n  {what}: the plugin has {theirs}, this program {ours}");
            names.push(what);
        }
    }
    if names.is_empty() && theirs.layout != ours.layout {
        differences += &format!(
            "\n  layout of types: the plugin has {:016x}, this program {:016x}",
            theirs.layout, ours.layout
        );
        names.push("layout");
    }
    let advice = match names.first() {
        None => return Ok(()),
        Some(&"compiler") => {
            "rebuild both with one compiler, as with `rustup override set VERSION`"
        }
        Some(&"target" | &"panic strategy") => {
            "rebuild the plugin for the target and with the profile of this program"
        }
        Some(&"debug assertions") => {
            "rebuild the plugin in the profile of this program: `cargo build` for a debug build, `cargo build --release` for a release"
        }
        Some(&"layout") => "rebuild the plugin with the versions in the Cargo.lock of this program",
        _ => {
            "rebuild the plugin against the sources of this program, or this program from the plugin's"
        }
    };
    Err(LoadError::Build { path: path.to_owned(), differences, advice: advice.to_owned() })
}

#[cfg(test)]
mod tests {
    use piper_plugin::{Build, Text};

    use super::check_build;

    #[test]
    fn another_build_is_refused_with_both_values_and_what_to_rebuild() {
        let here = Build::HERE;
        assert!(check_build("./libmine.so", &here, &here).is_ok());
        let other = Text::new("another");
        let cases: [(&str, Build, &str); 6] = [
            (
                "compiler: the plugin has another, this program ",
                Build { rustc: other, ..here },
                "rebuild both with one compiler, as with `rustup override set VERSION`",
            ),
            (
                "target: the plugin has another, this program ",
                Build { target: other, ..here },
                "rebuild the plugin for the target and with the profile of this program",
            ),
            (
                "panic strategy: the plugin has another, this program ",
                Build { panic: other, ..here },
                "rebuild the plugin for the target and with the profile of this program",
            ),
            (
                "debug assertions: the plugin has another, this program ",
                Build { assertions: other, ..here },
                "rebuild the plugin in the profile of this program: `cargo build` for a debug build, `cargo build --release` for a release",
            ),
            (
                "sources of Piper: the plugin has another, this program ",
                Build { sources: other, ..here },
                "rebuild the plugin against the sources of this program, or this program from the plugin's",
            ),
            (
                "layout of types: the plugin has ",
                Build { layout: here.layout ^ 1, ..here },
                "rebuild the plugin with the versions in the Cargo.lock of this program",
            ),
        ];
        for (difference, theirs, advice) in cases {
            let error = check_build("./libmine.so", &theirs, &here).expect_err(difference);
            let text = error.to_string();
            let first = "plugin './libmine.so' is of another build than this program:\n  ";
            assert!(text.starts_with(&format!("{first}{difference}")), "{text}");
            assert_eq!(text.lines().count(), 2, "nothing else differs: {text}");
            assert_eq!(error.hint().as_deref(), Some(advice));
        }
        // Several are all told; what to do is about the first of them. Other compilers lay types out in other ways.
        let theirs = Build { rustc: other, panic: other, layout: !here.layout, ..here };
        let error = check_build("./libmine.so", &theirs, &here).expect_err("two differ");
        let text = error.to_string();
        assert!(text.contains("compiler: ") && text.contains("panic strategy: "), "{text}");
        assert!(!text.contains("layout"), "{text}");
        assert!(error.hint().is_some_and(|hint| hint.starts_with("rebuild both")));
    }
}
