//! Files that are libraries: found, opened, and asked whether an address is code. The only place that does it for plugins.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::plugin::PluginError;

const BUILD_ONE: &str = "a plugin is a shared library: `cargo build` makes one of a crate, cc -shared -fPIC -o libmine.so mine.c one of C";

/// The one path of a file, whichever way it is named. `path` is what messages call it.
///
/// # Errors
/// There is no such file, or it is a folder, or something else that is no library and that one might wait for.
pub fn located(file: &Path, path: &str) -> Result<PathBuf, PluginError> {
    let refused = |why: &str, hint: &str| PluginError::new(format!("plugin '{path}': {why}"), hint);
    const NAME_IT: &str = "the path is that of the library's file";
    let file = file.canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => refused("no such file", NAME_IT),
        _ => refused(&format!("it cannot be found: {error}"), NAME_IT),
    })?;
    match file.metadata() {
        Ok(known) if known.is_dir() => Err(refused("it is a folder", "name the library in it")),
        Ok(known) if !known.is_file() => Err(refused("it is not a regular file", NAME_IT)),
        Ok(_) => Ok(file),
        Err(error) => Err(refused(&format!("it cannot be read: {error}"), NAME_IT)),
    }
}

/// Opens a library by the path that [`located`] gave. `path` is what messages call it.
///
/// # Errors
/// The file is no library for this machine, or needs one that is not there.
///
/// # Safety
/// It runs the library's constructors. Whoever names a library to load trusts it so far.
pub unsafe fn opened(file: &Path, path: &str) -> Result<Library, PluginError> {
    // SAFETY: the caller's promise.
    unsafe { Library::new(file) }.map_err(|error| {
        let why = match std::error::Error::source(&error) {
            Some(source) => source.to_string(),
            None => error.to_string(),
        };
        let message = format!("plugin '{path}': it cannot be opened as a library: {why}");
        PluginError::new(message, BUILD_ONE)
    })
}

/// Whether an address can be called. Where the system does not say it, it is taken to be so.
pub(crate) fn is_code(address: *const ()) -> bool {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return true };
    is_executable(&maps, address.addr())
}

/// Whether a line of Linux's list of mappings has the address and may be executed.
fn is_executable(maps: &str, address: usize) -> bool {
    maps.lines().any(|line| {
        let mut words = line.split_ascii_whitespace();
        let range = words.next().and_then(|range| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).ok();
        let Some((Some(from), Some(to))) = range.map(|(from, to)| (number(from), number(to)))
        else {
            return false;
        };
        (from..to).contains(&address) && words.next().is_some_and(|may| may.contains('x'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_data() {
        static DATA: u64 = 0;
        assert!(is_code(located as *const ()));
        if cfg!(target_os = "linux") {
            assert!(!is_code((&raw const DATA).cast()));
            assert!(!is_code(std::ptr::null()));
        }
        let maps = "1000-2000 r-xp 00000000 00:00 0\n2000-3000 r--p 00000000 00:00 0  /x y.so\n";
        let found = [0xfff, 0x1000, 0x1fff, 0x2000, 0x3000].map(|at| is_executable(maps, at));
        assert_eq!(found, [false, true, true, false, false]);
        assert!(!is_executable("what is this\n\n", 0));
    }
}
