//! Code generation in a child process: this test is its own embedding program.

use libtest_mimic::{Arguments, Failed, Trial};
use piper_codegen::kernel::Dtype;
use piper_codegen::{
    CodegenError, Isolation, Kernel, OptLevel, Target, catalog, child_main, compile,
};
use std::process::ExitCode;

/// Argument that makes this program ask for code at once.
const FORGETFUL: &str = "--forgetful";

fn main() -> ExitCode {
    child_main();
    if std::env::args().any(|a| a == FORGETFUL) {
        let result = compile(&kernels(), &Target::host(), OptLevel::Full, Isolation::Child);
        eprintln!("{}", result.err().map_or_else(String::new, |e| e.to_string()));
        return ExitCode::FAILURE;
    }
    let trials = vec![
        Trial::test("child_and_in_process_agree_to_the_byte", agree),
        Trial::test("an_abort_inside_llvm_is_an_error_with_a_reproducer", abort),
        Trial::test("a_forgotten_hook_does_not_start_children_without_end", no_endless_children),
        Trial::test("an_unknown_target_is_an_error", unknown_target),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn kernels() -> Vec<(String, Kernel)> {
    [catalog::add(Dtype::F32, 10), catalog::gelu(Dtype::F64, 33)]
        .into_iter()
        .map(|k| (k.symbol(), k))
        .collect()
}

fn agree() -> Result<(), Failed> {
    let mut kernels = kernels();
    let child = compile(&kernels, &Target::host(), OptLevel::Full, Isolation::Child)?;
    // Neither the order of kernels nor repetitions change the result.
    kernels.reverse();
    kernels.extend(kernels.clone());
    let here = compile(&kernels, &Target::host(), OptLevel::Full, Isolation::InProcess)?;
    (child == here).then_some(()).ok_or_else(|| "the objects differ".into())
}

fn abort() -> Result<(), Failed> {
    // A CPU without 64-bit mode under a 64-bit triple: LLVM's x86 back end ends the process.
    let target = Target { cpu: "i386".into(), features: "-64bit".into(), ..Target::host() };
    match compile(&kernels(), &target, OptLevel::None, Isolation::Child) {
        Err(CodegenError::Child { status, stderr, reproducer: Some(path) }) => {
            println!("{status}: {stderr}");
            let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
            std::fs::remove_file(path).map_err(|e| e.to_string())?;
            text.contains("-64bit")
                .then_some(())
                .ok_or_else(|| "the reproducer lacks the target".into())
        }
        other => Err(format!("expected a dead child, got {:?}", other.map(|b| b.len())).into()),
    }
}

/// A program that forgot the hook: its child gets as far as asking for code itself, and must not start another.
fn no_endless_children() -> Result<(), Failed> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = std::process::Command::new(program)
        .args([FORGETFUL])
        .env(piper_codegen::CHILD_VARIABLE, "forgotten")
        .output()
        .map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.contains("child_main() first in main").then_some(()).ok_or_else(|| said.into())
}

fn unknown_target() -> Result<(), Failed> {
    let target = Target { triple: Some("nonsense-unknown-unknown".into()), ..Target::host() };
    match compile(&kernels(), &target, OptLevel::Full, Isolation::Child) {
        Err(CodegenError::Llvm { reason, .. }) if reason.contains("nonsense") => Ok(()),
        other => Err(format!(
            "expected a refusal that names the triple, got {:?}",
            other.map(|b| b.len())
        )
        .into()),
    }
}
