//! Reading one operation's declaration.

use std::collections::BTreeMap;

use piper_ir_format::{Count, Declaration, Declared, DeclaredAttr, did_you_mean};
use proc_macro2::{Span, TokenStream};
use syn::parse::ParseStream;
use syn::{Attribute, Expr, Ident, LitStr, Token};

/// The clauses a declaration may have, in the order in which they are usually written.
const CLAUSES: &[&str] = &[
    "operands",
    "results",
    "attrs",
    "regions",
    "successors",
    "traits",
    "format",
    "directives",
    "syntax",
    "infer",
    "verify",
    "interfaces",
    "examples",
];

/// Methods that every view or builder has, so that no part may be called so.
const TAKEN: &[&str] =
    &["build", "cast", "create", "create_value", "def", "at", "with_attr", "insert"];

/// A declared operand, result, region or successor.
pub(crate) struct Part {
    pub(crate) name: Ident,
    pub(crate) count: Count,
    /// The constraint; empty for regions and successors.
    pub(crate) constraint: TokenStream,
}

/// A declared attribute.
pub(crate) struct Attr {
    pub(crate) name: Ident,
    pub(crate) is_required: bool,
    pub(crate) constraint: Expr,
    pub(crate) default: Option<Expr>,
}

/// A custom directive: name, reader and writer.
pub(crate) struct Directive {
    pub(crate) name: Ident,
    pub(crate) functions: (Expr, Expr),
}

/// One operation.
pub(crate) struct Op {
    pub(crate) docs: Vec<Expr>,
    pub(crate) view: Ident,
    pub(crate) name: LitStr,
    pub(crate) operands: Vec<Part>,
    pub(crate) results: Vec<Part>,
    pub(crate) attrs: Vec<Attr>,
    pub(crate) regions: Vec<Part>,
    pub(crate) successors: Vec<Part>,
    pub(crate) traits: Vec<Ident>,
    pub(crate) format: Option<LitStr>,
    pub(crate) directives: Vec<Directive>,
    pub(crate) syntax: Option<(Expr, Expr)>,
    pub(crate) infer: Option<Expr>,
    pub(crate) verify: Option<Expr>,
    pub(crate) interfaces: Vec<Expr>,
    pub(crate) examples: Vec<LitStr>,
    /// What is wrong with it.
    pub(crate) errors: Option<syn::Error>,
}

impl Op {
    pub(crate) fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = Attribute::parse_outer(input)?;
        let view: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        let name: LitStr = input.parse()?;
        let mut op = Self {
            docs: Vec::new(),
            view,
            name,
            operands: Vec::new(),
            results: Vec::new(),
            attrs: Vec::new(),
            regions: Vec::new(),
            successors: Vec::new(),
            traits: Vec::new(),
            format: None,
            directives: Vec::new(),
            syntax: None,
            infer: None,
            verify: None,
            interfaces: Vec::new(),
            examples: Vec::new(),
            errors: None,
        };
        op.docs(attributes);
        let body;
        syn::braced!(body in input);
        let read = op.clauses(&body);
        if let Err(error) = read {
            op.error(error);
            // What is left would be reported once more, as trailing tokens.
            body.parse::<TokenStream>()?;
        }
        op.check();
        Ok(op)
    }

    fn error(&mut self, error: syn::Error) {
        crate::combine(&mut self.errors, error);
    }

    fn error_at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.error(syn::Error::new(span, message));
    }

    fn docs(&mut self, attributes: Vec<Attribute>) {
        for attribute in attributes {
            match attribute.meta {
                syn::Meta::NameValue(meta) if meta.path.is_ident("doc") => {
                    self.docs.push(meta.value)
                }
                other => {
                    let error = syn::Error::new_spanned(
                        other,
                        "an operation has doc comments and no other attributes",
                    );
                    self.error(error);
                }
            }
        }
        if self.docs.is_empty() {
            let message = format!(
                "'{}' has no documentation: write what it means as a doc comment",
                self.name.value()
            );
            self.error_at(self.view.span(), message);
        }
    }

    fn clauses(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let mut seen: BTreeMap<String, Span> = BTreeMap::new();
        while !input.is_empty() {
            let clause: Ident = input.parse()?;
            let text = clause.to_string();
            if !CLAUSES.contains(&&*text) {
                let hint = did_you_mean(&text, CLAUSES.iter().copied()).map_or_else(
                    || format!("an operation may have {}", CLAUSES.join(", ")),
                    |known| format!("did you mean '{known}'?"),
                );
                return Err(syn::Error::new(
                    clause.span(),
                    format!("unknown clause '{text}'; {hint}"),
                ));
            }
            if seen.insert(text.clone(), clause.span()).is_some() {
                self.error_at(clause.span(), format!("clause '{text}' is given twice"));
            }
            input.parse::<Token![:]>()?;
            self.clause(&text, input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    }

    fn clause(&mut self, name: &str, input: ParseStream<'_>) -> syn::Result<()> {
        match name {
            "operands" => self.operands = parts(input, true)?,
            "results" => self.results = parts(input, true)?,
            "regions" => self.regions = parts(input, false)?,
            "successors" => self.successors = parts(input, false)?,
            "attrs" => {
                let body;
                syn::braced!(body in input);
                self.attrs = list(&body, attr)?;
            }
            "traits" => {
                let body;
                syn::bracketed!(body in input);
                self.traits = list(&body, |input| input.parse())?;
            }
            "interfaces" => {
                let body;
                syn::bracketed!(body in input);
                self.interfaces = list(&body, |input| input.parse())?;
            }
            "examples" => {
                let body;
                syn::bracketed!(body in input);
                self.examples = list(&body, |input| input.parse())?;
            }
            "directives" => {
                let body;
                syn::braced!(body in input);
                self.directives = list(&body, |input| {
                    let name = input.parse()?;
                    input.parse::<Token![:]>()?;
                    Ok(Directive { name, functions: pair(input)? })
                })?;
            }
            "format" => self.format = Some(input.parse()?),
            "syntax" => self.syntax = Some(pair(input)?),
            "infer" => self.infer = Some(input.parse()?),
            _ => self.verify = Some(input.parse()?),
        }
        Ok(())
    }

    /// What can be wrong with clauses that read.
    fn check(&mut self) {
        let full = self.name.value();
        let is_full =
            full.split_once('.').is_some_and(|(dialect, op)| !dialect.is_empty() && !op.is_empty());
        if !is_full {
            self.error_at(
                self.name.span(),
                format!("an operation's name is dialect.op, not '{full}'"),
            );
        }
        if let (Some(format), Some(_)) = (&self.format, &self.syntax) {
            let span = format.span();
            self.error_at(
                span,
                format!(
                    "'{full}' has both a format and a syntax; one of them says how it is written"
                ),
            );
        }
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        let values = |list: &[Part]| list.iter().map(|part| part.name.clone()).collect::<Vec<_>>();
        let attrs = self.attrs.iter().map(|attr| attr.name.clone()).collect();
        for (what, names) in [
            ("an operand", values(&self.operands)),
            ("a result", values(&self.results)),
            ("an attribute", attrs),
            ("a region", values(&self.regions)),
            ("a successor", values(&self.successors)),
        ] {
            for name in names {
                let text = name.to_string();
                if TAKEN.contains(&&*text) {
                    self.error_at(
                        name.span(),
                        format!(
                            "'{text}' is a method of every view or builder: choose another name"
                        ),
                    );
                }
                if let Some(other) = seen.insert(text.clone(), what) {
                    self.error_at(
                        name.span(),
                        format!("'{text}' is declared twice in '{full}': as {other} and as {what}"),
                    );
                }
            }
        }
        if self.errors.is_some() {
            return;
        }
        if let Some(format) = &self.format
            && let Err(error) = piper_ir_format::read(&format.value(), &self.declaration())
        {
            let error = syn::Error::new(format.span(), format!("format of '{full}': {error}"));
            self.error(error);
        }
    }

    /// The declared names, as the format's checker wants them.
    fn declaration(&self) -> Declaration {
        let declared = |list: &[Part]| -> Vec<Declared> {
            list.iter().map(|part| Declared::new(part.name.to_string(), part.count)).collect()
        };
        let mut declaration = Declaration {
            operands: declared(&self.operands),
            results: declared(&self.results),
            attrs: self
                .attrs
                .iter()
                .map(|attr| DeclaredAttr {
                    name: attr.name.to_string(),
                    may_be_absent: !attr.is_required,
                    is_unit: is_unit(&attr.constraint),
                })
                .collect(),
            regions: declared(&self.regions),
            successors: declared(&self.successors),
            directives: self
                .directives
                .iter()
                .map(|directive| directive.name.to_string())
                .collect(),
            infers_results: self.infer.is_some()
                || self.traits.iter().any(|name| name == "SameOperandsAndResultType"),
        };
        // The slots that the definition gets besides the declared ones.
        for (values, name) in
            [(&self.operands, "operandSegmentSizes"), (&self.results, "resultSegmentSizes")]
        {
            if values.iter().filter(|value| value.count != Count::One).count() > 1 {
                declaration.attrs.push(DeclaredAttr {
                    name: name.into(),
                    may_be_absent: true,
                    is_unit: false,
                });
            }
        }
        declaration
    }
}

/// Reports operations of one name.
pub(crate) fn check_names_of_ops(ops: &mut [Op]) {
    for i in 0..ops.len() {
        let name = ops[i].name.value();
        if ops[..i].iter().any(|other| other.name.value() == name) {
            let span = ops[i].name.span();
            ops[i].error_at(span, format!("'{name}' is declared twice"));
        }
    }
}

fn is_unit(constraint: &Expr) -> bool {
    matches!(constraint, Expr::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == "Unit"))
}

/// Reads what stands in a group. After an error the rest is taken: it would be reported as unexpected, instead of the error.
fn within<T>(
    group: ParseStream<'_>,
    read: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<T> {
    let result = read(group);
    if result.is_err() {
        group.parse::<TokenStream>()?;
    }
    result
}

/// Items separated by commas, to the end of a group.
fn list<T>(
    group: ParseStream<'_>,
    mut item: impl FnMut(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<Vec<T>> {
    within(group, |input| {
        let mut items = Vec::new();
        while !input.is_empty() {
            items.push(item(input)?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(items)
    })
}

/// `(parse, print)`
fn pair(input: ParseStream<'_>) -> syn::Result<(Expr, Expr)> {
    let body;
    syn::parenthesized!(body in input);
    within(&body, |body| {
        let parse = body.parse()?;
        body.parse::<Token![,]>()?;
        let print = body.parse()?;
        body.parse::<Option<Token![,]>>()?;
        Ok((parse, print))
    })
}

/// `{ name: one(constraint), ... }`, without constraints for regions and successors.
fn parts(input: ParseStream<'_>, constrained: bool) -> syn::Result<Vec<Part>> {
    let body;
    syn::braced!(body in input);
    list(&body, |input| {
        let name: Ident = input.parse()?;
        input.parse::<Token![:]>()?;
        let arity: Ident = input.parse()?;
        let count = match &*arity.to_string() {
            "one" => Count::One,
            "optional" => Count::Optional,
            "many" => Count::Many,
            other => {
                let message = format!("'{name}' is one, optional or many, not '{other}'");
                return Err(syn::Error::new(arity.span(), message));
            }
        };
        let mut constraint = TokenStream::new();
        if constrained {
            if !input.peek(syn::token::Paren) {
                let message =
                    format!("'{name}' needs a type constraint: {arity}(TypeConstraint::Any)");
                return Err(syn::Error::new(arity.span(), message));
            }
            let body;
            syn::parenthesized!(body in input);
            constraint = body.parse()?;
        }
        Ok(Part { name, count, constraint })
    })
}

/// `name: one(constraint)`, `optional(constraint)` or `default(constraint, value)`
fn attr(input: ParseStream<'_>) -> syn::Result<Attr> {
    let name: Ident = input.parse()?;
    input.parse::<Token![:]>()?;
    let arity: Ident = input.parse()?;
    let text = arity.to_string();
    if !matches!(&*text, "one" | "optional" | "default") {
        let message = format!(
            "attribute '{name}' is one(...), optional(...) or default(..., value), not '{text}'"
        );
        return Err(syn::Error::new(arity.span(), message));
    }
    if !input.peek(syn::token::Paren) {
        let message = format!("attribute '{name}' needs a constraint: {text}(AttrConstraint::Any)");
        return Err(syn::Error::new(arity.span(), message));
    }
    let body;
    syn::parenthesized!(body in input);
    let (constraint, default) = within(&body, |body| {
        let constraint = body.parse()?;
        let mut default = None;
        if text == "default" {
            if body.is_empty() {
                let message =
                    format!("attribute '{name}' needs a default value: default(constraint, value)");
                return Err(syn::Error::new(arity.span(), message));
            }
            body.parse::<Token![,]>()?;
            default = Some(body.parse()?);
        }
        body.parse::<Option<Token![,]>>()?;
        if !body.is_empty() {
            return Err(body.error(format!("attribute '{name}' has one constraint")));
        }
        Ok((constraint, default))
    })?;
    Ok(Attr { name, is_required: text == "one", constraint, default })
}
