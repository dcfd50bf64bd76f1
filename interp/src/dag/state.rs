//! Whole tensors and their parts on devices: initial state, gathering, and what is in a flat bucket.

use std::collections::BTreeMap;
use std::rc::Rc;

use piper_dialects::dag::Dist;
use piper_dialects::nn;
use piper_dialects::strategy::LearningRate;
use piper_ir::{Attr, Op};
use piper_plan::{Init, ScalarSource};

use super::{Error, Interpreter, Local, Tensors};
use crate::func::element_type;
use crate::ops;
use crate::tensor::{Data, ElementType, Tensor};

impl Interpreter<'_> {
    /// The graph's parameters and optimizer state as they are before the first step: parameters by their initialisers (a function of name and
    /// index), flat copies of parameters from these, other state filled with its number.
    ///
    /// # Errors
    /// An initialiser that is none, or a flat copy of a parameter that is not there.
    pub fn initial_state(&self) -> Result<Tensors, Error> {
        let mut state = Tensors::new();
        let flat: Vec<Op> = self
            .order
            .iter()
            .copied()
            .filter(|op| self.module.name_text(*op) == "dag.state")
            .collect();
        for &op in self.order.iter().filter(|op| self.module.name_text(**op) == "dag.parameter") {
            let name = self.name(op);
            let (shape, element) = self.whole_type(op)?;
            let init = self
                .module
                .attr_by(op, "init")
                .and_then(|a| nn::Init::from_attr(self.module.ctx(), a));
            let init = match init {
                Some(nn::Init::Normal { mean, std }) => Init::Normal { mean, std },
                Some(nn::Init::Uniform { lo, hi }) => Init::Uniform { low: lo, high: hi },
                Some(nn::Init::Zeros) => Init::Zeros,
                Some(nn::Init::Ones) => Init::Ones,
                Some(nn::Init::Constant(value)) => Init::Constant(value),
                None => {
                    return Err(self.error(op, format!("parameter '{name}' has no initialiser")));
                }
            };
            let tensor = match element {
                ElementType::F64 => ops::parameter::<f64>(name, &shape, init),
                _ => ops::parameter::<f32>(name, &shape, init),
            };
            state.insert(name.to_owned(), tensor.map_err(|e| self.error(op, e.to_string()))?);
        }
        for op in flat {
            let (shape, element) = self.whole_type(op)?;
            let init = self.module.attr_by(op, "init");
            let tensor = match init.and_then(|a| a.as_number(self.module.ctx())) {
                Some(value) => match element {
                    ElementType::F64 => ops::constant::<f64>(&shape, value),
                    _ => ops::constant::<f32>(&shape, value),
                },
                None => self.flat_copy(op, &shape, element, &state)?,
            };
            state.insert(self.name(op).to_owned(), tensor);
        }
        Ok(state)
    }

    fn whole_type(&self, op: Op) -> Result<(Vec<usize>, ElementType), Error> {
        let dist = self.dist(op, self.module.result(op, 0))?;
        self.type_of(op, &dist)
    }

    /// Shape and element type of a distribution's whole tensor.
    pub(super) fn type_of(&self, op: Op, dist: &Dist) -> Result<(Vec<usize>, ElementType), Error> {
        let (shape, element) = dist
            .tensor
            .as_tensor(self.module.ctx())
            .ok_or_else(|| self.error(op, "a distribution is of a tensor"))?;
        let element = element_type(self.module, element)
            .ok_or_else(|| self.error(op, "values are f32, f64 or i32"))?;
        Ok((shape.iter().map(|&d| d.max(0) as usize).collect(), element))
    }

    /// What a flat state is a copy of, with offsets, ascending.
    fn parts(&self, state: Op) -> Option<Vec<(String, usize)>> {
        let ctx = self.module.ctx();
        let entries = self.module.attr_by(state, "init")?.as_dict(ctx)?;
        let mut parts: Vec<(String, usize)> = entries
            .iter()
            .map(|(name, at)| {
                Some((name.text(ctx).to_owned(), usize::try_from(at.as_int(ctx)?).ok()?))
            })
            .collect::<Option<_>>()?;
        parts.sort_by_key(|(_, at)| *at);
        Some(parts)
    }

    fn flat_copy(
        &self,
        op: Op,
        shape: &[usize],
        element: ElementType,
        state: &Tensors,
    ) -> Result<Tensor, Error> {
        let mut flat = Tensor::zeros(shape, element);
        for (name, at) in self
            .parts(op)
            .ok_or_else(|| self.error(op, "'init' is a number or {parameter = offset}"))?
        {
            let part = state
                .get(&name)
                .ok_or_else(|| self.error(op, format!("there is no parameter '{name}'")))?;
            if !copy_into(&mut flat, at, part) {
                return Err(
                    self.error(op, format!("parameter '{name}' does not fit at element {at}"))
                );
            }
        }
        Ok(flat)
    }

    /// The gradients in the one called `name`: itself, or the parts of a flat bucket.
    pub(super) fn unbucketed(
        &self,
        op: Op,
        name: &str,
        whole: Tensor,
    ) -> Result<Vec<(String, Tensor)>, Error> {
        let master = format!("{name}.master");
        let states = || self.order.iter().copied();
        let master =
            states().find(|s| self.module.name_text(*s) == "dag.state" && self.name(*s) == master);
        let Some(parts) = master.and_then(|master| self.parts(master)) else {
            return Ok(vec![(name.to_owned(), whole)]);
        };
        let mut gradients = Vec::new();
        for (name, at) in parts {
            let owner = states()
                .find(|s| self.module.name_text(*s) == "dag.parameter" && self.name(*s) == name);
            let owner =
                owner.ok_or_else(|| self.error(op, format!("there is no parameter '{name}'")))?;
            let (shape, _) = self.whole_type(owner)?;
            let count: usize = shape.iter().product();
            let part = whole.slice(0, at..at + count).and_then(|part| part.reshape(shape));
            gradients.push((name, part.map_err(|e| self.error(op, e.to_string()))?));
        }
        Ok(gradients)
    }

    /// The whole tensor of a complete value, from its shards; replicas must be equal.
    pub(super) fn gathered(&self, op: Op, dist: &Dist, local: &Local) -> Result<Tensor, Error> {
        let mut shards: BTreeMap<Vec<usize>, (usize, &Rc<Tensor>)> = BTreeMap::new();
        for (device, tensor) in local.iter().enumerate() {
            let Some(tensor) = tensor else { continue };
            let key =
                (0..dist.dims.len()).map(|dim| self.layout.shard(dist, dim, device).0).collect();
            let (first, known) = shards.entry(key).or_insert((device, tensor));
            if !same_bits(known, tensor) {
                let name = self.name(op);
                return Err(self.error(
                    op,
                    format!(
                        "devices {first} and {device} should hold the same \"{name}\", but differ"
                    ),
                ));
            }
        }
        let counts: Vec<usize> =
            (0..dist.dims.len()).map(|dim| self.layout.shard(dist, dim, 0).1).collect();
        let whole = assemble(&mut Vec::new(), &counts, &shards);
        whole.ok_or_else(|| self.error(op, "a shard is missing, or shards do not fit together"))
    }

    /// The learning rate of an update at a step.
    pub(super) fn learning_rate(&self, op: Op, attr: Attr, step: u32) -> Result<f64, Error> {
        let rate = LearningRate::from_attr(self.module.ctx(), attr).ok_or_else(|| {
            self.error(op, "the learning rate is neither a number nor a schedule")
        })?;
        let source = match rate {
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
        };
        Ok(source.at(step.into()))
    }
}

/// Copies values into a flat tensor; false if types differ or the end is passed.
pub(super) fn copy_into(flat: &mut Tensor, at: usize, part: &Tensor) -> bool {
    fn copy<T: Copy>(to: &mut [T], at: usize, from: &[T]) -> bool {
        match to.get_mut(at..at + from.len()) {
            Some(to) => {
                to.copy_from_slice(from);
                true
            }
            None => false,
        }
    }
    match (&mut flat.data, &part.data) {
        (Data::F32(to), Data::F32(from)) => copy(to, at, from),
        (Data::F64(to), Data::F64(from)) => copy(to, at, from),
        (Data::I32(to), Data::I32(from)) => copy(to, at, from),
        _ => false,
    }
}

/// Whether two tensors are equal bit for bit; a NaN equals itself.
fn same_bits(a: &Tensor, b: &Tensor) -> bool {
    a.shape == b.shape
        && match (&a.data, &b.data) {
            (Data::F32(a), Data::F32(b)) => {
                a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()))
            }
            (Data::F64(a), Data::F64(b)) => {
                a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()))
            }
            (a, b) => a == b,
        }
}

/// Puts shards together, dimension by dimension; `key` holds the positions in the dimensions before.
fn assemble(
    key: &mut Vec<usize>,
    counts: &[usize],
    shards: &BTreeMap<Vec<usize>, (usize, &Rc<Tensor>)>,
) -> Option<Tensor> {
    let dim = key.len();
    if dim == counts.len() {
        return shards.get(key).map(|(_, tensor)| Tensor::clone(tensor));
    }
    let mut parts = Vec::new();
    for index in 0..counts[dim] {
        key.push(index);
        parts.push(assemble(key, counts, shards)?);
        key.pop();
    }
    match &parts[..] {
        [only] => Some(only.clone()),
        _ => Tensor::concat(dim, &parts.iter().collect::<Vec<_>>()).ok(),
    }
}
