//! From the text of device programs to the plan that runtimes execute: one to one, names become indices.
//!
//! Buffers without offsets get memory of their own, one after the other, so a program can be run before its memory is planned.
//! The dataflow is sealed on such a layout in any case: the memory plan is checked against it by `plan::verify`.

mod cost;
mod declarations;
mod instructions;

use piper_dialects::device::{Buffer, Program, View, base_buffer, is_instruction};
use piper_ir::{Attr, Context, Loc, Module, Name, Op, OpName, Sources, Type, TypeData, Value};
use piper_plan as plan;
use rustc_hash::FxHashMap;

pub use declarations::scalar_source;

/// What may be asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'s> {
    /// Where the text of source lines comes from; without it, lines are empty.
    pub sources: Option<&'s Sources>,
    /// Tokens (or samples) that one step consumes over the whole mesh; 0 = unknown.
    pub tokens_per_step: u64,
}

/// A plan with the operations that its parts come from.
#[derive(Debug)]
pub struct Emitted {
    /// The plan, sealed.
    pub plan: plan::Plan,
    /// The `device.program` of each program.
    pub programs: Vec<Op>,
    /// The operation of each instruction, by program.
    pub instructions: Vec<Vec<Op>>,
}

/// Why a `device.plan` is none.
#[derive(Clone, Debug)]
pub struct EmitError {
    /// The operation that is wrong.
    pub op: Op,
    /// What is wrong with it.
    pub message: String,
}

type Result<T, E = EmitError> = std::result::Result<T, E>;

/// Fails at an operation.
fn fault<T>(op: Op, message: impl Into<String>) -> Result<T> {
    Err(EmitError { op, message: message.into() })
}

/// The `device.plan`s of a module.
pub fn device_plans(module: &Module) -> Vec<Op> {
    module.top_level().into_iter().filter(|op| module.name_text(*op) == "device.plan").collect()
}

/// Makes the plan of a `device.plan`.
///
/// # Errors
/// The first name that does not exist, or attribute that means nothing. That the plan is safe is not checked here.
pub fn emit(module: &Module, device_plan: Op, options: Options<'_>) -> Result<Emitted> {
    let mut emitter = Emitter {
        module,
        ctx: module.ctx(),
        options,
        device_plan,
        plan: plan::Plan::default(),
        axes: FxHashMap::default(),
        comms: FxHashMap::default(),
        inputs: FxHashMap::default(),
        outputs: FxHashMap::default(),
        states: FxHashMap::default(),
        scalars: FxHashMap::default(),
        kernels: FxHashMap::default(),
        source_ids: FxHashMap::default(),
    };
    emitter.declarations()?;
    let block = module.only_block(device_plan).expect("a plan has a block");
    let programs: Vec<Op> =
        module.ops(block).filter(|op| Program::cast(module, *op).is_some()).collect();
    let mut instructions = Vec::new();
    let mut planned = Vec::new();
    for &program in &programs {
        let (ops, offsets) = emitter.program(program)?;
        instructions.push(ops);
        planned.push(offsets);
    }
    emitter.assign_devices(&programs)?;
    let mut plan = emitter.plan;
    plan.misc.tokens_per_step = options.tokens_per_step;
    // Every buffer has memory of its own at this point, and every index was looked up in its table.
    plan::seal(&mut plan);
    for (program, planned) in plan.programs.iter_mut().zip(planned) {
        let Some((arena, offsets)) = planned else { continue };
        program.arena_bytes = arena;
        for (buffer, offset) in program.buffers.iter_mut().zip(offsets) {
            buffer.offset = offset;
        }
    }
    Ok(Emitted { plan, programs, instructions })
}

struct Emitter<'m, 's> {
    module: &'m Module,
    ctx: &'m Context,
    options: Options<'s>,
    device_plan: Op,
    plan: plan::Plan,
    axes: FxHashMap<Name, plan::AxisId>,
    comms: FxHashMap<Name, plan::CommId>,
    inputs: FxHashMap<String, plan::InputId>,
    outputs: FxHashMap<String, plan::OutputId>,
    states: FxHashMap<String, usize>,
    scalars: FxHashMap<String, plan::ScalarId>,
    kernels: FxHashMap<Name, plan::KernelId>,
    /// By location and what the operation is called: by its own name, or what it is.
    source_ids: FxHashMap<(Loc, Result<Attr, OpName>), plan::SourceId>,
}

/// A program's arena and the planned offsets of its buffers.
type Layout = (u64, Vec<u64>);

impl Emitter<'_, '_> {
    fn text(&self, op: Op, attr: &str) -> String {
        self.module.attr_by(op, attr).and_then(|a| a.as_str(self.ctx)).unwrap_or("").to_owned()
    }

    fn int(&self, op: Op, attr: &str) -> u64 {
        let value = self.module.attr_by(op, attr).and_then(|a| a.as_int(self.ctx)).unwrap_or(0);
        u64::try_from(value).unwrap_or(0)
    }

    /// `{pp = 1}` as coordinates.
    fn coords(&self, op: Op, attr: Option<Attr>) -> Result<plan::Coords> {
        let entries = attr.and_then(|a| a.as_dict(self.ctx)).unwrap_or(&[]);
        entries
            .iter()
            .map(|(axis, at)| {
                let Some(&id) = self.axes.get(axis) else {
                    return fault(op, format!("the mesh has no axis \"{}\"", axis.text(self.ctx)));
                };
                Ok((
                    id,
                    at.as_int(self.ctx).and_then(|c| u32::try_from(c).ok()).unwrap_or(u32::MAX),
                ))
            })
            .collect()
    }

    /// Strides count elements, which may be more than 2^32.
    fn affine(&self, op: Op, base: &str, strides: &str) -> Result<plan::Affine> {
        let entries = self.module.attr_by(op, strides).and_then(|a| a.as_dict(self.ctx));
        let stride = |(axis, at): &(Name, Attr)| {
            let Some(&id) = self.axes.get(axis) else {
                return fault(op, format!("the mesh has no axis \"{}\"", axis.text(self.ctx)));
            };
            Ok((id, at.as_int(self.ctx).and_then(|s| u64::try_from(s).ok()).unwrap_or(u64::MAX)))
        };
        let strides = entries.unwrap_or(&[]).iter().map(stride).collect::<Result<_>>()?;
        Ok(plan::Affine { base: self.int(op, base), strides })
    }

    fn dtype(&self, op: Op, element: Type) -> Result<plan::DType> {
        use piper_ir::FloatKind;
        match element.data(self.ctx) {
            TypeData::Float(FloatKind::F32) => Ok(plan::DType::F32),
            TypeData::Float(FloatKind::F64) => Ok(plan::DType::F64),
            TypeData::Float(FloatKind::BF16) => Ok(plan::DType::Bf16),
            TypeData::Integer { width: 32, .. } => Ok(plan::DType::I32),
            _ => fault(op, format!("plans have no element type {}", element.display(self.ctx))),
        }
    }

    /// Elements and element type of a flat buffer.
    fn flat(&self, op: Op, ty: Type) -> Result<(u64, plan::DType)> {
        match ty.data(self.ctx) {
            TypeData::MemRef { shape, element, .. } if shape.len() == 1 && shape[0] >= 0 => {
                Ok((shape[0] as u64, self.dtype(op, *element)?))
            }
            _ => fault(op, format!("{} is no flat buffer", ty.display(self.ctx))),
        }
    }

    /// The source entry of an operation of this name.
    fn source(&mut self, op: Op, name: Option<Attr>) -> plan::SourceId {
        let loc = self.module.op_loc(op);
        let key = (loc, name.ok_or(self.module.name(op)));
        if let Some(&known) = self.source_ids.get(&key) {
            return known;
        }
        let name = match name {
            Some(name) => name.as_str(self.ctx).unwrap_or(""),
            None => self.module.name_text(op),
        };
        let id = match loc.file_position(self.ctx) {
            Some((file, line, col)) => {
                let text = self.options.sources.and_then(|s| s.get(file)?.line(line)).unwrap_or("");
                self.plan.sources.add(file, line, col, name, text)
            }
            None => self.plan.sources.add("", 0, 0, name, ""),
        };
        self.source_ids.insert(key, id);
        id
    }

    /// Adds a program; returns its instructions' operations and, if every buffer has an offset, the planned layout.
    fn program(&mut self, op: Op) -> Result<(Vec<Op>, Option<Layout>)> {
        let (module, ctx) = (self.module, self.ctx);
        let id = plan::ProgramId(self.plan.programs.len() as u32);
        let streams = Program(op).streams(module).as_array(ctx).unwrap_or(&[]);
        let mut program = plan::Program {
            name: module.symbol_name(op).unwrap_or("").to_owned(),
            coord: self.coords(op, Some(Program(op).slice(module)))?,
            streams: streams.iter().map(|s| s.as_str(ctx).unwrap_or("").to_owned()).collect(),
            ..plan::Program::default()
        };
        let mut buffers: FxHashMap<Value, plan::BufferId> = FxHashMap::default();
        let mut offsets = Vec::new();
        let mut all_planned = true;
        let mut ops = Vec::new();
        let block = module.only_block(op).expect("a program has a block");
        for inner in module.ops(block) {
            if let Some(buffer) = Buffer::cast(module, inner) {
                let value = buffer.buffer(module);
                let (elems, dtype) = self.flat(inner, module.ty(value))?;
                let offset = program.arena_bytes;
                let entry = plan::Buffer {
                    name: self.text(inner, "name"),
                    offset,
                    elems,
                    dtype,
                    persistent: buffer.persistent(module).is_some(),
                };
                program.arena_bytes = (offset + entry.bytes()).next_multiple_of(64);
                all_planned &= buffer.offset(module).is_some();
                offsets.push(self.int(inner, "offset"));
                buffers.insert(value, plan::BufferId(program.buffers.len() as u32));
                program.buffers.push(entry);
            } else if let Some(view) = View::cast(module, inner) {
                let value = view.view(module);
                let (elems, dtype) = self.flat(inner, module.ty(value))?;
                let (base, start) = base_buffer(module, value);
                let Some(base) = buffers.get(&base) else {
                    return fault(inner, "a view of something that is no buffer");
                };
                let from = start * dtype.size();
                let persistent = program.buffers[base.index()].persistent;
                let offset = program.buffers[base.index()].offset + from;
                offsets.push(offsets[base.index()] + from);
                buffers.insert(value, plan::BufferId(program.buffers.len() as u32));
                program.buffers.push(plan::Buffer {
                    name: self.text(inner, "name"),
                    offset,
                    elems,
                    dtype,
                    persistent,
                });
            } else if module.name_text(inner) == "device.home" {
                self.home(inner, id, &buffers)?;
            } else if is_instruction(module, inner) {
                let instr = self.instruction(inner, streams, &buffers, &mut program.events)?;
                program.instrs.push(instr);
                ops.push(inner);
            }
        }
        let arena = self.module.attr_by(op, "arena_bytes").map(|_| self.int(op, "arena_bytes"));
        self.plan.programs.push(program);
        Ok((ops, arena.filter(|_| all_planned).map(|arena| (arena, offsets))))
    }

    /// Gives every device the program of its slice.
    fn assign_devices(&mut self, programs: &[Op]) -> Result<()> {
        let mesh = self.plan.mesh();
        let mut assigned = Vec::with_capacity(mesh.devices());
        for device in 0..mesh.devices() {
            let coord = mesh.coord(device);
            let on =
                |p: &plan::Program| p.coord.iter().all(|&(axis, at)| coord[axis.index()] == at);
            let mut fitting = (0..programs.len()).filter(|&p| on(&self.plan.programs[p]));
            let Some(first) = fitting.next() else {
                return fault(
                    self.device_plan,
                    format!("device {} has no program", mesh.render(device)),
                );
            };
            if let Some(second) = fitting.next() {
                let message = format!("device {} has two programs", mesh.render(device));
                return fault(programs[second], message);
            }
            assigned.push(plan::ProgramId(first as u32));
        }
        self.plan.device_program = assigned;
        Ok(())
    }
}
