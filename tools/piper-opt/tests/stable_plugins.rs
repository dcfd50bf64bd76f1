//! Plugins against the C interface in the tool: compiled here, listed, run with options and named when they fail.

use std::path::Path;
use std::process::Command;

fn built(folder: &Path, source: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = folder.join("libmine.so");
    let output = Command::new("cc")
        .args(["-std=c99", "-shared", "-fPIC", "-I"])
        .arg(root.join("bindings/capi/include"))
        .arg(root.join(source))
        .args(["-o".as_ref(), library.as_os_str()])
        .output()
        .expect("a C compiler: apt install gcc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library.to_string_lossy().into_owned()
}

fn run(args: &[&str]) -> (i32, String, String) {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let (registry, dialects) = (piper_passes::registry::all(), piper_dialects::all());
    let input = "module {\n}\n";
    let output =
        piper_opt::main_with(registry, dialects, &args, &mut input.as_bytes(), Path::new("."));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.code, text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_plugin_in_c_is_one_like_others() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let load =
        format!("--load-plugin={}", built(folder.path(), "examples/first-pass-c/hoist_gathers.c"));
    let (code, listed, _) = run(&[&load, "--list-passes"]);
    assert!(code == 0 && listed.contains("hoist-gathers"), "{listed}");
    let pipeline =
        |options: &str| format!("--pass-pipeline=builtin.module(hoist-gathers{options})");
    let (code, text, errors) = run(&[&load, &pipeline("{most=3}")]);
    assert!(code == 0 && text.starts_with("module"), "{text}{errors}");
    let (code, _, errors) = run(&[&load, &pipeline("{most=x}")]);
    assert!(code == 1 && errors.contains("the option 'most' is no number"), "{errors}");
}

#[test]
fn a_bad_plugin_in_c_is_refused_and_its_passes_fail_by_name() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let load = format!("--load-plugin={}", built(folder.path(), "bindings/capi/tests/c/hostile.c"));
    let (code, _, errors) = run(&[&load, "--pass-pipeline=builtin.module(writes)"]);
    assert!(code == 1 && errors.contains("pass 'writes' misused the interface"), "{errors}");
    // The same plugin again, from elsewhere: its names are taken.
    let other = tempfile::TempDir::new().expect("a folder");
    let again = format!("--load-plugin={}", built(other.path(), "bindings/capi/tests/c/hostile.c"));
    let (code, _, errors) = run(&[&load, &again]);
    assert!(code == 1 && errors.contains("no-reason"), "{errors}");
}
