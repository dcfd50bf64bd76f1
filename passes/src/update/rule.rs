//! Which optimizer `update` applies: the plan's directive, or the options of the pass.

use piper_dialects::strategy::{Algorithm, Kind, OptimizerSpec};
use piper_ir::pass::{OptionDef, PassFailed, PassOptions};
use piper_ir::{Attr, Context, Loc, Module, Op, Reporter};

use crate::replicate::directives;

/// An optimizer as `dag.update` has it.
#[derive(Clone, Debug)]
pub struct Rule {
    /// `sgd` or `adamw`.
    pub name: &'static str,
    /// The learning rate, a number or a schedule.
    pub lr: Attr,
    /// The rule's numbers: `beta1`, `beta2`, `eps`, `weight_decay` or `momentum`, `weight_decay`.
    pub hyper: Attr,
    /// Suffixes of the names of its state, in operand order.
    pub state: &'static [&'static str],
    /// Bound on the global gradient norm.
    pub clip: Option<f64>,
}

/// The options of the pass.
pub(super) const OPTIONS: &[OptionDef] = &[
    OptionDef::new("rule", "sgd or adamw, if no directive says it", None),
    OptionDef::new("lr", "learning rate", None),
    OptionDef::new("momentum", "of sgd; 0 for none", None),
    OptionDef::new("beta1", "of adamw", None),
    OptionDef::new("beta2", "of adamw", None),
    OptionDef::new("eps", "of adamw", None),
    OptionDef::new("weight-decay", "decoupled (adamw) or L2 (sgd), of all parameters", None),
    OptionDef::new("clip", "bound on the global gradient norm", None),
];

/// The options as given.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    rule: Option<String>,
    numbers: Vec<(&'static str, f64)>,
}

impl Given {
    pub(super) fn read(options: &PassOptions) -> Result<Self, String> {
        let mut given = Self { rule: options.text("rule").map(str::to_owned), numbers: Vec::new() };
        if let Some(rule) = given.rule.as_deref().filter(|rule| !matches!(*rule, "sgd" | "adamw")) {
            return Err(format!("option 'rule' of pass 'update' is sgd or adamw, not '{rule}'"));
        }
        for def in &OPTIONS[1..] {
            if let Some(number) = options.get::<f64>(&def.name)? {
                if !number.is_finite() || number < 0.0 {
                    return Err(format!(
                        "option '{}' of pass 'update' is a number of at least 0, not {number}",
                        def.name
                    ));
                }
                given.numbers.push((&def.name, number));
            }
        }
        Ok(given)
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.numbers.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
    }
}

fn rule(ctx: &Context, spec: &OptimizerSpec, lr: Attr) -> Rule {
    let dict = |entries: &[(&str, f64)]| {
        ctx.dict_attr(entries.iter().map(|(name, value)| (ctx.name(name), ctx.float_attr(*value))))
    };
    let decay = ("weight_decay", spec.weight_decay);
    let (name, hyper, state): (_, _, &[&str]) = match spec.algorithm {
        Algorithm::AdamW { beta1, beta2, eps } => {
            ("adamw", dict(&[("beta1", beta1), ("beta2", beta2), ("eps", eps), decay]), &["m", "v"])
        }
        Algorithm::Sgd { momentum } => match momentum.filter(|m| *m != 0.0) {
            Some(momentum) => ("sgd", dict(&[("momentum", momentum), decay]), &["m"]),
            None => ("sgd", dict(&[decay]), &[]),
        },
    };
    Rule { name, lr, hyper, state, clip: spec.clip }
}

/// The numbers a directive says, under the names of the options.
fn numbers(spec: &OptimizerSpec) -> Vec<(&'static str, f64)> {
    let mut numbers = vec![("weight-decay", spec.weight_decay)];
    match spec.algorithm {
        Algorithm::AdamW { beta1, beta2, eps } => {
            numbers.extend([("beta1", beta1), ("beta2", beta2), ("eps", eps)])
        }
        Algorithm::Sgd { momentum } => numbers.push(("momentum", momentum.unwrap_or(0.0))),
    }
    numbers.extend(spec.clip.map(|clip| ("clip", clip)));
    numbers
}

/// The optimizer of a graph, where it was asked for, and the directive to be consumed.
///
/// # Errors
/// No directive and no option `rule`; an option that contradicts the directive; a replication still to be done.
pub(super) fn wanted(
    module: &Module,
    graph: Op,
    given: &Given,
    reporter: &mut Reporter<'_>,
) -> Result<(Rule, Loc, Option<Op>), PassFailed> {
    let ctx = module.ctx();
    let all = directives::of_graph(module, graph);
    let at = all.iter().position(|d| matches!(d.kind, Kind::Update(_) | Kind::Optimizer(_)));
    let errors = reporter.error_count();
    let loc = at.map_or(module.op_loc(graph), |at| all[at].loc);
    for (i, other) in all.iter().enumerate() {
        if matches!(other.kind, Kind::Replicate { .. } | Kind::Zero { .. }) {
            let what = directives::spelling(module, other);
            let before = at.is_some_and(|at| at < i);
            reporter
                .error(
                    loc,
                    format!("the optimizer comes before '{what}', which changes what it works on"),
                )
                .note(other.loc, "this is not applied yet")
                .hint(if before {
                    "put the optimizer after it"
                } else {
                    "run 'replicate' (or 'zero') before 'update'"
                });
        }
    }
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    let Some(at) = at else {
        let Some(name) = &given.rule else {
            reporter
                .error(loc, "pass 'update' has nothing to do: the plan has no strategy.optimizer")
                .hint("say what to apply: update{rule=sgd lr=0.1}");
            return Err(PassFailed);
        };
        let Some(lr) = given.number("lr") else {
            reporter
                .error(loc, "pass 'update' needs a learning rate")
                .hint(format!("update{{rule={name} lr=0.1}}"));
            return Err(PassFailed);
        };
        let number = |name: &str, default: f64| given.number(name).unwrap_or(default);
        let algorithm = match name.as_str() {
            "sgd" => Algorithm::Sgd { momentum: given.number("momentum") },
            _ => Algorithm::AdamW {
                beta1: number("beta1", 0.9),
                beta2: number("beta2", 0.999),
                eps: number("eps", 1e-8),
            },
        };
        let spec = OptimizerSpec {
            algorithm,
            lr: piper_dialects::strategy::LearningRate::Constant(lr),
            weight_decay: number("weight-decay", 0.0),
            clip: given.number("clip"),
        };
        return Ok((rule(ctx, &spec, ctx.float_attr(lr)), loc, None));
    };
    let directive = &all[at];
    let (Kind::Update(spec) | Kind::Optimizer(spec)) = &directive.kind else {
        unreachable!("found above")
    };
    let lr = module.attr_by(directive.op, "lr").expect("read above");
    let made = rule(ctx, spec, lr);
    let mut conflict = |option: &str, given: String, says: String| {
        reporter.error(loc, format!("this directive says {option} = {says}, but pass 'update' was given {option} = {given}"));
    };
    if let Some(other) = given.rule.as_ref().filter(|other| *other != made.name) {
        conflict("rule", other.clone(), made.name.to_owned());
    }
    let mut said = numbers(spec);
    said.extend(lr.as_number(ctx).map(|lr| ("lr", lr)));
    for (name, number) in &given.numbers {
        match said.iter().find(|(known, _)| known == name) {
            Some((_, says)) if says == number => {}
            Some((_, says)) => conflict(name, number.to_string(), says.to_string()),
            None => conflict(name, number.to_string(), "nothing".to_owned()),
        }
    }
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    Ok((made, loc, Some(directive.op)))
}
