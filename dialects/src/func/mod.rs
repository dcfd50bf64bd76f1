//! Functions, as MLIR's `func` dialect has them: the generic form is the same, so `mlir-opt` reads and checks what Piper
//! prints.
//!
//! **Argument attributes.** MLIR allows only attributes with a dialect prefix on arguments. What Piper itself says of an
//! argument (`role`, `batch_dim`) is therefore stored as `piper.role`; the custom form writes it without the prefix, and
//! [`arg_attr`] takes the short name.

pub mod declared;
pub(crate) mod syntax;
pub(crate) mod verify;

use piper_ir::interfaces::{Callable, ReturnLike};
use piper_ir::{Attr, AttrConstraint, Block, Dialect, Module, Op, Trait, Type, TypeConstraint};

use crate::strategy::{TAGS, merge, tags_attr};

/// Prefix of the argument attributes that are written without one.
pub const PREFIX: &str = "piper.";

piper_ir::dialect_ops! {
    /// A function: a name, argument and result types, and a body unless it is only declared.
    ///
    /// Arguments may carry attributes; those without a dialect prefix belong to `piper`. A function without a body is private.
    ///
    /// ```mlir module
    /// func.func @loss(%tokens: tensor<16x64xi32> {role = "data", batch_dim = 0}, %x: tensor<f32>) -> tensor<f32> {
    ///   func.return %x : tensor<f32>
    /// }
    /// func.func private @elsewhere(tensor<4xf32>) -> (tensor<f32>, tensor<f32>)
    /// ```
    ///
    /// A declaration with a `cost` can be planned, verified and simulated before it is written; see `nn.opaque`. `cost` is for the
    /// shapes as declared, `vjp` has the costs of the two halves of the gradient and what is saved for it.
    ///
    /// ```mlir module
    /// func.func private @mlp(tensor<16x8xbf16> {batch_dim = 0}, tensor<8x32xbf16> {shard_dim = 1}) -> (tensor<16x8xbf16> {batch_dim = 0, shard_sum})
    ///   attributes {cost = {flops = 1.6e4}, vjp = {input = {flops = 1.6e4}, weight = {flops = 1.6e4}, saved = {operands = [0, 1]}}}
    /// ```
    Func = "func.func" {
        attrs: {
            sym_name: one(AttrConstraint::Str),
            function_type: one(AttrConstraint::Type),
            sym_visibility: optional(AttrConstraint::Enum(&["public", "private", "nested"])),
            arg_attrs: optional(AttrConstraint::Array),
            res_attrs: optional(AttrConstraint::Array),
        },
        regions: { body: one },
        traits: [IsolatedFromAbove, Symbol],
        syntax: (syntax::parse_func, syntax::print_func),
        verify: verify::func,
        interfaces: [Callable::first_region()],
    }

    /// Ends a function and gives its results.
    ///
    /// ```mlir module
    /// func.func @both(%x: tensor<f32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
    ///   func.return %y, %x : tensor<4xf32>, tensor<f32>
    /// }
    /// ```
    Return = "func.return" {
        operands: { operands: many(TypeConstraint::Any) },
        traits: [Terminator, Pure],
        format: "attr-dict ($operands^ `:` type($operands))?",
        verify: verify::returned,
        interfaces: [ReturnLike { branch: Some(crate::cf::branch_to) }],
    }

    /// Calls a function of the same module: `func.call @f(%x) : (T) -> T`.
    ///
    /// ```mlir module
    /// func.func private @block(tensor<4xf32>) -> tensor<4xf32>
    /// func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
    ///   %y = func.call @block(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ///   %z = func.call @block(%y) : (tensor<4xf32>) -> tensor<4xf32>
    ///   func.return %z : tensor<4xf32>
    /// }
    /// ```
    Call = "func.call" {
        operands: { operands: many(TypeConstraint::Any) },
        results: { outputs: many(TypeConstraint::Any) },
        attrs: { callee: one(AttrConstraint::Symbol) },
        syntax: (syntax::parse_call, syntax::print_call),
        verify: verify::call,
        interfaces: [piper_ir::interfaces::Call::by_symbol().telling(pass_tags_on)],
    }
}

/// The dialect.
pub fn dialect() -> Dialect {
    Dialect {
        name: "func".into(),
        doc: "Functions, returns and calls, as in MLIR.".into(),
        ops: op_defs(),
        ..Dialect::default()
    }
}

impl Func {
    /// Argument and result types; empty for a function that does not verify.
    pub fn signature(self, module: &Module) -> (&[Type], &[Type]) {
        module
            .attr_by(self.0, "function_type")
            .and_then(|a| a.as_type(module.ctx()))
            .and_then(|ty| ty.as_function(module.ctx()))
            .unwrap_or((&[], &[]))
    }

    /// The block of a body without control flow; `None` for a declaration and for a body of several blocks.
    pub fn block(self, module: &Module) -> Option<Block> {
        self.entry(module).filter(|block| module.next_block(*block).is_none())
    }

    /// The first block of the body; `None` for a declaration.
    pub fn entry(self, module: &Module) -> Option<Block> {
        module.first_block(*module.regions(self.0).first()?)
    }

    /// The `func.return` at the end of the body.
    pub fn terminator(self, module: &Module) -> Option<Return> {
        module
            .last_op(self.block(module)?)
            .filter(|op| module.name_text(*op) == Return::NAME)
            .map(Return)
    }

    /// Makes the function's type that of its arguments and its return, after either was changed.
    pub fn refresh_type(self, module: &mut Module) {
        let Some(block) = self.block(module) else { return };
        let inputs: Vec<Type> = module.args(block).iter().map(|&v| module.ty(v)).collect();
        let outputs: Vec<Type> = match self.terminator(module) {
            Some(end) => module.operands(end.0).map(|v| module.ty(v)).collect(),
            None => self.signature(module).1.to_vec(),
        };
        let ty = module.ctx().function(&inputs, &outputs);
        let attr = module.ctx().type_attr(ty);
        module.set_attr_by(self.0, "function_type", attr);
    }
}

/// The attribute `name` of argument number `index` of a function: with a dialect prefix as it is, without one it is Piper's own.
pub fn arg_attr(module: &Module, func: Op, index: usize, name: &str) -> Option<Attr> {
    let ctx = module.ctx();
    let dict = *module.attr_by(func, "arg_attrs")?.as_array(ctx)?.get(index)?;
    if name.contains('.') { dict.get(ctx, name) } else { dict.get(ctx, &format!("{PREFIX}{name}")) }
}

/// The attribute `name` of result number `index` of a function; the name is read as by [`arg_attr`].
pub fn res_attr(module: &Module, func: Op, index: usize, name: &str) -> Option<Attr> {
    let ctx = module.ctx();
    let dict = *module.attr_by(func, "res_attrs")?.as_array(ctx)?.get(index)?;
    if name.contains('.') { dict.get(ctx, name) } else { dict.get(ctx, &format!("{PREFIX}{name}")) }
}

/// Sets the attribute `name` of argument number `index` of a function; the name is read as by [`arg_attr`].
pub fn set_arg_attr(module: &mut Module, func: Op, index: usize, name: &str, value: Attr) {
    let ctx = module.ctx_arc();
    let full = if name.contains('.') { name.to_owned() } else { format!("{PREFIX}{name}") };
    let count = Func(func).signature(module).0.len().max(index + 1);
    let mut dicts = module
        .attr_by(func, "arg_attrs")
        .and_then(|a| a.as_array(&ctx))
        .map_or_else(Vec::new, <[Attr]>::to_vec);
    dicts.resize_with(count, || ctx.dict_attr([]));
    let key = ctx.name(&full);
    let mut entries = dicts[index].as_dict(&ctx).unwrap_or(&[]).to_vec();
    entries.retain(|(name, _)| *name != key);
    entries.push((key, value));
    dicts[index] = ctx.dict_attr(entries);
    let attr = ctx.array_attr(dicts);
    module.set_attr_by(func, "arg_attrs", attr);
}

/// The tags of a call go under those of what takes its place.
fn pass_tags_on(module: &mut Module, call: Op, copy: Op) {
    let Some(tags) = tags_attr(module, call) else { return };
    if module.has_trait(copy, Trait::Terminator) {
        return;
    }
    let ctx = module.ctx_arc();
    if let Some(merged) = merge(&ctx, Some(tags), tags_attr(module, copy)) {
        module.set_attr_by(copy, TAGS, merged);
    }
}
