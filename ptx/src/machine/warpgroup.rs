//! `wgmma.mma_async`: products that four warps start together, of matrices in shared memory that descriptors describe, into
//! registers that are in flight until each warp has waited for its group (PTX ISA, "Asynchronous Warpgroup Level Matrix
//! Multiply-Accumulate Instructions").
//!
//! A warp forms its sums when it starts a product. Until it has waited, nobody may write what was read, and the sums may be
//! used by nothing but a further product. What threads write to shared memory goes another way than what products read: a
//! writer has to pass `fence.proxy.async` before it tells others.

use std::collections::VecDeque;

use super::access::{Access, Kind};
use super::block::{Block, Launch, lanes_of};
use crate::ast::Space;
use crate::code::{Lanes, Product, WARP};
use crate::fault::{FaultKind, Trouble, trouble};
use crate::float::{BF16, F16, decode};

/// Warps that multiply together.
const WARPS: usize = 4;
/// Bytes that matrices are read in.
const CHUNK: u32 = 16;

/// A product in flight: its sums, and what it reads.
#[derive(Debug)]
struct Pending {
    sums: Vec<u32>,
    chunks: Vec<u64>,
    step: u32,
}

/// The products of a warp.
#[derive(Debug, Default)]
pub(super) struct Products {
    open: Vec<Pending>,
    groups: VecDeque<Vec<Pending>>,
    has_fenced: bool,
    /// How many it has started, and the last.
    started: (u64, u32),
}

impl Products {
    fn in_flight(&self) -> impl Iterator<Item = &Pending> {
        self.open.iter().chain(self.groups.iter().flatten())
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.in_flight().next().is_some()
    }

    /// Whether a register is a sum of a product in flight.
    pub(super) fn is_sum(&self, register: u32) -> bool {
        self.in_flight().any(|product| product.sums.contains(&register))
    }
}

/// Shared memory as products see it.
#[derive(Debug)]
pub(super) struct Operands {
    /// Warps' products in flight that read each chunk.
    readers: Vec<u16>,
    in_flight: usize,
    /// The thread, plus one, that wrote in a chunk last and has not passed a fence since; by thread, the chunks.
    unfenced: Vec<u16>,
    by_thread: Vec<Vec<u32>>,
}

impl Operands {
    /// Without products in the kernel nothing is kept.
    pub(super) fn new(threads: usize, shared_bytes: usize, has_products: bool) -> Self {
        let (threads, chunks) =
            if has_products { (threads, shared_bytes.div_ceil(CHUNK as usize)) } else { (0, 0) };
        Self {
            readers: vec![0; chunks],
            in_flight: 0,
            unfenced: vec![0; chunks],
            by_thread: vec![Vec::new(); threads],
        }
    }

    pub(super) fn clear(&mut self) {
        self.unfenced.fill(0);
        self.by_thread.iter_mut().for_each(Vec::clear);
    }

    /// Records a write; says whether a product in flight reads there.
    pub(super) fn write(&mut self, thread: usize, offset: u64, bytes: u32) -> bool {
        if self.readers.is_empty() {
            return false;
        }
        let chunk = |at: u64| (at / u64::from(CHUNK)) as usize;
        let mut is_read = false;
        for chunk in chunk(offset)..=chunk(offset + u64::from(bytes) - 1) {
            is_read |= self.readers[chunk] > 0;
            if self.unfenced[chunk] != thread as u16 + 1 {
                self.unfenced[chunk] = thread as u16 + 1;
                self.by_thread[thread].push(chunk as u32);
            }
        }
        is_read
    }

    fn fence(&mut self, thread: usize) {
        for chunk in self.by_thread.get_mut(thread).map(std::mem::take).unwrap_or_default() {
            let writer = &mut self.unfenced[chunk as usize];
            if *writer == thread as u16 + 1 {
                *writer = 0;
            }
        }
    }

    fn count(&mut self, product: &Pending, begins: bool) {
        for &chunk in &product.chunks {
            let readers = &mut self.readers[(chunk / u64::from(CHUNK)) as usize];
            *readers = if begins { readers.saturating_add(1) } else { readers.saturating_sub(1) };
        }
        if begins {
            self.in_flight += 1;
        } else {
            self.in_flight -= 1;
        }
    }
}

/// A matrix in shared memory without swizzling: cores of eight runs of 16 bytes, one after the other. With the contraction
/// along runs the leading offset leads to the next 8 steps and the stride to the next 8 rows (or columns); across them, the
/// leading offset leads to the next 8 steps as well, and those of a core are its runs.
struct Matrix {
    start: u64,
    leading: u64,
    stride: u64,
    is_across: bool,
}

impl Matrix {
    fn of(descriptor: u64, is_across: bool) -> Result<Self, String> {
        let field = |at: u32| (descriptor >> at & 0x3fff) << 4;
        if descriptor >> 62 != 0 {
            return Err("descriptors of swizzled matrices are not supported".into());
        }
        if descriptor >> 49 & 7 != 0 {
            return Err("a matrix that is not swizzled has no base offset".into());
        }
        Ok(Self { start: field(0), leading: field(16), stride: field(32), is_across })
    }

    /// Address of the element at a row (or column) and a step of the contraction.
    fn address(&self, row: u64, step: u64) -> u64 {
        let (run, within) = if self.is_across { (step % 8, row % 8) } else { (row % 8, step % 8) };
        self.start + row / 8 * self.stride + step / 8 * self.leading + 16 * run + 2 * within
    }
}

impl Launch<'_> {
    pub(super) fn proxy_fence(&self, block: &mut Block, w: usize, active: u32) {
        lanes_of(active).for_each(|lane| block.operands.fence(w * WARP + lane));
    }

    pub(super) fn product_fence(&self, block: &mut Block, w: usize) {
        block.warps[w].products.has_fenced = true;
    }

    pub(super) fn product_commit(&self, block: &mut Block, w: usize) {
        let products = &mut block.warps[w].products;
        let group = std::mem::take(&mut products.open);
        products.groups.push_back(group);
    }

    /// Ends products until at most `count` groups are in flight.
    pub(super) fn product_wait(
        &mut self,
        block: &mut Block,
        w: usize,
        count: u32,
    ) -> Result<(), Trouble> {
        while block.warps[w].products.groups.len() > count as usize {
            let group = block.warps[w].products.groups.pop_front().unwrap_or_default();
            let mut ended: Vec<u32> = Vec::new();
            for product in group {
                block.operands.count(&product, false);
                // It read until now: whoever wrote since it began and was not ordered after this races.
                for &chunk in &product.chunks {
                    self.read_chunk(block, w, product.step, chunk)?;
                }
                for &sum in &product.sums {
                    let warp = &mut block.warps[w];
                    if warp.products.is_sum(sum) || ended.contains(&sum) {
                        continue;
                    }
                    ended.push(sum);
                    if warp.written[sum as usize] != 0 {
                        return trouble(FaultKind::EarlyRead, 0, self.overwritten(sum));
                    }
                    warp.written[sum as usize] = u32::MAX;
                }
            }
        }
        Ok(())
    }

    fn overwritten(&self, sum: u32) -> String {
        format!(
            "register {} was written while a product into it was in flight",
            self.code.registers[sum as usize].0
        )
    }

    fn read_chunk(
        &mut self,
        block: &mut Block,
        w: usize,
        step: u32,
        chunk: u64,
    ) -> Result<(), Trouble> {
        let access = Access { w, lane: 0, step, kind: Kind::Read, is_strong: false };
        self.access(block, access, Space::Shared, chunk, CHUNK).map(|_| ())
    }

    pub(super) fn product(
        &mut self,
        block: &mut Block,
        w: usize,
        step: u32,
        active: u32,
        p: &Product,
    ) -> Result<(), Trouble> {
        let group = w / WARPS * WARPS;
        let is_whole = block.warps.get(group..group + WARPS).is_some_and(|warps| {
            let threads: u32 = self.block.iter().product();
            warps.len() == WARPS && threads as usize >= (group + WARPS) * WARP
        });
        if active != u32::MAX || !is_whole {
            let lane = active.trailing_zeros() as usize;
            let message = "all 128 threads of four neighbouring warps have to execute this";
            return trouble(FaultKind::InactiveLanes, lane, message.into());
        }
        if !block.warps[w].products.has_fenced {
            let message = "no wgmma.fence stands between the registers' last use and this product";
            return trouble(FaultKind::Unfenced, 0, message.into());
        }
        let same = |values: Lanes| -> Result<u64, Trouble> {
            match values.iter().position(|value| *value != values[0]) {
                Some(lane) => {
                    let message = "all lanes have to give the same descriptors and scale";
                    trouble(FaultKind::Trap, lane, message.into())
                }
                None => Ok(values[0]),
            }
        };
        let warp = &block.warps[w];
        let [a, b, is_added] =
            [p.a, p.b, p.is_added].map(|source| same(self.value(warp, block.at, source, active)?));
        let is_added = is_added? != 0;
        let matrix = |descriptor: Result<u64, Trouble>, side: usize| {
            Matrix::of(descriptor?, p.is_across[side])
                .or_else(|message| trouble(FaultKind::Trap, 0, message))
        };
        let (a, b) = (matrix(a, 0)?, matrix(b, 1)?);
        let mut chunks = Vec::new();
        let first_row = 16 * (w % WARPS) as u64;
        let left = self.elements(block, w, step, (&a, first_row, 16, p), &mut chunks)?;
        let right = self.elements(block, w, step, (&b, 0, u64::from(p.columns), p), &mut chunks)?;
        let sign = |is_negated: bool| if is_negated { -1.0 } else { 1.0 };
        let sign = sign(p.is_negated[0]) * sign(p.is_negated[1]);
        for (register, &sum) in p.sums.iter().enumerate() {
            let is_sum = block.warps[w].products.is_sum(sum);
            let is_written = block.warps[w].written[sum as usize] != 0;
            if is_sum && is_written {
                return trouble(FaultKind::EarlyRead, 0, self.overwritten(sum));
            }
            let start = match (is_added, is_sum) {
                (false, _) => [0; WARP],
                // A product may follow another into the same sums without waiting.
                (true, true) => block.warps[w].registers[sum as usize],
                (true, false) => {
                    let source = crate::code::Source::Register(sum);
                    self.value(&block.warps[w], block.at, source, active)?
                }
            };
            let values: Lanes = std::array::from_fn(|lane| {
                let row = lane / 4 + 8 * (register / 2 % 2);
                let column = lane % 4 * 2 + register % 2 + 8 * (register / 4);
                let products = left[row].iter().zip(&right[column]);
                let start = f64::from(f32::from_bits(start[lane] as u32));
                let total = products.fold(start, |total, (a, b)| total + sign * a * b);
                u64::from((total as f32).to_bits())
            });
            block.warps[w].write(sum, &values, active);
            // Nobody may read it before it was waited for.
            block.warps[w].written[sum as usize] = 0;
        }
        let pending = Pending { sums: p.sums.clone(), chunks, step };
        block.operands.count(&pending, true);
        let products = &mut block.warps[w].products;
        products.open.push(pending);
        products.started = (products.started.0 + 1, step);
        Ok(())
    }

    /// `count` rows (or columns) of a matrix from one on, 16 steps each.
    fn elements(
        &mut self,
        block: &mut Block,
        w: usize,
        step: u32,
        (matrix, first, count, p): (&Matrix, u64, u64, &Product),
        chunks: &mut Vec<u64>,
    ) -> Result<Vec<[f64; 16]>, Trouble> {
        let mut elements = vec![[0.0; 16]; count as usize];
        let format = if p.is_bf16 { BF16 } else { F16 };
        for (row, elements) in (first..).zip(&mut elements) {
            for (k, element) in (0..).zip(elements) {
                let address = matrix.address(row, k);
                // Runs of 16 bytes are read once each.
                if address.is_multiple_of(u64::from(CHUNK)) {
                    self.read_chunk(block, w, step, address)?;
                    let unfenced = block.operands.unfenced[(address / u64::from(CHUNK)) as usize];
                    if unfenced != 0 {
                        let message = format!(
                            "shared memory at offset {address:#x} was written by thread {} of the block, which has not \
                             passed fence.proxy.async since",
                            unfenced - 1
                        );
                        return trouble(FaultKind::Unfenced, 0, message);
                    }
                    chunks.push(address);
                }
                *element = decode(block.shared.read(address, 2) as u32, format);
            }
        }
        Ok(elements)
    }

    /// Four warps whose numbers of products differ: a GPU would wait for ever.
    pub(super) fn uneven_products(&self, block: &Block) -> Option<(usize, u32, Trouble)> {
        for (number, warps) in block.warps.chunks_exact(WARPS).enumerate() {
            let counts: Vec<u64> = warps.iter().map(|warp| warp.products.started.0).collect();
            let most = *counts.iter().max()?;
            if let Some(late) = counts.iter().position(|count| *count != most) {
                let ahead = counts.iter().position(|count| *count == most).unwrap_or(0);
                let (w, step) = (number * WARPS + ahead, warps[ahead].products.started.1);
                let message = format!(
                    "warp {w} executes {most} products, but warp {} of the same four {}",
                    number * WARPS + late,
                    counts[late]
                );
                return Some((
                    w,
                    step,
                    Trouble { kind: FaultKind::InactiveLanes, lane: 0, message },
                ));
            }
        }
        None
    }
}
