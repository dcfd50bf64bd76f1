//! `verify-dag`: what the verifiers of single operations cannot see.
