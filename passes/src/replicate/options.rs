//! What directives and options of the passes together ask for.

use piper_dialects::strategy::{Directive, Kind, Sharding, ShardingOptions, bucket_bytes};
use piper_ir::pass::{OptionDef, PassFailed, PassOptions};
use piper_ir::{Loc, Module, Op, Reporter};

use super::{Replication, directives};

const fn option(name: &'static str, summary: &'static str) -> OptionDef {
    OptionDef::new(name, summary, None)
}

/// The options of both passes.
pub(super) const DEFINITIONS: [OptionDef; 8] = [
    option("over", "the mesh axis, if no directive says it"),
    option("stage", "0 to 3: shard nothing, optimizer state, gradients too, parameters too"),
    option("bucket", "bytes of a flat bucket, such as 25MiB"),
    option("group", "segment, or a tag: what a bucket does not reach beyond"),
    option("gather", "microbatch, keep or a number: how long gathered parameters are kept"),
    option("prefetch", "how many uses ahead parameters are gathered"),
    option("reduce", "each or last: after which microbatch gradients are reduced"),
    option("limit", "bytes of a device's memory, which a bucket must fit into, such as 80GiB"),
];

/// Options as given to the pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    pub(super) pass: &'static str,
    over: Option<String>,
    stage: Option<i64>,
    /// The others, by name, as they are written.
    texts: Vec<(&'static str, String)>,
    limit: Option<u64>,
}

/// The options that are text to be compared with what a directive says.
const TEXTS: [&str; 5] = ["bucket", "group", "gather", "prefetch", "reduce"];

impl Given {
    /// Reads the options of a pass.
    ///
    /// # Errors
    /// Values that are none, or make no sense together.
    pub(super) fn read(pass: &'static str, options: &PassOptions) -> Result<Self, String> {
        let texts =
            TEXTS.into_iter().filter_map(|name| Some((name, options.text(name)?.to_owned())));
        let given = Self {
            pass,
            over: options.text("over").map(str::to_owned),
            stage: options.get("stage")?,
            texts: texts.collect(),
            limit: options.text("limit").map(bucket_bytes).transpose()?,
        };
        // With a directive the stage may stand there, so only what is wrong at its own is told here.
        if let Some(stage) = given.stage {
            if !(0..=3).contains(&stage) {
                return Err(format!(
                    "option 'stage' of pass '{pass}' is 0, 1, 2 or 3, not {stage}"
                ));
            }
            // The message begins with the option's name.
            given.sharding(stage).map_err(|(message, _)| format!("option {message}"))?;
        }
        Ok(given)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| *known == name).map(|(_, text)| &**text)
    }

    fn sharding(&self, stage: i64) -> Result<Sharding, (String, Option<String>)> {
        let prefetch = match self.text("prefetch") {
            None => None,
            Some(text) => Some(
                text.parse()
                    .map_err(|_| (format!("'prefetch' is a number of uses, not '{text}'"), None))?,
            ),
        };
        let options = ShardingOptions {
            bucket: self.text("bucket"),
            group: self.text("group"),
            gather: self.text("gather"),
            prefetch,
            reduce: self.text("reduce"),
        };
        Sharding::of(stage, options)
    }
}

/// A replication, where it was asked for, and the directive to be consumed.
type Wanted = (Replication, Loc, Option<Op>);

/// What directives and options together ask for.
///
/// # Errors
/// An optimizer that stands before; options that contradict a directive or make no sense; nothing to do.
pub(super) fn wanted(
    module: &Module,
    graph: Op,
    options: &Given,
    default_stage: u32,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<Wanted>, PassFailed> {
    let all = directives::of_graph(module, graph);
    let errors = reporter.error_count();
    let mut optimizer: Option<&Directive> = None;
    let mut found: Vec<Wanted> = Vec::new();
    for directive in &all {
        let (axis, sharding) = match &directive.kind {
            Kind::Replicate { axis, sharding } | Kind::Zero { axis, sharding } => (axis, sharding),
            Kind::Update(_) | Kind::Optimizer(_) => {
                optimizer = Some(directive);
                continue;
            }
            _ => continue,
        };
        if let Some(optimizer) = optimizer {
            reporter
                .error(
                    optimizer.loc,
                    format!(
                        "the optimizer stands before '{}'",
                        directives::spelling(module, directive)
                    ),
                )
                .note(directive.loc, "this changes what the optimizer works on")
                .hint("put the optimizer after it");
        }
        contradictions(module, directive, axis, sharding, options, reporter);
        let replication =
            Replication { axis: axis.clone(), sharding: sharding.clone(), limit: options.limit };
        found.push((replication, directive.loc, Some(directive.op)));
    }
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    if found.is_empty() {
        let loc = module.op_loc(graph);
        let Some(axis) = options.over.clone() else {
            reporter
                .error(
                    loc,
                    format!(
                        "pass '{}' has nothing to do: the plan has no strategy.replicate",
                        options.pass
                    ),
                )
                .hint(format!("name the mesh axis: {}{{over=dp}}", options.pass));
            return Err(PassFailed);
        };
        let stage = options.stage.unwrap_or(default_stage.into());
        let sharding = options.sharding(stage).map_err(|(message, hint)| {
            reporter.error(loc, format!("pass '{}': {message}", options.pass)).hint = hint;
            PassFailed
        })?;
        found.push((Replication { axis, sharding, limit: options.limit }, loc, None));
    }
    Ok(found)
}

/// Reports what an option says otherwise than a directive.
fn contradictions(
    module: &Module,
    directive: &Directive,
    axis: &str,
    sharding: &Sharding,
    options: &Given,
    reporter: &mut Reporter<'_>,
) {
    let ctx = module.ctx();
    let mut conflict = |option: &str, given: &str, says: &str| {
        reporter.error(
            directive.loc,
            format!(
                "this directive says {option} = {says}, but pass '{}' was given {option} = {given}",
                options.pass
            ),
        );
    };
    if let Some(given) = options.over.as_ref().filter(|given| *given != axis) {
        conflict("over", &format!("\"{given}\""), &format!("\"{axis}\""));
    }
    if let Some(given) = options.stage.filter(|given| *given != i64::from(sharding.stage)) {
        conflict("stage", &given.to_string(), &sharding.stage.to_string());
    }
    for (name, given) in &options.texts {
        let written = module.attr_by(directive.op, name);
        let says = written.map(|a| a.as_str(ctx).map_or_else(|| a.display(ctx), str::to_owned));
        if says.as_ref() != Some(given) {
            conflict(name, given, says.as_deref().unwrap_or("nothing"));
        }
    }
}
