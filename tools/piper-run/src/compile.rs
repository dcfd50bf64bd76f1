//! From text to something that runs: a checked graph, and device programs where the level asks for them.

use std::path::Path;
use std::time::{Duration, Instant};

use piper::{Compiler, Program};
use piper_dialects::strategy::{Kind, LearningRate, PlanSpec};
use piper_dialects::{dag, func, nn};
use piper_ir::{Context, Module, Op, Reporter, Value};
use piper_passes::nodes::graphs;
use piper_passes::road;
use piper_plan::{Plan, ScalarSource};
use piper_plugin_host::{Extensions, LoadError};

use crate::data::Feed;
use crate::{Failure, files, single};

/// What to compile, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The plan's name; the only one of the file if none is given.
    pub plan: Option<&'a str>,
    /// Add gradients as a balanced tree over the grains of the batch, so that strategies agree bit for bit.
    pub fixed_tree: bool,
    /// Compile the plan's [reference](crate::single) instead.
    pub single: bool,
    /// Libraries with dialects and schedules to load, by path.
    pub plugins: &'a [String],
    /// Files of `irdl` operations, whose dialects the text may use, by path; later ones may name what earlier ones define.
    pub dialects: &'a [String],
}

/// A checked graph of the whole step, from which everything that runs is made.
#[derive(Debug)]
pub struct Compiled {
    pub(crate) program: Program,
    pub(crate) graph: Op,
    /// The plan's name.
    pub name: String,
    /// The inputs, with what fills them.
    pub feeds: Vec<Feed>,
    /// The learning rate, if the plan trains.
    pub learning_rate: Option<ScalarSource>,
    /// Devices of the mesh.
    pub devices: usize,
    /// Parts of the batch that are added up: microbatches times replicas.
    pub grains: i64,
    /// Whether the model computes in f64.
    pub is_f64: bool,
    /// Whether the plan asks for another type than the model's to compute in.
    pub is_mixed: bool,
    /// Time the passes took, parsing included.
    pub took: Duration,
}

/// Piper's dialects and passes; a debug build verifies after every pass.
pub(crate) fn compiler() -> Compiler {
    let mut compiler = Compiler::new();
    compiler.options.verify_each = cfg!(debug_assertions);
    compiler
}

/// The same with what plugins and files of dialects add.
fn compiler_with(asked: Options<'_>) -> Result<Compiler, Failure> {
    let mut compiler = compiler();
    if !asked.plugins.is_empty() {
        let mut extensions = Extensions::new(piper_passes::registry::all(), piper_dialects::all());
        let folder = std::env::current_dir().unwrap_or_default();
        let refused = |error: LoadError| match error.hint() {
            Some(hint) => Failure::with_hint(error.to_string(), hint),
            None => Failure::new(error.to_string()),
        };
        let mut plugins = asked.plugins.iter();
        plugins.try_for_each(|plugin| extensions.load(plugin, &folder)).map_err(refused)?;
        extensions.check_required().map_err(refused)?;
        let options = compiler.options;
        compiler = Compiler::with(extensions.dialects, extensions.registry);
        compiler.options = options;
    }
    for path in asked.dialects {
        let text = files::read_text("dialect file", Path::new(path))?;
        compiler.register_dialect_text(path, &text)?;
    }
    Ok(compiler)
}

/// Compiles text down to a verified graph.
///
/// # Errors
/// Whatever is wrong with the file, with its source lines.
pub fn compile(file: &str, text: &str, options: Options<'_>) -> Result<Compiled, Failure> {
    let start = Instant::now();
    let compiler = compiler_with(options)?;
    let mut program = compiler.parse(file, text)?;
    let plan = program.choose_plan(options.plan)?;
    let grains = single::grains(&plan);
    if options.single {
        single::make_single(&mut program.module, &plan);
    }
    let (name, function) = (plan.name.clone(), plan.function_name.clone());
    compiler.run(&mut program, road::MODEL)?;
    let learning_rate = plan.directives.iter().find_map(|d| match &d.kind {
        Kind::Optimizer(spec) | Kind::Update(spec) => Some(scalar_source(spec.lr)),
        _ => None,
    });
    let feeds = feeds(&program.module, &function)?;
    // As it is now: the plan of a single device has lost directives.
    let plan = PlanSpec::read(&program.module, plan.op).unwrap_or(plan);
    compiler.run(&mut program, &road::to_graph(&plan, options.fixed_tree))?;
    let module = &program.module;
    let Some(&graph) = graphs(module).first() else {
        return Err(Failure::new(format!("plan @{name} gave no graph")));
    };
    let is_mixed = plan.directives.iter().any(|d| matches!(d.kind, Kind::Precision { .. }));
    let devices = if options.single { 1 } else { plan.mesh.devices() };
    let is_f64 = module.walk(graph).any(|op| is_f64(module, op));
    Ok(Compiled {
        program,
        graph,
        name,
        feeds,
        learning_rate,
        devices,
        grains,
        is_f64,
        is_mixed,
        took: start.elapsed(),
    })
}

/// Whether an operation is a parameter in f64.
fn is_f64(module: &Module, op: Op) -> bool {
    let ctx = module.ctx();
    module.name_text(op) == "dag.parameter"
        && dag::Dist::of(ctx, module.ty(module.result(op, 0)))
            .and_then(|dist| Some(dist.tensor.as_tensor(ctx)?.1 == ctx.f64()))
            .unwrap_or(false)
}

/// A schedule of the learning rate as the plan's runtime scalar.
fn scalar_source(rate: LearningRate) -> ScalarSource {
    match rate {
        LearningRate::Constant(value) => ScalarSource::Constant(value),
        LearningRate::WarmupCosine { peak, floor, warmup, total } => {
            ScalarSource::WarmupCosine { peak, floor, warmup, total }
        }
        LearningRate::WarmupLinear { peak, floor, warmup, total } => {
            ScalarSource::WarmupLinear { peak, floor, warmup, total }
        }
        LearningRate::WarmupConstant { peak, warmup } => {
            ScalarSource::WarmupConstant { peak, warmup }
        }
    }
}

/// The inputs of a function whose calls are inlined.
fn feeds(module: &Module, function: &str) -> Result<Vec<Feed>, Failure> {
    let ctx = module.ctx();
    let Some(op) = module.lookup(module.root(), function) else { return Ok(Vec::new()) };
    let Some(block) = module.only_block(op) else { return Ok(Vec::new()) };
    let args = module.args(block).iter().enumerate().map(|(i, &arg)| {
        let name =
            module.value_name(arg).map_or_else(|| format!("arg{i}"), |n| n.text(ctx).to_owned());
        let role = func::arg_attr(module, op, i, "role").and_then(|a| a.as_str(ctx));
        let (shape, element) = module.ty(arg).as_tensor(ctx).unwrap_or((&[], ctx.f32()));
        let shape: Vec<u64> = shape.iter().map(|&d| u64::try_from(d).unwrap_or(0)).collect();
        let mut feed = Feed::of(&name, role, &shape, element == ctx.i32())?;
        feed.vocabulary =
            module.uses(arg).filter_map(|used| vocabulary(module, used.op, arg)).min();
        Ok(feed)
    });
    args.collect()
}

/// How many values an operation can look up or predict by the tokens it takes.
fn vocabulary(module: &Module, op: Op, tokens: Value) -> Option<u32> {
    let ctx = module.ctx();
    let size = |value: Value, dim: fn(&[i64]) -> Option<&i64>| {
        let (shape, _) = module.ty(value).as_tensor(ctx)?;
        u32::try_from(*dim(shape)?).ok()
    };
    match module.name_text(op) {
        nn::Embedding::NAME if module.operand(op, 0) == tokens => {
            size(module.operand(op, 1), |s| s.first())
        }
        nn::CrossEntropy::NAME if module.operand(op, 1) == tokens => {
            size(module.operand(op, 0), |s| s.last())
        }
        _ => None,
    }
}

impl Compiled {
    /// The context of the module.
    pub fn ctx(&self) -> &Context {
        self.program.module.ctx()
    }

    /// What is wrong with running it, if it calls a function that is only declared.
    pub(crate) fn declared_call(&self) -> Option<Failure> {
        let module = &self.program.module;
        let (op, why) =
            module.walk(module.root()).find_map(|op| Some((op, nn::declared_only(module, op)?)))?;
        let mut reporter = Reporter::new(module.ctx());
        reporter
            .error(module.op_loc(op), why)
            .hint("'--compile-only -o FILE' writes the plan, which piper-sim simulates");
        Some(Failure::of(module.ctx(), &self.program.sources, reporter.diagnostics()))
    }

    /// Tokens that one step trains on.
    pub fn tokens_per_step(&self) -> u64 {
        self.feeds.first().map_or(0, |feed| (feed.rows * feed.length) as u64)
    }
}

/// Facts about a plan's inputs that a `.pplan` keeps as notes: `vocabulary.tokens = 256`.
pub(crate) fn note_feeds(plan: &mut Plan, feeds: &[Feed]) {
    for feed in feeds {
        if let Some(vocabulary) = feed.vocabulary {
            plan.misc.notes.push((format!("vocabulary.{}", feed.name), vocabulary.to_string()));
        }
    }
}

/// The inputs of a plan, with what its notes say of them.
///
/// # Errors
/// An input that bytes cannot fill.
pub(crate) fn feeds_of_plan(plan: &Plan) -> Result<Vec<Feed>, Failure> {
    let feed = |input: &piper_plan::Input| {
        let mut feed =
            Feed::of(&input.name, None, &input.shape, input.dtype == piper_plan::DType::I32)?;
        let key = format!("vocabulary.{}", input.name);
        let note = plan.misc.notes.iter().find(|(name, _)| *name == key);
        feed.vocabulary = note.and_then(|(_, value)| value.parse().ok());
        Ok(feed)
    };
    plan.inputs.iter().map(feed).collect()
}
