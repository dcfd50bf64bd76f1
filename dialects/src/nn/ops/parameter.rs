//! Trainable state.

use piper_ir::interfaces::{Shardable, Trainable};
use piper_ir::text::Parser;
use piper_ir::{AttrConstraint, AttrData, Module, Op, ParseResult, Printer, Reporter, TokenKind};

use crate::nn::factors::factors;
use crate::nn::init::{self, Init};
use crate::nn::signature::Signature;
use crate::nn::types::STORED_REAL;

piper_ir::dialect_ops! {
    /// A trainable tensor, by name.
    ///
    /// Two parameters of one name are one tensor. Initial value number `i` (row-major) is a function of the name and `i`:
    /// `normal<mean, std>`, `uniform<lo, hi>`, `zeros`, `ones` or `constant<value>`.
    ///
    /// ```mlir
    /// %wte = nn.parameter "wte" init = normal<0.0, 0.02> : tensor<256x128xf32>
    /// ```
    Parameter = "nn.parameter" {
        results: { w: one(STORED_REAL) },
        attrs: {
            name: one(AttrConstraint::Str),
            init: one(AttrConstraint::Dialect(init::NAME)),
        },
        traits: [Pure],
        syntax: (parse, print),
        verify: verify,
        interfaces: [Signature::new(&[], &["*"]), Shardable(factors), Trainable { name: |module, op| Parameter(op).name_text(module) }],
    }
}

impl Parameter {
    /// The parameter's name.
    pub fn name_text(self, module: &Module) -> &str {
        self.name(module).as_str(module.ctx()).unwrap_or_default()
    }

    /// How it starts.
    pub fn initializer(self, module: &Module) -> Option<Init> {
        Init::from_attr(module.ctx(), self.init(module))
    }
}

fn parse(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    let name = p.parse_string()?;
    p.expect_keyword("init")?;
    p.expect(TokenKind::Equal, "'=' and a distribution")?;
    let params = init::parse(p)?;
    let init = ctx.attr(AttrData::Dialect { name: ctx.name(init::NAME), params: params.into() });
    let attrs = p.parse_optional_attr_dict()?;
    p.expect(TokenKind::Colon, "':' and the parameter's type")?;
    let ty = p.parse_type()?;
    let state = p.state();
    state.attrs.push((ctx.name("name"), ctx.str_attr(&name)));
    state.attrs.push((ctx.name("init"), init));
    state.attrs.extend(attrs);
    state.result_types.push(ty);
    Ok(())
}

fn print(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    let parameter = Parameter(op);
    p.text(" ");
    p.attr(parameter.name(module));
    p.text(" init = ");
    if let AttrData::Dialect { params, .. } = parameter.init(module).data(ctx) {
        init::print(p, params);
    }
    p.attr_dict(op, &["name", "init"]);
    p.text(" : ");
    p.ty(module.ty(parameter.w(module)));
}

fn verify(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let parameter = Parameter(op);
    if parameter.name_text(module).is_empty() {
        reporter.error(module.op_loc(op), "a parameter needs a name");
    }
    if parameter.initializer(module).is_none() {
        let init = parameter.init(module).display(module.ctx());
        reporter.error(module.op_loc(op), format!("{init} is no distribution"));
    }
}
