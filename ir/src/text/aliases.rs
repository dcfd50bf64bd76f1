//! Aliases: `#map = affine_map<...>` before a module, `#loc = loc(...)` behind it.
//!
//! Some attributes are written once, under a name, and referred to. Which they are is found by walking the module before it
//! is written; the names are numbered as `mlir-opt` numbers them, so that texts can be compared. Modules without such an
//! attribute, which the context knows, are not walked.

use std::fmt::Write;

use rustc_hash::{FxHashMap, FxHashSet};

use super::printer::Printer;
use crate::types::TypeData;
use crate::{Attr, AttrData, Block, Context, Loc, LocData, Module, Name, Op, Type};

/// Tuples of more types than these get an alias.
const LONGEST_TUPLE: usize = 16;

/// What an alias stands for. A location that is an attribute is a location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Aliased {
    Attr(Attr),
    Type(Type),
    Loc(Loc),
}

/// The aliases of a module's text, and what else has to be known before it is written.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    /// The base of the name with a number; the first is written without.
    names: FxHashMap<Aliased, (&'static str, u32)>,
    /// In the order they are defined, with whether that is behind the module.
    order: Vec<(Aliased, bool)>,
    /// The numbers of distinct attributes.
    distinct: FxHashMap<u64, usize>,
    /// The keys of resources that are referred to.
    resources: FxHashSet<Name>,
}

/// Whether an attribute makes a walk worth while: it has an alias itself, or refers to what stands behind the module.
pub(crate) fn wants_walk(data: &AttrData) -> bool {
    matches!(
        data,
        AttrData::AffineMap(_)
            | AttrData::IntegerSet(_)
            | AttrData::Distinct { .. }
            | AttrData::Resource { .. }
            | AttrData::Loc(_)
    )
}

/// As [`wants_walk`] for a type.
pub(crate) fn type_wants_walk(data: &TypeData) -> bool {
    matches!(data, TypeData::Tuple(types) if types.len() > LONGEST_TUPLE)
}

impl Aliases {
    /// Finds the aliases of what is below and at `op`.
    pub(super) fn of(module: &Module, op: Op, locations: bool) -> Self {
        let mut finder = Finder {
            module,
            ctx: module.ctx(),
            locations,
            found: Vec::new(),
            at: FxHashMap::default(),
            aliases: Aliases::default(),
        };
        finder.op(op);
        finder.finish()
    }

    pub(super) fn uses_resource(&self, key: Name) -> bool {
        self.resources.contains(&key)
    }

    pub(super) fn distinct_number(&self, id: u64) -> Option<usize> {
        self.distinct.get(&id).copied()
    }
}

/// What was come across.
struct Found {
    what: Aliased,
    name: Option<&'static str>,
    /// Zero without any alias inside or itself; an alias is defined behind those of smaller depth.
    depth: u32,
    /// What stands inside, as far as it has aliases.
    inside: Vec<u32>,
    /// Only locations of operations refer to it, which can stand before its definition.
    is_late: bool,
}

struct Finder<'m> {
    module: &'m Module,
    ctx: &'m Context,
    locations: bool,
    found: Vec<Found>,
    at: FxHashMap<Aliased, u32>,
    aliases: Aliases,
}

impl Finder<'_> {
    fn op(&mut self, op: Op) {
        stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || self.op_here(op));
    }

    fn op_here(&mut self, op: Op) {
        let module = self.module;
        if self.locations {
            let loc = canonical(self.ctx, module.op_loc(op));
            self.visit(Aliased::Loc(loc), true);
        }
        for &region in module.regions(op) {
            for block in module.blocks(region) {
                self.args(block);
                for op in module.ops(block) {
                    self.op(op);
                }
            }
        }
        for value in module.operands(op).chain(module.results(op)) {
            self.visit(Aliased::Type(module.ty(value)), false);
        }
        let mut attrs = module.all_attrs(op);
        attrs.sort_by(|a, b| a.0.text(self.ctx).cmp(b.0.text(self.ctx)));
        for (_, attr) in attrs {
            self.visit(Aliased::Attr(attr), false);
        }
    }

    fn args(&mut self, block: Block) {
        for &arg in self.module.args(block) {
            self.visit(Aliased::Type(self.module.ty(arg)), false);
            if let (true, Some(loc)) = (self.locations, self.module.arg_loc(arg)) {
                let loc = canonical(self.ctx, loc);
                self.visit(Aliased::Loc(loc), true);
            }
        }
    }

    /// Notes `what` and what is inside it. Its number, and its depth.
    fn visit(&mut self, what: Aliased, is_late: bool) -> (u32, u32) {
        let what = match what {
            Aliased::Attr(attr) => match attr.data(self.ctx) {
                AttrData::Loc(loc) => Aliased::Loc(canonical(self.ctx, *loc)),
                _ => what,
            },
            _ => what,
        };
        if let Some(&known) = self.at.get(&what) {
            if !is_late {
                self.now(known);
            }
            return (known, self.found[known as usize].depth);
        }
        let number = self.found.len() as u32;
        self.at.insert(what, number);
        self.found.push(Found { what, name: None, depth: 0, inside: Vec::new(), is_late });
        let (mut depth, mut inside) = (0, Vec::new());
        for part in self.parts(what) {
            // Aliases nest what they stand for as deep as the text says.
            let (number, below) =
                stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || self.visit(part, is_late));
            if below > 0 {
                depth = depth.max(below);
                inside.push(number);
            }
        }
        let name = self.name(what);
        let found = &mut self.found[number as usize];
        (found.name, found.inside) = (name, inside);
        found.depth = depth + u32::from(name.is_some());
        (number, found.depth)
    }

    /// What a late one stands for is needed before the module after all.
    fn now(&mut self, number: u32) {
        let found = &mut self.found[number as usize];
        if std::mem::replace(&mut found.is_late, false) {
            for inside in found.inside.clone() {
                self.now(inside);
            }
        }
    }

    fn name(&mut self, what: Aliased) -> Option<&'static str> {
        match what {
            Aliased::Loc(_) => Some("loc"),
            Aliased::Type(ty) => type_wants_walk(ty.data(self.ctx)).then_some("tuple"),
            Aliased::Attr(attr) => match attr.data(self.ctx) {
                AttrData::AffineMap(_) => Some("map"),
                AttrData::IntegerSet(_) => Some("set"),
                AttrData::Distinct { id, attr } => {
                    let next = self.aliases.distinct.len();
                    self.aliases.distinct.entry(*id).or_insert(next);
                    (*attr != self.ctx.unit()).then_some("distinct")
                }
                AttrData::Resource { key, .. } => {
                    self.aliases.resources.insert(*key);
                    None
                }
                _ => None,
            },
        }
    }

    /// What is written inside `what`.
    fn parts(&self, what: Aliased) -> Vec<Aliased> {
        let attrs = |attrs: &[Attr]| attrs.iter().map(|a| Aliased::Attr(*a)).collect();
        let types = |types: &[Type]| types.iter().map(|t| Aliased::Type(*t)).collect::<Vec<_>>();
        let locs = |locs: &[Loc]| {
            locs.iter().map(|l| Aliased::Loc(canonical(self.ctx, *l))).collect::<Vec<_>>()
        };
        match what {
            Aliased::Attr(attr) => match attr.data(self.ctx) {
                AttrData::Array(items) => attrs(items),
                AttrData::Dict(entries) => {
                    entries.iter().map(|(_, attr)| Aliased::Attr(*attr)).collect()
                }
                AttrData::Distinct { attr, .. } => attrs(&[*attr]),
                AttrData::Dialect { params, .. } => attrs(params),
                AttrData::Type(ty) => types(&[*ty]),
                AttrData::Loc(loc) => locs(&[*loc]),
                _ => attr.ty(self.ctx).map_or_else(Vec::new, |ty| types(&[ty])),
            },
            Aliased::Type(ty) => match ty.data(self.ctx) {
                TypeData::Tensor { element, encoding, .. } => {
                    let mut parts = types(&[*element]);
                    parts.extend(encoding.map(Aliased::Attr));
                    parts
                }
                TypeData::MemRef { element, layout, space, .. } => {
                    let mut parts = types(&[*element]);
                    parts.extend([layout, space].into_iter().flatten().map(|a| Aliased::Attr(*a)));
                    parts
                }
                TypeData::UnrankedMemRef { element, space } => {
                    let mut parts = types(&[*element]);
                    parts.extend(space.map(Aliased::Attr));
                    parts
                }
                TypeData::UnrankedTensor { element }
                | TypeData::Vector { element, .. }
                | TypeData::Complex(element) => types(&[*element]),
                TypeData::Tuple(list) => types(list),
                TypeData::Function { inputs, results } => {
                    let mut parts = types(inputs);
                    parts.extend(types(results));
                    parts
                }
                TypeData::Dialect { params, .. } => attrs(params),
                _ => Vec::new(),
            },
            Aliased::Loc(loc) => match loc.data(self.ctx) {
                LocData::Named { child, .. } if child == self.ctx.unknown_loc() => Vec::new(),
                LocData::Named { child, .. } => locs(&[child]),
                LocData::CallSite { callee, caller } => locs(&[callee, caller]),
                LocData::Fused { locs: inner, metadata } => {
                    let mut parts: Vec<_> = metadata.map(Aliased::Attr).into_iter().collect();
                    parts.extend(locs(&inner));
                    parts
                }
                _ => Vec::new(),
            },
        }
    }

    fn finish(self) -> Aliases {
        let mut aliases = self.aliases;
        let mut named: Vec<_> =
            self.found.iter().filter_map(|found| Some((found, found.name?))).collect();
        named.sort_by_key(|(found, name)| {
            (found.depth, !matches!(found.what, Aliased::Type(_)), *name)
        });
        let mut counts: FxHashMap<&'static str, u32> = FxHashMap::default();
        for (found, name) in named {
            let count = counts.entry(name).or_default();
            aliases.names.insert(found.what, (name, *count));
            aliases.order.push((found.what, found.is_late));
            *count += 1;
        }
        aliases
    }
}

/// One handle for equal locations: positions of a source are made data.
fn canonical(ctx: &Context, loc: Loc) -> Loc {
    match loc.is_position() {
        true => ctx.loc(loc.data(ctx)),
        false => loc,
    }
}

impl Printer<'_> {
    /// Writes the alias of what is about to be written, if it has one.
    pub(super) fn alias(&mut self, what: Aliased) -> bool {
        let Some(aliases) = self.aliases else { return false };
        let what = match what {
            Aliased::Loc(loc) => Aliased::Loc(canonical(self.ctx, loc)),
            _ => what,
        };
        let Some(&(name, number)) = aliases.names.get(&what) else { return false };
        let sigil = if matches!(what, Aliased::Type(_)) { '!' } else { '#' };
        let written = match number {
            0 => write!(self.out, "{sigil}{name}"),
            _ => write!(self.out, "{sigil}{name}{number}"),
        };
        written.expect("writing to a string");
        true
    }

    /// Writes the definitions that stand before the module, or those behind it.
    pub(super) fn alias_definitions(&mut self, late: bool) {
        let Some(aliases) = self.aliases else { return };
        for &(what, is_late) in &aliases.order {
            if is_late != late {
                continue;
            }
            self.alias(what);
            self.text(" = ");
            match what {
                Aliased::Attr(attr) => self.attr_in_full(attr),
                Aliased::Type(ty) => self.type_in_full(ty),
                Aliased::Loc(loc) => self.location_in_full(loc),
            }
            self.text("\n");
        }
    }
}
