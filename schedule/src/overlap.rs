//! Inside a fused pair of an expert-parallel model: in which order its pieces are launched, and on which stream.
//!
//! With `overlap`, `interleaved1f1b` (Megatron-LM's combined 1F1B) and DualPipe pair the forward of one microbatch with
//! the backward of another. A layer is attention, dispatch of tokens to experts, experts (MLP), and combination of their
//! results; dispatch and combine are all-to-all exchanges. Layer i of the forward runs beside layer L-1-i of the backward, so
//! that each exchange of one hides behind computation of the other. The order here is the one Megatron-LM launches and
//! DeepSeek's published profile shows.

use crate::action::{Action, Kind, Slot};

/// A part of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Piece {
    /// Attention with its norms and projections.
    Attention,
    /// Tokens to their experts.
    Dispatch,
    /// The experts' feed-forward network.
    Mlp,
    /// Results back to their tokens, weighted and summed.
    Combine,
}

/// What is computed of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Forward.
    Forward,
    /// Gradient of the input, or, where a piece has no parameters, its whole backward.
    Input,
    /// Gradient of the weights.
    Weight,
}

/// Where a piece runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// Computation.
    Compute,
    /// All-to-all exchange between experts.
    Exchange,
}

/// Order of one layer's forward paired with another's backward, in which pieces are launched; each stream runs its pieces
/// in this order.
pub fn pair_order() -> &'static [(Piece, Direction, Stream)] {
    use Direction::{Forward, Input, Weight};
    use Piece::{Attention, Combine, Dispatch, Mlp};
    use Stream::{Compute, Exchange};
    &[
        (Combine, Input, Exchange),
        (Attention, Forward, Compute),
        (Mlp, Input, Compute),
        (Dispatch, Forward, Exchange),
        (Mlp, Weight, Compute),
        (Dispatch, Input, Exchange),
        (Mlp, Forward, Compute),
        (Combine, Forward, Exchange),
        (Attention, Input, Compute),
        (Attention, Weight, Compute),
    ]
}

/// The layers of a row one by one, as launched: a forward takes the layers of its chunk ascending, a backward
/// descending, and a fused pair takes turns, forward first. `layers` is the number in each chunk; layers are counted from 0
/// within the chunk.
pub fn layer_order(row: &[Slot], layers: u32) -> Vec<(Action, u32)> {
    let layer = |action: &Action, at: u32| {
        (*action, if action.kind == Kind::F { at } else { layers - 1 - at })
    };
    row.iter()
        .flat_map(|slot| {
            (0..layers).flat_map(move |at| slot.actions().iter().map(move |a| layer(a, at)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Direction, Piece, Stream, pair_order};

    fn is_forward(entry: &&(Piece, Direction, Stream)) -> bool {
        entry.1 == Direction::Forward
    }

    #[test]
    fn the_pair_keeps_the_order_of_each_of_its_members() {
        let forward: Vec<Piece> = pair_order().iter().filter(is_forward).map(|e| e.0).collect();
        assert_eq!(forward, [Piece::Attention, Piece::Dispatch, Piece::Mlp, Piece::Combine]);
        let gradients = pair_order().iter().filter(|e| e.1 == Direction::Input).map(|e| e.0);
        assert!(gradients.eq(forward.into_iter().rev()));
    }

    #[test]
    fn a_weight_gradient_follows_the_input_gradient_of_its_piece() {
        let at = |piece, direction| {
            pair_order().iter().position(|e| (e.0, e.1) == (piece, direction)).unwrap()
        };
        for piece in [Piece::Attention, Piece::Mlp] {
            assert!(at(piece, Direction::Input) < at(piece, Direction::Weight));
        }
    }

    #[test]
    fn only_exchanges_leave_the_compute_stream() {
        for (piece, _, stream) in pair_order() {
            let exchanges = matches!(piece, Piece::Dispatch | Piece::Combine);
            assert_eq!(exchanges, *stream == Stream::Exchange, "{piece:?}");
        }
    }
}
