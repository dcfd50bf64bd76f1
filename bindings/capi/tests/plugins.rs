//! Plugins in C: the two of the page "your first pass", and hostile ones, which are refused or fail with a text that names them.
#![cfg(all(feature = "embed", target_os = "linux"))]

use std::path::{Path, PathBuf};

use compiled::{Workshop, root};
use piper::ir::pass::RegisterError;
use piper::{Compiler, Failure, Program};
use piper_capi::plugin::{NotAdded, PluginError, StablePlugin, open_stable};
use piper_capi::{
    PIPER_IN_USE, PIPER_OK, PiperStr, piper_compiler_add_dialects, piper_compiler_create,
    piper_compiler_destroy, piper_compiler_load_plugin, piper_compiler_num_passes,
};

#[allow(dead_code, reason = "each of the tests uses a part")]
mod compiled;

fn opened(path: &Path) -> Result<StablePlugin, PluginError> {
    // SAFETY: a plugin of these tests.
    unsafe { open_stable(path) }
}

fn hostile_in(shop: &Workshop, variant: u32) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/hostile.c");
    let defines =
        [&*format!("-DVARIANT={variant}"), "-Wno-unused-function", "-Wno-unused-const-variable"];
    shop.plugin(&source, &format!("libhostile{variant}.so"), &defines)
}

fn hostile(variant: u32) -> Result<StablePlugin, PluginError> {
    let shop = Workshop::new();
    opened(&hostile_in(&shop, variant))
}

fn compiler(plugin: StablePlugin) -> Compiler {
    let mut compiler = Compiler::new();
    for pass in plugin.passes {
        compiler.register_pass(pass).expect("a free name");
    }
    compiler
}

fn first_pass(name: &str) -> Compiler {
    let shop = Workshop::new();
    let source = root().join("examples/first-pass-c").join(name).with_extension("c");
    compiler(opened(&shop.plugin(&source, "libmine.so", &[])).expect("a plugin"))
}

/// A step with stage 3 of ZeRO: parameters are gathered for every use.
fn gathering(compiler: &Compiler) -> Program {
    let text = std::fs::read_to_string(root().join("test/lit/passes/zero/gather-microbatch.pir"));
    let mut program = compiler.parse("gathers.pir", &text.expect("a test")).expect("it parses");
    let zero = "zero{over=dp stage=3 reduce=last},update{rule=sgd lr=0.1}";
    compiler.run(&mut program, zero).expect("it runs");
    program
}

#[test]
fn all_gathers_are_counted() {
    let compiler = first_pass("count_gathers");
    let mut program = gathering(&compiler);
    let said = compiler.run(&mut program, "print-gathers").expect("it runs");
    assert_eq!(said.iter().map(|m| m.text.as_str()).collect::<Vec<_>>(), ["4 all-gather(s)"]);
}

#[test]
fn all_gathers_are_hoisted() {
    let compiler = first_pass("hoist_gathers");
    let delayed = |program: &Program| program.text().matches("after [@").count();
    let place = |program: &Program, what: &str| program.text().find(what).expect("it is there");
    let mut program = gathering(&compiler);
    assert_eq!(delayed(&program), 3);
    assert!(place(&program, "dag.all_gather") < place(&program, "dag.state"));
    compiler.run(&mut program, "hoist-gathers{most=2}").expect("it runs");
    assert_eq!(delayed(&program), 2, "one of the two had no 'after'");
    compiler.run(&mut program, "hoist-gathers").expect("it runs");
    assert_eq!(delayed(&program), 0);
    assert!(place(&program, "dag.all_gather") > place(&program, "dag.state"));
    program.verify().expect("it verifies");
    let wrong = compiler.run(&mut program, "hoist-gathers{most=all}").expect_err("no number");
    assert!(wrong.to_string().contains("the option 'most' is no number"), "{wrong}");
    let unknown = compiler.run(&mut program, "hoist-gathers{mots=1}").expect_err("no option");
    assert!(unknown.to_string().contains("did you mean 'most'?"), "{unknown}");
}

#[test]
fn descriptions_that_are_wrong_are_refused_readably() {
    let refusals = [
        (1, "begins with 0x0000000000001234, not 0x50495045525f4301"),
        (2, "is for interface 0, but Piper 0.1.0 has interface 1\nbuild the plugin again"),
        (3, "is for interface 2, but Piper 0.1.0 has interface 1\nuse a later Piper"),
        (4, "has 8 bytes, not "),
        (5, " functions of the interface, but Piper 0.1.0 has "),
        (6, "is null"),
        (7, "refused to load, with status 5"),
        (8, "piper_registrar_add_pass: it adds pass 'keeps' twice"),
        (9, "a pass with the name 'no name'; names are letters, digits, '-' and '_'"),
        (10, "the pass says that it has 1 bytes"),
        (11, "the pass's function 'run' is null"),
        (12, "the pass has flags that this version of the library does not know"),
        (13, "has no function 'piper_plugin', so it is no plugin"),
        (
            14,
            "registers pass 'nowhere' to run on 'module', which is no name of an operation (such as 'func.func', or none for the module)",
        ),
        (18, "exports 'piper_plugin', but not as a function, so it is no plugin"),
    ];
    for (variant, wanted) in refusals {
        let why = hostile(variant).expect_err("it is refused");
        let why = format!("{}\n{}", why.message, why.hint);
        assert!(why.contains(wanted) && why.contains("hostile"), "{variant}: {why}");
    }
    let text = root().join("examples/mlp.pir");
    let why = opened(&text).expect_err("no library").to_string();
    assert!(why.contains("mlp.pir': it cannot be opened as a library: "), "{why}");
    // It is not looked for among the libraries of the system.
    let why = opened(Path::new("libc.so.6")).expect_err("not here").to_string();
    assert_eq!(why, "plugin 'libc.so.6': no such file");
}

#[test]
fn a_plugin_adds_all_or_nothing() {
    let mut passes = Compiler::new().passes().clone();
    let mut dialects = Compiler::new().dialects().to_vec();
    let (known, count) = (passes.iter().count(), dialects.len());
    let why = hostile(17).expect("it loads").add_to(&mut passes, &mut dialects);
    assert!(matches!(why, Err(NotAdded::Pass(RegisterError::Taken { .. }))), "{why:?}");
    assert_eq!((passes.iter().count(), dialects.len()), (known, count));
}

#[test]
fn what_is_not_loaded_leaves_the_compiler_as_it_was() {
    let shop = Workshop::new();
    let path = hostile_in(&shop, 17);
    let text = |text: &str| PiperStr { data: text.as_ptr().cast(), len: text.len() };
    let path = path.to_str().expect("text");
    let none = std::ptr::null_mut();
    let compiler = piper_compiler_create();
    // SAFETY: the compiler lives until it is destroyed, and texts as long as these calls.
    unsafe {
        let passes = piper_compiler_num_passes(compiler);
        assert_eq!(piper_compiler_load_plugin(compiler, text(path), none), PIPER_IN_USE);
        assert_eq!(piper_compiler_num_passes(compiler), passes);
        // Its dialect was not added, so the name is free.
        let dialect = "irdl.dialect @hostile {\n  irdl.operation @op {\n  }\n}\n";
        let added = piper_compiler_add_dialects(compiler, text("mine"), text(dialect), none);
        assert_eq!(added, PIPER_OK);
        piper_compiler_destroy(compiler);
    }
}

#[test]
fn what_passes_work_on_must_be_there_when_it_is_to_run() {
    let mut compiler = Compiler::new();
    let mut plugin = hostile(15).expect("it loads");
    let pass = plugin.passes.pop().expect("a pass");
    compiler.register_pass(pass).expect("a free name");
    let mut program = compiler.parse("f.pir", "").expect("it parses");
    let why = compiler.run_with_implied(&mut program, "after-nothing").expect_err("no 'kse'");
    let why = why.to_string();
    assert!(why.contains("pass 'after-nothing' to run after 'kse', but there is no such"), "{why}");
    assert!(why.contains("did you mean 'cse'?"), "{why}");
}

fn run(compiler: &Compiler, pass: &str) -> Result<(), Failure> {
    let text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %a = nn.gelu %x : tensor<4xf32>\n  func.return %a : tensor<4xf32>\n}";
    let mut program = compiler.parse("f.pir", text).expect("it parses");
    compiler.run(&mut program, pass).map(drop)
}

#[test]
fn passes_that_misbehave_fail_by_name() {
    let compiler = compiler(hostile(0).expect("a plugin"));
    let failures = [
        ("no-reason", "pass 'no-reason' failed with status 77"),
        (
            "uses-erased",
            "pass 'uses-erased' misused the interface: piper_op_name: the operation was erased",
        ),
        (
            "writes",
            "pass 'writes' misused the interface: piper_op_set_attr: the pass said that it only reads",
        ),
        (
            "asks",
            "pass 'asks' misused the interface: piper_pass_option: the pass declares no option 'never-declared'",
        ),
        ("breaks", "error: result 'y' of 'nn.gelu' must be a tensor of f32"),
        ("breaks", "remark: the errors above are in what pass 'breaks' of plugin '"),
    ];
    for (pass, wanted) in failures {
        let why = run(&compiler, pass).expect_err("it fails").to_string();
        assert!(why.contains(wanted), "{pass}: {why}");
    }
    run(&compiler, "keeps").expect("nothing is wrong yet");
    let why = run(&compiler, "keeps").expect_err("the module had ended").to_string();
    assert!(why.contains("piper_op_name: the operation was erased, is of another module"), "{why}");
}
