//! `piper-run gpu-check`: what a machine with one GPU can tell of the `cuda` back end, in a few minutes and without a network.
//!
//! What has to be right (training beside a processor, replayed steps, memory) passes or fails; speeds are shown beside what
//! they can be compared with.

mod launches;

use std::time::Duration;

use piper_codegen::kernel::{self, Attention, Body, Dtype};
use piper_codegen::ptx::Chip;
use piper_codegen::{Compiler, Kernel, catalog};
use piper_cuda::{DeviceInfo, Gemm, Options, Session, World};
use piper_plan::{Method, Partition, partition};
use piper_runtime::{SliceMut, StopFlag};

use crate::Failure;
use crate::args::GpuCheckArgs;
use crate::compare::Tier;
use crate::compile::{self, compile};
use crate::cuda::{CudaOptions, chip_of_machine, open};
use crate::data::Corpus;
use crate::engine::Engine;
use crate::lower::best_level;
use crate::models::Gpt;
use crate::run::{Ending, EngineOptions, compiler};
use crate::say::say;
use crate::train::Training;
use launches::Launches;

/// How large everything is.
struct Sizes {
    /// Width, blocks, heads, sequence and batch of the model, and steps.
    model: [usize; 5],
    steps: u64,
    gemm: u64,
    /// Batch, sequence, heads and width of a head.
    attention: [u64; 4],
    repeats: usize,
    launches: usize,
}

const FULL: Sizes = Sizes {
    model: [256, 4, 4, 128, 8],
    steps: 6,
    gemm: 4096,
    attention: [8, 2048, 16, 64],
    repeats: 10,
    launches: 1000,
};

const SMALL: Sizes = Sizes {
    model: [32, 2, 2, 16, 4],
    steps: 3,
    gemm: 64,
    attention: [1, 32, 2, 16],
    repeats: 2,
    launches: 20,
};

/// A line of the table.
struct Row {
    what: String,
    found: String,
    /// `None`: there is nothing that it would have to be.
    is_right: Option<bool>,
}

/// What is checked, and how.
struct Check<'a> {
    sizes: &'a Sizes,
    is_small: bool,
    device: DeviceInfo,
    has_cublaslt: bool,
    chip: Chip,
    compiler: Compiler,
    stop: StopFlag,
    rows: Vec<Row>,
}

/// Runs everything, prints the table and a verdict.
///
/// # Errors
/// No GPU, and whatever keeps a part from running.
pub fn gpu_check(args: &GpuCheckArgs, stop: &StopFlag) -> Result<Ending, Failure> {
    let devices = piper_cuda::devices().map_err(|e| Failure::new(e.to_string()))?;
    let chip = chip_of_machine()?;
    let Some(device) = devices.into_iter().next() else {
        return Err(Failure::new("there is no CUDA device"));
    };
    if !cfg!(feature = "llvm") {
        return Err(Failure::with_hint(
            "this build has no LLVM, so there is no PTX to check",
            "build with --features llvm (cargo xtask gpu-check does)",
        ));
    }
    let (major, minor) = device.capability;
    let cublaslt = piper_cuda::cublaslt_version();
    say!(
        "{}: compute capability {major}.{minor}, {} multiprocessors, driver for CUDA {}, code for {}, {}, {}",
        device.name,
        device.multiprocessors,
        device.driver,
        chip.name(),
        match piper_cuda::nccl_version() {
            Ok(version) => format!("NCCL {version}"),
            Err(_) => "no NCCL".to_owned(),
        },
        match &cublaslt {
            Ok(version) => format!("cuBLASLt {version}"),
            Err(_) => "no cuBLASLt".to_owned(),
        }
    );
    let sizes = if args.small { &SMALL } else { &FULL };
    let mut check = Check {
        sizes,
        is_small: args.small,
        device,
        has_cublaslt: cublaslt.is_ok(),
        chip,
        compiler: compiler(true),
        stop: stop.clone(),
        rows: Vec::new(),
    };
    check.training()?;
    check.products()?;
    check.attention()?;
    check.launch_overhead()?;
    check.partitions()?;
    Ok(check.verdict())
}

impl Check<'_> {
    fn row(&mut self, what: impl Into<String>, found: impl Into<String>, is_right: Option<bool>) {
        let row = Row { what: what.into(), found: found.into(), is_right };
        let mark = match row.is_right {
            Some(true) => "ok",
            Some(false) => "WRONG",
            None => "",
        };
        // As they come: a run that is ended early has told something.
        say!("{:<34} {:<52} {mark}", row.what, row.found);
        self.rows.push(row);
    }

    fn verdict(&self) -> Ending {
        let wrong: Vec<&str> = self
            .rows
            .iter()
            .filter(|row| row.is_right == Some(false))
            .map(|row| &row.what[..])
            .collect();
        let checked = self.rows.iter().filter(|row| row.is_right.is_some()).count();
        if wrong.is_empty() {
            say!("verdict: all {checked} checks passed");
            return Ending::Done;
        }
        say!("verdict: {} of {checked} checks failed: {}", wrong.len(), wrong.join(", "));
        Ending::Differs
    }

    fn options(&self, graphs: bool) -> CudaOptions {
        CudaOptions {
            chip: self.chip,
            world: World::default(),
            graphs,
            check_launches: false,
            trace: false,
            gemm: Gemm::Own,
            timeout: Duration::from_secs(120),
            stop: self.stop.clone(),
        }
    }

    /// Trains beside a processor, and once more as graphs.
    fn training(&mut self) -> Result<(), Failure> {
        let [width, layers, heads, length, batch] = self.sizes.model;
        let text = Gpt::text_to_measure(width, layers, heads, length, batch);
        let bytes = include_bytes!("mod.rs").to_vec();
        let corpus = Corpus::of("its own source", bytes, 0)?;
        let mut losses = Vec::new();
        let mut walls = Vec::new();
        for graphs in [false, true] {
            let mut ours = compile("gpu-check", &text, compile::Options::default())?;
            corpus.check(&ours.feeds)?;
            let training = Training {
                corpus: &corpus,
                steps: self.sizes.steps,
                learning_rate: ours.learning_rate.clone(),
                stop: self.stop.clone(),
            };
            let mut engine = open(&mut ours, &self.options(graphs), true, &self.compiler)?;
            if graphs {
                let mut all = Vec::new();
                let mut last = Duration::ZERO;
                for _ in 0..self.sizes.steps {
                    let step = engine.step(&corpus).map_err(|fault| stopped(&fault))?;
                    all.push(step.loss);
                    last = step.wall;
                }
                let is_same = all.iter().map(|l: &f64| l.to_bits()).eq(losses.iter().copied());
                walls.push(last);
                let speed = format!(
                    "{:.2} ms a step, {:.2} ms without",
                    walls[1].as_secs_f64() * 1e3,
                    walls[0].as_secs_f64() * 1e3
                );
                self.row("graph replay, same losses", speed, Some(is_same));
                continue;
            }
            let single = compile::Options { single: true, ..compile::Options::default() };
            let mut single = compile("gpu-check", &text, single)?;
            let level = EngineOptions {
                level: best_level(),
                gradients: true,
                compiler: self.compiler.clone(),
                ..EngineOptions::default()
            };
            let mut reference = crate::run::open(&mut single, &level)?;
            let trained = training.run(&mut engine, Some(&mut *reference), |_| ())?;
            losses = trained.losses.iter().map(|loss| loss.to_bits()).collect();
            walls.push(trained.wall / self.sizes.steps.max(1) as u32);
            let comparison = trained.comparison.unwrap_or_default();
            let found = format!("{} steps, tokens {}", self.sizes.steps, batch * length);
            self.row("training as on a processor", found, Some(comparison.meets(Tier::F32)));
            if !comparison.meets(Tier::F32) {
                say!("{}", comparison.report(Tier::F32).trim_end());
            }
            let memory = engine.memory();
            let is_planned = memory.iter().all(|(_, m)| m.used <= m.planned && m.used > 0);
            let found = memory.first().map_or(String::new(), |(_, m)| {
                format!("{} B planned, {} B used, workspace {} B", m.planned, m.used, m.workspace)
            });
            self.row("memory as planned", found, Some(is_planned));
        }
        Ok(())
    }

    /// Seconds of one launch: of the fastest of a few steps.
    fn seconds(&self, launches: &Launches, options: Options) -> Result<(f64, Duration), Failure> {
        let plan = launches.plan(self.chip, &self.compiler)?;
        let failed = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
        let mut session = Session::load(plan, options).map_err(|e| failed(&e))?;
        let none = |_: u64, _: &piper_plan::Input, _: SliceMut<'_>| Ok(());
        let (mut best, mut issue) = (f64::INFINITY, Duration::MAX);
        for step in 0..5 {
            let report = session.step(&none).map_err(|e| failed(&e))?;
            // The first warms up, the second captures the graph.
            if step > 1 {
                best = best.min(report.wall.as_secs_f64() / launches.repeats as f64);
                let issued = session.issue_times().first().copied().unwrap_or_default();
                issue = issue.min(issued);
            }
        }
        Ok((best, issue))
    }

    fn gemm(&self, dtype: Dtype, partition: Option<Partition>) -> Launches {
        let size = self.sizes.gemm;
        let body = Body::Gemm(kernel::Gemm {
            m: size,
            n: size,
            k: size,
            transpose_a: false,
            transpose_b: false,
            batch: 1,
            bias: false,
            accumulate: false,
            epilogue: None,
        });
        let kernel = Kernel::new(dtype, body);
        Launches { kernel, repeats: self.sizes.repeats, is_chain: false, partition }
    }

    fn products(&mut self) -> Result<(), Failure> {
        let size = self.sizes.gemm;
        let flops = 2.0 * (size as f64).powi(3);
        for (name, dtype) in [("f32", Dtype::F32), ("bf16", Dtype::Bf16)] {
            let launches = self.gemm(dtype, None);
            let (seconds, _) = self.seconds(&launches, Options::default())?;
            let options = Options { gemm: Gemm::CublasLt, ..Options::default() };
            let theirs = match self.has_cublaslt {
                true => {
                    let (theirs, _) = self.seconds(&launches, options)?;
                    format!("cuBLASLt {:.2}", flops / theirs / 1e12)
                }
                false => "no cuBLASLt here".to_owned(),
            };
            let found = format!("{:.2} TFLOP/s; {theirs}", flops / seconds / 1e12);
            self.row(format!("product {size} {name}"), found, None);
        }
        Ok(())
    }

    fn attention(&mut self) -> Result<(), Failure> {
        let [batch, seq, heads, head_dim] = self.sizes.attention;
        let shape = Attention { batch, seq, heads, kv_heads: heads, head_dim };
        // Of the causal half: two products of seq x seq x head_dim.
        let flops = 2.0 * (batch * heads * seq * seq * head_dim) as f64;
        for (name, dtype) in [("f32", Dtype::F32), ("bf16", Dtype::Bf16)] {
            let kernel = Kernel::new(dtype, Body::Attention { shape, lse: false });
            let launches =
                Launches { kernel, repeats: self.sizes.repeats, is_chain: false, partition: None };
            let (seconds, _) = self.seconds(&launches, Options::default())?;
            let found = format!("{:.2} TFLOP/s of the causal half", flops / seconds / 1e12);
            self.row(format!("attention {seq} x {heads} x {head_dim} {name}"), found, None);
        }
        Ok(())
    }

    fn launch_overhead(&mut self) -> Result<(), Failure> {
        let launches = Launches {
            kernel: catalog::add(Dtype::F32, 256),
            repeats: self.sizes.launches,
            is_chain: true,
            partition: None,
        };
        let (seconds, issue) = self.seconds(&launches, Options::default())?;
        let options = Options { graphs: true, ..Options::default() };
        let (replayed, _) = self.seconds(&launches, options)?;
        let found = format!(
            "{:.2} us to issue, {:.2} us each; {:.2} us each in a graph",
            issue.as_secs_f64() * 1e6 / self.sizes.launches as f64,
            seconds * 1e6,
            replayed * 1e6
        );
        self.row(format!("{} small launches", self.sizes.launches), found, None);
        Ok(())
    }

    /// The same product on a part of the multiprocessors.
    fn partitions(&mut self) -> Result<(), Failure> {
        let total = self.device.multiprocessors;
        let (major, minor) = self.device.capability;
        let arch = format!("sm_{major}{minor}");
        let Some(granularity) = partition::granularity(&arch) else {
            self.row("partition", format!("{arch} cannot be divided"), None);
            return Ok(());
        };
        let size = (total / 4 / granularity.multiple * granularity.multiple).max(granularity.least);
        let part = Partition {
            name: "part".to_owned(),
            method: Method::Green,
            size,
            total,
            arch,
            ctas: None,
            streams: vec!["compute".to_owned()],
            comms: vec![],
        };
        let what = format!("product on {size} of {total} SMs");
        let divided = match self.seconds(&self.gemm(Dtype::F32, Some(part)), Options::default()) {
            Ok((seconds, _)) => seconds,
            Err(failure) => {
                let said = failure.to_string();
                let line = said.lines().next().unwrap_or_default();
                self.row(what, line.trim_start_matches("error: "), None);
                return Ok(());
            }
        };
        let (whole, _) = self.seconds(&self.gemm(Dtype::F32, None), Options::default())?;
        let ratio = divided / whole;
        // A part that is not kept to would take as long as the whole. A stand-in has no speed.
        let is_right = (!self.is_small).then_some(ratio > 1.5);
        let found = format!(
            "{ratio:.2} times as long; {:.2} by number",
            f64::from(total) / f64::from(size)
        );
        self.row(what, found, is_right);
        Ok(())
    }
}

fn stopped(fault: &crate::engine::StepFault) -> Failure {
    match fault {
        crate::engine::StepFault::Stopped => Failure::new("interrupted"),
        crate::engine::StepFault::Failed(failure) => failure.clone(),
    }
}
