//! What is to be run: the text of a model with its strategy, or a compiled plan.

use std::path::Path;

use piper_plan::{Plan, ReadError};

use crate::{Failure, files};

/// An input file.
#[derive(Debug)]
pub enum Source {
    /// `.pir` text.
    Text {
        /// Its name in locations.
        name: String,
        /// The text.
        text: String,
    },
    /// A `.pplan`, well-formed but not yet verified.
    Plan(Box<Plan>),
}

impl Source {
    /// Reads a file. Bytes that begin with a plan's signature, or a name ending in `.pplan`, make it a plan.
    ///
    /// # Errors
    /// A file that cannot be read, is no text, or is no plan of this version.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = files::read("input", path)?;
        let shown = path.display();
        if bytes.starts_with(b"\x89PPLAN") || path.extension().is_some_and(|e| e == "pplan") {
            let plan = Plan::from_bytes(&bytes)
                .map_err(|error| plan_failure(&shown.to_string(), &error))?;
            return Ok(Self::Plan(Box::new(plan)));
        }
        let name = shown.to_string();
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::Text { name, text }),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let byte = error.as_bytes()[at];
                Err(Failure::with_hint(
                    format!(
                        "'{name}' is neither .pir text nor a plan: byte 0x{byte:02X} at offset {at} is not UTF-8"
                    ),
                    "plans are written by piper-run --compile-only -o FILE.pplan",
                ))
            }
        }
    }
}

fn plan_failure(name: &str, error: &ReadError) -> Failure {
    let hint = match error {
        ReadError::NotAPlan => {
            "plans are written by piper-run --compile-only -o FILE.pplan; text files end in .pir"
        }
        ReadError::Version { .. } => {
            "compile the .pir again with this build, or run it with the build that wrote it"
        }
        _ => "copy the file again, or compile the .pir again",
    };
    Failure::with_hint(format!("'{name}': {error}"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, contents: &[u8]) -> Result<Source, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(name);
        std::fs::write(&path, contents).expect("written");
        Source::read(&path).map_err(|e| e.to_string())
    }

    #[test]
    fn plans_that_are_none_say_why() {
        let whole = Plan::default().to_bytes();
        assert!(matches!(read("a.pplan", &whole), Ok(Source::Plan(_))));
        assert!(matches!(read("a.pir", &whole), Ok(Source::Plan(_))), "known by its signature");
        let said = |name: &str, bytes: &[u8]| read(name, bytes).expect_err("refused");
        assert!(said("a.pplan", &whole[..whole.len() - 3]).contains("truncated plan"));
        assert!(said("a.pplan", &whole[..9]).contains("truncated plan"));
        assert!(said("a.pplan", b"PK\x03\x04 something else").contains("not a plan"));
        assert!(said("a.pplan", b"").contains("not a plan"));
        let mut newer = whole.clone();
        newer[8] = 99;
        let newer = said("a.pplan", &newer);
        assert!(newer.contains("format version 99"), "{newer}");
        assert_eq!(newer.matches("compile").count(), 1, "one piece of advice: {newer}");
        let mut changed = whole.clone();
        *changed.last_mut().expect("a body") ^= 1;
        assert!(said("a.pplan", &changed).contains("checksum"));
        assert!(said("a.pir", b"\xFFabc").contains("0xFF"));
        assert!(matches!(read("a.pir", b"module {}"), Ok(Source::Text { .. })));
    }
}
