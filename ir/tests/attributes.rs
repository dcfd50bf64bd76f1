//! Generated types and attributes: their text reads back as what they are, and `mlir-opt`, where it is installed, reads the
//! same from it.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use piper_ir::affine::{AffineExpr, AffineMap, AffineOp, IntegerSet};
use piper_ir::text::{PrintOptions, parse_module, print_module};
use piper_ir::{
    Attr, AttrData, Context, DYNAMIC, FloatKind, Module, OpState, Reporter, Signedness, SourceFile,
    Type, TypeData,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn context() -> Arc<Context> {
    let mut ctx = Context::new([]);
    ctx.allow_unregistered = true;
    Arc::new(ctx)
}

/// What a type is made from.
#[derive(Clone, Debug)]
enum TypePlan {
    Int(u32, u8),
    Float(usize),
    Index,
    Tensor(Vec<i64>, Box<TypePlan>),
    Vector(Vec<(u8, bool)>, Box<TypePlan>),
    MemRef(Vec<i64>, Box<TypePlan>, Option<u8>, bool),
    Complex(usize),
    Tuple(Vec<TypePlan>),
    Function(Vec<TypePlan>, Vec<TypePlan>),
    Opaque(String),
}

impl TypePlan {
    fn make(&self, ctx: &Context) -> Type {
        let all = |plans: &[TypePlan]| plans.iter().map(|plan| plan.make(ctx)).collect();
        let extents =
            |shape: &[i64]| shape.iter().map(|&d| if d < 0 { DYNAMIC } else { d }).collect();
        ctx.ty(match self {
            TypePlan::Int(width, sign) => TypeData::Integer {
                width: *width,
                signedness: [Signedness::Signless, Signedness::Signed, Signedness::Unsigned]
                    [usize::from(sign % 3)],
            },
            TypePlan::Float(at) => TypeData::Float(FloatKind::ALL[at % FloatKind::ALL.len()].0),
            TypePlan::Index => TypeData::Index,
            TypePlan::Tensor(shape, element) => TypeData::Tensor {
                shape: extents(shape),
                element: element.make(ctx),
                encoding: None,
            },
            TypePlan::Vector(shape, element) => {
                let scalable: Vec<bool> = shape.iter().map(|(_, scalable)| *scalable).collect();
                TypeData::Vector {
                    shape: shape.iter().map(|(size, _)| i64::from(*size) + 1).collect(),
                    scalable: if scalable.contains(&true) { scalable.into() } else { [].into() },
                    element: element.make(ctx),
                }
            }
            TypePlan::MemRef(shape, element, space, strided) => TypeData::MemRef {
                shape: extents(shape),
                element: element.make(ctx),
                layout: strided.then(|| {
                    let strides = shape.iter().map(|&d| if d < 0 { DYNAMIC } else { d + 1 });
                    ctx.attr(AttrData::Strided { strides: strides.collect(), offset: DYNAMIC })
                }),
                space: space.filter(|space| *space > 0).map(|space| ctx.int_attr(space.into())),
            },
            TypePlan::Complex(at) => TypeData::Complex(TypePlan::Float(*at).make(ctx)),
            TypePlan::Tuple(types) => TypeData::Tuple(all(types)),
            TypePlan::Function(inputs, results) => {
                TypeData::Function { inputs: all(inputs), results: all(results) }
            }
            TypePlan::Opaque(name) => TypeData::Opaque {
                dialect: ctx.name("some"),
                body: format!(".{name}<[{name}]>").into(),
            },
        })
    }
}

fn number_type() -> impl Strategy<Value = TypePlan> {
    prop_oneof![
        (1u32..300, any::<u8>()).prop_map(|(width, sign)| TypePlan::Int(width, sign)),
        prop::sample::select(vec![1u32, 8, 16, 32, 64, 128])
            .prop_map(|width| TypePlan::Int(width, 0)),
        any::<usize>().prop_map(TypePlan::Float),
        Just(TypePlan::Index),
    ]
}

fn type_plan() -> impl Strategy<Value = TypePlan> {
    let extents = || prop::collection::vec(-1i64..5, 0..4);
    let leaf = prop_oneof![
        4 => number_type(),
        1 => "[a-z]{1,5}".prop_map(TypePlan::Opaque),
        2 => (extents(), number_type()).prop_map(|(s, e)| TypePlan::Tensor(s, Box::new(e))),
        2 => (prop::collection::vec((0u8..4, any::<bool>()), 0..3), number_type())
            .prop_map(|(s, e)| TypePlan::Vector(s, Box::new(e))),
        2 => (extents(), number_type(), prop::option::of(0u8..4), any::<bool>())
            .prop_map(|(s, e, space, strided)| TypePlan::MemRef(s, Box::new(e), space, strided)),
        1 => any::<usize>().prop_map(TypePlan::Complex),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(TypePlan::Tuple),
            (prop::collection::vec(inner.clone(), 0..3), prop::collection::vec(inner, 0..3))
                .prop_map(|(inputs, results)| TypePlan::Function(inputs, results)),
        ]
    })
}

/// What an attribute is made from.
#[derive(Clone, Debug)]
enum Plan {
    Int(TypePlan, u64, u64),
    Float(usize, u64, u64),
    Text(String, Option<TypePlan>),
    Type(TypePlan),
    /// Element type, shape, bytes to draw from, whether all elements are equal.
    Dense(TypePlan, Vec<i64>, Vec<u8>, bool),
    Array(u8, Vec<i64>),
    Map(u8, u8, Vec<Expr>),
    Set(u8, u8, Vec<(Expr, bool)>),
    Strided(Vec<i64>, i64),
    Symbol(Vec<String>),
    Distinct(Box<Plan>),
    List(Vec<Plan>),
    Dict(Vec<(String, Plan)>),
}

#[derive(Clone, Debug)]
enum Expr {
    Dim(u8),
    Symbol(u8),
    Constant(i64),
    Binary(u8, Box<Expr>, Box<Expr>),
}

impl Expr {
    fn make(&self, dims: u8, symbols: u8) -> AffineExpr {
        match self {
            Expr::Dim(at) if dims > 0 => AffineExpr::Dim(u32::from(at % dims)),
            Expr::Symbol(at) if symbols > 0 => AffineExpr::Symbol(u32::from(at % symbols)),
            Expr::Dim(at) | Expr::Symbol(at) => AffineExpr::Constant(i64::from(*at)),
            Expr::Constant(value) => AffineExpr::Constant(*value),
            Expr::Binary(op, lhs, rhs) => {
                let ops = [
                    AffineOp::Add,
                    AffineOp::Mul,
                    AffineOp::FloorDiv,
                    AffineOp::CeilDiv,
                    AffineOp::Mod,
                ];
                let (lhs, rhs) = (lhs.make(dims, symbols), rhs.make(dims, symbols));
                match ops[usize::from(*op) % ops.len()] {
                    AffineOp::Add => AffineExpr::binary(AffineOp::Add, lhs, rhs),
                    op if rhs.is_symbolic_or_constant() => AffineExpr::binary(op, lhs, rhs),
                    _ => AffineExpr::binary(AffineOp::Mul, rhs, AffineExpr::Constant(3)),
                }
            }
        }
    }
}

impl Plan {
    fn make(&self, ctx: &Context) -> Attr {
        match self {
            Plan::Int(ty, low, high) => {
                let ty = ty.make(ctx);
                match *ty.data(ctx) {
                    TypeData::Integer { width, .. } if width > 128 => {
                        let mut words = vec![0; width.div_ceil(64) as usize];
                        words[0] = *low;
                        ctx.attr(AttrData::WideInt { words: words.into(), ty })
                    }
                    _ => ctx.int_attr_of(ty, (u128::from(*high) << 64 | u128::from(*low)) as i128),
                }
            }
            Plan::Float(at, low, high) => {
                let kind = FloatKind::ALL[at % FloatKind::ALL.len()].0;
                // Of the widest formats mlir-opt writes digits that it does not read back, because it reads through f64.
                let kind = if kind.bits() > 64 { FloatKind::F64 } else { kind };
                let bits = u128::from(*high) << 64 | u128::from(*low);
                let pattern = bits & (u128::MAX >> (128 - kind.bits()));
                ctx.attr(AttrData::Float { pattern, ty: ctx.ty(TypeData::Float(kind)) })
            }
            Plan::Text(text, None) => ctx.str_attr(text),
            Plan::Text(text, Some(ty)) => {
                ctx.attr(AttrData::TypedStr { text: text.as_str().into(), ty: ty.make(ctx) })
            }
            Plan::Type(ty) => ctx.type_attr(ty.make(ctx)),
            Plan::Dense(element, shape, bytes, splat) => {
                let element = element.make(ctx);
                let ty = ctx.tensor(shape, element);
                let count = if *splat { 1 } else { shape.iter().product::<i64>() as usize };
                let count = if shape.contains(&0) { 0 } else { count };
                let mut source = bytes.iter().cycle();
                match element.as_float(ctx) {
                    Some(_) => {
                        let values: Vec<f64> = (0..count)
                            .map(|_| f64::from(*source.next().expect("endless")) / 8.0 - 9.0)
                            .collect();
                        ctx.dense_floats(ty, &values)
                    }
                    None => {
                        let values: Vec<i128> = (0..count)
                            .map(|_| i128::from(*source.next().expect("endless")) - 100)
                            .collect();
                        ctx.dense_ints(ty, &values)
                    }
                }
            }
            Plan::Array(kind, values) => match kind % 4 {
                0 => ctx.int_array_attr(values),
                1 => {
                    let values: Vec<i64> = values.iter().map(|v| i64::from(*v as i32)).collect();
                    ctx.i32_array_attr(&values)
                }
                2 => {
                    let values = values.iter().map(|v| v & 1).collect();
                    ctx.attr(AttrData::DenseArray { element: ctx.i1(), values })
                }
                _ => {
                    let values = values.iter().map(|v| (*v as f64).to_bits() as i64).collect();
                    ctx.attr(AttrData::DenseArray { element: ctx.f64(), values })
                }
            },
            Plan::Map(dims, symbols, results) => ctx.attr(AttrData::AffineMap(AffineMap {
                dims: (*dims).into(),
                symbols: (*symbols).into(),
                results: results.iter().map(|expr| expr.make(*dims, *symbols)).collect(),
            })),
            Plan::Set(dims, symbols, constraints) => ctx.attr(AttrData::IntegerSet(IntegerSet {
                dims: (*dims).into(),
                symbols: (*symbols).into(),
                constraints: constraints
                    .iter()
                    .map(|(expr, equal)| (expr.make(*dims, *symbols), *equal))
                    .collect(),
            })),
            Plan::Strided(strides, offset) => ctx.attr(AttrData::Strided {
                strides: strides.iter().map(|&s| if s == 0 { DYNAMIC } else { s }).collect(),
                offset: *offset,
            }),
            Plan::Symbol(names) => {
                let names: Vec<_> = names.iter().map(|name| ctx.name(name)).collect();
                ctx.attr(AttrData::Symbol { root: names[0], nested: names[1..].into() })
            }
            Plan::Distinct(inner) => ctx.distinct_attr(inner.make(ctx)),
            Plan::List(items) => {
                ctx.array_attr(items.iter().map(|plan| plan.make(ctx)).collect::<Vec<_>>())
            }
            Plan::Dict(entries) => {
                let mut seen = std::collections::BTreeMap::new();
                for (key, plan) in entries {
                    seen.entry(key).or_insert(plan);
                }
                ctx.dict_attr(seen.iter().map(|(key, plan)| (ctx.name(key), plan.make(ctx))))
            }
        }
    }
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        any::<u8>().prop_map(Expr::Dim),
        any::<u8>().prop_map(Expr::Symbol),
        (-9i64..10).prop_map(Expr::Constant),
        prop::sample::select(vec![1i64, 2, 4, 8, 128]).prop_map(Expr::Constant),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        (any::<u8>(), inner.clone(), inner)
            .prop_map(|(op, lhs, rhs)| Expr::Binary(op, Box::new(lhs), Box::new(rhs)))
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let small_number = prop_oneof![
        (1u32..70, any::<u8>()).prop_map(|(width, sign)| TypePlan::Int(width, sign)),
        any::<usize>().prop_map(TypePlan::Float),
        Just(TypePlan::Index),
    ];
    let int_type = prop_oneof![
        (1u32..300, any::<u8>()).prop_map(|(width, sign)| TypePlan::Int(width, sign)),
        Just(TypePlan::Index),
    ];
    let leaf = prop_oneof![
        (int_type, any::<u64>(), any::<u64>()).prop_map(|(ty, a, b)| Plan::Int(ty, a, b)),
        (any::<usize>(), any::<u64>(), any::<u64>()).prop_map(|(ty, a, b)| Plan::Float(ty, a, b)),
        (".{0,6}", prop::option::of(number_type())).prop_map(|(text, ty)| Plan::Text(text, ty)),
        type_plan().prop_map(Plan::Type),
        (
            small_number,
            prop::collection::vec(0i64..6, 0..4),
            prop::collection::vec(any::<u8>(), 1..20),
            prop::bool::weighted(0.2)
        )
            .prop_map(|(ty, shape, bytes, splat)| Plan::Dense(ty, shape, bytes, splat)),
        (any::<u8>(), prop::collection::vec(any::<i64>(), 0..5))
            .prop_map(|(k, v)| Plan::Array(k, v)),
        (0u8..4, 0u8..3, prop::collection::vec(expr(), 0..4))
            .prop_map(|(d, s, e)| Plan::Map(d, s, e)),
        (0u8..4, 0u8..3, prop::collection::vec((expr(), any::<bool>()), 1..4))
            .prop_map(|(d, s, c)| Plan::Set(d, s, c)),
        (prop::collection::vec(-3i64..9, 0..3), 0i64..3).prop_map(|(s, o)| Plan::Strided(s, o)),
        prop::collection::vec("[a-z@ \"]{1,5}", 1..4).prop_map(Plan::Symbol),
    ];
    leaf.prop_recursive(3, 10, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|plan| Plan::Distinct(Box::new(plan))),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Plan::List),
            prop::collection::vec(("[a-z.]{1,4}|[a-z ]{1,4}", inner), 0..4).prop_map(Plan::Dict),
        ]
    })
}

/// A module of operations that hold one attribute each.
fn module_of(ctx: &Arc<Context>, plans: &[Plan]) -> Module {
    let mut module = Module::new(Arc::clone(ctx));
    let body = module.body();
    for plan in plans {
        let mut state = OpState::new(ctx.op_name("t.op"), ctx.unknown_loc());
        state.attrs.push((ctx.name("a"), plan.make(ctx)));
        let op = module.create(state);
        module.append(body, op);
    }
    module
}

fn read(text: &str) -> Result<Module, String> {
    let ctx = context();
    let mut reporter = Reporter::new(&ctx);
    let module = parse_module(&ctx, &SourceFile::new("f", text), &mut reporter);
    module.ok_or_else(|| {
        let messages: Vec<String> =
            reporter.diagnostics().iter().map(|d| d.message.clone()).collect();
        messages.join("\n")
    })
}

fn print(module: &Module) -> String {
    print_module(module, PrintOptions { generic: true, ..PrintOptions::default() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn attributes_survive_their_text(plans in prop::collection::vec(plan(), 1..4)) {
        let text = print(&module_of(&context(), &plans));
        let again = read(&text);
        prop_assert!(again.is_ok(), "{}\n{text}", again.unwrap_err());
        prop_assert_eq!(print(&again.expect("just checked")), text);
    }

    /// Alone, without a module and its aliases, an attribute is written in full and reads back as itself.
    #[test]
    fn an_attribute_alone_is_itself(plan in plan()) {
        let ctx = context();
        let attr = plan.make(&ctx);
        let text = attr.display(&ctx);
        let module = read(&format!("\"t.op\"() {{a = {text}}} : () -> ()"));
        prop_assert!(module.is_ok(), "{}\n{text}", module.unwrap_err());
        let module = module.expect("just checked");
        let op = module.ops(module.body()).next().expect("one operation");
        let found = module.attr_by(op, "a").expect("its attribute");
        prop_assert_eq!(found.display(module.ctx()), text);
    }
}

/// `mlir-opt` reads from our text what we read from its.
#[test]
fn mlir_opt_reads_the_same() {
    let mlir_opt = std::env::var("MLIR_OPT").unwrap_or_else(|_| "mlir-opt-22".into());
    let mut runner = TestRunner::deterministic();
    let mut plans = Vec::new();
    for _ in 0..1500 {
        plans.push(plan().new_tree(&mut runner).expect("a value").current());
    }
    let text = print(&module_of(&context(), &plans));
    let child = Command::new(&mlir_opt)
        .args(["--allow-unregistered-dialect", "--mlir-print-op-generic"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("skipped: there is no {mlir_opt}");
        return;
    };
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = text.clone();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("mlir-opt ends");
    // It may have stopped reading at an error, which is reported below.
    let _ = writer.join();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "mlir-opt: {errors}");
    let theirs = String::from_utf8(output.stdout).expect("text");
    let again = read(&theirs).map(|module| print(&module)).expect("mlir-opt's text is read");
    for (ours, again) in text.lines().zip(again.lines()) {
        assert_eq!(ours, again);
    }
}
