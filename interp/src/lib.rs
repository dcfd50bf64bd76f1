//! Reference interpreters for every level of Piper's IR: the semantics that lowerings are tested against.
