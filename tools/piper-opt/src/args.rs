//! Reading the command line.

use clap::{ArgAction, ArgMatches, Args, FromArgMatches};
use piper_ir::pass::PassRegistry;

use crate::flags::Flags;

/// The command line as read: flags, and the passes in the order they were asked for.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    pub(crate) flags: Flags,
    /// What is to be run by `--pass TEXT`, `--NAME` and `--pass-exec COMMAND`, in order.
    pub(crate) passes: Vec<Asked>,
}

/// Something to run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    /// Passes, as text.
    Passes(String),
    /// A program.
    Program(String),
}

/// The command with its flags, without those of passes.
fn flags_alone() -> clap::Command {
    let base = clap::Command::new("piper-opt")
        .version(env!("CARGO_PKG_VERSION"))
        .no_binary_name(true)
        .args_override_self(true)
        .max_term_width(100)
        .after_help(
            "Examples:\n  piper-opt --pass dualpipe train.pir\n  \
             piper-opt --pass-pipeline='builtin.module(import-tags,inline-calls)' train.pir -o tagged.pir\n  \
             piper-opt --list-passes",
        );
    // After the flags, whose own doc comments clap takes for what the command is about.
    let command = Flags::augment_args(base)
        .about("Reads .pir text, runs passes on it and prints the result.")
        .long_about(None);
    // LLVM's tools take `--flag=false`.
    command.mut_args(|arg| match arg.get_action() {
        ArgAction::SetTrue => arg
            .num_args(0..=1)
            .require_equals(true)
            .value_parser(clap::builder::BoolishValueParser::new())
            .value_name("BOOL")
            .hide_possible_values(true)
            .hide_default_value(true)
            .default_value("false")
            .default_missing_value("true")
            .action(ArgAction::Set),
        _ => arg,
    })
}

/// Whether every pass can have a flag of its own: none has the name of another flag.
///
/// # Errors
/// One has.
pub(crate) fn check_names(registry: &PassRegistry) -> Result<(), String> {
    let mut command = flags_alone();
    command.build();
    let groups = command.get_groups().map(|group| group.get_id().to_string());
    let taken: Vec<String> = command.get_arguments().flat_map(names).chain(groups).collect();
    match registry.iter().find(|info| taken.iter().any(|name| *name == info.name)) {
        None => Ok(()),
        Some(info) => Err(format!(
            "{} registers pass '{}', which is the name of a flag of piper-opt",
            info.origin, info.name
        )),
    }
}

/// What an argument is called: short or long, by users or in this program.
fn names(arg: &clap::Arg) -> Vec<String> {
    let long = arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default());
    let short = arg.get_short().into_iter().chain(arg.get_all_short_aliases().unwrap_or_default());
    let own = arg.get_id().to_string();
    long.map(str::to_owned).chain(short.map(String::from)).chain([own]).collect()
}

/// The command with its flags, and a flag for each pass.
pub(crate) fn command(registry: &PassRegistry) -> clap::Command {
    let mut command = flags_alone();
    for info in registry.iter() {
        command = command.arg(
            clap::Arg::new(info.name.to_string())
                .long(info.name.to_string())
                .help(info.summary.to_string())
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
    let known: Vec<String> = command
        .get_arguments()
        .flat_map(|arg| {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            arg.get_long().into_iter().chain(aliases).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
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

/// `--pass`, `--pass-exec` and the passes' own flags, in the order they stand on the command line.
fn passes_in_order(registry: &PassRegistry, matches: &ArgMatches, flags: &Flags) -> Vec<Asked> {
    let indices = |name: &str| matches.indices_of(name).into_iter().flatten().collect::<Vec<_>>();
    let passes = flags.passes.pass.iter().cloned().map(Asked::Passes);
    let programs = flags.passes.pass_exec.iter().cloned().map(Asked::Program);
    let mut found: Vec<(usize, Asked)> = indices("pass").into_iter().zip(passes).collect();
    found.extend(indices("pass_exec").into_iter().zip(programs));
    for info in registry.iter() {
        let Ok(Some(values)) = matches.try_get_many::<String>(&info.name) else { continue };
        let indices = matches.indices_of(&info.name).into_iter().flatten();
        found.extend(indices.zip(values).map(|(at, options)| {
            let text = match options.as_str() {
                "" => info.name.to_string(),
                options => format!("{}{{{options}}}", info.name),
            };
            (at, Asked::Passes(text))
        }));
    }
    found.sort();
    found.into_iter().map(|(_, asked)| asked).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use piper_ir::pass::{Origin, PassInfo, PassRegistry};

    use super::{check_names, command, parse};

    const TABLE: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mlir-opt-flags.md"));

    /// The flags of the table's rows, with what its second column says.
    fn rows() -> Vec<(&'static str, &'static str)> {
        let cells = |line: &'static str| -> Option<(&'static str, &'static str)> {
            let mut cells = line.strip_prefix("| `-")?.split('|').map(str::trim);
            let name = cells.next()?.trim_end_matches('`').trim_start_matches('-');
            Some((name, cells.next()?))
        };
        TABLE.lines().filter_map(cells).collect()
    }

    #[test]
    fn the_table_of_flags_is_that_of_the_tool() {
        let mut command = command(&PassRegistry::default());
        command.build();
        let mut known: BTreeSet<String> =
            command.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned)).collect();
        assert!(known.remove("output"), "it stands in the table as -o");
        known.insert("o".to_owned());
        let (mut listed, mut absent, mut aliases) = (BTreeSet::new(), Vec::new(), Vec::new());
        for (name, here) in rows() {
            match here {
                "no" => absent.push(name),
                "alias" => aliases.push(name),
                _ => assert!(listed.insert(name.to_owned()), "'{name}' stands twice"),
            }
        }
        assert_eq!(listed, known);
        let all_aliases: Vec<&str> = command
            .get_arguments()
            .flat_map(|arg| arg.get_all_aliases().unwrap_or_default())
            .collect();
        assert!(aliases.iter().all(|name| all_aliases.contains(name)), "{aliases:?}");
        assert!(absent.iter().all(|name| !known.contains(*name)), "{absent:?}");
        assert!(absent.len() > 10 && listed.len() > 50, "{} {}", absent.len(), listed.len());
    }

    #[test]
    fn no_pass_has_the_name_of_a_flag() {
        assert_eq!(check_names(&piper_passes::registry::all()), Ok(()));
        // Long, short, an alias, those of clap itself, and what this program calls them.
        for taken in [
            "load-plugin",
            "pass",
            "o",
            "load-pass-plugin",
            "help",
            "h",
            "version",
            "V",
            "load_plugin",
        ] {
            let mut registry = PassRegistry::default();
            let origin = Origin::Plugin("./libmine.so".into());
            let pass = PassInfo::from_fn(taken, "", |_| Ok(())).from_origin(origin);
            registry.try_register(pass).expect("a name");
            let wanted = format!(
                "plugin './libmine.so' registers pass '{taken}', which is the name of a flag of piper-opt"
            );
            assert_eq!(check_names(&registry), Err(wanted));
        }
    }

    #[test]
    fn flags_are_read_as_llvm_reads_them() {
        let read = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            parse(&PassRegistry::default(), &args).expect("known flags").flags
        };
        let flags = read(&["-mlir-disable-threading=true", "-p", "any()", "--verify-each=0"]);
        assert!(flags.passes.mlir_disable_threading && !flags.checking.verify_each);
        assert_eq!(flags.passes.pass_pipeline.as_deref(), Some("any()"));
        assert!(!read(&["--mlir-timing", "--mlir-timing=false"]).reports.mlir_timing);
        assert!(read(&["-print-ir-after-all"]).dumps.mlir_print_ir_after_all);
        assert_eq!(
            read(&["--split-input-file"]).checking.split_input_file.as_deref(),
            Some("// -----")
        );
    }
}
