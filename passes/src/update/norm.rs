//! Global-norm clipping: one factor for all gradients, each counted once.
//!
//! A gradient that is sharded is counted shard by shard and summed over the axes that shard it; one that every device of its
//! home holds is counted on one of them; one whose parameter lives on a group is counted on one slice of the group. The
//! numbers of a slice are added, those of all slices joined and reduced, and every home gets the factor. Where there is only
//! one home no collective is needed beyond those of shards.

use piper_dialects::dag::{Dist, Home};
use piper_ir::pass::PassFailed;
use piper_ir::{Builder, Context, Loc, Module, Name, Op, Reporter, Type, Value};

use super::{Target, appending};
use crate::replicate::axes_attr;

/// The clipping factors: one for each home and element type.
#[derive(Debug)]
pub struct Scales(Vec<(Home, Type, Value)>);

impl Scales {
    /// The factor for a gradient of this distribution.
    pub fn of(&self, ctx: &Context, dist: &Dist) -> Value {
        let (_, element) = dist.tensor.as_tensor(ctx).expect("a distribution is of a tensor");
        let found = self.0.iter().find(|(home, ty, _)| *home == dist.home && *ty == element);
        found.expect("made for every target").2
    }
}

type Slice = Vec<(Name, i64)>;

/// A number on a home.
struct Number {
    dist: Dist,
    value: Value,
}

/// Inserts the global norm of all gradients and the factors that limit it to `max_norm`.
///
/// # Errors
/// Homes that overlap without being equal: their devices would be counted twice.
pub fn scales(
    module: &mut Module,
    graph: Op,
    targets: &[Target],
    max_norm: f64,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> Result<Scales, PassFailed> {
    let ctx = module.ctx_arc();
    let mut homes: Vec<Home> = Vec::new();
    let mut wanted: Vec<(Home, Type)> = Vec::new();
    for target in targets {
        if !homes.contains(&target.dist.home) {
            homes.push(target.dist.home.clone());
        }
        let (_, element) =
            target.dist.tensor.as_tensor(&ctx).expect("a distribution is of a tensor");
        if !wanted.contains(&(target.dist.home.clone(), element)) {
            wanted.push((target.dist.home.clone(), element));
        }
    }
    let numbers = sums_of_squares(module, graph, targets, loc);
    let total = match &homes[..] {
        [_] => {
            let dist = numbers[0].dist.clone();
            let values: Vec<Value> = numbers.iter().map(|n| n.value).collect();
            Number { value: sum(&mut appending(module, graph, loc), &values, &dist), dist }
        }
        _ => total_over_homes(module, graph, &homes, numbers, loc, reporter)?,
    };
    let mut scales = Vec::new();
    let mut by_element: Vec<(Type, Value, Dist)> = Vec::new();
    for (home, element) in wanted {
        let mut b = appending(module, graph, loc);
        let (whole, dist) = match by_element.iter().find(|(known, ..)| *known == element) {
            Some((_, value, dist)) => (*value, dist.clone()),
            None => {
                let dist = Dist { tensor: ctx.tensor(&[], element), ..total.dist.clone() };
                let state = b
                    .state("dag.clip_scale")
                    .operands([total.value])
                    .results([dist.ty(&ctx)])
                    .attr(&ctx, "max_norm", ctx.float_attr(max_norm));
                let value = b.value(state);
                by_element.push((element, value, dist.clone()));
                (value, dist)
            }
        };
        let value = if home == dist.home {
            whole
        } else {
            project(&mut b, whole, &Dist { home: home.clone(), ..dist })
        };
        scales.push((home, element, value));
    }
    Ok(Scales(scales))
}

/// One complete number for each home and way of sharding.
fn sums_of_squares(module: &mut Module, graph: Op, targets: &[Target], loc: Loc) -> Vec<Number> {
    let ctx = module.ctx_arc();
    let mut kinds: Vec<(Dist, Vec<Name>, Vec<Value>)> = Vec::new();
    for target in targets {
        let mut axes: Vec<Name> = target.dist.dims.iter().flatten().copied().collect();
        axes.sort_by_key(|a| a.text(&ctx));
        let dist = Dist {
            tensor: ctx.tensor(&[], ctx.f64()),
            dims: Vec::new(),
            partial: axes.clone(),
            ..target.dist.clone()
        };
        match kinds.iter_mut().find(|(known, ..)| *known == dist) {
            Some((.., values)) => values.push(target.gradient),
            // Shards are summed in the order in which they were made.
            None => {
                let order = target.dist.dims.iter().flatten().copied().collect();
                kinds.push((dist, order, vec![target.gradient]));
            }
        }
    }
    let mut numbers = Vec::new();
    for (mut dist, axes, values) in kinds {
        let attr = axes_attr(module, graph, &axes);
        let mut b = appending(module, graph, loc);
        let state = b.state("dag.sum_squares").operands(values).results([dist.ty(&ctx)]);
        let mut value = b.value(state);
        if !axes.is_empty() {
            dist.partial.clear();
            let state = b
                .state("dag.all_reduce")
                .operands([value])
                .results([dist.ty(&ctx)])
                .attr(&ctx, "axes", attr);
            value = b.value(state);
        }
        numbers.push(Number { dist, value });
    }
    numbers
}

/// The sum of numbers of one home.
fn sum(b: &mut Builder<'_>, values: &[Value], dist: &Dist) -> Value {
    if let [only] = values {
        return *only;
    }
    let ty = dist.ty(b.ctx());
    let state = b.state("dag.sum").operands(values.iter().copied()).results([ty]);
    b.value(state)
}

fn project(b: &mut Builder<'_>, value: Value, here: &Dist) -> Value {
    let ty = here.ty(b.ctx());
    let state = b.state("dag.project").operands([value]).results([ty]);
    b.value(state)
}

/// The slices of a home.
fn slices_of(module: &Module, graph: Op, home: &Home) -> Vec<Slice> {
    let ctx = module.ctx();
    match home {
        Home::Slice(at) => vec![at.clone()],
        Home::Group(group) => {
            let def = module.lookup_nearest(graph, group.text(ctx));
            let slices = def
                .and_then(|def| module.attr_by(def, "slices"))
                .and_then(|a| a.as_array(ctx))
                .unwrap_or(&[]);
            let coordinates = |slice: &piper_ir::Attr| {
                slice
                    .as_dict(ctx)?
                    .iter()
                    .map(|(n, a)| Some((*n, a.as_int(ctx)?)))
                    .collect::<Option<Slice>>()
            };
            slices.iter().filter_map(coordinates).collect()
        }
    }
}

/// The sum over all homes, on the group of all their slices.
fn total_over_homes(
    module: &mut Module,
    graph: Op,
    homes: &[Home],
    numbers: Vec<Number>,
    loc: Loc,
    reporter: &mut Reporter<'_>,
) -> Result<Number, PassFailed> {
    let ctx = module.ctx_arc();
    let mut slices: Vec<Slice> = Vec::new();
    for slice in homes.iter().flat_map(|home| slices_of(module, graph, home)) {
        if !slices.contains(&slice) {
            slices.push(slice);
        }
    }
    slices.sort_by_key(|slice| slice.iter().map(|(n, at)| (n.text(&ctx), *at)).collect::<Vec<_>>());
    for (i, a) in slices.iter().enumerate() {
        if let Some(b) = slices[..i].iter().find(|b| !disjoint(a, b)) {
            let text = |s: &Slice| {
                s.iter()
                    .map(|(n, at)| format!("{} = {at}", n.text(&ctx)))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            reporter
                .error(loc, format!("parameters live on {{{}}} and on {{{}}}, which overlap, so the gradient norm is not a sum over slices", text(a), text(b)))
                .hint("place every segment, or none");
            return Err(PassFailed);
        }
    }
    let like = Dist { home: Home::Slice(Vec::new()), ..numbers[0].dist.clone() };
    let mut here: Vec<Vec<Value>> = vec![Vec::new(); slices.len()];
    // What lives on one slice first; what lives on a group goes where least is.
    let (single, grouped): (Vec<Number>, Vec<Number>) =
        numbers.into_iter().partition(|n| matches!(n.dist.home, Home::Slice(_)));
    for number in single {
        let Home::Slice(at) = &number.dist.home else { continue };
        let i = slices.iter().position(|s| s == at).expect("collected above");
        here[i].push(number.value);
    }
    for number in grouped {
        let own = slices_of(module, graph, &number.dist.home);
        let candidates = (0..slices.len()).filter(|i| own.contains(&slices[*i]));
        let i = candidates.min_by_key(|i| here[*i].len()).expect("a group has slices");
        let dist = Dist { home: Home::Slice(slices[i].clone()), ..like.clone() };
        let value = project(&mut appending(module, graph, loc), number.value, &dist);
        here[i].push(value);
    }
    let mut joined = Vec::new();
    for (slice, values) in slices.iter().zip(&here) {
        let dist = Dist { home: Home::Slice(slice.clone()), ..like.clone() };
        let mut b = appending(module, graph, loc);
        joined.push(if values.is_empty() {
            // All of its parameters are counted on other slices; the empty sum keeps the group uniform.
            let state = b.state("dag.sum_squares").results([dist.ty(&ctx)]);
            b.value(state)
        } else {
            sum(&mut b, values, &dist)
        });
    }
    let group = group_of(module, graph, &slices, loc);
    let whole = Dist { home: Home::Group(group), ..like };
    let partial = Dist { partial: vec![group], ..whole.clone() };
    let mut b = appending(module, graph, loc);
    let state = b.state("dag.join").operands(joined).results([partial.ty(&ctx)]);
    let joined = b.value(state);
    let axes = ctx.array_attr([ctx.symbol_attr_of(group)]);
    let state = b
        .state("dag.all_reduce")
        .operands([joined])
        .results([whole.ty(&ctx)])
        .attr(&ctx, "axes", axes);
    let value = b.value(state);
    Ok(Number { dist: whole, value })
}

fn disjoint(a: &Slice, b: &Slice) -> bool {
    a.iter().any(|(name, at)| b.iter().any(|(other, there)| name == other && at != there))
}

/// The group of exactly these slices, made if there is none.
fn group_of(module: &mut Module, graph: Op, slices: &[Slice], loc: Loc) -> Name {
    let ctx = module.ctx_arc();
    let attr = ctx.array_attr(
        slices
            .iter()
            .map(|s| ctx.dict_attr(s.iter().map(|(n, at)| (*n, ctx.int_attr(*at)))))
            .collect::<Vec<_>>(),
    );
    let table = module.parent_block(graph).expect("a graph stands in a module");
    let known = module.ops(table).find(|op| {
        module.name_text(*op) == "strategy.group" && module.attr_by(*op, "slices") == Some(attr)
    });
    if let Some(name) = known.and_then(|op| module.symbol_name(op)) {
        return ctx.name(name);
    }
    let taken = |name: &str| module.ops(table).any(|op| module.symbol_name(op) == Some(name));
    let mut name = "all_slices".to_owned();
    while taken(&name) {
        name.push('_');
    }
    let mesh = module.attr_by(graph, "mesh").expect("a verified graph is on a mesh");
    let mut b = Builder::before(module, graph);
    let state = b
        .state("strategy.group")
        .attr(&ctx, "sym_name", ctx.str_attr(&name))
        .attr(&ctx, "mesh", mesh)
        .attr(&ctx, "slices", attr);
    b.set_loc(loc).insert(state);
    ctx.name(&name)
}
