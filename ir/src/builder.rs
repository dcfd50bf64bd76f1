//! Building operations by the names of their parts.
//!
//! Every declared operation has a typed builder, a thin shell around [`OpBuilder`]: `Linear::build(&mut b).x(x).w(w).create()?`.
//! What is missing or does not fit is one error that names all of it, so a pass that builds something wrong says what, and
//! where; the verifier would only see the result. Result types are inferred where the operation says how.

use crate::opdef::OpDef;
use crate::{
    Arity, Attr, AttrConstraint, Block, Builder, Context, InferInput, InferTypes, Loc, Name,
    OPERAND_SEGMENTS, Op, OpState, RESULT_SEGMENTS, Region, Trait, Type, Value,
};

/// Why an operation could not be built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuildError {
    /// The operation's name.
    pub op: &'static str,
    /// Everything that is wrong, each with the name of the part.
    pub faults: Vec<String>,
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot build '{}': {}", self.op, self.faults.join("; "))
    }
}

impl std::error::Error for BuildError {}

/// Collects the parts of one operation. Typed builders wrap it; parts are addressed by position in the definition.
#[derive(Debug)]
pub struct OpBuilder<'b, 'm> {
    builder: &'b mut Builder<'m>,
    name: &'static str,
    state: OpState,
    operands: Vec<(usize, Value)>,
    results: Vec<(usize, Type)>,
    attrs: Vec<(usize, Attr)>,
    regions: Vec<(usize, Region)>,
    successors: Vec<(usize, Block)>,
    faults: Vec<String>,
}

impl<'b, 'm> OpBuilder<'b, 'm> {
    /// Begins the operation `name` where `builder` stands.
    pub fn new(builder: &'b mut Builder<'m>, name: &'static str) -> Self {
        let state = builder.state(name);
        Self {
            builder,
            name,
            state,
            operands: Vec::new(),
            results: Vec::new(),
            attrs: Vec::new(),
            regions: Vec::new(),
            successors: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Adds operands to a declared name.
    pub fn operand(&mut self, group: usize, values: impl IntoValues) {
        values.each_value(&mut |value| self.operands.push((group, value)));
    }

    /// Adds result types to a declared name.
    pub fn result(&mut self, group: usize, types: impl IntoTypes) {
        types.each_type(&mut |ty| self.results.push((group, ty)));
    }

    /// Sets a declared attribute.
    pub fn attr(&mut self, slot: usize, value: impl IntoAttr) {
        let constraint =
            self.state.name.def(self.builder.ctx()).map(|def| def.attrs[slot].constraint.clone());
        let constraint = constraint.unwrap_or(AttrConstraint::Any);
        if let Some(value) = value.into_attr(self.builder.ctx(), &constraint) {
            self.attrs.retain(|(known, _)| *known != slot);
            self.attrs.push((slot, value));
        }
    }

    /// Sets an attribute that is not declared.
    pub fn other_attr(&mut self, name: &str, value: impl IntoAttr) {
        let ctx = self.builder.ctx();
        if let Some(value) = value.into_attr(ctx, &AttrConstraint::Any) {
            self.state.attrs.push((ctx.name(name), value));
        }
    }

    /// Adds a region to a declared name and fills its entry block.
    pub fn region(&mut self, group: usize, fill: impl FnOnce(&mut Builder<'_>, Block)) {
        let module = &mut *self.builder.module;
        let region = module.create_region();
        let block = module.add_block(region);
        fill(&mut Builder::at_end(module, block), block);
        self.regions.push((group, region));
    }

    /// Adds a successor to a declared name.
    pub fn successor(&mut self, group: usize, block: Block) {
        self.successors.push((group, block));
    }

    /// Sets the location.
    pub fn loc(&mut self, loc: Loc) {
        self.state.loc = loc;
    }

    /// Creates and inserts the operation.
    ///
    /// # Errors
    /// A dialect that is not registered, a declared part that is missing or given too often, an operand type or attribute
    /// that its constraint refuses, and result types that are not given and cannot be inferred.
    pub fn create(mut self) -> Result<Op, BuildError> {
        let ctx = self.builder.module.ctx_arc();
        match self.state.name.def(&ctx) {
            Some(def) => {
                self.fill_operands(&ctx, def);
                self.fill_attrs(&ctx, def);
                self.fill_results(&ctx, def);
                self.fill_regions(def);
                self.fill_successors(def);
            }
            None => {
                let dialect = self.name.split('.').next().unwrap_or(self.name);
                self.faults.push(format!("dialect '{dialect}' is not registered"));
            }
        }
        if self.faults.is_empty() {
            return Ok(self.builder.insert(self.state));
        }
        Err(BuildError { op: self.name, faults: self.faults })
    }

    /// Creates and inserts an operation with one result, which is returned.
    ///
    /// # Errors
    /// As those of [`create`](Self::create).
    pub fn create_value(self) -> Result<Value, BuildError> {
        let (builder, name) = (self.builder, self.name);
        let parts = OpBuilder { builder: &mut *builder, ..self };
        let op = parts.create()?;
        match builder.module.results(op).next() {
            Some(value) => Ok(value),
            None => Err(BuildError { op: name, faults: vec!["it has no result".into()] }),
        }
    }

    /// Faults of a declared name that stands for `count` things.
    fn check_count(&mut self, what: &str, name: &str, arity: Arity, count: usize) {
        match (arity, count) {
            (Arity::One, 0) => self.faults.push(format!("{what} '{name}' is not given")),
            (Arity::One | Arity::Optional, 2..) => {
                self.faults.push(format!("{what} '{name}' is given {count} times"));
            }
            _ => {}
        }
    }

    fn fill_operands(&mut self, ctx: &Context, def: &OpDef) {
        self.operands.sort_by_key(|(group, _)| *group);
        let mut sizes = Vec::new();
        for (i, operand) in def.operands.iter().enumerate() {
            let count = self.operands.iter().filter(|(group, _)| *group == i).count();
            self.check_count("operand", &operand.name, operand.arity, count);
            sizes.push(count as i64);
        }
        for (group, value) in &self.operands {
            let (operand, ty) = (&def.operands[*group], self.builder.module.ty(*value));
            if !operand.constraint.accepts(ctx, ty) {
                let (name, wanted) = (&operand.name, operand.constraint.describe());
                self.faults.push(format!(
                    "operand '{name}' must be {wanted}, but has type {}",
                    ty.display(ctx)
                ));
            }
        }
        self.state.operands.extend(self.operands.iter().map(|(_, value)| *value));
        self.push_sizes(ctx, def, OPERAND_SEGMENTS, &sizes);
    }

    /// Sets the sizes of groups if the definition has a slot for them.
    fn push_sizes(&mut self, ctx: &Context, def: &OpDef, name: &str, sizes: &[i64]) {
        if def.attr_slot(name).is_some() {
            self.state.attrs.push((ctx.name(name), ctx.i32_array_attr(sizes)));
        }
    }

    fn fill_attrs(&mut self, ctx: &Context, def: &OpDef) {
        for (slot, attr) in def.attrs.iter().enumerate() {
            let name = &attr.name;
            match self.attrs.iter().find(|(given, _)| *given == slot) {
                Some((_, value)) if attr.constraint.accepts(ctx, *value) => {
                    self.state.attrs.push((ctx.name(name), *value));
                }
                Some((_, value)) => {
                    let (wanted, text) = (attr.constraint.describe(), value.display(ctx));
                    self.faults.push(format!("attribute '{name}' must be {wanted}, but is {text}"));
                }
                None if attr.required && !matches!(&**name, OPERAND_SEGMENTS | RESULT_SEGMENTS) => {
                    self.faults.push(format!("attribute '{name}' is not given"));
                }
                None => {}
            }
        }
    }

    fn fill_results(&mut self, ctx: &Context, def: &OpDef) {
        let is_missing = |i: usize| !self.results.iter().any(|(group, _)| *group == i);
        let is_due =
            |(i, result): (usize, &crate::ValueDef)| result.arity == Arity::One && is_missing(i);
        if def.results.iter().enumerate().any(is_due) {
            match self.inferred(ctx, def) {
                Some(Ok(types)) if self.results.is_empty() => {
                    self.state.result_types.extend(types);
                    return;
                }
                Some(Ok(types)) if types.len() == def.results.len() => {
                    for (i, ty) in types.into_iter().enumerate() {
                        if !self.results.iter().any(|(group, _)| *group == i) {
                            self.results.push((i, ty));
                        }
                    }
                }
                // Faults of operands are the reason, if there are any, and reported.
                Some(Err(reason)) => {
                    if self.faults.is_empty() {
                        self.faults.push(reason);
                    }
                    return;
                }
                _ => {}
            }
        }
        self.results.sort_by_key(|(group, _)| *group);
        let mut sizes = Vec::new();
        for (i, result) in def.results.iter().enumerate() {
            let count = self.results.iter().filter(|(group, _)| *group == i).count();
            self.check_count("the type of result", &result.name, result.arity, count);
            sizes.push(count as i64);
        }
        self.state.result_types.extend(self.results.iter().map(|(_, ty)| *ty));
        self.push_sizes(ctx, def, RESULT_SEGMENTS, &sizes);
    }

    /// Result types from operands and attributes; `None` if the operation says nothing of them.
    fn inferred(&self, ctx: &Context, def: &OpDef) -> Option<Result<Vec<Type>, String>> {
        let module = &*self.builder.module;
        if let Some(InferTypes(infer)) = def.interface() {
            let operands: Vec<Type> = self.state.operands.iter().map(|v| module.ty(*v)).collect();
            let count = |i: usize| self.operands.iter().filter(|(group, _)| *group == i).count();
            let sizes: Vec<i64> = (0..def.operands.len()).map(|i| count(i) as i64).collect();
            let attrs: &[(Name, Attr)] = &self.state.attrs;
            return Some(infer(&InferInput {
                ctx,
                def,
                operands: &operands,
                sizes: &sizes,
                attrs,
            }));
        }
        let first = *self.state.operands.first()?;
        def.has(Trait::SameOperandsAndResultType)
            .then(|| Ok(vec![module.ty(first); def.results.len()]))
    }

    fn fill_regions(&mut self, def: &OpDef) {
        self.regions.sort_by_key(|(group, _)| *group);
        for (i, declared) in def.regions.iter().enumerate() {
            let count = self.regions.iter().filter(|(group, _)| *group == i).count();
            self.check_count("region", &declared.name, declared.arity, count);
        }
        self.state.regions.extend(self.regions.iter().map(|(_, region)| *region));
    }

    fn fill_successors(&mut self, def: &OpDef) {
        self.successors.sort_by_key(|(group, _)| *group);
        for (i, declared) in def.successors.iter().enumerate() {
            let count = self.successors.iter().filter(|(group, _)| *group == i).count();
            self.check_count("successor", &declared.name, declared.arity, count);
        }
        self.state.successors.extend(self.successors.iter().map(|(_, block)| *block));
    }
}

/// What can be given as operands: a value, an optional one, or several.
pub trait IntoValues {
    /// Calls `take` with each value.
    fn each_value(self, take: &mut dyn FnMut(Value));
}

impl IntoValues for Value {
    fn each_value(self, take: &mut dyn FnMut(Value)) {
        take(self);
    }
}

impl IntoValues for Option<Value> {
    fn each_value(self, take: &mut dyn FnMut(Value)) {
        self.into_iter().for_each(take);
    }
}

impl IntoValues for &[Value] {
    fn each_value(self, take: &mut dyn FnMut(Value)) {
        self.iter().copied().for_each(take);
    }
}

impl IntoValues for &Vec<Value> {
    fn each_value(self, take: &mut dyn FnMut(Value)) {
        self.iter().copied().for_each(take);
    }
}

impl IntoValues for Vec<Value> {
    fn each_value(self, take: &mut dyn FnMut(Value)) {
        self.into_iter().for_each(take);
    }
}

impl<const N: usize> IntoValues for [Value; N] {
    fn each_value(self, take: &mut dyn FnMut(Value)) {
        self.into_iter().for_each(take);
    }
}

/// What can be given as result types: a type, an optional one, or several.
pub trait IntoTypes {
    /// Calls `take` with each type.
    fn each_type(self, take: &mut dyn FnMut(Type));
}

impl IntoTypes for Type {
    fn each_type(self, take: &mut dyn FnMut(Type)) {
        take(self);
    }
}

impl IntoTypes for Option<Type> {
    fn each_type(self, take: &mut dyn FnMut(Type)) {
        self.into_iter().for_each(take);
    }
}

impl IntoTypes for &[Type] {
    fn each_type(self, take: &mut dyn FnMut(Type)) {
        self.iter().copied().for_each(take);
    }
}

impl IntoTypes for Vec<Type> {
    fn each_type(self, take: &mut dyn FnMut(Type)) {
        self.into_iter().for_each(take);
    }
}

/// What can be given as an attribute. A declared attribute's constraint says what plain values become: text is a string,
/// or the name of a symbol; `true` is a unit where one is declared, and `false` its absence.
pub trait IntoAttr {
    /// The attribute; `None` leaves it out.
    fn into_attr(self, ctx: &Context, constraint: &AttrConstraint) -> Option<Attr>;
}

impl IntoAttr for Attr {
    fn into_attr(self, _: &Context, _: &AttrConstraint) -> Option<Attr> {
        Some(self)
    }
}

impl<T: IntoAttr> IntoAttr for Option<T> {
    fn into_attr(self, ctx: &Context, constraint: &AttrConstraint) -> Option<Attr> {
        self?.into_attr(ctx, constraint)
    }
}

impl IntoAttr for &str {
    fn into_attr(self, ctx: &Context, constraint: &AttrConstraint) -> Option<Attr> {
        Some(match constraint {
            AttrConstraint::Symbol => ctx.symbol_attr(self),
            _ => ctx.str_attr(self),
        })
    }
}

impl IntoAttr for &String {
    fn into_attr(self, ctx: &Context, constraint: &AttrConstraint) -> Option<Attr> {
        self.as_str().into_attr(ctx, constraint)
    }
}

impl IntoAttr for bool {
    fn into_attr(self, ctx: &Context, constraint: &AttrConstraint) -> Option<Attr> {
        match constraint {
            AttrConstraint::Unit => self.then(|| ctx.unit()),
            _ => Some(ctx.bool_attr(self)),
        }
    }
}

impl IntoAttr for i64 {
    fn into_attr(self, ctx: &Context, _: &AttrConstraint) -> Option<Attr> {
        Some(ctx.int_attr(self))
    }
}

impl IntoAttr for f64 {
    fn into_attr(self, ctx: &Context, _: &AttrConstraint) -> Option<Attr> {
        Some(ctx.float_attr(self))
    }
}

impl IntoAttr for Type {
    fn into_attr(self, ctx: &Context, _: &AttrConstraint) -> Option<Attr> {
        Some(ctx.type_attr(self))
    }
}

impl IntoAttr for &[i64] {
    fn into_attr(self, ctx: &Context, _: &AttrConstraint) -> Option<Attr> {
        Some(ctx.int_array_attr(self))
    }
}

impl IntoAttr for &Vec<i64> {
    fn into_attr(self, ctx: &Context, constraint: &AttrConstraint) -> Option<Attr> {
        self.as_slice().into_attr(ctx, constraint)
    }
}

impl IntoAttr for &[&str] {
    fn into_attr(self, ctx: &Context, _: &AttrConstraint) -> Option<Attr> {
        let items: Vec<Attr> = self.iter().map(|text| ctx.str_attr(text)).collect();
        Some(ctx.array_attr(items))
    }
}

impl<const N: usize> IntoAttr for &[&str; N] {
    fn into_attr(self, ctx: &Context, constraint: &AttrConstraint) -> Option<Attr> {
        self.as_slice().into_attr(ctx, constraint)
    }
}
