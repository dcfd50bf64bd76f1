//! Kernels on streams of a part of a device that they keep to themselves: `method = "grid"`.
//!
//! A launch there has at most as many blocks as the partition. Where a kernel has more, the launch gets a form of it on a persistent
//! grid, which computes the same to the bit; launches elsewhere keep the kernel as it is.

use std::num::NonZeroU32;

use piper_plan::{KernelId, Kind, Method, Plan};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::Kernel;
use crate::ptx::{Chip, PtxKernel};

/// Most blocks of launches on each stream of a program.
fn limits(plan: &Plan, program: usize) -> Vec<Option<NonZeroU32>> {
    let limit = |name: &String| {
        let partition = &plan.partitions[plan.partition_of(name)?];
        NonZeroU32::new(partition.size).filter(|_| partition.method == Method::Grid)
    };
    plan.programs[program].streams.iter().map(limit).collect()
}

/// Gives launches in partitions of grids kernels of their own, and says whether any needed it. `kernels` are those of the plan, in
/// its order, and stay so.
pub(super) fn bound(plan: &mut Plan, kernels: &mut Vec<Kernel>, chip: Chip) -> bool {
    let limits: Vec<Vec<Option<NonZeroU32>>> =
        (0..plan.programs.len()).map(|program| limits(plan, program)).collect();
    if limits.iter().flatten().all(Option::is_none) {
        return false;
    }
    let exceeds = |symbol: &str, kernel: &Kernel, most: NonZeroU32| {
        let launched = PtxKernel::of(symbol, kernel, chip);
        let blocks = |grid: [u32; 3]| grid.iter().map(|n| u64::from(*n)).product::<u64>();
        launched.is_ok_and(|l| l.stages.iter().any(|s| blocks(s.grid) > u64::from(most.get())))
    };
    // What is launched as it is keeps its place in the table.
    let mut wanted: Vec<(usize, usize, KernelId, NonZeroU32)> = Vec::new();
    let mut whole: FxHashSet<KernelId> = FxHashSet::default();
    for (at, program) in plan.programs.iter().enumerate() {
        for (i, instr) in program.instrs.iter().enumerate() {
            let Kind::Launch { kernel, .. } = &instr.kind else { continue };
            let (symbol, body) = (&plan.kernels[kernel.index()].symbol, &kernels[kernel.index()]);
            match limits[at][usize::from(instr.stream)] {
                Some(most) if exceeds(symbol, body, most) => wanted.push((at, i, *kernel, most)),
                _ => {
                    whole.insert(*kernel);
                }
            }
        }
    }
    let mut made: FxHashMap<(KernelId, NonZeroU32), KernelId> = FxHashMap::default();
    let symbols: Vec<String> = plan.kernels.iter().map(|k| k.symbol.clone()).collect();
    for (at, i, kernel, most) in wanted {
        let bounded = *made.entry((kernel, most)).or_insert_with(|| {
            // Both forms may be in one module.
            let symbol = format!("{}$most_{most}", symbols[kernel.index()]);
            if whole.insert(kernel) {
                plan.kernels[kernel.index()].symbol = symbol;
                kernels[kernel.index()].most_blocks = Some(most);
                return kernel;
            }
            let declared = plan.kernels[kernel.index()].clone();
            plan.kernels.push(piper_plan::KernelDecl { symbol, ..declared });
            let of_any = kernels[kernel.index()].clone();
            kernels.push(Kernel { most_blocks: Some(most), ..of_any });
            KernelId(plan.kernels.len() as u32 - 1)
        });
        if let Kind::Launch { kernel, .. } = &mut plan.programs[at].instrs[i].kind {
            *kernel = bounded;
        }
    }
    !made.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::kernel::Dtype;
    use piper_plan::{BufferId, Instr, KernelDecl, Partition, Program, SourceId};

    #[test]
    fn launches_in_a_partition_get_a_form_of_their_own() {
        let kernels = [catalog::add(Dtype::F32, 100_000), catalog::add(Dtype::F32, 100)];
        let declared = |symbol: &str| KernelDecl {
            symbol: symbol.into(),
            params: vec![],
            scalars: 0,
            workspace_bytes: 0,
            cost: None,
        };
        let launch = |stream, kernel| {
            let kind =
                Kind::Launch { kernel: KernelId(kernel), args: vec![BufferId(0)], scalars: vec![] };
            Instr::new(stream, SourceId(0), kind)
        };
        let plan = |instrs: Vec<Instr>| Plan {
            kernels: vec![declared("large"), declared("small")],
            partitions: vec![Partition {
                method: Method::Grid,
                size: 20,
                streams: vec!["side".into()],
                ..Partition::default()
            }],
            programs: vec![Program {
                streams: vec!["main".into(), "side".into()],
                instrs,
                ..Program::default()
            }],
            ..Plan::default()
        };
        let bounded = |instrs: Vec<Instr>| {
            let (mut plan, mut all) = (plan(instrs), kernels.to_vec());
            bound(&mut plan, &mut all, Chip::Sm80);
            assert_eq!(plan.kernels.len(), all.len());
            for (declared, kernel) in plan.kernels.iter().zip(&all) {
                let most = declared.symbol.ends_with("$most_20").then_some(20);
                assert_eq!(kernel.most_blocks.map(NonZeroU32::get), most);
            }
            let launched = plan.programs[0].instrs.iter().map(|instr| match &instr.kind {
                Kind::Launch { kernel, .. } => plan.kernels[kernel.index()].symbol.clone(),
                _ => String::new(),
            });
            (launched.collect::<Vec<_>>(), plan.kernels.len())
        };
        let both = bounded(vec![launch(0, 0), launch(1, 0), launch(1, 1), launch(1, 0)]);
        assert_eq!(both.0, ["large", "large$most_20", "small", "large$most_20"]);
        assert_eq!(both.1, 3);
        let inside = bounded(vec![launch(1, 0), launch(0, 1)]);
        assert_eq!((inside.0, inside.1), (vec!["large$most_20".to_owned(), "small".to_owned()], 2));
    }
}
