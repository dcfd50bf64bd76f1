//! What is demanded of assembled entries, and the table of what they take.

use crate::assembler::Entry;
use piper_codegen::ptx::{Chip, ChipLimits};

/// An entry as it is launched: its block, and the shared memory that the launch adds.
pub(crate) struct Launched {
    pub(crate) entry: String,
    pub(crate) block: u32,
    pub(crate) dynamic_shared: u32,
}

/// A row of the table: the entries of one source for one chip.
pub(crate) struct Row {
    source: String,
    chip: Chip,
    entries: usize,
    registers: u32,
    spilled: u32,
    shared: u32,
    /// Threads that one multiprocessor holds of the entry that leaves most places empty.
    resident: u32,
}

/// Compares assembled entries with how they are launched; what is wrong goes to `faults`.
pub(crate) fn row(
    source: &str,
    chip: Chip,
    assembled: &[Entry],
    launched: &[Launched],
    faults: &mut Vec<String>,
) -> Row {
    let limits = chip.limits();
    let mut row = Row {
        source: source.into(),
        chip,
        entries: assembled.len(),
        registers: 0,
        spilled: 0,
        shared: 0,
        resident: limits.threads,
    };
    let mut fault =
        |name: &str, why: String| faults.push(format!("{source}, {}, {name}: {why}", chip.name()));
    for launch in launched {
        if !assembled.iter().any(|entry| entry.name == launch.entry) {
            fault(&launch.entry, "is launched but was not assembled".into());
        }
    }
    for entry in assembled {
        let Some(launch) = launched.iter().find(|launch| launch.entry == entry.name) else {
            fault(&entry.name, "is never launched".into());
            continue;
        };
        let resident = residence(&limits, entry, launch).unwrap_or_else(|why| {
            fault(&entry.name, why);
            0
        });
        row.registers = row.registers.max(entry.registers);
        row.spilled += entry.spilled + entry.stack;
        row.shared = row.shared.max(entry.shared + launch.dynamic_shared);
        row.resident = row.resident.min(resident);
    }
    row
}

/// Threads of an entry that one multiprocessor holds.
///
/// # Errors
/// What of the entry a chip cannot hold, or that it keeps registers in memory.
fn residence(limits: &ChipLimits, entry: &Entry, launch: &Launched) -> Result<u32, String> {
    if entry.spilled + entry.stack > 0 {
        return Err(format!(
            "{} bytes of registers spilled, {} bytes of stack",
            entry.spilled, entry.stack
        ));
    }
    let shared = entry.shared + launch.dynamic_shared;
    if entry.shared > limits.static_shared_bytes || shared > limits.block_shared_bytes {
        return Err(format!(
            "{} bytes of shared memory are declared, {} asked for at launch; a block may have {} and {} in all",
            entry.shared,
            launch.dynamic_shared,
            limits.static_shared_bytes,
            limits.block_shared_bytes
        ));
    }
    if entry.registers > limits.thread_registers {
        return Err(format!(
            "{} registers; a thread has {}",
            entry.registers, limits.thread_registers
        ));
    }
    match limits.resident_blocks(launch.block, entry.registers, shared) {
        0 => Err(format!(
            "no multiprocessor holds a block of {} threads with {} registers and {shared} bytes of shared memory",
            launch.block, entry.registers
        )),
        blocks => Ok(blocks * launch.block),
    }
}

/// The table, one line a row.
pub(crate) fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.source.len()).max().unwrap_or(0).max(6);
    let mut text = format!(
        "{:width$}  {:8} {:>7} {:>9} {:>8} {:>8} {:>8}\n",
        "source", "chip", "entries", "registers", "spilled", "shared", "resident"
    );
    for row in rows {
        text += &format!(
            "{:width$}  {:8} {:>7} {:>9} {:>6} B {:>6} B {:>8}\n",
            row.source,
            row.chip.name(),
            row.entries,
            row.registers,
            row.spilled,
            row.shared,
            row.resident
        );
    }
    text + "registers and shared: the most of an entry; resident: the fewest threads a multiprocessor holds\n"
}
