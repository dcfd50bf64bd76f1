//! Options of passes: declared, checked, with defaults.

use crate::diag::did_you_mean;

/// A declared option.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct OptionDef {
    pub name: &'static str,
    pub summary: &'static str,
    /// The value when it is not given; `None` if there is none.
    pub default: Option<&'static str>,
}

/// The options a pass is made with.
#[derive(Clone, Debug, Default)]
pub struct PassOptions {
    pass: String,
    given: Vec<(&'static str, String)>,
    defaults: Vec<(&'static str, &'static str)>,
}

impl PassOptions {
    /// Checks what was given against what is declared. An option without a value means `true`.
    ///
    /// # Errors
    /// An option that is not declared, or given twice.
    pub fn read(
        pass: &str,
        declared: &[OptionDef],
        given: &[(String, Option<String>)],
    ) -> Result<Self, String> {
        let mut options = Self { pass: pass.to_owned(), ..Self::default() };
        for (key, value) in given {
            let Some(def) = declared.iter().find(|def| def.name == key) else {
                let names = declared.iter().map(|def| def.name);
                let hint = match did_you_mean(key, names.clone()) {
                    Some(close) => format!("did you mean '{close}'?"),
                    None if declared.is_empty() => "it has none".to_owned(),
                    None => format!("it has: {}", names.collect::<Vec<_>>().join(", ")),
                };
                return Err(format!("pass '{pass}' has no option '{key}'; {hint}"));
            };
            if options.given.iter().any(|(name, _)| *name == def.name) {
                return Err(format!("option '{key}' of pass '{pass}' is given twice"));
            }
            options.given.push((def.name, value.clone().unwrap_or_else(|| "true".to_owned())));
        }
        options.defaults =
            declared.iter().filter_map(|def| Some((def.name, def.default?))).collect();
        Ok(options)
    }

    /// Whether the option was given, not defaulted.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|(key, _)| *key == name)
    }

    /// The option's text, given or default.
    pub fn text(&self, name: &str) -> Option<&str> {
        let given =
            self.given.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
        given
            .or_else(|| self.defaults.iter().find(|(key, _)| *key == name).map(|(_, value)| *value))
    }

    /// The option as a number, truth value or whatever parses; `None` if it has neither value nor default.
    ///
    /// # Errors
    /// A value that does not parse.
    pub fn get<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let parsed = text.parse().map(Some);
        parsed.map_err(|_| {
            let kind = std::any::type_name::<T>();
            let what = match kind {
                "bool" => "true or false",
                "f64" | "f32" => "a number",
                _ => "a whole number in range",
            };
            format!("option '{name}' of pass '{}' takes {what}, not '{text}'", self.pass)
        })
    }
}
