//! That an instruction does what its node says: which rows, over whom, by which kernel, with which numbers.
//!
//! What an instruction reads and writes is followed elsewhere; this is about everything else that is written on it. All of it
//! is worked out again from the graph's types.

use std::collections::BTreeMap;

use piper_dialects::dag::{AxisSizes, Dist, MICROBATCH, collective_axes};
use piper_dialects::device::{BuiltinKernel, Kernel};
use piper_ir::{Attr, Module, Name, Op, Reporter, Type, Value};
use piper_plan::{Affine, AxisId, Comm, CommId, Coords, Kind, Plan};
use rustc_hash::{FxHashMap, FxHashSet};

use super::correspondence::origin_of;
use crate::emit_plan::{Emitted, scalar_source};
use crate::replicate::buckets::{bucket_of, layout};

/// A number of a part: a constant, and a stride for each axis by name.
type Place = (i64, BTreeMap<String, i64>);

/// What is needed of the graph.
pub(super) struct Fields<'m> {
    module: &'m Module,
    graph: Op,
    pub(super) sizes: AxisSizes,
    /// How the batch is divided: the axes of dimension 0 of the input that is divided most.
    batch: Vec<Name>,
    /// The functions that nodes call.
    bodies: FxHashSet<Attr>,
    /// The parameters in each flat bucket, by its name.
    buckets: FxHashMap<&'m str, Vec<&'m str>>,
    /// Whether a communicator has the members that a collective's axes give.
    agreed: FxHashMap<(CommId, Attr), bool>,
    /// The shape of a value on one device, by its type.
    locals: FxHashMap<Type, Option<Vec<i64>>>,
}

/// The name of the bucket that a state is the master copy of, and the parameters in it.
fn bucket(module: &Module, state: Op) -> Option<(&str, Vec<&str>)> {
    let ctx = module.ctx();
    let bucket = bucket_of(module.attr_by(state, "name")?.as_str(ctx)?)?;
    let parts = layout(module, state)?.into_iter().map(|(parameter, _)| parameter.text(ctx));
    Some((bucket, parts.collect()))
}

/// The members of a communicator as coordinates by axis.
fn members_of(plan: &Plan, comm: &Comm) -> Vec<BTreeMap<String, i64>> {
    let name = |axis: AxisId| plan.mesh[axis.index()].name.clone();
    let coords =
        |member: &Coords| member.iter().map(|(axis, at)| (name(*axis), i64::from(*at))).collect();
    comm.members.iter().map(coords).collect()
}

impl<'m> Fields<'m> {
    pub(super) fn of(module: &'m Module, graph: Op, nodes: &[Op]) -> Self {
        let ctx = module.ctx();
        let named = |name: &'static str| {
            nodes.iter().copied().filter(move |op| module.name_text(*op) == name)
        };
        let inputs = named("dag.input").filter_map(|op| {
            Dist::of(ctx, module.ty(module.result(op, 0)))?.dims.into_iter().next()
        });
        let longest = |best: Vec<Name>, axes: Vec<Name>| {
            if axes.len() > best.len() { axes } else { best }
        };
        Self {
            module,
            graph,
            sizes: AxisSizes::of_graph(module, graph),
            batch: inputs.fold(Vec::new(), longest),
            bodies: named("dag.compute").filter_map(|op| module.attr_by(op, "callee")).collect(),
            buckets: named("dag.state").filter_map(|op| bucket(module, op)).collect(),
            agreed: FxHashMap::default(),
            locals: FxHashMap::default(),
        }
    }

    /// The number of a device's part among those along axes, major to minor.
    fn place(&self, dist: &Dist, axes: &[Name]) -> Place {
        let ctx = self.module.ctx();
        let (mut base, mut strides, mut stride) = (0, BTreeMap::new(), 1);
        for &axis in axes.iter().rev() {
            let held = dist.held.as_ref().and_then(|held| held.parts.first()).map_or(0, |p| p.lo);
            let is_time = axis.text(ctx) == MICROBATCH;
            match dist.coordinate(axis).or(is_time.then_some(held)) {
                Some(at) => base += at * stride,
                None => {
                    strides.insert(axis.text(ctx).to_owned(), stride);
                }
            }
            stride *= self.sizes.get(axis).unwrap_or(1);
        }
        (base, strides)
    }

    /// Whether an instruction that reports a number says which part of it is this value.
    pub(super) fn is_part(&self, instruction: Op, value: Value) -> bool {
        let (module, ctx) = (self.module, self.module.ctx());
        let Some(dist) = Dist::of(ctx, module.ty(value)) else { return false };
        // Axes that divide no input (a tensor's own) come first, by name.
        let is_group = |axis: &Name| {
            let found = module.lookup_nearest(self.graph, axis.text(ctx));
            found.is_some_and(|op| module.name_text(op) == "strategy.group")
        };
        let mut axes: Vec<Name> = dist.partial.clone();
        axes.retain(|axis| !self.batch.contains(axis) && !is_group(axis));
        axes.sort_by_key(|axis| axis.text(ctx));
        axes.extend(&self.batch);
        let (base, mut strides) = self.place(&dist, &axes);
        strides.retain(|axis, _| dist.partial.iter().any(|a| a.text(ctx) == axis));
        let part = module.attr_by(instruction, "part").and_then(|a| a.as_int(ctx));
        let given = module.attr_by(instruction, "strides").and_then(|a| a.as_dict(ctx));
        let given: BTreeMap<String, i64> = given
            .unwrap_or(&[])
            .iter()
            .filter_map(|(axis, stride)| Some((axis.text(ctx).to_owned(), stride.as_int(ctx)?)))
            .collect();
        part == Some(base) && given == strides
    }

    /// Checks all programs.
    pub(super) fn check(&mut self, nodes: &[Op], emitted: &Emitted, reporter: &mut Reporter<'_>) {
        let module = self.module;
        let errors = reporter.error_count();
        for (number, program) in emitted.plan.programs.iter().enumerate() {
            for (instr, op) in program.instrs.iter().zip(&emitted.instructions[number]) {
                let Some(node) = origin_of(module, *op).and_then(|at| nodes.get(at)) else {
                    continue;
                };
                let Err(why) = self.instruction(&emitted.plan, &instr.kind, *op, *node) else {
                    continue;
                };
                let name = module.attr_by(*op, "name").and_then(|n| n.as_str(module.ctx()));
                let message = format!(
                    "in '@{}' '{}' {} {why}",
                    program.name,
                    module.name_text(*op),
                    name.unwrap_or("")
                );
                let made = format!("it was made from this '{}'", module.name_text(*node));
                reporter.error(module.op_loc(*op), message).note(module.op_loc(*node), made);
                if reporter.error_count() > errors + 20 {
                    return;
                }
            }
        }
    }

    fn instruction(&mut self, plan: &Plan, kind: &Kind, op: Op, node: Op) -> Result<(), String> {
        let (module, ctx) = (self.module, self.module.ctx());
        let made_from = module.name_text(node);
        let from = |wanted: &[&str]| {
            if wanted.contains(&made_from) {
                Ok(())
            } else {
                Err(format!("was made from a '{made_from}'"))
            }
        };
        match kind {
            Kind::LoadInput { input, rows, .. } => {
                from(&["dag.input"])?;
                let name = module.attr_by(node, "name").and_then(|n| n.as_str(ctx));
                let dist = Dist::of(ctx, module.ty(module.result(node, 0)));
                let dist = dist.ok_or("was made from something without a place")?;
                let axes = dist.dims.first().cloned().unwrap_or_default();
                let parts: i64 = axes.iter().filter_map(|a| self.sizes.get(*a)).product();
                let shape = dist.tensor.as_tensor(ctx).map_or(&[][..], |(shape, _)| shape);
                let count = shape.first().copied().unwrap_or(1) / parts.max(1);
                let (base, strides) = self.place(&dist, &axes);
                let strides = strides.into_iter().map(|(axis, s)| (axis, s * count)).collect();
                if name != Some(&plan.inputs[input.index()].name)
                    || rows.rows as i64 != count
                    || affine(plan, &rows.first) != (base * count, strides)
                {
                    return Err("loads other rows than the graph's input has here".to_owned());
                }
            }
            Kind::StoreOutput { output, .. } => {
                from(&["dag.output", "dag.gradient"])?;
                if !self.reports(node, &plan.outputs[output.index()].name) {
                    let name = module.attr_by(node, "name").and_then(|n| n.as_str(ctx));
                    return Err(format!("reports something else than \"{}\"", name.unwrap_or("")));
                }
            }
            Kind::Send(_) | Kind::Recv(_) => from(&["dag.transfer"])?,
            Kind::AllReduce { comm, .. } => {
                from(&["dag.all_reduce"])?;
                self.over(plan, *comm, node)?;
            }
            Kind::ReduceScatter { comm, .. } => {
                from(&["dag.reduce_scatter"])?;
                self.over(plan, *comm, node)?;
            }
            Kind::AllGather { comm, .. } => {
                from(&["dag.all_gather"])?;
                self.over(plan, *comm, node)?;
            }
            Kind::AllToAll { comm, src_runs, dst_runs, .. } => {
                from(&["dag.all_to_all"])?;
                self.over(plan, *comm, node)?;
                let dim = |name| module.attr_by(node, name).and_then(|a| a.as_int(ctx));
                let mut runs = |value: Value, dim: Option<i64>| {
                    let before = self.local(value)?.get(..usize::try_from(dim?).ok()?)?;
                    u64::try_from(before.iter().product::<i64>()).ok()
                };
                if runs(module.operand(node, 0), dim("to")) != Some(*src_runs)
                    || runs(module.result(node, 0), dim("from")) != Some(*dst_runs)
                {
                    return Err("exchanges other parts than the graph says".to_owned());
                }
            }
            Kind::Fill { value, .. } if made_from == "dag.pack" && *value != 0.0 => {
                return Err("pads a flat value with something else than zeros".to_owned());
            }
            Kind::Launch { scalars, .. } => self.launch(plan, scalars, op, node)?,
            _ => {}
        }
        Ok(())
    }

    /// The shape of a value on one device.
    fn local(&mut self, value: Value) -> Option<&[i64]> {
        let (ctx, ty) = (self.module.ctx(), self.module.ty(value));
        let sizes = &self.sizes;
        let shape = self.locals.entry(ty).or_insert_with(|| {
            let local = Dist::of(ctx, ty)?.local(ctx, sizes)?;
            Some(local.as_tensor(ctx)?.0.to_vec())
        });
        shape.as_deref()
    }

    /// Whether an output of this name is what a node reports: the number, or a complete gradient; a bucket is reported as the
    /// gradients of the parameters in it.
    fn reports(&self, node: Op, output: &str) -> bool {
        let (module, ctx) = (self.module, self.module.ctx());
        let name = module.attr_by(node, "name").and_then(|n| n.as_str(ctx)).unwrap_or("");
        if module.name_text(node) == "dag.output" {
            return output == name;
        }
        let Some(parameter) = output.strip_prefix("grad.") else { return false };
        match self.buckets.get(name) {
            Some(parts) => parts.contains(&parameter),
            None => parameter == name,
        }
    }

    /// A collective's communicator has the members that the node's axes give.
    fn over(&mut self, plan: &Plan, comm: CommId, node: Op) -> Result<(), String> {
        let (module, ctx) = (self.module, self.module.ctx());
        let Some(axes) = module.attr_by(node, "axes") else { return Ok(()) };
        // Many collectives are over few communicators, which may have many members.
        let agrees = match self.agreed.get(&(comm, axes)) {
            Some(known) => *known,
            None => {
                let wanted = self.members_over(&collective_axes(ctx, axes));
                let found = members_of(plan, &plan.comms[comm.index()]);
                let agrees = wanted.is_none_or(|wanted| wanted == found);
                self.agreed.insert((comm, axes), agrees);
                agrees
            }
        };
        if agrees {
            return Ok(());
        }
        let name = &plan.comms[comm.index()].name;
        Err(format!("is over '@{name}', but the graph says over {}", axes.display(ctx)))
    }

    /// The members of a group over axes, major to minor; `None` if an axis is not known.
    fn members_over(&self, axes: &[Name]) -> Option<Vec<BTreeMap<String, i64>>> {
        let (module, ctx) = (self.module, self.module.ctx());
        let mut all = vec![BTreeMap::new()];
        for axis in axes {
            let group = module.lookup_nearest(self.graph, axis.text(ctx));
            let slices = group.and_then(|g| module.attr_by(g, "slices")?.as_array(ctx));
            let along: Vec<BTreeMap<String, i64>> = match slices {
                Some(slices) => slices
                    .iter()
                    .map(|slice| {
                        let coords = slice.as_dict(ctx)?.iter();
                        coords
                            .map(|(n, a)| Some((n.text(ctx).to_owned(), a.as_int(ctx)?)))
                            .collect()
                    })
                    .collect::<Option<_>>()?,
                None => (0..self.sizes.get(*axis)?)
                    .map(|at| BTreeMap::from([(axis.text(ctx).to_owned(), at)]))
                    .collect(),
            };
            let joined = |one: &BTreeMap<String, i64>| {
                let one = one.clone();
                along
                    .iter()
                    .map(move |more| {
                        one.iter().chain(more).map(|(n, at)| (n.clone(), *at)).collect()
                    })
                    .collect::<Vec<_>>()
            };
            all = all.iter().flat_map(joined).collect();
        }
        Some(all)
    }

    fn launch(
        &self,
        plan: &Plan,
        scalars: &[piper_plan::ScalarId],
        op: Op,
        node: Op,
    ) -> Result<(), String> {
        let (module, ctx) = (self.module, self.module.ctx());
        let Some(callee) = module.attr_by(op, "callee") else { return Ok(()) };
        let made_from = module.name_text(node);
        if made_from == "dag.compute" {
            // A body may have become kernels of its own, but is not another node's.
            let own = module.attr_by(node, "callee");
            return if self.bodies.contains(&callee) && own != Some(callee) {
                Err("calls the body of another node".to_owned())
            } else {
                Ok(())
            };
        }
        let found = callee.as_symbol(ctx).and_then(|n| module.lookup_nearest(op, n.text(ctx)));
        let Some(kernel) = found.and_then(|k| Kernel::cast(module, k)) else { return Ok(()) };
        let name = kernel.kernel(module).as_str(ctx).unwrap_or("");
        let rule = module.attr_by(node, "rule").and_then(|r| r.as_str(ctx));
        let wanted = match made_from {
            "dag.add" => "accumulate",
            // Squares of many tensors are summed in steps.
            "dag.sum_squares" if name == "sum" => "sum",
            _ => rule.unwrap_or_else(|| made_from.strip_prefix("dag.").unwrap_or(made_from)),
        };
        if !name.starts_with(wanted) {
            return Err(format!("is the kernel \"{name}\", but should be \"{wanted}\""));
        }
        let hyper = module.attr_by(node, "hyper").and_then(|h| h.as_dict(ctx)).unwrap_or(&[]);
        let given = kernel.hyper(module);
        if hyper.iter().any(|(key, value)| given.get(ctx, key.text(ctx)) != Some(*value)) {
            return Err("has other constants than the optimizer".to_owned());
        }
        if let (Some(rate), Some(kernel)) =
            (module.attr_by(node, "lr"), BuiltinKernel::from_name(name))
        {
            for (name, id) in kernel.scalars().iter().zip(scalars) {
                let source = if *name == "lr" { rate } else { ctx.str_attr(name) };
                let wanted = scalar_source(ctx, source);
                if wanted.is_some() && wanted.as_ref() != Some(&plan.scalars[id.index()].source) {
                    return Err(format!("is given another \"{name}\" than the optimizer says"));
                }
            }
        }
        Ok(())
    }
}

fn affine(plan: &Plan, affine: &Affine) -> Place {
    let name = |axis: piper_plan::AxisId| plan.mesh[axis.index()].name.clone();
    let strides = affine.strides.iter().map(|(axis, stride)| (name(*axis), *stride as i64));
    (affine.base as i64, strides.collect())
}
