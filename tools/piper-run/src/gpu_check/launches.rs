//! Plans that do nothing but launch one kernel, to time it.

use piper_codegen::ptx::{self, Chip};
use piper_codegen::{Compiler, Kernel, adapter};
use piper_plan::{
    Buffer, BufferId, Code, DType, Home, Init, Instr, KernelId, Kind, Mode, Partition, Piece, Plan,
    Program, ProgramId, Ptx, SourceId, State,
};

use crate::Failure;

/// A kernel that is launched several times in a step.
#[derive(Clone, Debug)]
pub(super) struct Launches {
    pub(super) kernel: Kernel,
    pub(super) repeats: usize,
    /// Each launch reads what the one before it wrote.
    pub(super) is_chain: bool,
    /// The part of the device that they run on.
    pub(super) partition: Option<Partition>,
}

/// What buffers begin at multiples of.
const ALIGN: u64 = 256;

impl Launches {
    /// The plan. What is only read holds normal values.
    pub(super) fn plan(&self, chip: Chip, compiler: &Compiler) -> Result<Plan, Failure> {
        let named = [("kernel".to_owned(), self.kernel.clone())];
        let (text, launched) = ptx::compile(&named, chip, compiler.clone())
            .map_err(|error| Failure::new(format!("code generation failed: {error}")))?;
        let declared = adapter::ptx_declaration(&launched[0]);
        let mut program = Program {
            name: "bench".to_owned(),
            workspace_bytes: declared.workspace_bytes,
            streams: vec!["compute".to_owned()],
            ..Program::default()
        };
        let mut states = Vec::new();
        let mut add = |name: String, elems: u64, dtype: DType| {
            let id = BufferId(program.buffers.len() as u32);
            let offset = program.arena_bytes;
            let buffer = Buffer { name, offset, elems, dtype, persistent: true };
            program.arena_bytes += buffer.bytes().next_multiple_of(ALIGN);
            program.buffers.push(buffer);
            id
        };
        let mut shared = Vec::new();
        for (at, param) in declared.params.iter().enumerate() {
            if param.mode == Mode::Write {
                shared.push(None);
                continue;
            }
            let id = add(format!("in{at}"), param.elems, param.dtype);
            shared.push(Some(id));
            if param.dtype != DType::I32 {
                states.push(State {
                    name: format!("in{at}"),
                    shape: vec![param.elems],
                    dtype: param.dtype,
                    init: Init::Normal { mean: 0.0, std: 1.0 },
                    homes: vec![Home {
                        program: ProgramId(0),
                        buffer: id,
                        shard: None,
                        pieces: vec![Piece::whole(param.elems, 0)],
                    }],
                });
            }
        }
        let mut launches = Vec::new();
        let mut written: Option<BufferId> = None;
        for launch in 0..self.repeats {
            let first_read = declared.params.iter().position(|p| p.mode == Mode::Read);
            let mut args: Vec<BufferId> = Vec::new();
            for (at, param) in declared.params.iter().enumerate() {
                let id = match shared[at] {
                    Some(id) => match written.filter(|_| self.is_chain && first_read == Some(at)) {
                        Some(before) => before,
                        None => id,
                    },
                    None => add(format!("out{at}.{launch}"), param.elems, param.dtype),
                };
                args.push(id);
            }
            let outputs = declared.params.iter().zip(&args);
            written = outputs.filter(|(p, _)| p.mode == Mode::Write).map(|(_, id)| *id).next();
            launches.push(Kind::Launch { kernel: KernelId(0), args, scalars: vec![] });
        }
        program.instrs =
            launches.into_iter().map(|kind| Instr::new(0, SourceId(0), kind)).collect();
        let kernels = launched.iter().map(|l| adapter::launches(l, &self.kernel)).collect();
        Ok(Plan {
            name: "bench".to_owned(),
            programs: vec![program],
            device_program: vec![ProgramId(0)],
            partitions: self.partition.clone().into_iter().collect(),
            kernels: vec![declared],
            states: piper_plan::States { tensors: states },
            code: Code::Ptx(Ptx { chip: chip.architecture().to_owned(), text, kernels }),
            ..Plan::default()
        })
    }
}
