//! `--emit` of code: the program as people run it, as code is generated in a child of it.

use std::process::{Command, Output};

const MODEL: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../test/lit/piper-opt/Inputs/two-by-two.pir");

fn piper_opt(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_piper-opt"));
    command.arg("--no-cache").args(args).arg(MODEL).output().expect("the tool")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// The kernels of the model: what the plan launches.
const KERNELS: [&str; 3] = ["gemm0", "cross_entropy_dx0", "sgd_8xf32"];

#[test]
fn llvm_ir_defines_every_kernel() {
    let ir = text(&piper_opt(&["--emit=llvm"]));
    for kernel in KERNELS {
        assert!(ir.contains(&format!("define void @{kernel}(")), "{kernel}: {ir}");
    }
}

#[test]
fn assembly_is_for_the_target_that_is_named() {
    let (baseline, wide) = match cfg!(target_arch = "aarch64") {
        true => ("aarch64", "host"),
        false => ("x86-64-v2", "x86-64-v4"),
    };
    let baseline = text(&piper_opt(&["--emit=asm", &format!("--target={baseline}")]));
    let wide = text(&piper_opt(&["--emit=asm", &format!("--target={wide}")]));
    for kernel in KERNELS {
        assert!(baseline.contains(&format!("{kernel}:")) && wide.contains(&format!("{kernel}:")));
    }
    if cfg!(target_arch = "x86_64") {
        assert!(!baseline.contains("%zmm") && !baseline.contains("%ymm"));
        assert!(wide.contains("%zmm"));
    }
}

#[test]
fn an_object_file_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kernels.o");
    let output = piper_opt(&["--emit=object", "-o", path.to_str().expect("a name")]);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let bytes = std::fs::read(path).expect("the object");
    assert!(bytes.starts_with(b"\x7fELF") || bytes.starts_with(&[0xCF, 0xFA, 0xED, 0xFE]));
    assert!(bytes.windows(9).any(|name| name == b"sgd_8xf32"));
}

#[test]
fn ptx_has_an_entry_for_every_kernel_and_says_how_to_launch_it() {
    for chip in ["sm_80", "sm_90a", "sm_100a"] {
        let ptx = text(&piper_opt(&["--emit=ptx", &format!("--target={chip}")]));
        assert!(ptx.contains(&format!(".target {chip}")), "{ptx}");
        for kernel in ["gemm0", "sgd_8xf32"] {
            assert!(ptx.contains(&format!("// {kernel}: grid 1x1x1 block 256\n")), "{ptx}");
            assert!(ptx.contains(&format!(".visible .entry {kernel}(")), "{ptx}");
        }
        // Rows first, then their sum.
        assert!(
            ptx.contains(".entry cross_entropy0$0(") && ptx.contains(".entry cross_entropy0$1(")
        );
    }
}

#[test]
fn a_plan_for_a_chip_lists_its_launches() {
    let plan = text(&piper_opt(&["--emit=plan", "--target=sm_90a"]));
    assert!(plan.contains("\ncode for sm_90a, "), "{plan}");
    assert!(plan.contains("\nkernel @gemm0: gemm0 grid 1x1x1 block 256"), "{plan}");
    assert!(plan.contains("\nkernel @cross_entropy0: cross_entropy0$0 grid "), "{plan}");
    assert!(
        plan.contains(", then cross_entropy0$1 grid 1x1x1 block 256, workspace 16 B\n"),
        "{plan}"
    );
    assert!(!text(&piper_opt(&["--emit=plan"])).contains("code for"));
}

#[test]
fn code_of_a_chip_and_of_a_processor_are_not_confused() {
    for (args, message) in [
        (["--emit=asm", "--target=sm_80"], "code for sm_80 is written with --emit=ptx"),
        (
            ["--emit=ptx", "--target=host"],
            "there is no PTX for target 'host'; use --target with sm_80",
        ),
    ] {
        let output = piper_opt(&args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1));
        assert!(said.contains(message) && output.stdout.is_empty(), "{said}");
    }
}

#[test]
fn an_unknown_target_is_refused_with_those_there_are() {
    let output = piper_opt(&["--emit=asm", "--target=z80"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("there is no target 'z80'; this build has: host, "), "{message}");
}
