//! Writing types, attributes and locations.

use std::fmt::Write;

use super::aliases::Aliased;
use super::numbers::print_wide;
use super::parse_attrs::element_words;
use super::printer::{PrintOptions, Printer};
use crate::float::print_float;
use crate::types::{DYNAMIC, Signedness, TypeData};
use crate::{Attr, AttrData, Context, Loc, LocData, Name, Type};

/// A type as it is written.
pub fn print_type(ctx: &Context, ty: Type) -> String {
    standalone(ctx, |p| p.ty(ty))
}

/// An attribute as it is written.
pub fn print_attr(ctx: &Context, attr: Attr) -> String {
    standalone(ctx, |p| p.attr(attr))
}

/// A location as it is written.
pub fn print_loc(ctx: &Context, loc: Loc) -> String {
    standalone(ctx, |p| p.location(loc))
}

fn standalone(ctx: &Context, print: impl FnOnce(&mut Printer<'_>)) -> String {
    let mut out = String::new();
    let mut printer = Printer::detached(ctx, &mut out, PrintOptions::default());
    print(&mut printer);
    out
}

/// `text` in quotes, escaped as MLIR does.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for b in text.bytes() {
        match b {
            b'\\' => out.push_str("\\\\"),
            b'"' => out.push_str("\\22"),
            b' '..=b'~' => out.push(b as char),
            _ => write!(out, "\\{b:02X}").expect("writing to a string"),
        }
    }
    out.push('"');
    out
}

pub(super) fn is_bare_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.'))
}

/// Runs what may nest without a bound: aliases stand for what holds other aliases.
fn deeper(write: impl FnOnce()) {
    stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, write);
}

impl Printer<'_> {
    /// Writes a type.
    pub fn ty(&mut self, ty: Type) {
        if !self.alias(Aliased::Type(ty)) {
            self.type_in_full(ty);
        }
    }

    /// Writes a type, not its alias.
    pub(super) fn type_in_full(&mut self, ty: Type) {
        let ctx = self.ctx;
        match ty.data(ctx) {
            TypeData::Integer { width, signedness } => {
                let sign = match signedness {
                    Signedness::Signless => "",
                    Signedness::Signed => "s",
                    Signedness::Unsigned => "u",
                };
                self.text(sign);
                self.text("i");
                self.decimal(*width);
            }
            TypeData::Float(kind) => self.text(kind.spelling()),
            TypeData::Index => self.text("index"),
            TypeData::None => self.text("none"),
            TypeData::Tensor { shape, element, encoding } => {
                self.text("tensor<");
                self.shaped(shape, *element);
                self.extra(*encoding);
                self.text(">");
            }
            TypeData::UnrankedTensor { element } => {
                self.text("tensor<*x");
                self.ty(*element);
                self.text(">");
            }
            TypeData::MemRef { shape, element, layout, space } => {
                self.text("memref<");
                self.shaped(shape, *element);
                self.extra(*layout);
                self.extra(*space);
                self.text(">");
            }
            TypeData::UnrankedMemRef { element, space } => {
                self.text("memref<*x");
                self.ty(*element);
                self.extra(*space);
                self.text(">");
            }
            TypeData::Vector { shape, scalable, element } => {
                self.text("vector<");
                for (at, size) in shape.iter().enumerate() {
                    let is_scalable = scalable.get(at).copied().unwrap_or(false);
                    let (open, close) = if is_scalable { ("[", "]") } else { ("", "") };
                    write!(self.out, "{open}{size}{close}x").expect("writing to a string");
                }
                self.ty(*element);
                self.text(">");
            }
            TypeData::Complex(element) => {
                self.text("complex<");
                self.ty(*element);
                self.text(">");
            }
            TypeData::Tuple(types) => {
                self.text("tuple<");
                deeper(|| self.types(types));
                self.text(">");
            }
            TypeData::Function { inputs, results } => {
                deeper(|| self.function_type(inputs, results));
            }
            TypeData::Dialect { name, params } => {
                self.text("!");
                self.text(name.text(ctx));
                if let Some(def) = ctx.type_def(*name) {
                    def.print(self, params);
                }
            }
            TypeData::Opaque { dialect, body } => {
                self.text("!");
                self.text(dialect.text(ctx));
                self.text(body);
            }
        }
    }

    fn shaped(&mut self, shape: &[i64], element: Type) {
        for &size in shape {
            if size == DYNAMIC {
                self.text("?x");
            } else {
                write!(self.out, "{size}x").expect("writing to a string");
            }
        }
        self.ty(element);
    }

    fn extra(&mut self, attr: Option<Attr>) {
        if let Some(attr) = attr {
            self.text(", ");
            self.attr(attr);
        }
    }

    /// Writes types separated by commas.
    pub fn types(&mut self, types: &[Type]) {
        self.commas(types, |p, ty| p.ty(*ty));
    }

    /// Writes `(inputs) -> results`.
    pub fn function_type(&mut self, inputs: &[Type], results: &[Type]) {
        self.text("(");
        self.types(inputs);
        self.text(") -> ");
        self.result_types(results);
    }

    /// Writes what stands after `->`: one type without parentheses unless it is a function type, or a list.
    pub fn result_types(&mut self, results: &[Type]) {
        match results {
            [only] if !matches!(only.data(self.ctx), TypeData::Function { .. }) => self.ty(*only),
            _ => {
                self.text("(");
                self.types(results);
                self.text(")");
            }
        }
    }

    /// Writes items separated by commas.
    pub fn commas<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.text(", ");
            }
            write(self, item);
        }
    }

    /// Writes an attribute.
    pub fn attr(&mut self, attr: Attr) {
        if !self.alias(Aliased::Attr(attr)) {
            self.attr_in_full(attr);
        }
    }

    /// Writes an attribute, not its alias.
    pub(super) fn attr_in_full(&mut self, attr: Attr) {
        let ctx = self.ctx;
        match attr.data(ctx) {
            AttrData::Unit => self.text("unit"),
            AttrData::Int { value, ty } if *ty == ctx.i1() => {
                self.text(if *value == 0 { "false" } else { "true" })
            }
            AttrData::Int { value, ty } => {
                let (width, signedness) = match *ty.data(ctx) {
                    TypeData::Integer { width, signedness } => (width, signedness),
                    _ => (64, Signedness::Signless),
                };
                self.integer(*value, width, signedness);
                if *ty != ctx.i64() {
                    self.text(" : ");
                    self.ty(*ty);
                }
            }
            AttrData::WideInt { words, ty } => {
                let signedness = match *ty.data(ctx) {
                    TypeData::Integer { signedness, .. } => signedness,
                    _ => Signedness::Signless,
                };
                let text = print_wide(words, signedness);
                self.text(&text);
                self.text(" : ");
                self.ty(*ty);
            }
            AttrData::Float { pattern, ty } => {
                let kind = ty.as_float(ctx).expect("a float attribute has a float type");
                let text = print_float(kind, *pattern);
                self.text(&text);
                // The bits alone would be read as an integer.
                if *ty != ctx.f64() || text.starts_with("0x") {
                    self.text(" : ");
                    self.ty(*ty);
                }
            }
            AttrData::TypedStr { text, ty } => {
                let quoted = quoted(text);
                self.text(&quoted);
                self.text(" : ");
                self.ty(*ty);
            }
            AttrData::Str(text) => {
                let quoted = quoted(text);
                self.text(&quoted);
            }
            AttrData::Array(items) => {
                self.text("[");
                deeper(|| self.commas(items, |p, item| p.attr(*item)));
                self.text("]");
            }
            AttrData::Dict(entries) => {
                self.text("{");
                deeper(|| self.entries(entries));
                self.text("}");
            }
            AttrData::Type(ty) => self.ty(*ty),
            AttrData::Symbol { root, nested } => {
                self.symbol(*root);
                for name in nested {
                    self.text("::");
                    self.symbol(*name);
                }
            }
            AttrData::DenseArray { element, values } => {
                self.text("array<");
                self.ty(*element);
                if !values.is_empty() {
                    self.text(": ");
                }
                let words = element_words(*element, ctx);
                self.commas(values.chunks(words), |p, words| p.array_element(words, *element));
                self.text(">");
            }
            AttrData::Dense { ty, .. } => self.dense(attr, *ty),
            AttrData::DenseStrings { ty, values } => self.dense_strings(*ty, values),
            AttrData::Sparse { ty, indices, values } => self.sparse(*ty, *indices, *values),
            AttrData::Resource { ty, key } => {
                self.text("dense_resource<");
                self.word(key.text(ctx));
                self.text("> : ");
                self.ty(*ty);
            }
            AttrData::Distinct { id, attr } => {
                let number = self.distinct_number(*id);
                write!(self.out, "distinct[{number}]<").expect("writing to a string");
                if *attr != ctx.unit() {
                    self.attr(*attr);
                }
                self.text(">");
            }
            AttrData::AffineMap(map) => self.affine_map(map),
            AttrData::IntegerSet(set) => self.integer_set(set),
            AttrData::Strided { strides, offset } => self.strided(strides, *offset),
            AttrData::Loc(loc) => {
                if !self.alias(Aliased::Loc(*loc)) {
                    self.location_in_full(*loc);
                }
            }
            AttrData::Dialect { name, params } => {
                self.text("#");
                self.text(name.text(ctx));
                if let Some(def) = ctx.attr_def(*name) {
                    def.print(self, params);
                }
            }
            AttrData::Opaque { dialect, body, ty } => {
                self.text("#");
                self.text(dialect.text(ctx));
                self.text(body);
                if let Some(ty) = ty {
                    self.text(" : ");
                    self.ty(*ty);
                }
            }
        }
    }

    /// The number of a distinct attribute in this text.
    fn distinct_number(&mut self, id: u64) -> usize {
        if let Some(number) = self.aliases.and_then(|aliases| aliases.distinct_number(id)) {
            return number;
        }
        self.distinct.iter().position(|known| *known == id).unwrap_or_else(|| {
            self.distinct.push(id);
            self.distinct.len() - 1
        })
    }

    /// An element of `array<...>` from its words.
    fn array_element(&mut self, words: &[i64], ty: Type) {
        let low = words[0];
        match *ty.data(self.ctx) {
            TypeData::Float(kind) => {
                let high = words.get(1).copied().unwrap_or(0);
                let text =
                    print_float(kind, u128::from(high as u64) << 64 | u128::from(low as u64));
                self.text(&text);
            }
            TypeData::Integer { width: 1, signedness: Signedness::Signless } => {
                self.text(if low == 0 { "false" } else { "true" });
            }
            TypeData::Integer { width, signedness } => match words {
                [low] if signedness == Signedness::Unsigned => {
                    self.integer(i128::from(*low as u64), width, signedness);
                }
                [low] => self.integer(i128::from(*low), width, signedness),
                _ => {
                    let words: Vec<u64> = words.iter().map(|&word| word as u64).collect();
                    let text = print_wide(&words, signedness);
                    self.text(&text);
                }
            },
            _ => {}
        }
    }

    /// Writes `@name`.
    pub fn symbol(&mut self, name: Name) {
        let text = name.text(self.ctx);
        self.text("@");
        if is_bare_identifier(text) {
            self.text(text);
        } else {
            self.text(&quoted(text));
        }
    }

    /// Writes `key = value` entries separated by commas; units are the key alone.
    pub fn entries(&mut self, entries: &[(Name, Attr)]) {
        self.commas(entries, |p, (name, attr)| {
            let text = name.text(p.ctx);
            if is_bare_identifier(text) {
                p.text(text);
            } else {
                p.text(&quoted(text));
            }
            if *attr != p.ctx.unit() {
                p.text(" = ");
                p.attr(*attr);
            }
        });
    }

    /// Writes `loc(...)`.
    pub fn location(&mut self, loc: Loc) {
        self.text("loc(");
        self.inner_location(loc);
        self.text(")");
    }

    /// Writes `loc(...)`, without an alias for the whole.
    pub(super) fn location_in_full(&mut self, loc: Loc) {
        self.text("loc(");
        self.location_body(loc);
        self.text(")");
    }

    /// Writes ` loc(...)` behind an argument that has one of its own, where locations are wanted.
    pub fn arg_location(&mut self, arg: crate::Value) {
        if !self.options.locations {
            return;
        }
        if let Some(loc) = self.module().arg_loc(arg) {
            self.text(" ");
            self.location(loc);
        }
    }

    fn inner_location(&mut self, loc: Loc) {
        if !self.alias(Aliased::Loc(loc)) {
            deeper(|| self.location_body(loc));
        }
    }

    fn location_body(&mut self, loc: Loc) {
        match loc.data(self.ctx) {
            LocData::Unknown => self.text("unknown"),
            LocData::File { file, line, col } => {
                let file = quoted(file.text(self.ctx));
                write!(self.out, "{file}:{line}:{col}").expect("writing to a string");
            }
            LocData::FileRange { file, line, col, end_line, end_col } => {
                let file = quoted(file.text(self.ctx));
                write!(self.out, "{file}:{line}:{col} to ").expect("writing to a string");
                if end_line != line {
                    write!(self.out, "{end_line}").expect("writing to a string");
                }
                write!(self.out, ":{end_col}").expect("writing to a string");
            }
            LocData::Named { name, child } => {
                self.text(&quoted(name.text(self.ctx)));
                if child != self.ctx.unknown_loc() {
                    self.text("(");
                    self.inner_location(child);
                    self.text(")");
                }
            }
            LocData::CallSite { callee, caller } => {
                self.text("callsite(");
                self.inner_location(callee);
                self.text(" at ");
                self.inner_location(caller);
                self.text(")");
            }
            LocData::Fused { locs, metadata } => {
                self.text("fused");
                if let Some(metadata) = metadata {
                    self.text("<");
                    self.attr(metadata);
                    self.text(">");
                }
                self.text("[");
                self.commas(&locs, |p, loc| p.inner_location(*loc));
                self.text("]");
            }
        }
    }
}
