//! Piper's IR core: context, operations as data, types, attributes, text, verifier, diagnostics, pass manager.
