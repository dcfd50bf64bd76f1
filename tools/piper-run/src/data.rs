//! The training data: bytes of a file are the tokens, the byte after each is its target.
//!
//! Row `r` of step `s` is a window of the text whose position is a hash of (seed, s, r). It does not depend on how the batch
//! is divided, so every strategy sees the same global batch, and a run can begin again at any step.

use std::path::Path;

use crate::{Failure, files};

/// What an input is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The bytes of each row's window.
    Tokens,
    /// The byte after each of them.
    Targets,
}

/// An input of a model that takes data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The input's name.
    pub name: String,
    /// What it gets.
    pub role: Role,
    /// Rows (sequences) of the global batch.
    pub rows: usize,
    /// Tokens of a row.
    pub length: usize,
    /// Values are below this, if the model says so.
    pub vocabulary: Option<u32>,
}

impl Feed {
    /// The feed of an input by its name, role attribute and global shape.
    ///
    /// # Errors
    /// An input that bytes cannot fill.
    pub fn of(
        name: &str,
        role: Option<&str>,
        shape: &[u64],
        is_i32: bool,
    ) -> Result<Self, Failure> {
        let [rows, length] = match *shape {
            [rows, length] => [rows as usize, length as usize],
            _ => [0, 0],
        };
        if !is_i32 || rows == 0 || length == 0 {
            let hint = "inputs are tensor<BATCHxLENGTHxi32>; values computed from them belong into the function";
            return Err(Failure::with_hint(
                format!("input '{name}' cannot be filled with the bytes of a file"),
                hint,
            ));
        }
        let is_target = |text: &str| text.starts_with("target") || text.starts_with("label");
        let role = if role.is_some_and(is_target) || is_target(name) {
            Role::Targets
        } else {
            Role::Tokens
        };
        Ok(Self { name: name.to_owned(), role, rows, length, vocabulary: None })
    }
}

/// A text to train on.
#[derive(Clone, Debug)]
pub struct Corpus {
    name: String,
    bytes: Vec<u8>,
    seed: u64,
}

impl Corpus {
    /// The contents of a file.
    ///
    /// # Errors
    /// A file that cannot be read or is empty.
    pub fn read(path: &Path, seed: u64) -> Result<Self, Failure> {
        Self::of(path.display().to_string(), files::read("data file", path)?, seed)
    }

    /// These bytes. `name` is what messages call them.
    ///
    /// # Errors
    /// No bytes.
    pub fn of(name: impl Into<String>, bytes: Vec<u8>, seed: u64) -> Result<Self, Failure> {
        let name = name.into();
        if bytes.is_empty() {
            return Err(Failure::with_hint(
                format!("data file '{name}' is empty"),
                "its bytes are the tokens: give a text of many sequences",
            ));
        }
        Ok(Self { name, bytes, seed })
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never true; there is no empty corpus.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Checks that the text can fill these inputs.
    ///
    /// # Errors
    /// A text shorter than a sequence and its last target; a byte that the model has no token for.
    pub fn check(&self, feeds: &[Feed]) -> Result<(), Failure> {
        let name = &self.name;
        for feed in feeds {
            let need = feed.length + 1;
            if self.bytes.len() < need {
                let have = self.bytes.len();
                let input = &feed.name;
                return Err(Failure::with_hint(
                    format!(
                        "data file '{name}' has {have} bytes, but a sequence of input '{input}' takes {need} (its last target included)"
                    ),
                    format!("give at least {need} bytes; many times as many to learn anything"),
                ));
            }
            let Some(vocabulary) = feed.vocabulary else { continue };
            if let Some(at) = self.bytes.iter().position(|b| u32::from(*b) >= vocabulary) {
                let (byte, input) = (self.bytes[at], &feed.name);
                let line = 1 + self.bytes[..at].iter().filter(|b| **b == b'\n').count();
                return Err(Failure::with_hint(
                    format!(
                        "data file '{name}' has byte {byte} (0x{byte:02X}) at offset {at}, line {line}, but input '{input}' takes values below {vocabulary}"
                    ),
                    "a vocabulary of 256 takes any file",
                ));
            }
        }
        Ok(())
    }

    /// The values of an input at a step (from 1), row after row. The corpus was [checked](Self::check) for it.
    pub fn fill<'s>(&'s self, step: u64, feed: &Feed) -> impl Iterator<Item = i32> + use<'s> {
        let (length, shift) = (feed.length, usize::from(feed.role == Role::Targets));
        (0..feed.rows).flat_map(move |row| {
            let start = self.start(step, row as u64, length) + shift;
            self.bytes[start..start + length].iter().map(|b| i32::from(*b))
        })
    }

    /// Where a row's window begins.
    fn start(&self, step: u64, row: u64, length: usize) -> usize {
        let mixed =
            [self.seed, step, row].into_iter().fold(0, |hash: u64, part| mixed(hash ^ part));
        let windows = (self.bytes.len() - length) as u64;
        (mixed % windows) as usize
    }
}

/// One step of SplitMix64 (Steele, Lea, Flood 2014): every bit of the input changes every bit of the output.
fn mixed(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(role: Role) -> Feed {
        Feed { name: "tokens".into(), role, rows: 4, length: 8, vocabulary: None }
    }

    #[test]
    fn targets_are_the_tokens_one_further_and_steps_differ() {
        let text: Vec<u8> = (0..200).collect();
        let corpus = Corpus::of("t", text, 3).expect("bytes");
        let tokens: Vec<i32> = corpus.fill(1, &feed(Role::Tokens)).collect();
        let targets: Vec<i32> = corpus.fill(1, &feed(Role::Targets)).collect();
        assert_eq!(tokens.len(), 32);
        assert!(tokens.iter().zip(&targets).all(|(token, target)| token + 1 == *target));
        assert_eq!(tokens, corpus.fill(1, &feed(Role::Tokens)).collect::<Vec<_>>());
        assert_ne!(tokens, corpus.fill(2, &feed(Role::Tokens)).collect::<Vec<_>>());
        let other = Corpus::of("t", (0..200).collect(), 4).expect("bytes");
        assert_ne!(tokens, other.fill(1, &feed(Role::Tokens)).collect::<Vec<_>>());
    }

    #[test]
    fn the_shortest_text_has_one_window() {
        let corpus = Corpus::of("t", (0..9).collect(), 0).expect("bytes");
        corpus.check(&[feed(Role::Tokens)]).expect("long enough");
        let targets: Vec<i32> = corpus.fill(7, &feed(Role::Targets)).collect();
        assert_eq!(targets[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn windows_reach_both_ends() {
        let corpus = Corpus::of("t", (0..20).collect(), 0).expect("bytes");
        let firsts = |step| corpus.fill(step, &feed(Role::Tokens)).step_by(8).collect::<Vec<_>>();
        let mut seen: Vec<i32> = (1..100).flat_map(firsts).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let short = Corpus::of("short.txt", vec![1; 8], 0).expect("bytes");
        let said = short.check(&[feed(Role::Tokens)]).expect_err("too short").to_string();
        assert!(said.contains("has 8 bytes") && said.contains("takes 9"), "{said}");
        let feed = Feed { vocabulary: Some(128), ..feed(Role::Tokens) };
        let odd = Corpus::of("odd.txt", b"abc\ndef\xC3 and so on".to_vec(), 0).expect("bytes");
        let said = odd.check(&[feed]).expect_err("no such token").to_string();
        assert!(
            said.contains("0xC3") && said.contains("line 2") && said.contains("below 128"),
            "{said}"
        );
        assert!(Corpus::of("e", vec![], 0).is_err());
        assert!(Feed::of("x", Some("data"), &[2, 3, 4], true).is_err());
        assert!(Feed::of("x", Some("data"), &[2, 3], false).is_err());
        assert_eq!(
            Feed::of("y", Some("targets"), &[2, 3], true).expect("a feed").role,
            Role::Targets
        );
    }
}
