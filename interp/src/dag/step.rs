//! One step: every operation in turn, on every device of its home.

use std::collections::BTreeMap;
use std::rc::Rc;

use piper_dialects::dag::{
    AllToAll, ClipScale, Compute, Dist, Home, MICROBATCH, Update, collective_axes,
};
use piper_ir::{Attr, Module, Name, Op, Value};
use rustc_hash::FxHashMap;

use super::state::{copy_into, same_bits};
use super::{Error, Interpreter, Local, Step, Tensors};
use crate::error::NumericError;
use crate::ops::{self, AdamW, Sgd};
use crate::tensor::{ElementType, Tensor};

/// Runs `$body` with `$T` the number type of `$element`.
macro_rules! typed {
    ($element:expr, $T:ident => $body:expr) => {
        match $element {
            ElementType::F64 => {
                type $T = f64;
                $body
            }
            _ => {
                type $T = f32;
                $body
            }
        }
    };
}

/// The sum of tensors as a balanced tree; that of bf16 is rounded once, at the root.
fn tree_sum(parts: &[&Tensor]) -> Result<Tensor, NumericError> {
    let element = parts.first().map_or(ElementType::F32, |t| t.element_type());
    if element == ElementType::Bf16 {
        let wide: Vec<Tensor> = parts.iter().map(|part| part.cast(ElementType::F32)).collect();
        let wide: Vec<&Tensor> = wide.iter().collect();
        return Ok(ops::tree_sum::<f32>(&wide)?.cast(element));
    }
    typed!(element, T => ops::tree_sum::<T>(parts))
}

/// A step that is being run.
pub(super) struct Run<'r, 'm> {
    of: &'r Interpreter<'m>,
    module: &'m Module,
    data: &'r Tensors,
    state: &'r Tensors,
    number: u32,
    values: FxHashMap<Value, Local>,
    /// Uses of a value that are still to come; at none its tensors are dropped.
    uses: FxHashMap<Value, usize>,
    result: Step,
    written: Tensors,
}

impl<'r, 'm> Run<'r, 'm> {
    pub(super) fn new(
        of: &'r Interpreter<'m>,
        data: &'r Tensors,
        state: &'r Tensors,
        number: u32,
    ) -> Self {
        let mut uses: FxHashMap<Value, usize> = FxHashMap::default();
        for value in of.order.iter().flat_map(|op| of.module.operands(*op)) {
            *uses.entry(value).or_default() += 1;
        }
        let result =
            Step { outputs: BTreeMap::new(), gradients: Tensors::new(), state: state.clone() };
        Self {
            of,
            module: of.module,
            data,
            state,
            number,
            values: FxHashMap::default(),
            uses,
            result,
            written: Tensors::new(),
        }
    }

    pub(super) fn run(mut self) -> Result<Step, Error> {
        for i in 0..self.of.order.len() {
            let op = self.of.order[i];
            let results = self.operation(op)?;
            for (value, local) in self.module.results(op).zip(results) {
                if self.uses.contains_key(&value) {
                    self.values.insert(value, local);
                }
            }
            for value in self.module.operands(op) {
                if let Some(left) = self.uses.get_mut(&value) {
                    *left -= 1;
                    if *left == 0 {
                        self.values.remove(&value);
                    }
                }
            }
        }
        Ok(self.result)
    }

    fn local(&self, op: Op, value: Value, device: usize) -> Result<&Rc<Tensor>, Error> {
        self.values.get(&value).and_then(|local| local.get(device)?.as_ref()).ok_or_else(|| {
            self.of.error(
                op,
                format!(
                    "'{}' uses a value that device {device} does not have",
                    self.module.name_text(op)
                ),
            )
        })
    }

    fn locals(&self, op: Op, device: usize) -> Result<Vec<&Rc<Tensor>>, Error> {
        self.module.operands(op).map(|value| self.local(op, value, device)).collect()
    }

    /// A value made on each device of a home.
    fn on(
        &self,
        op: Op,
        home: &Home,
        make: impl Fn(usize) -> Result<Result<Rc<Tensor>, NumericError>, Error>,
    ) -> Result<Local, Error> {
        let mut local: Local = vec![None; self.of.layout.devices()];
        for device in self.of.layout.home(home) {
            local[device] = Some(make(device)?.map_err(|e| self.of.error(op, e.to_string()))?);
        }
        Ok(local)
    }

    fn dist(&self, op: Op, value: Value) -> Result<Dist, Error> {
        self.of.dist(op, value)
    }

    /// The results of an operation.
    fn operation(&mut self, op: Op) -> Result<Vec<Local>, Error> {
        let module = self.module;
        let name = module.name_text(op);
        if name == "dag.order" {
            return Ok(Vec::new());
        }
        let result = module.results(op).next();
        let dist = result.map(|value| self.dist(op, value)).transpose()?;
        let Some(dist) = dist else {
            match name {
                "dag.commit" => self.commit(op)?,
                "dag.output" => self.output(op)?,
                "dag.compute" => {}
                _ => {
                    return Err(self.of.error(op, format!("'{name}' cannot be run at this level")));
                }
            }
            return Ok(Vec::new());
        };
        let home = dist.home.clone();
        let axes = module
            .attr_by(op, "axes")
            .map(|axes| collective_axes(module.ctx(), axes))
            .unwrap_or_default();
        let one = match name {
            "dag.input" => self.input(op, &dist)?,
            "dag.parameter" | "dag.state" => {
                let whole = self.of.read_state(op, self.state)?;
                self.cut(op, &dist, &whole)?
            }
            "dag.compute" => return self.compute(op, &home),
            "dag.unpack" => return self.unpack(op),
            "dag.update" => return self.update(op, &home),
            "dag.transfer" => {
                let value = module.operand(op, 0);
                let from = self.dist(op, value)?.home;
                self.on(op, &home, |device| {
                    let source = self.of.layout.moved_to(device, &from);
                    Ok(Ok(Rc::clone(self.local(op, value, source)?)))
                })?
            }
            "dag.cast" => {
                let (_, element) = self.of.type_of(op, &dist)?;
                self.on(op, &home, |device| {
                    let tensor = self.local(op, module.operand(op, 0), device)?;
                    Ok(Ok(Rc::new(tensor.cast(element))))
                })?
            }
            "dag.project" => self.on(op, &home, |device| {
                Ok(Ok(Rc::clone(self.local(op, module.operand(op, 0), device)?)))
            })?,
            "dag.add" | "dag.sum" => self.on(op, &home, |device| {
                let parts: Vec<&Tensor> =
                    self.locals(op, device)?.into_iter().map(|t| &**t).collect();
                Ok(tree_sum(&parts).map(Rc::new))
            })?,
            "dag.join" => self.on(op, &home, |device| {
                let part = match home {
                    Home::Group(group) => self.of.layout.part_of(group, device).unwrap_or(0),
                    Home::Slice(_) => 0,
                };
                let value = module.operands(op).nth(part);
                let value = value
                    .ok_or_else(|| self.of.error(op, "'dag.join' takes one value on each slice"))?;
                Ok(Ok(Rc::clone(self.local(op, value, device)?)))
            })?,
            "dag.all_reduce" => self.on(op, &home, |device| self.sum_over(op, &axes, device))?,
            "dag.reduce_scatter" => {
                let whole = Dist { dims: vec![axes.clone()], ..dist.clone() };
                self.on(op, &home, |device| {
                    let sum = self.sum_over(op, &axes, device)?;
                    let (index, count) = self.of.layout.position(&axes, &whole, device);
                    Ok(sum.and_then(|sum| {
                        let length = sum.shape[0] / count;
                        sum.slice(0, index * length..(index + 1) * length).map(Rc::new)
                    }))
                })?
            }
            "dag.all_gather" => self.on(op, &home, |device| {
                let members = self.members(op, &axes, device)?;
                let parts: Vec<&Tensor> = members.into_iter().map(|t| &**t).collect();
                Ok(Tensor::concat(0, &parts).map(Rc::new))
            })?,
            "dag.all_to_all" => self.all_to_all(op, &axes, &dist, &home)?,
            "dag.pack" => {
                let (mut shape, element) = self.of.type_of(op, &dist)?;
                // Each device lays out its own parts.
                shape[0] /= dist.dims.first().map_or(1, |axes| self.of.layout.count(axes));
                let offsets = self.offsets(op);
                self.on(op, &home, |device| {
                    let mut flat = Tensor::zeros(shape.clone(), element);
                    for (part, at) in self.locals(op, device)?.into_iter().zip(&offsets) {
                        if !copy_into(&mut flat, *at, part) {
                            return Err(self
                                .of
                                .error(op, format!("a tensor does not fit at element {at}")));
                        }
                    }
                    Ok(Ok(Rc::new(flat)))
                })?
            }
            "dag.gradient" => {
                let value = module.operand(op, 0);
                let local = self.values.get(&value).cloned().unwrap_or_default();
                let whole = self.of.gathered(op, &dist, &local)?;
                for (name, gradient) in self.of.unbucketed(op, self.of.name(op), whole)? {
                    self.result.gradients.insert(name, gradient);
                }
                local
            }
            "dag.sum_squares" => self.on(op, &home, |device| {
                let mut total = 0.0;
                for part in self.locals(op, device)? {
                    match typed!(part.element_type(), T => ops::sum_squares::<T>(part)) {
                        Ok(sum) => total += sum,
                        Err(e) => return Ok(Err(e)),
                    }
                }
                Ok(Ok(Rc::new(Tensor::scalar(total))))
            })?,
            "dag.clip_scale" => {
                let (_, element) = self.of.type_of(op, &dist)?;
                let view = ClipScale(op);
                let max_norm =
                    view.max_norm(module).as_number(module.ctx()).unwrap_or(f64::INFINITY);
                self.on(op, &home, |device| {
                    let total = self.local(op, view.sum(module), device)?.to_f64()[0];
                    let scale =
                        typed!(element, T => Tensor::scalar(ops::clip_scale::<T>(total, max_norm)));
                    Ok(Ok(Rc::new(scale)))
                })?
            }
            _ => return Err(self.of.error(op, format!("'{name}' cannot be run at this level"))),
        };
        Ok(vec![one])
    }

    /// Every member's part that is this device's, put together along the dimension that they had divided.
    fn all_to_all(&self, op: Op, axes: &[Name], moved: &Dist, home: &Home) -> Result<Local, Error> {
        let (module, view) = (self.module, AllToAll(op));
        let dim = |attr: Attr| attr.as_int(module.ctx()).map_or(0, |dim| dim.max(0) as usize);
        let (from, to) = (dim(view.from(module)), dim(view.to(module)));
        self.on(op, home, |device| {
            let (index, count) = self.of.layout.position(axes, moved, device);
            let members = self.members(op, axes, device)?;
            let part = |whole: &Rc<Tensor>| {
                let length = whole.shape[to] / count;
                whole.slice(to, index * length..(index + 1) * length)
            };
            let parts: Result<Vec<Tensor>, NumericError> = members.into_iter().map(part).collect();
            Ok(parts.and_then(|parts| {
                Tensor::concat(from, &parts.iter().collect::<Vec<_>>()).map(Rc::new)
            }))
        })
    }

    fn offsets(&self, op: Op) -> Vec<usize> {
        let offsets =
            self.module.attr_by(op, "offsets").and_then(|a| a.as_int_array(self.module.ctx()));
        offsets.unwrap_or(&[]).iter().map(|&at| at.max(0) as usize).collect()
    }

    fn input(&self, op: Op, dist: &Dist) -> Result<Local, Error> {
        let name = self.of.name(op);
        let whole = self
            .data
            .get(name)
            .ok_or_else(|| self.of.error(op, format!("there is no data \"{name}\"")))?;
        let (shape, element) = self.of.type_of(op, dist)?;
        if whole.shape != shape || whole.element_type() != element {
            let (has, found) = (whole.element_type(), &whole.shape);
            let message = format!(
                "data \"{name}\" is {has} {found:?}, but the graph has {element} {shape:?}"
            );
            return Err(self.of.error(op, message));
        }
        self.cut(op, dist, whole)
    }

    /// A whole tensor's parts.
    fn cut(&self, op: Op, dist: &Dist, whole: &Tensor) -> Result<Local, Error> {
        self.on(op, &dist.home, |device| Ok(self.of.layout.cut(whole, dist, device).map(Rc::new)))
    }

    /// The operand of a collective on every member, in order.
    fn members(&self, op: Op, axes: &[Name], device: usize) -> Result<Vec<&Rc<Tensor>>, Error> {
        let value = self.module.operand(op, 0);
        self.of
            .layout
            .members(axes, device)
            .into_iter()
            .map(|member| self.local(op, value, member))
            .collect()
    }

    fn sum_over(
        &self,
        op: Op,
        axes: &[Name],
        device: usize,
    ) -> Result<Result<Rc<Tensor>, NumericError>, Error> {
        let members = self.members(op, axes, device)?;
        let parts: Vec<&Tensor> = members.into_iter().map(|t| &**t).collect();
        Ok(tree_sum(&parts).map(Rc::new))
    }

    fn compute(&self, op: Op, home: &Home) -> Result<Vec<Local>, Error> {
        let module = self.module;
        let callee = Compute(op).callee(module).as_symbol(module.ctx());
        let body = callee.and_then(|name| module.lookup_nearest(op, name.text(module.ctx())));
        let body = body.ok_or_else(|| self.of.error(op, "the node's function does not exist"))?;
        let mut results: Vec<Local> =
            vec![vec![None; self.of.layout.devices()]; module.num_results(op)];
        // Replicas are given the same tensors, not just equal ones, often enough: a body is run once for them.
        type Ran<'t> = (Vec<&'t Rc<Tensor>>, Vec<Rc<Tensor>>);
        let mut ran: Vec<Ran<'_>> = Vec::new();
        for device in self.of.layout.home(home) {
            let inputs = self.locals(op, device)?;
            let same =
                |known: &Vec<&Rc<Tensor>>| known.iter().zip(&inputs).all(|(a, b)| Rc::ptr_eq(a, b));
            let outputs = match ran.iter().find(|(known, _)| same(known)) {
                Some((_, outputs)) => outputs.clone(),
                None => {
                    let args: Vec<Tensor> = inputs.iter().map(|t| Tensor::clone(t)).collect();
                    let no_parameters = |name: &str| {
                        unreachable!(
                            "a chunk's parameters are its arguments, but it asks for {name}"
                        )
                    };
                    let outputs = self.of.functions.run(body, &args, &no_parameters)?;
                    let outputs: Vec<Rc<Tensor>> = outputs.into_iter().map(Rc::new).collect();
                    ran.push((inputs, outputs.clone()));
                    outputs
                }
            };
            for (local, output) in results.iter_mut().zip(outputs) {
                local[device] = Some(output);
            }
        }
        Ok(results)
    }

    fn unpack(&self, op: Op) -> Result<Vec<Local>, Error> {
        let flat = self.module.operand(op, 0);
        let mut results = Vec::new();
        for (value, at) in self.module.results(op).zip(self.offsets(op)) {
            let dist = self.dist(op, value)?;
            let (mut shape, _) = self.of.type_of(op, &dist)?;
            for (size, axes) in shape.iter_mut().zip(&dist.dims) {
                *size /= self.of.layout.count(axes);
            }
            let count: usize = shape.iter().product();
            results.push(self.on(op, &dist.home, |device| {
                let part = self.local(op, flat, device)?.slice(0, at..at + count);
                Ok(part.and_then(|part| part.reshape(shape.clone())).map(Rc::new))
            })?);
        }
        Ok(results)
    }

    fn update(&self, op: Op, home: &Home) -> Result<Vec<Local>, Error> {
        let (module, ctx, view) = (self.module, self.module.ctx(), Update(op));
        let hyper = |name: &str| view.hyper(module).get(ctx, name).and_then(|a| a.as_number(ctx));
        let lr = self.of.learning_rate(op, view.lr(module), self.number)?;
        let rule = view.rule(module).as_str(ctx).unwrap_or("");
        let clipped = view.clipped(module).is_some();
        let mut results: Vec<Local> =
            vec![vec![None; self.of.layout.devices()]; module.num_results(op)];
        for device in self.of.layout.home(home) {
            let mut inputs: Vec<Tensor> =
                self.locals(op, device)?.into_iter().map(|t| Tensor::clone(t)).collect();
            let scale = if clipped { inputs.pop().map_or(1.0, |t| t.to_f64()[0]) } else { 1.0 };
            let misfit = || self.of.error(op, format!("this '{rule}' update has too few operands"));
            let element = inputs.first().ok_or_else(misfit)?.element_type();
            let new = typed!(element, T => {
                let scale = scale as T;
                match (rule, &mut inputs[..]) {
                    ("adamw", [p, g, m, v]) => {
                        let adamw = AdamW {
                            beta1: hyper("beta1").unwrap_or(0.9),
                            beta2: hyper("beta2").unwrap_or(0.999),
                            eps: hyper("eps").unwrap_or(1e-8),
                            weight_decay: hyper("weight_decay").unwrap_or(0.0),
                        };
                        adamw.step::<T>(p, m, v, g, scale, lr, self.number).map(|()| vec![p.clone(), m.clone(), v.clone()])
                    }
                    ("sgd", [p, g, rest @ ..]) => {
                        let sgd = Sgd {
                            weight_decay: hyper("weight_decay").unwrap_or(0.0),
                            momentum: hyper("momentum").unwrap_or(0.0),
                        };
                        let mut m = rest.first().cloned();
                        sgd.step::<T>(p, m.as_mut(), g, scale, lr)
                            .map(|()| std::iter::once(p.clone()).chain(m).collect())
                    }
                    _ => return Err(misfit()),
                }
            });
            let new = new.map_err(|e| self.of.error(op, e.to_string()))?;
            for (local, tensor) in results.iter_mut().zip(new) {
                local[device] = Some(Rc::new(tensor));
            }
        }
        Ok(results)
    }

    fn commit(&mut self, op: Op) -> Result<(), Error> {
        let (state, value) = (self.module.operand(op, 0), self.module.operand(op, 1));
        let def =
            self.module.defining_op(state).ok_or_else(|| self.of.error(op, "this is no state"))?;
        let dist = self.dist(op, value)?;
        let local = self.values.get(&value).cloned().unwrap_or_default();
        let whole = self.of.gathered(def, &dist, &local)?;
        for (name, tensor) in self.of.logical(def, &whole)? {
            // A parameter and the master it is copied from are one logical tensor.
            if let Some(other) = self.written.insert(name.clone(), tensor.clone())
                && !same_bits(&other, &tensor)
            {
                return Err(self
                    .of
                    .error(op, format!("\"{name}\" is written twice, with different values")));
            }
            self.result.state.insert(name, tensor);
        }
        Ok(())
    }

    /// Adds the parts of a number in the order of their grains of the batch: as inputs are divided, what no input is divided over first.
    fn output(&mut self, op: Op) -> Result<(), Error> {
        let microbatch = self.module.ctx().name(MICROBATCH);
        let mut parts: Vec<(usize, f64)> = Vec::new();
        for value in self.module.operands(op) {
            let dist = self.dist(op, value)?;
            let first = self.of.layout.home(&dist.home).first().copied();
            let first = first.ok_or_else(|| self.of.error(op, "the number lives nowhere"))?;
            let mut axes: Vec<Name> = dist.partial.clone();
            axes.retain(|axis| !self.of.batch_axes.contains(axis));
            axes.extend(&self.of.batch_axes);
            let part = dist.held.as_ref().and_then(|held| held.parts.first()).map_or(0, |p| p.lo);
            let here = dist.clone().at(self.module.ctx(), microbatch, part);
            for member in self.of.layout.members(&dist.partial, first) {
                let number = self.local(op, value, member)?.to_f64()[0];
                parts.push((self.of.layout.position(&axes, &here, member).0, number));
            }
        }
        // As the runtime does: in f64, as a balanced tree.
        parts.sort_by_key(|(grain, _)| *grain);
        let parts: Vec<Tensor> =
            parts.into_iter().map(|(_, number)| Tensor::scalar(number)).collect();
        let total = tree_sum(&parts.iter().collect::<Vec<_>>())
            .map_err(|e| self.of.error(op, e.to_string()))?;
        self.result.outputs.insert(self.of.name(op).to_owned(), total.to_f64()[0]);
        Ok(())
    }
}
