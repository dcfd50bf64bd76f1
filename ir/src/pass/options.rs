//! Options of passes: declared, checked, with defaults.

use std::borrow::Cow;

use super::PassInfo;
use crate::diag::did_you_mean;

/// A declared option.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct OptionDef {
    pub name: Cow<'static, str>,
    pub summary: Cow<'static, str>,
    /// The value when it is not given; `None` if there is none.
    pub default: Option<Cow<'static, str>>,
}

impl OptionDef {
    /// An option that is part of the program, with its value when it is not given. One made at run time fills in the struct.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        default: Option<&'static str>,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            summary: Cow::Borrowed(summary),
            default: match default {
                Some(default) => Some(Cow::Borrowed(default)),
                None => None,
            },
        }
    }
}

/// The options a pass is made with.
#[derive(Clone, Debug, Default)]
pub struct PassOptions {
    pass: String,
    given: Vec<(Cow<'static, str>, String)>,
    defaults: Vec<(Cow<'static, str>, Cow<'static, str>)>,
}

impl PassOptions {
    /// As [`read`](Self::read), with what a registered pass declares; its list options may be given several times, which
    /// adds to the list.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn of(info: &PassInfo, given: &[(String, Option<String>)]) -> Result<Self, String> {
        Self::checked(&info.name, &info.options, &info.lists, given)
    }

    /// Checks what was given against what is declared. An option without a value means `true`.
    ///
    /// # Errors
    /// An option that is not declared, or given twice.
    pub fn read(
        pass: &str,
        declared: &[OptionDef],
        given: &[(String, Option<String>)],
    ) -> Result<Self, String> {
        Self::checked(pass, declared, &[], given)
    }

    fn checked(
        pass: &str,
        declared: &[OptionDef],
        lists: &[Cow<'static, str>],
        given: &[(String, Option<String>)],
    ) -> Result<Self, String> {
        let mut options = Self { pass: pass.to_owned(), ..Self::default() };
        for (key, value) in given {
            let Some(def) = declared.iter().find(|def| def.name == *key) else {
                let names = declared.iter().map(|def| &*def.name);
                let hint = match did_you_mean(key, names.clone()) {
                    Some(close) => format!("did you mean '{close}'?"),
                    None if declared.is_empty() => "it has none".to_owned(),
                    None => format!("it has: {}", names.collect::<Vec<_>>().join(", ")),
                };
                return Err(format!("pass '{pass}' has no option '{key}'; {hint}"));
            };
            let value = value.clone().unwrap_or_else(|| "true".to_owned());
            match options.given.iter_mut().find(|(name, _)| *name == def.name) {
                Some((_, list)) if lists.contains(&def.name) => {
                    list.push(',');
                    list.push_str(&value);
                }
                Some(_) => {
                    return Err(format!("option '{key}' of pass '{pass}' is given twice"));
                }
                None => options.given.push((def.name.clone(), value)),
            }
        }
        let default = |def: &OptionDef| Some((def.name.clone(), def.default.clone()?));
        options.defaults = declared.iter().filter_map(default).collect();
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
        let default = || self.defaults.iter().find(|(key, _)| *key == name).map(|(_, v)| &**v);
        given.or_else(default)
    }

    /// The option as a number, truth value or whatever parses; `None` if it has neither value nor default.
    ///
    /// # Errors
    /// A value that does not parse.
    pub fn get<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        self.parsed(name, text).map(Some)
    }

    /// The option as a list: values separated by commas, a comma inside quotes or brackets not counting. A value that stands
    /// in quotes as a whole is what is inside them. Empty if the option has neither value nor default, or the empty one.
    ///
    /// # Errors
    /// A value that does not parse.
    pub fn list<T: std::str::FromStr>(&self, name: &str) -> Result<Vec<T>, String> {
        let text = self.text(name).unwrap_or_default();
        list_items(text).into_iter().map(|item| self.parsed(name, unquoted(item))).collect()
    }

    /// The option as one of some words; `None` if it has neither value nor default.
    ///
    /// # Errors
    /// Another word; the message suggests the nearest.
    pub fn one_of(
        &self,
        name: &str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        if let Some(word) = words.iter().find(|word| **word == text) {
            return Ok(Some(word));
        }
        let close = did_you_mean(text, words.iter().copied());
        let hint = close.map_or(String::new(), |close| format!(" (did you mean '{close}'?)"));
        Err(format!(
            "option '{name}' of pass '{}' takes one of {}, not '{text}'{hint}",
            self.pass,
            words.join(", ")
        ))
    }

    fn parsed<T: std::str::FromStr>(&self, name: &str, text: &str) -> Result<T, String> {
        text.parse().map_err(|_| {
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

/// The parts of a text between commas that stand in no quotes and no brackets, without blanks around them.
fn list_items(text: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth, mut quote) = (Vec::new(), 0, 0usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '{' | '[' | '(') => depth += 1,
            (None, '}' | ']' | ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                items.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(text[start..].trim());
    if items == [""] { Vec::new() } else { items }
}

/// What is inside the quotes that a text stands in as a whole.
fn unquoted(text: &str) -> &str {
    let inside = |quote: char| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    };
    inside('\'').or_else(|| inside('"')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::{OptionDef, PassOptions, list_items};

    #[test]
    fn lists_are_cut_at_commas_outside_brackets() {
        assert_eq!(list_items("1, 2,3"), ["1", "2", "3"]);
        assert_eq!(list_items("f{a=1,2},'x,y'"), ["f{a=1,2}", "'x,y'"]);
        assert!(list_items(" ").is_empty());
    }

    #[test]
    fn values_are_read_as_what_is_asked_for() {
        let declared =
            [OptionDef::new("sizes", "", None), OptionDef::new("mode", "", Some("greedy"))];
        let given = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> =
                pairs.iter().map(|(k, v)| ((*k).to_owned(), Some((*v).to_owned()))).collect();
            PassOptions::checked("p", &declared, &["sizes".into()], &pairs)
        };
        let options = given(&[("sizes", "1,2"), ("sizes", "3")]).expect("a list");
        assert_eq!(options.list::<u32>("sizes"), Ok(vec![1, 2, 3]));
        assert_eq!(options.one_of("mode", &["greedy", "exact"]), Ok(Some("greedy")));
        let options = given(&[("sizes", "a='x,y','b c',\"d,e\",'f'-'g',''")]).expect("a list");
        let texts = ["a='x,y'", "b c", "d,e", "'f'-'g'", ""].map(str::to_owned);
        assert_eq!(options.list::<String>("sizes"), Ok(texts.to_vec()));
        let options = given(&[("mode", "exakt"), ("sizes", "1,x")]).expect("known options");
        let error = options.one_of("mode", &["greedy", "exact"]).expect_err("a slip");
        assert!(error.ends_with("not 'exakt' (did you mean 'exact'?)"), "{error}");
        assert!(options.list::<u32>("sizes").expect_err("x").contains("not 'x'"));
        let twice = given(&[("mode", "greedy"), ("mode", "exact")]).expect_err("no list");
        assert_eq!(twice, "option 'mode' of pass 'p' is given twice");
    }
}
