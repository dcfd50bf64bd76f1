//! The context: what is shared by all modules of a compilation. Interned names, types, attributes and locations, and the
//! registered dialects. It is `Sync`: passes on different functions intern concurrently.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::intern::Interner;
use crate::location::POSITION;
use crate::source::{Positions, SourceFile};
use crate::types::{FloatKind, Signedness, TypeData};
use crate::{Attr, AttrData, Dialect, Loc, LocData, Name, OpDef, OpName, ParamDef, Type};

/// An operation name with its definition, if registered.
#[derive(Debug)]
pub(crate) struct OpNameData {
    pub(crate) text: Box<str>,
    pub(crate) def: Option<Arc<OpDef>>,
    /// The names of the declared attributes, by slot: found by number, which text is not.
    pub(crate) slots: Box<[Name]>,
}

impl OpNameData {
    /// The slot of a declared attribute.
    pub(crate) fn slot(&self, name: Name) -> Option<usize> {
        self.slots.iter().position(|slot| *slot == name)
    }
}

/// Interned data and registered dialects. Shared by reference counting; see the module documentation.
pub struct Context {
    names: Interner<Box<str>>,
    types: Interner<TypeData>,
    attrs: Interner<AttrData>,
    locs: Interner<LocData>,
    positions: Positions,
    /// Registered operations, fixed once the context is made: they are found without a lock.
    registered: Vec<OpNameData>,
    registered_by_text: rustc_hash::FxHashMap<Box<str>, OpName>,
    /// Other operation names, numbered after the registered ones.
    unregistered: boxcar::Vec<OpNameData>,
    unregistered_by_name: std::sync::RwLock<rustc_hash::FxHashMap<Name, OpName>>,
    dialects: Vec<Dialect>,
    type_defs: rustc_hash::FxHashMap<Name, ParamDef>,
    attr_defs: rustc_hash::FxHashMap<Name, ParamDef>,
    /// Whether text may need aliases or resources: an attribute or a type that has one was made.
    walk_wanted: std::sync::atomic::AtomicBool,
    /// How many distinct attributes were made.
    distinct: std::sync::atomic::AtomicU64,
    /// Accept operations, types and attributes of dialects that are not registered.
    pub allow_unregistered: bool,
    common: Common,
}

/// Handles that are needed everywhere, interned once.
#[derive(Clone, Copy, Debug)]
struct Common {
    unit: Attr,
    unknown: Loc,
    i1: Type,
    i32: Type,
    i64: Type,
    f32: Type,
    f64: Type,
    index: Type,
    none: Type,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("dialects", &self.dialects.iter().map(|d| &*d.name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Hashes as the string attribute of this text, which so is found without being made.
struct StrKey<'t>(&'t str);

impl Hash for StrKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(&AttrData::Str(Box::default())).hash(state);
        self.0.hash(state);
    }
}

impl Context {
    /// A context that knows the builtin dialect and `dialects`.
    pub fn new(dialects: impl IntoIterator<Item = Dialect>) -> Self {
        let types = Interner::new();
        let int = |width| {
            Type(types.intern(TypeData::Integer { width, signedness: Signedness::Signless }))
        };
        let attrs = Interner::new();
        let locs = Interner::new();
        let common = Common {
            unit: Attr(attrs.intern(AttrData::Unit)),
            unknown: Loc(locs.intern(LocData::Unknown)),
            i1: int(1),
            i32: int(32),
            i64: int(64),
            f32: Type(types.intern(TypeData::Float(FloatKind::F32))),
            f64: Type(types.intern(TypeData::Float(FloatKind::F64))),
            index: Type(types.intern(TypeData::Index)),
            none: Type(types.intern(TypeData::None)),
        };
        let mut ctx = Self {
            names: Interner::new(),
            types,
            attrs,
            locs,
            positions: Positions::default(),
            registered: Vec::new(),
            registered_by_text: Default::default(),
            unregistered: boxcar::Vec::new(),
            unregistered_by_name: Default::default(),
            dialects: Vec::new(),
            type_defs: Default::default(),
            attr_defs: Default::default(),
            walk_wanted: Default::default(),
            distinct: Default::default(),
            allow_unregistered: false,
            common,
        };
        ctx.register(crate::builtin::dialect());
        for dialect in dialects {
            ctx.register(dialect);
        }
        ctx
    }

    fn register(&mut self, dialect: Dialect) {
        for def in &dialect.ops {
            let name = OpName(self.registered.len() as u32);
            let text: Box<str> = (&*def.name).into();
            self.registered_by_text.insert(text.clone(), name);
            let slots = def.attrs.iter().map(|attr| self.name(&attr.name)).collect();
            self.registered.push(OpNameData { text, def: Some(Arc::clone(def)), slots });
        }
        for def in &dialect.types {
            self.type_defs.insert(self.name(&def.name), def.clone());
        }
        for def in &dialect.attrs {
            self.attr_defs.insert(self.name(&def.name), def.clone());
        }
        self.dialects.push(dialect);
    }

    /// The registered dialects.
    pub fn dialects(&self) -> &[Dialect] {
        &self.dialects
    }

    /// Whether a dialect of this name is registered.
    pub fn has_dialect(&self, name: &str) -> bool {
        self.dialects.iter().any(|d| d.name == name)
    }

    /// The definition of a registered dialect type, by its full name (`dag.dist`).
    pub fn type_def(&self, name: Name) -> Option<&ParamDef> {
        self.type_defs.get(&name)
    }

    /// The definition of a registered dialect attribute, by its full name.
    pub fn attr_def(&self, name: Name) -> Option<&ParamDef> {
        self.attr_defs.get(&name)
    }

    /// Interns a string.
    pub fn name(&self, text: &str) -> Name {
        Name(self.names.intern_by(text, |known| **known == *text, || text.into()))
    }

    pub(crate) fn name_text(&self, name: Name) -> &str {
        self.names.get(name.0)
    }

    /// The operation name `text`, with its definition if its dialect registers one.
    pub fn op_name(&self, text: &str) -> OpName {
        if let Some(&known) = self.registered_by_text.get(text) {
            return known;
        }
        let name = self.name(text);
        let mut table = self.unregistered_by_name.write().expect("op names");
        *table.entry(name).or_insert_with(|| {
            let at = self.unregistered.push(OpNameData {
                text: text.into(),
                def: None,
                slots: Box::default(),
            });
            OpName((self.registered.len() + at) as u32)
        })
    }

    pub(crate) fn op_name_data(&self, name: OpName) -> &OpNameData {
        let at = name.index();
        self.registered.get(at).unwrap_or_else(|| &self.unregistered[at - self.registered.len()])
    }

    /// Interns a type.
    pub fn ty(&self, data: TypeData) -> Type {
        if crate::text::type_wants_walk(&data) {
            self.walk_wanted.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        Type(self.types.intern(data))
    }

    pub(crate) fn type_data(&self, ty: Type) -> &TypeData {
        self.types.get(ty.0)
    }

    /// Interns an attribute.
    pub fn attr(&self, data: AttrData) -> Attr {
        if crate::text::wants_walk(&data) {
            self.walk_wanted.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        Attr(self.attrs.intern(data))
    }

    /// Whether a module of this context may hold what has an alias in text, or refers to a resource.
    pub(crate) fn wants_walk(&self) -> bool {
        self.walk_wanted.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(crate) fn attr_data(&self, attr: Attr) -> &AttrData {
        self.attrs.get(attr.0)
    }

    /// Interns a location.
    pub fn loc(&self, data: LocData) -> Loc {
        Loc(self.locs.intern(data))
    }

    pub(crate) fn loc_data(&self, loc: Loc) -> &LocData {
        self.locs.get(loc.0)
    }

    /// Numbers the positions of a source: byte `i` of its text is position `first + i`. `None` if two gigabytes of sources
    /// have been read and no number is left.
    pub(crate) fn add_source(&self, source: &SourceFile) -> Option<u32> {
        self.positions.add(source, self.name(&source.name))
    }

    /// The location of a position of a source.
    pub(crate) fn position(&self, position: u32) -> Loc {
        Loc(position | POSITION)
    }

    pub(crate) fn resolve_position(&self, position: u32) -> (Name, u32, u32) {
        self.positions.resolve(position)
    }

    /// `loc("file":line:col)`
    pub fn file_loc(&self, file: &str, line: u32, col: u32) -> Loc {
        self.loc(LocData::File { file: self.name(file), line, col })
    }

    /// `loc("name"(child))`
    pub fn named_loc(&self, name: &str, child: Loc) -> Loc {
        self.loc(LocData::Named { name: self.name(name), child })
    }

    /// `loc(unknown)`
    pub fn unknown_loc(&self) -> Loc {
        self.common.unknown
    }

    /// `i1`
    pub fn i1(&self) -> Type {
        self.common.i1
    }
    /// `i32`
    pub fn i32(&self) -> Type {
        self.common.i32
    }
    /// `i64`
    pub fn i64(&self) -> Type {
        self.common.i64
    }
    /// `f32`
    pub fn f32(&self) -> Type {
        self.common.f32
    }
    /// `f64`
    pub fn f64(&self) -> Type {
        self.common.f64
    }
    /// `index`
    pub fn index(&self) -> Type {
        self.common.index
    }
    /// `none`
    pub fn none(&self) -> Type {
        self.common.none
    }

    /// `tensor<shape x element>`
    pub fn tensor(&self, shape: &[i64], element: Type) -> Type {
        self.ty(TypeData::Tensor { shape: shape.into(), element, encoding: None })
    }

    /// `(inputs) -> results`
    pub fn function(&self, inputs: &[Type], results: &[Type]) -> Type {
        self.ty(TypeData::Function { inputs: inputs.into(), results: results.into() })
    }

    /// The unit attribute.
    pub fn unit(&self) -> Attr {
        self.common.unit
    }

    /// `true` or `false`
    pub fn bool_attr(&self, value: bool) -> Attr {
        self.attr(AttrData::Int { value: value.into(), ty: self.i1() })
    }

    /// `value : i64`, printed without its type.
    pub fn int_attr(&self, value: i64) -> Attr {
        self.attr(AttrData::Int { value: value.into(), ty: self.i64() })
    }

    /// `value : f64`, printed without its type.
    pub fn float_attr(&self, value: f64) -> Attr {
        self.attr(AttrData::Float { pattern: value.to_bits().into(), ty: self.f64() })
    }

    /// `"text"`
    pub fn str_attr(&self, text: &str) -> Attr {
        let known = |data: &AttrData| matches!(data, AttrData::Str(known) if **known == *text);
        Attr(self.attrs.intern_by(&StrKey(text), known, || AttrData::Str(text.into())))
    }

    /// `[items]`
    pub fn array_attr(&self, items: impl Into<Box<[Attr]>>) -> Attr {
        self.attr(AttrData::Array(items.into()))
    }

    /// `{entries}`, which are sorted here. Keys must be unique.
    pub fn dict_attr(&self, entries: impl IntoIterator<Item = (Name, Attr)>) -> Attr {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by(|a, b| self.name_text(a.0).cmp(self.name_text(b.0)));
        self.attr(AttrData::Dict(entries.into()))
    }

    /// `distinct[n]<attr>`: equal to no other attribute.
    pub fn distinct_attr(&self, attr: Attr) -> Attr {
        let id = self.distinct.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.attr(AttrData::Distinct { id, attr })
    }

    /// A type as an attribute.
    pub fn type_attr(&self, ty: Type) -> Attr {
        self.attr(AttrData::Type(ty))
    }

    /// `@name`
    pub fn symbol_attr(&self, name: &str) -> Attr {
        self.symbol_attr_of(self.name(name))
    }

    /// `@name`
    pub fn symbol_attr_of(&self, root: Name) -> Attr {
        self.attr(AttrData::Symbol { root, nested: Box::new([]) })
    }

    /// `array<i64: values>`
    pub fn int_array_attr(&self, values: &[i64]) -> Attr {
        self.attr(AttrData::DenseArray { element: self.i64(), values: values.into() })
    }

    /// `array<i32: values>`
    pub fn i32_array_attr(&self, values: &[i64]) -> Attr {
        self.attr(AttrData::DenseArray { element: self.i32(), values: values.into() })
    }
}

impl OpName {
    /// The operation's full name (`nn.linear`).
    pub fn text(self, ctx: &Context) -> &str {
        &ctx.op_name_data(self).text
    }

    /// Its definition, if registered.
    pub fn def(self, ctx: &Context) -> Option<&OpDef> {
        ctx.op_name_data(self).def.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_attribute_is_found_by_its_text() {
        let ctx = Context::new([]);
        let made = ctx.attr(AttrData::Str("text".into()));
        assert_eq!(ctx.str_attr("text"), made);
        assert_eq!(ctx.attr(AttrData::Str("other".into())), ctx.str_attr("other"));
    }
}
