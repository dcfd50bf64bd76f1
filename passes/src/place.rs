//! `place`: compute nodes on slices of the mesh, and everything else where they are.
//!
//! - An input is read on each slice that uses it.
//! - A parameter lives where its users are. Several such slices become a `strategy.group`: the parameter lives on the group, each
//!   slice projects it, and the slices' gradients are joined and all-reduced over the group.
//! - A value used on another slice is transferred there once.

use piper_dialects::dag::{Compute, Dist, Home, MICROBATCH};
use piper_dialects::strategy;
use piper_ir::pass::PassFailed;
use piper_ir::{Builder, Loc, Module, Name, Op, Reporter, Type, Value};
use piper_schedule::text::filter::Filter;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

use crate::accumulate::{Shape, Sums, additions, erase_unused, gradients, summands};
use crate::nodes::{Selector, compute_nodes, node_tag, tag_of};

/// One directive: what `filter` selects lives on these homes.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Placement {
    pub filter: Filter,
    pub homes: Vec<strategy::Home>,
    pub loc: Loc,
}

/// The coordinates of a slice, sorted by axis.
type Coordinates = Vec<(Name, i64)>;

/// A slice of the mesh; see [`Slices`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Slice(u32);

/// Slices by number: few of them stand at many values.
#[derive(Default)]
struct Slices {
    coordinates: Vec<Coordinates>,
    numbers: FxHashMap<Coordinates, Slice>,
}

impl Slices {
    fn slice(&mut self, coordinates: Coordinates) -> Slice {
        if let Some(&known) = self.numbers.get(&coordinates) {
            return known;
        }
        let new = Slice(self.coordinates.len() as u32);
        self.coordinates.push(coordinates.clone());
        self.numbers.insert(coordinates, new);
        new
    }

    fn coordinates(&self, slice: Slice) -> &Coordinates {
        &self.coordinates[slice.0 as usize]
    }

    /// The order of their coordinates.
    fn compare(&self, a: Slice, b: Slice) -> Ordering {
        let at = |slice| self.coordinates(slice).iter().map(|c| c.1);
        at(a).cmp(at(b))
    }
}

/// Places a graph; each slice's contributions add up in this shape.
///
/// # Errors
/// A node that no directive places, or two place differently; a directive that selects nothing; several homes without microbatches.
pub fn run(
    module: &mut Module,
    graph: Op,
    placements: &[Placement],
    shape: Shape,
    reporter: &mut Reporter<'_>,
) -> Result<(), PassFailed> {
    let nodes = compute_nodes(module, graph);
    let mut slices = Slices::default();
    let placed = placed(module, &nodes, placements, &mut slices, reporter)?;
    let mut placer = Placer {
        module,
        graph,
        slices,
        placed,
        mapped: FxHashMap::default(),
        types: FxHashMap::default(),
        homes: FxHashMap::default(),
        groups: FxHashMap::default(),
    };
    placer.results(&nodes);
    placer.operands(&nodes);
    placer.gradients(shape, reporter)
}

/// The slice of every node.
fn placed(
    module: &Module,
    nodes: &[Op],
    placements: &[Placement],
    slices: &mut Slices,
    reporter: &mut Reporter<'_>,
) -> Result<FxHashMap<Op, Slice>, PassFailed> {
    let ctx = module.ctx();
    let mut placed: FxHashMap<Op, (Slice, Loc)> = FxHashMap::default();
    let errors = reporter.error_count();
    let mut selector = Selector::new(module, nodes);
    for placement in placements {
        let selected = selector.select(&placement.filter);
        let slice = |home: &strategy::Home| {
            let fixed = home.slice.fixed.iter();
            let mut coordinates: Coordinates =
                fixed.map(|(axis, at)| (ctx.name(axis), i64::from(*at))).collect();
            coordinates.sort_by_key(|(axis, _)| axis.text(ctx));
            slices.slice(coordinates)
        };
        let homes: Vec<Slice> = placement.homes.iter().map(slice).collect();
        for &node in &selected {
            let microbatch = tag_of(module, node, "MB").and_then(|mb| mb.parse::<u32>().ok());
            let home =
                placement.homes.iter().position(|home| match (&home.microbatches, microbatch) {
                    (None, _) => true,
                    (Some(range), Some(mb)) => range.contains(&mb),
                    (Some(_), None) => false,
                });
            let Some(home) = home else {
                reporter
                    .error(
                        placement.loc,
                        format!("node '{}' is on none of the homes given", node_tag(module, node)),
                    )
                    .hint(
                        "several homes need a split before them, and a range of microbatches each",
                    );
                break;
            };
            if let Some((known, first)) = placed.get(&node)
                && *known != homes[home]
            {
                let message = format!(
                    "node '{}' is placed twice, on different slices",
                    node_tag(module, node)
                );
                reporter.error(placement.loc, message).note(*first, "placed here before");
                break;
            }
            placed.insert(node, (homes[home], placement.loc));
        }
        if selected.is_empty() {
            reporter.error(placement.loc, "'place' selects no node");
        }
    }
    for &node in nodes {
        if !placed.contains_key(&node) {
            let tags = Compute(node).tags(module).display(ctx);
            reporter
                .error(module.op_loc(node), format!("node '{}' with tags {tags} has no place", node_tag(module, node)))
                .hint("every segment needs a strategy.place (or a stage of the pipeline) that selects it");
            break;
        }
    }
    if reporter.error_count() > errors {
        return Err(PassFailed);
    }
    Ok(placed.into_iter().map(|(op, (slice, _))| (op, slice)).collect())
}

struct Placer<'m> {
    module: &'m mut Module,
    graph: Op,
    slices: Slices,
    /// The slice of every node.
    placed: FxHashMap<Op, Slice>,
    /// What stands for a value on a slice that is not its own.
    mapped: FxHashMap<(Value, Slice), Value>,
    /// Types on slices, as many values have one type.
    types: FxHashMap<(Type, Slice), Type>,
    /// The slice that a type says.
    homes: FxHashMap<Type, Slice>,
    groups: FxHashMap<Vec<Coordinates>, Name>,
}

impl Placer<'_> {
    fn dist(&self, value: Value) -> Dist {
        Dist::of(self.module.ctx(), self.module.ty(value)).expect("a value of the graph")
    }

    /// The value's type confined to a slice.
    fn on(&mut self, value: Value, slice: Slice) -> Type {
        let key = (self.module.ty(value), slice);
        if let Some(&known) = self.types.get(&key) {
            return known;
        }
        let ctx = self.module.ctx();
        let coordinates = self.slices.coordinates(slice).iter();
        let ty =
            coordinates.fold(self.dist(value), |dist, (axis, at)| dist.at(ctx, *axis, *at)).ty(ctx);
        self.types.insert(key, ty);
        ty
    }

    /// The mesh slice a value lives on: that of its node, if a node makes it.
    fn place(&mut self, value: Value) -> Slice {
        if let Some(slice) = self.module.defining_op(value).and_then(|op| self.placed.get(&op)) {
            return *slice;
        }
        let ty = self.module.ty(value);
        if let Some(&known) = self.homes.get(&ty) {
            return known;
        }
        let mb = self.module.ctx().name(MICROBATCH);
        let coordinates = match self.dist(value).home {
            Home::Slice(coords) => coords.into_iter().filter(|(axis, _)| *axis != mb).collect(),
            Home::Group(_) => Vec::new(),
        };
        let slice = self.slices.slice(coordinates);
        self.homes.insert(ty, slice);
        slice
    }

    fn results(&mut self, nodes: &[Op]) {
        for node in nodes {
            let slice = self.placed[node];
            for value in self.module.results(*node) {
                let ty = self.on(value, slice);
                self.module.set_ty(value, ty);
            }
        }
    }

    fn operands(&mut self, nodes: &[Op]) {
        let ctx = self.module.ctx_arc();
        // Users of what is not made by a node: inputs and parameters.
        let block = self.module.only_block(self.graph).expect("a graph has a block");
        for op in self.module.ops(block).collect::<Vec<_>>() {
            let name = self.module.name_text(op).to_owned();
            if name != "dag.input" && name != "dag.parameter" {
                continue;
            }
            let value = self.module.result(op, 0);
            let mut homes: Vec<Slice> = Vec::new();
            for slice in self.module.uses(value).filter_map(|used| self.placed.get(&used.op)) {
                if !homes.contains(slice) {
                    homes.push(*slice);
                }
            }
            homes.sort_by(|a, b| self.slices.compare(*a, *b));
            match (&homes[..], &*name) {
                ([], _) => {}
                ([only], _) => {
                    let ty = self.on(value, *only);
                    self.module.set_ty(value, ty);
                }
                (_, "dag.input") => {
                    for (i, &home) in homes.iter().enumerate() {
                        let ty = self.on(value, home);
                        if i == 0 {
                            self.module.set_ty(value, ty);
                            continue;
                        }
                        let copy = self.module.clone_op(op, &mut FxHashMap::default());
                        self.module.insert_before(op, copy);
                        let result = self.module.result(copy, 0);
                        self.module.set_ty(result, ty);
                        self.mapped.insert((value, home), result);
                    }
                }
                _ => {
                    let homes: Vec<(Slice, Coordinates)> = homes
                        .iter()
                        .map(|home| (*home, self.slices.coordinates(*home).clone()))
                        .collect();
                    let group =
                        self.group(&homes.iter().map(|(_, home)| home.clone()).collect::<Vec<_>>());
                    let grouped = Dist { home: Home::Group(group), ..self.dist(value) };
                    self.module.set_ty(value, grouped.ty(&ctx));
                    let mut after = op;
                    for (slice, home) in homes {
                        let ty = Dist { home: Home::Slice(home), ..grouped.clone() }.ty(&ctx);
                        let mut b = Builder::after(self.module, after);
                        let state = b.state("dag.project").operands([value]).results([ty]);
                        after = b.insert(state);
                        let here = self.module.result(after, 0);
                        self.mapped.insert((value, slice), here);
                    }
                }
            }
        }
        for &node in nodes {
            let slice = self.placed[&node];
            for (i, value) in self.module.operands(node).collect::<Vec<_>>().into_iter().enumerate()
            {
                let key = (value, slice);
                if let Some(&here) = self.mapped.get(&key) {
                    self.module.set_operand(node, i, here);
                } else if self.place(value) != slice {
                    let ty = self.on(value, slice);
                    let from = self.module.defining_op(value).expect("made by a node");
                    let mut b = Builder::after(self.module, from);
                    let state = b.state("dag.transfer").operands([value]).results([ty]);
                    let moved = b.value(state);
                    self.mapped.insert(key, moved);
                    self.module.set_operand(node, i, moved);
                }
            }
        }
    }

    /// The group of these slices, declared before the graph.
    fn group(&mut self, homes: &[Coordinates]) -> Name {
        if let Some(&known) = self.groups.get(homes) {
            return known;
        }
        let ctx = self.module.ctx_arc();
        let slices: Vec<_> = homes
            .iter()
            .map(|home| ctx.dict_attr(home.iter().map(|(axis, at)| (*axis, ctx.int_attr(*at)))))
            .collect();
        let name = ctx.name(&self.unused_name(homes));
        let mesh = self.module.attr_by(self.graph, "mesh").expect("a graph names its mesh");
        let mut b = Builder::before(self.module, self.graph);
        let state = b
            .state("strategy.group")
            .attr(&ctx, "sym_name", ctx.str_attr(name.text(&ctx)))
            .attr(&ctx, "mesh", mesh)
            .attr(&ctx, "slices", ctx.array_attr(slices));
        b.insert(state);
        self.groups.insert(homes.to_vec(), name);
        name
    }

    /// `pp0_pp3`: the coordinates of the slices.
    fn unused_name(&self, homes: &[Coordinates]) -> String {
        let ctx = self.module.ctx();
        let slice = |home: &Coordinates| {
            home.iter().map(|(axis, at)| format!("{}{at}", axis.text(ctx))).collect::<String>()
        };
        let mut name = homes.iter().map(slice).collect::<Vec<_>>().join("_");
        while self.module.lookup(self.module.root(), &name).is_some() {
            name.push('_');
        }
        name
    }

    /// Sums the contributions of each slice there, and the slices' sums over the group.
    fn gradients(&mut self, shape: Shape, reporter: &mut Reporter<'_>) -> Result<(), PassFailed> {
        let mut sums = Sums::default();
        for op in gradients(self.module, self.graph) {
            let old = self.module.operand(op, 0);
            let mut by_slice: Vec<(Slice, Vec<Value>)> = Vec::new();
            for value in summands(self.module, old) {
                let slice = self.place(value);
                match by_slice.iter_mut().find(|(known, _)| *known == slice) {
                    Some((_, values)) => values.push(value),
                    None => by_slice.push((slice, vec![value])),
                }
            }
            if let [(slice, _)] = by_slice[..] {
                // The sum stands already; its operations move with what they add.
                for sum in additions(self.module, old) {
                    let value = self.module.result(sum, 0);
                    let ty = self.on(value, slice);
                    self.module.set_ty(value, ty);
                }
                let (ty, result) = (self.module.ty(old), self.module.result(op, 0));
                self.module.set_ty(result, ty);
                continue;
            }
            by_slice.sort_by(|a, b| self.slices.compare(a.0, b.0));
            let homes: Vec<Coordinates> =
                by_slice.iter().map(|(slice, _)| self.slices.coordinates(*slice).clone()).collect();
            let mut b = Builder::before(self.module, op);
            let totals: Vec<Value> =
                by_slice.iter().map(|(_, values)| sums.sum(&mut b, values, shape)).collect();
            let total = self.over_group(op, &homes, &totals, reporter)?;
            self.module.set_operand(op, 0, total);
            let ty = self.module.ty(total);
            let result = self.module.result(op, 0);
            self.module.set_ty(result, ty);
            erase_unused(self.module, old);
        }
        Ok(())
    }

    fn over_group(
        &mut self,
        op: Op,
        homes: &[Coordinates],
        sums: &[Value],
        reporter: &mut Reporter<'_>,
    ) -> Result<Value, PassFailed> {
        let ctx = self.module.ctx_arc();
        let Some(&group) = self.groups.get(homes) else {
            let name = self.module.attr_by(op, "name").map_or(String::new(), |a| a.display(&ctx));
            reporter
                .error(
                    self.module.op_loc(op),
                    format!("parameter {name} is used on slices that give it no gradient"),
                )
                .hint("use nn.stop_gradient on a parameter of its own, or place the uses together");
            return Err(PassFailed);
        };
        let mut joined = self.dist(sums[0]);
        joined.home = Home::Group(group);
        let graph_parts = self
            .module
            .attr_by(self.graph, "microbatches")
            .and_then(|m| m.as_int(&ctx))
            .unwrap_or(1);
        let held: Vec<_> = sums.iter().map(|v| self.dist(*v).held).collect();
        if held.iter().any(|h| *h != held[0]) {
            joined.held = held[1..].iter().fold(held[0].clone(), |all, next| match (all, next) {
                (Some(all), Some(next)) => all.united(next, graph_parts).unwrap_or(Some(all)),
                _ => None,
            });
        }
        joined.partial.push(group);
        let mut b = Builder::before(self.module, op);
        let state = b.state("dag.join").operands(sums.iter().copied()).results([joined.ty(&ctx)]);
        let value = b.value(state);
        joined.partial.retain(|axis| *axis != group);
        let axes = ctx.array_attr(vec![ctx.symbol_attr_of(group)]);
        let state = b
            .state("dag.all_reduce")
            .operands([value])
            .results([joined.ty(&ctx)])
            .attr(&ctx, "axes", axes);
        Ok(b.value(state))
    }
}
