//! The builtin dialect: the module, and the placeholder of values used before their definition.

use crate::text::{ParseResult, Parser, Printer};
use crate::{Dialect, Module, Op, Reporter, TokenKind};

crate::dialect_ops! {
    /// A container of functions, meshes, plans and graphs.
    ///
    /// The outermost operation of a file; implicit if a file has other operations at its top level.
    ///
    /// ```mlir module
    /// module @gpt attributes {piper.source = "train.py"} {
    ///   func.func private @loss(tensor<4xf32>) -> tensor<f32>
    /// }
    /// ```
    ModuleOp = "builtin.module" {
        attrs: {
            sym_name: optional(crate::AttrConstraint::Str),
            sym_visibility: optional(crate::AttrConstraint::Str),
        },
        regions: { body: one },
        traits: [IsolatedFromAbove, SymbolTable, NoTerminator, SingleBlock, GraphRegion],
        syntax: (parse_module, print_module),
        verify: verify_module,
    }

    /// A value that stands for another of a different type, or for one not yet defined.
    ///
    /// Conversions leave these behind when two levels meet; none may be left before code is made.
    ///
    /// ```mlir module
    /// func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    ///   %buffer = builtin.unrealized_conversion_cast %x : tensor<4xf32> to memref<4xf32>
    ///   %back = builtin.unrealized_conversion_cast %buffer : memref<4xf32> to tensor<4xf32>
    ///   func.return %back : tensor<4xf32>
    /// }
    /// ```
    UnrealizedConversionCast = "builtin.unrealized_conversion_cast" {
        operands: { inputs: many(crate::TypeConstraint::Any) },
        results: { outputs: many(crate::TypeConstraint::Any) },
        traits: [Pure],
        format: "($inputs^ `:` type($inputs))? `to` type($outputs) attr-dict",
    }
}

/// The dialect.
pub fn dialect() -> Dialect {
    Dialect {
        name: "builtin".into(),
        doc: "What every module is made of.".into(),
        ops: op_defs(),
        ..Dialect::default()
    }
}

fn parse_module(p: &mut Parser<'_>) -> ParseResult<()> {
    if p.at(TokenKind::At) {
        let name = p.parse_symbol_name()?;
        let attr = p.ctx().str_attr(name.text(p.ctx()));
        p.set_attr("sym_name", attr);
    }
    if p.eat_keyword("attributes") {
        if !p.at(TokenKind::LBrace) {
            return Err(p.expected("'{' and the attributes"));
        }
        p.parse_optional_attributes()?;
    }
    let region = p.parse_body(true, &[])?;
    p.state().regions.push(region);
    Ok(())
}

fn verify_module(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let loc = module.op_loc(op);
    if module.only_block(op).is_some_and(|block| !module.args(block).is_empty()) {
        reporter.error(loc, "the region of a module has no arguments");
    }
    for (name, _) in module.discardable(op) {
        let name = name.text(module.ctx());
        if !name.contains('.') {
            reporter
                .error(loc, format!("attribute '{name}' of a module has no dialect prefix"))
                .hint("attributes of a module belong to a dialect: 'dialect.name'");
        }
    }
}

fn print_module(p: &mut Printer<'_>, op: Op) {
    let module = p.module();
    if module.symbol_name(op).is_some() {
        p.text(" ");
        p.symbol_name(op);
    }
    if module.all_attrs(op).iter().any(|(name, _)| name.text(p.ctx()) != "sym_name") {
        p.text(" attributes");
        p.attr_dict(op, &["sym_name"]);
    }
    p.text(" ");
    p.region(module.regions(op)[0], false);
}
