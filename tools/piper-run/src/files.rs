//! Reading inputs and writing results, with errors that say which path and why.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::Failure;

/// The contents of a file. `what` is how messages call it: `data file`, say.
///
/// # Errors
/// A path that is missing, a folder, or not readable.
pub fn read(what: &str, path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    if path.is_dir() {
        return Err(Failure::with_hint(
            format!("cannot read {what} '{shown}': it is a folder"),
            "name a file in it",
        ));
    }
    fs::read(path).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::NotFound => "no such file".to_owned(),
            ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        let hint = "relative paths begin at the folder the program was started in";
        Failure::with_hint(format!("cannot read {what} '{shown}': {why}"), hint)
    })
}

/// The contents of a file of text.
///
/// # Errors
/// As [`read`], and bytes that are no UTF-8.
pub fn read_text(what: &str, path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(what, path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let shown = path.display();
        Failure::new(format!("{what} '{shown}' is not text: line {line} is not UTF-8"))
    })
}

/// Checks that a file could be written later, so that a long run does not end with a surprise.
///
/// # Errors
/// A path that is a folder or lies in no folder.
pub fn check_writable(what: &str, path: &Path) -> Result<(), Failure> {
    let failed =
        |why: &str| Failure::new(format!("cannot write {what} '{}': {why}", path.display()));
    if path.is_dir() {
        return Err(failed("it is a folder"));
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(failed("the folder does not exist"));
    }
    // Only an attempt tells whether a folder takes new files.
    let probe = beside(path);
    let made = fs::File::create_new(&probe).map(drop);
    let _ = fs::remove_file(&probe);
    made.map_err(|error| failed(&error.to_string()))
}

/// Writes a file whole or not at all.
///
/// # Errors
/// As [`check_writable`], or a disk that is full.
pub fn write(what: &str, path: &Path, contents: &[u8]) -> Result<(), Failure> {
    check_writable(what, path)?;
    let part = beside(path);
    let written = fs::File::create_new(&part)
        .and_then(|mut file| file.write_all(contents).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        Failure::new(format!("cannot write {what} '{}': {error}", path.display()))
    })
}

/// A name in the same folder that no other process uses.
fn beside(path: &Path) -> std::path::PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_or_written_says_why_and_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        let said = |r: Result<(), Failure>| r.expect_err("refused").to_string();
        assert!(said(read("data file", &at("none")).map(drop)).contains("no such file"));
        assert!(said(read("data file", folder.path()).map(drop)).contains("it is a folder"));
        fs::write(at("bytes"), b"a\n\xff").expect("written");
        assert!(said(read_text("text", &at("bytes")).map(drop)).contains("line 2 is not UTF-8"));
        fs::remove_file(at("bytes")).expect("removed");
        assert!(
            said(write("trace", &at("no/such/trace.json"), b"x"))
                .contains("the folder does not exist")
        );
        assert!(said(write("trace", folder.path(), b"x")).contains("it is a folder"));
        write("trace", &at("trace.json"), b"one").expect("written");
        write("trace", &at("trace.json"), b"two").expect("replaced");
        assert_eq!(read("trace", &at("trace.json")).expect("read"), b"two");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
