//! The `.pplan` file.
/// Why a plan could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {}
