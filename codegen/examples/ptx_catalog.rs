//! Writes the PTX of a catalogue of kernels, one file an architecture: `ptx_catalog DIRECTORY`.

#[path = "../tests/support/ptx_catalog.rs"]
mod catalog;

use piper_codegen::ptx::{Chip, compile};
use piper_codegen::{Isolation, child_main};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    child_main();
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("which directory?")?);
    std::fs::create_dir_all(&folder)?;
    let kernels: Vec<_> = catalog::all().into_iter().map(|k| (k.symbol(), k)).collect();
    for chip in Chip::ALL {
        let (text, launched) = compile(&kernels, chip, Isolation::Child)?;
        let stages: usize = launched.iter().map(|kernel| kernel.stages.len()).sum();
        let path = folder.join(format!("catalog.{}.ptx", chip.name()));
        std::fs::write(&path, &text)?;
        println!("{}: {} kernels, {stages} entries", path.display(), launched.len());
    }
    Ok(())
}
