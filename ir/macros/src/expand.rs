//! Writing what a declaration stands for: a typed view, a builder, and the definition.

use piper_ir_format::Count;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::declaration::{Op, Part};

/// The code of all declarations, and errors in place of what is wrong.
pub(crate) fn all(krate: &TokenStream, ops: &[Op]) -> TokenStream {
    let items = ops.iter().map(|op| {
        let errors = op.errors.as_ref().map(syn::Error::to_compile_error);
        let item = one(krate, op);
        quote!(#errors #item)
    });
    let views = ops.iter().map(|op| &op.view);
    quote! {
        #(#items)*

        /// The definitions of all operations declared here.
        pub fn op_defs() -> ::std::vec::Vec<::std::sync::Arc<#krate::OpDef>> {
            ::std::vec![#(::std::sync::Arc::new(#views::def())),*]
        }
    }
}

fn one(krate: &TokenStream, op: &Op) -> TokenStream {
    let Op { docs, view, name, .. } = op;
    let builder = format_ident!("{view}Builder");
    let builder_doc = format!(
        "Makes a `{}`. A part that is missing is an error of [`create`](Self::create).",
        name.value()
    );
    let accessors = accessors(krate, op);
    let setters = setters(krate, op);
    let definition = definition(krate, op);
    let create_value = match op.results[..] {
        [Part { count: Count::One, .. }] => quote! {
            /// Creates and inserts the operation and returns its result.
            ///
            /// # Errors
            /// As those of [`create`](Self::create).
            pub fn create_value(self) -> ::core::result::Result<#krate::Value, #krate::BuildError> {
                self.0.create_value()
            }
        },
        _ => TokenStream::new(),
    };
    quote! {
        #(#[doc = #docs])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct #view(pub #krate::Op);

        #[allow(missing_docs, dead_code)]
        impl #view {
            /// The operation's full name.
            pub const NAME: &'static str = #name;

            /// The view of `op`, if it is one.
            pub fn cast(module: &#krate::Module, op: #krate::Op) -> ::core::option::Option<Self> {
                (module.name(op).text(module.ctx()) == Self::NAME).then_some(Self(op))
            }

            /// Begins to build one where `b` stands.
            pub fn build<'b, 'm>(b: &'b mut #krate::Builder<'m>) -> #builder<'b, 'm> {
                #builder(#krate::OpBuilder::new(b, Self::NAME))
            }

            #accessors

            /// The operation's definition.
            pub fn def() -> #krate::OpDef {
                #definition
            }
        }

        #[doc = #builder_doc]
        #[derive(Debug)]
        #[must_use = "nothing is built before `create`"]
        pub struct #builder<'b, 'm>(#krate::OpBuilder<'b, 'm>);

        #[allow(missing_docs, dead_code)]
        impl<'b, 'm> #builder<'b, 'm> {
            #setters

            /// Sets an attribute that is not declared.
            pub fn with_attr(mut self, name: &str, value: impl #krate::IntoAttr) -> Self {
                self.0.other_attr(name, value);
                self
            }

            /// Sets the location; else it is that of the insertion point.
            pub fn at(mut self, loc: #krate::Loc) -> Self {
                self.0.loc(loc);
                self
            }

            /// Creates and inserts the operation. Result types that are not given are inferred where the operation says how.
            ///
            /// # Errors
            /// Everything that is missing or does not fit, by name.
            pub fn create(self) -> ::core::result::Result<#view, #krate::BuildError> {
                self.0.create().map(#view)
            }

            #create_value
        }
    }
}

fn accessors(krate: &TokenStream, op: &Op) -> TokenStream {
    let mut all = TokenStream::new();
    for (list, group) in [(&op.operands, "operand_group"), (&op.results, "result_group")] {
        let group = format_ident!("{group}");
        for (i, Part { name, count, .. }) in list.iter().enumerate() {
            all.extend(match count {
                Count::One => quote! {
                    pub fn #name(self, module: &#krate::Module) -> #krate::Value {
                        module.#group(self.0, #i).next().expect("a verified operation has its declared values")
                    }
                },
                Count::Optional => quote! {
                    pub fn #name(self, module: &#krate::Module) -> ::core::option::Option<#krate::Value> {
                        module.#group(self.0, #i).next()
                    }
                },
                Count::Many => quote! {
                    pub fn #name(self, module: &#krate::Module) -> impl ::core::iter::ExactSizeIterator<Item = #krate::Value> + '_ {
                        module.#group(self.0, #i)
                    }
                },
            });
        }
    }
    for (i, attr) in op.attrs.iter().enumerate() {
        let name = &attr.name;
        all.extend(match (&attr.default, attr.is_required) {
            (Some(value), _) => quote! {
                pub fn #name(self, module: &#krate::Module) -> #krate::Attr {
                    module.slot(self.0, #i).unwrap_or_else(|| #krate::AttrDefault::from(#value).attr(module.ctx()))
                }
            },
            (None, true) => quote! {
                pub fn #name(self, module: &#krate::Module) -> #krate::Attr {
                    module.slot(self.0, #i).expect("a verified operation has its declared attributes")
                }
            },
            (None, false) => quote! {
                pub fn #name(self, module: &#krate::Module) -> ::core::option::Option<#krate::Attr> {
                    module.slot(self.0, #i)
                }
            },
        });
    }
    for (list, all_of, item) in
        [(&op.regions, "regions", quote!(Region)), (&op.successors, "successors", quote!(Block))]
    {
        let all_of = format_ident!("{all_of}");
        let is_plain = |parts: &[Part]| parts.iter().all(|part| part.count == Count::One);
        for (i, Part { name, count, .. }) in list.iter().enumerate() {
            all.extend(match count {
                Count::One if is_plain(&list[..i]) => quote! {
                    pub fn #name(self, module: &#krate::Module) -> #krate::#item {
                        module.#all_of(self.0)[#i]
                    }
                },
                Count::Optional if is_plain(&list[..i]) => quote! {
                    pub fn #name(self, module: &#krate::Module) -> ::core::option::Option<#krate::#item> {
                        module.#all_of(self.0).get(#i).copied()
                    }
                },
                Count::Many if is_plain(&list[..i]) && i + 1 == list.len() => quote! {
                    pub fn #name(self, module: &#krate::Module) -> &[#krate::#item] {
                        module.#all_of(self.0).get(#i..).unwrap_or_default()
                    }
                },
                // What follows a group of unknown length has no place of its own.
                _ => TokenStream::new(),
            });
        }
    }
    all
}

fn setters(krate: &TokenStream, op: &Op) -> TokenStream {
    let mut all = TokenStream::new();
    for (i, Part { name, .. }) in op.operands.iter().enumerate() {
        all.extend(quote! {
            pub fn #name(mut self, values: impl #krate::IntoValues) -> Self {
                self.0.operand(#i, values);
                self
            }
        });
    }
    for (i, Part { name, .. }) in op.results.iter().enumerate() {
        all.extend(quote! {
            pub fn #name(mut self, types: impl #krate::IntoTypes) -> Self {
                self.0.result(#i, types);
                self
            }
        });
    }
    for (i, attr) in op.attrs.iter().enumerate() {
        let name = &attr.name;
        all.extend(quote! {
            pub fn #name(mut self, value: impl #krate::IntoAttr) -> Self {
                self.0.attr(#i, value);
                self
            }
        });
    }
    for (i, Part { name, .. }) in op.regions.iter().enumerate() {
        all.extend(quote! {
            /// Fills the region's entry block; may be called again where several regions are declared under the name.
            pub fn #name(mut self, fill: impl FnOnce(&mut #krate::Builder<'_>, #krate::Block)) -> Self {
                self.0.region(#i, fill);
                self
            }
        });
    }
    for (i, Part { name, .. }) in op.successors.iter().enumerate() {
        all.extend(quote! {
            pub fn #name(mut self, block: #krate::Block) -> Self {
                self.0.successor(#i, block);
                self
            }
        });
    }
    all
}

fn definition(krate: &TokenStream, op: &Op) -> TokenStream {
    let Op { name, docs, .. } = op;
    let count = |count: Count| match count {
        Count::One => quote!(#krate::Arity::One),
        Count::Optional => quote!(#krate::Arity::Optional),
        Count::Many => quote!(#krate::Arity::Variadic),
    };
    let mut body = TokenStream::new();
    for (list, field) in [(&op.operands, "operands"), (&op.results, "results")] {
        let field = format_ident!("{field}");
        for part in list {
            let (text, arity, constraint) =
                (part.name.to_string(), count(part.count), &part.constraint);
            body.extend(quote! {
                def.#field.push(#krate::ValueDef { name: #text.into(), arity: #arity, constraint: #constraint });
            });
        }
    }
    for attr in &op.attrs {
        let (text, required, constraint) =
            (attr.name.to_string(), attr.is_required, &attr.constraint);
        let default = match &attr.default {
            Some(value) => quote!(::core::option::Option::Some(#krate::AttrDefault::from(#value))),
            None => quote!(::core::option::Option::None),
        };
        body.extend(quote! {
            def.attrs.push(#krate::AttrDef { name: #text.into(), required: #required, constraint: #constraint, default: #default });
        });
    }
    for part in &op.regions {
        let (text, arity) = (part.name.to_string(), count(part.count));
        body.extend(
            quote!(def.regions.push(#krate::RegionDef { name: #text.into(), arity: #arity });),
        );
    }
    for part in &op.successors {
        let (text, arity) = (part.name.to_string(), count(part.count));
        body.extend(quote!(def.successors.push(#krate::SuccessorDef { name: #text.into(), arity: #arity });));
    }
    for name in &op.traits {
        body.extend(quote!(def.traits.push(#krate::Trait::#name);));
    }
    for example in &op.examples {
        body.extend(quote!(def.examples.push(#krate::Example::in_setting(#example));));
    }
    for directive in &op.directives {
        let (text, (parse, print)) = (directive.name.to_string(), &directive.functions);
        body.extend(quote!(def.directives.push(#krate::DirectiveDef { name: #text, parse: #parse, print: #print });));
    }
    if let Some(infer) = &op.infer {
        body.extend(quote!(def = def.with_interface(#krate::InferTypes(#infer));));
    }
    for interface in &op.interfaces {
        body.extend(quote!(def = def.with_interface(#interface);));
    }
    if let Some(verify) = &op.verify {
        body.extend(quote!(def.verify = ::core::option::Option::Some(#verify);));
    }
    if let Some((parse, print)) = &op.syntax {
        body.extend(quote!(def.syntax = #krate::Syntax::Custom { parse: #parse, print: #print };));
    }
    // A format that is not one has been reported; compiling it would only panic.
    if let (Some(format), None) = (&op.format, &op.errors) {
        body.extend(quote!(def = def.with_format(#format);));
    }
    quote! {
        #[allow(unused_mut)]
        let mut def = #krate::OpDef::new(#name).doc(::core::concat!(#(#docs, "\n"),*));
        #body
        def.finish()
    }
}
