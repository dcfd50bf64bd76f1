//! Contributions to outputs, and pieces of state, as messages between processes.

use std::borrow::Cow;

use piper_plan::{BufferId, OutputId};
use piper_runtime::manifest::Stored;

/// Contributions as bytes.
pub(crate) fn pack(stored: &[Stored<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for s in stored {
        let numbers = [u64::from(s.output.0), s.device as u64, u64::from(s.buffer.0), s.part];
        for number in numbers.into_iter().chain([s.bytes.len() as u64]) {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(&*s.bytes);
    }
    bytes
}

/// What [`pack`] made; `None` for anything else.
pub(crate) fn unpack(mut bytes: &[u8]) -> Option<Vec<Stored<'static>>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at_checked(40)?;
        let mut numbers =
            head.chunks_exact(8).map(|n| u64::from_le_bytes(n.try_into().unwrap_or([0; 8])));
        let mut next = || numbers.next().unwrap_or(0);
        let (output, device, buffer, part, length) = (next(), next(), next(), next(), next());
        let (contents, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        all.push(Stored {
            output: OutputId(u32::try_from(output).ok()?),
            device: usize::try_from(device).ok()?,
            buffer: BufferId(u32::try_from(buffer).ok()?),
            part,
            bytes: Cow::Owned(contents.to_vec()),
        });
        bytes = rest;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contributions_survive_the_way() {
        let stored = |part, bytes: &[u8]| Stored {
            output: OutputId(1),
            device: 2,
            buffer: BufferId(3),
            part,
            bytes: Cow::Owned(bytes.to_vec()),
        };
        let packed = pack(&[stored(7, b"abc"), stored(8, b"")]);
        let found = unpack(&packed).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].part, &*found[0].bytes, found[1].part), (7, &b"abc"[..], 8));
        assert!((1..packed.len()).any(|cut| unpack(&packed[..cut]).is_none()));
    }
}
