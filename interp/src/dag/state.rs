//! Whole tensors and their parts on devices: initial state, gathering, and what is in a flat bucket.

use std::collections::BTreeMap;
use std::rc::Rc;

use piper_dialects::dag::Dist;
use piper_dialects::nn;
use piper_dialects::strategy::LearningRate;
use piper_ir::{Attr, Op};
use piper_plan::{Init, ScalarSource};

use super::{Error, Interpreter, Local, Tensors};
use crate::NumericError;
use crate::func::element_type;
use crate::ops;
use crate::tensor::{Data, ElementType, Tensor};

/// A logical tensor inside a state's whole tensor.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Its name: the state's own, or `wte`, `wte.m` for a part of a flat bucket.
    name: String,
    shape: Vec<usize>,
    /// The first element, and whether it is a part of a flat tensor at all.
    at: Option<usize>,
    /// By which axes each dimension is divided before it is in a flat tensor.
    divided: Vec<Vec<piper_ir::Name>>,
}

impl Interpreter<'_> {
    /// The graph's parameters and optimizer state as they are before the first step, as logical tensors: parameters by their
    /// initialisers (a function of name and index), moments filled with their number. How state is bucketed and sharded does not show,
    /// so the same tensors start (or resume) a run under any strategy.
    ///
    /// # Errors
    /// An initialiser that is none, or a flat copy of a parameter that is not there.
    pub fn initial_state(&self) -> Result<Tensors, Error> {
        let mut state = Tensors::new();
        for &op in &self.order {
            let module = self.module;
            let init = match module.name_text(op) {
                "dag.parameter" | "dag.state" => module.attr_by(op, "init"),
                _ => continue,
            };
            let dist = self.dist(op, module.result(op, 0))?;
            let (_, element) = self.type_of(op, &dist)?;
            let number = init.and_then(|a| a.as_number(module.ctx()));
            let init = match (number, init.and_then(|a| nn::Init::from_attr(module.ctx(), a))) {
                (Some(value), _) | (_, Some(nn::Init::Constant(value))) => Init::Constant(value),
                (_, Some(nn::Init::Normal { mean, std })) => Init::Normal { mean, std },
                (_, Some(nn::Init::Uniform { lo, hi })) => Init::Uniform { low: lo, high: hi },
                (_, Some(nn::Init::Zeros)) => Init::Zeros,
                (_, Some(nn::Init::Ones)) => Init::Ones,
                // A flat copy begins as what it is a copy of.
                _ if module.name_text(op) == "dag.state" => continue,
                _ => {
                    return Err(
                        self.error(op, format!("parameter '{}' has no initialiser", self.name(op)))
                    );
                }
            };
            for piece in self.pieces(op)? {
                let tensor = match element {
                    ElementType::F64 => ops::parameter::<f64>(&piece.name, &piece.shape, init),
                    _ => ops::parameter::<f32>(&piece.name, &piece.shape, init),
                };
                state
                    .insert(piece.name.clone(), tensor.map_err(|e| self.error(op, e.to_string()))?);
            }
        }
        Ok(state)
    }

    /// Shape and element type of a distribution's whole tensor.
    pub(super) fn type_of(&self, op: Op, dist: &Dist) -> Result<(Vec<usize>, ElementType), Error> {
        let (shape, element) = dist
            .tensor
            .as_tensor(self.module.ctx())
            .ok_or_else(|| self.error(op, "a distribution is of a tensor"))?;
        let element = element_type(self.module, element)
            .ok_or_else(|| self.error(op, "values are f32, f64, bf16 or i32"))?;
        Ok((shape.iter().map(|&d| d.max(0) as usize).collect(), element))
    }

    /// The logical tensors in a state's whole tensor.
    ///
    /// A master holds its parameters at the offsets its `init` says; the optimizer state beside it in an update has the same
    /// layout, its tensors called after the parameters with the last word of its own name (`wte.m` in `bucket0.m`).
    fn pieces(&self, op: Op) -> Result<Vec<Piece>, Error> {
        let module = self.module;
        let value = module.result(op, 0);
        let own = self.name(op);
        let (shape, _) = self.type_of(op, &self.dist(op, value)?)?;
        let alone = || {
            vec![Piece {
                name: own.to_owned(),
                shape: shape.clone(),
                at: None,
                divided: Vec::new(),
            }]
        };
        if module.name_text(op) == "dag.parameter" {
            return Ok(alone());
        }
        if let Some(parts) = self.parts(op) {
            return self.parameters_at(op, parts, "");
        }
        let update =
            module.uses(value).map(|u| u.op).find(|u| module.name_text(*u) == "dag.update");
        let master = update.and_then(|update| module.defining_op(module.operand(update, 0)));
        match master.and_then(|master| self.parts(master)) {
            Some(parts) => {
                let suffix = own.rsplit('.').next().unwrap_or(own);
                self.parameters_at(op, parts, &format!(".{suffix}"))
            }
            None => Ok(alone()),
        }
    }

    fn parameters_at(
        &self,
        op: Op,
        parts: Vec<(String, usize)>,
        suffix: &str,
    ) -> Result<Vec<Piece>, Error> {
        let module = self.module;
        let of = |name: &str| {
            let mut parameters = self.order.iter().copied();
            parameters.find(|s| module.name_text(*s) == "dag.parameter" && self.name(*s) == name)
        };
        let piece = |(name, at): (String, usize)| {
            let owner = of(&name)
                .ok_or_else(|| self.error(op, format!("there is no parameter '{name}'")))?;
            let dist = self.dist(owner, module.result(owner, 0))?;
            let (shape, _) = self.type_of(owner, &dist)?;
            Ok(Piece { name: format!("{name}{suffix}"), shape, at: Some(at), divided: dist.dims })
        };
        parts.into_iter().map(piece).collect()
    }

    /// What a flat state is a copy of, with offsets.
    fn parts(&self, state: Op) -> Option<Vec<(String, usize)>> {
        let ctx = self.module.ctx();
        let entries = self.module.attr_by(state, "init")?.as_dict(ctx)?;
        let part = |(name, at): &(piper_ir::Name, Attr)| {
            Some((name.text(ctx).to_owned(), usize::try_from(at.as_int(ctx)?).ok()?))
        };
        entries.iter().map(part).collect()
    }

    /// A state's whole tensor, from the logical ones.
    pub(super) fn read_state(&self, op: Op, tensors: &Tensors) -> Result<Tensor, Error> {
        let (shape, element) = self.type_of(op, &self.dist(op, self.module.result(op, 0))?)?;
        let mut flat = None;
        for piece in self.pieces(op)? {
            let name = &piece.name;
            let tensor = tensors
                .get(name)
                .ok_or_else(|| self.error(op, format!("there is no state \"{name}\"")))?;
            if tensor.shape != piece.shape || tensor.element_type() != element {
                let (has, found) = (tensor.element_type(), &tensor.shape);
                let message = format!(
                    "state \"{name}\" is {has} {found:?}, but the graph has {element} {:?}",
                    piece.shape
                );
                return Err(self.error(op, message));
            }
            let Some(at) = piece.at else { return Ok(tensor.clone()) };
            let flat = flat.get_or_insert_with(|| Tensor::zeros(shape.clone(), element));
            for (at, part) in self.places(&piece, at, shape[0]) {
                let part = within(tensor, &part).map_err(|e| self.error(op, e.to_string()))?;
                if !copy_into(flat, at, &part) {
                    return Err(self.error(op, format!("\"{name}\" does not fit at element {at}")));
                }
            }
        }
        flat.ok_or_else(|| self.error(op, "a flat state has no parts"))
    }

    /// The logical tensors in a state's whole tensor.
    pub(super) fn logical(&self, op: Op, whole: &Tensor) -> Result<Vec<(String, Tensor)>, Error> {
        self.apart(op, &self.pieces(op)?, whole)
    }

    fn apart(
        &self,
        op: Op,
        pieces: &[Piece],
        whole: &Tensor,
    ) -> Result<Vec<(String, Tensor)>, Error> {
        let part = |piece: &Piece| {
            let tensor = match piece.at {
                None => Ok(whole.clone()),
                Some(at) => self.put_together(piece, at, whole),
            };
            Ok((piece.name.clone(), tensor.map_err(|e| self.error(op, e.to_string()))?))
        };
        pieces.iter().map(part).collect()
    }

    /// Where the parts of a tensor lie in a flat one of `length` elements: the part (index and count of each dimension) that the
    /// devices with the same coordinates hold is `at` elements after the begin of what these devices hold.
    fn places(&self, piece: &Piece, at: usize, length: usize) -> Vec<(usize, Place)> {
        let counts: Vec<usize> = piece.divided.iter().map(|axes| self.layout.count(axes)).collect();
        let parts: usize = counts.iter().product();
        let place = |number: usize| {
            let mut rest = number;
            let mut place: Place = Vec::new();
            for &count in counts.iter().rev() {
                place.push((rest % count, count));
                rest /= count;
            }
            place.reverse();
            (number * (length / parts) + at, place)
        };
        (0..parts).map(place).collect()
    }

    /// A tensor from its parts in a flat one.
    fn put_together(
        &self,
        piece: &Piece,
        at: usize,
        flat: &Tensor,
    ) -> Result<Tensor, NumericError> {
        let counts: Vec<usize> = piece.divided.iter().map(|axes| self.layout.count(axes)).collect();
        let shape: Vec<usize> = piece.shape.iter().zip(&counts).map(|(n, c)| n / c).collect();
        let elements: usize = shape.iter().product();
        let mut parts = Vec::new();
        for (at, place) in self.places(piece, at, flat.shape[0]) {
            let part = flat.slice(0, at..at + elements)?.reshape(shape.clone())?;
            parts.push((place.iter().map(|(index, _)| *index).collect(), Rc::new(part)));
        }
        let shards = parts.iter().map(|(key, part): &(Vec<usize>, _)| (key.clone(), (0, part)));
        let whole = assemble(&mut Vec::new(), &counts, &shards.collect());
        whole.ok_or_else(|| NumericError::Attribute {
            op: "flat",
            reason: format!("\"{}\" has no equal parts", piece.name),
        })
    }

    /// The gradients in the one called `name`: itself, or the parts of a flat bucket.
    pub(super) fn unbucketed(
        &self,
        op: Op,
        name: &str,
        whole: Tensor,
    ) -> Result<Vec<(String, Tensor)>, Error> {
        let master = format!("{name}.master");
        let mut states = self.order.iter().copied();
        let master =
            states.find(|s| self.module.name_text(*s) == "dag.state" && self.name(*s) == master);
        match master {
            Some(master) => self.apart(op, &self.pieces(master)?, &whole),
            None => Ok(vec![(name.to_owned(), whole)]),
        }
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

/// Which of how many parts of each dimension.
type Place = Vec<(usize, usize)>;

/// A part of a tensor.
fn within(tensor: &Tensor, place: &Place) -> Result<Tensor, NumericError> {
    let mut part = tensor.clone();
    for (dim, &(index, count)) in place.iter().enumerate().filter(|(_, (_, count))| *count > 1) {
        let length = part.shape[dim] / count;
        part = part.slice(dim, index * length..(index + 1) * length)?;
    }
    Ok(part)
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
pub(super) fn same_bits(a: &Tensor, b: &Tensor) -> bool {
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
