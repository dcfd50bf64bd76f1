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

/// A file that is written whole or not at all: it takes the place of the old one when it is kept.
pub(crate) struct OutputFile {
    given: String,
    path: PathBuf,
    /// What is written, beside the path, or the path itself if it is a device or a pipe, which cannot be replaced.
    part: PathBuf,
    /// Made by the first write, so that a run that is stopped before leaves nothing behind.
    file: Option<std::fs::File>,
    /// The first error of writing; nothing is written after it.
    failure: Option<std::io::Error>,
}

impl OutputFile {
    /// Begins to write.
    ///
    /// # Errors
    /// One line that says which path and why; so do the other functions.
    pub(crate) fn create(output: &str, cwd: &Path) -> Result<Self, String> {
        let given = cwd.join(output);
        // A link keeps pointing where it did; what it points at is replaced.
        let path = std::fs::canonicalize(&given).unwrap_or(given);
        if path.is_dir() {
            return Err(format!("cannot write '{output}': it is a folder; name a file in it"));
        }
        let part = match path.exists() && !path.is_file() {
            true => path.clone(),
            false => part_beside(&path),
        };
        Ok(Self { given: output.to_owned(), path, part, file: None, failure: None })
    }

    /// Writes more.
    ///
    /// # Errors
    /// It could not be written, now or before; [`keep`](Self::keep) says why.
    pub(crate) fn write(&mut self, text: &[u8]) -> std::io::Result<()> {
        if self.failure.is_none() {
            self.failure = self.write_here(text).err();
        }
        match &self.failure {
            Some(failure) => Err(failure.kind().into()),
            None => Ok(()),
        }
    }

    fn write_here(&mut self, text: &[u8]) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(match self.part == self.path {
                true => std::fs::File::options().write(true).open(&self.path)?,
                false => std::fs::File::create_new(&self.part)?,
            }),
        };
        file.write_all(text)
    }

    /// Puts the file in its place, unless writing it failed.
    pub(crate) fn keep(mut self) -> Result<(), String> {
        let placed = match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.place(),
        };
        placed.map_err(|error| cannot_write(&self.given, &error))
    }

    fn place(&self) -> std::io::Result<()> {
        if self.part == self.path {
            return Ok(());
        }
        if let Ok(old) = std::fs::metadata(&self.path) {
            std::fs::set_permissions(&self.part, old.permissions())?;
        }
        std::fs::rename(&self.part, &self.path)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if self.file.is_some() && self.part != self.path {
            // It is gone already if it was kept.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// Writes a file whole or not at all.
///
/// # Errors
/// One line that says which path and why.
pub(crate) fn write(output: &str, contents: &str, cwd: &Path) -> Result<(), String> {
    let mut file = OutputFile::create(output, cwd)?;
    // The file remembers what went wrong.
    let _ = file.write(contents.as_bytes());
    file.keep()
}

fn cannot_write(output: &str, error: &std::io::Error) -> String {
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "the folder does not exist; make it first".to_owned(),
        _ => error.to_string(),
    };
    format!("cannot write '{output}': {why}")
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
