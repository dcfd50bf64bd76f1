//! A type or attribute that belongs to no context: what `irdl.is` holds.
//!
//! A definition is used by contexts that are made after it, so it cannot keep handles of the one it was read in.

use piper_ir::FloatKind;
use piper_ir::{Attr, AttrData, Context, Signedness, Type, TypeData};

/// A type or attribute as a tree.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Fixed {
    Unit,
    Int(i128, Box<Fixed>),
    Float(u128, Box<Fixed>),
    Str(String),
    Array(Vec<Fixed>),
    Dict(Vec<(String, Fixed)>),
    Symbol(String, Vec<String>),
    DenseArray(Box<Fixed>, Vec<i64>),
    Custom(String, Vec<Fixed>),
    Type(FixedType),
}

/// A type as a tree.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum FixedType {
    Integer(u32, Signedness),
    Float(FloatKind),
    Index,
    None,
    Tensor(Vec<i64>, Box<FixedType>),
    Vector(Vec<i64>, Box<FixedType>),
    Complex(Box<FixedType>),
    Tuple(Vec<FixedType>),
    Function(Vec<FixedType>, Vec<FixedType>),
    Custom(String, Vec<Fixed>),
}

impl Fixed {
    /// The tree of an attribute; `None` for those that are too special to be compared with.
    pub(super) fn of(ctx: &Context, attr: Attr) -> Option<Self> {
        let all = |items: &[Attr]| {
            items.iter().map(|item| Self::of(ctx, *item)).collect::<Option<Vec<_>>>()
        };
        let ty = |ty: Type| FixedType::of(ctx, ty);
        Some(match attr.data(ctx) {
            AttrData::Unit => Self::Unit,
            AttrData::Int { value, ty: t } => Self::Int(*value, Box::new(Self::Type(ty(*t)?))),
            AttrData::Float { pattern, ty: t } => {
                Self::Float(*pattern, Box::new(Self::Type(ty(*t)?)))
            }
            AttrData::Str(text) => Self::Str(text.to_string()),
            AttrData::Array(items) => Self::Array(all(items)?),
            AttrData::Dict(entries) => {
                let entry = |(key, value): &(piper_ir::Name, Attr)| {
                    Some((key.text(ctx).to_owned(), Self::of(ctx, *value)?))
                };
                Self::Dict(entries.iter().map(entry).collect::<Option<_>>()?)
            }
            AttrData::Symbol { root, nested } => {
                let nested = nested.iter().map(|name| name.text(ctx).to_owned());
                Self::Symbol(root.text(ctx).to_owned(), nested.collect())
            }
            AttrData::DenseArray { element, values } => {
                Self::DenseArray(Box::new(Self::Type(ty(*element)?)), values.to_vec())
            }
            AttrData::Dialect { name, params } => {
                Self::Custom(name.text(ctx).to_owned(), all(params)?)
            }
            AttrData::Type(t) => Self::Type(ty(*t)?),
            _ => return None,
        })
    }

    /// The attribute in a context.
    pub(super) fn attr(&self, ctx: &Context) -> Attr {
        let all = |items: &[Self]| items.iter().map(|item| item.attr(ctx)).collect::<Box<[Attr]>>();
        ctx.attr(match self {
            Self::Unit => return ctx.unit(),
            Self::Int(value, ty) => AttrData::Int { value: *value, ty: ty.ty(ctx) },
            Self::Float(pattern, ty) => AttrData::Float { pattern: *pattern, ty: ty.ty(ctx) },
            Self::Str(text) => return ctx.str_attr(text),
            Self::Array(items) => AttrData::Array(all(items)),
            Self::Dict(entries) => {
                let entries = entries.iter().map(|(key, value)| (ctx.name(key), value.attr(ctx)));
                return ctx.dict_attr(entries);
            }
            Self::Symbol(root, nested) => AttrData::Symbol {
                root: ctx.name(root),
                nested: nested.iter().map(|name| ctx.name(name)).collect(),
            },
            Self::DenseArray(element, values) => {
                AttrData::DenseArray { element: element.ty(ctx), values: values[..].into() }
            }
            Self::Custom(name, params) => {
                AttrData::Dialect { name: ctx.name(name), params: all(params) }
            }
            Self::Type(ty) => return ctx.type_attr(ty.ty(ctx)),
        })
    }

    /// The type that it is; `none` for what is no type.
    fn ty(&self, ctx: &Context) -> Type {
        match self {
            Self::Type(ty) => ty.ty(ctx),
            _ => ctx.none(),
        }
    }
}

impl FixedType {
    fn of(ctx: &Context, ty: Type) -> Option<Self> {
        let one = |ty: &Type| Self::of(ctx, *ty).map(Box::new);
        let all =
            |types: &[Type]| types.iter().map(|ty| Self::of(ctx, *ty)).collect::<Option<Vec<_>>>();
        Some(match ty.data(ctx) {
            TypeData::Integer { width, signedness } => Self::Integer(*width, *signedness),
            TypeData::Float(kind) => Self::Float(*kind),
            TypeData::Index => Self::Index,
            TypeData::None => Self::None,
            TypeData::Tensor { shape, element, encoding: None } => {
                Self::Tensor(shape.to_vec(), one(element)?)
            }
            TypeData::Vector { shape, scalable, element } if scalable.is_empty() => {
                Self::Vector(shape.to_vec(), one(element)?)
            }
            TypeData::Complex(element) => Self::Complex(one(element)?),
            TypeData::Tuple(types) => Self::Tuple(all(types)?),
            TypeData::Function { inputs, results } => Self::Function(all(inputs)?, all(results)?),
            TypeData::Dialect { name, params } => {
                let params = params.iter().map(|param| Fixed::of(ctx, *param));
                Self::Custom(name.text(ctx).to_owned(), params.collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    fn ty(&self, ctx: &Context) -> Type {
        let all = |types: &[Self]| types.iter().map(|ty| ty.ty(ctx)).collect::<Box<[Type]>>();
        ctx.ty(match self {
            Self::Integer(width, signedness) => {
                TypeData::Integer { width: *width, signedness: *signedness }
            }
            Self::Float(kind) => TypeData::Float(*kind),
            Self::Index => TypeData::Index,
            Self::None => TypeData::None,
            Self::Tensor(shape, element) => return ctx.tensor(shape, element.ty(ctx)),
            Self::Vector(shape, element) => TypeData::Vector {
                shape: shape[..].into(),
                scalable: Box::new([]),
                element: element.ty(ctx),
            },
            Self::Complex(element) => TypeData::Complex(element.ty(ctx)),
            Self::Tuple(types) => TypeData::Tuple(all(types)),
            Self::Function(inputs, results) => {
                TypeData::Function { inputs: all(inputs), results: all(results) }
            }
            Self::Custom(name, params) => TypeData::Dialect {
                name: ctx.name(name),
                params: params.iter().map(|param| param.attr(ctx)).collect(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use piper_ir::text::parse_module;
    use piper_ir::{Context, Reporter, SourceFile};

    use super::Fixed;

    #[test]
    fn an_attribute_is_the_same_in_another_context() {
        const TEXT: &str = "module attributes {t.a = [unit, 3 : i8, 1.5 : f32, \"s\", {k = true}, @a::@b, array<i32: 1, 2>, \
            tensor<4x?xf32>, vector<2xsi8>, tuple<index, none>, (i32) -> complex<f64>, #nn.init<zeros>]} {}";
        let read = |ctx: &Arc<Context>| {
            let mut reporter = Reporter::new(ctx);
            let module = parse_module(ctx, &SourceFile::new("t", TEXT), &mut reporter);
            let module = module.unwrap_or_else(|| panic!("{:?}", reporter.diagnostics()));
            module.attr_by(module.root(), "t.a").expect("an attribute")
        };
        let [a, b] = [(); 2].map(|()| Arc::new(Context::new([crate::nn::dialect()])));
        b.str_attr("so that handles differ");
        let fixed = Fixed::of(&a, read(&a)).expect("nothing special");
        assert_eq!(fixed.attr(&b), read(&b));
        assert_eq!(fixed.attr(&a), read(&a));
    }
}
