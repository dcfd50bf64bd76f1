//! Unshard and reshard: at most so many stages of a rank have their parameters gathered at a time.
//!
//! Before each action the next `active` distinct stages from it on are wanted. Stages held but not wanted are dropped,
//! stages wanted but not held are gathered, in the order of their first use; at the end everything is dropped. A fused pair
//! wants both its stages at once, so one more than `active` may be held. Idle cells are dropped.
//!
//! ```text
//! 0F0 1F0 1B0 0B0   ->   0UNSHARD 1UNSHARD 0F0 1F0 1B0 1RESHARD 0B0 0RESHARD
//! ```

use super::Op;

/// The row with gathers and drops; `active` counts stages and is at least 1.
pub fn unshard(row: &[Op], active: u32) -> Vec<Op> {
    let row: Vec<&Op> = row.iter().filter(|op| **op != Op::Idle).collect();
    let mut out = Vec::with_capacity(row.len());
    let mut held: Vec<u32> = Vec::new();
    for (at, op) in row.iter().enumerate() {
        let wanted = next_stages(&row[at..], active as usize);
        held.retain(|stage| {
            let stays = wanted.contains(stage);
            if !stays {
                out.push(Op::Reshard(*stage));
            }
            stays
        });
        for stage in wanted {
            if !held.contains(&stage) {
                out.push(Op::Unshard(stage));
                held.push(stage);
            }
        }
        out.push((*op).clone());
    }
    out.extend(held.into_iter().map(Op::Reshard));
    out
}

/// Distinct stages from the head of `row` on, in order of first use, until there are `count` of them.
fn next_stages(row: &[&Op], count: usize) -> Vec<u32> {
    let mut found = Vec::new();
    for op in row {
        for action in op.actions() {
            if !found.contains(&action.stage) {
                found.push(action.stage);
            }
        }
        if found.len() >= count {
            break;
        }
    }
    found
}
