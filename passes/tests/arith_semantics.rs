//! Folding is never wrong: random functions of `arith` operations give the same values before and after `canonicalize`
//! and `cse`. An evaluator, written here from the definitions and sharing nothing with the folds, says what they give.

use std::sync::Arc;

use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::verify::verify;
use piper_ir::{AttrData, Context, Module, Op, Reporter, SourceFile, Value};
use proptest::prelude::*;
use rustc_hash::FxHashMap;

/// A value: the bits of an integer, or a float.
#[derive(Clone, Copy, Debug)]
enum Number {
    Int(u64),
    Float(f64),
    /// The program promised that this does not happen, or the result is not defined.
    Undefined,
}

fn width(ty: &str) -> u32 {
    match ty {
        "index" => 64,
        _ => ty[1..].parse().expect("an integer type"),
    }
}

fn mask(width: u32) -> u64 {
    if width == 64 { u64::MAX } else { (1 << width) - 1 }
}

fn signed(bits: u64, width: u32) -> i128 {
    let value = i128::from(bits & mask(width));
    if value >> (width - 1) & 1 == 1 { value - (1 << width) } else { value }
}

fn rounded(ty: &str, value: f64) -> f64 {
    if ty == "f32" { f64::from(value as f32) } else { value }
}

/// What an integer operation gives, in the mathematics of the integers.
fn integer(name: &str, a: u64, b: u64, w: u32) -> Number {
    let (sa, sb) = (signed(a, w), signed(b, w));
    let (ua, ub) = (i128::from(a & mask(w)), i128::from(b & mask(w)));
    let floor = |x: i128, y: i128| x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0);
    let overflows = sb == -1 && sa == -(1 << (w - 1));
    let value = match name {
        "addi" => sa + sb,
        "subi" => sa - sb,
        "muli" => sa * sb,
        "andi" => sa & sb,
        "ori" => sa | sb,
        "xori" => sa ^ sb,
        "maxsi" => sa.max(sb),
        "minsi" => sa.min(sb),
        "maxui" => ua.max(ub),
        "minui" => ua.min(ub),
        "shli" | "shrui" | "shrsi" if ub >= i128::from(w) => return Number::Undefined,
        "shli" => ua << ub,
        "shrui" => ua >> ub,
        "shrsi" => sa >> ub,
        _ if ub == 0 => return Number::Undefined,
        "divui" => ua / ub,
        "remui" => ua % ub,
        "ceildivui" => (ua + ub - 1) / ub,
        "remsi" if overflows => 0,
        "remsi" => sa % sb,
        _ if overflows => return Number::Undefined,
        "divsi" => sa / sb,
        "floordivsi" => floor(sa, sb),
        "ceildivsi" => -floor(-sa, sb),
        other => panic!("integer operation {other}"),
    };
    Number::Int(value as u64 & mask(w))
}

fn float(name: &str, a: f64, b: f64) -> f64 {
    match name {
        "addf" => a + b,
        "subf" => a - b,
        "mulf" => a * b,
        "divf" => a / b,
        "remf" => a % b,
        "maximumf" | "minimumf" if a.is_nan() || b.is_nan() => f64::NAN,
        "maxnumf" | "minnumf" if a.is_nan() => b,
        "maxnumf" | "minnumf" if b.is_nan() => a,
        "maximumf" | "maxnumf" if a == b => {
            if a.is_sign_negative() {
                b
            } else {
                a
            }
        }
        "minimumf" | "minnumf" if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        "maximumf" | "maxnumf" => a.max(b),
        "minimumf" | "minnumf" => a.min(b),
        other => panic!("floating-point operation {other}"),
    }
}

fn compares(predicate: i64, a: u64, b: u64, w: u32) -> bool {
    let (sa, sb, ua, ub) = (signed(a, w), signed(b, w), a & mask(w), b & mask(w));
    [ua == ub, ua != ub, sa < sb, sa <= sb, sa > sb, sa >= sb, ua < ub, ua <= ub, ua > ub, ua >= ub]
        [predicate as usize]
}

fn compares_floats(predicate: i64, a: f64, b: f64) -> bool {
    let nan = a.is_nan() || b.is_nan();
    let ordered = [false, a == b, a > b, a >= b, a < b, a <= b, a != b, true];
    match predicate {
        0..8 => !nan && ordered[predicate as usize],
        8..15 => {
            nan || [a == b, a > b, a >= b, a < b, a <= b, a != b, false][predicate as usize - 8]
        }
        _ => true,
    }
}

/// The values that `func.return` of the function gives for these arguments.
fn evaluate(module: &Module, args: &[Number]) -> Vec<Number> {
    let func = module.top_level()[0];
    let block = module.only_block(func).expect("one block");
    let mut known: FxHashMap<Value, Number> = FxHashMap::default();
    known.extend(module.args(block).iter().copied().zip(args.iter().copied()));
    for op in module.ops(block) {
        let operands: Vec<Number> = module.operands(op).map(|value| known[&value]).collect();
        let name = module.name_text(op);
        if name == "func.return" {
            return operands;
        }
        let result = value_of(module, op, name.strip_prefix("arith.").expect("arith"), &operands);
        known.insert(module.result(op, 0), result);
    }
    panic!("no return")
}

fn value_of(module: &Module, op: Op, name: &str, operands: &[Number]) -> Number {
    let ctx = module.ctx();
    let text = |value: Value| module.ty(value).display(ctx);
    let to = text(module.result(op, 0));
    if name == "constant" {
        return match module.attr_by(op, "value").expect("a value").data(ctx) {
            AttrData::Int { value, .. } => Number::Int(*value as u64 & mask(width(&to))),
            _ => Number::Float(
                module.attr_by(op, "value").and_then(|v| v.as_float(ctx)).expect("a float"),
            ),
        };
    }
    if name == "select" {
        return match operands[0] {
            Number::Int(c) => operands[if c & 1 == 1 { 1 } else { 2 }],
            _ => Number::Undefined,
        };
    }
    let from = text(module.operand(op, 0));
    let predicate =
        || module.attr_by(op, "predicate").and_then(|p| p.as_int(ctx)).expect("a predicate");
    // What the program promised and did not keep.
    let flags =
        module.attr_by(op, "overflowFlags").map_or(String::new(), |flags| flags.display(ctx));
    match *operands {
        [Number::Int(a), Number::Int(b)] if name == "cmpi" => {
            Number::Int(compares(predicate(), a, b, width(&from)).into())
        }
        [Number::Float(a), Number::Float(b)] if name == "cmpf" => {
            Number::Int(compares_floats(predicate(), a, b).into())
        }
        [Number::Int(a), Number::Int(b)] => {
            let w = width(&to);
            let exact = |x: i128, y: i128| match name {
                "addi" => Some(x + y),
                "subi" => Some(x - y),
                "muli" => Some(x.saturating_mul(y)),
                _ => None,
            };
            let half = 1i128 << (w - 1);
            let breaks = |value: Option<i128>, low: i128, high: i128| {
                value.is_some_and(|value| value < low || value >= high)
            };
            let (sa, sb) = (signed(a, w), signed(b, w));
            let (ua, ub) = (i128::from(a & mask(w)), i128::from(b & mask(w)));
            if flags.contains("nsw") && breaks(exact(sa, sb), -half, half)
                || flags.contains("nuw") && breaks(exact(ua, ub), 0, 2 * half)
            {
                return Number::Undefined;
            }
            integer(name, a, b, w)
        }
        [Number::Float(a), Number::Float(b)] => Number::Float(rounded(&to, float(name, a, b))),
        [Number::Float(a)] if name == "negf" => Number::Float(-a),
        [Number::Float(a)] if name == "extf" || name == "truncf" => Number::Float(rounded(&to, a)),
        [Number::Int(a)] => match name {
            "extui" => Number::Int(a & mask(width(&from))),
            "extsi" | "index_cast" => {
                Number::Int(signed(a, width(&from)) as u64 & mask(width(&to)))
            }
            "trunci" => Number::Int(a & mask(width(&to))),
            "sitofp" => Number::Float(match &*to {
                "f32" => f64::from(signed(a, width(&from)) as f32),
                _ => signed(a, width(&from)) as f64,
            }),
            "uitofp" => Number::Float(match &*to {
                "f32" => f64::from((a & mask(width(&from))) as f32),
                _ => (a & mask(width(&from))) as f64,
            }),
            other => panic!("conversion {other}"),
        },
        _ => Number::Undefined,
    }
}

/// A choice in the making of a program; which operation it becomes depends on the values there are.
#[derive(Clone, Debug)]
struct Step {
    kind: usize,
    picks: [usize; 3],
    constant: i64,
}

const INTS: &[&str] = &["i1", "i8", "i32", "i64", "index"];
const FLOATS: &[&str] = &["f32", "f64"];
const INT_OPS: &[&str] = &[
    "addi",
    "subi",
    "muli",
    "andi",
    "ori",
    "xori",
    "maxsi",
    "minsi",
    "maxui",
    "minui",
    "shli",
    "shrui",
    "shrsi",
    "divui",
    "divsi",
    "ceildivui",
    "ceildivsi",
    "floordivsi",
    "remui",
    "remsi",
];
const FLOAT_OPS: &[&str] =
    &["addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf"];
const PREDICATES: &[&str] = &["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];
const FLOAT_PREDICATES: &[&str] =
    &["oeq", "ogt", "olt", "ole", "one", "ord", "ueq", "ugt", "ult", "une", "uno"];

/// The text of a function of the steps; its arguments are one of each type.
fn program(steps: &[Step]) -> String {
    let types: Vec<&str> = INTS.iter().chain(FLOATS).copied().collect();
    let mut values: Vec<(String, &str)> =
        types.iter().enumerate().map(|(i, ty)| (format!("%a{i}"), *ty)).collect();
    let args: Vec<String> = values.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let mut body = String::new();
    for (number, step) in steps.iter().enumerate() {
        let name = format!("%v{number}");
        let first = values[values.len() - 1 - step.picks[0] % values.len()].clone();
        let like: Vec<&(String, &str)> = values.iter().filter(|(_, ty)| *ty == first.1).collect();
        let pick = |by: usize| like[like.len() - 1 - by % like.len()].0.clone();
        let (a, b, ty) = (first.0, pick(step.picks[1]), first.1);
        let is_int = INTS.contains(&ty);
        let word = |words: &[&'static str]| words[step.picks[2] % words.len()];
        let (text, result) = match step.kind % 8 {
            0 if ty == "i1" => (format!("arith.constant {}", step.constant % 2 != 0), ty),
            0 if is_int => {
                let w = width(ty).min(63);
                let value = signed(step.constant as u64, w);
                (format!("arith.constant {value} : {ty}"), ty)
            }
            0 => {
                (format!("arith.constant {:.3e} : {ty}", (step.constant % 9 - 4) as f64 / 2.0), ty)
            }
            1 | 2 if is_int => {
                let op = word(INT_OPS);
                let flags = match (op, step.constant % 4) {
                    ("addi" | "subi" | "muli", 1) => " overflow<nsw>",
                    ("addi" | "subi" | "muli", 2) => " overflow<nuw>",
                    ("addi" | "subi" | "muli", 3) => " overflow<nsw, nuw>",
                    _ => "",
                };
                (format!("arith.{op} {a}, {b}{flags} : {ty}"), ty)
            }
            1 | 2 => (format!("arith.{} {a}, {b} : {ty}", word(FLOAT_OPS)), ty),
            3 if is_int => (format!("arith.cmpi {}, {a}, {b} : {ty}", word(PREDICATES)), "i1"),
            3 => (format!("arith.cmpf {}, {a}, {b} : {ty}", word(FLOAT_PREDICATES)), "i1"),
            4 | 5 => {
                let bits: Vec<&String> =
                    values.iter().filter(|(_, ty)| *ty == "i1").map(|(name, _)| name).collect();
                let c = bits[bits.len() - 1 - step.picks[2] % bits.len()];
                (format!("arith.select {c}, {a}, {b} : {ty}"), ty)
            }
            6 if is_int => match (ty, step.picks[2] % 4) {
                ("index", _) => (format!("arith.index_cast {a} : index to i32"), "i32"),
                ("i1", _) => (format!("arith.extui {a} : i1 to i8"), "i8"),
                ("i64", 0) => (format!("arith.trunci {a} : i64 to i8"), "i8"),
                ("i64", _) => (format!("arith.trunci {a} : i64 to i32"), "i32"),
                (_, 0) => (format!("arith.extsi {a} : {ty} to i64"), "i64"),
                (_, 1) => (format!("arith.extui {a} : {ty} to i64"), "i64"),
                (_, 2) => (format!("arith.index_cast {a} : {ty} to index"), "index"),
                _ => (format!("arith.trunci {a} : {ty} to i1"), "i1"),
            },
            6 if ty == "f32" => (format!("arith.extf {a} : f32 to f64"), "f64"),
            6 => (format!("arith.truncf {a} : f64 to f32"), "f32"),
            _ if is_int && ty != "index" => match step.picks[2] % 3 {
                0 => (format!("arith.sitofp {a} : {ty} to f32"), "f32"),
                1 => (format!("arith.uitofp {a} : {ty} to f64"), "f64"),
                _ => (format!("arith.xori {a}, {b} : {ty}"), ty),
            },
            _ if ty == "index" => (format!("arith.addi {a}, {b} : index"), ty),
            _ => (format!("arith.negf {a} : {ty}"), ty),
        };
        body += &format!("  {name} = {text}\n");
        values.push((name, result));
    }
    let last: Vec<&(String, &str)> = values.iter().rev().take(8).collect();
    let names: Vec<&str> = last.iter().map(|(name, _)| name.as_str()).collect();
    let types: Vec<&str> = last.iter().map(|(_, ty)| *ty).collect();
    let (names, types) = (names.join(", "), types.join(", "));
    format!(
        "func.func @f({}) -> ({types}) {{\n{body}  func.return {names} : {types}\n}}\n",
        args.join(", ")
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let constant = prop_oneof![-4i64..5, any::<i64>()];
    let step = (0usize..8, prop::array::uniform3(0usize..12), constant)
        .prop_map(|(kind, picks, constant)| Step { kind, picks, constant });
    prop::collection::vec(step, 1..40)
}

fn agrees(before: Number, after: Number) -> bool {
    match (before, after) {
        // What is undefined may become anything.
        (Number::Undefined, _) => true,
        (Number::Int(a), Number::Int(b)) => a == b,
        (Number::Float(a), Number::Float(b)) => {
            a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
        }
        _ => false,
    }
}

fn arguments() -> impl Strategy<Value = (u64, u64, f64, f64)> {
    let int = || prop_oneof![0u64..4, any::<u64>(), Just(u64::MAX), Just(1 << 63), Just(0x80)];
    let float =
        || prop_oneof![Just(0.0), Just(-0.0), Just(f64::NAN), Just(f64::INFINITY), -3.0..3.0f64];
    (int(), int(), float(), float())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn simplified_functions_give_the_same_values(
        steps in steps(),
        inputs in prop::collection::vec(arguments(), 6),
    ) {
        let text = program(&steps);
        let ctx = Arc::new(Context::new(piper_dialects::all()));
        let mut reporter = Reporter::new(&ctx);
        let module = parse_module(&ctx, &SourceFile::new("t.pir", &*text), &mut reporter);
        let Some(before) = module.filter(|module| verify(module, &mut reporter)) else {
            panic!("{:?}\n{text}", reporter.diagnostics())
        };
        for passes in [&["canonicalize"][..], &["cse"], &["dce"], &["cse", "canonicalize", "cse"]] {
            let mut after = before.clone();
            for pass in passes {
                let root = after.root();
                match *pass {
                    "canonicalize" => {
                        let patterns = piper_ir::rewrite::PatternSet::canonicalization(&ctx).freeze(&ctx);
                        let outcome = piper_ir::rewrite::simplify(
                            &mut after, root, &patterns, piper_ir::rewrite::SimplifyOptions::default());
                        prop_assert!(outcome.stuck.is_none(), "{:?}\n{text}", outcome.stuck);
                    }
                    "cse" => { piper_passes::cse::run(&mut after, root); }
                    _ => { piper_passes::dce::run(&mut after, root); }
                }
            }
            prop_assert!(verify(&after, &mut reporter), "{:?}", reporter.diagnostics());
            for &(a, b, x, y) in &inputs {
                let args: Vec<Number> = INTS.iter().enumerate()
                    .map(|(i, ty)| Number::Int((if i % 2 == 0 { a } else { b }) & mask(width(ty))))
                    .chain([Number::Float(f64::from(x as f32)), Number::Float(y)])
                    .collect();
                let (old, new) = (evaluate(&before, &args), evaluate(&after, &args));
                for (old, new) in old.into_iter().zip(new) {
                    prop_assert!(
                        agrees(old, new),
                        "{old:?} became {new:?} for {args:?} by {passes:?}\n{text}\n{}",
                        print_module(&after, PrintOptions::default())
                    );
                }
            }
        }
    }
}
