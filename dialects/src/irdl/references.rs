//! What `@dialect::@name` stands for: a type or attribute defined in this module, or one that is registered.

use piper_ir::diag::did_you_mean;
use piper_ir::{Attr, AttrData, Module, Op, TypeData};

use super::ops::{AttributeOp, DialectOp, Parameters, TypeOp};

/// A definition that a constraint names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Definition {
    /// `dialect.name`
    pub(super) name: String,
    /// A type, or else an attribute.
    pub(super) is_type: bool,
    /// How many parameters it has, if that is known.
    pub(super) parameters: Option<usize>,
}

/// The dialect around an operation.
pub(super) fn dialect_around(module: &Module, op: Op) -> Option<Op> {
    let mut at = Some(op);
    while let Some(op) = at {
        if DialectOp::cast(module, op).is_some() {
            return Some(op);
        }
        at = module.parent_op(op);
    }
    None
}

/// The operations in the body of a definition.
pub(super) fn body(module: &Module, op: Op) -> Vec<Op> {
    let block = module.regions(op).first().and_then(|region| module.first_block(*region));
    block.map_or_else(Vec::new, |block| module.ops(block).collect())
}

/// The parameters of a type or attribute, if it has any.
pub(super) fn parameters(module: &Module, op: Op) -> Option<Parameters> {
    body(module, op).into_iter().find_map(|inner| Parameters::cast(module, inner))
}

/// What a reference in the body of `from` stands for.
///
/// # Errors
/// What is wrong with it, and what would help.
pub(super) fn resolve(
    module: &Module,
    from: Op,
    reference: Attr,
) -> Result<Definition, (String, Option<String>)> {
    let ctx = module.ctx();
    let text = reference.display(ctx);
    let AttrData::Symbol { root, nested } = reference.data(ctx) else {
        return Err((format!("{text} is no reference"), None));
    };
    let (dialect, name) = match nested[..] {
        [] => {
            let around = dialect_around(module, from).and_then(|op| module.symbol_name(op));
            (around.unwrap_or_default(), root.text(ctx))
        }
        [name] => (root.text(ctx), name.text(ctx)),
        _ => {
            let hint = "write @dialect::@name".to_owned();
            return Err((format!("{text} names more than a dialect and a definition"), Some(hint)));
        }
    };
    let full = format!("{dialect}.{name}");
    let Some(defined) = module.lookup(module.root(), dialect) else {
        let key = ctx.name(&full);
        let (ty, attr) = (ctx.type_def(key), ctx.attr_def(key));
        if ty.is_some() || attr.is_some() {
            return Ok(Definition { name: full, is_type: ty.is_some(), parameters: None });
        }
        let here = module.top_level().into_iter().filter_map(|op| module.symbol_name(op));
        let known = here.chain(ctx.dialects().iter().map(|dialect| &*dialect.name));
        let close = did_you_mean(dialect, known.filter(|name| *name != dialect));
        let message = match ctx.has_dialect(dialect) {
            true => format!("dialect '{dialect}' has no type or attribute '{name}'"),
            false => format!("there is no dialect @{dialect}"),
        };
        return Err((message, close.map(|close| format!("did you mean @{close}::@{name}?"))));
    };
    let Some(op) = module.lookup(defined, name) else {
        let known = body(module, defined).into_iter().filter(|op| is_definition(module, *op));
        let known: Vec<&str> = known.filter_map(|op| module.symbol_name(op)).collect();
        let close = did_you_mean(name, known);
        return Err((
            format!("dialect @{dialect} has no type or attribute @{name}"),
            close.map(|close| format!("did you mean @{dialect}::@{close}?")),
        ));
    };
    if !is_definition(module, op) {
        return Err((format!("{text} is an operation, not a type or an attribute"), None));
    }
    Ok(Definition {
        name: full,
        is_type: TypeOp::cast(module, op).is_some(),
        parameters: Some(parameters(module, op).map_or(0, |p| p.args(module).len())),
    })
}

fn is_definition(module: &Module, op: Op) -> bool {
    TypeOp::cast(module, op).is_some() || AttributeOp::cast(module, op).is_some()
}

/// Types and attributes of MLIR's builtin dialect, as `irdl.base` names them.
pub(super) const BUILTIN: &[&str] = &[
    "!builtin.complex",
    "!builtin.float",
    "!builtin.function",
    "!builtin.index",
    "!builtin.integer",
    "!builtin.memref",
    "!builtin.none",
    "!builtin.tensor",
    "!builtin.tuple",
    "!builtin.unranked_memref",
    "!builtin.unranked_tensor",
    "!builtin.vector",
    "#builtin.affine_map",
    "#builtin.array",
    "#builtin.dense_array",
    "#builtin.dictionary",
    "#builtin.float",
    "#builtin.integer",
    "#builtin.string",
    "#builtin.symbol_ref",
    "#builtin.type",
    "#builtin.unit",
];

/// Whether an attribute (or the type that it is) has one of the names in [`BUILTIN`].
pub(super) fn is_builtin(ctx: &piper_ir::Context, attr: Attr, name: &str) -> bool {
    let data = attr.data(ctx);
    let AttrData::Type(ty) = data else {
        return match name {
            "#builtin.affine_map" => matches!(data, AttrData::AffineMap(_)),
            "#builtin.array" => matches!(data, AttrData::Array(_)),
            "#builtin.dense_array" => matches!(data, AttrData::DenseArray { .. }),
            "#builtin.dictionary" => matches!(data, AttrData::Dict(_)),
            "#builtin.float" => matches!(data, AttrData::Float { .. }),
            "#builtin.integer" => matches!(data, AttrData::Int { .. } | AttrData::WideInt { .. }),
            "#builtin.string" => matches!(data, AttrData::Str(_) | AttrData::TypedStr { .. }),
            "#builtin.symbol_ref" => matches!(data, AttrData::Symbol { .. }),
            "#builtin.unit" => matches!(data, AttrData::Unit),
            _ => false,
        };
    };
    match (name, ty.data(ctx)) {
        ("#builtin.type", _)
        | ("!builtin.complex", TypeData::Complex(_))
        | ("!builtin.float", TypeData::Float(_))
        | ("!builtin.function", TypeData::Function { .. })
        | ("!builtin.index", TypeData::Index)
        | ("!builtin.integer", TypeData::Integer { .. })
        | ("!builtin.memref", TypeData::MemRef { .. })
        | ("!builtin.none", TypeData::None)
        | ("!builtin.tensor", TypeData::Tensor { .. })
        | ("!builtin.tuple", TypeData::Tuple(_))
        | ("!builtin.unranked_memref", TypeData::UnrankedMemRef { .. })
        | ("!builtin.unranked_tensor", TypeData::UnrankedTensor { .. })
        | ("!builtin.vector", TypeData::Vector { .. }) => true,
        // MLIR has a name for each format: !builtin.f32.
        (name, TypeData::Float(kind)) => name.strip_prefix("!builtin.") == Some(kind.spelling()),
        _ => false,
    }
}
