//! Two programs on one input, in turns, so that what else the machine does meets both.
//!
//! `mlir-opt` verifies while it parses and reports one time for both. A further run with its verifier off gives the time of
//! parsing alone, and the difference that of verifying. Its printer verifies once more what it prints in custom forms, which
//! ours never does; it is told to trust the module, so that printing is compared with printing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::process::{Run, run};

/// What only mlir-opt is told.
const THEIR_FLAG: &str = "--mlir-print-assume-verified";
/// What it is told besides, to parse alone.
const UNVERIFIED: &str = "--mlir-very-unsafe-disable-verifier-on-parsing";

/// The programs.
pub(crate) struct Tools {
    /// `piper-opt`.
    pub(crate) ours: PathBuf,
    /// `mlir-opt`, if there is one.
    pub(crate) theirs: Option<PathBuf>,
}

/// What is measured of one input.
pub(crate) struct Case {
    /// Heading of its table.
    pub(crate) title: String,
    /// The file that both read.
    pub(crate) input: PathBuf,
    /// Flags that both understand.
    pub(crate) flags: Vec<&'static str>,
    /// Where both write.
    pub(crate) output: PathBuf,
    /// Rows of its table.
    pub(crate) figures: Vec<Figure>,
}

/// Something that is smaller when better. Times in seconds, memory in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Figure {
    Parse,
    Verify,
    /// Both of the above.
    Read,
    Print,
    /// A pass under its names in both reports.
    Pass {
        ours: &'static str,
        theirs: &'static str,
    },
    Whole,
    /// Time of all processors.
    Busy,
    Memory,
}

/// One turn of each.
pub(crate) struct Round {
    pub(crate) ours: Run,
    pub(crate) theirs: Option<Run>,
    /// `mlir-opt` with its verifier off.
    unverified: Option<Run>,
}

impl Figure {
    /// All of a file that is only read and printed.
    pub(crate) const TEXT: [Self; 7] =
        [Self::Parse, Self::Verify, Self::Read, Self::Print, Self::Whole, Self::Busy, Self::Memory];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Verify => "verify",
            Self::Read => "parse and verify",
            Self::Print => "print",
            Self::Pass { ours, .. } => ours,
            Self::Whole => "whole process",
            Self::Busy => "processor time",
            Self::Memory => "peak memory",
        }
    }

    pub(crate) fn ours(self, round: &Round) -> f64 {
        let run = &round.ours;
        match self {
            Self::Parse => run.phase("Parser"),
            Self::Verify => run.phase("Verifier"),
            Self::Read => run.phase("Parser") + run.phase("Verifier"),
            Self::Pass { ours, .. } => run.phase(ours),
            Self::Print => run.phase("Output"),
            Self::Whole => run.wall,
            Self::Busy => run.busy,
            Self::Memory => run.memory as f64,
        }
    }

    pub(crate) fn theirs(self, round: &Round) -> Option<f64> {
        let run = round.theirs.as_ref()?;
        let unverified = || Some(round.unverified.as_ref()?.phase("Parser"));
        Some(match self {
            Self::Parse => unverified()?,
            Self::Verify => run.phase("Parser") - unverified()?,
            Self::Read => run.phase("Parser"),
            Self::Pass { theirs, .. } => run.phase(theirs),
            Self::Print => run.phase("Output"),
            Self::Whole => run.wall,
            Self::Busy => run.busy,
            Self::Memory => run.memory as f64,
        })
    }
}

impl Case {
    fn command(&self, tool: &Path, output: &Path, more: &[&str]) -> Command {
        let mut command = Command::new(tool);
        command.arg(&self.input).arg("-o").arg(output).args(&self.flags).args(more);
        command.args(["--allow-unregistered-dialect", "--mlir-timing"]);
        command.args(["--mlir-output-format=json", "--mlir-timing-display=tree"]);
        command
    }

    /// Runs both `rounds` times, in turns.
    ///
    /// # Errors
    /// When a run fails.
    pub(crate) fn rounds(&self, tools: &Tools, rounds: usize) -> Result<Vec<Round>> {
        let splits = self.figures.contains(&Figure::Parse);
        let once = |tool: &Path, more: &[&str]| run(&mut self.command(tool, &self.output, more));
        let round = |_| {
            let ours = once(&tools.ours, &[])?;
            let (mut theirs, mut unverified) = (None, None);
            if let Some(tool) = &tools.theirs {
                theirs = Some(once(tool, &[THEIR_FLAG])?);
                if splits {
                    unverified = Some(once(tool, &[THEIR_FLAG, UNVERIFIED])?);
                }
            }
            Ok(Round { ours, theirs, unverified })
        };
        (0..rounds).map(round).collect()
    }

    /// How many lines each tool prints: a check that both do the same work. Also brings the input into memory.
    ///
    /// # Errors
    /// When a run fails.
    pub(crate) fn lines(&self, tools: &Tools, folder: &Path) -> Result<(usize, Option<usize>)> {
        let output = folder.join("lines.mlir");
        let lines = |tool: &Path| -> Result<usize> {
            run(&mut self.command(tool, &output, &[]))?;
            let text = std::fs::read(&output)?;
            std::fs::remove_file(&output)?;
            Ok(text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count())
        };
        Ok((lines(&tools.ours)?, tools.theirs.as_deref().map(lines).transpose()?))
    }
}
