//! Locations: where an operation came from. Every diagnostic, device instruction and trace entry leads back to one.

use crate::{Attr, Context, Loc, Name};

/// The data behind a [`Loc`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum LocData {
    /// Not known.
    Unknown,
    /// `"file":line:col`, both counted from 1; columns count bytes.
    File { file: Name, line: u32, col: u32 },
    /// `"file":line:col to end_line:end_col`
    FileRange { file: Name, line: u32, col: u32, end_line: u32, end_col: u32 },
    /// `"name"(child)`
    Named { name: Name, child: Loc },
    /// `callsite(callee at caller)`
    CallSite { callee: Loc, caller: Loc },
    /// `fused<metadata>[...]`
    Fused { locs: Box<[Loc]>, metadata: Option<Attr> },
}

/// Set in handles that are positions in a source, see [`crate::source`].
pub(crate) const POSITION: u32 = 1 << 31;

impl Loc {
    /// The location's data.
    pub fn data(self, ctx: &Context) -> LocData {
        if self.0 & POSITION != 0 {
            let (file, line, col) = ctx.resolve_position(self.0 & !POSITION);
            return LocData::File { file, line, col };
        }
        ctx.loc_data(self).clone()
    }

    /// Whether it is a position in a source, which other handles may equal.
    pub(crate) fn is_position(self) -> bool {
        self.0 & POSITION != 0
    }

    /// The first file position inside the location: `(file, line, column)`.
    pub fn file_position(self, ctx: &Context) -> Option<(&str, u32, u32)> {
        match self.data(ctx) {
            LocData::Unknown => None,
            LocData::File { file, line, col } | LocData::FileRange { file, line, col, .. } => {
                Some((file.text(ctx), line, col))
            }
            LocData::Named { child, .. } => child.file_position(ctx),
            LocData::CallSite { callee, .. } => callee.file_position(ctx),
            LocData::Fused { locs, .. } => locs.iter().find_map(|loc| loc.file_position(ctx)),
        }
    }
}
