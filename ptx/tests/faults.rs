//! Every check has a kernel that breaks its rule, and most have one beside it that just does not.

use piper_ptx::{Arg, Checks, Fault, FaultKind, Machine, Module, Stats};

/// A kernel with one parameter `x`, whose address is in `%rd1`, and the thread in `%r1`.
fn kernel_text(body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 dynamic[];\n\
         .visible .entry k(\n.param .u64 x\n)\n{{\n.reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<30>;\n\
         .reg .b64 %rd<30>;\n.shared .align 16 .b8 tile[1024];\nld.param.b64 %rd1, [x];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nmov.b64 %rd4, tile;\nadd.s64 %rd5, %rd4, %rd2;\n\
         {body}\nret;\n}}\n"
    )
}

fn run_with(body: &str, grid: u32, block: u32, dynamic: u32) -> Result<Stats, Fault> {
    let module = Module::parse(&kernel_text(body)).unwrap_or_else(|e| panic!("{e}"));
    let kernel = module.kernel("k").unwrap_or_else(|e| panic!("{e}"));
    let mut machine = Machine::new();
    machine.checks.step_limit = 50_000;
    let x = machine.alloc_f32(&[1.0; 256]);
    machine.launch(&kernel, grid, block, dynamic, &[Arg::Ptr(x)])
}

fn run(body: &str, block: u32) -> Result<Stats, Fault> {
    run_with(body, 1, block, 0)
}

#[track_caller]
fn assert_fault(result: Result<Stats, Fault>, kind: FaultKind, words: &[&str]) {
    let fault = result.expect_err("the kernel breaks a rule");
    let text = fault.to_string();
    assert_eq!(fault.kind, kind, "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in:\n{text}");
    }
}

#[test]
fn bounds_of_every_space() {
    let kind = FaultKind::OutOfBounds;
    run("ld.global.b32 %r2, [%rd3];", 256).unwrap();
    let words = [
        "kernel k, line 23",
        "ld.global.b32 %r2, [%rd3+4];",
        "thread (31, 0, 0)",
        "1024 bytes at 0x10000000",
    ];
    assert_fault(
        run("ld.global.b32 %r2, [%rd3+900];", 32),
        kind,
        &["0 bytes after the end of", "thread (31, 0, 0)"],
    );
    let one_more = run_with(
        "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd6, %r2, 896;\nadd.s64 %rd3, %rd3, %rd6;\nld.global.b32 %r2, [%rd3+4];",
        2,
        32,
        0,
    );
    assert_fault(one_more, kind, &["block (1, 0, 0)", words[0], words[1], words[2], words[3]]);
    assert_fault(run("mov.b64 %rd6, 0;\nld.b32 %r2, [%rd6];", 1), kind, &["before it"]);
    assert_fault(
        run("mov.b32 %r2, 1;\nst.shared.b32 [%rd4+1024], %r2;", 1),
        kind,
        &["which has 1024 bytes"],
    );
    run_with("mov.b32 %r2, 1;\nmov.b64 %rd6, dynamic;\nst.shared.b32 [%rd6+12], %r2;", 1, 1, 16)
        .unwrap();
    let beyond = run_with(
        "mov.b32 %r2, 1;\nmov.b64 %rd6, dynamic;\nst.shared.b32 [%rd6+16], %r2;",
        1,
        1,
        16,
    );
    assert_fault(beyond, kind, &["which has 1040 bytes"]);
    assert_fault(run("ld.param.b64 %rd6, [x+8];", 1), kind, &["take 8 bytes"]);
}

#[test]
fn alignment() {
    let kind = FaultKind::Misaligned;
    assert_fault(run("ld.global.b32 %r2, [%rd1+2];", 1), kind, &["no multiple of the 4 bytes"]);
    let body = "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1+8];";
    assert_fault(run(body, 1), kind, &["no multiple of the 16 bytes"]);
}

#[test]
fn what_nobody_wrote() {
    let kind = FaultKind::Uninitialised;
    assert_fault(run("add.s32 %r2, %r3, 1;", 1), kind, &["register %r3"]);
    // Only lane 0 has it.
    let body = "setp.eq.s32 %p1, %r1, 0;\n@%p1 mov.b32 %r3, 5;\nadd.s32 %r2, %r3, 1;";
    assert_fault(run(body, 2), kind, &["register %r3", "thread (1, 0, 0)"]);
    assert_fault(run("ld.shared.b32 %r2, [%rd5];", 1), kind, &["before anybody wrote it"]);
    // LLVM says so when it does not care.
    run("// implicit-def: %r3\nadd.s32 %r2, %r3, 1;", 1).unwrap();

    let module = Module::parse(&kernel_text("ld.global.b32 %r2, [%rd3];")).unwrap();
    let kernel = module.kernel("k").unwrap();
    let mut machine = Machine::new();
    let x = machine.alloc(64);
    assert_fault(machine.launch(&kernel, 1, 1, 0, &[Arg::Ptr(x)]), kind, &["neither the host"]);
    machine.checks = Checks { uninitialised_global: false, ..Checks::default() };
    machine.launch(&kernel, 1, 1, 0, &[Arg::Ptr(x)]).unwrap();
}

const EXCHANGE: &str = "st.shared.b32 [%rd5], %r1;\nBARRIER\nxor.b32 %r2, %r1, 33;\nmul.wide.u32 %rd6, %r2, 4;\n\
                        add.s64 %rd6, %rd4, %rd6;\nld.shared.b32 %r3, [%rd6];";

#[test]
fn races_in_shared_memory() {
    let kind = FaultKind::Race;
    run(&EXCHANGE.replace("BARRIER", "bar.sync 0;"), 64).unwrap();
    // The other warp has not run yet, so its value is not there; written before, it is a race.
    let before = "st.shared.b32 [%rd5], %r1;\nst.shared.b32 [%rd5+512], %r1;\nbar.sync 0;\n";
    let missing = format!("{before}{}", EXCHANGE.replace("BARRIER", ""));
    assert_fault(
        run(&missing, 64),
        kind,
        &["shared memory at offset", "a barrier between them", "thread ("],
    );
    // Within a warp a barrier of the warp is enough, and lockstep is not.
    let within = EXCHANGE.replace("33", "1");
    run(&within.replace("BARRIER", "bar.warp.sync -1;"), 32).unwrap();
    assert_fault(run(&within.replace("BARRIER", ""), 32), kind, &["this read of"]);
    // Reading, then writing what others still read.
    let body = "st.shared.b32 [%rd5], %r1;\nbar.sync 0;\nld.shared.b32 %r2, [%rd4];\n\
                setp.eq.s32 %p1, %r1, 1;\n@%p1 st.shared.b32 [%rd4], %r1;";
    assert_fault(run(body, 64), kind, &["this write of", "with a read by"]);
    // Halves of a word are not the same memory.
    let halves = "mul.wide.u32 %rd6, %r1, 2;\nadd.s64 %rd6, %rd4, %rd6;\nmov.b16 %rs1, 1;\nst.shared.b16 [%rd6], %rs1;";
    run(halves, 64).unwrap();
}

#[test]
fn races_in_global_memory() {
    let kind = FaultKind::Race;
    assert_fault(
        run("st.global.b32 [%rd1], %r1;", 2),
        kind,
        &["this write of global memory", "thread (0, 0, 0)"],
    );
    let body = "setp.eq.s32 %p1, %r1, 0;\n@%p1 st.global.b32 [%rd1], %r1;";
    assert_fault(run_with(body, 2, 32, 0), kind, &["block (0, 0, 0)", "separate launches"]);
    run_with("red.global.add.u32 [%rd1], 1;", 4, 64, 0).unwrap();
    assert_fault(
        run("red.global.add.u32 [%rd1], 1;\nld.global.b32 %r2, [%rd1];", 2),
        kind,
        &["this read of global memory"],
    );
    // A later block may read what an earlier one released by a fence and an atomic.
    let handed = "mov.u32 %r2, %ctaid.x;\nsetp.eq.s32 %p1, %r2, 0;\n@%p1 st.global.b32 [%rd1+64], %r1;\nmembar.gl;\n\
                  atom.global.add.u32 %r3, [%rd1], 1;\nld.global.b32 %r4, [%rd1+64];";
    run_with(handed, 2, 1, 0).unwrap();
    assert_fault(run_with(&handed.replace("membar.gl;", ""), 2, 1, 0), kind, &["block (0, 0, 0)"]);
}

#[test]
fn barriers_that_not_all_reach() {
    let kind = FaultKind::BarrierDivergence;
    let leaves = "setp.lt.u32 %p1, %r1, 40;\n@%p1 bra $go;\nret;\n$go:\nbar.sync 0;";
    assert_fault(
        run(leaves, 64),
        kind,
        &["40 wait at barrier 0 on line", "24 have exited", "bar.sync 0;"],
    );
    let other =
        "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra $a;\nbar.sync 1;\nbra $end;\n$a:\nbar.sync 0;\n$end:";
    assert_fault(run(other, 64), kind, &["wait at barrier 0", "wait at barrier 1"]);
    let within =
        "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra $a;\nbar.sync 0;\nbra $end;\n$a:\nbar.sync 0;\n$end:";
    assert_fault(run(within, 32), kind, &["a warp has to reach one barrier together"]);
    // Half of the warps may wait by themselves when they say so.
    let counted = "setp.lt.u32 %p1, %r1, 32;\n@!%p1 bra $end;\nbar.sync 1, 32;\n$end:\nbar.sync 0;";
    run(counted, 64).unwrap();
}

#[test]
fn lanes_that_do_not_take_part() {
    let kind = FaultKind::InactiveLanes;
    let shuffle = "shfl.sync.down.b32 %r2, %r1, 1, 31, -1;";
    run(shuffle, 32).unwrap();
    assert_fault(run(shuffle, 16), kind, &["lane 15 reads from lane 16"]);
    let masked = "setp.lt.u32 %p1, %r1, 8;\n@%p1 shfl.sync.idx.b32 %r2, %r1, 9, 31, 255;";
    assert_fault(run(masked, 32), kind, &["reads from lane 9"]);
    assert_fault(run("bar.warp.sync 1;", 2), kind, &["does not name this lane (1)"]);
    let apart = "setp.lt.u32 %p1, %r1, 8;\n@%p1 bra $a;\nbar.sync 0;\n$a:\nbar.warp.sync -1;";
    assert_fault(run(apart, 32), kind, &["names lanes that never come", "wait at barrier 0"]);
    // Lanes that parted come together where both arrive.
    let joined = "setp.lt.u32 %p1, %r1, 8;\n@%p1 bra $a;\nadd.s32 %r1, %r1, 1;\n$a:\nshfl.sync.bfly.b32 %r2, %r1, 31, 31, -1;";
    run(joined, 32).unwrap();
}

#[test]
fn copies_that_are_used_too_early() {
    let kind = FaultKind::EarlyRead;
    let copy = "cp.async.ca.shared.global [%rd5], [%rd3], 4;\ncp.async.commit_group;\n";
    run(&format!("{copy}cp.async.wait_group 0;\nld.shared.b32 %r2, [%rd5];"), 32).unwrap();
    let early =
        format!("{copy}cp.async.wait_group 1;\nld.shared.b32 %r2, [%rd5];\ncp.async.wait_all;");
    assert_fault(
        run(&early, 32),
        kind,
        &["is read while an asynchronous copy", "ld.shared.b32 %r2, [%rd5];"],
    );
    assert_fault(run(copy, 32), kind, &["exits before it has waited"]);
    // Waiting is not enough to see what another thread copied.
    let other = format!("{copy}cp.async.wait_all;\nld.shared.b32 %r2, [%rd4];");
    assert_fault(run(&other, 64), FaultKind::Race, &["cp.async.wait_all"]);
    run(&other.replace("wait_all;", "wait_all;\nbar.sync 0;"), 64).unwrap();
    // Only a part of the source is taken; the rest is zero, and need not be there.
    let partial = "mov.b32 %r4, 0;\ncp.async.ca.shared.global [%rd5], [%rd3+65536], 4, %r4;\ncp.async.wait_all;\n\
                   ld.shared.b32 %r2, [%rd5];\nst.global.b32 [%rd3], %r2;";
    run(partial, 32).unwrap();
}

#[test]
fn endless_loops_and_traps() {
    assert_fault(run("$a:\nbra $a;", 1), FaultKind::StepLimit, &["does this loop end", "bra $a;"]);
    assert_fault(run("trap;", 1), FaultKind::Trap, &["stops itself"]);
}

#[test]
fn launches_that_do_not_fit() {
    let module = Module::parse(&kernel_text("")).unwrap();
    let kernel = module.kernel("k").unwrap();
    let mut machine = Machine::new();
    let x = machine.alloc(16);
    let mut fails = |grid: u32, block: u32, shared: u32, args: &[Arg], word: &str| {
        let fault = machine.launch(&kernel, grid, block, shared, args).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Launch);
        assert!(fault.to_string().contains(word), "{fault}");
    };
    fails(0, 1, 0, &[Arg::Ptr(x)], "a grid of");
    fails(1, 2000, 0, &[Arg::Ptr(x)], "1 to 1024");
    fails(1, 1, 200 << 10, &[Arg::Ptr(x)], "166912 a block");
    fails(1, 1, 0, &[], "0 arguments are given, 1 expected");
    fails(1, 1, 0, &[Arg::U32(1)], "has 8 bytes, 4 are given");
}

#[test]
fn what_is_not_supported_is_said_at_load() {
    for (body, word) in [
        ("tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [x, {%r1, %r2}];", "expected"),
        ("tcgen05.wait::ld.sync.aligned;", "`tcgen05.wait::ld.sync.aligned`"),
        ("add.weird.s32 %r2, %r1, 1;", "with `.weird`"),
        ("add.s32 %r2, %r1;", "takes 2 sources, not 1"),
        ("bra $nowhere;", "$nowhere is no label"),
        ("mov.u32 %r2, %nosuch;", "%nosuch is neither"),
    ] {
        let text = kernel_text(body);
        let error = match Module::parse(&text) {
            Err(error) => error,
            Ok(module) => module.kernel("k").unwrap_err(),
        };
        assert!(error.to_string().contains(word), "{error}");
        assert_eq!(error.place.line, 20, "{error}");
    }
}
