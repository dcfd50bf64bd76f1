//! Tensor core tiles: matrices that the lanes of a warp hold together (PTX ISA, "Matrix Fragments for mma" and
//! "ldmatrix"). Products are exact, and sums are formed in doubles and rounded to a single once; the hardware rounds
//! more often, in an order that it does not state.

use super::access::{Access, Home, Kind};
use super::block::{Block, Flow, Launch};
use crate::code::{Address, Lanes, Source, Tile, WARP};
use crate::fault::{FaultKind, Trouble, trouble};
use crate::float::{BF16, F16, decode};

impl Launch<'_> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn load_matrix(
        &mut self,
        block: &mut Block,
        w: usize,
        step: u32,
        active: u32,
        dst: &[u32],
        is_transposed: bool,
        at: &Address,
    ) -> Result<Flow, Trouble> {
        if !self.meets(block, w, active, Source::Value(u64::from(u32::MAX)))? {
            return Ok(Flow::Meet);
        }
        all_lanes(active)?;
        let addresses = self.addresses(block, w, at, active)?;
        for (matrix, dst) in dst.iter().enumerate() {
            let mut rows = [[0_u64; 8]; 8];
            for (row, elements) in rows.iter_mut().enumerate() {
                // Eight lanes give the addresses of the rows of a matrix.
                let lane = matrix * 8 + row;
                let access = Access { w, lane, step, kind: Kind::Read, is_strong: false };
                let home = self.access(block, access, at.space, addresses[lane], 16)?;
                let Home::Shared(offset) = home else {
                    let message = "the address lies outside of shared memory".to_string();
                    return trouble(FaultKind::OutOfBounds, lane, message);
                };
                for (column, element) in elements.iter_mut().enumerate() {
                    *element = block.shared.read(offset + 2 * column as u64, 2);
                }
            }
            let values: Lanes = std::array::from_fn(|lane| {
                let (row, column) = (lane / 4, lane % 4 * 2);
                match is_transposed {
                    false => rows[row][column] | rows[row][column + 1] << 16,
                    true => rows[column][row] | rows[column + 1][row] << 16,
                }
            });
            block.warps[w].write(*dst, &values, active);
        }
        Ok(Flow::Next)
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn mma(
        &mut self,
        block: &mut Block,
        w: usize,
        active: u32,
        (tile, depth): (Tile, usize),
        d: &[u32],
        a: &[Source],
        b: &[Source],
        c: &[Source],
    ) -> Result<(), Trouble> {
        all_lanes(active)?;
        let values = |sources: &[Source]| {
            sources
                .iter()
                .map(|source| self.value(&block.warps[w], block.at, *source, active))
                .collect::<Result<Vec<_>, _>>()
        };
        let (a, b, c) = (values(a)?, values(b)?, values(c)?);
        let element = |register: u64, part: usize| match tile {
            Tile::F16 => decode((register >> (16 * part)) as u32 & 0xffff, F16),
            Tile::Bf16 => decode((register >> (16 * part)) as u32 & 0xffff, BF16),
            // The hardware does not look at the low thirteen bits.
            Tile::Tf32 => f64::from(f32::from_bits(register as u32 & !0x1fff)),
        };
        // A register holds `packed` neighbours along the depth; registers go over the two halves of the rows first.
        let packed = if tile == Tile::Tf32 { 1 } else { 2 };
        let (mut left, mut right) = ([[0.0; 16]; 16], [[0.0; 8]; 16]);
        for lane in 0..WARP {
            let (group, within) = (lane / 4, lane % 4);
            for (register, lanes) in a.iter().enumerate() {
                for part in 0..packed {
                    let row = group + 8 * (register % 2);
                    let k = within * packed + part + 4 * packed * (register / 2);
                    left[row][k] = element(lanes[lane], part);
                }
            }
            for (register, lanes) in b.iter().enumerate() {
                for part in 0..packed {
                    right[within * packed + part + 4 * packed * register][group] =
                        element(lanes[lane], part);
                }
            }
        }
        for (register, dst) in d.iter().enumerate() {
            let values: Lanes = std::array::from_fn(|lane| {
                let (row, column) = (lane / 4 + 8 * (register / 2), lane % 4 * 2 + register % 2);
                let start = f64::from(f32::from_bits(c[register][lane] as u32));
                let sum = (0..depth).fold(start, |sum, k| sum + left[row][k] * right[k][column]);
                u64::from((sum as f32).to_bits())
            });
            block.warps[w].write(*dst, &values, active);
        }
        Ok(())
    }
}

fn all_lanes(active: u32) -> Result<(), Trouble> {
    if active == u32::MAX {
        return Ok(());
    }
    let lane = active.trailing_zeros() as usize;
    let message =
        format!("all 32 lanes of the warp have to execute this, but only {active:#010x} do");
    trouble(FaultKind::InactiveLanes, lane, message)
}
