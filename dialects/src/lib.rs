//! Piper's dialects: definitions, verifiers, textual formats, interfaces. No passes.

#![forbid(unsafe_code)]

pub mod dag;
pub mod func;
pub mod nn;
