//! Resources: data that stands at the end of a file, outside the operations that refer to it.
//!
//! A `dense_resource<key>` attribute names a blob of the file's `dialect_resources`; tools keep what they like in
//! `external_resources`. A [`Module`](crate::Module) holds both as they were read, and copies share the bytes. Counterpart:
//! MLIR's file metadata dictionary.

use crate::Blob;

/// What stands at the end of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resources {
    /// Blobs that attributes refer to by key: `dialect_resources: { builtin: { key: "0x..." } }`.
    pub blobs: Vec<(Box<str>, ResourceBlob)>,
    /// What tools left, by tool and key, in the order of the text.
    pub external: Vec<(Box<str>, Entries)>,
}

/// Values by key, in the order of the text.
pub type Entries = Vec<(Box<str>, Resource)>;

/// Bytes with the alignment they want in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceBlob {
    /// A power of two, or 0 for none; in bytes.
    pub alignment: u32,
    /// The data without the four bytes that say the alignment.
    pub data: Blob,
}

/// An entry of `external_resources`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Resource {
    /// `"0x<alignment><data>"`
    Blob(ResourceBlob),
    /// `true`
    Bool(bool),
    /// `"text"`
    Text(Box<str>),
}

impl Resources {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.blobs.is_empty() && self.external.is_empty()
    }

    /// The blob of a key.
    pub fn blob(&self, key: &str) -> Option<&ResourceBlob> {
        self.blobs.iter().find(|(known, _)| **known == *key).map(|(_, blob)| blob)
    }

    /// Sets the blob of a key.
    pub fn set_blob(&mut self, key: &str, blob: ResourceBlob) {
        match self.blobs.iter_mut().find(|(known, _)| **known == *key) {
            Some((_, known)) => *known = blob,
            None => self.blobs.push((key.into(), blob)),
        }
    }
}
