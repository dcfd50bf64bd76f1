//! A lit test runner and FileCheck, in process.
