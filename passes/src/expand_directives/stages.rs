//! What the plan's function says about tags: which operations have which, and what the stages of a pipeline are.
//!
//! It is read at any level: annotated regions with calls, operations with `tags`, or the compute nodes of a graph.

use piper_dialects::strategy::{AnnotateOp, Kind, PlanSpec, merge, tag_text, tags_attr};
use piper_dialects::{dag, func, nn};
use piper_ir::diag::did_you_mean;
use piper_ir::pass::PassFailed;
use piper_ir::{Attr, Loc, Module, Op, Reporter, Trait};
use rustc_hash::FxHashSet;

/// An operation that computes something, with its tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggedOp {
    /// The operation.
    pub op: Op,
    /// `(name, value)`, sorted by name.
    pub tags: Vec<(String, String)>,
}

impl TaggedOp {
    /// The value of a tag.
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }
}

/// The stages of a pipeline: the numbers that a tag has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stages {
    /// Sorted.
    numbers: Vec<u32>,
}

/// The operations that a plan distributes, in text order, with the tags that they have and that the plan gives: not parameters and constants, which live where they are used.
pub fn tagged_operations(module: &Module, plan: &PlanSpec) -> Vec<TaggedOp> {
    let mut found = Vec::new();
    let is_graph = dag::Graph::cast(module, plan.function).is_some();
    let mut callees = Vec::new();
    for block in module.regions(plan.function).iter().flat_map(|r| module.blocks(*r)) {
        for op in module.ops(block) {
            if !is_graph || dag::Compute::cast(module, op).is_some() {
                collect(module, op, None, &mut callees, &mut found);
            }
        }
    }
    // What a plan's tags give holds as if it stood on the operations.
    for directive in &plan.directives {
        let Kind::Tag { filter, tags } = &directive.kind else { continue };
        for op in found.iter_mut().filter(|op| filter.matches(|tag| op.tag(tag))) {
            op.tags.retain(|(known, _)| tags.iter().all(|(name, _)| name != known));
            op.tags.extend(tags.iter().cloned());
            op.tags.sort();
        }
    }
    found
}

fn collect(
    module: &Module,
    root: Op,
    outer: Option<Attr>,
    callees: &mut Vec<Op>,
    found: &mut Vec<TaggedOp>,
) {
    let ctx = module.ctx();
    // An explicit stack, last operation first: regions may be nested deeper than the call stack allows.
    let mut pending = vec![(root, outer)];
    while let Some((op, outer)) = pending.pop() {
        let tags = merge(ctx, outer, tags_attr(module, op));
        if AnnotateOp::cast(module, op).is_some() {
            let inner = module.regions(op).iter().flat_map(|r| module.blocks(*r));
            let inner: Vec<Op> = inner.flat_map(|b| module.ops(b)).collect();
            pending.extend(inner.into_iter().rev().map(|op| (op, tags)));
        } else if let Some(call) = func::Call::cast(module, op) {
            let callee = call
                .callee(module)
                .as_symbol(ctx)
                .and_then(|name| module.lookup_nearest(op, name.text(ctx)));
            // Recursion is `inline-calls`' to report; here it must only not be followed for ever.
            if let Some(callee) = callee.filter(|callee| !callees.contains(callee)) {
                callees.push(callee);
                for block in module.regions(callee).iter().flat_map(|r| module.blocks(*r)) {
                    for op in module.ops(block) {
                        collect(module, op, tags, callees, found);
                    }
                }
                callees.pop();
            }
        } else if !is_state(module, op) {
            let entries = tags.and_then(|tags| tags.as_dict(ctx)).unwrap_or_default();
            let tags = entries.iter().filter_map(|(name, value)| {
                Some((name.text(ctx).to_owned(), tag_text(ctx, *value)?))
            });
            found.push(TaggedOp { op, tags: tags.collect() });
        }
    }
}

/// What is not distributed by its own place.
fn is_state(module: &Module, op: Op) -> bool {
    nn::Parameter::cast(module, op).is_some()
        || module.has_trait(op, Trait::Terminator)
        || module.has_trait(op, Trait::ConstantLike)
}

/// Reports a tag that no operation has, with the nearest that one has.
pub(super) fn report_unknown_tag(
    ops: &[TaggedOp],
    tag: &str,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) {
    let mut names: Vec<&str> =
        ops.iter().flat_map(|op| &op.tags).map(|(name, _)| &**name).collect();
    names.sort_unstable();
    names.dedup();
    let hint = match did_you_mean(tag, names.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None if names.is_empty() => {
            format!("put the operations into strategy.annotate {{{tag} = 0}} and so on")
        }
        None => format!("the tags of the function are {}", names.join(", ")),
    };
    reporter.error(loc, format!("no operation is tagged \"{tag}\"")).hint(hint);
}

impl Stages {
    /// The stages that the values of `tag` name; numbers may be missing.
    ///
    /// # Errors
    /// No operation has the tag; a value is no number.
    pub fn of(
        module: &Module,
        ops: &[TaggedOp],
        tag: &str,
        loc: Loc,
        reporter: &mut Reporter<'_>,
    ) -> Result<Self, PassFailed> {
        let mut values: FxHashSet<u32> = FxHashSet::default();
        let mut wrong = false;
        let mut reported: FxHashSet<&str> = FxHashSet::default();
        for tagged in ops {
            let Some(value) = tagged.tag(tag) else { continue };
            match value.parse::<u32>() {
                Ok(stage) => {
                    values.insert(stage);
                }
                Err(_) if reported.insert(value) => {
                    wrong = true;
                    reporter
                        .error(
                            module.op_loc(tagged.op),
                            format!("{tag} = {value} is no stage: stages are numbered from 0"),
                        )
                        .note(loc, format!("the tag \"{tag}\" names the stages here"));
                }
                Err(_) => {}
            }
        }
        if wrong {
            return Err(PassFailed);
        }
        if values.is_empty() {
            report_unknown_tag(ops, tag, loc, reporter);
            return Err(PassFailed);
        }
        let mut numbers: Vec<u32> = values.into_iter().collect();
        numbers.sort_unstable();
        Ok(Self { numbers })
    }

    /// How many stages a schedule has: `count` if that is said, so that missing numbers are empty stages; else none may miss.
    ///
    /// # Errors
    /// A number is missing, or is beyond `count`.
    pub fn all(
        &self,
        module: &Module,
        ops: &[TaggedOp],
        tag: &str,
        count: Option<u32>,
        loc: Loc,
        reporter: &mut Reporter<'_>,
    ) -> Result<u32, PassFailed> {
        let found = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        let last = self.numbers.last().copied().unwrap_or(0);
        let first_with = |is_wanted: &dyn Fn(u32) -> bool| {
            ops.iter().find(|op| op.tag(tag).and_then(|v| v.parse().ok()).is_some_and(is_wanted))
        };
        let (error, culprit) = match count {
            Some(count) if last < count => return Ok(count),
            Some(count) => (
                reporter
                    .error(
                        loc,
                        format!("there are {count} stages, so {tag} = {last} is none of them"),
                    )
                    .hint(format!("count = {} has room for it", last.saturating_add(1))),
                first_with(&|value| value >= count),
            ),
            None if last < found => return Ok(found),
            None => {
                let missing = (0..last).find(|stage| !self.contains(*stage)).unwrap_or(0);
                let message = format!(
                    "the stages are not numbered 0 to {}: no operation has {tag} = {missing}",
                    found - 1
                );
                (reporter.error(loc, message), first_with(&|value| value > missing))
            }
        };
        if let Some(op) = culprit {
            let value = op.tag(tag).unwrap_or_default();
            error.note(module.op_loc(op.op), format!("but this one has {tag} = {value}"));
        }
        Err(PassFailed)
    }

    /// The numbers that operations have, in order.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Whether an operation has this number.
    pub fn contains(&self, stage: u32) -> bool {
        self.numbers.binary_search(&stage).is_ok()
    }

    /// `0 to 3`, or `0, 1, 3`.
    pub fn listed(&self) -> String {
        match self.numbers[..] {
            [first, .., last] if last as usize + 1 == self.numbers.len() => {
                format!("{first} to {last}")
            }
            _ => self.numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        }
    }
}
