//! Instructions, one to one.

use piper_dialects::device::Launch;
use piper_ir::{Attr, Op, Value};
use piper_plan as plan;
use rustc_hash::FxHashMap;

use super::{Emitter, Result, fault};

type Buffers = FxHashMap<Value, plan::BufferId>;

impl Emitter<'_, '_> {
    pub(super) fn instruction(
        &mut self,
        op: Op,
        streams: &[Attr],
        buffers: &Buffers,
        events: &mut u32,
    ) -> Result<plan::Instr> {
        let module = self.module;
        let stream = module.attr_by(op, "stream");
        let Some(stream) = streams.iter().position(|s| Some(*s) == stream) else {
            let name = self.text(op, "stream");
            return fault(op, format!("the program has no stream \"{name}\""));
        };
        let name = module.attr_by(op, "name");
        let operand = |at: usize| -> Result<plan::BufferId> {
            self.buffer(op, module.operand(op, at), buffers)
        };
        let kind = match module.name_text(op) {
            "device.launch" => self.launch(op, buffers)?,
            "device.send" => plan::Kind::Send(self.p2p(op, buffers)?),
            "device.recv" => plan::Kind::Recv(self.p2p(op, buffers)?),
            "device.group" => {
                let block = module.only_block(op).expect("a group has a block");
                let transfers = module.ops(block).map(|inner| {
                    let p2p = self.p2p(inner, buffers)?;
                    Ok(match module.name_text(inner) {
                        "device.send" => plan::Transfer::Send(p2p),
                        _ => plan::Transfer::Recv(p2p),
                    })
                });
                plan::Kind::Group(transfers.collect::<Result<_>>()?)
            }
            name @ ("device.all_reduce" | "device.reduce_scatter" | "device.all_gather") => {
                let (src, dst) = (operand(0)?, operand(1)?);
                let comm = self.comm_id(op, module.attr_by(op, "comm").expect("declared"))?;
                match name {
                    "device.all_reduce" => plan::Kind::AllReduce { src, dst, comm },
                    "device.reduce_scatter" => plan::Kind::ReduceScatter { src, dst, comm },
                    _ => plan::Kind::AllGather { src, dst, comm },
                }
            }
            "device.all_to_all" => plan::Kind::AllToAll {
                src: operand(0)?,
                dst: operand(1)?,
                comm: self.comm_id(op, module.attr_by(op, "comm").expect("declared"))?,
                src_runs: self.int(op, "src_runs"),
                dst_runs: self.int(op, "dst_runs"),
            },
            "device.copy" => plan::Kind::Copy { src: operand(0)?, dst: operand(1)? },
            "device.fill" => {
                let value =
                    module.attr_by(op, "value").and_then(|v| v.as_number(self.ctx)).unwrap_or(0.0);
                plan::Kind::Fill { dst: operand(0)?, value }
            }
            "device.load_input" => {
                let input = self.text(op, "input");
                let Some(&input) = self.inputs.get(&input) else {
                    return fault(op, format!("there is no input \"{input}\""));
                };
                let rows = plan::RowMap {
                    first: self.affine(op, "first", "strides")?,
                    rows: self.int(op, "rows"),
                };
                plan::Kind::LoadInput { input, rows, dst: operand(0)? }
            }
            "device.store_output" => {
                let output = self.text(op, "output");
                let Some(&output) = self.outputs.get(&output) else {
                    return fault(op, format!("there is no output \"{output}\""));
                };
                plan::Kind::StoreOutput {
                    output,
                    src: operand(0)?,
                    part: self.affine(op, "part", "strides")?,
                }
            }
            name @ ("device.record" | "device.wait") => {
                let number = self.int(op, "event") as u32;
                *events = (*events).max(number.saturating_add(1));
                let event = plan::EventId(number);
                if name == "device.record" {
                    plan::Kind::Record { event }
                } else {
                    plan::Kind::Wait { event }
                }
            }
            name => return fault(op, format!("plans have no instruction '{name}'")),
        };
        let source = self.source(op, name);
        let name = name.map(|name| name.as_str(self.ctx).unwrap_or("").to_owned());
        Ok(plan::Instr { stream: stream as u16, source, name, kind })
    }

    fn buffer(&self, op: Op, value: Value, buffers: &Buffers) -> Result<plan::BufferId> {
        match buffers.get(&value) {
            Some(&id) => Ok(id),
            None => fault(op, "an operand is no buffer of the program"),
        }
    }

    fn p2p(&self, op: Op, buffers: &Buffers) -> Result<plan::P2p> {
        let module = self.module;
        Ok(plan::P2p {
            buf: self.buffer(op, module.operand(op, 0), buffers)?,
            peer: plan::Peer { set: self.coords(op, module.attr_by(op, "peer"))? },
            comm: self.comm_id(op, module.attr_by(op, "comm").expect("declared"))?,
            tag: module.attr_by(op, "tag").map(|_| self.int(op, "tag") as u32),
        })
    }

    /// A launch. Its kernel is declared at the first one, with what that passes.
    fn launch(&mut self, op: Op, buffers: &Buffers) -> Result<plan::Kind> {
        let (module, launch) = (self.module, Launch(op));
        let Some(callee) = launch.callee(module).as_symbol(self.ctx) else {
            return fault(op, "a launch names its kernel");
        };
        let scalars = launch.scalars(module).and_then(|s| s.as_array(self.ctx)).unwrap_or(&[]);
        let mut scalar_ids = Vec::with_capacity(scalars.len());
        for scalar in scalars {
            let name = scalar.as_str(self.ctx).unwrap_or("");
            let Some(&id) = self.scalars.get(name) else {
                return fault(op, format!("there is no scalar \"{name}\""));
            };
            scalar_ids.push(id);
        }
        let args =
            module.operands(op).map(|v| self.buffer(op, v, buffers)).collect::<Result<Vec<_>>>()?;
        let kernel = match self.kernels.get(&callee) {
            Some(&known) => known,
            None => {
                let modes = launch
                    .reads(module)
                    .map(|v| (v, plan::Mode::Read))
                    .chain(launch.updates(module).map(|v| (v, plan::Mode::ReadWrite)))
                    .chain(launch.writes(module).map(|v| (v, plan::Mode::Write)));
                let params = modes
                    .map(|(value, mode)| {
                        let (elems, dtype) = self.flat(op, module.ty(value))?;
                        Ok(plan::Param { mode, dtype, elems })
                    })
                    .collect::<Result<Vec<_>>>()?;
                let cost = self.cost(op, callee, &params)?;
                let id = plan::KernelId(self.plan.kernels.len() as u32);
                self.plan.kernels.push(plan::KernelDecl {
                    symbol: callee.text(self.ctx).to_owned(),
                    params,
                    scalars: scalar_ids.len() as u32,
                    workspace_bytes: 0,
                    cost,
                });
                self.kernels.insert(callee, id);
                id
            }
        };
        Ok(plan::Kind::Launch { kernel, args, scalars: scalar_ids })
    }
}
