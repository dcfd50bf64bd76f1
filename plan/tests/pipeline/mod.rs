//! A generator of correct plans: a pipeline over `pp` with replicas over `dp`, one forward and one backward a microbatch,
//! accumulated gradients, all-reduce and update. Transfers run on a stream of their own, ordered by events, and
//! activations take turns in a ring of slots, so the plans have everything the verifier looks at.

// Included by several targets, as a private module of each.
#![allow(unreachable_pub)]

use piper_plan::*;

/// Shape of a generated pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub pp: u32,
    pub dp: u32,
    pub microbatches: u32,
    /// Elements of an activation.
    pub width: u64,
    /// Kernels a chunk is made of (forward; the backward has as many).
    pub depth: u32,
}

const COMPUTE: u16 = 0;
const COMM: u16 = 1;
const PP: AxisId = AxisId(0);
const DP: AxisId = AxisId(1);

/// GPipe order: all forwards, then all backwards.
pub fn plan(shape: Shape) -> Plan {
    let mut plan = Plan {
        name: "pipeline".to_owned(),
        mesh: vec![
            Axis { name: "pp".into(), size: shape.pp },
            Axis { name: "dp".into(), size: shape.dp },
        ],
        comms: vec![
            Comm { name: "p2p".into(), members: vec![] },
            Comm { name: "dp".into(), members: (0..shape.dp).map(|d| vec![(DP, d)]).collect() },
        ],
        inputs: vec![Input {
            name: "x".into(),
            shape: vec![u64::from(shape.dp * shape.microbatches), shape.width],
            dtype: DType::F32,
        }],
        outputs: vec![Output { name: "loss".into(), kind: OutputKind::Scalar }],
        scalars: vec![Scalar { name: "lr".into(), source: ScalarSource::Constant(0.1) }],
        device_program: (0..shape.pp * shape.dp).map(|d| ProgramId(d / shape.dp)).collect(),
        ..Plan::default()
    };
    let wide = |mode| Param { mode, dtype: DType::F32, elems: shape.width };
    let one = |mode| Param { mode, dtype: DType::F32, elems: 1 };
    let kernel = |symbol: &str, params: Vec<Param>, scalars| KernelDecl {
        symbol: symbol.into(),
        params,
        scalars,
        workspace_bytes: 0,
        cost: None,
    };
    use Mode::{Read, ReadWrite, Write};
    plan.kernels = vec![
        kernel("forward", vec![wide(Read), wide(Read), wide(Write)], 0),
        kernel(
            "backward",
            vec![wide(Read), wide(Read), wide(Read), wide(Write), wide(ReadWrite)],
            0,
        ),
        kernel("loss", vec![wide(Read), one(Write), wide(Write)], 0),
        kernel("update", vec![wide(ReadWrite), wide(Read)], 1),
        kernel("first_backward", vec![wide(Read), wide(Read), wide(ReadWrite)], 0),
    ];
    for stage in 0..shape.pp {
        let builder =
            Builder { shape, stage, program: Program::default(), sources: &mut plan.sources };
        let (program, state) = builder.build();
        plan.programs.push(program);
        plan.states.tensors.push(state);
    }
    piper_plan::seal(&mut plan);
    plan
}

struct Builder<'a> {
    shape: Shape,
    stage: u32,
    program: Program,
    sources: &'a mut SourceTable,
}

impl Builder<'_> {
    fn buffer(&mut self, name: String, elems: u64, persistent: bool) -> BufferId {
        let offset = self.program.arena_bytes;
        self.program.arena_bytes = (offset + elems * 4).next_multiple_of(64);
        self.program.buffers.push(Buffer { name, offset, elems, dtype: DType::F32, persistent });
        BufferId(self.program.buffers.len() as u32 - 1)
    }

    fn emit(&mut self, stream: u16, name: String, kind: Kind) {
        let line = self.program.instrs.len() as u32 + 1;
        let source = self.sources.add("pipeline.pir", line, 1, name, "%y = dag.compute @stage(%x)");
        self.program.instrs.push(Instr::new(stream, source, kind));
    }

    /// Orders everything issued so far on `from` before what follows on `to`.
    fn order(&mut self, from: u16, to: u16) {
        let event = EventId(self.program.events);
        self.program.events += 1;
        self.emit(from, "record".into(), Kind::Record { event });
        self.emit(to, "wait".into(), Kind::Wait { event });
    }

    fn p2p(&self, buf: BufferId, to: u32, tag: u32) -> P2p {
        P2p { buf, peer: Peer { set: vec![(PP, to)] }, comm: CommId(0), tag: Some(tag) }
    }

    fn launch(&mut self, name: String, kernel: u32, args: &[BufferId], scalars: &[u32]) {
        let scalars = scalars.iter().map(|&s| ScalarId(s)).collect();
        self.emit(
            COMPUTE,
            name,
            Kind::Launch { kernel: KernelId(kernel), args: args.to_vec(), scalars },
        );
    }

    fn build(mut self) -> (Program, State) {
        let Shape { pp, dp, microbatches, width, depth } = self.shape;
        let (stage, last) = (self.stage, self.stage + 1 == pp);
        self.program.name = format!("pp{stage}");
        self.program.coord = vec![(PP, stage)];
        self.program.streams = vec!["compute".into(), "comm".into()];
        let weight = self.buffer("w".into(), width, true);
        let grad = self.buffer("dw".into(), width, false);
        // Activations of all layers and microbatches stay until their backward; gradients take turns in two slots.
        let acts: Vec<Vec<BufferId>> = (0..microbatches)
            .map(|m| (0..=depth).map(|l| self.buffer(format!("a{m}.{l}"), width, false)).collect())
            .collect();
        let slots = [0, 1].map(|s| self.buffer(format!("g{s}"), width, false));
        let loss = self.buffer("loss".into(), 1, false);

        self.emit(COMPUTE, "zero".into(), Kind::Fill { dst: grad, value: 0.0 });
        for m in 0..microbatches {
            let acts = &acts[m as usize];
            if stage == 0 {
                let first =
                    Affine { base: u64::from(m), strides: vec![(DP, u64::from(microbatches))] };
                let rows = RowMap { first, rows: 1 };
                self.emit(
                    COMPUTE,
                    format!("load mb{m}"),
                    Kind::LoadInput { input: InputId(0), rows, dst: acts[0] },
                );
            } else {
                let recv = self.p2p(acts[0], stage - 1, m);
                self.emit(COMM, format!("recv F mb{m}"), Kind::Recv(recv));
                self.order(COMM, COMPUTE);
            }
            for l in 0..depth as usize {
                self.launch(format!("F{l} mb{m}"), 0, &[acts[l], weight, acts[l + 1]], &[]);
            }
            if !last {
                self.order(COMPUTE, COMM);
                let send = self.p2p(acts[depth as usize], stage + 1, m);
                self.emit(COMM, format!("send F mb{m}"), Kind::Send(send));
            }
        }
        for m in 0..microbatches {
            let acts = &acts[m as usize];
            if last {
                self.launch(format!("loss mb{m}"), 2, &[acts[depth as usize], loss, slots[0]], &[]);
                let part =
                    Affine { base: u64::from(m), strides: vec![(DP, u64::from(microbatches))] };
                self.emit(
                    COMPUTE,
                    format!("store mb{m}"),
                    Kind::StoreOutput { output: OutputId(0), src: loss, part },
                );
            } else {
                // The slot's last user was the previous microbatch's backward.
                self.order(COMPUTE, COMM);
                let recv = self.p2p(slots[0], stage + 1, 1000 + m);
                self.emit(COMM, format!("recv B mb{m}"), Kind::Recv(recv));
                self.order(COMM, COMPUTE);
            }
            let mut from = 0;
            for l in (0..depth as usize).rev() {
                if l == 0 && stage == 0 {
                    self.launch(format!("B0 mb{m}"), 4, &[acts[0], slots[from], grad], &[]);
                } else {
                    let (dy, dx) = (slots[from], slots[1 - from]);
                    self.launch(format!("B{l} mb{m}"), 1, &[acts[l], weight, dy, dx, grad], &[]);
                    from = 1 - from;
                }
            }
            if stage > 0 {
                self.order(COMPUTE, COMM);
                let send = self.p2p(slots[from], stage - 1, 1000 + m);
                self.emit(COMM, format!("send B mb{m}"), Kind::Send(send));
                self.order(COMM, COMPUTE); // both slots are free again
            }
        }
        if dp > 1 {
            self.order(COMPUTE, COMM);
            self.emit(
                COMM,
                "reduce".into(),
                Kind::AllReduce { src: grad, dst: grad, comm: CommId(1) },
            );
            self.order(COMM, COMPUTE);
        }
        self.launch("update".into(), 3, &[weight, grad], &[0]);
        let home = Home {
            program: ProgramId(stage),
            buffer: weight,
            shard: None,
            pieces: vec![Piece::whole(width, 0)],
        };
        let state = State {
            name: format!("w{stage}"),
            shape: vec![width],
            dtype: DType::F32,
            init: Init::Ones,
            homes: vec![home],
        };
        (self.program, state)
    }
}
