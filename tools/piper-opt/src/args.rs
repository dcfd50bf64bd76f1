//! The command line, under the names `mlir-opt` uses.

use clap::{ArgAction, ArgMatches, Args, FromArgMatches};
use piper_ir::pass::PassRegistry;

/// What does not depend on which passes there are.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Flags {
    /// The file to read, or '-' for standard input
    #[arg(value_name = "INPUT", default_value = "-")]
    pub(crate) input: String,

    /// The file to write, or '-' for standard output. A failing run leaves it as it was
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = "-")]
    pub(crate) output: String,

    /// Run a pass, and before it what it builds on; options as in 'split{into=4}'. May be repeated
    #[arg(long = "pass", value_name = "NAME", help_heading = "Passes")]
    pub(crate) pass: Vec<String>,

    /// Run exactly these passes, as in 'builtin.module(func.func(canonicalize),cse)'
    #[arg(long, value_name = "PIPELINE", help_heading = "Passes")]
    pub(crate) pass_pipeline: Option<String>,

    /// Do not run what a pass builds on before it
    #[arg(long, help_heading = "Passes")]
    pub(crate) no_implied_passes: bool,

    /// List the passes with their options
    #[arg(long, help_heading = "Passes")]
    pub(crate) list_passes: bool,

    /// List the dialects with their operations
    #[arg(long, help_heading = "Passes")]
    pub(crate) show_dialects: bool,

    /// Verify after every pass
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true,
          default_missing_value = "true", action = ArgAction::Set, help_heading = "Checking")]
    pub(crate) verify_each: bool,

    /// Compare diagnostics with the expected-error, -warning, -remark and -note comments of the input
    #[arg(long, help_heading = "Checking")]
    pub(crate) verify_diagnostics: bool,

    /// Treat the parts of the input between '// -----' lines as files of their own
    #[arg(long, help_heading = "Checking")]
    pub(crate) split_input_file: bool,

    /// Accept operations, types and attributes of unknown dialects, in the generic form
    #[arg(long, help_heading = "Checking")]
    pub(crate) allow_unregistered_dialect: bool,

    /// Rerun what a crash left behind: take the options from the head of the input
    #[arg(long, help_heading = "Checking")]
    pub(crate) run_reproducer: bool,

    /// Where to leave the input and the options if a pass crashes
    #[arg(
        long = "mlir-pass-pipeline-crash-reproducer",
        value_name = "FILE",
        help_heading = "Checking"
    )]
    pub(crate) crash_reproducer: Option<String>,

    /// Print every operation in the generic form
    #[arg(long, help_heading = "Printing")]
    pub(crate) mlir_print_op_generic: bool,

    /// Print locations
    #[arg(long, help_heading = "Printing")]
    pub(crate) mlir_print_debuginfo: bool,

    /// Print the IR before each pass
    #[arg(long, alias = "print-ir-before-all", help_heading = "Printing")]
    pub(crate) mlir_print_ir_before_all: bool,

    /// Print the IR after each pass
    #[arg(long, alias = "print-ir-after-all", help_heading = "Printing")]
    pub(crate) mlir_print_ir_after_all: bool,

    /// Print the IR after each pass that changed it
    #[arg(long, alias = "print-ir-after-change", help_heading = "Printing")]
    pub(crate) mlir_print_ir_after_change: bool,

    /// Print the IR before these passes
    #[arg(
        long,
        alias = "print-ir-before",
        value_name = "PASSES",
        value_delimiter = ',',
        require_equals = true,
        help_heading = "Printing"
    )]
    pub(crate) mlir_print_ir_before: Vec<String>,

    /// Print the IR after these passes
    #[arg(
        long,
        alias = "print-ir-after",
        value_name = "PASSES",
        value_delimiter = ',',
        require_equals = true,
        help_heading = "Printing"
    )]
    pub(crate) mlir_print_ir_after: Vec<String>,

    /// Print the whole module where only a part would be printed before or after a pass
    #[arg(long, alias = "print-ir-module-scope", help_heading = "Printing")]
    pub(crate) mlir_print_ir_module_scope: bool,

    /// Print how long each pass took
    #[arg(long, help_heading = "Printing")]
    pub(crate) mlir_timing: bool,

    /// Print what the passes counted
    #[arg(long, help_heading = "Printing")]
    pub(crate) mlir_pass_statistics: bool,
}

/// The command line as read: flags, and the passes in the order they were asked for.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    pub(crate) flags: Flags,
    /// Texts of `--pass TEXT` and `--NAME`, in order.
    pub(crate) passes: Vec<String>,
}

fn command(registry: &PassRegistry) -> clap::Command {
    let base = clap::Command::new("piper-opt")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Reads .pir text, runs passes on it and prints the result.")
        .no_binary_name(true)
        .max_term_width(100)
        .after_help(
            "Examples:\n  piper-opt --pass dualpipe train.pir\n  \
             piper-opt --pass-pipeline='builtin.module(import-tags,inline-calls)' train.pir -o tagged.pir\n  \
             piper-opt --list-passes",
        );
    let mut command = Flags::augment_args(base);
    let taken: Vec<String> = command
        .get_arguments()
        .flat_map(|arg| arg.get_long_and_visible_aliases().unwrap_or_default())
        .map(str::to_owned)
        .chain(["help".to_owned(), "version".to_owned()])
        .collect();
    for info in registry.iter().filter(|info| !taken.iter().any(|name| name == info.name)) {
        command = command.arg(
            clap::Arg::new(info.name)
                .long(info.name)
                .help(info.summary)
                .value_name("OPTIONS")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("")
                .action(ArgAction::Append)
                .help_heading("Passes by name"),
        );
    }
    command
}

/// Reads the command line.
///
/// # Errors
/// clap's message: a mistake, or the text of `--help` and `--version`.
pub(crate) fn parse(registry: &PassRegistry, args: &[String]) -> Result<Invocation, clap::Error> {
    let mut command = command(registry);
    let known: Vec<String> =
        command.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned)).collect();
    // LLVM's tools take long options with one dash, too.
    let args = args.iter().map(|arg| match arg.strip_prefix('-') {
        Some(rest) if known.iter().any(|k| rest.split('=').next() == Some(k)) => format!("-{arg}"),
        _ => arg.clone(),
    });
    let matches = command.try_get_matches_from_mut(args)?;
    let flags = Flags::from_arg_matches(&matches)?;
    let passes = passes_in_order(registry, &matches, &flags);
    Ok(Invocation { flags, passes })
}

/// `--pass` and the passes' own flags, in the order they stand on the command line.
fn passes_in_order(registry: &PassRegistry, matches: &ArgMatches, flags: &Flags) -> Vec<String> {
    let mut found: Vec<(usize, String)> =
        matches.indices_of("pass").into_iter().flatten().zip(flags.pass.clone()).collect();
    for info in registry.iter() {
        let Ok(Some(values)) = matches.try_get_many::<String>(info.name) else { continue };
        let indices = matches.indices_of(info.name).into_iter().flatten();
        found.extend(indices.zip(values).map(|(at, options)| {
            let text = match options.as_str() {
                "" => info.name.to_owned(),
                options => format!("{}{{{options}}}", info.name),
            };
            (at, text)
        }));
    }
    found.sort();
    found.into_iter().map(|(_, text)| text).collect()
}
