//! Every directive of the format language: what it reads, what it prints, and what it says of a text that departs.

use std::sync::Arc;

use super::{DirectiveReader, DirectiveWriter, Format};
use crate::text::{
    ParseResult, Parser, PrintOptions, Printer, TokenKind, parse_module, print_module,
};
use crate::verify::verify;
use crate::{
    AttrConstraint as A, Context, Dialect, InferInput, Op, OpDef, Reporter, SourceFile, Type,
    TypeConstraint as T, dialect_ops,
};

dialect_ops! {
    /// A value.
    Make = "t.make" {
        results: { out: one(T::Any) },
        format: "attr-dict `:` type($out)",
    }
    /// Operands and results in one list each.
    All = "t.all" {
        operands: { a: one(T::Any), b: many(T::Any) },
        results: { x: many(T::Any) },
        format: "operands attr-dict `:` functional-type(operands, results)",
    }
    /// Types by name and by side.
    Types = "t.types" {
        operands: { a: one(T::Any), b: one(T::Any) },
        results: { x: one(T::Any), y: one(T::Any) },
        format: "$a `,` $b attr-dict `:` type(operands) `->` type($x) `,` type($y)",
    }
    /// Two groups of unknown length.
    Groups = "t.groups" {
        operands: { a: many(T::Any), b: many(T::Any), c: optional(T::Any) },
        format: "`(` $a `)` (`by` $b^)? (`at` $c^)? attr-dict (`:` type($a)^)? (`and` type($b)^)? (`last` type($c)^)?",
    }
    /// One type for all.
    Same = "t.same" {
        operands: { a: one(T::Any), b: one(T::Any) },
        results: { x: one(T::Any) },
        traits: [SameOperandsAndResultType],
        format: "$a `,` $b attr-dict `:` type($x)",
    }
    /// One type for all, not written.
    SameBare = "t.same_bare" {
        operands: { a: one(T::Any) },
        results: { x: one(T::Any) },
        traits: [SameOperandsAndResultType],
        format: "$a attr-dict",
    }
    /// The result's type follows.
    Pair = "t.pair" {
        operands: { a: one(T::Any) },
        results: { x: one(T::Any) },
        attrs: { n: default(A::Int, 2) },
        infer: infer_tensor,
        format: "$a (`times` $n^)? attr-dict `:` type($a)",
    }
    /// Attributes in their bare forms.
    Attrs = "t.attrs" {
        attrs: {
            kind: one(A::Enum(&["add", "mul", "25%"])), n: one(A::Int), flag: optional(A::Unit), s: optional(A::Str),
            f: optional(A::Symbol), big: default(A::Bool, false), rest: optional(A::Any),
        },
        format: "`<` $kind `>` $n (`flag` $flag^)? $s ($f^ `*`)? (`big` `=` $big^)? attr-dict",
    }
    /// An else branch.
    Else = "t.else" {
        operands: { a: optional(T::Any) },
        format: "(`of` $a^ `:` type($a)) : (`nothing`)? attr-dict",
    }
    /// Clauses in any order.
    Clauses = "t.clauses" {
        operands: { a: optional(T::Any) },
        attrs: { n: optional(A::Int), wait: optional(A::Unit) },
        format: "oilist(`n` `(` $n `)` | `wait` $wait | `a` `(` $a `:` type($a) `)`) attr-dict",
    }
    /// Properties apart from attributes.
    Props = "t.props" {
        attrs: { n: one(A::Int), s: optional(A::Str) },
        format: "prop-dict attr-dict-with-keyword",
    }
    /// Regions.
    Regions = "t.regions" {
        regions: { first: one, others: many },
        traits: [NoTerminator],
        format: "$first (`or` $others^)? attr-dict",
    }
    /// All regions.
    AllRegions = "t.all_regions" {
        regions: { all: many },
        traits: [NoTerminator],
        format: "regions attr-dict",
    }
    /// A branch.
    Branch = "t.branch" {
        operands: { args: many(T::Any) },
        successors: { dest: one, others: many },
        traits: [Terminator],
        format: "$dest (`or` $others^)? (`with` $args^ `:` type($args))? attr-dict",
    }
    /// A branch to wherever.
    Jump = "t.jump" {
        successors: { all: many },
        traits: [Terminator],
        format: "successors attr-dict",
    }
    /// A symbol, and white space.
    Symbol = "t.symbol" {
        attrs: { sym_name: one(A::Str), value: one(A::Int) },
        traits: [Symbol],
        format: "$sym_name `` `[` $value `]` attr-dict",
    }
    /// A directive of its own.
    Custom = "t.custom" {
        operands: { lo: one(T::Any), hi: optional(T::Any) },
        attrs: { mode: one(A::Str), width: one(A::Int) },
        format: "`width` $width custom<Range>($lo, $hi, type($lo), type($hi), $mode, ref($width)) attr-dict",
        directives: { Range: (parse_range, print_range) },
    }
}

fn infer_tensor(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    let element = input.operand("a").filter(|ty| ty.as_tensor(input.ctx).is_none());
    let element = element.ok_or("a tensor of tensors does not exist")?;
    let size = input.attr("n").and_then(|n| n.as_int(input.ctx)).unwrap_or(0);
    Ok(vec![input.ctx.tensor(&[size], element)])
}

/// `%lo to %hi mode : type`, where a width of 0 has no upper end.
fn parse_range<'p>(p: &mut Parser<'p>, parts: &mut DirectiveReader<'_, 'p>) -> ParseResult<()> {
    let lo = p.parse_operand()?;
    parts.operands(0, &[lo]);
    let is_open = parts.known_attr(p, 5) == Some(p.ctx().int_attr(0));
    let mut types = Vec::new();
    if !is_open {
        p.expect_keyword("to")?;
        let hi = p.parse_operand()?;
        parts.operands(1, &[hi]);
    }
    let mode = p.parse_keyword("a mode")?;
    let mode = p.ctx().str_attr(mode);
    parts.attr(p, 4, mode);
    p.expect(TokenKind::Colon, "':' and the type of both ends")?;
    types.push(p.parse_type()?);
    parts.types(2, &types);
    if !is_open {
        parts.types(3, &types);
    }
    Ok(())
}

fn print_range(p: &mut Printer<'_>, parts: &DirectiveWriter<'_>) {
    let module = p.module();
    p.text(" ");
    p.values(parts.values(module, 0));
    if let [hi] = parts.values(module, 1)[..] {
        p.text(" to ");
        p.value(hi);
    }
    p.text(" ");
    let mode = parts.attr(module, 4).and_then(|mode| mode.as_str(p.ctx())).unwrap_or_default();
    p.text(mode);
    p.text(" : ");
    p.types(&parts.types(module, 2));
}

fn context() -> Arc<Context> {
    let dialect = Dialect { name: "t".into(), ops: op_defs(), ..Dialect::default() };
    let mut ctx = Context::new([dialect]);
    ctx.allow_unregistered = true;
    Arc::new(ctx)
}

/// What the text prints as, or its first error.
fn printed(text: &str) -> Result<String, String> {
    let ctx = context();
    let source = SourceFile::new("t.pir", text);
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &source, &mut reporter);
    if let Some(module) = &module {
        verify(module, &mut reporter);
    }
    match (module, reporter.take().into_iter().next()) {
        (Some(module), None) => Ok(print_module(&module, PrintOptions::default())),
        (_, Some(error)) => Err(error.message),
        (None, None) => Err("no module and no error".into()),
    }
}

/// Asserts that lines, put into a module after two values `%a`, `%b` of type i32, print as they are, also by way of the
/// generic form.
fn stays(lines: &str) {
    let lines = lines.lines().map(|line| format!("  {line}\n")).collect::<String>();
    let text = format!("module {{\n  %a = t.make : i32\n  %b = t.make : i32\n{lines}}}\n");
    assert_eq!(printed(&text).as_ref(), Ok(&text));
    let ctx = context();
    let source = SourceFile::new("t.pir", &*text);
    let module = parse_module(&ctx, &source, &mut Reporter::new(&ctx)).expect("read before");
    let generic = print_module(&module, PrintOptions { generic: true, ..PrintOptions::default() });
    assert_eq!(printed(&generic).as_ref(), Ok(&text), "by way of the generic form");
}

/// The error of lines put into a module after `%a` and `%b`.
fn error(lines: &str) -> String {
    printed(&format!("%a = t.make : i32\n%b = t.make : i32\n{lines}\n")).expect_err("an error")
}

#[test]
fn operands_and_types() {
    stays("%0 = t.all %a, %b, %a : (i32, i32, i32) -> i32");
    stays("%0:2 = t.all %a : (i32) -> (i32, f32)");
    stays("%0:2 = t.types %a, %b : i32, i32 -> f32, f64");
    assert_eq!(error("t.all : () -> ()"), "'t.all' does not take 0 operand(s)");
    assert_eq!(error("t.all %a, %b : (i32) -> ()"), "2 operand(s) but 1 type(s)");
    assert_eq!(
        error("%0:2 = t.types %a, %b : i32, i32 -> f32"),
        "expected ',', found the end of the file"
    );
}

#[test]
fn groups_and_their_sizes() {
    stays("t.groups()");
    stays("t.groups(%a, %b) : i32, i32");
    stays("t.groups() by %a at %b and i32 last i32");
    stays("t.groups(%a) by %a, %b at %b : i32 and i32, i32 last i32");
    assert_eq!(error("t.groups(%a, %b) : i32"), "operand 'a': 2 operand(s) but 1 type(s)");
}

#[test]
fn types_that_follow() {
    stays("%0 = t.same %a, %b : i32");
    stays("%0 = t.same_bare %a");
    stays("%0 = t.pair %a : i32\n%1 = t.all %0 : (tensor<2xi32>) -> i32");
    stays("%0 = t.pair %a times 3 : i32\n%1 = t.all %0 : (tensor<3xi32>) -> i32");
    // What is written is the type of operands that are defined later, too.
    assert!(printed("%x = t.same %y, %y : i32\n%y = t.make : i32").is_ok());
    assert_eq!(
        error("%0 = t.pair %a : i32\n%1 = t.pair %0 : tensor<2xi32>"),
        "'t.pair': a tensor of tensors does not exist"
    );
}

#[test]
fn a_default_is_not_written() {
    let given = printed("%a = t.make : i32\n%0 = t.pair %a times 2 : i32").expect("valid");
    assert!(given.contains("t.pair %a : i32"), "{given}");
}

#[test]
fn attributes() {
    stays("t.attrs<add> 3");
    stays("t.attrs<\"25%\"> -3 flag \"text\" @f * big = true {other = 1, rest = [1]}");
    assert_eq!(error("t.attrs<sub> 3"), "expected one of \"add\", \"mul\", \"25%\", found 'sub'");
    assert_eq!(error("t.attrs<add>"), "expected an attribute, found the end of the file");
    assert_eq!(error("t.attrs<add> 3 {n = 3}"), "attribute 'n' is given twice");
    assert_eq!(error("t.attrs<add> 3 : i32 extra"), "expected an operation, found 'extra'");
    stays("t.attrs<add> 3 : i32");
}

#[test]
fn else_branches_and_clauses() {
    stays("t.else of %a : i32");
    stays("t.else nothing {k}");
    assert_eq!(error("t.else"), "expected 'nothing', found the end of the file");
    stays("t.clauses");
    stays("t.clauses n(3) wait a(%b : i32)");
    let mixed = printed("%b = t.make : i32\nt.clauses a(%b : i32) wait n(3)").expect("valid");
    assert!(mixed.contains("t.clauses n(3) wait a(%b : i32)"), "{mixed}");
    assert_eq!(error("t.clauses wait n(1) wait"), "'wait' is given twice");
}

#[test]
fn dictionaries() {
    stays("t.props <{n = 3}>");
    stays("t.props <{n = 3, s = \"x\"}> attributes {k}");
    assert_eq!(
        error("t.props <{n = 3}"),
        "expected '>' after the properties, found the end of the file"
    );
}

#[test]
fn regions_and_successors() {
    stays("t.regions {\n}");
    stays("t.regions {\n  %0 = t.make : i32\n} or {\n}, {\n} {k}");
    stays("t.all_regions {\n}, {\n}");
    stays("t.all_regions");
    stays(
        "\"x.f\"() ({\n  t.branch ^bb1 or ^bb2, ^bb1 with %a : i32\n^bb1:\n  t.jump ^bb1, ^bb2\n^bb2:\n  t.jump\n}) : () -> ()",
    );
    assert_eq!(
        error("\"x.f\"() ({\n  t.branch with %a : i32\n}) : () -> ()"),
        "expected a block name (^name), found 'with'"
    );
}

#[test]
fn symbols_and_white_space() {
    stays("t.symbol @x[3]");
    assert_eq!(error("t.symbol x[3]"), "expected a symbol name (@name), found 'x'");
}

#[test]
fn directives_of_an_operation() {
    stays("t.custom width 4 %a to %b closed : i32 {k}");
    stays("t.custom width 0 %a open : i32");
    assert_eq!(error("t.custom width 4 %a closed : i32"), "expected 'to', found 'closed'");
}

#[test]
fn the_form_names_what_it_takes() {
    let form = |def: OpDef| match &def.syntax {
        crate::Syntax::Declarative(format) => format.form(&def),
        _ => String::new(),
    };
    assert_eq!(form(Else::def()), "t.else (of %a : <type> | nothing)");
    assert_eq!(
        form(Groups::def()),
        "t.groups (%a...) [by %b...] [at %c] [: <type>] [and <type>] [last <type>]"
    );
    assert_eq!(form(Clauses::def()), "t.clauses [n (<n>)] [wait] [a (%a : <type>)]");
    assert_eq!(form(Props::def()), "t.props <{n = ...}>");
    assert_eq!(form(Branch::def()), "t.branch ^dest [or ^others...] [with %args... : <type>]");
}

#[test]
fn a_definition_made_at_run_time_has_its_format_checked() {
    let mut def = OpDef::new("t.data");
    def.attrs.push(crate::AttrDef {
        name: "n".into(),
        required: true,
        constraint: A::Int,
        default: None,
    });
    let wrong = Format::try_compile("$m attr-dict", &def).expect_err("no such name");
    assert_eq!((wrong.message.as_str(), wrong.at), ("'$m' is not declared; did you mean '$n'?", 1));
    let def = def.with_format("`=` $n attr-dict").finish();
    let ctx = Arc::new(Context::new([Dialect {
        name: "t".into(),
        ops: vec![Arc::new(def)],
        ..Dialect::default()
    }]));
    let source = SourceFile::new("t.pir", "t.data = 4");
    let module = parse_module(&ctx, &source, &mut Reporter::new(&ctx)).expect("valid");
    let op = module.top_level()[0];
    assert_eq!(module.slot(op, 0), Some(ctx.int_attr(4)));
    let _: Op = op;
}
