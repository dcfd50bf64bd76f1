//! Rendezvous: the points at which devices exchange data.
//!
//! Partners are fixed by position, so every transfer and collective of a step is one [`Meeting`] known at load, with the
//! addresses of both sides. Its counters only grow, by a fixed amount a step, and need no reset. Whoever arrives last does
//! the work if it is small; for large collectives everyone does an equal part.

#![allow(unsafe_code)]

use crate::reduce::sum_into;
use piper_plan::DType;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes (over all members) up to which the last to arrive does all the work: waking others would take longer.
const ALONE_BYTES: usize = 64 << 10;

/// One side's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) device: u32,
    /// What it contributes.
    pub(crate) src: *mut u8,
    /// Where its result goes.
    pub(crate) dst: *mut u8,
}

/// What is exchanged. Counts are elements of one part (all-reduce: of the whole).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// From the first side to the second, bytes.
    P2p {
        bytes: usize,
    },
    AllReduce {
        elems: usize,
        dtype: DType,
    },
    ReduceScatter {
        elems: usize,
        dtype: DType,
    },
    AllGather {
        bytes: usize,
    },
    /// A part is `src_runs` runs on one side, `dst_runs` on the other.
    AllToAll {
        bytes: usize,
        src_runs: usize,
        dst_runs: usize,
    },
}

/// A rendezvous point.
#[repr(align(64))] // counters of different meetings are hammered by different threads
pub(crate) struct Meeting {
    arrived: AtomicU64,
    finished: AtomicU64,
    /// Sides that have to arrive. More than `sides` if a partner does not exist (unverified plans): then it never happens.
    pub(crate) expected: u32,
    pub(crate) exchange: Exchange,
    pub(crate) sides: Box<[Side]>,
}

// SAFETY: the pointers lead into arenas that outlive the meetings; `arrive` and `do_part` order their accesses.
unsafe impl Send for Meeting {}
// SAFETY: as above.
unsafe impl Sync for Meeting {}

/// What arriving led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Others are missing.
    Early,
    /// This was the last one, and it has done the work: the others can go on.
    Finished,
    /// This was the last one; now everyone has to do a part.
    Shared,
}

impl Meeting {
    pub(crate) fn new(expected: u32, exchange: Exchange, sides: Vec<Side>) -> Meeting {
        let (arrived, finished) = (AtomicU64::new(0), AtomicU64::new(0));
        Meeting { arrived, finished, expected, exchange, sides: sides.into_boxed_slice() }
    }

    /// Announces a side in step `step` (from 1).
    ///
    /// # Safety
    /// The sides' memory is alive, and from its arrival to the meeting's end no side's device touches it otherwise.
    pub(crate) unsafe fn arrive(&self, step: u64) -> Arrival {
        let all = u64::from(self.expected) * step;
        // AcqRel: the last to arrive sees what all others wrote before they arrived.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 < all {
            return Arrival::Early;
        }
        if self.is_shared() {
            return Arrival::Shared;
        }
        // SAFETY: everyone has arrived, so by the caller's promise nobody else uses the memory.
        unsafe { (0..self.sides.len()).for_each(|part| self.exchange(part)) };
        self.finished.fetch_add(u64::from(self.expected), Ordering::Release);
        Arrival::Finished
    }

    /// Whether each side has to do its part after all have arrived.
    pub(crate) fn is_shared(&self) -> bool {
        let total = match self.exchange {
            Exchange::P2p { .. } => return false,
            Exchange::AllReduce { elems, dtype } => {
                elems * dtype.size() as usize * self.sides.len()
            }
            Exchange::ReduceScatter { elems, dtype } => {
                elems * dtype.size() as usize * self.sides.len() * self.sides.len()
            }
            Exchange::AllGather { bytes } | Exchange::AllToAll { bytes, .. } => {
                bytes * self.sides.len() * self.sides.len()
            }
        };
        total > ALONE_BYTES
    }

    /// Whether all have arrived in this step.
    pub(crate) fn is_full(&self, step: u64) -> bool {
        self.arrived.load(Ordering::Acquire) >= u64::from(self.expected) * step
    }

    /// Whether the exchange of this step is over.
    pub(crate) fn is_over(&self, step: u64) -> bool {
        self.finished.load(Ordering::Acquire) >= u64::from(self.expected) * step
    }

    /// Does one side's part of a full, shared meeting. True if that was the last part.
    ///
    /// # Safety
    /// As for `arrive`; the meeting is full; each side does its part once a step.
    pub(crate) unsafe fn do_part(&self, part: usize, step: u64) -> bool {
        // SAFETY: all have arrived; parts are disjoint (see `exchange`).
        unsafe { self.exchange(part) };
        self.finished.fetch_add(1, Ordering::AcqRel) + 1 >= u64::from(self.expected) * step
    }

    /// Part `part` of the work. Different parts write disjoint memory, and none writes what another reads: an in-place
    /// collective's part `k` reads and writes only the `k`-th share of every buffer.
    ///
    /// # Safety
    /// All sides have arrived.
    unsafe fn exchange(&self, part: usize) {
        let sides = &self.sides;
        let n = sides.len();
        match self.exchange {
            Exchange::P2p { bytes } => {
                if part == 0 && n == 2 {
                    // SAFETY: both ranges are valid for `bytes`, in different devices' arenas.
                    unsafe { std::ptr::copy_nonoverlapping(sides[0].src, sides[1].dst, bytes) };
                }
            }
            Exchange::AllReduce { elems, dtype } => {
                let (from, to) = (elems * part / n, elems * (part + 1) / n);
                let skip = from * dtype.size() as usize;
                // SAFETY: elements from..to of every side, which no other part touches.
                unsafe {
                    let sources: Vec<*mut u8> = sides.iter().map(|s| s.src.add(skip)).collect();
                    let targets: Vec<*mut u8> = sides.iter().map(|s| s.dst.add(skip)).collect();
                    sum(&sources, &targets, to - from, dtype);
                }
            }
            Exchange::ReduceScatter { elems, dtype } => {
                let skip = elems * part * dtype.size() as usize;
                // SAFETY: share `part` of every source, which no other part reads; the target is this side's own.
                unsafe {
                    let sources: Vec<*mut u8> = sides.iter().map(|s| s.src.add(skip)).collect();
                    sum(&sources, &[sides[part].dst], elems, dtype);
                }
            }
            Exchange::AllGather { bytes } => {
                for side in sides {
                    // SAFETY: share `part` of every target, written by this part alone. In place, both are the same.
                    unsafe { std::ptr::copy(sides[part].src, side.dst.add(bytes * part), bytes) };
                }
            }
            Exchange::AllToAll { bytes, src_runs, dst_runs } => {
                let (from, to) = (bytes / src_runs, bytes / dst_runs);
                // Runs of one side are whole multiples of these pieces, as both divide the part.
                let piece = gcd(from, to);
                let dst = sides[part].dst;
                for (k, side) in sides.iter().enumerate() {
                    for at in (0..bytes).step_by(piece) {
                        let src = ((at / from) * n + part) * from + at % from;
                        let into = ((at / to) * n + k) * to + at % to;
                        // SAFETY: this side's target, which no other part writes and nobody reads, as `src` and `dst` are apart.
                        unsafe {
                            std::ptr::copy_nonoverlapping(side.src.add(src), dst.add(into), piece);
                        }
                    }
                }
            }
        }
    }
}

/// The greatest common divisor.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// # Safety
/// As for [`sum_into`]. The type is a floating-point one, which loading has checked.
unsafe fn sum(sources: &[*mut u8], targets: &[*mut u8], elems: usize, dtype: DType) {
    fn cast<T>(pointers: &[*mut u8]) -> (Vec<*const T>, Vec<*mut T>) {
        pointers.iter().map(|p| (p.cast_const().cast(), p.cast())).unzip()
    }
    match dtype {
        // SAFETY: the caller's promise.
        DType::F32 => unsafe { sum_into::<f32>(&cast(sources).0, &cast(targets).1, elems) },
        // SAFETY: the caller's promise.
        DType::F64 => unsafe { sum_into::<f64>(&cast(sources).0, &cast(targets).1, elems) },
        // SAFETY: the caller's promise.
        DType::Bf16 => unsafe { sum_bf16(&cast(sources).0, &cast(targets).1, elems) },
        DType::I32 => unreachable!("loading refuses sums of {}", dtype.name()),
    }
}

/// Sums in f64, in the order of the sources, rounded once: no better than the type, but the same on every device.
///
/// # Safety
/// As for [`sum_into`].
unsafe fn sum_bf16(sources: &[*const u16], targets: &[*mut u16], elems: usize) {
    for at in 0..elems {
        // SAFETY: element `at` of every source is valid and written by nobody else.
        let value = |source: &*const u16| {
            f64::from(f32::from_bits(u32::from(unsafe { *source.add(at) }) << 16))
        };
        let total = crate::tensor::bf16_bits(sources.iter().map(value).sum());
        for target in targets {
            // SAFETY: element `at` of every target is this part's own; the sources were read.
            unsafe { *target.add(at) = total };
        }
    }
}
