//! Writes the PTX of a catalogue of kernels, and assembles it with NVIDIA's assembler:
//!
//! `ptx_catalog FOLDER` writes one file for each architecture and element type;
//! `ptx_catalog FOLDER --ptxas PROGRAM [NAME.ARCHITECTURE.ptx ..]` also assembles these and the files named, prints a table
//! of what entries take, and fails if one does not assemble, spills registers, or takes more than a block may have.
//! `--only bf16` takes only that element type of the catalogue.

mod assembler;
#[path = "../../tests/support/ptx_catalog.rs"]
mod catalog;
mod verdict;

use piper_codegen::kernel::{Dtype, Kernel};
use piper_codegen::ptx::{Chip, compile};
use piper_codegen::{Isolation, child_main};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use verdict::{Launched, Row};

/// One file of PTX.
enum Job {
    /// Kernels of the catalogue, still to be compiled.
    Catalogue(Chip, Dtype),
    /// A file that is there.
    File(Chip, PathBuf),
}

struct Options {
    folder: PathBuf,
    ptxas: Option<PathBuf>,
    /// The element type to take of the catalogue, if not all.
    only: Option<String>,
    files: Vec<PathBuf>,
}

impl Options {
    fn read() -> Result<Self, String> {
        let mut args = std::env::args_os().skip(1);
        let folder = args.next().ok_or("which folder?")?.into();
        let (mut ptxas, mut only, mut files) = (None, None, vec![]);
        while let Some(arg) = args.next() {
            if arg == "--ptxas" {
                ptxas = Some(args.next().ok_or("--ptxas: which program?")?.into());
            } else if arg == "--only" {
                let dtype = args.next().ok_or("--only: which element type?")?;
                only = Some(dtype.to_string_lossy().into_owned());
            } else {
                files.push(arg.into());
            }
        }
        Ok(Self { folder, ptxas, only, files })
    }
}

fn main() -> ExitCode {
    child_main();
    match Options::read().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    std::fs::create_dir_all(&options.folder).map_err(|e| format!("{:?}: {e}", options.folder))?;
    let mut jobs = vec![];
    for file in &options.files {
        let chip = Chip::ALL
            .into_iter()
            .find(|chip| file.to_string_lossy().ends_with(&format!(".{}.ptx", chip.name())));
        let chip = chip.ok_or_else(|| format!("{}: for which chip?", file.display()))?;
        jobs.push(Job::File(chip, file.clone()));
    }
    let is_wanted = |dtype: &Dtype| options.only.as_ref().is_none_or(|only| *only == name(*dtype));
    jobs.extend(
        catalog::DTYPES
            .into_iter()
            .filter(is_wanted)
            .flat_map(|d| chips(d).map(move |chip| Job::Catalogue(chip, d))),
    );
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![]));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(number) else { return };
                    let outcome = job.run(options);
                    done.lock().expect("no job panics").push((number, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no job panics");
    done.sort_by_key(|(number, _)| *number);
    let (mut rows, mut faults) = (vec![], vec![]);
    for (_, outcome) in done {
        match outcome {
            Ok((row, wrong)) => {
                rows.extend(row);
                faults.extend(wrong);
            }
            Err(why) => faults.push(why),
        }
    }
    if options.ptxas.is_some() {
        print!("{}", verdict::table(&rows));
    }
    match faults.len() {
        0 => Ok(()),
        count => Err(format!("{count} faults\n{}", faults.join("\n"))),
    }
}

impl Job {
    /// The row of the table, if there is an assembler, and what is wrong.
    fn run(&self, options: &Options) -> Result<(Option<Row>, Vec<String>), String> {
        match self {
            Self::Catalogue(chip, dtype) => {
                let source = format!("catalogue {}", name(*dtype));
                let (path, launched) = compiled(&options.folder, *chip, *dtype)?;
                assembled(options, &source, *chip, &path, &launched)
            }
            Self::File(chip, path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|e| format!("{}: {e}", path.display()))?;
                let dynamic = dynamic_shared(&text);
                let launched: Vec<_> = assembler::blocks(&text)
                    .into_iter()
                    .zip(dynamic.into_iter().chain(std::iter::repeat(0)))
                    .map(|((entry, block), dynamic_shared)| Launched {
                        entry,
                        block,
                        dynamic_shared,
                    })
                    .collect();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let source = name.split('.').next().unwrap_or_default().to_owned();
                assembled(options, &source, *chip, path, &launched)
            }
        }
    }
}

/// The shared memory that a launch adds for each entry of a file of `piper-opt --emit=ptx`, which says so at its head.
fn dynamic_shared(text: &str) -> Vec<u32> {
    let head = text
        .lines()
        .map_while(|line| line.strip_prefix("// "))
        .filter(|line| line.contains(": grid "));
    let bytes = |stage: &str| {
        let words: Vec<_> = stage.split([' ', ',']).collect();
        words.windows(2).find(|pair| pair[0] == "shared").and_then(|pair| pair[1].parse().ok())
    };
    head.flat_map(|line| line.split(", then ")).map(|stage| bytes(stage).unwrap_or(0)).collect()
}

/// The chips that kernels over an element type differ for.
fn chips(dtype: Dtype) -> impl Iterator<Item = Chip> {
    let more = (dtype == Dtype::Bf16).then_some(Chip::Sm90aWarpgroups);
    Chip::ALL.into_iter().chain(more)
}

fn name(dtype: Dtype) -> String {
    format!("{dtype:?}").to_lowercase()
}

fn assembled(
    options: &Options,
    source: &str,
    chip: Chip,
    path: &Path,
    launched: &[Launched],
) -> Result<(Option<Row>, Vec<String>), String> {
    let Some(ptxas) = &options.ptxas else { return Ok((None, vec![])) };
    let entries = assembler::assemble(ptxas, chip, path)?;
    let mut faults = vec![];
    let row = verdict::row(source, chip, &entries, launched, &mut faults);
    Ok((Some(row), faults))
}

/// Writes the catalogue's kernels over one element type; the file, and how its entries are launched.
fn compiled(folder: &Path, chip: Chip, dtype: Dtype) -> Result<(PathBuf, Vec<Launched>), String> {
    let of_type = |kernel: &Kernel| kernel.dtype == dtype;
    let name = name(dtype);
    let kernels: Vec<_> =
        catalog::all().into_iter().filter(of_type).map(|k| (k.symbol(), k)).collect();
    let (text, launched) =
        compile(&kernels, chip, Isolation::Child).map_err(|e| format!("{}: {e}", chip.name()))?;
    let path = folder.join(format!("catalogue-{name}.{}.ptx", chip.name()));
    std::fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))?;
    let blocks = assembler::blocks(&text);
    let mut stages = vec![];
    for stage in launched.iter().flat_map(|kernel| &kernel.stages) {
        if !blocks.contains(&(stage.entry.clone(), stage.block)) {
            return Err(format!("{}: no entry is made for blocks of {}", stage.entry, stage.block));
        }
        stages.push(Launched {
            entry: stage.entry.clone(),
            block: stage.block,
            dynamic_shared: stage.dynamic_shared_bytes,
        });
    }
    println!("{}: {} kernels, {} entries", path.display(), launched.len(), stages.len());
    Ok((path, stages))
}
