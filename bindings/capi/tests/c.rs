//! The examples in C, and misuse of every function: as C99 and C++, and watched by AddressSanitizer and Valgrind.
#![cfg(all(feature = "embed", target_os = "linux"))]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use compiled::{Workshop, has, printed, root};
use quote::ToTokens;
use sources::{exported, folder};
use syn::{FnArg, Type};

#[allow(dead_code, reason = "each of the tests uses a part")]
mod compiled;
#[allow(dead_code, reason = "each of the tests uses a part")]
mod sources;

const SANITIZE: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

fn example(name: &str) -> PathBuf {
    root().join("examples/embed-c").join(name)
}

fn misuse() -> PathBuf {
    folder().join("tests/c/misuse.c")
}

fn train(shop: &Workshop, program: &Path) -> Command {
    let mut command = shop.command(program);
    command.arg(root().join("examples/mlp.pir"));
    command
}

/// Memcheck; what the standard libraries keep to the end is no leak.
fn valgrind(shop: &Workshop, program: &Path) -> Command {
    let mut command = shop.command("valgrind");
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=full"]);
    command
        .args(["--show-leak-kinds=definite,indirect", "--errors-for-leak-kinds=definite,indirect"]);
    command.arg(program);
    command
}

#[test]
fn a_module_is_built_from_c() {
    let shop = Workshop::new();
    let text = printed(&mut shop.command(shop.program(&example("build.c"), "build", &[])));
    let expected = "\
module {
  func.func @f(%arg0: tensor<4x8xf32>, %arg1: tensor<8x3xf32>) -> tensor<4x3xf32> {
    %z = nn.linear %arg0, %arg1 : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %0 = nn.gelu %z : tensor<4x3xf32>
    func.return %0 : tensor<4x3xf32>
  }
}

module {
  func.func @f(%arg0: tensor<4x8xf32>, %arg1: tensor<8x3xf32>) -> tensor<4x3xf32> {
    %z = nn.linear %arg0, %arg1 : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    func.return %z : tensor<4x3xf32>
  }
}

misuse 3: piper_op_name: the operation was erased, is of another module, or is from before a pipeline ran
";
    let (head, tail) = text.split_at(expected.len().min(text.len()));
    assert_eq!(head, expected);
    assert!(tail.starts_with("status 1: ") && tail.contains("tensor<4x8xf32>"), "{tail}");
}

#[test]
fn a_model_is_trained_from_c() {
    let shop = Workshop::new();
    let program = shop.program(&example("train.c"), "train", &[]);
    let machine = shop.path("machine.toml");
    std::fs::write(
        &machine,
        "[device]\nflops = 1e12\nmemory_bandwidth = 1e11\n[fabrics.link]\nbandwidth = 1e9\nlatency = 1e-6\n[axes]\npp = \"link\"\n",
    )
    .expect("a file");
    let text = printed(train(&shop, &program).arg(&machine));
    assert!(
        text.contains("heard: a linear layer (line 1") && text.contains("2 remark(s)"),
        "{text}"
    );
    assert!(text.contains("2 device(s)"), "{text}");
    let losses: Vec<f64> =
        text.lines().filter_map(|line| line.split_once("loss ")?.1.parse().ok()).collect();
    assert!(losses.len() == 4 && losses[..3].is_sorted_by(|a, b| a > b), "{losses:?}");
    // What is wrong with a file is said with its lines, and the program ends as it likes.
    let broken = shop.path("broken.pir");
    std::fs::write(&broken, "module {\n  nn.gelu %x : f32\n}\n").expect("a file");
    let output = shop.command(&program).arg(&broken).output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.starts_with("status 1\nerror: ") && told.contains("broken.pir:2:"), "{told}");
}

#[test]
fn the_archive_links_with_the_systems_libraries() {
    let shop = Workshop::new();
    let archive = compiled::built("libpiper_capi.a");
    let libraries = "-lgcc_s -lpthread -ldl -lm";
    let mut flags = vec![archive.to_str().expect("a path in UTF-8")];
    flags.extend(libraries.split(' '));
    let page = std::fs::read_to_string(root().join("docs/embed-c.md")).expect("the page");
    assert!(page.contains(&format!("libpiper.a {libraries}")), "the page names these libraries");
    // The shared one of LLVM, where it is linked in, lies with the system's libraries or in a folder of its own.
    if cfg!(feature = "llvm") {
        assert!(page.contains("`-lLLVM-22`"), "the page names LLVM's library");
        flags.extend(["-L/usr/lib/llvm-22/lib", "-lLLVM-22"]);
    }
    let program = shop.program_alone(&example("build.c"), "static", &flags);
    // Nothing is there to be loaded.
    let text = printed(Command::new(program).env_remove("LD_LIBRARY_PATH"));
    assert!(text.starts_with("module {"), "{text}");
}

#[test]
fn the_header_is_cpp_too() {
    let shop = Workshop::new();
    let source = folder().join("tests/c/cpp.cpp");
    let text = printed(&mut shop.command(shop.program_cpp(&source, "cpp")));
    assert_eq!(text, "interface 1\n");
}

/// A call of every function with nothing: null, 0, and handles of nothing.
fn calls_with_nothing() -> String {
    let src = folder().join("src");
    let mut functions = exported(&src);
    functions.extend(exported(&src.join("embed")));
    let mut text = String::from("#include \"piper.h\"\n\nint main(void) {\n");
    for (name, function) in &functions {
        let nothing = |input: &FnArg| {
            let FnArg::Typed(argument) = input else { panic!("{name} has a receiver") };
            let ty = argument.ty.to_token_stream().to_string();
            match (&*argument.ty, ty.as_str()) {
                (Type::Ptr(_), _) | (_, "PiperVisit" | "PiperListener") => "NULL".to_owned(),
                (_, "u32" | "u64" | "usize" | "i64" | "f64" | "bool") => "0".to_owned(),
                _ => format!("({ty}){{0}}"),
            }
        };
        let arguments: Vec<String> = function.sig.inputs.iter().map(nothing).collect();
        let call = format!("{name}({})", arguments.join(", "));
        if name == "piper_compiler_create" {
            continue;
        }
        writeln!(text, "  (void){call};").expect("a string");
    }
    text.push_str("  return 0;\n}\n");
    text
}

#[test]
fn nothing_is_harmless_to_every_function() {
    let shop = Workshop::new();
    let source = shop.path("nothing.c");
    let text = calls_with_nothing();
    assert!(text.matches("(void)").count() > 130, "{text}");
    std::fs::write(&source, text).expect("a file");
    let mut flags = SANITIZE.to_vec();
    flags.push("-Wno-missing-field-initializers");
    printed(&mut shop.command(shop.program(&source, "nothing", &flags)));
}

#[test]
fn misuse_is_answered_with_a_status() {
    let shop = Workshop::new();
    printed(&mut shop.command(shop.program(&misuse(), "misuse", SANITIZE)));
}

#[test]
fn address_sanitizer_finds_nothing() {
    let shop = Workshop::new();
    printed(&mut shop.command(shop.program(&example("build.c"), "build", SANITIZE)));
    let text = printed(&mut train(&shop, &shop.program(&example("train.c"), "train", SANITIZE)));
    assert!(text.contains("step 3: loss"), "{text}");
}

/// Every C block of a page stands in one of these files, so that it is compiled and run.
fn assert_quoted(page: &str, files: &[&str]) {
    let text = std::fs::read_to_string(root().join(page)).expect("the page");
    let sources: String = files
        .iter()
        .map(|file| std::fs::read_to_string(root().join("examples").join(file)).expect("a source"))
        .collect();
    let blocks: Vec<&str> =
        text.split("```c\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        assert!(sources.contains(block), "{page} shows what no example has:\n{block}");
    }
}

#[test]
fn the_pages_show_the_examples() {
    assert_quoted("docs/embed-c.md", &["embed-c/train.c", "embed-c/build.c"]);
    let passes = ["first-pass-c/count_gathers.c", "first-pass-c/hoist_gathers.c"];
    assert_quoted("docs/first-pass-c.md", &passes);
}

#[test]
fn valgrind_finds_nothing() {
    if !has("valgrind") {
        return;
    }
    let shop = Workshop::new();
    for (source, name) in [(example("build.c"), "build"), (misuse(), "misuse")] {
        let program = shop.program(&source, name, &[]);
        printed(&mut valgrind(&shop, &program));
    }
}

#[test]
fn valgrind_finds_nothing_in_training() {
    if !has("valgrind") {
        return;
    }
    let shop = Workshop::new();
    let program = shop.program(&example("train.c"), "train", &[]);
    let text = printed(valgrind(&shop, &program).arg(root().join("examples/mlp.pir")));
    assert!(text.contains("step 3: loss"), "{text}");
}
