//! Locations.

use piper_ir::LocData;

use crate::handle::{PiperLoc, PiperModule, read};
use crate::text::{PiperStr, store};

/// The location `file`, line and column, both from 1; columns count bytes. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_loc_file(
    module: *const PiperModule,
    file: PiperStr,
    line: u32,
    column: u32,
) -> PiperLoc {
    read(module, "piper_loc_file", |h, m| {
        let file = file.get("the file's name")?;
        Ok(h.give_loc(m.ctx().file_loc(file, line, column)))
    })
}

/// A location with a name in front of another, which may be none. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_loc_named(
    module: *const PiperModule,
    name: PiperStr,
    child: PiperLoc,
) -> PiperLoc {
    read(module, "piper_loc_named", |h, m| {
        let child = h.loc(child)?;
        Ok(h.give_loc(m.ctx().named_loc(name.get("the name")?, child)))
    })
}

/// The first file position inside a location: whether there is one, and which. `file` lives as long as the module; each of the
/// pointers may be null. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_loc_position(
    module: *const PiperModule,
    loc: PiperLoc,
    file: *mut PiperStr,
    line: *mut u32,
    column: *mut u32,
) -> bool {
    read(module, "piper_loc_position", |h, m| {
        let loc = h.loc(loc)?;
        let Some((name, at_line, at_column)) = loc.file_position(m.ctx()) else { return Ok(false) };
        store(file, PiperStr::of(name));
        store(line, at_line);
        store(column, at_column);
        Ok(true)
    })
}

/// The name of a named location, as `loc("name"(...))`; null data if it has none. Lives as long as the module. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_loc_name(module: *const PiperModule, loc: PiperLoc) -> PiperStr {
    read(module, "piper_loc_name", |h, m| {
        Ok(match h.loc(loc)?.data(m.ctx()) {
            LocData::Named { name, .. } => PiperStr::of(name.text(m.ctx())),
            _ => PiperStr::default(),
        })
    })
}
