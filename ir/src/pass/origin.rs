//! Where a pass comes from. What Piper did not make itself is checked after every run and named in messages.

use std::fmt;
use std::sync::Arc;

/// Where a pass comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// It was built into the tool.
    #[default]
    Builtin,
    /// A library that was loaded; its path, as the user gave it.
    Plugin(Arc<str>),
    /// A program that runs as a pass; its command, or nothing if the pass's options say it.
    Program(Arc<str>),
    /// The program that Piper is embedded in; its name.
    Host(Arc<str>),
}

impl Origin {
    /// Whether somebody else made it: the module is then verified after every run, whatever the pass says of itself and
    /// whatever [`RunOptions::verify_each`](super::RunOptions::verify_each) is.
    pub fn is_foreign(&self) -> bool {
        *self != Self::Builtin
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("Piper itself"),
            Self::Plugin(path) => write!(f, "plugin '{path}'"),
            Self::Program(command) if command.is_empty() => f.write_str("a program"),
            Self::Program(command) => write!(f, "program '{command}'"),
            Self::Host(name) => write!(f, "host '{name}'"),
        }
    }
}
