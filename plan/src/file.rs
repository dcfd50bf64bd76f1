//! The `.pplan` file.
//!
//! ```text
//! magic     8 bytes   89 'P' 'P' 'L' 'A' 'N' 0D 0A   (the last two show text-mode transfers)
//! version   u32       6
//! target    u16 length, then that many bytes of UTF-8: the triple of the code, empty = any
//! length    u64       of the body
//! checksum  u64       FNV-1a of the body
//! body      the Plan, in postcard's encoding (serde, varints)
//! ```
//!
//! Integers are little-endian. Any change to the schema changes the version: bodies are not self-describing.

use crate::init::fnv1a64;
use crate::schema::Plan;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"\x89PPLAN\r\n";

/// The format version that this build writes, and the only one it reads.
pub const VERSION: u32 = 6;

/// Why a plan could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system refused.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// It does not begin like a plan.
    #[error("not a plan: the file does not begin with the .pplan signature")]
    NotAPlan,
    /// It ends too early.
    #[error(
        "truncated plan: {have} bytes, {need} needed; the file was cut off, perhaps while being copied"
    )]
    Truncated {
        /// Bytes present.
        have: u64,
        /// Bytes needed, as far as known.
        need: u64,
    },
    /// It is of another format version.
    #[error("plan of format version {found}; this build reads version {VERSION}")]
    Version {
        /// The file's version.
        found: u32,
    },
    /// Its bytes changed after it was written.
    #[error("corrupted plan: {0}")]
    Corrupted(String),
    /// Its checksum is right but its body is no plan.
    #[error("invalid plan: {0}")]
    Invalid(String),
}

/// Why a plan could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {error}", path.display())]
pub struct WriteError {
    /// Which file.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub error: io::Error,
}

impl Plan {
    /// The contents of a `.pplan` file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let body =
            postcard::to_stdvec(self).expect("plans hold nothing that postcard cannot encode");
        let target = self.misc.target.as_bytes();
        let target = &target[..target.len().min(usize::from(u16::MAX))];
        let mut bytes = Vec::with_capacity(body.len() + target.len() + 30);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(target.len() as u16).to_le_bytes());
        bytes.extend_from_slice(target);
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&fnv1a64(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Decodes the contents of a `.pplan` file. The plan is well-formed but not yet verified.
    pub fn from_bytes(bytes: &[u8]) -> Result<Plan, ReadError> {
        let signature = bytes.len().min(MAGIC.len());
        if bytes.is_empty() || bytes[..signature] != MAGIC[..signature] {
            return Err(ReadError::NotAPlan);
        }
        let mut rest = Cursor { bytes, at: MAGIC.len() };
        let version = u32::from_le_bytes(rest.take()?);
        if version != VERSION {
            return Err(ReadError::Version { found: version });
        }
        let target = u16::from_le_bytes(rest.take()?);
        rest.slice(u64::from(target))?;
        let length = u64::from_le_bytes(rest.take()?);
        let checksum = u64::from_le_bytes(rest.take()?);
        let body = rest.slice(length)?;
        if rest.at != bytes.len() {
            return Err(ReadError::Corrupted(format!(
                "{} bytes after its end",
                bytes.len() - rest.at
            )));
        }
        if fnv1a64(body) != checksum {
            return Err(ReadError::Corrupted(
                "its checksum does not match its contents".to_owned(),
            ));
        }
        let (plan, left) = postcard::take_from_bytes::<Plan>(body)
            .map_err(|e| ReadError::Invalid(e.to_string()))?;
        if !left.is_empty() {
            return Err(ReadError::Invalid(format!("{} bytes after the last field", left.len())));
        }
        Ok(plan)
    }

    /// Reads a `.pplan` file.
    pub fn read(path: impl AsRef<Path>) -> Result<Plan, ReadError> {
        let path = path.as_ref();
        let bytes =
            fs::read(path).map_err(|error| ReadError::Io { path: path.to_owned(), error })?;
        Plan::from_bytes(&bytes)
    }

    /// Writes a `.pplan` file: either wholly, or not at all (a temporary file beside it is renamed).
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        let written = fs::File::create(&temporary)
            .and_then(|mut file| file.write_all(&self.to_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, path));
        written.map_err(|error| {
            // Best effort: the error to report is the first one.
            let _ = fs::remove_file(&temporary);
            WriteError { path: path.to_owned(), error }
        })
    }
}

/// Reads fields, knowing how many bytes are missing when they run out.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn slice(&mut self, len: u64) -> Result<&'a [u8], ReadError> {
        let need = (self.at as u64).saturating_add(len);
        if need > self.bytes.len() as u64 {
            return Err(ReadError::Truncated { have: self.bytes.len() as u64, need });
        }
        let slice = &self.bytes[self.at..need as usize];
        self.at = need as usize;
        Ok(slice)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let slice = self.slice(N as u64)?;
        Ok(slice.try_into().expect("slice has the length asked for"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Misc;

    fn plan() -> Plan {
        let misc = Misc { target: "x86_64-unknown-linux-gnu".to_owned(), ..Misc::default() };
        Plan { name: "train".to_owned(), misc, ..Plan::default() }
    }

    #[test]
    fn every_prefix_is_called_truncated_or_no_plan() {
        let bytes = plan().to_bytes();
        assert_eq!(Plan::from_bytes(&bytes).unwrap(), plan());
        for len in 0..bytes.len() {
            let error = Plan::from_bytes(&bytes[..len]).unwrap_err();
            assert!(
                matches!(error, ReadError::Truncated { .. } | ReadError::NotAPlan),
                "{len}: {error}"
            );
            assert_eq!(matches!(error, ReadError::NotAPlan), len == 0);
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = plan().to_bytes();
        let target = MAGIC.len() + 6..MAGIC.len() + 6 + plan().misc.target.len();
        for at in (0..bytes.len()).filter(|at| !target.contains(at)) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            assert!(Plan::from_bytes(&bytes).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_newer_version_says_what_can_be_read() {
        let mut bytes = plan().to_bytes();
        bytes[8] = 9;
        let error = Plan::from_bytes(&bytes).unwrap_err().to_string();
        assert!(
            error.contains("version 9") && error.contains(&format!("reads version {VERSION}")),
            "{error}"
        );
        assert!(matches!(Plan::from_bytes(b"#!/bin/sh"), Err(ReadError::NotAPlan)));
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("piper-plan-{}", std::process::id()));
        fs::create_dir_all(folder.join("taken.pplan/inside")).unwrap();
        assert!(plan().write(folder.join("taken.pplan")).is_err());
        assert!(plan().write(folder.join("missing/x.pplan")).is_err());
        plan().write(folder.join("x.pplan")).unwrap();
        assert_eq!(Plan::read(folder.join("x.pplan")).unwrap(), plan());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(folder).unwrap();
    }
}
