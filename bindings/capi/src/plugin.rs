//! Plugins against the C interface: libraries that any later version of Piper loads.
//!
//! A plugin exports one function, `piper_plugin`, which gives a description ([`PiperPlugin`]). Nothing of it is called before the
//! description is found good: the magic number, the number of the interface, its size, and how much of the table of functions it
//! needs. It is then given the table (`PiperApi`) and a registrar. It links no library of Piper.
//!
//! The table is append-only (`include/api-order.txt`), so a plugin built against an older header runs with every later host. One
//! that needs more than its host has is refused with a text that says so.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use libloading::Library;
use piper_dialects::irdl;
use piper_ir::Dialect;
use piper_ir::pass::{Origin, PassInfo, PassRegistry, RegisterError};

use crate::PIPER_ABI_VERSION;
use crate::api::{API, PiperApi};
use crate::fault::{Fault, PIPER_IN_USE, PIPER_NULL, PIPER_OK, PiperStatus, caught};
use crate::library::{self, is_code};
use crate::pass_info::{PiperPassInfo, pass_info};
use crate::text::PiperStr;

/// What the description of a plugin begins with.
pub const PIPER_PLUGIN_MAGIC: u64 = 0x5049_5045_525F_4301;

/// The exported function of a plugin, as libraries find it.
pub const SYMBOL: &str = "piper_plugin";

/// Adds what the plugin has: answers `PIPER_OK`, or anything else to be refused. It must return: no `longjmp` out of it, no
/// exception through it.
pub type PiperPluginFill = Option<
    unsafe extern "C" fn(api: *const PiperApi, registrar: *mut PiperRegistrar) -> PiperStatus,
>;

/// The exported function `piper_plugin` of a plugin.
pub type PiperPluginEntry = Option<unsafe extern "C" fn() -> *const PiperPlugin>;

/// The description of a plugin, which lives as long as its library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PiperPlugin {
    /// `PIPER_PLUGIN_MAGIC`
    pub magic: u64,
    /// `PIPER_ABI_VERSION`
    pub abi: u32,
    /// 0
    pub reserved: u32,
    /// `sizeof(PiperPlugin)`
    pub size: usize,
    /// How much of the table it needs: `PIPER_API_NEEDS(function)` for the last function that it uses, or `sizeof(PiperApi)`.
    pub needs: usize,
    /// Its name.
    pub name: PiperStr,
    /// Its version, for people.
    pub version: PiperStr,
    /// Adds what it has.
    pub fill: PiperPluginFill,
}

/// What a plugin adds to.
#[derive(Debug)]
pub struct PiperRegistrar {
    origin: Origin,
    passes: Vec<PassInfo>,
    dialects: Vec<(String, String)>,
    misuse: Option<(PiperStatus, String)>,
}

/// What a pointer of a plugin points to, if it is not null.
fn registrar_of<'a>(registrar: *mut PiperRegistrar) -> Option<&'a mut PiperRegistrar> {
    // SAFETY: the header's contract: null, or what the plugin was given, while it is asked.
    unsafe { registrar.as_mut() }
}

fn add(
    registrar: *mut PiperRegistrar,
    function: &str,
    work: impl FnOnce(&mut PiperRegistrar) -> Result<(), Fault>,
) -> PiperStatus {
    let Some(registrar) = registrar_of(registrar) else { return PIPER_NULL };
    match caught(|| work(registrar)) {
        Ok(()) => PIPER_OK,
        Err(fault) => {
            let text = format!("{function}: {}", fault.text);
            registrar.misuse.get_or_insert((fault.status, text));
            fault.status
        }
    }
}

/// Adds a pass. Threads: the one that asks the plugin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_registrar_add_pass(
    registrar: *mut PiperRegistrar,
    pass: *const PiperPassInfo,
) -> PiperStatus {
    add(registrar, "piper_registrar_add_pass", |registrar| {
        let pass = pass_info(pass, registrar.origin.clone())?;
        if registrar.passes.iter().any(|known| known.name == pass.name) {
            let text = format!("it adds pass '{}' twice", pass.name);
            return Err(Fault::new(PIPER_IN_USE, text));
        }
        registrar.passes.push(pass);
        Ok(())
    })
}

/// Adds dialects from their definitions in the `irdl` dialect; `name` is what messages call the text. Threads: the one that asks
/// the plugin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_registrar_add_dialects(
    registrar: *mut PiperRegistrar,
    name: PiperStr,
    text: PiperStr,
) -> PiperStatus {
    add(registrar, "piper_registrar_add_dialects", |registrar| {
        let (name, text) = (name.get("the name")?, text.get("the text")?);
        registrar.dialects.push((name.to_owned(), text.to_owned()));
        Ok(())
    })
}

/// What a plugin has.
#[derive(Debug)]
#[non_exhaustive]
pub struct StablePlugin {
    /// Its name.
    pub name: String,
    /// Its version, for people.
    pub version: String,
    /// Its passes, with the library as their origin.
    pub passes: Vec<PassInfo>,
    /// Definitions of dialects: what messages call them, and their text.
    pub dialects: Vec<(String, String)>,
}

impl StablePlugin {
    /// Adds all that it has, or nothing. Gives the names of its dialects.
    ///
    /// # Errors
    /// A definition of dialects that is none; a name that is taken.
    pub fn add_to(
        self,
        registry: &mut PassRegistry,
        dialects: &mut Vec<Dialect>,
    ) -> Result<Vec<String>, NotAdded> {
        let (mut passes, mut all, first) = (registry.clone(), dialects.clone(), dialects.len());
        for (name, text) in &self.dialects {
            let loaded = irdl::load(text, name, &all).map_err(NotAdded::Dialects)?;
            all.extend(loaded);
        }
        for pass in self.passes {
            passes.try_register(pass).map_err(NotAdded::Pass)?;
        }
        let names = all[first..].iter().map(|dialect| dialect.name.to_string()).collect();
        (*registry, *dialects) = (passes, all);
        Ok(names)
    }
}

/// Why what a plugin has is not added.
#[derive(Debug)]
pub enum NotAdded {
    /// A definition is wrong, or its name is taken.
    Dialects(irdl::Refusal),
    /// A pass's name is taken.
    Pass(RegisterError),
}

/// Why a library is not loaded as a plugin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PluginError {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl PluginError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PluginError {}

/// Whether a library has the exported function of such a plugin.
pub fn is_stable(library: &Library) -> bool {
    entry(library).is_some()
}

type Entry = unsafe extern "C" fn() -> *const PiperPlugin;

fn entry(library: &Library) -> Option<Entry> {
    // SAFETY: a null one is none; the function is only called in `load_stable`, whose caller says that it is one.
    unsafe { library.get::<Option<Entry>>(SYMBOL.as_bytes()) }.ok().and_then(|symbol| *symbol)
}

/// What a library adds. `path` is what messages call it, and the origin of its passes.
///
/// # Errors
/// A library without the function; a description that is not one, of another interface, or of one that needs more than there is;
/// a plugin that says no.
///
/// # Safety
/// The library stays loaded as long as anything of the result lives, and its function `piper_plugin`, if it has one, is of the
/// type [`PiperPluginEntry`].
pub unsafe fn load_stable(library: &Library, path: &str) -> Result<StablePlugin, PluginError> {
    let entry = entry(library).ok_or_else(|| {
        PluginError::new(
            format!("'{path}' has no function '{SYMBOL}', so it is no plugin"),
            "export 'const PiperPlugin *piper_plugin(void)', as include/piper.h describes",
        )
    })?;
    if !is_code(entry as *const ()) {
        return Err(PluginError::new(
            format!("'{path}' exports '{SYMBOL}', but not as a function, so it is no plugin"),
            "export 'const PiperPlugin *piper_plugin(void)', as include/piper.h describes",
        ));
    }
    // SAFETY: the caller's promise.
    let given = unsafe { entry() };
    let plugin = checked(given, path)?;
    let Some(fill) = plugin.fill else {
        return Err(bad(path, "has no function 'fill'"));
    };
    if !is_code(fill as *const ()) {
        return Err(bad(path, "has a 'fill' that is no function"));
    }
    let text = |text: PiperStr, what: &str| {
        text.get(what).map(str::to_owned).map_err(|fault| bad(path, &fault.text))
    };
    let (name, version) = (text(plugin.name, "its name")?, text(plugin.version, "its version")?);
    let mut registrar = PiperRegistrar {
        origin: Origin::Plugin(Arc::from(path)),
        passes: Vec::new(),
        dialects: Vec::new(),
        misuse: None,
    };
    // SAFETY: the description is good, and the caller's promise covers what it points to.
    let status = unsafe { fill(&raw const API, &raw mut registrar) };
    if let Some((_, text)) = registrar.misuse {
        return Err(PluginError::new(
            format!("plugin '{path}' misused the interface: {text}"),
            "this is a fault of the plugin",
        ));
    }
    if status != PIPER_OK {
        return Err(PluginError::new(
            format!("plugin '{path}' refused to load, with status {status}"),
            "its function 'fill' says PIPER_OK when all is well",
        ));
    }
    Ok(StablePlugin { name, version, passes: registrar.passes, dialects: registrar.dialects })
}

/// Opens a library, which stays loaded for ever, and asks it as [`load_stable`] does.
///
/// # Errors
/// As [`load_stable`]; a file that is no library.
///
/// # Safety
/// Loading a library runs code of it; the rest is as in [`load_stable`].
pub unsafe fn open_stable(path: &Path) -> Result<StablePlugin, PluginError> {
    let shown = path.display().to_string();
    let file = library::located(path, &shown)?;
    // SAFETY: the caller's promise.
    let library = unsafe { library::opened(&file, &shown) }?;
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: it is never unloaded; the rest is the caller's promise.
    unsafe { load_stable(library, &shown) }
}

fn bad(path: &str, what: &str) -> PluginError {
    PluginError::new(
        format!("the description of plugin '{path}' {what}"),
        "fill it in as include/piper.h says, and build the plugin again",
    )
}

/// The description, if it is one that this version can work with.
fn checked(given: *const PiperPlugin, path: &str) -> Result<PiperPlugin, PluginError> {
    if given.is_null() {
        return Err(bad(path, "is null"));
    }
    // SAFETY: the promise of the caller of `load_stable`. The head, up to `needs`, is the same in every version; it is read before
    // the rest is known to be there.
    let head = unsafe { given.cast::<Head>().read_unaligned() };
    if head.magic != PIPER_PLUGIN_MAGIC {
        let text = format!("begins with {:#018x}, not {PIPER_PLUGIN_MAGIC:#018x}", head.magic);
        return Err(bad(path, &text));
    }
    let version = env!("CARGO_PKG_VERSION");
    if head.abi != PIPER_ABI_VERSION {
        let theirs = head.abi;
        let hint = match theirs > PIPER_ABI_VERSION {
            true => "use a later Piper, or build the plugin against this one's include/piper.h",
            false => "build the plugin again, against this Piper's include/piper.h",
        };
        let message = format!(
            "plugin '{path}' is for interface {theirs}, but Piper {version} has interface {PIPER_ABI_VERSION}"
        );
        return Err(PluginError::new(message, hint));
    }
    if head.size < size_of::<PiperPlugin>() {
        let text = format!("has {} bytes, not {}", head.size, size_of::<PiperPlugin>());
        return Err(bad(path, &text));
    }
    if head.needs > size_of::<PiperApi>() {
        let pointer = size_of::<usize>();
        let (wants, has) = (head.needs / pointer - 1, size_of::<PiperApi>() / pointer - 1);
        let message = format!(
            "plugin '{path}' needs {wants} functions of the interface, but Piper {version} has {has}"
        );
        return Err(PluginError::new(
            message,
            "use a later Piper, or build the plugin against this one's include/piper.h",
        ));
    }
    // SAFETY: it says that it is as long as this.
    Ok(unsafe { given.read_unaligned() })
}

/// What the description of every version begins with.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    magic: u64,
    abi: u32,
    reserved: u32,
    size: usize,
    needs: usize,
}
