//! Splitting a communicator: all its ranks say a color and a key, and those of one color become a communicator, in the
//! order of their keys.

use crate::abi::{Code, Failure, Handle, Result, refuse};
use crate::communicator::{Communicator, communicator, insert};
use crate::config::{Config, RawConfig};
use crate::failure::{calls, put};
use crate::group;
use crate::inbox::{Absent, Message, Purpose};

/// `NCCL_SPLIT_NOCOLOR`.
const NO_COLOR: i32 = -1;

/// What all ranks said, by rank.
fn exchange(parent: &Communicator, own: (i32, i32)) -> Result<Vec<(i32, i32)>> {
    let mut note = own.0.to_le_bytes().to_vec();
    note.extend(own.1.to_le_bytes());
    let others = || (0..parent.count).filter(|rank| *rank != parent.rank);
    for to in others() {
        parent.send(to, Purpose::Control, Message { note: note.clone(), data: Vec::new() })?;
    }
    let mut all = vec![own; parent.count as usize];
    for from in others() {
        let message = parent.take(from, Purpose::Control).map_err(|absent| {
            let why = match absent {
                Absent::TimedOut => "did not come in time",
                Absent::Gone => "has ended",
                Absent::Aborted => "was given up",
            };
            Failure::new(Code::REMOTE_ERROR, format!("{}: split: rank {from} {why}", parent.name()))
        })?;
        let word = |at: usize| {
            let bytes = message.note.get(at..at + 4).and_then(|b| b.try_into().ok());
            i32::from_le_bytes(bytes.unwrap_or_default())
        };
        all[from as usize] = (word(0), word(4));
    }
    Ok(all)
}

calls! {
    /// Splits; who gives no color gets no communicator.
    fn ncclCommSplit(
        handle: Handle,
        color: i32,
        key: i32,
        to: *mut Handle,
        config: *const RawConfig,
    ) {
        let parent = communicator(handle)?;
        if color < 0 && color != NO_COLOR {
            return refuse(format!("color {color}: expected none (-1), or at least 0"));
        }
        // SAFETY: the caller's structure.
        let given = unsafe { Config::of(config)? };
        let config = if config.is_null() { parent.config } else { given };
        let to_address = to.expose_provenance();
        // SAFETY: the caller's place for the result.
        unsafe { put(to, 0)? };
        group::meet_later(Box::new(move || {
            let number = parent.next_split();
            let all = exchange(&parent, (color, key))?;
            if color == NO_COLOR {
                return Ok(());
            }
            let mut members: Vec<u32> =
                (0..parent.count).filter(|rank| all[*rank as usize].0 == color).collect();
            members.sort_by_key(|rank| (all[*rank as usize].1, *rank));
            let rank = members.iter().position(|member| *member == parent.rank).unwrap_or(0);
            let (parent_number, places) = parent.meeting()?;
            let made =
                Communicator::new(rank as u32, members.len() as u32, parent.device, config);
            let places = members.iter().map(|member| places[*member as usize]).collect();
            made.set_meeting(child(*parent_number, number, color), places);
            let to = std::ptr::with_exposed_provenance_mut(to_address);
            // SAFETY: the caller's place for the result, which lives until the group ends.
            unsafe { put(to, insert(made)) }
        }))
    }
}

/// A number that all members find by themselves, and that no other communicator has (Steele's mix of two halves).
fn child(parent: u128, split: u64, color: i32) -> u128 {
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let salt = split.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (color as u64) << 17;
    let high = mix((parent >> 64) as u64 ^ mix(salt ^ 1));
    let low = mix(parent as u64 ^ mix(salt ^ 2));
    u128::from(high) << 64 | u128::from(low)
}
