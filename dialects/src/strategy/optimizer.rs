//! Optimizers: `adamw <lr = warmup_cosine<peak = 3.0e-4, ...>, betas = [0.9, 0.95]>`, shared by `optimizer` and `update`.

use piper_ir::diag::did_you_mean;
use piper_ir::text::Failed;
use piper_ir::{Attr, Context, Module, Op, ParseResult, Parser, Printer, TokenKind};

/// The known algorithms.
pub(super) const ALGORITHMS: &[&str] = &["adamw", "sgd"];
/// Options in the order in which they are written, each with the algorithms that take it.
pub(super) const OPTIONS: &[(&str, &[&str])] = &[
    ("lr", ALGORITHMS),
    ("betas", &["adamw"]),
    ("eps", &["adamw"]),
    ("momentum", &["sgd"]),
    ("weight_decay", ALGORITHMS),
    ("clip", ALGORITHMS),
];
/// Learning-rate schedules with their parameters.
pub(super) const LR_SCHEDULES: &[(&str, &[&str])] = &[
    ("warmup_cosine", &["peak", "floor", "warmup", "total"]),
    ("warmup_linear", &["peak", "floor", "warmup", "total"]),
    ("warmup_constant", &["peak", "warmup"]),
];

/// How the learning rate depends on the step. Steps count from 1; see the plan's scalar sources, which compute it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum LearningRate {
    /// One value.
    Constant(f64),
    /// Linear up to `peak` at step `warmup`, then half a cosine down to `floor` at step `total`.
    WarmupCosine { peak: f64, floor: f64, warmup: u64, total: u64 },
    /// Linear up to `peak` at step `warmup`, then linear down to `floor` at step `total`.
    WarmupLinear { peak: f64, floor: f64, warmup: u64, total: u64 },
    /// Linear up to `peak` at step `warmup`, then constant.
    WarmupConstant { peak: f64, warmup: u64 },
}

impl LearningRate {
    /// The rate that an `lr` attribute says, of an optimizer or of a `dag.update`; `None` if it says none.
    pub fn from_attr(ctx: &Context, attr: Attr) -> Option<Self> {
        learning_rate(ctx, attr)
    }
}

/// The rule that turns a gradient into a change of its parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Algorithm {
    /// Adam with decoupled weight decay.
    AdamW { beta1: f64, beta2: f64, eps: f64 },
    /// Gradient descent, with a momentum buffer if there is a momentum.
    Sgd { momentum: Option<f64> },
}

/// An optimizer with its options, defaults filled in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptimizerSpec {
    /// The update rule.
    pub algorithm: Algorithm,
    /// The learning rate.
    pub lr: LearningRate,
    /// Decoupled weight decay; 0 is none.
    pub weight_decay: f64,
    /// Bound on the global norm of all gradients, if any.
    pub clip: Option<f64>,
}

impl OptimizerSpec {
    /// The optimizer of an `optimizer` or `update`; `None` if the operation does not verify.
    pub fn read(module: &Module, op: Op) -> Option<Self> {
        let ctx = module.ctx();
        let number = |name: &str| module.attr_by(op, name).and_then(|a| a.as_number(ctx));
        let algorithm = match module.attr_by(op, "algorithm")?.as_str(ctx)? {
            "adamw" => {
                let betas = match module.attr_by(op, "betas") {
                    None => [0.9, 0.999],
                    Some(betas) => match betas.as_array(ctx)? {
                        [first, second] => [first.as_number(ctx)?, second.as_number(ctx)?],
                        _ => return None,
                    },
                };
                let eps = number("eps").unwrap_or(1e-8);
                Algorithm::AdamW { beta1: betas[0], beta2: betas[1], eps }
            }
            "sgd" => Algorithm::Sgd { momentum: number("momentum") },
            _ => return None,
        };
        Some(Self {
            algorithm,
            lr: learning_rate(ctx, module.attr_by(op, "lr")?)?,
            weight_decay: number("weight_decay").unwrap_or(0.0),
            clip: number("clip"),
        })
    }
}

/// The attributes of an optimizer, to be given to an `update`.
pub fn copy_optimizer(module: &Module, op: Op) -> Vec<(piper_ir::Name, Attr)> {
    module.all_attrs(op)
}

pub(super) fn learning_rate(ctx: &Context, attr: Attr) -> Option<LearningRate> {
    if let Some(value) = attr.as_number(ctx) {
        return Some(LearningRate::Constant(value));
    }
    let number = |key: &str| attr.get(ctx, key)?.as_number(ctx);
    let step = |key: &str| u64::try_from(attr.get(ctx, key)?.as_int(ctx)?).ok();
    let peak = number("peak")?;
    match attr.get(ctx, "kind")?.as_str(ctx)? {
        "warmup_cosine" => Some(LearningRate::WarmupCosine {
            peak,
            floor: number("floor")?,
            warmup: step("warmup")?,
            total: step("total")?,
        }),
        "warmup_linear" => Some(LearningRate::WarmupLinear {
            peak,
            floor: number("floor")?,
            warmup: step("warmup")?,
            total: step("total")?,
        }),
        "warmup_constant" => Some(LearningRate::WarmupConstant { peak, warmup: step("warmup")? }),
        _ => None,
    }
}

/// Takes one of these words or reports the nearest.
fn word_of<'w>(p: &mut Parser<'_>, what: &str, words: &[&'w str]) -> ParseResult<&'w str> {
    let start = p.token().start;
    let word = p.parse_keyword(what)?;
    words.iter().copied().find(|known| *known == word).ok_or_else(|| {
        let hint = match did_you_mean(word, words.iter().copied()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("known: {}", words.join(", ")),
        };
        p.report_at(start, format!("expected {what}, found '{word}'")).hint(hint);
        Failed
    })
}

pub(super) fn parse(p: &mut Parser<'_>) -> ParseResult<()> {
    let ctx = p.ctx();
    let algorithm = word_of(p, "an optimizer", ALGORITHMS)?;
    p.set_attr("algorithm", ctx.str_attr(algorithm));
    let names: Vec<&str> =
        OPTIONS.iter().filter(|(_, by)| by.contains(&algorithm)).map(|(name, _)| *name).collect();
    p.expect(TokenKind::Less, "'<' and the options, as in <lr = 3.0e-4>")?;
    p.comma_list(TokenKind::Greater, "',' or '>'", |p| {
        let start = p.token().start;
        let option = word_of(p, &format!("an option of {algorithm}"), &names)?;
        let key = ctx.name(option);
        if p.state().attrs.iter().any(|(known, _)| *known == key) {
            return Err(p.error_at(start, format!("option '{option}' is given twice")));
        }
        p.expect(TokenKind::Equal, "'='")?;
        let value = if option == "lr" && p.at(TokenKind::BareId) {
            parse_lr_schedule(p)?
        } else {
            p.parse_attribute()?
        };
        p.set_attr(option, value);
        Ok(())
    })?;
    p.parse_optional_attributes()
}

fn parse_lr_schedule(p: &mut Parser<'_>) -> ParseResult<Attr> {
    let ctx = p.ctx();
    let names: Vec<&str> = LR_SCHEDULES.iter().map(|(name, _)| *name).collect();
    let start = p.token().start;
    let kind = word_of(p, "a learning-rate schedule", &names)?;
    let parameters = LR_SCHEDULES.iter().find(|(name, _)| *name == kind).map_or(&[][..], |s| s.1);
    let mut entries = vec![(ctx.name("kind"), ctx.str_attr(kind))];
    p.expect(TokenKind::Less, "'<' and the schedule's parameters")?;
    p.comma_list(TokenKind::Greater, "',' or '>'", |p| {
        let start = p.token().start;
        let key = word_of(p, &format!("a parameter of {kind}"), parameters)?;
        let name = ctx.name(key);
        if entries.iter().any(|(known, _)| *known == name) {
            return Err(p.error_at(start, format!("parameter '{key}' is given twice")));
        }
        p.expect(TokenKind::Equal, "'='")?;
        let value = p.parse_attribute()?;
        entries.push((name, value));
        Ok(())
    })?;
    if let Some(missing) =
        parameters.iter().find(|key| entries.iter().all(|(name, _)| name.text(ctx) != **key))
    {
        return Err(p.error_at(start, format!("{kind} needs '{missing}'")));
    }
    Ok(ctx.dict_attr(entries))
}

pub(super) fn print(p: &mut Printer<'_>, op: Op) {
    let (module, ctx) = (p.module(), p.ctx());
    let algorithm = module.attr_by(op, "algorithm").and_then(|a| a.as_str(ctx));
    p.text(" ");
    p.text(algorithm.unwrap_or_default());
    p.text(" <");
    let options: Vec<_> =
        OPTIONS.iter().filter_map(|(name, _)| Some((*name, module.attr_by(op, name)?))).collect();
    p.commas(options, |p, (name, value)| {
        p.text(name);
        p.text(" = ");
        let kind = value.get(ctx, "kind").and_then(|kind| kind.as_str(ctx));
        match kind.and_then(|kind| LR_SCHEDULES.iter().find(|(name, _)| *name == kind)) {
            None => p.attr(value),
            Some((kind, parameters)) => {
                p.text(kind);
                p.text("<");
                let given = parameters.iter().filter_map(|key| Some((key, value.get(ctx, key)?)));
                p.commas(given, |p, (key, value)| {
                    p.text(key);
                    p.text(" = ");
                    p.attr(value);
                });
                p.text(">");
            }
        }
    });
    p.text(">");
    let mut elided = vec!["algorithm"];
    elided.extend(OPTIONS.iter().map(|(name, _)| *name));
    p.attr_dict(op, &elided);
}
