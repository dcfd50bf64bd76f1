//! From operations of `irdl` to definitions.

use std::sync::Arc;

use piper_ir::text::Failed;
use piper_ir::{
    Arity, Attr, AttrConstraint, AttrData, AttrDef, Dialect, InferInput, InferTypes, Module, Op,
    OpDef, ParamDef, RegionDef, Reporter, SourceFile, TokenKind, Type, Value, ValueDef,
};
use rustc_hash::FxHashMap;

use super::constraint::{Elements, Rule, Rules, Solution};
use super::fixed::Fixed;
use super::hooks;
use super::ops::{
    AllOf, AnyOf, AnyType, AttributeOp, Attributes, Base, CPred, Is, Operands, OperationOp,
    Parametric, RegionOp, Regions, Results, TypeOp,
};
use super::references::{body, parameters, resolve};
use super::syntax::variadicities;
use super::verify::names;

/// How many constraints one may consist of, counted as often as they are named: checking takes as long as that.
const LARGEST: u64 = 1000;

/// The constraints of an operation, kept in its definition for [`verify`] and [`infer`].
#[derive(Debug)]
pub(super) struct Constraints {
    rules: Arc<Rules>,
    operands: Vec<usize>,
    results: Vec<usize>,
    /// By slot; the slots of segment sizes, which come after, have none.
    attrs: Vec<usize>,
    regions: Vec<RegionRule>,
    /// Result types that an attribute gives, by result.
    pub(super) inferred: Vec<Option<Inferred>>,
}

/// A result type that is not one of the constraints' business.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Inferred {
    /// That of an operand.
    Operand(usize),
    /// This one.
    Type(Fixed),
}

#[derive(Debug)]
struct RegionRule {
    arguments: Option<Vec<usize>>,
    blocks: Option<usize>,
}

/// The dialect that `op` defines.
pub(super) fn dialect(
    module: &Module,
    op: Op,
    source: &SourceFile,
    reporter: &mut Reporter<'_>,
) -> Dialect {
    let name = module.symbol_name(op).unwrap_or_default().to_owned();
    hooks::check_keys(module, op, &["piper.summary"], reporter);
    let mut dialect = Dialect {
        doc: hooks::text(module, op, "piper.summary", reporter).into(),
        ..Dialect::default()
    };
    for inner in body(module, op) {
        let full = format!("{name}.{}", module.symbol_name(inner).unwrap_or_default());
        match module.name_text(inner) {
            TypeOp::NAME => dialect.types.extend(param(module, inner, full, '!', reporter)),
            AttributeOp::NAME => dialect.attrs.extend(param(module, inner, full, '#', reporter)),
            OperationOp::NAME => {
                let def = operation(module, inner, full, source, reporter);
                dialect.ops.extend(def.map(Arc::new));
            }
            _ => {}
        }
    }
    dialect.name = name.into();
    dialect
}

/// The constraints in the body of a definition, with their numbers.
fn rules(
    module: &Module,
    op: Op,
    reporter: &mut Reporter<'_>,
) -> Option<(Arc<Rules>, FxHashMap<Value, usize>)> {
    let ctx = module.ctx();
    let (mut rules, mut numbers) = (Rules::default(), FxHashMap::<Value, usize>::default());
    let mut sizes: Vec<u64> = Vec::new();
    for inner in body(module, op) {
        let args = || numbered(&numbers, module.operands(inner));
        let rule = match module.name_text(inner) {
            AnyType::NAME => Rule::Any,
            Is::NAME => {
                let expected = Is(inner).expected(module);
                Rule::Is(Fixed::of(ctx, expected)?, expected.display(ctx))
            }
            Base::NAME => match Base(inner).base_ref(module) {
                Some(reference) => {
                    let found = resolve(module, inner, reference).ok()?;
                    Rule::Named(found.name, found.is_type)
                }
                None => {
                    let name = Base(inner).base_name(module)?.as_str(ctx)?;
                    let wanted = module.attr_by(inner, super::ELEMENTS);
                    let elements = wanted.and_then(|attr| attr.as_str(ctx));
                    let elements = elements.map(|text| match text {
                        "float" => Elements::Float,
                        _ => Elements::Integer,
                    });
                    match name.split_at(1) {
                        (_, full) if full.starts_with("builtin.") => {
                            Rule::Builtin(name.to_owned(), elements)
                        }
                        (sigil, full) => Rule::Named(full.to_owned(), sigil == "!"),
                    }
                }
            },
            Parametric::NAME => {
                let found = resolve(module, inner, Parametric(inner).base_type(module)).ok()?;
                Rule::Parametric(found.name, found.is_type, args())
            }
            AnyOf::NAME => Rule::AnyOf(args()),
            AllOf::NAME => Rule::AllOf(args()),
            CPred::NAME => {
                reporter
                    .error(module.op_loc(inner), "a predicate in C++ cannot be checked here")
                    .hint(
                        "constrain by the other operations of irdl, or write the dialect in Rust",
                    );
                return None;
            }
            _ => continue,
        };
        let inside = args().iter().fold(1u64, |sum, arg| sum.saturating_add(sizes[*arg]));
        if inside > LARGEST {
            let message = format!("this constraint consists of more than {LARGEST} others");
            reporter.error(module.op_loc(inner), message);
            return None;
        }
        numbers.insert(module.result(inner, 0), rules.0.len());
        rules.0.push(rule);
        sizes.push(inside);
    }
    Some((Arc::new(rules), numbers))
}

/// The numbers of the constraints that these values stand for.
fn numbered(
    numbers: &FxHashMap<Value, usize>,
    values: impl IntoIterator<Item = Value>,
) -> Vec<usize> {
    values.into_iter().filter_map(|value| numbers.get(&value).copied()).collect()
}

/// A type or an attribute.
fn param(
    module: &Module,
    op: Op,
    name: String,
    sigil: char,
    reporter: &mut Reporter<'_>,
) -> Option<ParamDef> {
    hooks::check_keys(module, op, &["piper.summary"], reporter);
    let doc = hooks::text(module, op, "piper.summary", reporter);
    let (rules, numbers) = rules(module, op, reporter)?;
    let (mut params, mut args) = (Vec::new(), Vec::new());
    if let Some(parameters) = parameters(module, op) {
        params = names(module, parameters.0);
        args = numbered(&numbers, parameters.args(module));
    }
    let full = format!("{sigil}{name}");
    let parse = move |p: &mut piper_ir::Parser<'_>| {
        if params.is_empty() {
            return match p.at(TokenKind::Less) {
                true => Err(p.error(format!("{full} has no parameters"))),
                false => Ok(Vec::new()),
            };
        }
        let form = || format!("the form is: {full}<{}>", params.join(", "));
        let ctx = p.ctx();
        let mut solution = rules.solution();
        let mut values: Vec<Attr> = Vec::new();
        let parsed = p.expect(TokenKind::Less, &format!("'<' and {}", params.join(", "))).and_then(|_| {
            p.comma_list(TokenKind::Greater, "',' or '>'", |p| {
                let start = p.token().start;
                let value = p.parse_attribute()?;
                let at = values.len();
                if let (Some(name), Some(rule)) = (params.get(at), args.get(at))
                    && !solution.accepts(ctx, *rule, value)
                {
                    let (wanted, text) = (rules.describe(*rule, "anything"), value.display(ctx));
                    let again = rules.solution().accepts(ctx, *rule, value);
                    let message = match again {
                        true => format!("parameter '{name}' of {full} is {text}, which does not go with those before it"),
                        false => format!("parameter '{name}' of {full} must be {wanted}, but is {text}"),
                    };
                    return Err(p.error_at(start, message));
                }
                values.push(value);
                Ok(())
            })
        });
        if parsed.is_ok() && values.len() == params.len() {
            return Ok(values);
        }
        if parsed.is_ok() {
            let (wanted, count) = (params.len(), values.len());
            let _ = p.error(format!("{full} has {wanted} parameter(s), not {count}"));
        }
        if let Some(error) = p.last_error().filter(|error| error.hint.is_none()) {
            error.hint(form());
        }
        Err(Failed)
    };
    let print = |p: &mut piper_ir::Printer<'_>, params: &[Attr]| {
        if !params.is_empty() {
            p.text("<");
            p.commas(params, |p, param| p.attr(*param));
            p.text(">");
        }
    };
    Some(ParamDef::new(name, doc, parse, print))
}

/// An operation.
fn operation(
    module: &Module,
    op: Op,
    name: String,
    source: &SourceFile,
    reporter: &mut Reporter<'_>,
) -> Option<OpDef> {
    let ctx = module.ctx();
    let (rules, numbers) = rules(module, op, reporter)?;
    let mut def = OpDef::new(name);
    let mut constraints = Constraints {
        rules: Arc::clone(&rules),
        operands: Vec::new(),
        results: Vec::new(),
        attrs: Vec::new(),
        regions: Vec::new(),
        inferred: Vec::new(),
    };
    for part in body(module, op) {
        let numbers = |op: Op| numbered(&numbers, module.operands(op));
        let declared = names(module, part);
        match module.name_text(part) {
            Operands::NAME | Results::NAME => {
                let all = numbers(part);
                let counts = module.attr_by(part, "variadicity");
                let counts = counts.and_then(|attr| variadicities(ctx, attr)).unwrap_or_default();
                let values = declared.into_iter().zip(&all).zip(counts);
                let values = values.map(|((name, rule), count)| ValueDef {
                    name: name.into(),
                    arity: match count {
                        "optional" => Arity::Optional,
                        "variadic" => Arity::Variadic,
                        _ => Arity::One,
                    },
                    constraint: rules.of_type(*rule),
                });
                if module.name_text(part) == Operands::NAME {
                    def.operands.extend(values);
                    constraints.operands = all;
                } else {
                    def.results.extend(values);
                    constraints.results = all;
                }
            }
            Attributes::NAME => {
                constraints.attrs = numbers(part);
                for (name, rule) in declared.into_iter().zip(&constraints.attrs) {
                    let constraint = rules.of_attr(*rule);
                    let required = !matches!(constraint, AttrConstraint::Unit);
                    let attr = AttrDef { name: name.into(), required, constraint, default: None };
                    def.attrs.push(attr);
                }
            }
            Regions::NAME => {
                for (name, value) in declared.into_iter().zip(module.operands(part)) {
                    def.regions.push(RegionDef { name: name.into(), arity: Arity::One });
                    let region = RegionOp(module.defining_op(value)?);
                    let blocks = region.numberOfBlocks(module).and_then(|size| size.as_int(ctx));
                    constraints.regions.push(RegionRule {
                        arguments: region.constrainedArguments(module).map(|_| numbers(region.0)),
                        blocks: blocks.and_then(|blocks| usize::try_from(blocks).ok()),
                    });
                }
            }
            _ => {}
        }
    }
    constraints.inferred = vec![None; def.results.len()];
    let before = reporter.error_count();
    let mut hooks = hooks::Hooks { module, op, source, reporter };
    hooks.read(&mut def, &mut constraints);
    if constraints.determines(&def) {
        def = def.with_interface(InferTypes(infer));
    }
    def.verify = Some(verify);
    def = def.with_interface(constraints).finish();
    let mut hooks = hooks::Hooks { module, op, source, reporter };
    def = hooks.format(def)?;
    (reporter.error_count() == before).then_some(def)
}

impl Constraints {
    /// Whether the operands and attributes leave no choice for the types of the results.
    fn determines(&self, def: &OpDef) -> bool {
        let mut bound = vec![false; self.rules.0.len()];
        for (operand, rule) in def.operands.iter().zip(&self.operands) {
            if operand.arity == Arity::One {
                self.rules.mark_bound(*rule, &mut bound);
            }
        }
        let attrs = def.attrs.iter().zip(&self.attrs).filter(|(attr, _)| attr.required);
        attrs.for_each(|(_, rule)| self.rules.mark_bound(*rule, &mut bound));
        let results = def.results.iter().zip(&self.results).zip(&self.inferred);
        !def.results.is_empty()
            && results.into_iter().all(|((result, rule), inferred)| {
                result.arity == Arity::One
                    && (inferred.is_some() || self.rules.is_determined(*rule, &bound))
            })
    }
}

/// Result types from the constraints.
fn infer(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    let constraints = input.def.interface::<Constraints>().ok_or("it has no constraints")?;
    let (rules, ctx) = (&constraints.rules, input.ctx);
    let mut solution = rules.solution();
    for (group, rule) in constraints.operands.iter().enumerate() {
        for ty in input.group(group) {
            if !solution.accepts(ctx, *rule, ctx.type_attr(*ty)) {
                let name = &input.def.operands[group].name;
                let (wanted, text) = (rules.describe(*rule, "any type"), ty.display(ctx));
                return Err(format!(
                    "operand '{name}' must be {wanted}, and go with the operands before it, but has type {text}"
                ));
            }
        }
    }
    for (attr, rule) in input.def.attrs.iter().zip(&constraints.attrs) {
        if let Some(value) = input.attr(&attr.name) {
            solution.accepts(ctx, *rule, value);
        }
    }
    let results = constraints.results.iter().zip(&constraints.inferred).enumerate();
    let types = results.map(|(i, (rule, inferred))| {
        let found = match inferred {
            Some(Inferred::Operand(group)) => input.group(*group).first().copied(),
            Some(Inferred::Type(fixed)) => fixed.attr(ctx).as_type(ctx),
            None => solution.value(ctx, *rule).and_then(|attr| attr.as_type(ctx)),
        };
        let name = &input.def.results[i].name;
        found.ok_or_else(|| format!("nothing says what type result '{name}' has"))
    });
    types.collect()
}

/// Whether the types and attributes of an operation, each of which meets its constraint, go together.
fn verify(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let Some((def, constraints)) =
        module.def(op).and_then(|def| Some((def, def.interface::<Constraints>()?)))
    else {
        return;
    };
    let mut check =
        Check { module, op, constraints, solution: constraints.rules.solution(), seen: Vec::new() };
    for (i, (operand, rule)) in def.operands.iter().zip(&constraints.operands).enumerate() {
        for value in module.operand_group(op, i) {
            check.ty(*rule, "operand", &operand.name, module.ty(value), reporter);
        }
    }
    for (i, (result, rule)) in def.results.iter().zip(&constraints.results).enumerate() {
        for value in module.result_group(op, i) {
            check.ty(*rule, "result", &result.name, module.ty(value), reporter);
        }
    }
    for (slot, rule) in constraints.attrs.iter().enumerate() {
        if let Some(value) = module.slot(op, slot) {
            check.one(*rule, format!("attribute '{}'", def.attrs[slot].name), value, reporter);
        }
    }
    for ((region, name), rule) in
        module.regions(op).iter().zip(&def.regions).zip(&constraints.regions)
    {
        let blocks = module.blocks(*region).count();
        if let Some(wanted) = rule.blocks.filter(|wanted| *wanted != blocks) {
            let message = format!(
                "region '{}' of '{}' must have {wanted} block(s), but has {blocks}",
                name.name, def.name
            );
            reporter.error(module.op_loc(op), message);
        }
        let Some(arguments) = &rule.arguments else { continue };
        let given = module.first_block(*region).map_or(&[][..], |block| module.args(block));
        if given.len() != arguments.len() {
            let message = format!(
                "region '{}' of '{}' must have {} argument(s), but has {}",
                name.name,
                def.name,
                arguments.len(),
                given.len()
            );
            reporter.error(module.op_loc(op), message);
            continue;
        }
        for (i, (rule, value)) in arguments.iter().zip(given).enumerate() {
            let what = format!("argument {i} of region '{}'", name.name);
            check.one(*rule, what, module.ctx().type_attr(module.ty(*value)), reporter);
        }
    }
}

/// What was checked so far.
struct Check<'m> {
    module: &'m Module,
    op: Op,
    constraints: &'m Constraints,
    solution: Solution<'m>,
    seen: Vec<(usize, String, Attr)>,
}

impl Check<'_> {
    fn ty(&mut self, rule: usize, what: &str, name: &str, ty: Type, reporter: &mut Reporter<'_>) {
        self.one(rule, format!("{what} '{name}'"), self.module.ctx().type_attr(ty), reporter);
    }

    fn one(&mut self, rule: usize, what: String, value: Attr, reporter: &mut Reporter<'_>) {
        let (ctx, rules) = (self.module.ctx(), &self.constraints.rules);
        if !self.solution.accepts(ctx, rule, value) {
            let (name, text) = (self.module.name_text(self.op), value.display(ctx));
            let is = if matches!(value.data(ctx), AttrData::Type(_)) { "has type" } else { "is" };
            let other = self
                .seen
                .iter()
                .find(|(seen, _, known)| *known != value && rules.share(*seen, rule));
            let loc = self.module.op_loc(self.op);
            match other {
                Some((seen, other, known)) => {
                    let known = known.display(ctx);
                    let message = format!(
                        "{what} of '{name}' {is} {text}, which does not go with {other}: {known}"
                    );
                    let same =
                        if *seen == rule { "the same" } else { "one that has the same parts" };
                    reporter.error(loc, message).hint(format!(
                        "their constraint is {same}: {}",
                        rules.describe(rule, "any type")
                    ));
                }
                None => {
                    let wanted = rules.describe(rule, "any type");
                    let message = format!("{what} of '{name}' must be {wanted}, but {is} {text}");
                    reporter.error(loc, message);
                }
            }
        }
        self.seen.push((rule, what, value));
    }
}
