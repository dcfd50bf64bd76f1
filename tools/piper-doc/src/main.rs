//! Writes the reference pages: `cargo xtask docs`.

use std::path::Path;

fn main() -> anyhow::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let written = piper_doc::write(&docs)?;
    match written.len() {
        0 => println!("The reference is up to date."),
        count => println!("Wrote {count} page(s): {}", written.join(", ")),
    }
    Ok(())
}
