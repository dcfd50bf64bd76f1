//! Races found by the definition: the full relation of what happens before what, and every pair of accesses.

use piper_plan::{BufferId, Kind, Mode, Plan, Program, Transfer};

/// Two instructions of a program that touch the same bytes, one of them writing, with no order between them.
pub fn find(plan: &Plan, program: &Program) -> Option<(usize, usize)> {
    let n = program.instrs.len();
    let words = n.div_ceil(64);
    let mut before = vec![0u64; n * words];
    let mut last = vec![None; program.streams.len()];
    let mut recorded = vec![None; program.events as usize];
    for (at, instr) in program.instrs.iter().enumerate() {
        let mut after = Vec::new();
        after.extend(last[usize::from(instr.stream)].replace(at));
        match &instr.kind {
            Kind::Record { event } => recorded[event.index()] = Some(at),
            Kind::Wait { event } => after.extend(recorded[event.index()]),
            _ => {}
        }
        for earlier in after {
            for word in 0..words {
                before[at * words + word] |= before[earlier * words + word];
            }
            before[at * words + earlier / 64] |= 1 << (earlier % 64);
        }
    }
    let accesses: Vec<Vec<(u64, u64, bool)>> =
        program.instrs.iter().map(|i| accesses(plan, program, &i.kind)).collect();
    for late in 0..n {
        for early in 0..late {
            let clash = accesses[early]
                .iter()
                .any(|a| accesses[late].iter().any(|b| (a.2 || b.2) && a.0 < b.1 && b.0 < a.1));
            let ordered = before[late * words + early / 64] >> (early % 64) & 1 == 1;
            if clash && !ordered {
                return Some((early, late));
            }
        }
    }
    None
}

/// First byte, one past the last, and whether it is written.
fn accesses(plan: &Plan, program: &Program, kind: &Kind) -> Vec<(u64, u64, bool)> {
    let bytes = |buffer: BufferId, writes: bool| {
        let b = program.buffer(buffer);
        (b.offset, b.offset + b.bytes(), writes)
    };
    match kind {
        Kind::Launch { kernel, args, .. } => {
            let params = &plan.kernels[kernel.index()].params;
            args.iter().zip(params).map(|(&arg, p)| bytes(arg, p.mode != Mode::Read)).collect()
        }
        Kind::Send(p) => vec![bytes(p.buf, false)],
        Kind::Recv(p) => vec![bytes(p.buf, true)],
        Kind::Group(all) => {
            all.iter().map(|t| bytes(t.p2p().buf, matches!(t, Transfer::Recv(_)))).collect()
        }
        Kind::AllReduce { src, dst, .. }
        | Kind::ReduceScatter { src, dst, .. }
        | Kind::AllGather { src, dst, .. }
        | Kind::AllToAll { src, dst, .. }
        | Kind::Copy { src, dst } => vec![bytes(*src, false), bytes(*dst, true)],
        Kind::Fill { dst, .. } | Kind::LoadInput { dst, .. } => vec![bytes(*dst, true)],
        Kind::StoreOutput { src, .. } => vec![bytes(*src, false)],
        Kind::Record { .. } | Kind::Wait { .. } => Vec::new(),
    }
}
