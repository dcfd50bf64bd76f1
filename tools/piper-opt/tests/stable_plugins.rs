//! Plugins against the C interface in the tool: compiled here, listed, run with options and named when they fail.

use std::path::Path;
use std::process::Command;

const HOSTILE: &str = "bindings/capi/tests/c/hostile.c";

fn built(folder: &Path, source: &str) -> String {
    variant(folder, source, 0)
}

fn variant(folder: &Path, source: &str, number: u32) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = folder.join("libmine.so");
    let output = Command::new("cc")
        .args(["-std=c99", "-shared", "-fPIC", "-I"])
        .arg(root.join("bindings/capi/include"))
        .arg(format!("-DVARIANT={number}"))
        .arg(root.join(source))
        .args(["-o".as_ref(), library.as_os_str()])
        .output()
        .expect("a C compiler: apt install gcc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library.to_string_lossy().into_owned()
}

fn run(args: &[&str]) -> (i32, String, String) {
    run_on(args, "module {\n}\n")
}

fn run_on(args: &[&str], input: &str) -> (i32, String, String) {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let (registry, dialects) = (piper_passes::registry::all(), piper_dialects::all());
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
    let step = include_str!("../../../test/lit/passes/zero/gather-microbatch.pir");
    let zero = "zero{over=dp stage=3 reduce=last},update{rule=sgd lr=0.1}";
    let hoisted = |options: &str| {
        let pipeline = format!("--pass-pipeline=builtin.module({zero}{options})");
        let (code, text, errors) = run_on(&[&load, &pipeline], step);
        assert_eq!(code, 0, "{errors}");
        let gathers = text.lines().filter(|line| line.contains("dag.all_gather ")).count();
        assert_eq!(gathers, 4, "{text}");
        text
    };
    // Gathers that wait for a node, and those that stand right behind the state that they gather.
    let waiting = |text: &str| text.lines().filter(|line| line.contains(" after [@")).count();
    let behind = |text: &str| {
        let lines = text.lines().skip_while(|line| !line.contains("dag.state ")).skip(1);
        lines.take_while(|line| line.contains("dag.all_gather ")).count()
    };
    let (before, some, after) =
        (hoisted(""), hoisted(",hoist-gathers{most=2}"), hoisted(",hoist-gathers"));
    assert_eq!([&before, &some, &after].map(|text| waiting(text)), [3, 2, 0], "{after}");
    assert!(behind(&before) < 4 && behind(&after) == 4, "{before}{after}");
    let pipeline =
        |options: &str| format!("--pass-pipeline=builtin.module(hoist-gathers{options})");
    let (code, _, errors) = run(&[&load, &pipeline("{most=x}")]);
    assert!(code == 1 && errors.contains("the option 'most' is no number"), "{errors}");
}

#[test]
fn the_first_passes_in_c_run_as_their_page_says() {
    const STEP: &str = include_str!("../../../examples/plugin/step.pir");
    let page = include_str!("../../../docs/first-pass-c.md");
    for (source, flags, wanted) in [
        ("count_gathers.c", "--pass zero --pass print-gathers", "remark: 4 all-gather(s)\n"),
        (
            "hoist_gathers.c",
            "--pass zero --pass 'hoist-gathers{most=2}'",
            "remark: ran 'update' before 'hoist-gathers', which works on their result\n",
        ),
    ] {
        assert!(page.contains(flags) && page.contains(wanted), "{flags}: {wanted}");
        let folder = tempfile::TempDir::new().expect("a folder");
        let library = built(folder.path(), &format!("examples/first-pass-c/{source}"));
        let load = format!("--load-plugin={library}");
        let flags = flags.replace('\'', "");
        let args: Vec<&str> = [&*load].into_iter().chain(flags.split(' ')).collect();
        let (code, text, errors) = run_on(&args, STEP);
        assert!(code == 0 && errors.contains(wanted), "{errors}");
        assert_eq!(text.matches("dag.all_gather ").count(), 4, "{text}");
    }
}

#[test]
fn a_bad_plugin_in_c_is_refused_and_its_passes_fail_by_name() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let load = format!("--load-plugin={}", built(folder.path(), HOSTILE));
    let (code, _, errors) = run(&[&load, "--pass-pipeline=builtin.module(writes)"]);
    assert!(code == 1 && errors.contains("pass 'writes' misused the interface"), "{errors}");
    // The same plugin again, from elsewhere: its names are taken.
    let other = tempfile::TempDir::new().expect("a folder");
    let again = format!("--load-plugin={}", built(other.path(), HOSTILE));
    let (code, _, errors) = run(&[&load, &again]);
    let taken = "registers pass 'no-reason', which is the name of a pass of plugin '";
    assert!(code == 1 && errors.contains(taken), "{errors}");
}

#[test]
fn what_its_passes_say_of_others_and_of_themselves_is_checked() {
    for (number, message, hint) in [
        (
            14,
            "registers pass 'nowhere' to run on 'module', which is no name of an operation",
            "this is a fault of the plugin",
        ),
        (
            15,
            "registers pass 'after-nothing' to run after 'kse', but there is no such pass",
            "did you mean 'cse'?",
        ),
        (
            16,
            "registers pass 'help', which is the name of a flag of piper-opt",
            "choose another name",
        ),
        (
            17,
            "registers pass 'cse', which is the name of a pass of Piper itself",
            "choose another name",
        ),
        (
            18,
            "exports 'piper_plugin', but not as a function, so it is no plugin",
            "export 'const PiperPlugin *piper_plugin(void)'",
        ),
    ] {
        let folder = tempfile::TempDir::new().expect("a folder");
        let load = format!("--load-plugin={}", variant(folder.path(), HOSTILE, number));
        let (code, text, errors) = run(&[&load, "--list-passes"]);
        assert_eq!((code, &*text), (1, ""), "{number}: {errors}");
        assert!(errors.contains(message) && errors.contains(hint), "{number}: {errors}");
        // Editors get the hint apart.
        let (_, _, errors) = run(&[&load, "--list-passes", "--diagnostic-format=json"]);
        let object: serde_json::Value = serde_json::from_str(errors.trim()).expect("JSON");
        let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        assert!(text("message").contains(message), "{object}");
        assert!(text("hint").contains(hint) && !text("message").contains("hint"), "{object}");
    }
}

#[test]
fn what_is_wrong_with_its_dialects_is_told_where_it_stands() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let load = format!("--load-plugin={}", variant(folder.path(), HOSTILE, 19));
    let (code, _, errors) = run(&[&load, "--diagnostic-format=json"]);
    assert_eq!(code, 1, "{errors}");
    let objects: Vec<serde_json::Value> =
        errors.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let text = |at: usize, key: &str| objects[at][key].as_str().unwrap_or_default().to_owned();
    assert!(text(0, "message").ends_with("libmine.so' defines dialects that are none"), "{errors}");
    assert_eq!(text(1, "message"), "there is a dialect 'nn' already");
    assert_eq!((text(1, "file"), &objects[1]["line"]), ("hostile.irdl".to_owned(), &1.into()));
    assert!(text(1, "hint").ends_with("choose another name"), "{errors}");
}

#[test]
fn a_library_is_one_whichever_way_it_is_named() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = built(folder.path(), HOSTILE);
    let link = folder.path().join("liblink.so");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    let run = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let (registry, dialects) = (piper_passes::registry::all(), piper_dialects::all());
        let input = &mut "module {\n}\n".as_bytes();
        let output = piper_opt::main_with(registry, dialects, &args, input, folder.path());
        let said = [output.stdout, output.stderr].concat();
        (output.code, String::from_utf8_lossy(&said).into_owned())
    };
    let loads = ["libmine.so", "./libmine.so", "liblink.so", &*path];
    let loads = loads.map(|path| format!("--load-plugin={path}"));
    let keep = ["--keeps", "--mlir-generate-reproducer=again.pir"];
    let (code, said) = run(&[&loads.each_ref().map(|load| &**load)[..], &keep].concat());
    assert_eq!(code, 0, "{said}");
    // The reproducer names the one file, so that it runs in every folder; who loads it by another name trusts it.
    let again = std::fs::read_to_string(folder.path().join("again.pir")).expect("a reproducer");
    let file = Path::new(&path).canonicalize().expect("a file");
    assert_eq!(again.matches("--load-plugin=").count(), 1, "{again}");
    assert!(again.contains(&format!("--load-plugin={}", file.display())), "{again}");
    let (code, said) = run(&["--run-reproducer", "again.pir"]);
    assert!(code == 1 && said.contains("--trust-reproducer"), "{said}");
    for load in &loads {
        let (code, said) = run(&["--run-reproducer", load, "again.pir"]);
        assert_eq!(code, 0, "{said}");
    }
    // Sent on, it means the recipient's library of that name, wherever that is; without one it is not there.
    let elsewhere = again.replace(&*file.to_string_lossy(), "/no/such/folder/libmine.so");
    assert_ne!(elsewhere, again);
    std::fs::write(folder.path().join("again.pir"), elsewhere).expect("a writable folder");
    let (code, said) = run(&["--run-reproducer", &loads[0], "again.pir"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = run(&["--run-reproducer", "again.pir"]);
    assert!(code == 1 && said.contains("--trust-reproducer"), "{said}");
    let (code, said) = run(&["--run-reproducer", "--trust-reproducer", "again.pir"]);
    assert!(code == 1 && said.contains("no such file"), "{said}");
}
