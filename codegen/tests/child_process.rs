//! Code generation in a child process: this test is its own embedding program.

use libtest_mimic::{Arguments, Failed, Trial};
use piper_codegen::kernel::Dtype;
use piper_codegen::kernel::{Attention, Body, Gemm};
use piper_codegen::ptx::{self, Chip};
use piper_codegen::{
    Cache, CodegenError, Compiler, Form, Isolation, Kernel, OptLevel, Target, catalog, child_main,
    compile,
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
        Trial::test("a_command_is_a_child_too", command),
        Trial::test("the_number_of_threads_does_not_show_in_the_code", threads),
        Trial::test("code_is_made_once_and_then_found", cached),
        Trial::test("a_damaged_entry_is_made_again", damaged),
        Trial::test("a_cache_that_cannot_be_written_is_a_remark", unwritable),
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

/// This program, named as if it were another one; and one that generates no code.
fn command() -> Result<(), Failed> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let of = |command: &[&str]| {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        compile(&kernels(), &Target::host(), OptLevel::Full, Isolation::Program { command })
    };
    let child = compile(&kernels(), &Target::host(), OptLevel::Full, Isolation::Child)?;
    if of(&[&program])? != child {
        return Err("the objects differ".into());
    }
    match (of(&["true"]), of(&["no-such-program"])) {
        (Err(CodegenError::Child { .. }), Err(CodegenError::Io { .. })) => Ok(()),
        (one, other) => Err(format!("expected two refusals, got {one:?} and {other:?}").into()),
    }
}

/// Products, attention and others, of two types: several modules.
fn many() -> Vec<(String, Kernel)> {
    let mut kernels = kernels();
    for dtype in [Dtype::F32, Dtype::F64] {
        let (transpose_a, transpose_b, bias, accumulate) = (false, false, false, false);
        let (m, n, k, batch, epilogue) = (9, 7, 5, 1, None);
        let gemm = Gemm { m, n, k, transpose_a, transpose_b, batch, bias, accumulate, epilogue };
        for m in 1..=20 {
            kernels.push(named(dtype, Body::Gemm(Gemm { m, ..gemm.clone() })));
        }
        let shape = Attention { batch: 1, seq: 4, heads: 2, kv_heads: 1, head_dim: 2 };
        kernels.push(named(dtype, Body::Attention { shape, lse: true }));
        kernels.push(named(dtype, Body::AttentionDx(shape)));
    }
    kernels
}

fn named(dtype: Dtype, body: Body) -> (String, Kernel) {
    let kernel = Kernel::new(dtype, body);
    (kernel.symbol(), kernel)
}

fn made(kernels: &[(String, Kernel)], compiler: &Compiler) -> Result<(Vec<u8>, bool), Failed> {
    let made = compiler.shared_object(kernels, &Target::host(), OptLevel::None)?;
    Ok((made.bytes, made.is_from_cache))
}

fn holds(claim: bool, what: &str) -> Result<(), Failed> {
    claim.then_some(()).ok_or_else(|| what.into())
}

fn threads() -> Result<(), Failed> {
    let kernels = many();
    let of = |isolation, threads| {
        made(&kernels, &Compiler { isolation, threads, ..Compiler::default() })
    };
    let (one, _) = of(Isolation::Child, 1)?;
    for threads in [0, 2, 5, 64] {
        for isolation in [Isolation::Child, Isolation::InProcess] {
            holds(of(isolation.clone(), threads)?.0 == one, &format!("{threads} {isolation:?}"))?;
        }
    }
    Ok(())
}

fn cached() -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let compiler = Compiler { cache: Cache::at(folder.path()), ..Compiler::default() };
    let (code, first) = made(&kernels(), &compiler)?;
    let (again, second) = made(&kernels(), &compiler)?;
    holds(!first && second && code == again, "the second time it is there")?;
    // The order of kernels is no part of what they are; another kernel is.
    let mut kernels = kernels();
    kernels.reverse();
    holds(made(&kernels, &compiler)?.1, "the order does not matter")?;
    holds(!made(&kernels[..1], &compiler)?.1, "fewer kernels are other code")?;
    let plain = compiler.shared_object(&kernels, &Target::host(), OptLevel::Full)?;
    holds(!plain.is_from_cache, "other optimisation is other code")?;
    let other = Target::generic(Target::host_level());
    let other = compiler.shared_object(&kernels, &other, OptLevel::None)?;
    holds(!other.is_from_cache, "another target is other code")?;
    let form = |form| compiler.emit(&kernels, &Target::host(), OptLevel::None, form);
    holds(!form(Form::Assembly)?.is_from_cache, "another form is other code")?;
    holds(form(Form::Assembly)?.is_from_cache, "forms are kept, too")?;
    let (text, _) = ptx::compile(&kernels[..1], Chip::ALL[0], compiler.clone())?;
    let (again, _) = ptx::compile(&kernels[..1], Chip::ALL[0], compiler.clone())?;
    let (other, _) = ptx::compile(&kernels[..1], Chip::ALL[1], compiler.clone())?;
    holds(text == again && text != other, "so is PTX, by chip")?;
    holds(compiler.cache.remark().is_none(), "nothing is wrong with the folder")
}

fn damaged() -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let compiler = Compiler { cache: Cache::at(folder.path()), ..Compiler::default() };
    let (code, _) = made(&kernels(), &compiler)?;
    let entry = std::fs::read_dir(folder.path())?.next().ok_or("an entry")??.path();
    let mut bytes = std::fs::read(&entry)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&entry, bytes)?;
    let (again, is_from_cache) = made(&kernels(), &compiler)?;
    holds(!is_from_cache && again == code, "it is made again")?;
    let remark = compiler.cache.remark().ok_or("a remark")?;
    holds(remark.contains("was damaged"), &remark)?;
    holds(made(&kernels(), &compiler)? == (code, true), "and kept again")
}

fn unwritable() -> Result<(), Failed> {
    let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    let compiler = Compiler { cache: Cache::at(file.path()), ..Compiler::default() };
    holds(!made(&kernels(), &compiler)?.1 && !made(&kernels(), &compiler)?.1, "made each time")?;
    let remark = compiler.cache.remark().ok_or("a remark")?;
    holds(remark.contains("not kept"), &remark)?;
    holds(compiler.cache.remark().is_none(), "told once")
}

fn abort() -> Result<(), Failed> {
    // A CPU without 64-bit mode under a 64-bit triple: LLVM's x86 back end ends the process.
    let target = Target { cpu: "i386".into(), features: "-64bit".into(), ..Target::host() };
    match compile(&many(), &target, OptLevel::None, Isolation::Child) {
        Err(CodegenError::Child { status, stderr, reproducer: Some(path) }) => {
            println!("{status}: {stderr}");
            let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
            std::fs::remove_file(path).map_err(|e| e.to_string())?;
            holds(text.contains("-64bit"), "the reproducer lacks the target")?;
            let symbol = |kernel: &(String, Kernel)| text.contains(&format!("\"{}\"", kernel.0));
            let held = many().iter().filter(|kernel| symbol(kernel)).count();
            holds(held > 0 && held < many().len() / 2, "the reproducer is of one module")
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
