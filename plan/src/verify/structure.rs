//! Structural validity: whatever later checks, and the runtime's pre-resolved pointers, take for granted.

use super::classes::Class;
use super::{Fault, FaultKind, MAX_FAULTS};
use crate::mesh::{Affine, CommId, Coords, Mesh, Peer};
use crate::schema::*;

/// A message under a rule; the caller adds the place.
type Complaint = (FaultKind, String);

/// The plan's programs. Its [`tables`] must be valid.
pub(super) fn programs(plan: &Plan, classes: &[Class]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (at, (program, class)) in plan.programs.iter().zip(classes).enumerate() {
        let scope = Scope::new(plan, program, ProgramId(at as u32), class);
        faults.extend(scope.buffers());
        if !faults.is_empty() {
            break; // instructions index buffers
        }
        for (i, instr) in program.instrs.iter().enumerate() {
            if let Err((kind, message)) = scope.instr(instr) {
                faults.push(Fault::new(kind, message).at(plan, scope.id, i, "here"));
            }
            if faults.len() >= MAX_FAULTS {
                return faults;
            }
        }
    }
    faults
}

/// Tables of the plan itself.
pub(super) fn tables(plan: &Plan) -> Vec<Fault> {
    const MAX_DEVICES: usize = 1 << 22;
    let mut faults = Vec::new();
    let mut fault = |kind, message: String| faults.push(Fault::new(kind, message));
    if let Some(axis) = plan.mesh.iter().find(|a| a.size == 0) {
        fault(FaultKind::Structure, format!("mesh axis {} has size 0", axis.name));
        return faults;
    }
    let mesh = plan.mesh();
    if mesh.devices() > MAX_DEVICES {
        fault(
            FaultKind::Structure,
            format!("the mesh has {} devices; at most {MAX_DEVICES} are supported", mesh.devices()),
        );
        return faults;
    }
    if plan.device_program.len() != mesh.devices() {
        let (have, want) = (plan.device_program.len(), mesh.devices());
        fault(
            FaultKind::Structure,
            format!("{have} devices have a program, but the mesh has {want}"),
        );
        return faults;
    }
    let is_on_mesh: Vec<bool> = plan.programs.iter().map(|p| mesh.contains(&p.coord)).collect();
    mesh.for_each_coord(|device, coord| {
        let program = plan.device_program[device];
        let Some(found) = plan.programs.get(program.index()) else {
            let (here, of) = (mesh.render(device), plan.programs.len());
            fault(
                FaultKind::Structure,
                format!("device {here} has program {}, of {of}", program.0),
            );
            return;
        };
        if is_on_mesh[program.index()]
            && found.coord.iter().any(|&(axis, c)| coord[axis.index()] != c)
        {
            let (here, slice) = (mesh.render(device), mesh.render_set(&found.coord));
            let message = format!("device {here} runs @{}, which is for {slice}", found.name);
            fault(FaultKind::Structure, message);
        }
    });
    for program in plan.programs.iter().filter(|p| !mesh.contains(&p.coord)) {
        fault(FaultKind::Structure, format!("@{} is for a slice outside the mesh", program.name));
    }
    for comm in &plan.comms {
        if let Err(why) = comm_is_uniform(&mesh, &comm.members) {
            fault(FaultKind::Comm, format!("communicator {}: {why}", comm.name));
        }
    }
    for input in &plan.inputs {
        let total = input.shape.iter().try_fold(input.dtype.size(), |n, &d| n.checked_mul(d));
        if input.shape.is_empty() || total.is_none() {
            fault(
                FaultKind::Shape,
                format!("input {} needs at least one dimension and a size below 2^64", input.name),
            );
        }
    }
    faults.truncate(MAX_FAULTS);
    faults
}

/// All members must replace the same axes, so that a group depends only on the other axes and is the same for all members.
fn comm_is_uniform(mesh: &Mesh, members: &[Coords]) -> Result<(), String> {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut first_axes: Option<Vec<u32>> = None;
    for set in members {
        if !mesh.contains(set) {
            return Err(format!("member {} lies outside the mesh", mesh.render_set(set)));
        }
        let mut sorted: Vec<(u32, u32)> = set.iter().map(|&(axis, c)| (axis.0, c)).collect();
        sorted.sort_unstable();
        let axes: Vec<u32> = sorted.iter().map(|s| s.0).collect();
        if axes.windows(2).any(|w| w[0] == w[1]) {
            return Err(format!("member {} sets an axis twice", mesh.render_set(set)));
        }
        if *first_axes.get_or_insert_with(|| axes.clone()) != axes {
            return Err(format!(
                "member {} does not set the same axes as the first",
                mesh.render_set(set)
            ));
        }
        if !seen.insert(sorted) {
            return Err(format!("member {} occurs twice", mesh.render_set(set)));
        }
    }
    Ok(())
}

/// A program with what its instructions may refer to.
struct Scope<'a> {
    plan: &'a Plan,
    program: &'a Program,
    id: ProgramId,
    /// The devices that run it.
    class: &'a Class,
    /// Per communicator, a device of the class that is not in it. Looked for once, not per instruction.
    outsiders: Vec<Option<Vec<u32>>>,
}

impl<'a> Scope<'a> {
    fn new(plan: &'a Plan, program: &'a Program, id: ProgramId, class: &'a Class) -> Self {
        let outsiders = plan.comms.iter().map(|comm| class.outsider(comm)).collect();
        Scope { plan, program, id, class, outsiders }
    }

    fn buffers(&self) -> Vec<Fault> {
        let (mut faults, program) = (Vec::new(), self.program);
        for buffer in &program.buffers {
            let end = buffer
                .elems
                .checked_mul(buffer.dtype.size())
                .and_then(|n| n.checked_add(buffer.offset));
            let wrong = if end.is_none_or(|end| end > program.arena_bytes) {
                format!("ends beyond the arena of {} bytes", program.arena_bytes)
            } else if buffer.offset % buffer.dtype.size() != 0 {
                "is not aligned to its element".to_owned()
            } else if buffer.elems == 0 {
                "is empty".to_owned()
            } else {
                continue;
            };
            let Buffer { name, offset, elems, dtype, .. } = buffer;
            let what = format!(
                "@{}: buffer {name} at byte {offset}, {elems} x {}",
                program.name,
                dtype.name()
            );
            faults.push(Fault::new(FaultKind::Range, format!("{what}, {wrong}")));
        }
        faults.truncate(MAX_FAULTS);
        faults
    }

    fn instr(&self, instr: &Instr) -> Result<(), Complaint> {
        if usize::from(instr.stream) >= self.program.streams.len() {
            return Err(structure(format!(
                "stream {} of {}",
                instr.stream,
                self.program.streams.len()
            )));
        }
        match &instr.kind {
            Kind::Launch { kernel, args, scalars } => self.launch(*kernel, args, scalars),
            Kind::Send(p) | Kind::Recv(p) => self.p2p(p),
            Kind::Group(transfers) if transfers.is_empty() => {
                Err(structure("an empty group".to_owned()))
            }
            Kind::Group(transfers) => transfers.iter().try_for_each(|t| self.p2p(t.p2p())),
            Kind::AllReduce { src, dst, comm } => {
                self.collective("all_reduce", *src, *dst, *comm, |n, src, dst| (src, dst, n >= 1))
            }
            Kind::ReduceScatter { src, dst, comm } => {
                self.collective("reduce_scatter", *src, *dst, *comm, |n, src, dst| {
                    (src, dst.saturating_mul(n), true)
                })
            }
            Kind::AllGather { src, dst, comm } => {
                self.collective("all_gather", *src, *dst, *comm, |n, src, dst| {
                    (src.saturating_mul(n), dst, true)
                })
            }
            Kind::AllToAll { src, dst, comm, src_runs, dst_runs } => {
                self.collective("all_to_all", *src, *dst, *comm, |n, src, dst| {
                    let whole = |runs: u64| {
                        let parts = runs.saturating_mul(n);
                        parts > 0 && src.is_multiple_of(parts)
                    };
                    (src, dst, whole(*src_runs) && whole(*dst_runs))
                })
            }
            Kind::Copy { src, dst } => {
                let (s, d) = (self.buffer(*src)?, self.buffer(*dst)?);
                if s.bytes() != d.bytes() {
                    return Err(shape(format!(
                        "copy of {} bytes ({}) into {} bytes ({})",
                        s.bytes(),
                        s.name,
                        d.bytes(),
                        d.name
                    )));
                }
                Ok(())
            }
            Kind::Fill { dst, .. } => self.buffer(*dst).map(drop),
            Kind::LoadInput { input, rows, dst } => {
                let dst = self.buffer(*dst)?;
                let Some(input) = self.plan.inputs.get(input.index()) else {
                    return Err(structure(format!(
                        "input {} of {}",
                        input.0,
                        self.plan.inputs.len()
                    )));
                };
                if dst.dtype != input.dtype
                    || Some(dst.elems) != rows.rows.checked_mul(input.row_elems())
                {
                    let want = format!(
                        "{} rows of {} x {}",
                        rows.rows,
                        input.row_elems(),
                        input.dtype.name()
                    );
                    return Err(shape(format!(
                        "{want} of input {} into {} x {} ({})",
                        input.name,
                        dst.elems,
                        dst.dtype.name(),
                        dst.name
                    )));
                }
                let last = self.affine_max(&rows.first)?.saturating_add(rows.rows);
                if last > input.shape[0] {
                    return Err((
                        FaultKind::Range,
                        format!(
                            "rows up to {last} of input {}, which has {}",
                            input.name, input.shape[0]
                        ),
                    ));
                }
                Ok(())
            }
            Kind::StoreOutput { output, src, part } => self.store(*output, *src, part),
            Kind::Record { event } | Kind::Wait { event } => {
                if event.0 >= self.program.events {
                    return Err(structure(format!("event {} of {}", event.0, self.program.events)));
                }
                Ok(())
            }
        }
    }

    fn launch(
        &self,
        kernel: KernelId,
        args: &[BufferId],
        scalars: &[crate::ScalarId],
    ) -> Result<(), Complaint> {
        let Some(decl) = self.plan.kernels.get(kernel.index()) else {
            return Err(structure(format!("kernel {} of {}", kernel.0, self.plan.kernels.len())));
        };
        if args.len() != decl.params.len() || scalars.len() != decl.scalars as usize {
            let have = format!("{} buffers and {} scalars", args.len(), scalars.len());
            return Err(structure(format!(
                "{have} passed to kernel {}, which takes {} and {}",
                decl.symbol,
                decl.params.len(),
                decl.scalars
            )));
        }
        if let Some(bad) = scalars.iter().find(|s| s.index() >= self.plan.scalars.len()) {
            return Err(structure(format!("scalar {} of {}", bad.0, self.plan.scalars.len())));
        }
        if decl.workspace_bytes > self.program.workspace_bytes {
            let (need, have) = (decl.workspace_bytes, self.program.workspace_bytes);
            return Err((
                FaultKind::Range,
                format!(
                    "kernel {} needs {need} bytes of workspace, the program has {have}",
                    decl.symbol
                ),
            ));
        }
        for (at, (&arg, param)) in args.iter().zip(&decl.params).enumerate() {
            let buffer = self.buffer(arg)?;
            if buffer.elems != param.elems || buffer.dtype != param.dtype {
                let have = format!("{} x {} ({})", buffer.elems, buffer.dtype.name(), buffer.name);
                let want = format!("{} x {}", param.elems, param.dtype.name());
                return Err(shape(format!(
                    "argument {at} of kernel {} is {have}, expected {want}",
                    decl.symbol
                )));
            }
        }
        Ok(())
    }

    fn p2p(&self, p: &P2p) -> Result<(), Complaint> {
        self.buffer(p.buf)?;
        self.comm(p.comm)?;
        let Peer { set } = &p.peer;
        if !self.plan.mesh().contains(set) {
            return Err((
                FaultKind::Comm,
                format!("peer {} lies outside the mesh", self.plan.mesh().render_set(set)),
            ));
        }
        if set.iter().enumerate().any(|(at, a)| set[..at].iter().any(|b| a.0 == b.0)) {
            let peer = self.plan.mesh().render_set(set);
            return Err((FaultKind::Comm, format!("peer {peer} sets an axis twice")));
        }
        if let Some(own) = self.class.device_on(set) {
            let own = self.plan.mesh().render(self.plan.mesh().device(&own));
            return Err((FaultKind::Comm, format!("device {own} would be its own peer")));
        }
        Ok(())
    }

    /// `sizes` maps (group size, src elements, dst elements) to two numbers that must agree and a further condition.
    fn collective(
        &self,
        name: &str,
        src: BufferId,
        dst: BufferId,
        comm: CommId,
        sizes: impl Fn(u64, u64, u64) -> (u64, u64, bool),
    ) -> Result<(), Complaint> {
        let (src, dst) = (self.buffer(src)?, self.buffer(dst)?);
        let comm_name = &self.comm(comm)?.name;
        let n = self.plan.comms[comm.index()].members.len() as u64;
        if n == 0 {
            return Err((
                FaultKind::Comm,
                format!("{name} over {comm_name}, which is for point-to-point only"),
            ));
        }
        if let Some(outsider) = &self.outsiders[comm.index()] {
            let outsider = self.plan.mesh().render(self.plan.mesh().device(outsider));
            let message =
                format!("{name} over {comm_name}, to which device {outsider} does not belong");
            return Err((FaultKind::Comm, message));
        }
        let (a, b, also) = sizes(n, src.elems, dst.elems);
        let summed = !matches!(name, "all_gather" | "all_to_all");
        if a != b || !also || src.dtype != dst.dtype {
            let have = format!(
                "{} x {} to {} x {}",
                src.elems,
                src.dtype.name(),
                dst.elems,
                dst.dtype.name()
            );
            return Err(shape(format!("{name} of {have} over {comm_name}, which has {n} members")));
        }
        if summed && src.dtype == DType::I32 {
            return Err(shape(format!(
                "{name} of {}: only floating-point numbers can be summed",
                src.dtype.name()
            )));
        }
        Ok(())
    }

    fn store(&self, output: OutputId, src: BufferId, part: &Affine) -> Result<(), Complaint> {
        let buffer = self.buffer(src)?;
        let Some(found) = self.plan.outputs.get(output.index()) else {
            return Err(structure(format!("output {} of {}", output.0, self.plan.outputs.len())));
        };
        self.affine_max(part)?;
        match &found.kind {
            OutputKind::Scalar
                if buffer.elems != 1 || !matches!(buffer.dtype, DType::F32 | DType::F64) =>
            {
                Err(shape(format!(
                    "{} x {} stored to the number {}",
                    buffer.elems,
                    buffer.dtype.name(),
                    found.name
                )))
            }
            OutputKind::Scalar => Ok(()),
            OutputKind::Tensor { homes, .. }
                if !homes.iter().any(|h| h.program == self.id && h.buffer == src) =>
            {
                Err((
                    FaultKind::State,
                    format!("buffer {} is not a home of output {}", buffer.name, found.name),
                ))
            }
            OutputKind::Tensor { .. } => Ok(()),
        }
    }

    /// Largest value over the devices of the program.
    fn affine_max(&self, affine: &Affine) -> Result<u64, Complaint> {
        if let Some((axis, _)) =
            affine.strides.iter().find(|(axis, _)| axis.index() >= self.plan.mesh.len())
        {
            return Err(structure(format!("axis {} of {}", axis.0, self.plan.mesh.len())));
        }
        Ok(self.class.max(affine))
    }

    fn buffer(&self, id: BufferId) -> Result<&'a Buffer, Complaint> {
        let buffers = &self.program.buffers;
        buffers
            .get(id.index())
            .ok_or_else(|| structure(format!("buffer {} of {}", id.0, buffers.len())))
    }

    fn comm(&self, id: CommId) -> Result<&'a crate::Comm, Complaint> {
        let comms = &self.plan.comms;
        comms
            .get(id.index())
            .ok_or_else(|| structure(format!("communicator {} of {}", id.0, comms.len())))
    }
}

fn structure(message: String) -> Complaint {
    (FaultKind::Structure, message)
}

fn shape(message: String) -> Complaint {
    (FaultKind::Shape, message)
}
