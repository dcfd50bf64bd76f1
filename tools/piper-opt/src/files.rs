//! Reading the input and writing the output, with errors a person can act on.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The input's text and the name it has in locations.
///
/// # Errors
/// One line for a file that is missing, a folder, not readable or not UTF-8.
pub(crate) fn read(
    input: &str,
    stdin: &mut dyn Read,
    cwd: &Path,
) -> Result<(String, String), String> {
    let mut bytes = Vec::new();
    let name = if input == "-" {
        stdin
            .read_to_end(&mut bytes)
            .map_err(|error| format!("cannot read standard input: {error}"))?;
        "<stdin>".to_owned()
    } else {
        let path = cwd.join(input);
        if path.is_dir() {
            return Err(format!("cannot read '{input}': it is a folder"));
        }
        bytes = std::fs::read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("cannot read '{input}': no such file"),
            _ => format!("cannot read '{input}': {error}"),
        })?;
        input.to_owned()
    };
    if u32::try_from(bytes.len()).is_err() {
        return Err(format!("'{name}' has {} bytes; at most 4 GiB can be read", bytes.len()));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((name, text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            let line = bytes[..at].iter().filter(|b| **b == b'\n').count() + 1;
            let byte = bytes[at];
            Err(format!("'{name}' is not UTF-8 text: byte 0x{byte:02X} on line {line}"))
        }
    }
}

/// Writes a file whole or not at all.
///
/// # Errors
/// One line that says which path and why.
pub(crate) fn write(output: &str, contents: &[u8], cwd: &Path) -> Result<(), String> {
    let given = cwd.join(output);
    // A link keeps pointing where it did; what it points at is replaced.
    let path = std::fs::canonicalize(&given).unwrap_or(given);
    let failed = |error: std::io::Error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "the folder does not exist; make it first".to_owned(),
            _ => error.to_string(),
        };
        format!("cannot write '{output}': {why}")
    };
    if path.is_dir() {
        return Err(format!("cannot write '{output}': it is a folder; name a file in it"));
    }
    if path.exists() && !path.is_file() {
        // A device or a pipe cannot be replaced.
        return std::fs::write(&path, contents).map_err(failed);
    }
    let part = part_beside(&path);
    let written = std::fs::File::create_new(&part)
        .and_then(|mut file| file.write_all(contents).and_then(|()| file.sync_all()))
        .and_then(|()| match std::fs::metadata(&path) {
            Ok(old) => std::fs::set_permissions(&part, old.permissions()),
            Err(_) => Ok(()),
        })
        .and_then(|()| std::fs::rename(&part, &path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&part);
        failed(error)
    })
}

/// Writes a file, with the folders above it.
///
/// # Errors
/// One line that says which path and why.
pub(crate) fn write_with_folders(path: &Path, contents: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, contents))
        .map_err(|error| format!("cannot write '{}': {error}", path.display()))
}

/// A name in the same folder that no other running process uses.
fn part_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let thread = format!("{:?}", std::thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    path.with_file_name(format!(".{name}.{}-{thread}.part", std::process::id()))
}
