//! Writing types, attributes and locations.

use std::fmt::Write;

use super::numbers::print_float;
use super::printer::{PrintOptions, Printer};
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

impl Printer<'_> {
    /// Writes a type.
    pub fn ty(&mut self, ty: Type) {
        let ctx = self.ctx;
        match ty.data(ctx) {
            TypeData::Integer { width, signedness } => {
                let sign = match signedness {
                    Signedness::Signless => "",
                    Signedness::Signed => "s",
                    Signedness::Unsigned => "u",
                };
                write!(self.out, "{sign}i{width}").expect("writing to a string");
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
            TypeData::Vector { shape, element } => {
                self.text("vector<");
                self.shaped(shape, *element);
                self.text(">");
            }
            TypeData::Complex(element) => {
                self.text("complex<");
                self.ty(*element);
                self.text(">");
            }
            TypeData::Tuple(types) => {
                self.text("tuple<");
                self.types(types);
                self.text(">");
            }
            TypeData::Function { inputs, results } => self.function_type(inputs, results),
            TypeData::Dialect { name, params } => {
                self.text("!");
                self.text(name.text(ctx));
                if let Some(def) = ctx.type_def(*name) {
                    (def.print)(self, params);
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
        let ctx = self.ctx;
        match attr.data(ctx) {
            AttrData::Unit => self.text("unit"),
            AttrData::Int { value, ty } if *ty == ctx.i1() => {
                self.text(if *value == 0 { "false" } else { "true" })
            }
            AttrData::Int { value, ty } => {
                self.integer(*value, *ty);
                if *ty != ctx.i64() {
                    self.text(" : ");
                    self.ty(*ty);
                }
            }
            AttrData::Float { bits, ty } => {
                self.float(f64::from_bits(*bits), *ty);
                if *ty != ctx.f64()
                    || self.out.rsplit(' ').next().is_some_and(|last| last.contains("0x"))
                {
                    self.text(" : ");
                    self.ty(*ty);
                }
            }
            AttrData::Str(text) => {
                let quoted = quoted(text);
                self.text(&quoted);
            }
            AttrData::Array(items) => {
                self.text("[");
                self.commas(items, |p, item| p.attr(*item));
                self.text("]");
            }
            AttrData::Dict(entries) => {
                self.text("{");
                self.entries(entries);
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
                self.commas(values, |p, value| match element.data(ctx) {
                    TypeData::Float(_) => p.float(f64::from_bits(*value as u64), *element),
                    _ if *element == ctx.i1() => p.text(if *value == 0 { "false" } else { "true" }),
                    _ => p.integer(i128::from(*value), *element),
                });
                self.text(">");
            }
            AttrData::Dense { ty, body } => {
                self.text(body);
                self.text(" : ");
                self.ty(*ty);
            }
            AttrData::Loc(loc) => self.location(*loc),
            AttrData::Dialect { name, params } => {
                self.text("#");
                self.text(name.text(ctx));
                if let Some(def) = ctx.attr_def(*name) {
                    (def.print)(self, params);
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

    fn integer(&mut self, value: i128, ty: Type) {
        debug_assert!(matches!(ty.data(self.ctx), TypeData::Integer { .. } | TypeData::Index));
        write!(self.out, "{value}").expect("writing to a string");
    }

    fn float(&mut self, value: f64, ty: Type) {
        let kind = ty.as_float(self.ctx).expect("a float attribute has a float type");
        self.text(&print_float(kind, value));
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
        self.location_body(loc);
        self.text(")");
    }

    fn location_body(&mut self, loc: Loc) {
        match loc.data(self.ctx) {
            LocData::Unknown => self.text("unknown"),
            LocData::File { file, line, col } => {
                let file = quoted(file.text(self.ctx));
                write!(self.out, "{file}:{line}:{col}").expect("writing to a string");
            }
            LocData::Named { name, child } => {
                self.text(&quoted(name.text(self.ctx)));
                if child != self.ctx.unknown_loc() {
                    self.text("(");
                    self.location_body(child);
                    self.text(")");
                }
            }
            LocData::CallSite { callee, caller } => {
                self.text("callsite(");
                self.location_body(callee);
                self.text(" at ");
                self.location_body(caller);
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
                self.commas(&locs, |p, loc| p.location_body(*loc));
                self.text("]");
            }
        }
    }
}
