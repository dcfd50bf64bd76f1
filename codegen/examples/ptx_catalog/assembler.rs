//! `ptxas`: what it makes of a file, entry by entry, as its option `-v` tells.

use piper_codegen::ptx::Chip;
use std::io;
use std::path::Path;
use std::process::Command;

/// What `ptxas` says of one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// 32-bit registers of a thread.
    pub(crate) registers: u32,
    /// Bytes of registers that a thread keeps in memory, and bytes of arrays there.
    pub(crate) spilled: u32,
    pub(crate) stack: u32,
    /// Bytes of shared memory that the entry declares.
    pub(crate) shared: u32,
}

/// Assembles a file.
///
/// # Errors
/// What `ptxas` says is wrong with the file, or that it cannot be started.
pub(crate) fn assemble(ptxas: &Path, chip: Chip, file: &Path) -> Result<Vec<Entry>, String> {
    let cubin = file.with_extension("cubin");
    let mut command = Command::new(ptxas);
    command.args(["-v", "-arch", chip.architecture(), "-o"]).arg(&cubin).arg(file);
    let output = command.output().map_err(|e: io::Error| format!("{}: {e}", ptxas.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(entries(&said));
    }
    let wrong: Vec<_> = said.lines().filter(|line| !line.starts_with("ptxas info")).collect();
    Err(format!("{}: {}", file.display(), wrong.join("\n")))
}

/// The entries that `ptxas -v` tells of.
fn entries(said: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = vec![];
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default().to_owned();
            entries.push(Entry { name, ..Entry::default() });
        }
        let Some(entry) = entries.last_mut() else { continue };
        for part in line.split([',', ':']) {
            let Some((count, what)) = part.trim().trim_start_matches("Used ").split_once(' ')
            else {
                continue;
            };
            let Ok(count) = count.parse() else { continue };
            match what {
                "registers" => entry.registers = count,
                "bytes spill stores" => entry.spilled = count,
                "bytes stack frame" => entry.stack = count,
                "bytes smem" => entry.shared = count,
                _ => {}
            }
        }
    }
    entries
}

/// Of each entry of a PTX text the name and the threads of a block that it says it is made for.
pub(crate) fn blocks(text: &str) -> Vec<(String, u32)> {
    let mut found: Vec<(String, u32)> = vec![];
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once(".entry ") {
            found.push((rest.trim_end_matches(['(', ' ']).to_owned(), 0));
        } else if let (Some(threads), Some(last)) =
            (line.strip_prefix(".maxntid "), found.last_mut())
        {
            last.1 = threads.split(',').filter_map(|n| n.trim().parse::<u32>().ok()).product();
        }
    }
    found
}
