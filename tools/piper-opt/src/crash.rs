//! A panic inside a pass is a fault of Piper's, not of the input: it is reported as such, with a file that reruns it.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The first line of a reproducer: what follows are arguments.
pub(crate) const MARKER: &str = "// piper-opt reproducer: ";

thread_local! {
    /// Message and place of the latest panic of this thread.
    static LATEST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps panics off the terminal and remembers where they were, for the whole process: for the program, not for tests.
pub(crate) fn record_panics() {
    std::panic::set_hook(Box::new(|info| {
        let mut text = info.to_string();
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v != "0") {
            text = format!("{text}\n{}", std::backtrace::Backtrace::force_capture());
        }
        LATEST.set(Some(text));
    }));
}

/// Runs `body`; a panic becomes its message.
pub(crate) fn guarded<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        LATEST.take().unwrap_or_else(|| {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            text.unwrap_or("a panic without a message").to_owned()
        })
    })
}

/// Writes the input with the arguments at its head, and returns the path to show.
///
/// # Errors
/// Neither the folder nor the one for temporary files can be written.
pub(crate) fn write_reproducer(
    wanted: Option<&str>,
    input: &str,
    args: &[String],
    cwd: &Path,
) -> Result<String, String> {
    let args: Vec<String> = args.iter().map(|arg| quote(arg)).collect();
    let text = format!("{MARKER}{}\n{input}", args.join(" "));
    let name = format!("piper-crash-{:08x}.pir", checksum(&text));
    if let Some(path) = wanted {
        return crate::files::write(path, text.as_bytes(), cwd).map(|()| path.to_owned());
    }
    crate::files::write(&name, text.as_bytes(), cwd).map(|()| name.clone()).or_else(|_| {
        let path = std::env::temp_dir().join(&name).to_string_lossy().into_owned();
        crate::files::write(&path, text.as_bytes(), cwd).map(|()| path)
    })
}

/// The arguments at the head of a reproducer.
pub(crate) fn reproducer_args(input: &str) -> Option<Vec<String>> {
    let line = input.lines().next()?.strip_prefix(MARKER)?;
    let (mut args, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            '\'' => (quoted, any) = (!quoted, true),
            ' ' if !quoted => {
                if any {
                    args.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => {
                word.push(c);
                any = true;
            }
        }
    }
    if any {
        args.push(word);
    }
    Some(args)
}

/// An argument as a shell takes it. Quotes inside cannot be kept between quotes; pipelines can do with the other kind.
fn quote(arg: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/".contains(c);
    if !arg.is_empty() && arg.chars().all(plain) {
        return arg.to_owned();
    }
    format!("'{}'", arg.replace('\'', "\"").replace('\n', " "))
}

/// FNV-1a: the same crash gets the same file.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::{MARKER, quote, reproducer_args};

    #[test]
    fn arguments_survive_the_head_of_a_reproducer() {
        let args = ["--pass", "split{into=4 by='x'}", "--verify-each=false"].map(str::to_owned);
        let line = args.iter().map(|arg| quote(arg)).collect::<Vec<_>>().join(" ");
        assert_eq!(line, "--pass 'split{into=4 by=\"x\"}' --verify-each=false");
        let read = reproducer_args(&format!("{MARKER}{line}\nmodule {{}}\n")).expect("a head");
        assert_eq!(read, ["--pass", "split{into=4 by=\"x\"}", "--verify-each=false"]);
        assert_eq!(reproducer_args("module {}"), None);
    }
}
