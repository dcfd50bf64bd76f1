//! Every contribution to a gradient exactly once, found by following the data.
//!
//! A contribution is what one segment's backward node gives for one microbatch. From each `dag.gradient` the sums are
//! followed back to the nodes whose results are added. The types keep their own books of this; here nothing is taken from them, so
//! that a fault in a pass that writes both is found.

use piper_dialects::dag::Compute;
use piper_ir::{Attr, Context, Op, Reporter, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Checked;
use crate::replicate::buckets::{layout, master_name};

/// A segment: its tags without the microbatch.
type Segment = Attr;

pub(super) fn check(graph: &Checked<'_>, reporter: &mut Reporter<'_>) {
    let module = graph.module;
    let mut identities = Identities { graph, known: FxHashMap::default() };
    let forward = forward_microbatches(graph, &mut identities);
    let mut owners = Owners::default();
    for (name, gradient, values) in roots(graph, reporter) {
        let found = check_one(graph, &name, gradient, values, &mut identities, &forward, reporter);
        own(graph, &name, &found, &mut owners, reporter);
    }
    for node in graph.nodes() {
        let op = node.0;
        let kind = node.kind(module).as_str(graph.ctx()).unwrap_or("");
        if kind == "F" {
            continue;
        }
        for (i, value) in module.results(op).enumerate() {
            if !module.is_used(value) {
                reporter.error(
                    module.op_loc(op),
                    format!(
                        "result {i} of {kind} node '{}' is not used, so a part of the gradient is lost",
                        node.node(module).as_str(graph.ctx()).unwrap_or("")
                    ),
                );
            }
        }
    }
}

/// The parameters' gradients: `(parameter, dag.gradient, values that it is the sum of)`. Those in a flat bucket are the operands of the
/// `dag.pack`s it is made by.
fn roots(graph: &Checked<'_>, reporter: &mut Reporter<'_>) -> Vec<(String, Op, Vec<Value>)> {
    let module = graph.module;
    let masters: FxHashMap<&str, Op> =
        graph.named("dag.state").map(|op| (graph.name_of(op), op)).collect();
    let mut roots = Vec::new();
    for op in graph.named("dag.gradient") {
        let name = graph.name_of(op);
        let value = module.operand(op, 0);
        let Some(&master) = masters.get(&*master_name(name)) else {
            roots.push((name.to_owned(), op, vec![value]));
            continue;
        };
        let (packs, parts) = (packed(graph, value), layout(module, master));
        let (false, Some(parts)) = (packs.is_empty(), parts) else {
            reporter.error(
                module.op_loc(op),
                format!("the bucket \"{name}\" is not made by a dag.pack of gradients"),
            );
            continue;
        };
        let offsets = |pack: Op| module.attr_by(pack, "offsets")?.as_int_array(graph.ctx());
        let other = packs
            .iter()
            .find(|pack| !parts.iter().map(|(_, at)| at).eq(offsets(**pack).unwrap_or(&[])));
        if let Some(pack) = other {
            reporter
                .error(
                    module.op_loc(*pack),
                    format!("the bucket \"{name}\" is packed at other offsets than its master has"),
                )
                .note(module.op_loc(master), "the master is here");
            continue;
        }
        for (i, (name, _)) in parts.iter().enumerate() {
            let values = packs.iter().map(|pack| module.operand(*pack, i)).collect();
            roots.push((name.text(graph.ctx()).to_owned(), op, values));
        }
    }
    roots
}

/// The `dag.pack`s behind a value, through sums and collectives; none if anything else is.
fn packed(graph: &Checked<'_>, value: Value) -> Vec<Op> {
    let module = graph.module;
    let (mut packs, mut stack) = (Vec::new(), vec![value]);
    while let Some(value) = stack.pop() {
        let Some(def) = module.defining_op(value) else { return Vec::new() };
        match module.name_text(def) {
            "dag.pack" => packs.push(def),
            "dag.reduce_scatter" | "dag.all_reduce" | "dag.all_gather" | "dag.add" | "dag.join" => {
                stack.extend(module.operands(def));
            }
            _ => return Vec::new(),
        }
    }
    packs
}

/// The microbatches that every segment's forward runs; `None` stands for the whole batch.
fn forward_microbatches(
    graph: &Checked<'_>,
    identities: &mut Identities<'_>,
) -> FxHashMap<Segment, Vec<Option<i64>>> {
    let mut forward: FxHashMap<Segment, Vec<Option<i64>>> = FxHashMap::default();
    for node in graph.nodes() {
        if node.kind(graph.module).as_str(graph.ctx()) == Some("F") {
            let (segment, microbatch) = identities.of(node);
            forward.entry(segment).or_default().push(microbatch);
        }
    }
    forward
}

/// Segments and microbatches, by a node's tags: its forward and backward and every weight of it ask for the same.
struct Identities<'g> {
    graph: &'g Checked<'g>,
    known: FxHashMap<Attr, (Segment, Option<i64>)>,
}

impl Identities<'_> {
    /// The segment and microbatch of a node.
    fn of(&mut self, node: Compute) -> (Segment, Option<i64>) {
        let tags = node.tags(self.graph.module);
        *self.known.entry(tags).or_insert_with(|| identity(self.graph.ctx(), tags))
    }
}

fn identity(ctx: &Context, tags: Attr) -> (Segment, Option<i64>) {
    let entries = tags.as_dict(ctx).unwrap_or(&[]);
    let mut microbatch = None;
    let rest: Vec<_> = entries
        .iter()
        .copied()
        .filter(|(name, value)| {
            let is_microbatch = name.text(ctx) == "MB";
            if is_microbatch {
                microbatch = value.as_int(ctx);
            }
            !is_microbatch
        })
        .collect();
    (if rest.len() == entries.len() { tags } else { ctx.dict_attr(rest) }, microbatch)
}

fn check_one(
    graph: &Checked<'_>,
    name: &str,
    gradient: Op,
    values: Vec<Value>,
    identities: &mut Identities<'_>,
    forward: &FxHashMap<Segment, Vec<Option<i64>>>,
    reporter: &mut Reporter<'_>,
) -> Found {
    let (module, ctx) = (graph.module, graph.ctx());
    let mut found = Found::default();
    // A value, or of a flat value the part that is taken out of it.
    let mut seen: FxHashSet<(Value, Option<Part>)> = FxHashSet::default();
    let mut stack: Vec<(Value, Option<Part>)> =
        values.into_iter().map(|value| (value, None)).collect();
    while let Some((value, part)) = stack.pop() {
        let Some(def) = module.defining_op(value) else { continue };
        // Whatever is reached twice is in the sum twice; stopping there also ends cycles.
        if !seen.insert((value, part)) {
            reporter
                .error(
                    module.op_loc(gradient),
                    format!("a contribution to the gradient of \"{name}\" is counted twice"),
                )
                .note(module.op_loc(def), "the value that is added twice is made here");
            return found;
        }
        let offsets = module.attr_by(def, "offsets");
        let Some(node) = graph.node(def).filter(|_| part.is_none()) else {
            let next = match (module.name_text(def), part) {
                (_, Some(_)) if graph.node(def).is_some() => None,
                (_, _) if module.num_operands(def) == 0 => None,
                ("dag.unpack", None) => {
                    let number = module.results(def).position(|r| r == value);
                    number.zip(offsets).map(|p| vec![(module.operand(def, 0), Some(p))])
                }
                ("dag.pack", Some((number, at))) => (offsets == Some(at))
                    .then(|| module.operands(def).nth(number))
                    .flatten()
                    .map(|packed| vec![(packed, None)]),
                _ => Some(module.operands(def).map(|v| (v, part)).collect()),
            };
            let Some(next) = next else {
                reporter
                    .error(
                        module.op_loc(gradient),
                        format!(
                            "the gradient of \"{name}\" is not a sum of what backward nodes give"
                        ),
                    )
                    .note(module.op_loc(def), "this is part of it");
                return found;
            };
            stack.extend(next);
            continue;
        };
        let kind = node.kind(module).as_str(ctx).unwrap_or("");
        if kind == "F" || kind == "BI" {
            reporter
                .error(
                    module.op_loc(gradient),
                    format!(
                        "the gradient of \"{name}\" contains a result of a node of kind {kind}"
                    ),
                )
                .note(module.op_loc(def), "this node is no part of a weight gradient");
            return found;
        }
        let key = identities.of(node);
        let number = module.results(def).position(|r| r == value).unwrap_or(0);
        if let Some((first, _)) = found.insert(key, (def, number)) {
            let segment = key.0.display(ctx);
            let microbatch = key.1.map_or(String::new(), |mb| format!(" and microbatch {mb}"));
            reporter
                .error(
                    module.op_loc(gradient),
                    format!("the gradient of \"{name}\" has two contributions of segment {segment}{microbatch}"),
                )
                .note(module.op_loc(first), "one is made here")
                .note(module.op_loc(def), "the other is made here");
            return found;
        }
    }
    let mut segments: Vec<Segment> = found.keys().map(|(segment, _)| *segment).collect();
    segments.sort_by_cached_key(|segment| segment.display(ctx));
    segments.dedup();
    for segment in segments {
        let Some(ran) = forward.get(&segment) else { continue };
        let missing: Vec<String> = ran
            .iter()
            .filter(|mb| !found.contains_key(&(segment, **mb)))
            .map(|mb| mb.map_or("the whole batch".to_owned(), |mb| mb.to_string()))
            .collect();
        if !missing.is_empty() {
            let s = if missing.len() == 1 { "" } else { "s" };
            let message = format!(
                "the gradient of \"{name}\" lacks the contribution{s} of segment {} for microbatch{} {}",
                segment.display(ctx),
                if missing.len() == 1 { "" } else { "es" },
                missing.join(", ")
            );
            reporter.error(module.op_loc(gradient), message);
        }
    }
    found
}

/// The contributions to a gradient: by segment and microbatch, the node and which of its results.
type Found = FxHashMap<(Segment, Option<i64>), (Op, usize)>;

/// Whose gradient a result of a body is, in a segment.
type Owners = FxHashMap<(Segment, Attr, usize), (String, Op)>;

/// The number of a tensor in a flat value, and where all of them lie in it.
type Part = (usize, Attr);

/// A body gives the gradient of one parameter in one result, whatever the microbatch: two of equal shape could be exchanged.
fn own(
    graph: &Checked<'_>,
    name: &str,
    found: &Found,
    owners: &mut Owners,
    reporter: &mut Reporter<'_>,
) {
    let module = graph.module;
    let mut all: Vec<_> = found.iter().collect();
    all.sort_by_key(|((_, microbatch), (op, _))| (*microbatch, op.index()));
    for ((segment, _), (op, number)) in all {
        let callee = Compute(*op).callee(module);
        let first =
            owners.entry((*segment, callee, *number)).or_insert_with(|| (name.to_owned(), *op));
        if first.0 != name {
            let message = format!(
                "result {number} of node '{}' goes into the gradient of \"{name}\", but for another microbatch into that of \"{}\"",
                Compute(*op).node(module).as_str(graph.ctx()).unwrap_or(""),
                first.0
            );
            reporter
                .error(module.op_loc(*op), message)
                .note(module.op_loc(first.1), "the other node is here");
            return;
        }
    }
}
