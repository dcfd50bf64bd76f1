//! Parameters and optimizer state: logical tensors, where their elements live, and how they begin.
//!
//! The manifest speaks of *logical* tensors only, so that initial values, checkpoints and comparisons are the same under
//! every strategy. A tensor has *homes*: buffers of programs that hold some or all of its elements. Replicas are several
//! devices with the same home; shards are devices that hold different parts of one flat, padded bucket.

use crate::init::Init;
use crate::mesh::{Affine, CommId};
use crate::schema::{BufferId, DType, Plan, ProgramId};
use serde::{Deserialize, Serialize};

/// All state that persists between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct States {
    /// The logical tensors. Elements of persistent buffers that no home covers (padding) begin as zero bytes.
    pub tensors: Vec<State>,
}

/// One logical state tensor: a parameter, a moment, a running statistic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Its name, e.g. `wte` or `wte.m`; also the key of its initial values.
    pub name: String,
    /// Logical (unsharded) shape.
    pub shape: Vec<u64>,
    /// Element type.
    pub dtype: DType,
    /// Initial values.
    pub init: Init,
    /// Where its elements live. Several homes of one element hold equal values between steps.
    pub homes: Vec<Home>,
}

/// A buffer that holds elements of a logical tensor, on every device that runs its program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    /// The program.
    pub program: ProgramId,
    /// Its buffer, of the tensor's element type.
    pub buffer: BufferId,
    /// If present, the buffer is one of several equal parts of a bucket.
    pub shard: Option<Shard>,
    /// Which elements lie where in the bucket.
    pub pieces: Vec<Piece>,
}

/// The buffer is part `k` of a bucket, `k` being the device's position in a communicator: with `e` elements in the buffer, it
/// holds bucket elements `k*e .. (k+1)*e`. A bucket with no shard is the buffer itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// The communicator whose member order numbers the parts.
    pub comm: CommId,
}

/// `count` runs of `len` elements: run `i` is tensor elements `start + i*step ..` and bucket elements `bucket + i*len ..`.
///
/// One run covers whole tensors and flat ranges; several cover a slice of an inner dimension (`start` then depends on the
/// device's coordinate).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// First tensor element (row-major).
    pub start: Affine,
    /// Distance between the runs' first tensor elements; unused for one run.
    pub step: u64,
    /// First bucket element.
    pub bucket: u64,
    /// Elements in a run.
    pub len: u64,
    /// Number of runs.
    pub count: u64,
}

impl Piece {
    /// A whole tensor of `len` elements that begins at bucket element `bucket`.
    pub fn whole(len: u64, bucket: u64) -> Piece {
        Piece { start: Affine::constant(0), step: 0, bucket, len, count: 1 }
    }
}

/// A run of elements of a tensor that a certain device holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First tensor element.
    pub tensor: u64,
    /// First buffer element.
    pub buffer: u64,
    /// Number of elements.
    pub len: u64,
}

impl Home {
    /// Which part of the bucket a device holds: its position in the shard's communicator, 0 without one. `None` if the
    /// device is not in the communicator.
    pub fn part_of(&self, plan: &Plan, device: usize) -> Option<u64> {
        let Some(shard) = self.shard else { return Some(0) };
        let group = plan.mesh().group(device, &plan.comms[shard.comm.index()]);
        group.iter().position(|&member| member == device).map(|at| at as u64)
    }

    /// The runs that a device at `coord` holds in a buffer of `elems` elements, if it has part `shard_index` of the bucket
    /// (0 for an unsharded home).
    pub fn runs(&self, coord: &[u32], shard_index: u64, elems: u64) -> Vec<Run> {
        self.runs_within(coord, shard_index * elems, (shard_index + 1) * elems)
    }

    /// The runs of bucket elements `low..high` at `coord`; their buffer elements are counted from `low`.
    pub(crate) fn runs_within(&self, coord: &[u32], low: u64, high: u64) -> Vec<Run> {
        let mut runs = Vec::new();
        for piece in &self.pieces {
            let start = piece.start.at(coord);
            for i in 0..piece.count {
                let bucket = piece.bucket + i * piece.len;
                let (from, to) = (bucket.max(low), (bucket + piece.len).min(high));
                if from < to {
                    runs.push(Run {
                        tensor: start + i * piece.step + (from - bucket),
                        buffer: from - low,
                        len: to - from,
                    });
                }
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_across_a_shard_boundary_is_cut_there() {
        let home = Home {
            program: ProgramId(0),
            buffer: BufferId(0),
            shard: Some(Shard { comm: CommId(0) }),
            pieces: vec![Piece::whole(6, 3)],
        };
        assert_eq!(home.runs(&[], 0, 5), [Run { tensor: 0, buffer: 3, len: 2 }]);
        assert_eq!(home.runs(&[], 1, 5), [Run { tensor: 2, buffer: 0, len: 4 }]);
    }

    #[test]
    fn columns_are_runs_with_a_step() {
        let start = Affine { base: 0, strides: vec![(crate::AxisId(0), 2)] };
        let home = Home {
            program: ProgramId(0),
            buffer: BufferId(0),
            shard: None,
            pieces: vec![Piece { start, step: 4, bucket: 0, len: 2, count: 2 }],
        };
        let expected = [Run { tensor: 2, buffer: 0, len: 2 }, Run { tensor: 6, buffer: 2, len: 2 }];
        assert_eq!(home.runs(&[1], 0, 4), expected);
    }
}
