//! The Boolean expressions of `REQUIRES:`, `UNSUPPORTED:` and `XFAIL:`.

use std::collections::BTreeSet;

/// Evaluates `expr` (`&&`, `||`, `!`, parentheses, names, `{{regex}}` within names, `true`, `false`).
///
/// # Errors
/// A message when the expression is malformed.
pub(crate) fn holds(expr: &str, features: &BTreeSet<String>) -> Result<bool, String> {
    let mut parser = Parser { rest: expr, features };
    let value = parser.disjunction()?;
    match parser.rest.trim() {
        "" => Ok(value),
        rest => Err(format!("unexpected '{rest}' in feature expression '{expr}'")),
    }
}

struct Parser<'a> {
    rest: &'a str,
    features: &'a BTreeSet<String>,
}

impl Parser<'_> {
    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }

    fn disjunction(&mut self) -> Result<bool, String> {
        let mut value = self.conjunction()?;
        while self.eat("||") {
            value |= self.conjunction()?;
        }
        Ok(value)
    }

    fn conjunction(&mut self) -> Result<bool, String> {
        let mut value = self.negation()?;
        while self.eat("&&") {
            value &= self.negation()?;
        }
        Ok(value)
    }

    fn negation(&mut self) -> Result<bool, String> {
        if self.eat("!") {
            return Ok(!self.negation()?);
        }
        if self.eat("(") {
            let value = self.disjunction()?;
            return if self.eat(")") {
                Ok(value)
            } else {
                Err("missing ')' in feature expression".into())
            };
        }
        self.name()
    }

    fn name(&mut self) -> Result<bool, String> {
        self.rest = self.rest.trim_start();
        let mut regex = String::new();
        let mut name = String::new();
        loop {
            if let Some(inner) = self.rest.strip_prefix("{{") {
                let end = inner.find("}}").ok_or("'{{' without '}}' in feature expression")?;
                regex.push_str(&format!("(?:{})", &inner[..end]));
                name.push_str(&inner[..end]);
                self.rest = &inner[end + 2..];
                continue;
            }
            let word =
                self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-+=._".contains(c)));
            let (word, rest) = self.rest.split_at(word.unwrap_or(self.rest.len()));
            if word.is_empty() {
                break;
            }
            regex.push_str(&regex::escape(word));
            name.push_str(word);
            self.rest = rest;
        }
        match name.as_str() {
            "" => Err(format!("expected a feature name at '{}'", self.rest)),
            "true" => Ok(true),
            "false" => Ok(false),
            _ => {
                let regex =
                    regex::Regex::new(&format!("^(?:{regex})$")).map_err(|e| e.to_string())?;
                Ok(self.features.iter().any(|f| regex.is_match(f)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::holds;

    #[test]
    fn expressions_follow_the_usual_precedence() {
        let features = ["llvm", "arch=x86_64"].map(String::from).into();
        for (expr, value) in [
            ("llvm", true),
            ("mlir", false),
            ("!mlir && llvm", true),
            ("mlir || llvm && !mlir", true),
            ("!(mlir || llvm)", false),
            ("arch={{x86.*}}", true),
            ("true && !false", true),
        ] {
            assert_eq!(holds(expr, &features), Ok(value), "{expr}");
        }
        for bad in ["", "llvm &&", "(llvm", "llvm mlir", "&& llvm", "{{a"] {
            assert!(holds(bad, &features).is_err(), "{bad} should be rejected");
        }
    }
}
