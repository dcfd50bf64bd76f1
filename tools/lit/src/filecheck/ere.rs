//! POSIX extended regular expressions, as FileCheck means them, in the syntax of the `regex` crate.
//!
//! The two dialects agree on most of what tests write and differ in traps: in POSIX a backslash before a letter
//! is that letter (no `\d`, no `\w`), a backslash inside brackets is a character of the set, a negated set never
//! crosses a line, `{` is literal unless a digit follows, and there are no lazy quantifiers. A test that passes here and
//! fails under the real tool would be worthless, so those rules are applied before the expression reaches `regex`.

/// Translates the body of a `{{...}}` or `[[NAME:...]]` block; groups become non-capturing.
///
/// # Errors
/// A message for an expression that POSIX rejects, or for a back-reference by number, which is not supported.
pub(crate) fn translate(source: &str) -> Result<String, String> {
    let mut reader = Reader { chars: source.chars().collect(), at: 0, out: String::new() };
    reader.alternatives(0)?;
    if reader.at < reader.chars.len() {
        return Err("parentheses not balanced".into());
    }
    Ok(reader.out)
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    out: String,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn alternatives(&mut self, depth: u32) -> Result<(), String> {
        if depth > 200 {
            return Err("regular expression nested too deeply".into());
        }
        loop {
            let start = self.at;
            while let Some(c) = self.peek() {
                if c == '|' || (c == ')' && depth > 0) {
                    break;
                }
                self.factor(c, depth)?;
            }
            if self.at == start && !(start == 0 && self.chars.is_empty()) {
                return Err("empty (sub)expression".into());
            }
            if self.peek() != Some('|') {
                return Ok(());
            }
            self.out.push('|');
            self.at += 1;
        }
    }

    fn factor(&mut self, c: char, depth: u32) -> Result<(), String> {
        self.at += 1;
        let mut repeatable = true;
        match c {
            '(' => {
                self.out.push_str("(?:");
                if self.peek() != Some(')') {
                    self.alternatives(depth + 1)?;
                }
                if self.peek() != Some(')') {
                    return Err("parentheses not balanced".into());
                }
                self.at += 1;
                self.out.push(')');
            }
            ')' => return Err("parentheses not balanced".into()),
            '^' | '$' => {
                self.out.push(c);
                repeatable = c == '$';
            }
            '*' | '+' | '?' => return Err("repetition-operator operand invalid".into()),
            '.' => self.out.push('.'),
            '[' => self.bracket()?,
            '\\' => match self.peek() {
                None => return Err("trailing backslash (\\)".into()),
                Some(d) if d.is_ascii_digit() && d != '0' => {
                    return Err("back-references by number are not supported; name the group with [[NAME:...]]".into());
                }
                Some(d) => {
                    self.at += 1;
                    self.out.push_str(&regex::escape(&d.to_string()));
                }
            },
            '{' if self.peek().is_some_and(|d| d.is_ascii_digit()) => {
                return Err("repetition-operator operand invalid".into());
            }
            other => self.out.push_str(&regex::escape(&other.to_string())),
        }
        self.repetition(repeatable)
    }

    fn is_repetition(&self) -> bool {
        match self.peek() {
            Some('*' | '+' | '?') => true,
            Some('{') => self.chars.get(self.at + 1).is_some_and(char::is_ascii_digit),
            _ => false,
        }
    }

    fn repetition(&mut self, repeatable: bool) -> Result<(), String> {
        if !self.is_repetition() {
            return Ok(());
        }
        if !repeatable {
            return Err("repetition-operator operand invalid".into());
        }
        let c = self.chars[self.at];
        self.at += 1;
        self.out.push(c);
        if c == '{' {
            let close = self.chars[self.at..]
                .iter()
                .position(|&c| c == '}')
                .ok_or("braces not balanced")?;
            let count: String = self.chars[self.at..self.at + close].iter().collect();
            self.at += close + 1;
            let (low, high) = count.split_once(',').unwrap_or((&count, &count));
            let number = |s: &str| s.parse::<u32>().ok().filter(|&n| n <= 255);
            match (number(low), number(high)) {
                (Some(l), Some(h)) if l <= h => {}
                (Some(_), None) if high.is_empty() => {}
                _ => return Err("invalid repetition count(s)".into()),
            }
            self.out.push_str(&count);
            self.out.push('}');
        }
        if self.is_repetition() {
            return Err("repetition-operator operand invalid".into());
        }
        Ok(())
    }

    /// A bracket expression; the `[` is already consumed.
    fn bracket(&mut self) -> Result<(), String> {
        const UNBALANCED: &str = "brackets ([ ]) not balanced";
        self.out.push('[');
        let negated = self.peek() == Some('^');
        if negated {
            self.at += 1;
            // As under REG_NEWLINE: a negated set does not run into the next line.
            self.out.push_str("^\\n");
        }
        let first = self.at;
        loop {
            let c = self.peek().ok_or(UNBALANCED)?;
            self.at += 1;
            if c == ']' && self.at > first + 1 {
                break;
            }
            if c == '[' && self.peek() == Some(':') {
                let rest: String = self.chars[self.at + 1..].iter().collect();
                let end = rest.find(":]").ok_or(UNBALANCED)?;
                let class = &rest[..end];
                const CLASSES: [&str; 12] = [
                    "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print",
                    "punct", "space", "upper", "xdigit",
                ];
                if !CLASSES.contains(&class) {
                    return Err("invalid character class".into());
                }
                self.out.push_str(&format!("[:{class}:]"));
                self.at += 1 + class.chars().count() + 2;
                continue;
            }
            if self.peek() == Some('-') && self.chars.get(self.at + 1).is_some_and(|&c| c != ']') {
                let high = self.chars[self.at + 1];
                self.at += 2;
                if high < c {
                    return Err("invalid character range".into());
                }
                self.out.push_str(&format!("{}-{}", set_member(c), set_member(high)));
            } else {
                self.out.push_str(&set_member(c));
            }
        }
        self.out.push(']');
        Ok(())
    }
}

/// A character inside a bracket set, escaped by code point where `regex` could read it as syntax.
fn set_member(c: char) -> String {
    if c.is_alphanumeric() || c == ' ' || c == '_' {
        c.to_string()
    } else {
        format!("\\x{{{:x}}}", u32::from(c))
    }
}

#[cfg(test)]
mod tests {
    use super::translate;

    fn matches(ere: &str, text: &str) -> bool {
        let re = format!("(?m)^(?:{})$", translate(ere).expect("valid"));
        regex::Regex::new(&re).expect("translated regex compiles").is_match(text)
    }

    #[test]
    fn backslash_letter_is_the_letter() {
        assert!(matches(r"\d+", "ddd"));
        assert!(!matches(r"\d+", "123"));
        assert!(matches(r"\.", "."));
        assert!(!matches(r"\.", "x"));
    }

    #[test]
    fn brackets_follow_posix() {
        assert!(matches(r"[\]", "\\"));
        assert!(matches("[]a]+", "a]"));
        assert!(matches("[^]]", "a"));
        assert!(matches("[a-]+", "a-"));
        assert!(matches("[[:digit:]x]+", "12x"));
        assert!(!regex::Regex::new(&translate("a[^b]c").unwrap()).unwrap().is_match("a\nc"));
        assert!(matches("[&&~^]+", "^&~"));
    }

    #[test]
    fn braces_are_literal_unless_counting() {
        assert!(matches("a{2,3}", "aaa"));
        assert!(matches("{a}", "{a}"));
        assert!(matches("x{y", "x{y"));
    }

    #[test]
    fn what_posix_rejects_is_rejected() {
        for bad in
            ["*a", "a**", ".*?", "a|", "(a", "a)", "[a", "a{3,2}", "[[:nope:]]", "\\", "(a)\\1"]
        {
            assert!(translate(bad).is_err(), "{bad} should be rejected");
        }
    }
}
