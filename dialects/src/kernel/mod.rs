//! The kernel level: what is launched.
//!
//! A `kernel.func` is one launch. Its body is the group of `nn` operations that run fused; what it computes is what they
//! compute, so the reference interpreter of functions is also that of kernels, and every lowering is tested against it.
//! Its kind says which family of machine code it becomes. At the model level a kernel is launched on values
//! (`kernel.launch`), in a device program on buffers (`device.launch`), in the order of its arguments and results.

mod fusion;
mod verify;

use piper_ir::{AttrConstraint as A, Block, Dialect, Module, Op, Type, TypeConstraint as T};

use crate::func::{self, syntax};

pub use fusion::Fusion;

/// The kinds of kernels, as `kernel.func` names them.
pub const KINDS: &[&str] = &[
    "gemm",
    "map",
    "cast",
    "norm",
    "norm_dx",
    "norm_dw",
    "attention",
    "attention_dx",
    "rotary",
    "cross_entropy",
    "cross_entropy_dx",
    "embedding",
    "embedding_dw",
    "sum_rows",
    "dispatch",
    "combine",
    "opaque",
    "opaque_dx",
    "opaque_dw",
];

/// A number that is not negative.
const COUNT: A =
    A::Pred("an integer, 0 or more", |ctx, attr| attr.as_int(ctx).is_some_and(|n| n >= 0));

piper_ir::dialect_ops! {
    /// A kernel: one launch, which runs the operations of its body fused.
    ///
    /// `flops` are floating-point operations (a multiply-add is two, a transcendental function ten); `bytes` is what a launch
    /// must at least move between memory and core; what stands for a declared function (`nn.opaque`) has
    /// what was said of it, which may be nothing, or a time: `cost = {seconds = 1.0e-3}`. `overwrites` lists pairs (result, argument): the result may be written to
    /// the buffer of that argument, which is not read afterwards.
    ///
    /// ```mlir module
    /// kernel.func @gemm0(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {bytes = 896, flops = 2176, kind = "gemm"} {
    ///   %0 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    ///   %1 = nn.gelu %0 : tensor<4x16xf32>
    ///   kernel.return %1 : tensor<4x16xf32>
    /// }
    /// ```
    Func = "kernel.func" {
        attrs: {
            sym_name: one(A::Str),
            function_type: one(A::Type),
            sym_visibility: optional(A::Enum(&["public", "private", "nested"])),
            arg_attrs: optional(A::Array),
            res_attrs: optional(A::Array),
            kind: one(A::Enum(KINDS)),
            flops: optional(COUNT),
            bytes: optional(COUNT),
            overwrites: optional(A::IntArray),
        },
        regions: { body: one },
        traits: [IsolatedFromAbove, Symbol],
        syntax: (syntax::parse_func, syntax::print_func),
        verify: verify::kernel,
    }

    /// Ends a kernel and gives its results.
    ///
    /// ```mlir module
    /// kernel.func @double(%a: tensor<4xf32>) -> tensor<4xf32> attributes {kind = "map"} {
    ///   %b = nn.add %a, %a : tensor<4xf32>
    ///   kernel.return %b : tensor<4xf32>
    /// }
    /// ```
    Return = "kernel.return" {
        operands: { operands: many(T::Any) },
        traits: [Terminator, Pure],
        format: "attr-dict ($operands^ `:` type($operands))?",
        verify: verify::returned,
    }

    /// Launches a kernel on values: `kernel.launch @gemm0(%x, %w) : (T, U) -> V`.
    ///
    /// ```mlir module
    /// kernel.func @double(%a: tensor<4xf32>) -> tensor<4xf32> attributes {kind = "map"} {
    ///   %b = nn.add %a, %a : tensor<4xf32>
    ///   kernel.return %b : tensor<4xf32>
    /// }
    /// func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    ///   %y = kernel.launch @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ///   func.return %y : tensor<4xf32>
    /// }
    /// ```
    Launch = "kernel.launch" {
        operands: { operands: many(T::Any) },
        results: { outputs: many(T::Any) },
        attrs: { callee: one(A::Symbol) },
        traits: [Pure],
        syntax: (syntax::parse_call, syntax::print_call),
        verify: verify::launch,
    }
}

/// The dialect.
pub fn dialect() -> Dialect {
    Dialect {
        name: "kernel".into(),
        doc: "Kernels: fused groups of operations that are launched as one.".into(),
        ops: op_defs(),
        ..Dialect::default()
    }
}

// The head of a kernel is that of a function, attribute by attribute, so it is read through the function's view.
impl Func {
    /// Argument and result types; empty for a kernel that does not verify.
    pub fn signature(self, module: &Module) -> (&[Type], &[Type]) {
        func::Func(self.0).signature(module)
    }

    /// The block of the body; `None` for a declaration.
    pub fn block(self, module: &Module) -> Option<Block> {
        module.only_block(self.0)
    }

    /// The `kernel.return` at the end of the body.
    pub fn terminator(self, module: &Module) -> Option<Return> {
        let last = module.last_op(self.block(module)?)?;
        Return::cast(module, last)
    }

    /// The operations that run fused, without the return.
    pub fn fused(self, module: &Module) -> Vec<Op> {
        let ops = self.block(module).into_iter().flat_map(|block| module.ops(block));
        ops.filter(|op| Return::cast(module, *op).is_none()).collect()
    }
}
