//! The passes a tool knows, by name.

use super::{Pass, PassInfo, PassOptions};
use crate::diag::did_you_mean;

/// The passes a tool knows, by name.
#[derive(Clone, Debug, Default)]
pub struct PassRegistry {
    passes: Vec<PassInfo>,
}

impl PassRegistry {
    /// Adds passes. A later one replaces an earlier one of the same name.
    pub fn register(&mut self, passes: impl IntoIterator<Item = PassInfo>) {
        for pass in passes {
            self.passes.retain(|known| known.name != pass.name);
            self.passes.push(pass);
        }
        self.passes.sort_by_key(|pass| pass.name);
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
            let close = did_you_mean(name, self.passes.iter().map(|p| p.name));
            let hint = close
                .map_or("--list-passes shows all".to_owned(), |c| format!("did you mean '{c}'?"));
            return Err(format!("unknown pass '{name}'; {hint}"));
        };
        (info.build)(&PassOptions::of(info, options)?)
    }
}
