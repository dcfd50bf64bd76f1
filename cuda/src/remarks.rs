//! What a session says, once it is loaded, of how the plan is run: where wishes of the plan or of its user are met in part.

use piper_plan::{Code, Kind, Method, Plan};

use crate::cublaslt::CublasLt;
use crate::session::Session;

impl Session {
    /// Remarks on how the plan is run, for people. Those on products are of the devices of this process.
    pub fn remarks(&self) -> Vec<String> {
        let (plan, counts) = (self.plan(), self.products());
        let grids = plan.partitions.iter().enumerate().filter(|(_, p)| p.method == Method::Grid);
        let grids = grids.map(|(at, _)| {
            let has_products = counts.as_ref().is_some_and(|all| all.partitions.contains(&at));
            on_grids(plan, at, has_products)
        });
        let products = counts.as_ref().and_then(|counts| {
            let library = CublasLt::open().ok()?;
            Some(counts.told(&library.version, self.shared.options.world.size > 1))
        });
        grids.chain(products).collect()
    }
}

/// How far what runs in a partition keeps to it, where that is up to each launch.
fn on_grids(plan: &Plan, partition: usize, has_products: bool) -> String {
    let p = &plan.partitions[partition];
    let nccl = match p.ctas {
        Some((_, most)) => format!("{most} blocks"),
        None => "whatever NCCL takes".to_owned(),
    };
    let kernels = match most_blocks(plan, partition) {
        blocks if blocks <= u64::from(p.size) => format!("{} blocks", p.size),
        blocks => format!("the {blocks} blocks that they were compiled for"),
    };
    let products = match has_products {
        true => format!(
            "; cuBLASLt is asked to fill {} multiprocessors, but chooses its own grids",
            p.size
        ),
        false => String::new(),
    };
    format!(
        "partition {}: its communicators keep to {nccl}, its kernels to {kernels}{products}",
        p.name
    )
}

/// Most blocks of a launch on the streams of a partition.
fn most_blocks(plan: &Plan, partition: usize) -> u64 {
    let Code::Ptx(ptx) = &plan.code else { return 0 };
    let mut most = 0;
    for program in &plan.programs {
        for instr in &program.instrs {
            let stream = &program.streams[usize::from(instr.stream)];
            let is_here = plan.partition_of(stream) == Some(partition);
            let Kind::Launch { kernel, .. } = &instr.kind else { continue };
            for stage in ptx.kernels[kernel.index()].stages.iter().filter(|_| is_here) {
                most = stage.grid.iter().map(|n| u64::from(*n)).product::<u64>().max(most);
            }
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use piper_plan::Partition;

    use super::*;

    #[test]
    fn only_partitions_with_products_are_told_of_them() {
        let partition = |name: &str, size| Partition {
            name: name.to_owned(),
            method: Method::Grid,
            size,
            total: 132,
            arch: "sm_90".to_owned(),
            ctas: None,
            streams: Vec::new(),
            comms: Vec::new(),
        };
        let partitions = vec![partition("comm", 130), partition("compute", 2)];
        let plan = Plan { partitions, ..Plan::default() };
        assert_eq!(
            on_grids(&plan, 0, false),
            "partition comm: its communicators keep to whatever NCCL takes, its kernels to 130 blocks"
        );
        assert_eq!(
            on_grids(&plan, 1, true),
            "partition compute: its communicators keep to whatever NCCL takes, its kernels to 2 blocks; cuBLASLt is asked to fill 2 multiprocessors, but chooses its own grids"
        );
    }
}
