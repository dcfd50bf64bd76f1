//! What an operation costs, as a text: `10 * elements($x) + bytes($y)`.
//!
//! ```text
//! sum     = product (('+' | '-') product)*
//! product = factor ('*' factor)*
//! factor  = number | 'elements' '(' $name ')' | 'bytes' '(' $name ')' | 'dim' '(' $name ',' number ')' | '(' sum ')'
//! ```
//!
//! Whole numbers, which stop at their limits: a cost too large to count is as large as can be.

use piper_ir::diag::did_you_mean;
use piper_ir::interfaces::{Cost, CostModel, cost};
use piper_ir::{Module, Op, Value};

/// The costs of an operation: floating-point operations, and bytes read and written where these are not what its operands and
/// results have.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Costs {
    pub(super) flops: Option<Expr>,
    pub(super) read: Option<Expr>,
    pub(super) written: Option<Expr>,
}

/// A group of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Group {
    Operand(usize),
    Result(usize),
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Expr {
    Number(u64),
    Elements(Group),
    Bytes(Group),
    Dim(Group, usize),
    Add(Box<Expr>, Box<Expr>),
    Sub(Box<Expr>, Box<Expr>),
    Mul(Box<Expr>, Box<Expr>),
}

/// Bytes of an expression, so that its tree is not too deep to walk.
const LONGEST: usize = 2000;

/// The interface of an operation with [`Costs`].
pub(super) const MODEL: CostModel = CostModel(|module, op| {
    let moved = Cost::moving_all(module, op, 0);
    let Some(costs) = module.def(op).and_then(|def| def.interface::<Costs>()) else {
        return moved;
    };
    let value = |expr: &Option<Expr>, otherwise| {
        expr.as_ref().map_or(otherwise, |expr| expr.value(module, op))
    };
    Cost {
        flops: value(&costs.flops, 0),
        read: value(&costs.read, moved.read),
        written: value(&costs.written, moved.written),
    }
});

impl Expr {
    fn value(&self, module: &Module, op: Op) -> u64 {
        let sum = |group, measure: fn(&Module, Value) -> u64| {
            let values = values(module, op, group);
            values.fold(0u64, |sum, value| sum.saturating_add(measure(module, value)))
        };
        match self {
            Self::Number(number) => *number,
            Self::Elements(group) => sum(*group, cost::elements),
            Self::Bytes(group) => sum(*group, cost::bytes),
            Self::Dim(group, dim) => {
                let size = |value| {
                    let (shape, _) = module.ty(value).as_tensor(module.ctx())?;
                    u64::try_from(*shape.get(*dim)?).ok()
                };
                values(module, op, *group).next().and_then(size).unwrap_or(0)
            }
            Self::Add(a, b) => a.value(module, op).saturating_add(b.value(module, op)),
            Self::Sub(a, b) => a.value(module, op).saturating_sub(b.value(module, op)),
            Self::Mul(a, b) => a.value(module, op).saturating_mul(b.value(module, op)),
        }
    }

    /// Reads an expression. `group` knows the names.
    ///
    /// # Errors
    /// What is wrong, and at which byte.
    pub(super) fn read(
        text: &str,
        group: &dyn Fn(&str) -> Option<Group>,
    ) -> Result<Self, (usize, String)> {
        if text.len() > LONGEST {
            return Err((LONGEST, format!("a cost of more than {LONGEST} bytes")));
        }
        let mut reader = Reader { text, at: 0, depth: 0, group };
        let expr = reader.sum()?;
        match reader.rest() {
            "" => Ok(expr),
            _ => Err(reader.expected("'+', '-' or '*'")),
        }
    }
}

fn values(module: &Module, op: Op, group: Group) -> Box<dyn Iterator<Item = Value> + '_> {
    match group {
        Group::Operand(group) => Box::new(module.operand_group(op, group)),
        Group::Result(group) => Box::new(module.result_group(op, group)),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    group: &'t dyn Fn(&str) -> Option<Group>,
}

type Read<T> = Result<T, (usize, String)>;

impl<'t> Reader<'t> {
    /// What is left, after blanks.
    fn rest(&mut self) -> &'t str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn eat(&mut self, mark: char) -> bool {
        let found = self.rest().starts_with(mark);
        self.at += usize::from(found);
        found
    }

    fn expected(&mut self, what: &str) -> (usize, String) {
        let found = match self.rest().split_whitespace().next() {
            Some(word) => format!("'{word}'"),
            None => "the end".to_owned(),
        };
        (self.at, format!("expected {what}, found {found}"))
    }

    fn expect(&mut self, mark: char) -> Read<()> {
        match self.eat(mark) {
            true => Ok(()),
            false => Err(self.expected(&format!("'{mark}'"))),
        }
    }

    fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn sum(&mut self) -> Read<Expr> {
        self.depth += 1;
        if self.depth > 100 {
            return Err((self.at, "more than 100 brackets are open".to_owned()));
        }
        let mut sum = self.product()?;
        loop {
            if self.eat('+') {
                sum = Expr::Add(Box::new(sum), Box::new(self.product()?));
            } else if self.eat('-') {
                sum = Expr::Sub(Box::new(sum), Box::new(self.product()?));
            } else {
                self.depth -= 1;
                return Ok(sum);
            }
        }
    }

    fn product(&mut self) -> Read<Expr> {
        let mut product = self.factor()?;
        while self.eat('*') {
            product = Expr::Mul(Box::new(product), Box::new(self.factor()?));
        }
        Ok(product)
    }

    fn factor(&mut self) -> Read<Expr> {
        const WHAT: &str = "a number, elements($x), bytes($x), dim($x, 0) or '('";
        if self.eat('(') {
            let inner = self.sum()?;
            self.expect(')')?;
            return Ok(inner);
        }
        if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return self.number().map(Expr::Number);
        }
        self.rest();
        let start = self.at;
        let word = self.word();
        if word.is_empty() {
            return Err(self.expected(WHAT));
        }
        if !matches!(word, "elements" | "bytes" | "dim") {
            let close = did_you_mean(word, ["elements", "bytes", "dim"]);
            let hint = close.map_or(String::new(), |close| format!("; did you mean '{close}'?"));
            return Err((start, format!("expected {WHAT}, found '{word}'{hint}")));
        }
        self.expect('(')?;
        self.expect('$')?;
        let at = self.at;
        let name = self.word();
        let group = (self.group)(name)
            .ok_or_else(|| (at, format!("there is no operand or result '{name}'")))?;
        let expr = match word {
            "elements" => Expr::Elements(group),
            "bytes" => Expr::Bytes(group),
            _ => {
                self.expect(',')?;
                Expr::Dim(group, usize::try_from(self.number()?).unwrap_or(usize::MAX))
            }
        };
        self.expect(')')?;
        Ok(expr)
    }

    fn number(&mut self) -> Read<u64> {
        self.rest();
        let start = self.at;
        let word = self.word();
        word.parse().map_err(|_| (start, format!("expected a whole number, found '{word}'")))
    }
}

#[cfg(test)]
mod tests {
    use super::{Expr, Group};

    fn read(text: &str) -> Result<Expr, (usize, String)> {
        Expr::read(text, &|name| (name == "x").then_some(Group::Operand(0)))
    }

    #[test]
    fn products_bind_closer_than_sums() {
        let elements = || Box::new(Expr::Elements(Group::Operand(0)));
        let number = |n| Box::new(Expr::Number(n));
        let product = |a, b| Box::new(Expr::Mul(a, b));
        assert_eq!(
            read("2 * elements($x) + 3 * (1 - dim($x, 0))"),
            Ok(Expr::Add(
                product(number(2), elements()),
                product(
                    number(3),
                    Box::new(Expr::Sub(number(1), Box::new(Expr::Dim(Group::Operand(0), 0))))
                )
            ))
        );
    }

    #[test]
    fn mistakes_have_a_place() {
        let error = |text| read(text).map_err(|(at, message)| format!("{at}: {message}"));
        assert_eq!(
            error("2 * elemnts($x)").unwrap_err(),
            "4: expected a number, elements($x), bytes($x), dim($x, 0) or '(', found 'elemnts'; did you mean 'elements'?"
        );
        assert_eq!(error("bytes($y)").unwrap_err(), "7: there is no operand or result 'y'");
        assert_eq!(error("2 2").unwrap_err(), "2: expected '+', '-' or '*', found '2'");
        assert_eq!(error("(2").unwrap_err(), "2: expected ')', found the end");
        assert_eq!(
            error("99999999999999999999").unwrap_err(),
            "0: expected a whole number, found '99999999999999999999'"
        );
        assert!(error(&"(".repeat(1000)).unwrap_err().ends_with("more than 100 brackets are open"));
    }
}
