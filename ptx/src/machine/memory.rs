//! Memory: allocations with bounds, and which of their bytes were ever written.

use super::shadow::Shadow;

/// Bytes with a note of which are set.
#[derive(Debug, Default)]
pub(crate) struct Bytes {
    pub(crate) data: Vec<u8>,
    /// A bit a byte.
    set: Vec<u8>,
    pub(crate) shadow: Shadow,
}

impl Bytes {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { data: vec![0; bytes], set: vec![0; bytes.div_ceil(8)], shadow: Shadow::default() }
    }

    /// Forgets what was written; `bytes` is the new size.
    pub(crate) fn clear(&mut self, bytes: usize) {
        self.data.resize(bytes, 0);
        self.set.clear();
        self.set.resize(bytes.div_ceil(8), 0);
    }

    /// Whether `bytes` (1, 2, 4 or 8, aligned) at `offset` were all written.
    #[inline]
    pub(crate) fn is_set(&self, offset: u64, bytes: u32) -> bool {
        let mask = (((1_u32 << bytes) - 1) << (offset & 7)) as u8;
        self.set[offset as usize / 8] & mask == mask
    }

    #[inline]
    pub(crate) fn mark(&mut self, offset: u64, bytes: u32) {
        let mask = (((1_u32 << bytes) - 1) << (offset & 7)) as u8;
        self.set[offset as usize / 8] |= mask;
    }

    pub(crate) fn mark_all(&mut self, offset: usize, bytes: usize) {
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            if at.is_multiple_of(8) && end - at >= 8 {
                let (from, to) = (at / 8, end / 8);
                self.set[from..to].fill(0xff);
                at = to * 8;
            } else {
                self.set[at / 8] |= 1 << (at & 7);
                at += 1;
            }
        }
    }

    /// Bytes, each with whether it was written.
    pub(crate) fn part(&self, offset: usize, bytes: usize) -> Vec<(u8, bool)> {
        let range = offset..offset + bytes;
        range.map(|at| (self.data[at], self.set[at / 8] >> (at & 7) & 1 == 1)).collect()
    }

    /// Puts a part of some memory here.
    pub(crate) fn put_part(&mut self, offset: usize, part: &[(u8, bool)]) {
        for (at, (byte, is_set)) in (offset..).zip(part) {
            self.data[at] = *byte;
            let bit = 1 << (at & 7);
            if *is_set {
                self.set[at / 8] |= bit;
            } else {
                self.set[at / 8] &= !bit;
            }
        }
    }

    #[inline]
    pub(crate) fn read(&self, offset: u64, bytes: u32) -> u64 {
        let at = offset as usize;
        match bytes {
            4 => {
                u64::from(u32::from_le_bytes(self.data[at..at + 4].try_into().unwrap_or_default()))
            }
            8 => u64::from_le_bytes(self.data[at..at + 8].try_into().unwrap_or_default()),
            2 => {
                u64::from(u16::from_le_bytes(self.data[at..at + 2].try_into().unwrap_or_default()))
            }
            _ => u64::from(self.data[at]),
        }
    }

    #[inline]
    pub(crate) fn write(&mut self, offset: u64, bytes: u32, value: u64) {
        let at = offset as usize;
        match bytes {
            4 => self.data[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes()),
            8 => self.data[at..at + 8].copy_from_slice(&value.to_le_bytes()),
            2 => self.data[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes()),
            _ => self.data[at] = value as u8,
        }
        self.mark(offset, bytes);
    }
}

/// One allocation of device memory.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) base: u64,
    pub(crate) bytes: Bytes,
    pub(crate) name: Option<String>,
    pub(crate) is_constant: bool,
}

impl Allocation {
    fn len(&self) -> u64 {
        self.bytes.data.len() as u64
    }

    fn describe(&self) -> String {
        match &self.name {
            Some(name) => format!("{name} ({} bytes at {:#x})", self.len(), self.base),
            None => format!("the allocation of {} bytes at {:#x}", self.len(), self.base),
        }
    }
}

/// Device memory.
#[derive(Debug)]
pub(crate) struct Global {
    /// By address.
    pub(crate) allocations: Vec<Allocation>,
    next: u64,
    /// Where the last access was: the next is mostly there too.
    last: usize,
}

/// The first address that is given out, and the alignment of all.
pub(super) const FIRST: u64 = 0x1000_0000;
const ALIGN: u64 = 256;
/// Between two allocations, so that a small overrun meets nothing.
const GAP: u64 = 4096;

impl Global {
    pub(crate) fn starting_at(first: u64) -> Self {
        Self { allocations: Vec::new(), next: first.next_multiple_of(ALIGN), last: 0 }
    }

    pub(crate) fn alloc(&mut self, bytes: usize, name: Option<String>, is_constant: bool) -> u64 {
        let base = self.next;
        self.next = (base + bytes as u64 + GAP).next_multiple_of(ALIGN);
        self.allocations.push(Allocation { base, bytes: Bytes::new(bytes), name, is_constant });
        base
    }

    pub(crate) fn free(&mut self, base: u64) -> bool {
        let at = self.allocations.iter().position(|a| a.base == base);
        self.last = 0;
        at.map(|at| self.allocations.remove(at)).is_some()
    }

    /// The allocation that holds all of `address..address + bytes`, and the offset within it.
    #[inline]
    pub(crate) fn find(&mut self, address: u64, bytes: u64) -> Option<(usize, u64)> {
        let holds = |a: &Allocation| {
            address >= a.base
                && (address - a.base).checked_add(bytes).is_some_and(|end| end <= a.len())
        };
        if let Some(allocation) = self.allocations.get(self.last)
            && holds(allocation)
        {
            return Some((self.last, address - allocation.base));
        }
        let at = self.allocations.partition_point(|a| a.base <= address).checked_sub(1)?;
        if !holds(&self.allocations[at]) {
            return None;
        }
        self.last = at;
        Some((at, address - self.allocations[at].base))
    }

    /// What is near an address that lies in no allocation.
    pub(crate) fn nearest(&self, address: u64) -> String {
        let distance = |a: &Allocation| {
            if address < a.base {
                a.base - address
            } else {
                address.saturating_sub(a.base + a.len())
            }
        };
        let Some(near) = self.allocations.iter().min_by_key(|a| distance(a)) else {
            return "nothing is allocated".to_string();
        };
        let apart = distance(near);
        let where_ = if address < near.base { "before" } else { "after the end of" };
        match apart {
            0 if address < near.base + near.len() => {
                format!("it runs over the end of {}", near.describe())
            }
            _ => format!("the nearest is {}: it lies {apart} bytes {where_} it", near.describe()),
        }
    }
}
