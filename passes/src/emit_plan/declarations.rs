//! What programs share: the mesh, communicators, inputs, outputs, states with their homes, scalars.

use piper_dialects::device;
use piper_dialects::nn::init::Init;
use piper_ir::{Attr, Context, Op, Type, Value};
use piper_plan as plan;
use rustc_hash::FxHashMap;

use super::{Emitter, Result, fault};

impl Emitter<'_, '_> {
    pub(super) fn declarations(&mut self) -> Result<()> {
        let (module, ctx, op) = (self.module, self.ctx, self.device_plan);
        self.plan.name = self.text(op, "name");
        let mesh = device::Plan(op).mesh(module).as_symbol(ctx);
        let Some(mesh) = mesh.and_then(|name| module.lookup_nearest(op, name.text(ctx))) else {
            return fault(op, "the mesh does not exist");
        };
        let names = module.attr_by(mesh, "axes").and_then(|a| a.as_array(ctx)).unwrap_or(&[]);
        let sizes = module.attr_by(mesh, "sizes").and_then(|a| a.as_int_array(ctx)).unwrap_or(&[]);
        for (name, size) in names.iter().zip(sizes) {
            let Some(name) = name.as_str(ctx) else { return fault(mesh, "axes have names") };
            self.axes.insert(ctx.name(name), plan::AxisId(self.plan.mesh.len() as u32));
            let size = u32::try_from(*size).unwrap_or(0);
            self.plan.mesh.push(plan::Axis { name: name.to_owned(), size });
        }
        let block = module.only_block(op).expect("a plan has a block");
        let mut partitions = Vec::new();
        for inner in module.ops(block) {
            match module.name_text(inner) {
                "device.comm" => self.comm(inner)?,
                "device.partition" => partitions.push(inner),
                "device.input" => {
                    let (shape, dtype) = self.tensor(inner, module.attr_by(inner, "tensor"))?;
                    let name = self.text(inner, "name");
                    self.inputs.insert(name.clone(), plan::InputId(self.plan.inputs.len() as u32));
                    self.plan.inputs.push(plan::Input { name, shape, dtype });
                }
                "device.output" => {
                    let name = self.text(inner, "name");
                    let kind = match module.attr_by(inner, "tensor") {
                        None => plan::OutputKind::Scalar,
                        tensor => {
                            let (shape, dtype) = self.tensor(inner, tensor)?;
                            plan::OutputKind::Tensor { shape, dtype, homes: Vec::new() }
                        }
                    };
                    self.outputs
                        .insert(name.clone(), plan::OutputId(self.plan.outputs.len() as u32));
                    self.plan.outputs.push(plan::Output { name, kind });
                }
                "device.state" => {
                    let (shape, dtype) = self.tensor(inner, module.attr_by(inner, "tensor"))?;
                    let Some(init) = module.attr_by(inner, "init").and_then(|i| initial(ctx, i))
                    else {
                        return fault(inner, "these are no initial values");
                    };
                    let name = self.text(inner, "name");
                    self.states.insert(name.clone(), self.plan.states.tensors.len());
                    let state = plan::State { name, shape, dtype, init, homes: Vec::new() };
                    self.plan.states.tensors.push(state);
                }
                "device.scalar" => {
                    let source =
                        module.attr_by(inner, "source").and_then(|s| scalar_source(ctx, s));
                    let Some(source) = source else {
                        return fault(inner, "this is no number, schedule or \"step\"");
                    };
                    let name = self.text(inner, "name");
                    self.scalars
                        .insert(name.clone(), plan::ScalarId(self.plan.scalars.len() as u32));
                    self.plan.scalars.push(plan::Scalar { name, source });
                }
                _ => {}
            }
        }
        // They name communicators, which may stand behind them.
        for inner in partitions {
            self.partition(inner)?;
        }
        Ok(())
    }

    fn partition(&mut self, op: Op) -> Result<()> {
        let (module, ctx) = (self.module, self.ctx);
        let list =
            |name: &str| module.attr_by(op, name).and_then(|a| a.as_array(ctx)).unwrap_or(&[]);
        let number = |name: &str| u32::try_from(self.int(op, name)).unwrap_or(u32::MAX);
        let comms = list("comms").iter().map(|comm| self.comm_id(op, *comm));
        let partition = plan::Partition {
            name: module.symbol_name(op).unwrap_or("").to_owned(),
            method: match &*self.text(op, "method") {
                "grid" => plan::Method::Grid,
                "workers" => plan::Method::Workers,
                _ => plan::Method::Green,
            },
            size: number("size"),
            total: number("total"),
            arch: self.text(op, "arch"),
            ctas: module.attr_by(op, "ctas").map(|_| (number("min_ctas"), number("ctas"))),
            streams: list("streams")
                .iter()
                .filter_map(|s| Some(s.as_str(ctx)?.to_owned()))
                .collect(),
            comms: comms.collect::<Result<_>>()?,
        };
        self.plan.partitions.push(partition);
        Ok(())
    }

    fn comm(&mut self, op: Op) -> Result<()> {
        let (module, ctx) = (self.module, self.ctx);
        let name = module.symbol_name(op).unwrap_or("").to_owned();
        let members = module.attr_by(op, "members").and_then(|m| m.as_array(ctx)).unwrap_or(&[]);
        let members =
            members.iter().map(|m| self.coords(op, Some(*m))).collect::<Result<Vec<_>>>()?;
        self.comms.insert(ctx.name(&name), plan::CommId(self.plan.comms.len() as u32));
        self.plan.comms.push(plan::Comm { name, members });
        Ok(())
    }

    fn tensor(&self, op: Op, attr: Option<Attr>) -> Result<(Vec<u64>, plan::DType)> {
        let ty: Option<Type> = attr.and_then(|a| a.as_type(self.ctx));
        let Some((shape, element)) = ty.and_then(|ty| ty.as_tensor(self.ctx)) else {
            return fault(op, "a ranked tensor type is needed here");
        };
        let shape = shape.iter().map(|&d| u64::try_from(d).ok()).collect::<Option<Vec<u64>>>();
        match shape {
            Some(shape) => Ok((shape, self.dtype(op, element)?)),
            None => fault(op, "the tensor has no static shape"),
        }
    }

    /// Adds a piece to the home of its tensor in a buffer, which it may be the first of.
    pub(super) fn home(
        &mut self,
        op: Op,
        program: plan::ProgramId,
        buffers: &FxHashMap<Value, plan::BufferId>,
    ) -> Result<()> {
        let module = self.module;
        let name = self.text(op, "tensor");
        let Some(&buffer) = buffers.get(&module.operand(op, 0)) else {
            return fault(op, "a home is a buffer declared before it");
        };
        let shard = match module.attr_by(op, "shard") {
            None => None,
            Some(symbol) => Some(plan::Shard { comm: self.comm_id(op, symbol)? }),
        };
        let start = self.affine(op, "start", "strides")?;
        let count = module.attr_by(op, "count").map_or(1, |_| self.int(op, "count"));
        let (step, bucket, len) =
            (self.int(op, "step"), self.int(op, "bucket"), self.int(op, "len"));
        let piece = plan::Piece { start, step, bucket, len, count };
        let homes = if module.attr_by(op, "output").is_some() {
            let found = self.outputs.get(&name).map(|id| &mut self.plan.outputs[id.index()].kind);
            match found {
                Some(plan::OutputKind::Tensor { homes, .. }) => homes,
                _ => return fault(op, format!("there is no output \"{name}\" that is a tensor")),
            }
        } else {
            match self.states.get(&name) {
                Some(&at) => &mut self.plan.states.tensors[at].homes,
                None => return fault(op, format!("there is no state \"{name}\"")),
            }
        };
        let same =
            |h: &&mut plan::Home| h.program == program && h.buffer == buffer && h.shard == shard;
        match homes.iter_mut().find(same) {
            Some(home) => home.pieces.push(piece),
            None => homes.push(plan::Home { program, buffer, shard, pieces: vec![piece] }),
        }
        Ok(())
    }

    /// The communicator of a symbol.
    pub(super) fn comm_id(&self, op: Op, symbol: Attr) -> Result<plan::CommId> {
        let name = symbol.as_symbol(self.ctx);
        match name.and_then(|name| self.comms.get(&name)) {
            Some(&id) => Ok(id),
            None => fault(op, format!("there is no communicator {}", symbol.display(self.ctx))),
        }
    }
}

/// Initial values: `#nn.init<...>`, or a number.
fn initial(ctx: &Context, attr: Attr) -> Option<plan::Init> {
    if let Some(value) = attr.as_number(ctx) {
        return Some(if value == 0.0 { plan::Init::Zeros } else { plan::Init::Constant(value) });
    }
    Some(match Init::from_attr(ctx, attr)? {
        Init::Normal { mean, std } => plan::Init::Normal { mean, std },
        Init::Uniform { lo, hi } => plan::Init::Uniform { low: lo, high: hi },
        Init::Zeros => plan::Init::Zeros,
        Init::Ones => plan::Init::Ones,
        Init::Constant(value) => plan::Init::Constant(value),
    })
}

/// A runtime scalar: a number, `"step"`, or a schedule such as `{kind = "warmup_cosine", peak = ..., ...}`.
pub fn scalar_source(ctx: &Context, attr: Attr) -> Option<plan::ScalarSource> {
    if let Some(value) = attr.as_number(ctx) {
        return Some(plan::ScalarSource::Constant(value));
    }
    if attr.as_str(ctx) == Some("step") {
        return Some(plan::ScalarSource::Step);
    }
    let number = |key: &str| attr.get(ctx, key)?.as_number(ctx);
    let steps = |key: &str| u64::try_from(attr.get(ctx, key)?.as_int(ctx)?).ok();
    let peak = number("peak")?;
    Some(match attr.get(ctx, "kind")?.as_str(ctx)? {
        "warmup_cosine" => plan::ScalarSource::WarmupCosine {
            peak,
            floor: number("floor")?,
            warmup: steps("warmup")?,
            total: steps("total")?,
        },
        "warmup_linear" => plan::ScalarSource::WarmupLinear {
            peak,
            floor: number("floor")?,
            warmup: steps("warmup")?,
            total: steps("total")?,
        },
        "warmup_constant" => plan::ScalarSource::WarmupConstant { peak, warmup: steps("warmup")? },
        _ => return None,
    })
}
