//! Piper's dialects: definitions, verifiers, textual formats, interfaces. No passes.
