//! Kernels to LLVM: CPU shared objects for plans.
