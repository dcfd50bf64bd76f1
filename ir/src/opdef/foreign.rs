//! Whether a dialect of somebody else can stand beside the others.

use super::Dialect;

/// Why a foreign dialect is not added.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DialectError {
    /// There is a dialect of that name.
    Taken {
        /// The name.
        name: String,
    },
    /// What it has could not be told from what another dialect has.
    BadName {
        /// The name.
        name: String,
    },
    /// It defines something under the name of another dialect, or of none.
    Outside {
        /// The dialect.
        dialect: String,
        /// What it defines: an operation, a type, an attribute.
        what: &'static str,
        /// The name of that.
        name: String,
    },
}

impl DialectError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Taken { .. } => "choose another name".to_owned(),
            Self::BadName { .. } => "such as 'mine'".to_owned(),
            Self::Outside { dialect, name, .. } => {
                let last = name.rsplit('.').next().unwrap_or_default();
                format!("its name begins with the dialect's: '{dialect}.{last}'")
            }
        }
    }
}

impl std::fmt::Display for DialectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Taken { name } => write!(f, "there is a dialect '{name}' already"),
            Self::BadName { name } => write!(
                f,
                "a dialect has the name '{name}'; names are letters, digits, '_' and '$', and begin with a letter or '_'"
            ),
            Self::Outside { dialect, what, name } => {
                write!(
                    f,
                    "dialect '{dialect}' defines the {what} '{name}', which is not of its own"
                )
            }
        }
    }
}

impl std::error::Error for DialectError {}

impl Dialect {
    /// Whether it can stand beside these and the builtin dialect: it replaces nothing of theirs.
    ///
    /// # Errors
    /// It has the name of one, or defines something under another name than its own.
    pub fn check_beside<'d>(
        &self,
        others: impl IntoIterator<Item = &'d Dialect>,
    ) -> Result<(), DialectError> {
        let name = self.name.to_string();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_$".contains(c));
        if !is_name {
            return Err(DialectError::BadName { name });
        }
        if name == "builtin" || others.into_iter().any(|other| other.name == name) {
            return Err(DialectError::Taken { name });
        }
        let ops = self.ops.iter().map(|op| ("operation", &op.name));
        let types = self.types.iter().map(|def| ("type", &def.name));
        let attrs = self.attrs.iter().map(|def| ("attribute", &def.name));
        for (what, full) in ops.chain(types).chain(attrs) {
            let rest = full.strip_prefix(&*name).and_then(|rest| rest.strip_prefix('.'));
            if rest.is_none_or(str::is_empty) {
                return Err(DialectError::Outside { dialect: name, what, name: full.to_string() });
            }
        }
        Ok(())
    }
}
