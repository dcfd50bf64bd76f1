//! Piper's passes, one a file, with their analyses.
