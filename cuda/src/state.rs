//! Reads and writes what devices hold between steps.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::PoisonError;
use std::sync::mpsc::channel;
use std::time::Duration;

use piper_plan::{BufferId, OutputId, Program, ProgramId, State};
use piper_runtime::manifest::{self, Stored};
use piper_runtime::trace::{self, Span};
use piper_runtime::{MemoryUse, ReadBackError, TensorValue};

use crate::contributions::{pack, unpack};
use crate::device::workspace_bytes;
use crate::error::CudaError;
use crate::session::{Local, Session};
use crate::worker::Command;

/// The buffers in which a program holds any of a state tensor, each once.
fn buffers_of(state: &State, program: ProgramId) -> Vec<BufferId> {
    let homes = state.homes.iter().filter(|home| home.program == program);
    let mut buffers: Vec<BufferId> = homes.map(|home| home.buffer).collect();
    buffers.sort_unstable();
    buffers.dedup();
    buffers
}

impl Session {
    /// Names of the state tensors.
    pub fn states(&self) -> impl Iterator<Item = &str> {
        self.shared.plan.states.tensors.iter().map(|s| s.name.as_str())
    }

    /// Does something with a local device, on its thread.
    fn on<T: Send + 'static>(
        &self,
        at: usize,
        call: impl FnOnce(&crate::device::Device) -> T + Send + 'static,
    ) -> Result<T, ReadBackError> {
        let (answer, answers) = channel();
        let call = Box::new(move |device: &crate::device::Device| {
            // A caller that is gone wants no answer.
            let _ = answer.send(call(device));
        });
        let gone = || ReadBackError::Device("the thread of a device has ended".to_owned());
        self.locals[at].commands.send(Command::Call(call)).map_err(|_| gone())?;
        answers.recv().map_err(|_| gone())
    }

    /// The contents of a buffer of a local device.
    fn read(&self, at: usize, buffer: BufferId) -> Result<Vec<u8>, ReadBackError> {
        let plan = &self.shared.plan;
        let program = &plan.programs[plan.device_program[self.locals[at].number].index()];
        let (offset, bytes) = (program.buffer(buffer).offset, program.buffer(buffer).bytes());
        self.on(at, move |device| device.arena.read(offset, bytes as usize))?
            .map_err(|error| ReadBackError::Device(error.to_string()))
    }

    /// A state tensor as it is between steps, gathered from its shards; replicas have to agree bitwise. All processes of a run
    /// call this together.
    ///
    /// # Errors
    /// Any of [`ReadBackError`].
    pub fn state(&self, name: &str) -> Result<TensorValue, ReadBackError> {
        let plan = &self.shared.plan;
        let state = manifest::find(plan, name)?;
        let mut mine = Vec::new();
        for (at, local) in self.locals.iter().enumerate() {
            let program = plan.device_program[local.number];
            for buffer in buffers_of(state, program) {
                let bytes = Cow::Owned(self.read(at, buffer)?);
                let (output, device) = (OutputId(0), local.number);
                mine.push(Stored { output, device, buffer, part: 0, bytes });
            }
        }
        if self.shared.options.world.size > 1 {
            let failed = |message: String| ReadBackError::Device(message);
            let all = self.link().all_gather(pack(&mine)).map_err(|e| failed(e.to_string()))?;
            let unpacked: Option<Vec<_>> = all.iter().map(|bytes| unpack(bytes)).collect();
            let unpacked = unpacked.ok_or_else(|| failed("a message makes no sense".to_owned()))?;
            mine = unpacked.into_iter().flatten().collect();
        }
        let mut all: HashMap<(usize, BufferId), Cow<'_, [u8]>> =
            mine.into_iter().map(|s| ((s.device, s.buffer), s.bytes)).collect();
        manifest::gather(plan, name, &mut |device, buffer| {
            let missing = || ReadBackError::Device("a process did not say all".to_owned());
            all.remove(&(device, buffer)).ok_or_else(missing)
        })
    }

    /// Replaces a state tensor on all devices of this process that hold any of it.
    ///
    /// # Errors
    /// A value that does not fit; memory that cannot be written.
    pub fn set_state(&mut self, name: &str, value: &TensorValue) -> Result<(), ReadBackError> {
        let plan = &self.shared.plan;
        let state = manifest::find(plan, name)?;
        manifest::check_value(state, value)?;
        let size = state.dtype.size() as usize;
        for (at, local) in self.locals.iter().enumerate() {
            let program = plan.device_program[local.number];
            for buffer in buffers_of(state, program) {
                let mut contents = self.read(at, buffer)?;
                manifest::spread(plan, state, local.number, buffer, &mut contents, |index, to| {
                    to.copy_from_slice(&value.bytes[index as usize * size..][..size]);
                });
                let offset = plan.programs[program.index()].buffer(buffer).offset;
                self.on(at, move |device| device.arena.write(offset, &contents))?
                    .map_err(|error| ReadBackError::Device(error.to_string()))?;
            }
        }
        Ok(())
    }

    /// The steps so far in the Trace Event Format, of all devices. Empty unless [`Options::trace`](crate::Options::trace) is set. All
    /// processes of a run call this together.
    ///
    /// # Errors
    /// A process that is gone.
    pub fn trace_json(&self) -> Result<String, CudaError> {
        let mut mine = Vec::new();
        for (local, spans) in self.locals.iter().zip(&self.shared.spans) {
            let spans = spans.lock().unwrap_or_else(PoisonError::into_inner);
            for span in spans.iter() {
                let times = [span.from, span.lasted].map(|time| time.as_nanos() as u64);
                let numbers =
                    [local.number as u64, span.step, u64::from(span.instr), times[0], times[1]];
                mine.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
            }
        }
        let all = match self.shared.options.world.size {
            1 => vec![mine],
            _ => self.link().all_gather(mine)?,
        };
        let plan = &self.shared.plan;
        let mut spans: Vec<Vec<Span>> = vec![Vec::new(); plan.devices()];
        for bytes in all.iter().flat_map(|bytes| bytes.chunks_exact(40)) {
            let mut numbers =
                bytes.chunks_exact(8).map(|n| u64::from_le_bytes(n.try_into().unwrap_or([0; 8])));
            let mut next = || numbers.next().unwrap_or(0);
            let (device, step, instr) = (next() as usize, next(), next() as u32);
            let [from, lasted] = [next(), next()].map(Duration::from_nanos);
            let is_there = |program: &Program| (instr as usize) < program.instrs.len();
            if plan.device_program.get(device).is_some_and(|p| is_there(&plan.programs[p.index()]))
            {
                spans[device].push(Span { instr, step, from, lasted });
            }
        }
        Ok(trace::json(plan, &spans))
    }

    /// Memory of each device of this process, with its number in the mesh: what was planned, and how far up anything was
    /// really written (arenas begin poisoned).
    ///
    /// # Errors
    /// Memory that cannot be read.
    pub fn memory(&self) -> Result<Vec<(usize, MemoryUse)>, ReadBackError> {
        let plan = &self.shared.plan;
        let of = |(at, local): (usize, &Local)| {
            let program = &plan.programs[plan.device_program[local.number].index()];
            let used = self
                .on(at, |device| device.arena.used())?
                .map_err(|error| ReadBackError::Device(error.to_string()))?;
            let own: u64 = workspace_bytes(plan, program).iter().sum();
            let workspace = own + local.joined.products_bytes;
            let planned = program.arena_bytes;
            Ok((local.number, MemoryUse { planned, used: used.min(planned), workspace }))
        };
        self.locals.iter().enumerate().map(of).collect()
    }
}
