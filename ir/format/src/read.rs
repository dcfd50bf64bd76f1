//! From text to elements. Every name is looked up here; whether nothing is forgotten is checked afterwards.

use crate::check::check;
use crate::suggest::did_you_mean;
use crate::{Argument, Count, Declaration, Declared, Element, FormatError, Part, Values};

type Read<T> = Result<T, FormatError>;

/// Directives, for suggestions.
const DIRECTIVES: &[&str] = &[
    "attr-dict",
    "attr-dict-with-keyword",
    "custom",
    "functional-type",
    "oilist",
    "operands",
    "prop-dict",
    "qualified",
    "ref",
    "regions",
    "result-types",
    "results",
    "successors",
    "type",
];

/// Punctuation that the lexer of `.pir` has as one token.
const PUNCTUATION: &[&str] =
    &["->", ":", ",", "=", "<", ">", "(", ")", "[", "]", "{", "}", "?", "+", "*", "-", "/", "|"];

/// Reads a format and checks it against the declaration.
///
/// # Errors
/// A text that is not a format, a name that is not declared or is written twice, or a declared part that the text leaves
/// out so that an operation could not be read back.
pub fn read(text: &str, declared: &Declaration) -> Read<Vec<Element>> {
    let mut reader = Reader { text, at: 0, declared };
    let (elements, anchor) = reader.elements(&[])?;
    if anchor.is_some() {
        return Err(reader.error("an anchor '^' stands in an optional group: ( ... )?"));
    }
    check(&elements, declared, text.len())?;
    Ok(elements)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    declared: &'a Declaration,
}

impl<'a> Reader<'a> {
    fn error(&self, message: impl Into<String>) -> FormatError {
        FormatError { message: message.into(), at: self.at }
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn eat(&mut self, text: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn expect(&mut self, text: &str, context: &str) -> Read<()> {
        if self.eat(text) {
            return Ok(());
        }
        Err(self.error(format!("expected '{text}' {context}, found {}", self.found())))
    }

    /// What stands here, for messages.
    fn found(&self) -> String {
        match self.rest().split_whitespace().next() {
            Some(word) => format!("'{word}'"),
            None => "the end".to_owned(),
        }
    }

    fn word(&mut self) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// The elements up to one of `ends` (not taken) or the end of the text, and the position of the anchor among them.
    fn elements(&mut self, ends: &[&str]) -> Read<(Vec<Element>, Option<usize>)> {
        let (mut elements, mut anchor) = (Vec::new(), None);
        loop {
            self.skip_space();
            if ends.iter().any(|end| self.rest().starts_with(end)) {
                return Ok((elements, anchor));
            }
            if self.rest().is_empty() {
                return match ends {
                    [] => Ok((elements, anchor)),
                    _ => Err(self.error("'(' is not closed")),
                };
            }
            if self.rest().starts_with(')') {
                return Err(self.error("')' without '('"));
            }
            elements.push(self.element()?);
            if self.eat("^") {
                if anchor.is_some() {
                    return Err(self.error("a group has one anchor '^', not two"));
                }
                anchor = Some(elements.len() - 1);
            }
        }
    }

    fn element(&mut self) -> Read<Element> {
        if self.eat("`") {
            return self.literal();
        }
        if self.eat("$") {
            return self.variable(false);
        }
        if self.eat("(") {
            return self.group();
        }
        let start = self.at;
        let word = self.word();
        match word {
            "attr-dict" => Ok(Element::AttrDict),
            "attr-dict-with-keyword" => Ok(Element::AttrDictWithKeyword),
            "prop-dict" => Ok(Element::PropDict),
            "operands" => Ok(Element::Operands),
            "regions" => Ok(Element::Regions),
            "successors" => Ok(Element::Successors),
            "result-types" => Ok(Element::ResultTypes),
            "type" => Ok(Element::Type(self.values_in_parens()?)),
            "functional-type" => {
                self.expect("(", "after 'functional-type'")?;
                let inputs = self.values()?;
                self.expect(",", "between the inputs and the results")?;
                let results = self.values()?;
                self.expect(")", "at the end of 'functional-type'")?;
                Ok(Element::FunctionalType(inputs, results))
            }
            "qualified" => self.qualified(),
            "oilist" => self.oilist(),
            "custom" => self.custom(),
            "results" => {
                Err(FormatError { message: "'results' stands in type(results)".into(), at: start })
            }
            "ref" => Err(FormatError {
                message: "'ref(...)' stands in the arguments of a custom directive".into(),
                at: start,
            }),
            "" => Err(self.error(format!(
                "expected `literal`, $name, a directive or '(', found {}",
                self.found()
            ))),
            other => {
                let hint = did_you_mean(other, DIRECTIVES.iter().copied()).map_or_else(
                    || "literals stand in backticks".to_owned(),
                    |known| format!("did you mean '{known}'?"),
                );
                Err(FormatError {
                    message: format!("unknown directive '{other}'; {hint}"),
                    at: start,
                })
            }
        }
    }

    fn literal(&mut self) -> Read<Element> {
        let Some(len) = self.rest().find('`') else {
            return Err(self.error("'`' is not closed"));
        };
        let text = &self.rest()[..len];
        if matches!(text, "" | " " | "\\n" | "\n") {
            self.at += len + 1;
            return Ok(Element::Space(text.replace("\\n", "\n")));
        }
        let is_keyword = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.$-".contains(c));
        if !is_keyword && !PUNCTUATION.contains(&text) {
            return Err(self.error(format!("`{text}` is not a keyword or one punctuation mark")));
        }
        self.at += len + 1;
        Ok(Element::Literal(text.to_owned()))
    }

    fn group(&mut self) -> Read<Element> {
        let (then, anchor) = self.elements(&[")"])?;
        self.expect(")", "at the end of the group")?;
        let mut otherwise = Vec::new();
        if self.eat(":") {
            self.expect("(", "and what is written otherwise")?;
            let (elements, second) = self.elements(&[")"])?;
            self.expect(")", "at the end of the group")?;
            if second.is_some() {
                return Err(self.error("the anchor '^' stands in the first of two groups"));
            }
            otherwise = elements;
        }
        self.expect("?", "after an optional group")?;
        let Some(anchor) = anchor else {
            return Err(self.error("an optional group needs an anchor '^' on one of its elements"));
        };
        Ok(Element::Group { then, otherwise, anchor })
    }

    fn oilist(&mut self) -> Read<Element> {
        self.expect("(", "after 'oilist'")?;
        let mut clauses = Vec::new();
        loop {
            let (clause, anchor) = self.elements(&["|", ")"])?;
            if anchor.is_some() {
                return Err(self.error("the clauses of an oilist have no anchor"));
            }
            if !matches!(clause.first(), Some(Element::Literal(_))) {
                return Err(self.error("a clause of an oilist begins with a `keyword`"));
            }
            clauses.push(clause);
            if !self.eat("|") {
                self.expect(")", "at the end of 'oilist'")?;
                return Ok(Element::Oilist(clauses));
            }
        }
    }

    fn qualified(&mut self) -> Read<Element> {
        self.expect("(", "after 'qualified'")?;
        let element = if self.eat("$") {
            match self.variable(true)? {
                element @ Element::Attr { .. } => element,
                _ => return Err(self.error("qualified(...) takes an attribute or a type(...)")),
            }
        } else if self.word() == "type" {
            // Types are always written in full.
            Element::Type(self.values_in_parens()?)
        } else {
            return Err(self.error("qualified(...) takes an attribute or a type(...)"));
        };
        self.expect(")", "at the end of 'qualified'")?;
        Ok(element)
    }

    fn custom(&mut self) -> Read<Element> {
        self.expect("<", "after 'custom'")?;
        let start = self.at;
        let name = self.word();
        let Some(directive) = self.declared.directives.iter().position(|known| known == name)
        else {
            let known = self.declared.directives.iter().map(String::as_str);
            let hint = did_you_mean(name, known)
                .map_or(String::new(), |known| format!("; did you mean '{known}'?"));
            let message =
                format!("custom directive '{name}' is not among the operation's directives{hint}");
            return Err(FormatError { message, at: start });
        };
        self.expect(">", "after the directive's name")?;
        self.expect("(", "and the directive's arguments")?;
        let mut arguments = Vec::new();
        while !self.eat(")") {
            if !arguments.is_empty() {
                self.expect(",", "between arguments")?;
            }
            arguments.push(self.argument()?);
        }
        Ok(Element::Custom { directive, arguments })
    }

    fn argument(&mut self) -> Read<Argument> {
        if self.eat("$") {
            let part = self.part()?;
            return Ok(Argument { part, is_ref: false });
        }
        let start = self.at;
        match self.word() {
            "type" => Ok(Argument { part: Part::Type(self.values_in_parens()?), is_ref: false }),
            "attr-dict" => Ok(Argument { part: Part::AttrDict, is_ref: false }),
            "ref" => {
                self.expect("(", "after 'ref'")?;
                let Argument { part, is_ref } = self.argument()?;
                if is_ref {
                    return Err(self.error("ref(ref(...))"));
                }
                self.expect(")", "at the end of 'ref'")?;
                Ok(Argument { part, is_ref: true })
            }
            _ => {
                self.at = start;
                Err(self.error(format!(
                    "a custom directive takes $name, type(...), attr-dict or ref(...), not {}",
                    self.found()
                )))
            }
        }
    }

    fn part(&mut self) -> Read<Part> {
        Ok(match self.variable(false)? {
            Element::Operand(i) => Part::Operand(i),
            Element::Attr { slot, .. } | Element::SymbolName(slot) => Part::Attr(slot),
            Element::Region(i) => Part::Region(i),
            Element::Successor(i) => Part::Successor(i),
            _ => unreachable!("a variable is one of these"),
        })
    }

    /// `(values)`
    fn values_in_parens(&mut self) -> Read<Values> {
        self.expect("(", "after 'type'")?;
        let values = self.values()?;
        self.expect(")", "at the end of 'type'")?;
        Ok(values)
    }

    fn values(&mut self) -> Read<Values> {
        if !self.eat("$") {
            let start = self.at;
            return match self.word() {
                "operands" => Ok(Values::Operands),
                "results" => Ok(Values::Results),
                _ => {
                    self.at = start;
                    Err(self.error(format!(
                        "expected $name, 'operands' or 'results', found {}",
                        self.found()
                    )))
                }
            };
        }
        let start = self.at;
        let name = self.word();
        let position = |list: &[Declared]| list.iter().position(|item| item.name == name);
        if let Some(i) = position(&self.declared.operands) {
            return Ok(Values::Operand(i));
        }
        if let Some(i) = position(&self.declared.results) {
            return Ok(Values::Result(i));
        }
        let values = self.declared.operands.iter().chain(&self.declared.results);
        let hint = did_you_mean(name, values.map(|item| &*item.name))
            .map_or(String::new(), |known| format!("; did you mean '${known}'?"));
        let message = format!("there is no operand or result '{name}'{hint}");
        Err(FormatError { message, at: start })
    }

    /// What `$name` stands for, the `$` already taken.
    fn variable(&mut self, qualified: bool) -> Read<Element> {
        let start = self.at;
        let name = self.word();
        let declared = self.declared;
        let position = |list: &[Declared]| list.iter().position(|item| item.name == name);
        if let Some(i) = position(&declared.operands) {
            return Ok(Element::Operand(i));
        }
        if let Some(slot) = declared.attrs.iter().position(|attr| attr.name == name) {
            return Ok(match name {
                "sym_name" => Element::SymbolName(slot),
                _ => Element::Attr { slot, qualified },
            });
        }
        if let Some(i) = position(&declared.regions) {
            return Ok(Element::Region(i));
        }
        if let Some(i) = position(&declared.successors) {
            return Ok(Element::Successor(i));
        }
        let mut message = format!("'${name}' is not declared");
        if position(&declared.results).is_some() {
            message = format!("'${name}' is a result, which the format writes as type(${name})");
        } else {
            let lists = [&declared.operands, &declared.regions, &declared.successors];
            let names = lists.into_iter().flatten().map(|item| &*item.name);
            let names = names.chain(declared.attrs.iter().map(|attr| &*attr.name));
            if let Some(known) = did_you_mean(name, names) {
                message = format!("{message}; did you mean '${known}'?");
            }
        }
        Err(FormatError { message, at: start })
    }
}

impl Declared {
    /// A declared name.
    pub fn new(name: impl Into<String>, count: Count) -> Self {
        Self { name: name.into(), count }
    }
}
