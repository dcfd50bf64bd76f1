//! Who touched which byte last: data races are two accesses of one byte, one of them a write, by threads that nothing
//! orders. Order comes from barriers, as vector clocks over the warps of a block (Lamport; in the form of FastTrack,
//! Flanagan and Freund 2009, at the granularity of warps).

/// One access. The default is "nobody".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Block number plus one.
    pub(crate) block: u32,
    /// Clock of the thread's warp when it accessed.
    pub(crate) clock: u32,
    /// The step that accessed.
    pub(crate) step: u32,
    /// Thread within the block.
    pub(crate) thread: u16,
    /// Whether the access was atomic or volatile: two such do not race.
    pub(crate) is_strong: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    writer: Stamp,
    /// The last two readers that are not ordered with each other.
    readers: [Stamp; 2],
}

/// Bytes that a page covers.
const PAGE: usize = 1024;

/// A page keeps a cell a word while all accesses are whole words, and a cell a byte after that.
#[derive(Debug, Default)]
struct Page {
    /// The period in which its cells are valid.
    period: u64,
    is_by_byte: bool,
    cells: Vec<Cell>,
}

/// The record of one allocation.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    pages: Vec<Page>,
}

impl Shadow {
    /// Records an access of `bytes` at `offset`; gives the access that it races with, if any. `is_ordered` says whether
    /// an earlier access by another thread happened before this one. `period` separates launches (or blocks).
    pub(crate) fn access(
        &mut self,
        offset: u64,
        bytes: u32,
        stamp: Stamp,
        is_write: bool,
        period: u64,
        is_ordered: impl Fn(&Stamp) -> bool,
    ) -> Option<(Stamp, bool)> {
        let at = offset as usize;
        let number = at / PAGE;
        if number >= self.pages.len() {
            self.pages.resize_with(number + 1, Page::default);
        }
        let page = &mut self.pages[number];
        if page.period != period {
            page.period = period;
            page.is_by_byte = false;
            page.cells.clear();
            page.cells.resize(PAGE / 4, Cell::default());
        }
        let by_words = at.is_multiple_of(4) && bytes.is_multiple_of(4);
        if !by_words && !page.is_by_byte {
            page.is_by_byte = true;
            page.cells = page.cells.iter().flat_map(|cell| [*cell; 4]).collect();
        }
        let (index, count) = match page.is_by_byte {
            true => (at % PAGE, bytes as usize),
            false => (at % PAGE / 4, bytes as usize / 4),
        };
        let mut race = None;
        // Accesses are aligned and shorter than a page, so none crosses its end.
        for cell in &mut page.cells[index..index + count] {
            let found = cell.access(stamp, is_write, &is_ordered);
            race = race.or(found);
        }
        race
    }

    /// Adds what was read and written in `period`, as address and length, neighbours joined; `base` is the address of
    /// the first byte.
    pub(crate) fn touched(
        &self,
        period: u64,
        base: u64,
        read: &mut Vec<(u64, u64)>,
        written: &mut Vec<(u64, u64)>,
    ) {
        let add = |ranges: &mut Vec<(u64, u64)>, start: u64, bytes: u64| match ranges.last_mut() {
            Some((last, length)) if *last + *length == start => *length += bytes,
            _ => ranges.push((start, bytes)),
        };
        for (number, page) in self.pages.iter().enumerate().filter(|(_, p)| p.period == period) {
            let step = if page.is_by_byte { 1 } else { 4 };
            let mut start = base + (number * PAGE) as u64;
            for cell in &page.cells {
                if cell.readers[0].block != 0 {
                    add(read, start, step);
                }
                if cell.writer.block != 0 {
                    add(written, start, step);
                }
                start += step;
            }
        }
    }
}

impl Cell {
    #[inline]
    fn access(
        &mut self,
        stamp: Stamp,
        is_write: bool,
        is_ordered: &impl Fn(&Stamp) -> bool,
    ) -> Option<(Stamp, bool)> {
        let is_same = |other: &Stamp| other.block == stamp.block && other.thread == stamp.thread;
        let conflicts = |other: &Stamp| {
            let both_strong = other.is_strong && stamp.is_strong;
            let is_apart = other.block != 0 && !is_same(other) && !both_strong;
            is_apart && !is_ordered(other)
        };
        let mut race = conflicts(&self.writer).then_some((self.writer, true));
        if is_write {
            let reader = self.readers.iter().find(|reader| conflicts(reader));
            race = race.or(reader.map(|reader| (*reader, false)));
            self.writer = stamp;
        } else {
            let last = self.readers[0];
            if last.block != 0 && !is_same(&last) && !is_ordered(&last) {
                self.readers[1] = last;
            }
            self.readers[0] = stamp;
        }
        race
    }
}
