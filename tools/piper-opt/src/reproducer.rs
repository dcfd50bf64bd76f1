//! Reproducers: a file with the IR and, at its end, what to run on it, in the form `mlir-opt` has for it.
//!
//! ```mlir
//! {-#
//!   external_resources: {
//!     mlir_reproducer: {
//!       pipeline: "builtin.module(cse)",
//!       disable_threading: true,
//!       verify_each: true
//!     }
//!   }
//! #-}
//! ```
//!
//! Flags that change how the file is read stand beside, under `piper_reproducer`. `mlir-opt` passes over them.

use std::path::Path;
use std::sync::Arc;

use piper_ir::resources::Resource;
use piper_ir::text::parse_module;
use piper_ir::{Context, Module, Reporter, SourceFile};

use crate::args::Invocation;

/// What to run again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reproducer {
    pub(crate) pipeline: String,
    pub(crate) disable_threading: bool,
    pub(crate) verify_each: bool,
    /// Flags of this tool.
    pub(crate) arguments: Vec<String>,
}

const MLIR: &str = "mlir_reproducer";
const PIPER: &str = "piper_reproducer";

/// The flags that stand in a reproducer: these, as they are, and those that name plugins and dialects. None writes a file.
const SWITCHES: [&str; 5] = [
    "--allow-unregistered-dialect",
    "--no-implicit-module",
    "--mlir-very-unsafe-disable-verifier-on-parsing",
    "--mlir-print-op-generic",
    "--mlir-print-debuginfo",
];
const LOAD_PLUGIN: &str = "--load-plugin=";
const LOAD_DIALECT: &str = "--load-dialect=";

impl Reproducer {
    /// What runs this pipeline as it ran.
    pub(crate) fn of(invocation: &Invocation, pipeline: String) -> Self {
        let flags = &invocation.flags;
        let set = [
            flags.checking.allow_unregistered_dialect,
            flags.checking.no_implicit_module,
            flags.checking.mlir_very_unsafe_disable_verifier_on_parsing,
            flags.printing.mlir_print_op_generic,
            flags.printing.mlir_print_debuginfo,
        ];
        let set = SWITCHES.into_iter().zip(set).filter(|(_, set)| *set);
        let set = set.map(|(flag, _)| flag.to_owned());
        let plugins = flags.passes.load_plugin.iter().map(|path| format!("{LOAD_PLUGIN}{path}"));
        let dialects = flags.checking.load_dialect.iter();
        let dialects = dialects.map(|path| format!("{LOAD_DIALECT}{path}"));
        Self {
            pipeline,
            disable_threading: flags.passes.mlir_disable_threading,
            verify_each: flags.checking.verify_each,
            arguments: set.chain(plugins).chain(dialects).collect(),
        }
    }

    /// The first of the flags that no reproducer of ours has. Somebody else wrote it, and it may do anything.
    pub(crate) fn alien_argument(&self) -> Option<&str> {
        let is_ours = |argument: &str| {
            SWITCHES.contains(&argument)
                || [LOAD_PLUGIN, LOAD_DIALECT].iter().any(|flag| argument.starts_with(flag))
        };
        self.arguments.iter().map(String::as_str).find(|argument| !is_ours(argument))
    }

    /// Takes out the files of dialects in whose place one of these, which the user named, stands.
    pub(crate) fn forget_dialects(&mut self, given: &[String], cwd: &Path) {
        self.arguments.retain(|argument| {
            argument
                .strip_prefix(LOAD_DIALECT)
                .is_none_or(|path| !given.iter().any(|file| stands_for(Path::new(file), path, cwd)))
        });
    }

    /// The reproducer at the end of a text.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let metadata = &text[text.rfind("{-#")?..];
        let ctx = Arc::new(Context::new([]));
        let source = SourceFile::new("reproducer", metadata);
        let module = parse_module(&ctx, &source, &mut Reporter::new(&ctx))?;
        let external = &module.resources()?.external;
        let section = |name: &str| external.iter().find(|(key, _)| **key == *name);
        let (_, entries) = section(MLIR)?;
        let entry = |key: &str| entries.iter().find(|(k, _)| **k == *key).map(|(_, value)| value);
        let is_set = |key: &str, default| match entry(key) {
            Some(Resource::Bool(value)) => *value,
            _ => default,
        };
        let Resource::Text(pipeline) = entry("pipeline")? else { return None };
        let arguments = section(PIPER).and_then(|(_, entries)| {
            entries.iter().find_map(|(key, value)| match value {
                Resource::Text(text) if **key == *"arguments" => Some(text),
                _ => None,
            })
        });
        Some(Self {
            pipeline: pipeline.to_string(),
            disable_threading: is_set("disable_threading", false),
            verify_each: is_set("verify_each", true),
            // What is not words is not ours either, and is refused whole.
            arguments: arguments.map_or(Vec::new(), |text| {
                shlex::split(text).unwrap_or_else(|| vec![text.to_string()])
            }),
        })
    }

    /// Takes what this module says about running it again out of it, so that it is not printed.
    pub(crate) fn remove_from(module: &mut Module) {
        if module.resources().is_some() {
            module.resources_mut().external.retain(|(key, _)| **key != *MLIR && **key != *PIPER);
        }
    }

    /// The text with this at its end, in place of another reproducer there.
    pub(crate) fn append_to(&self, text: &str) -> String {
        let mut sections = format!(
            "    {MLIR}: {{\n      pipeline: {},\n      disable_threading: {},\n      verify_each: {}\n    }}",
            quoted(&self.pipeline),
            self.disable_threading,
            self.verify_each
        );
        if !self.arguments.is_empty() {
            let words = self.arguments.iter().map(String::as_str);
            let arguments = quoted(&shlex::try_join(words).unwrap_or_default());
            sections += &format!(",\n    {PIPER}: {{\n      arguments: {arguments}\n    }}");
        }
        let external = format!("external_resources: {{\n{sections}\n  }}");
        let end = text.rfind("{-#").filter(|at| text[*at..].trim_end().ends_with("#-}"));
        match end {
            // Other metadata stays: blobs that attributes refer to.
            Some(at) if Self::read(text).is_none() => {
                let rest = text[at + 3..].trim_start();
                let comma = if rest.starts_with("#-}") { "" } else { "," };
                format!("{}{{-#\n  {external}{comma}\n  {rest}", &text[..at])
            }
            Some(at) if !text[at..].contains("dialect_resources") => {
                format!("{}{{-#\n  {external}\n#-}}\n", &text[..at])
            }
            Some(_) => text.to_owned(),
            None => format!("{}\n\n{{-#\n  {external}\n#-}}\n", text.trim_end()),
        }
    }
}

/// Whether a file is what a reproducer means by a path: the file there, or, if there is none because the reproducer was made
/// on another machine, one with its name.
pub(crate) fn stands_for(file: &Path, path: &str, cwd: &Path) -> bool {
    let named = cwd.join(path);
    match (named.canonicalize(), cwd.join(file).canonicalize()) {
        (Ok(named), Ok(file)) => named == file,
        (Err(_), _) if !named.exists() => {
            named.file_name().is_some() && named.file_name() == file.file_name()
        }
        _ => false,
    }
}

/// Writes a reproducer and returns the path to show. Without a wanted path it goes to the folder, or where temporary files
/// go.
///
/// # Errors
/// Nothing can be written.
pub(crate) fn write(wanted: Option<&str>, text: &str, cwd: &Path) -> Result<String, String> {
    if let Some(path) = wanted {
        return crate::files::write(path, text, cwd).map(|()| path.to_owned());
    }
    let name = format!("piper-crash-{:08x}.pir", checksum(text));
    crate::files::write(&name, text, cwd).map(|()| name.clone()).or_else(|_| {
        let path = std::env::temp_dir().join(&name).to_string_lossy().into_owned();
        crate::files::write(&path, text, cwd).map(|()| path)
    })
}

/// A string as MLIR writes it.
fn quoted(text: &str) -> String {
    let mut out = "\"".to_owned();
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out += &format!("\\{byte:02X}"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out += &format!("\\{byte:02X}"),
        }
    }
    out.push('"');
    out
}

/// FNV-1a: the same crash gets the same file.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::Reproducer;

    fn sample() -> Reproducer {
        Reproducer {
            pipeline: "builtin.module(split{into=4 by='\"x\\'})".to_owned(),
            disable_threading: true,
            verify_each: false,
            arguments: vec!["--no-implicit-module".to_owned(), "--load-plugin=a b.so".to_owned()],
        }
    }

    #[test]
    fn only_flags_of_ours_are_in_it() {
        let with = |flag: &str| Reproducer { arguments: vec![flag.to_owned()], ..sample() };
        for ours in ["--mlir-print-op-generic", "--load-plugin=a b.so", "--load-dialect=x=y"] {
            assert_eq!(with(ours).alien_argument(), None);
        }
        for alien in [
            "-o",
            "-ox.pir",
            "--output=x.pir",
            "x.pir",
            "--",
            "--load-plugin",
            "--load-pass-plugin=a.so",
            "-load-plugin=a.so",
            "--no-implicit-module=false",
            "--mlir-generate-reproducer=x.pir",
            "--mlir-print-ir-tree-dir=x",
            "--trust-reproducer",
        ] {
            assert_eq!(with(alien).alien_argument(), Some(alien));
        }
    }

    #[test]
    fn what_is_appended_is_read() {
        let plain = Reproducer { arguments: Vec::new(), ..sample() };
        for reproducer in [sample(), plain] {
            let text = reproducer.append_to("module {}\n");
            assert!(text.starts_with("module {}\n\n{-#\n  external_resources: {\n"), "{text}");
            assert_eq!(Reproducer::read(&text), Some(reproducer.clone()));
            // Another takes its place.
            let other = Reproducer { verify_each: true, ..sample() };
            let again = other.append_to(&text);
            assert_eq!(Reproducer::read(&again), Some(other));
            assert_eq!(again.matches("mlir_reproducer").count(), 1);
        }
        let blobs = "module {}\n{-# dialect_resources: { builtin: { k: \"0x0100000001\" } } #-}\n";
        let text = sample().append_to(blobs);
        assert!(text.contains("dialect_resources") && text.matches("{-#").count() == 1, "{text}");
        assert_eq!(Reproducer::read(&text), Some(sample()));
        let open = text.replace("--no-implicit-module", "'-o x");
        let read = Reproducer::read(&open).expect("a reproducer");
        assert_eq!(read.alien_argument(), Some("'-o x '--load-plugin=a b.so'"));
        assert_eq!(Reproducer::read("module {}"), None);
        assert_eq!(Reproducer::read("{-# external_resources: {} #-}"), None);
    }
}
