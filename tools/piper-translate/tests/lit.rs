//! Runs `test/lit/piper-translate` in this process. Elsewhere these files are skipped: they need its feature.

use std::path::Path;

use piper_lit::{Output, Suite};

fn piper_translate(args: &[String], mut stdin: &[u8], cwd: &Path) -> Output {
    let done = piper_translate::main_with(args, &mut stdin, cwd);
    Output { stdout: done.stdout, stderr: done.stderr, code: i32::from(done.code) }
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = root.join("examples").to_string_lossy().into_owned();
    let vectors = root.join("test/vectors").to_string_lossy().into_owned();
    Suite::new(root.join("test/lit/piper-translate"))
        .tool("piper-translate", piper_translate)
        .feature("piper-translate")
        .substitution("%examples", &examples)
        .substitution("%vectors", &vectors)
        .run()
        .exit();
}
