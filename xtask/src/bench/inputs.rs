//! The programs that are measured, made here so that no large file lies in the repository.
//!
//! Two shapes. [`graph`] is what a machine writes: a million operations that no dialect declares, in functions of a
//! thousand, one in a hundred of them with a region. [`arithmetic`] is what optimisations work on: operations of `arith`,
//! half of which a pass can fold, merge or drop.

use std::io::{self, Write};

/// Operations in each function.
const FUNCTION: usize = 1000;
/// Operations inside each region of [`graph`].
const INNER: usize = 9;

/// What an attribute of [`graph`] holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keys {
    /// The number of the operation: nothing is equal to anything else.
    Distinct,
    /// One number everywhere.
    Same,
}

/// Writes a module of at least `ops` operations `"d.op"(%a, %b) {k = 1 : i64} : (i64, i64) -> i64` in the generic form
/// and returns how many there are, functions and their returns not counted.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn graph(out: &mut impl Write, ops: usize, keys: Keys) -> io::Result<usize> {
    const TYPE: &str = "(i64, i64) -> i64";
    let key = |n: usize| if keys == Keys::Distinct { n } else { 1 };
    let (mut written, mut function) = (0, 0);
    out.write_all(b"\"builtin.module\"() ({\n")?;
    while written < ops {
        writeln!(
            out,
            "  \"func.func\"() <{{function_type = {TYPE}, sym_name = \"f{function}\"}}> ({{\n  ^bb0(%arg0: i64, %arg1: i64):"
        )?;
        let (mut a, mut b) = ("%arg0".to_owned(), "%arg1".to_owned());
        let end = ops.min(written + FUNCTION);
        let mut value = 0;
        while written < end {
            // With the operations inside, one in a hundred has a region.
            if value % 90 == 89 && written + INNER + 2 <= end {
                writeln!(
                    out,
                    "    %{value} = \"d.region\"({a}, {b}) ({{\n    ^bb0(%i{value}: i64):"
                )?;
                let (mut p, mut q) = (format!("%i{value}"), b);
                for j in 0..INNER {
                    let result = format!("%r{value}_{j}");
                    let key = key(written + j);
                    writeln!(
                        out,
                        "      {result} = \"d.op\"({p}, {q}) {{k = {key} : i64}} : {TYPE}"
                    )?;
                    (p, q) = (result, p);
                }
                writeln!(
                    out,
                    "      \"d.yield\"({p}) : (i64) -> ()\n    }}) {{k = 1 : i64}} : {TYPE}"
                )?;
                written += INNER + 2;
            } else {
                let key = key(written);
                writeln!(out, "    %{value} = \"d.op\"({a}, {b}) {{k = {key} : i64}} : {TYPE}")?;
                written += 1;
            }
            (a, b) = (format!("%{value}"), a);
            value += 1;
        }
        writeln!(out, "    \"func.return\"({a}) : (i64) -> ()\n  }}) : () -> ()")?;
        function += 1;
    }
    out.write_all(b"}) : () -> ()\n")?;
    Ok(written)
}

/// Writes functions of `arith` operations in their custom form, at least `ops`, and returns how many there are, functions
/// and returns not counted. Of every ten, three are constants (two of them the same everywhere), one folds to a constant,
/// one is the same as another, one adds zero, and one is dead.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn arithmetic(out: &mut impl Write, ops: usize) -> io::Result<usize> {
    const STEP: usize = 10;
    let (mut written, mut function) = (0, 0);
    while written < ops {
        writeln!(out, "func.func @f{function}(%x: i64, %y: i64) -> i64 {{")?;
        let (mut x, mut y) = ("%x".to_owned(), "%y".to_owned());
        for step in 0..FUNCTION / STEP {
            let n = STEP * step;
            let [three, number, zero, sum, product, same, dead, unchanged, mixed, last] =
                std::array::from_fn(|i| format!("%{}", n + i));
            write!(
                out,
                "  {three} = arith.constant 3 : i64\n  \
                   {number} = arith.constant {step} : i64\n  \
                   {zero} = arith.constant 0 : i64\n  \
                   {sum} = arith.addi {three}, {number} : i64\n  \
                   {product} = arith.muli {x}, {y} : i64\n  \
                   {same} = arith.muli {x}, {y} : i64\n  \
                   {dead} = arith.subi {product}, {sum} : i64\n  \
                   {unchanged} = arith.addi {same}, {zero} : i64\n  \
                   {mixed} = arith.xori {unchanged}, {sum} : i64\n  \
                   {last} = arith.addi {mixed}, {product} : i64\n"
            )?;
            (x, y) = (last, x);
            written += STEP;
        }
        writeln!(out, "  return {x} : i64\n}}")?;
        function += 1;
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use piper_ir::text::{PrintOptions, parse_module, print_module};
    use piper_ir::verify::verify;
    use piper_ir::{Context, Module, Reporter, SourceFile};

    use super::{Keys, arithmetic, graph};

    const OPS: usize = 5_500;

    fn read(text: &str) -> Module {
        let mut ctx = Context::new(piper_dialects::all());
        ctx.allow_unregistered = true;
        let ctx = Arc::new(ctx);
        let mut reporter = Reporter::new(&ctx);
        let module = parse_module(&ctx, &SourceFile::new("made", text), &mut reporter);
        let module = module.unwrap_or_else(|| panic!("{:?}", reporter.diagnostics()));
        assert!(verify(&module, &mut reporter), "{:?}", reporter.diagnostics());
        module
    }

    fn named(module: &Module, names: &[&str]) -> usize {
        module.walk(module.root()).filter(|&op| names.contains(&module.name_text(op))).count()
    }

    #[test]
    fn graphs_parse_verify_and_are_as_printed() {
        for keys in [Keys::Distinct, Keys::Same] {
            let mut text = Vec::new();
            let ops = graph(&mut text, OPS, keys).expect("memory does not fail");
            let text = String::from_utf8(text).expect("text");
            let module = read(&text);
            assert_eq!(ops, OPS);
            assert_eq!(named(&module, &["d.op", "d.region", "d.yield"]), ops);
            assert_eq!(named(&module, &["d.region"]), 55, "one in a hundred");
            assert_eq!(named(&module, &["func.func"]), 6);
            let generic = PrintOptions { generic: true, ..PrintOptions::default() };
            for options in [generic, PrintOptions::default()] {
                let printed = print_module(&module, options);
                assert_eq!(print_module(&read(&printed), options), printed);
            }
        }
    }

    #[test]
    fn distinct_keys_are_all_different() {
        let mut text = Vec::new();
        graph(&mut text, OPS, Keys::Distinct).expect("memory does not fail");
        let text = String::from_utf8(text).expect("text");
        let mut keys: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("\"d.op\""))
            .filter_map(|line| line.split("{k = ").nth(1))
            .collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn arithmetic_parses_verifies_and_is_as_printed() {
        let mut text = Vec::new();
        let ops = arithmetic(&mut text, OPS).expect("memory does not fail");
        let module = read(std::str::from_utf8(&text).expect("text"));
        let arith = module
            .walk(module.root())
            .filter(|&op| module.name_text(op).starts_with("arith."))
            .count();
        assert_eq!((ops, arith), (6_000, 6_000), "whole functions");
        let printed = print_module(&module, PrintOptions::default());
        assert_eq!(print_module(&read(&printed), PrintOptions::default()), printed);
    }
}
