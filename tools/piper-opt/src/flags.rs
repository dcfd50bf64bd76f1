//! The flags, under the names `mlir-opt` uses. `docs/mlir-opt-flags.md` says of each of `mlir-opt`'s whether it is here.

use clap::{Args, ValueEnum};

use crate::emit::EmitFlags;

/// What does not depend on which passes there are.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Flags {
    /// The file to read, or '-' for standard input
    #[arg(value_name = "INPUT", default_value = "-")]
    pub(crate) input: String,

    /// The file to write, or '-' for standard output. A failing run leaves it as it was
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = "-")]
    pub(crate) output: String,

    #[command(flatten)]
    pub(crate) passes: PassFlags,
    #[command(flatten)]
    pub(crate) emit: EmitFlags,
    #[command(flatten)]
    pub(crate) checking: CheckingFlags,
    #[command(flatten)]
    pub(crate) printing: PrintingFlags,
    #[command(flatten)]
    pub(crate) dumps: DumpFlags,
    #[command(flatten)]
    pub(crate) reports: ReportFlags,
    #[command(flatten)]
    pub(crate) messages: MessageFlags,
    #[command(flatten)]
    pub(crate) reproducers: ReproducerFlags,
}

/// Which passes run, and how.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Passes")]
pub(crate) struct PassFlags {
    /// Run a pass, and before it what it builds on; options as in 'split{into=4}'. May be repeated
    #[arg(long = "pass", value_name = "NAME")]
    pub(crate) pass: Vec<String>,

    /// Run a program as a pass: it reads the module on standard input and writes one to standard output. May be repeated
    #[arg(long, value_name = "COMMAND")]
    pub(crate) pass_exec: Vec<String>,

    /// Run exactly these passes, as in 'builtin.module(func.func(canonicalize),cse)'
    #[arg(long, short = 'p', value_name = "PIPELINE")]
    pub(crate) pass_pipeline: Option<String>,

    /// Do not run what a pass builds on before it
    #[arg(long)]
    pub(crate) no_implied_passes: bool,

    /// Print the pipeline that runs
    #[arg(long)]
    pub(crate) dump_pass_pipeline: bool,

    /// Run everything on one thread
    #[arg(long)]
    pub(crate) mlir_disable_threading: bool,

    /// Load a plugin: a library with passes and dialects. May be repeated
    #[arg(long, aliases = ["load-pass-plugin", "load-dialect-plugin"], value_name = "FILE")]
    pub(crate) load_plugin: Vec<String>,

    /// List the passes with their options
    #[arg(long)]
    pub(crate) list_passes: bool,

    /// List the dialects with their operations
    #[arg(long)]
    pub(crate) show_dialects: bool,
}

/// How the input is read and checked.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reading and checking")]
pub(crate) struct CheckingFlags {
    /// Verify after every pass
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true,
          default_missing_value = "true", action = clap::ArgAction::Set,
          value_parser = clap::builder::BoolishValueParser::new(), hide_possible_values = true)]
    pub(crate) verify_each: bool,

    /// Compare diagnostics with the expected-error, -warning, -remark and -note comments of the input; with
    /// 'only-expected', more may come than is expected
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub(crate) verify_diagnostics: Option<VerifyLevel>,

    /// Print what was read, read it again, and fail if it is not the same
    #[arg(long)]
    pub(crate) verify_roundtrip: bool,

    /// Treat the parts of the input between lines with this marker ('// -----') as files of their own
    #[arg(long, value_name = "MARKER", num_args = 0..=1, require_equals = true, default_missing_value = crate::split::MARKER)]
    pub(crate) split_input_file: Option<String>,

    /// What stands between the outputs of split parts
    #[arg(long, value_name = "MARKER", require_equals = true, default_value = crate::split::MARKER)]
    pub(crate) output_split_marker: String,

    /// Accept operations, types and attributes of unknown dialects, in the generic form
    #[arg(long)]
    pub(crate) allow_unregistered_dialect: bool,

    /// Register the dialects that a file of 'irdl' operations defines. May be repeated; later files may name what earlier
    /// ones define
    #[arg(long, alias = "irdl-file", value_name = "FILE")]
    pub(crate) load_dialect: Vec<String>,

    /// Do not put a module around the input: its one operation is the root
    #[arg(long)]
    pub(crate) no_implicit_module: bool,

    /// Do not verify what was read. What passes then do is undefined
    #[arg(long)]
    pub(crate) mlir_very_unsafe_disable_verifier_on_parsing: bool,
}

/// How a strict `--verify-diagnostics` is.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VerifyLevel {
    /// What comes must be expected, and what is expected must come.
    All,
    /// What is expected must come.
    OnlyExpected,
}

/// How IR is written.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Printing")]
pub(crate) struct PrintingFlags {
    /// Print every operation in the generic form
    #[arg(long)]
    pub(crate) mlir_print_op_generic: bool,

    /// Print locations
    #[arg(long)]
    pub(crate) mlir_print_debuginfo: bool,

    /// Print without aliases: attributes, types and locations where they are used
    #[arg(long)]
    pub(crate) mlir_print_local_scope: bool,

    /// Print '{...}' for every region
    #[arg(long)]
    pub(crate) mlir_print_skip_regions: bool,

    /// Use no name or number of a value twice, not even in different functions
    #[arg(long)]
    pub(crate) mlir_print_unique_ssa_ids: bool,

    /// Call values as their named locations say
    #[arg(long)]
    pub(crate) mlir_use_nameloc_as_prefix: bool,

    /// Leave out dense elements that are more than this; the data is lost
    #[arg(long, value_name = "COUNT")]
    pub(crate) mlir_elide_elementsattrs_if_larger: Option<usize>,

    /// Write dense elements that are more than this as bytes; -1 for never
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    pub(crate) mlir_print_elementsattrs_with_hex_if_larger: Option<i64>,

    /// Leave out resources whose text is longer than this; the data is lost
    #[arg(long, value_name = "COUNT")]
    pub(crate) mlir_elide_resource_strings_if_larger: Option<usize>,
}

/// IR printed around passes.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "IR around passes")]
pub(crate) struct DumpFlags {
    /// Print the IR before each pass
    #[arg(long, alias = "print-ir-before-all")]
    pub(crate) mlir_print_ir_before_all: bool,

    /// Print the IR after each pass
    #[arg(long, alias = "print-ir-after-all")]
    pub(crate) mlir_print_ir_after_all: bool,

    /// After a pass, print the IR only if the pass changed it
    #[arg(long, alias = "print-ir-after-change")]
    pub(crate) mlir_print_ir_after_change: bool,

    /// After a pass, print the IR only if the pass failed
    #[arg(long, alias = "print-ir-after-failure")]
    pub(crate) mlir_print_ir_after_failure: bool,

    /// Print the IR before these passes
    #[arg(
        long,
        alias = "print-ir-before",
        value_name = "PASSES",
        value_delimiter = ',',
        require_equals = true
    )]
    pub(crate) mlir_print_ir_before: Vec<String>,

    /// Print the IR after these passes
    #[arg(
        long,
        alias = "print-ir-after",
        value_name = "PASSES",
        value_delimiter = ',',
        require_equals = true
    )]
    pub(crate) mlir_print_ir_after: Vec<String>,

    /// Print the whole module where only a part would be printed before or after a pass
    #[arg(long, alias = "print-ir-module-scope")]
    pub(crate) mlir_print_ir_module_scope: bool,

    /// Print only these operations before or after a pass: '@symbol' or 'dialect.op'
    #[arg(long, value_name = "OPS", value_delimiter = ',', require_equals = true)]
    pub(crate) print_ir_only: Vec<String>,

    /// Write the IR before or after passes to files below this folder instead of standard error
    #[arg(long, value_name = "FOLDER", require_equals = true)]
    pub(crate) mlir_print_ir_tree_dir: Option<String>,
}

/// What is told of a run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reports")]
pub(crate) struct ReportFlags {
    /// Print how long each pass took
    #[arg(long)]
    pub(crate) mlir_timing: bool,

    /// How times are shown
    #[arg(long, value_name = "FORM", require_equals = true, default_value = "tree")]
    pub(crate) mlir_timing_display: TimingDisplay,

    /// The format of times
    #[arg(long, value_name = "FORMAT", require_equals = true, default_value = "text")]
    pub(crate) mlir_output_format: OutputFormat,

    /// Print what the passes counted
    #[arg(long)]
    pub(crate) mlir_pass_statistics: bool,

    /// How counts are shown
    #[arg(long, value_name = "FORM", require_equals = true, default_value = "pipeline")]
    pub(crate) mlir_pass_statistics_display: StatisticsDisplay,

    /// Show all remarks of the passes whose names this regular expression matches
    #[arg(long, value_name = "REGEX", require_equals = true)]
    pub(crate) remarks_filter: Option<String>,

    /// Show remarks on what passes did
    #[arg(long, value_name = "REGEX", require_equals = true)]
    pub(crate) remarks_filter_passed: Option<String>,

    /// Show remarks on what passes did not do
    #[arg(long, value_name = "REGEX", require_equals = true)]
    pub(crate) remarks_filter_missed: Option<String>,

    /// Show remarks on what passes tried and could not do
    #[arg(long, value_name = "REGEX", require_equals = true)]
    pub(crate) remarks_filter_failed: Option<String>,

    /// Show remarks with facts that explain decisions
    #[arg(long, alias = "remarks-filter-analysis", value_name = "REGEX", require_equals = true)]
    pub(crate) remarks_filter_analyse: Option<String>,
}

/// How times are shown.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum TimingDisplay {
    /// Sorted by time, what has one name added up.
    List,
    /// In the shape of the pipeline.
    #[default]
    Tree,
}

/// How counts are shown.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum StatisticsDisplay {
    /// Sorted by pass, what has one name added up.
    List,
    /// In the shape of the pipeline.
    #[default]
    Pipeline,
}

/// The format of times.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum OutputFormat {
    /// A table.
    #[default]
    Text,
    /// JSON.
    Json,
}

/// What messages look like.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Messages")]
pub(crate) struct MessageFlags {
    /// Use colours; without this flag, on a terminal unless NO_COLOR is set
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) color: Option<bool>,

    /// How diagnostics are written: for people, or one JSON object a line for editors
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) diagnostic_format: OutputFormat,

    /// The least serious diagnostics that are shown
    #[arg(long, value_name = "LEVEL", require_equals = true, default_value = "remarks")]
    pub(crate) mlir_diagnostic_verbosity_level: Verbosity,

    /// Leave out the notes of diagnostics
    #[arg(long)]
    pub(crate) mlir_disable_diagnostic_notes: bool,

    /// Add to an error about an operation how the operation is printed
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false,
          default_missing_value = "true", action = clap::ArgAction::Set,
          value_parser = clap::builder::BoolishValueParser::new(), hide_possible_values = true)]
    pub(crate) mlir_print_op_on_diagnostic: bool,

    /// Add to a diagnostic the stack of calls in Piper that made it
    #[arg(long)]
    pub(crate) mlir_print_stacktrace_on_diagnostic: bool,
}

/// The least serious diagnostics that are shown.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[allow(missing_docs)]
pub(crate) enum Verbosity {
    Errors,
    Warnings,
    #[default]
    Remarks,
}

/// Files that run again what went wrong.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reproducers")]
pub(crate) struct ReproducerFlags {
    /// Run what the reproducer at the end of the input says
    #[arg(long)]
    pub(crate) run_reproducer: bool,

    /// Let the reproducer load the plugins and start the programs that it names
    #[arg(long)]
    pub(crate) trust_reproducer: bool,

    /// Where to leave a reproducer if a pass crashes or fails. Without this flag, one is left in the current folder if a
    /// pass crashes
    #[arg(long = "mlir-pass-pipeline-crash-reproducer", value_name = "FILE")]
    pub(crate) crash_reproducer: Option<String>,

    /// Reproduce only the pass that crashes or fails, with the IR just before it
    #[arg(long = "mlir-pass-pipeline-local-reproducer")]
    pub(crate) local_reproducer: bool,

    /// Where to leave a reproducer in any case
    #[arg(long = "mlir-generate-reproducer", value_name = "FILE", require_equals = true)]
    pub(crate) generate_reproducer: Option<String>,
}
