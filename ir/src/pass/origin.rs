//! Where a pass comes from. What Piper did not make itself is checked after every run and named in messages.

use std::fmt;
use std::sync::Arc;

use super::manager::GivenOptions;

/// Where a pass comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// It was built into the tool.
    #[default]
    Builtin,
    /// A library that was loaded; its path, as the user gave it.
    Plugin(Arc<str>),
    /// A program that runs as a pass; its command. Of a pass that is only registered, nothing: its option `command` will say.
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

    /// Where the pass comes from once it has its options.
    pub(super) fn with_options(&self, options: &GivenOptions) -> Self {
        let command = options.iter().find(|(key, _)| key == "command");
        match (self, command) {
            (Self::Program(none), Some((_, Some(command)))) if none.is_empty() => {
                Self::Program(command.as_str().into())
            }
            _ => self.clone(),
        }
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
