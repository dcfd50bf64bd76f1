//! Buffers of launches that do not begin where PTX can read 16 bytes at a time.
//!
//! Parts of a flat bucket lie side by side, so one behind a parameter of an odd size begins anywhere. Where a kernel takes such a part,
//! a buffer of its own stands for it: filled before the launch if it is read, copied back behind it if it is written, on the
//! launch's own stream. Each stream has its own, so nothing else has to be ordered.

use piper_plan::{Buffer, BufferId, Instr, Kind, Mode, PTX_ALIGN, Plan};
use rustc_hash::FxHashMap;

/// What new buffers begin at multiples of, in bytes.
const ALIGN: u64 = 64;

/// Has all launches take buffers that begin at multiples of [`PTX_ALIGN`], and says whether any did not.
pub(super) fn align(plan: &mut Plan) -> bool {
    let mut is_changed = false;
    for program in &mut plan.programs {
        let is_off = |b: &BufferId| {
            let buffer = program.buffers.get(b.index());
            buffer.is_some_and(|buffer| !buffer.offset.is_multiple_of(PTX_ALIGN))
        };
        let is_launch_off = |instr: &Instr| matches!(&instr.kind, Kind::Launch { args, .. } if args.iter().any(is_off));
        if !program.instrs.iter().any(is_launch_off) {
            continue;
        }
        is_changed = true;
        let mut own: FxHashMap<(BufferId, u16), BufferId> = FxHashMap::default();
        let mut instrs = Vec::with_capacity(program.instrs.len());
        for mut instr in std::mem::take(&mut program.instrs) {
            let (stream, source) = (instr.stream, instr.source);
            let Kind::Launch { kernel, args, .. } = &mut instr.kind else {
                instrs.push(instr);
                continue;
            };
            let params = &plan.kernels[kernel.index()].params;
            let (mut before, mut after) = (Vec::new(), Vec::new());
            for (arg, param) in args.iter_mut().zip(params) {
                let (part, buffer) = (*arg, program.buffers[arg.index()].clone());
                if buffer.offset.is_multiple_of(PTX_ALIGN) {
                    continue;
                }
                let whole = *own.entry((part, stream)).or_insert_with(|| {
                    let offset = program.arena_bytes.next_multiple_of(ALIGN);
                    let name = format!("{}.aligned", buffer.name);
                    let made = Buffer { name, offset, persistent: false, ..buffer };
                    program.arena_bytes = offset + made.bytes();
                    program.buffers.push(made);
                    BufferId(program.buffers.len() as u32 - 1)
                });
                if param.mode != Mode::Write {
                    before.push(Kind::Copy { src: part, dst: whole });
                }
                if param.mode != Mode::Read {
                    after.push(Kind::Copy { src: whole, dst: part });
                }
                *arg = whole;
            }
            let copy = |kind: Kind| Instr::new(stream, source, kind);
            before.dedup();
            after.dedup();
            instrs.extend(before.into_iter().map(copy));
            instrs.push(instr);
            instrs.extend(after.into_iter().map(copy));
        }
        program.instrs = instrs;
    }
    is_changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use piper_plan::{DType, KernelDecl, KernelId, Param, Program, ProgramId, SourceId};

    /// A chain of kernels over parts of one bucket of `sizes`, each of which reads the part before and writes its own.
    fn chain(sizes: &[u64], dtype: DType) -> Plan {
        let mut program = Program { streams: vec!["main".into()], ..Program::default() };
        let mut plan = Plan { device_program: vec![ProgramId(0)], ..Plan::default() };
        let mut offset = 0;
        for (at, elems) in sizes.iter().enumerate() {
            let name = format!("part{at}");
            let persistent = at == 0 || at + 1 == sizes.len();
            program.buffers.push(Buffer { name, offset, elems: *elems, dtype, persistent });
            offset += elems * dtype.size();
        }
        program.arena_bytes = offset;
        for (at, sizes) in sizes.windows(2).enumerate() {
            let param = |mode, elems| Param { mode, dtype, elems };
            plan.kernels.push(KernelDecl {
                symbol: format!("k{at}"),
                params: vec![param(Mode::Read, sizes[0]), param(Mode::Write, sizes[1])],
                scalars: 0,
                workspace_bytes: 0,
                cost: None,
            });
            let args = vec![BufferId(at as u32), BufferId(at as u32 + 1)];
            let kind = Kind::Launch { kernel: KernelId(at as u32), args, scalars: vec![] };
            program.instrs.push(Instr::new(0, SourceId(0), kind));
        }
        plan.programs = vec![program];
        plan
    }

    fn faults(plan: &Plan) -> String {
        let faults = piper_plan::verify(plan);
        faults.iter().map(|f| f.render(plan)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn parts_of_odd_sizes_get_buffers_of_their_own() {
        for sizes in [&[5, 3, 7, 4][..], &[1, 1, 1, 1, 1], &[2, 6, 3], &[9, 1]] {
            for dtype in [DType::F32, DType::Bf16, DType::F64] {
                let mut plan = chain(sizes, dtype);
                assert_eq!(faults(&plan), "");
                let before = plan.programs[0].instrs.len();
                // Pairs of f64 are 16 bytes, so some of these sizes are odd for the others only.
                let offsets = plan.programs[0].buffers.iter().map(|buffer| buffer.offset);
                let is_odd = { offsets }.any(|offset| !offset.is_multiple_of(PTX_ALIGN));
                assert!(is_odd || dtype == DType::F64);
                assert_eq!(align(&mut plan), is_odd);
                assert_eq!(faults(&plan), "");
                assert_eq!(plan.programs[0].instrs.len() > before, is_odd);
                for instr in &plan.programs[0].instrs {
                    let Kind::Launch { args, .. } = &instr.kind else { continue };
                    let offsets = args.iter().map(|arg| plan.programs[0].buffer(*arg).offset);
                    assert!({ offsets }.all(|offset| offset.is_multiple_of(PTX_ALIGN)));
                }
            }
        }
    }

    #[test]
    fn plans_whose_launches_are_aligned_stay_as_they_are() {
        let plan = chain(&[4, 8, 12], DType::F32);
        let mut aligned = plan.clone();
        assert!(!align(&mut aligned));
        assert_eq!(aligned, plan);
    }
}
