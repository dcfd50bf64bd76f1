//! The constraints of a definition, and whether types and attributes meet them.
//!
//! A constraint is a node of a graph; what it holds for is *one* type or attribute, however often it is named. So checking
//! an operation is solving for the nodes: the first value that a node is asked about binds it, and later ones must be the
//! same. An `any_of` binds the first of its alternatives that holds and does not go back on it, as in MLIR.

use piper_ir::{
    Attr, AttrConstraint, AttrData, AttrPredicate, Context, TypeConstraint, TypeData, TypePredicate,
};
use std::sync::Arc;

use super::fixed::Fixed;
use super::references::is_builtin;

/// One constraint; numbers are those of other ones in [`Rules`].
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Rule {
    Any,
    Is(Fixed, String),
    /// A built-in type or attribute (`"!builtin.tensor"`), and of which elements it is to be.
    Builtin(String, Option<Elements>),
    /// A defined type (`true`) or attribute, whatever its parameters.
    Named(String, bool),
    /// The same with these parameters.
    Parametric(String, bool, Vec<usize>),
    AnyOf(Vec<usize>),
    AllOf(Vec<usize>),
}

/// Elements of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Elements {
    Float,
    Integer,
}

/// The constraints of one definition.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Rules(pub(super) Vec<Rule>);

/// Values for constraints, as far as they are known.
#[derive(Clone, Debug)]
pub(super) struct Solution<'r> {
    rules: &'r Rules,
    bound: Vec<Option<Attr>>,
}

impl Rules {
    /// Nothing known yet.
    pub(super) fn solution(&self) -> Solution<'_> {
        Solution { rules: self, bound: vec![None; self.0.len()] }
    }

    /// What a constraint asks for, as it stands after "must be".
    pub(super) fn describe(&self, at: usize, any: &str) -> String {
        let list = |items: &[usize], any: &str, word: &str| {
            let items: Vec<String> = items.iter().map(|item| self.describe(*item, any)).collect();
            items.join(word)
        };
        match &self.0[at] {
            Rule::Any => any.to_owned(),
            Rule::Is(_, text) => text.clone(),
            Rule::Builtin(name, elements) => match (elements, name.as_str()) {
                (Some(Elements::Float), _) => TypeConstraint::FloatTensor.describe().into_owned(),
                (Some(Elements::Integer), _) => TypeConstraint::IntTensor.describe().into_owned(),
                (None, "!builtin.tensor") => TypeConstraint::Tensor.describe().into_owned(),
                (None, name) => name.to_owned(),
            },
            Rule::Named(name, is_type) => format!("{}{name}", sigil(*is_type)),
            Rule::Parametric(name, is_type, args) if args.is_empty() => {
                format!("{}{name}", sigil(*is_type))
            }
            Rule::Parametric(name, is_type, args) => {
                format!("{}{name}<{}>", sigil(*is_type), list(args, "_", ", "))
            }
            Rule::AnyOf(items) => list(items, any, " or "),
            Rule::AllOf(items) => list(items, any, " and "),
        }
    }

    /// The constraint as a rule for one type.
    pub(super) fn of_type(self: &Arc<Self>, at: usize) -> TypeConstraint {
        match &self.0[at] {
            Rule::Any => TypeConstraint::Any,
            Rule::Builtin(name, None) if name == "!builtin.tensor" => TypeConstraint::Tensor,
            Rule::Builtin(_, Some(Elements::Float)) => TypeConstraint::FloatTensor,
            Rule::Builtin(_, Some(Elements::Integer)) => TypeConstraint::IntTensor,
            _ => {
                let rules = Arc::clone(self);
                let accepts =
                    move |ctx: &Context, ty| rules.solution().accepts(ctx, at, ctx.type_attr(ty));
                TypeConstraint::Made(TypePredicate::new(self.describe(at, "any type"), accepts))
            }
        }
    }

    /// The constraint as a rule for one attribute. Common ones are those that formats know how to write.
    pub(super) fn of_attr(self: &Arc<Self>, at: usize) -> AttrConstraint {
        match &self.0[at] {
            Rule::Any => return AttrConstraint::Any,
            Rule::Is(Fixed::Unit, _) => return AttrConstraint::Unit,
            Rule::Is(Fixed::Type(_), _) => {}
            Rule::Builtin(name, None) => match name.as_str() {
                "#builtin.array" => return AttrConstraint::Array,
                "#builtin.dictionary" => return AttrConstraint::Dict,
                "#builtin.float" => return AttrConstraint::Float,
                "#builtin.integer" => return AttrConstraint::Int,
                "#builtin.string" => return AttrConstraint::Str,
                "#builtin.type" => return AttrConstraint::Type,
                "#builtin.unit" => return AttrConstraint::Unit,
                _ => {}
            },
            _ => {}
        }
        let rules = Arc::clone(self);
        let accepts = move |ctx: &Context, attr| rules.solution().accepts(ctx, at, attr);
        AttrConstraint::Made(AttrPredicate::new(self.describe(at, "any attribute"), accepts))
    }

    /// Marks what is known once a constraint is met.
    pub(super) fn mark_bound(&self, at: usize, bound: &mut [bool]) {
        if std::mem::replace(&mut bound[at], true) {
            return;
        }
        if let Rule::Parametric(_, _, items) | Rule::AllOf(items) = &self.0[at] {
            items.iter().for_each(|item| self.mark_bound(*item, bound));
        }
    }

    /// Whether only one type or attribute can meet a constraint, once these are known.
    pub(super) fn is_determined(&self, at: usize, bound: &[bool]) -> bool {
        bound[at]
            || match &self.0[at] {
                Rule::Is(..) => true,
                Rule::Parametric(_, _, args) => {
                    args.iter().all(|arg| self.is_determined(*arg, bound))
                }
                Rule::AllOf(items) => items.iter().any(|item| self.is_determined(*item, bound)),
                Rule::AnyOf(items) => items.len() == 1 && self.is_determined(items[0], bound),
                _ => false,
            }
    }

    /// Whether two constraints have one in common that their types depend on.
    pub(super) fn share(&self, a: usize, b: usize) -> bool {
        let [mut of_a, mut of_b] = [(); 2].map(|()| vec![false; self.0.len()]);
        self.mark_bound(a, &mut of_a);
        self.mark_bound(b, &mut of_b);
        of_a.iter().zip(&of_b).any(|(a, b)| *a && *b)
    }
}

fn sigil(is_type: bool) -> char {
    if is_type { '!' } else { '#' }
}

impl Solution<'_> {
    /// Whether `attr` meets a constraint together with all that was accepted before; then it is known.
    pub(super) fn accepts(&mut self, ctx: &Context, at: usize, attr: Attr) -> bool {
        if let Some(known) = self.bound[at] {
            return known == attr;
        }
        let rules = self.rules;
        let is_met = match &rules.0[at] {
            Rule::Any => true,
            Rule::Is(fixed, _) => fixed.attr(ctx) == attr,
            Rule::Builtin(name, elements) => {
                is_builtin(ctx, attr, name) && elements.is_none_or(|e| has_elements(ctx, attr, e))
            }
            Rule::Named(name, is_type) => {
                parameters(ctx, attr).is_some_and(|(n, ty, _)| n == name && ty == *is_type)
            }
            Rule::Parametric(name, is_type, args) => {
                parameters(ctx, attr).is_some_and(|(found, ty, params)| {
                    found == name
                        && ty == *is_type
                        && params.len() == args.len()
                        && args
                            .iter()
                            .zip(params)
                            .all(|(arg, param)| self.accepts(ctx, *arg, *param))
                })
            }
            Rule::AnyOf(items) => items.iter().any(|item| {
                let before = self.bound.clone();
                let is_met = self.accepts(ctx, *item, attr);
                if !is_met {
                    self.bound = before;
                }
                is_met
            }),
            Rule::AllOf(items) => items.iter().all(|item| self.accepts(ctx, *item, attr)),
        };
        if is_met {
            self.bound[at] = Some(attr);
        }
        is_met
    }

    /// The one type or attribute that meets a constraint, if it follows from what is known.
    pub(super) fn value(&self, ctx: &Context, at: usize) -> Option<Attr> {
        if let Some(known) = self.bound[at] {
            return Some(known);
        }
        match &self.rules.0[at] {
            Rule::Is(fixed, _) => Some(fixed.attr(ctx)),
            Rule::Parametric(name, is_type, args) => {
                let params: Option<Box<[Attr]>> =
                    args.iter().map(|arg| self.value(ctx, *arg)).collect();
                let (name, params) = (ctx.name(name), params?);
                Some(match is_type {
                    true => ctx.type_attr(ctx.ty(TypeData::Dialect { name, params })),
                    false => ctx.attr(AttrData::Dialect { name, params }),
                })
            }
            Rule::AllOf(items) => items.iter().find_map(|item| self.value(ctx, *item)),
            Rule::AnyOf(items) if items.len() == 1 => self.value(ctx, items[0]),
            _ => None,
        }
    }
}

/// Name and parameters of a dialect's type (`true`) or attribute.
fn parameters(ctx: &Context, attr: Attr) -> Option<(&str, bool, &[Attr])> {
    match attr.data(ctx) {
        AttrData::Dialect { name, params } => Some((name.text(ctx), false, params)),
        AttrData::Type(ty) => match ty.data(ctx) {
            TypeData::Dialect { name, params } => Some((name.text(ctx), true, params)),
            _ => None,
        },
        _ => None,
    }
}

fn has_elements(ctx: &Context, attr: Attr, wanted: Elements) -> bool {
    let wanted = match wanted {
        Elements::Float => TypeConstraint::FloatTensor,
        Elements::Integer => TypeConstraint::IntTensor,
    };
    attr.as_type(ctx).is_some_and(|ty| wanted.accepts(ctx, ty))
}
