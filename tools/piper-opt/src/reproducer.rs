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

impl Reproducer {
    /// What runs this pipeline as it ran.
    pub(crate) fn of(invocation: &Invocation, pipeline: String) -> Self {
        let flags = &invocation.flags;
        let arguments = [
            (flags.checking.allow_unregistered_dialect, "--allow-unregistered-dialect"),
            (flags.checking.no_implicit_module, "--no-implicit-module"),
            (
                flags.checking.mlir_very_unsafe_disable_verifier_on_parsing,
                "--mlir-very-unsafe-disable-verifier-on-parsing",
            ),
            (flags.printing.mlir_print_op_generic, "--mlir-print-op-generic"),
            (flags.printing.mlir_print_debuginfo, "--mlir-print-debuginfo"),
        ];
        let set = arguments.into_iter().filter(|(set, _)| *set);
        let set = set.map(|(_, flag)| flag.to_owned());
        let plugins = flags.passes.load_plugin.iter().map(|path| format!("--load-plugin={path}"));
        let dialects = flags.checking.load_dialect.iter();
        let dialects = dialects.map(|path| format!("--load-dialect={path}"));
        Self {
            pipeline,
            disable_threading: flags.passes.mlir_disable_threading,
            verify_each: flags.checking.verify_each,
            arguments: set.chain(plugins).chain(dialects).collect(),
        }
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
            arguments: arguments.and_then(|text| shlex::split(text)).unwrap_or_default(),
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
        assert_eq!(Reproducer::read("module {}"), None);
        assert_eq!(Reproducer::read("{-# external_resources: {} #-}"), None);
    }
}
