//! The instructions by which DeepSpeed's pipeline engine runs 1F1B.
//!
//! Time goes in 2(M+P-1) steps, each a forward or a backward. At step t rank r is in the forward phase of microbatch
//! (t-r)/2 where t-r is even, and else in the backward phase of (t-(2P-1-r))/2; where there is no such microbatch the phase is empty.
//! A forward phase first sends the gradient of the backward before it, then receives its activation; a backward phase first
//! receives its gradient, then sends the activation of the forward before it: so neighbours meet. The first and
//! the last rank load the microbatch, which has the inputs and the labels. Activations live in max(2, min(P-r, M))
//! buffers, taken in turn. The last step ends with the reductions and the optimizer.

use std::fmt;

use super::{Config, Rejected, generate};

/// One instruction; `buffer` numbers the activation buffers of the rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Instruction {
    /// Loads the next microbatch: inputs on the first rank, labels on the last.
    LoadMicroBatch { buffer: u32 },
    /// Runs the forward.
    ForwardPass { buffer: u32 },
    /// Sends the activation to the next rank.
    SendActivation { buffer: u32 },
    /// Receives the activation from the previous rank.
    RecvActivation { buffer: u32 },
    /// Sends the gradient of the input to the previous rank.
    SendGrad { buffer: u32 },
    /// Receives the gradient of the output from the next rank.
    RecvGrad { buffer: u32 },
    /// Runs the backward.
    BackwardPass { buffer: u32 },
    /// Sums the gradients of parameters that several stages share.
    ReduceTiedGrads,
    /// Reduces gradients over the data-parallel copies.
    ReduceGrads,
    /// Updates the parameters.
    OptimizerStep,
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Instruction::LoadMicroBatch { buffer } => write!(f, "LOAD@{buffer}"),
            Instruction::ForwardPass { buffer } => write!(f, "F@{buffer}"),
            Instruction::SendActivation { buffer } => write!(f, "SEND_F@{buffer}"),
            Instruction::RecvActivation { buffer } => write!(f, "RECV_F@{buffer}"),
            Instruction::SendGrad { buffer } => write!(f, "SEND_B@{buffer}"),
            Instruction::RecvGrad { buffer } => write!(f, "RECV_B@{buffer}"),
            Instruction::BackwardPass { buffer } => write!(f, "B@{buffer}"),
            Instruction::ReduceTiedGrads => f.write_str("REDUCE_TIED"),
            Instruction::ReduceGrads => f.write_str("REDUCE_GRAD"),
            Instruction::OptimizerStep => f.write_str("STEP"),
        }
    }
}

/// The instructions of rank `r`, step by step; a step may be empty.
///
/// # Errors
/// As [`generate()`] for `1f1b`.
pub fn instructions(config: &Config, r: u32) -> Result<Vec<Vec<Instruction>>, Rejected> {
    generate("1f1b", config)?;
    let (p, m) = (config.ranks, config.microbatches);
    let last_step = 2 * (m + p - 1) - 1;
    let buffers = m.min(p.saturating_sub(r)).max(2);
    let phase = |t: u32| {
        let is_forward = t % 2 == r % 2;
        let first = if is_forward { r } else { 2 * p - 1 - r };
        let mb = t.checked_sub(first).map(|since| since / 2).filter(|mb| *mb < m);
        (is_forward, mb.map(|mb| mb % buffers))
    };
    let (has_previous, has_next) = (r > 0, r + 1 < p);
    let step = |t: u32| {
        let (is_forward, now) = phase(t);
        let before = t.checked_sub(1).and_then(|t| phase(t).1);
        let mut out = Vec::new();
        if is_forward && has_previous {
            out.extend(before.map(|buffer| Instruction::SendGrad { buffer }));
            out.extend(now.map(|buffer| Instruction::RecvActivation { buffer }));
        }
        if !is_forward && has_next {
            out.extend(now.map(|buffer| Instruction::RecvGrad { buffer }));
            out.extend(before.map(|buffer| Instruction::SendActivation { buffer }));
        }
        if is_forward && !(has_previous && has_next) {
            out.extend(now.map(|buffer| Instruction::LoadMicroBatch { buffer }));
        }
        out.extend(now.map(|buffer| match is_forward {
            true => Instruction::ForwardPass { buffer },
            false => Instruction::BackwardPass { buffer },
        }));
        if t == last_step {
            out.extend([
                Instruction::ReduceTiedGrads,
                Instruction::ReduceGrads,
                Instruction::OptimizerStep,
            ]);
        }
        out
    };
    Ok((0..=last_step).map(step).collect())
}
