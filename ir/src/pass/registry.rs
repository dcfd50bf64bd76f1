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
    /// No operation could have the name of what it runs on.
    BadAnchor {
        /// The pass.
        name: String,
        /// What it says that it runs on.
        anchor: String,
        /// Whose pass it is.
        newcomer: Origin,
    },
    /// It works on the result of a pass that nobody has.
    Unknown {
        /// The pass.
        name: String,
        /// What it says that it works on the result of.
        required: String,
        /// The name that may have been meant.
        close: Option<String>,
        /// Whose pass it is.
        newcomer: Origin,
    },
}

impl RegisterError {
    /// What to do about it, where the message does not say it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Taken { .. } => Some("choose another name".into()),
            Self::BadName { .. } => None,
            Self::BadAnchor { .. } => Some("such as 'func.func', or none for the module".into()),
            Self::Unknown { close: Some(close), .. } => Some(format!("did you mean '{close}'?")),
            Self::Unknown { required, .. } => {
                Some(format!("load what has '{required}', too, if it is of another plugin"))
            }
        }
    }
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
                "{newcomer} registers a pass with the name '{name}'; names are letters, digits, '-' and '_', and begin with a letter"
            ),
            Self::BadAnchor { name, anchor, newcomer } => write!(
                f,
                "{newcomer} registers pass '{name}' to run on '{anchor}', which is no name of an operation"
            ),
            Self::Unknown { name, required, newcomer, .. } => write!(
                f,
                "{newcomer} registers pass '{name}' to run after '{required}', but there is no such pass"
            ),
        }
    }
}

impl std::error::Error for RegisterError {}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

/// Whether an operation could have the name: a dialect, a point, and what it is called there.
fn is_op_name(text: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "_$.-".contains(c))
    };
    text.split_once('.').is_some_and(|(dialect, op)| is_part(dialect) && is_part(op))
}

impl PassInfo {
    /// Whether its name and what it runs on are such that pipelines can name them.
    ///
    /// # Errors
    /// They are not.
    pub fn check(&self) -> Result<(), RegisterError> {
        let (name, newcomer) = (self.name.to_string(), self.origin.clone());
        if !is_name(&name) {
            return Err(RegisterError::BadName { name, newcomer });
        }
        match &self.anchor {
            Some(anchor) if !is_op_name(anchor) => {
                Err(RegisterError::BadAnchor { name, anchor: anchor.to_string(), newcomer })
            }
            _ => Ok(()),
        }
    }
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
    /// A name that is taken, or is none, or an anchor that is none; nothing is added then.
    pub fn try_register(&mut self, pass: PassInfo) -> Result<(), RegisterError> {
        pass.check()?;
        let (name, newcomer) = (pass.name.to_string(), pass.origin.clone());
        if let Some(known) = self.get(&name) {
            return Err(RegisterError::Taken { name, owner: known.origin.clone(), newcomer });
        }
        self.register([pass]);
        Ok(())
    }

    /// Whether there is everything that passes of others work on the result of. To be asked once all are there, because
    /// they may work on one another's.
    ///
    /// # Errors
    /// A pass that is not there.
    pub fn check_required(&self) -> Result<(), RegisterError> {
        for pass in self.passes.iter().filter(|pass| pass.origin.is_foreign()) {
            if let Some(required) = pass.requires.iter().find(|name| self.get(name).is_none()) {
                let close = did_you_mean(required, self.passes.iter().map(|p| &*p.name));
                return Err(RegisterError::Unknown {
                    name: pass.name.to_string(),
                    required: required.to_string(),
                    close: close.map(|close| close.to_string()),
                    newcomer: pass.origin.clone(),
                });
            }
        }
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
