//! Lowered programs of many pipelines, with the plan's verifier as the judge.

use piper_ir::{Module, Op, Reporter};
use piper_plan::{Kind, Plan};

use super::samples::{Shape, context, module, shown, text};
use super::{Options, run};
use crate::{emit_plan, memory_plan, verify_device};

fn shapes() -> Vec<Shape> {
    let mut all = Vec::new();
    for (pp, dp, microbatches) in [(2, 2, 2), (2, 1, 1), (3, 2, 4), (4, 2, 8)] {
        for flags in 0..16 {
            let has = |bit: u32| flags & (1 << bit) != 0;
            all.push(Shape {
                pp,
                dp,
                microbatches,
                zero: has(0),
                tied: has(1),
                clip: has(2),
                interleaved: has(3),
            });
        }
    }
    all
}

fn lowered(shape: Shape, probe_gradients: bool) -> Module {
    let ctx = context();
    let mut module = module(&ctx, &text(shape));
    let mut reporter = Reporter::new(&ctx);
    run(&mut module, &mut reporter, Options { probe_gradients })
        .unwrap_or_else(|_| panic!("{shape:?}\n{}", shown(&reporter)));
    if !piper_ir::verify::verify(&module, &mut reporter) {
        panic!("{shape:?}\n{}", shown(&reporter));
    }
    module
}

fn the_plan(module: &Module) -> Op {
    emit_plan::device_plans(module)[0]
}

fn emitted(module: &Module) -> Plan {
    emit_plan::emit(module, the_plan(module), emit_plan::Options::default()).unwrap().plan
}

fn check(module: &Module) -> Result<(), String> {
    let mut reporter = Reporter::new(module.ctx());
    verify_device::run(module, &mut reporter, verify_device::Options::default())
        .map_err(|_| shown(&reporter))
}

#[test]
fn every_pipeline_is_safe_before_and_after_its_memory_is_planned() {
    for shape in shapes() {
        for probe in [false, true] {
            let mut module = lowered(shape, probe);
            check(&module).unwrap_or_else(|why| panic!("{shape:?}\n{why}"));
            let apart: Vec<u64> = emitted(&module).programs.iter().map(|p| p.arena_bytes).collect();
            let ctx = module.ctx_arc();
            let mut reporter = Reporter::new(&ctx);
            memory_plan::run(&mut module, &mut reporter, memory_plan::Options::default()).unwrap();
            check(&module).unwrap_or_else(|why| panic!("planned {shape:?}\n{why}"));
            let plan = emitted(&module);
            for (program, apart) in plan.programs.iter().zip(apart) {
                assert_eq!(
                    program.arena_bytes,
                    program.peak_bytes().next_multiple_of(64),
                    "{shape:?}"
                );
                assert!(program.arena_bytes <= apart, "{shape:?}");
            }
        }
    }
}

#[test]
fn the_text_of_a_device_plan_reads_back_as_it_was() {
    let ctx = context();
    for shape in shapes().into_iter().filter(|s| s.pp == 2) {
        let mut first = lowered(shape, true);
        memory_plan::run(&mut first, &mut Reporter::new(&ctx), memory_plan::Options::default())
            .unwrap();
        let text = piper_ir::text::print_module(&first, Default::default());
        let second = module(&ctx, &text);
        assert_eq!(text, piper_ir::text::print_module(&second, Default::default()));
        let (a, b) = (emitted(&first), emitted(&second));
        assert_eq!(a.programs, strip_sources(b.programs, &a.programs), "{shape:?}");
    }
}

/// Positions differ: the second text stands in another file.
fn strip_sources(
    mut programs: Vec<piper_plan::Program>,
    like: &[piper_plan::Program],
) -> Vec<piper_plan::Program> {
    for (program, like) in programs.iter_mut().zip(like) {
        for (instr, like) in program.instrs.iter_mut().zip(&like.instrs) {
            instr.source = like.source;
        }
    }
    programs
}

#[test]
fn gradients_accumulate_in_place_and_reductions_overwrite_their_source() {
    let shape = Shape {
        pp: 2,
        dp: 2,
        microbatches: 4,
        zero: false,
        tied: false,
        clip: false,
        interleaved: true,
    };
    let plan = emitted(&lowered(shape, false));
    for program in &plan.programs {
        assert!(
            program.instrs.iter().all(|i| !matches!(i.kind, Kind::Copy { .. })),
            "no copy is needed"
        );
        for instr in &program.instrs {
            if let Kind::AllReduce { src, dst, .. } = instr.kind {
                assert_eq!(src, dst);
            }
        }
    }
    let accumulations = plan.programs[0].instrs.iter().filter(
        |i| matches!(&i.kind, Kind::Launch { kernel, .. } if plan.kernels[kernel.index()].symbol.starts_with("accumulate")),
    );
    assert_eq!(accumulations.count(), 3);
}

#[test]
fn copies_into_buckets_are_left_out_when_memory_is_planned() {
    let shape = Shape {
        pp: 2,
        dp: 2,
        microbatches: 2,
        zero: true,
        tied: false,
        clip: false,
        interleaved: true,
    };
    let mut module = lowered(shape, false);
    let copies = |module: &Module| {
        let plan = emitted(module);
        plan.programs[0].instrs.iter().filter(|i| matches!(i.kind, Kind::Copy { .. })).count()
    };
    assert_eq!(copies(&module), 2, "one into the bucket, one out of it");
    let ctx = module.ctx_arc();
    memory_plan::run(&mut module, &mut Reporter::new(&ctx), memory_plan::Options::default())
        .unwrap();
    assert_eq!(copies(&module), 1);
    check(&module).unwrap();
}

#[test]
fn rows_and_parts_follow_the_division_of_the_batch() {
    let shape = Shape {
        pp: 2,
        dp: 2,
        microbatches: 2,
        zero: false,
        tied: false,
        clip: false,
        interleaved: false,
    };
    let plan = emitted(&lowered(shape, false));
    let dp = piper_plan::AxisId(1);
    let (mut rows, mut parts) = (Vec::new(), Vec::new());
    for instr in plan.programs.iter().flat_map(|p| &p.instrs) {
        match &instr.kind {
            Kind::LoadInput { input, rows: map, .. } if plan.inputs[input.index()].name == "x" => {
                rows.push((map.first.base, map.first.strides.clone(), map.rows));
            }
            Kind::StoreOutput { part, .. } => parts.push((part.base, part.strides.clone())),
            _ => {}
        }
    }
    assert_eq!(rows, [(0, vec![(dp, 4)], 2), (2, vec![(dp, 4)], 2)]);
    assert_eq!(parts, [(0, vec![(dp, 2)]), (1, vec![(dp, 2)])]);
}

#[test]
fn moments_and_masters_of_a_bucket_are_homes_of_their_parameters() {
    let shape = Shape {
        pp: 2,
        dp: 2,
        microbatches: 2,
        zero: true,
        tied: false,
        clip: true,
        interleaved: false,
    };
    let plan = emitted(&lowered(shape, true));
    let names: Vec<&str> = plan.states.tensors.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["w0", "w1", "w0.m", "w0.v", "w1.m", "w1.v"]);
    assert_eq!(plan.states.tensors[0].homes.len(), 2, "in full, and as a shard of the master copy");
    assert!(plan.states.tensors[2].homes[0].shard.is_some());
    let grads: Vec<&str> =
        plan.outputs.iter().map(|o| o.name.as_str()).filter(|n| n.starts_with("grad")).collect();
    assert_eq!(grads.len(), 2);
}

#[test]
fn orders_that_contradict_each_other_are_an_error_that_prints_the_circle() {
    let shape = Shape {
        pp: 2,
        dp: 1,
        microbatches: 2,
        zero: false,
        tied: false,
        clip: false,
        interleaved: false,
    };
    let text = text(shape)
        .replace("[[@f1.0], [@f1.1], [@b1.0], [@b1.1]]", "[[@f1.1], [@f1.0], [@b1.0], [@b1.1]]");
    let text = text
        .replace("[[@f0.0], [@f0.1], [@b0.0], [@b0.1]]", "[[@f0.0], [@b0.0], [@f0.1], [@b0.1]]");
    let ctx = context();
    let mut module = module(&ctx, &text);
    let mut reporter = Reporter::new(&ctx);
    assert!(run(&mut module, &mut reporter, Options::default()).is_err());
    let shown = shown(&reporter);
    for expected in [
        "the step cannot run",
        "'f0.1' waits for 'b0.0'",
        "order on {pp = 0}",
        "'f1.0' waits for 'f1.1'",
    ] {
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn waiting_for_memory_needs_no_more_of_it() {
    for shape in shapes() {
        let bytes = |options: memory_plan::Options| {
            let mut module = lowered(shape, false);
            let ctx = module.ctx_arc();
            memory_plan::run(&mut module, &mut Reporter::new(&ctx), options).unwrap();
            check(&module).unwrap_or_else(|why| panic!("{options:?} {shape:?}\n{why}"));
            emitted(&module).programs.iter().map(|p| p.arena_bytes).sum::<u64>()
        };
        let default = memory_plan::Options::default();
        let apart = bytes(memory_plan::Options { no_reuse: true, ..default });
        let usual = bytes(default);
        let least = bytes(memory_plan::Options { least_memory: true, ..default });
        assert!(least <= usual && usual <= apart, "{least} {usual} {apart} {shape:?}");
    }
}

/// Every change of one instruction of a correct program is noticed.
#[test]
fn a_dropped_swapped_or_repeated_instruction_is_rejected() {
    let shape = Shape {
        pp: 2,
        dp: 2,
        microbatches: 2,
        zero: true,
        tied: true,
        clip: true,
        interleaved: true,
    };
    let mut planned = lowered(shape, false);
    let ctx = planned.ctx_arc();
    memory_plan::run(&mut planned, &mut Reporter::new(&ctx), memory_plan::Options::default())
        .unwrap();
    check(&planned).unwrap();
    for (p, program) in memory_plan::programs(&planned).into_iter().enumerate() {
        let block = planned.only_block(program).unwrap();
        let ops: Vec<Op> = planned
            .ops(block)
            .filter(|op| piper_dialects::device::is_instruction(&planned, *op))
            .collect();
        for (at, &op) in ops.iter().enumerate() {
            let name = planned.name_text(op).to_owned();
            let mut dropped = planned.clone();
            dropped.erase(op);
            assert!(
                check(&dropped).is_err(),
                "dropping #{at} {name} of program {p} goes unnoticed"
            );
            // Transfers that meet others may change places; on one channel they may not.
            let same = |other: &&Op| {
                channel(&planned, op).is_some_and(|c| channel(&planned, **other) == Some(c))
            };
            if let Some(&next) = ops[at + 1..].iter().find(same) {
                let mut swapped = planned.clone();
                let marker = swapped.next_op(next);
                swapped.move_before(next, op);
                swapped.detach(op);
                match marker {
                    Some(marker) => swapped.insert_before(marker, op),
                    None => swapped.append(block, op),
                }
                assert!(
                    check(&swapped).is_err(),
                    "swapping #{at} {name} of program {p} goes unnoticed"
                );
            }
            if !name.contains("record") && !name.contains("wait") {
                let mut repeated = planned.clone();
                let copy = repeated.clone_op(op, &mut Default::default());
                repeated.insert_before(op, copy);
                let harmless =
                    matches!(&*name, "device.copy" | "device.fill" | "device.load_input");
                assert!(
                    harmless || check(&repeated).is_err(),
                    "repeating #{at} {name} of program {p} goes unnoticed"
                );
            }
        }
    }
}

/// Exchanging two operands of equal type keeps a program safe, but it is another program.
#[test]
fn operands_that_change_places_are_rejected() {
    let shape = Shape {
        pp: 3,
        dp: 2,
        microbatches: 3,
        zero: true,
        tied: true,
        clip: true,
        interleaved: true,
    };
    let mut planned = lowered(shape, true);
    let ctx = planned.ctx_arc();
    memory_plan::run(&mut planned, &mut Reporter::new(&ctx), memory_plan::Options::default())
        .unwrap();
    let mut exchanged = 0;
    for program in memory_plan::programs(&planned) {
        let block = planned.only_block(program).unwrap();
        for op in planned.ops(block).filter(|op| planned.name_text(*op) == "device.launch") {
            let is_sum = planned
                .attr_by(op, "callee")
                .unwrap()
                .as_symbol(&ctx)
                .unwrap()
                .text(&ctx)
                .starts_with("accumulate");
            let operands: Vec<_> = planned.operands(op).collect();
            for (i, &a) in operands.iter().enumerate() {
                for (j, &b) in operands.iter().enumerate().skip(i + 1) {
                    if planned.ty(a) == planned.ty(b) && !is_sum {
                        let mut other = planned.clone();
                        other.set_operand(op, i, b);
                        other.set_operand(op, j, a);
                        assert!(
                            check(&other).is_err(),
                            "operands {i} and {j} of {:?}",
                            planned.attr_by(op, "name").unwrap().display(&ctx)
                        );
                        exchanged += 1;
                    }
                }
            }
        }
    }
    assert!(exchanged > 30);
}

/// What a transfer or collective is paired by.
fn channel(module: &Module, op: Op) -> Option<(String, piper_ir::Attr, Option<piper_ir::Attr>)> {
    let comm = module.attr_by(op, "comm")?;
    Some((module.name_text(op).to_owned(), comm, module.attr_by(op, "peer")))
}
