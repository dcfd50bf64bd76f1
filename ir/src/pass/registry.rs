//! The passes a tool knows, by name.

use super::{Origin, Pass, PassInfo, PassOptions};
use crate::diag::did_you_mean;

/// Why a foreign pass is not added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// Somebody else's pass has the name.
    Taken {
        /// The name.
        name: String,
        /// Whose it is.
        owner: Origin,
        /// Who wants it, too.
        newcomer: Origin,
    },
    /// Pipelines and flags could not name it.
    BadName {
        /// The name.
        name: String,
        /// Who wants it.
        newcomer: Origin,
    },
}

impl std::fmt::Display for RegisterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Taken { name, owner, newcomer } if owner == newcomer => {
                write!(f, "{newcomer} registers pass '{name}' twice")
            }
            Self::Taken { name, owner, newcomer } => {
                write!(
                    f,
                    "{newcomer} registers pass '{name}', which is the name of a pass of {owner}"
                )
            }
            Self::BadName { name, newcomer } => write!(
                f,
                "{newcomer} registers a pass with the name '{name}'; names are letters, digits and '-', and begin with a letter"
            ),
        }
    }
}

impl std::error::Error for RegisterError {}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

/// The passes a tool knows, by name.
#[derive(Clone, Debug, Default)]
pub struct PassRegistry {
    passes: Vec<PassInfo>,
}

impl PassRegistry {
    /// Adds passes of the tool itself. A later one replaces an earlier one of the same name.
    pub fn register(&mut self, passes: impl IntoIterator<Item = PassInfo>) {
        for pass in passes {
            self.passes.retain(|known| known.name != pass.name);
            self.passes.push(pass);
        }
        self.passes.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Adds a pass that somebody else made.
    ///
    /// # Errors
    /// A name that is taken, or is none; nothing is added then.
    pub fn try_register(&mut self, pass: PassInfo) -> Result<(), RegisterError> {
        let (name, newcomer) = (pass.name.to_string(), pass.origin.clone());
        if !is_name(&name) {
            return Err(RegisterError::BadName { name, newcomer });
        }
        if let Some(known) = self.get(&name) {
            return Err(RegisterError::Taken { name, owner: known.origin.clone(), newcomer });
        }
        self.register([pass]);
        Ok(())
    }

    /// The pass of this name.
    pub fn get(&self, name: &str) -> Option<&PassInfo> {
        self.passes.iter().find(|pass| pass.name == name)
    }

    /// All passes, by name.
    pub fn iter(&self) -> impl Iterator<Item = &PassInfo> {
        self.passes.iter()
    }

    /// Makes a pass.
    ///
    /// # Errors
    /// An unknown pass or option, or a value an option does not take; the message has a suggestion.
    pub fn build(
        &self,
        name: &str,
        options: &[(String, Option<String>)],
    ) -> Result<Box<dyn Pass>, String> {
        let Some(info) = self.get(name) else {
            let close = did_you_mean(name, self.passes.iter().map(|p| &*p.name));
            let hint = close
                .map_or("--list-passes shows all".to_owned(), |c| format!("did you mean '{c}'?"));
            return Err(format!("unknown pass '{name}'; {hint}"));
        };
        (info.build)(&PassOptions::of(info, options)?)
    }
}
