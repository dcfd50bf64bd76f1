//! Which IR is printed around passes.

use super::IrDump;
use crate::text::{PrintOptions, print_module, print_op};
use crate::{Module, Op};

/// Which IR is printed around passes; nothing by default.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct IrPrinting {
    pub before_all: bool,
    pub after_all: bool,
    pub before: Vec<String>,
    pub after: Vec<String>,
    /// After a pass, print only if it changed something.
    pub only_changes: bool,
    /// After a pass, print only if it failed.
    pub only_failures: bool,
    /// Print the whole module, not only the anchor.
    pub module_scope: bool,
    /// Print only these operations, by symbol (`@f`) or name (`func.func`), where the anchor is or contains them.
    pub only: Vec<String>,
    /// How to print.
    pub print: PrintOptions,
}

impl IrPrinting {
    /// Whether anything may be printed.
    pub fn is_wanted(&self) -> bool {
        self.before_all
            || self.after_all
            || !self.before.is_empty()
            || !self.after.is_empty()
            || self.only_changes
            || self.only_failures
    }

    pub(super) fn before(&self, pass: &str) -> bool {
        self.before_all || self.before.iter().any(|name| name == pass)
    }

    /// Whether a change after this pass is of interest.
    pub(super) fn compares(&self, pass: &str) -> bool {
        self.only_changes && self.lists_after(pass)
    }

    /// Whether to print after a pass that made no change or is not compared.
    pub(super) fn after(&self, pass: &str, failed: bool, changed: Option<bool>) -> bool {
        if failed {
            return self.only_failures;
        }
        !self.only_failures && changed.unwrap_or(true) && self.lists_after(pass)
    }

    /// `only_changes` and `only_failures` alone speak of all passes.
    fn lists_after(&self, pass: &str) -> bool {
        let nothing_listed = !self.after_all && self.after.is_empty();
        self.after_all
            || self.after.iter().any(|name| name == pass)
            || (nothing_listed && self.only_changes)
    }

    /// What is shown of the module around an anchor; empty if nothing of it is wanted.
    pub(super) fn text(&self, module: &Module, op: Op) -> String {
        if !self.only.is_empty() {
            let root = if self.module_scope { module.root() } else { op };
            let wanted = module.walk(root).filter(|op| self.selects(module, *op));
            return wanted.map(|op| print_op(module, op, self.print)).collect();
        }
        if self.module_scope {
            print_module(module, self.print)
        } else {
            print_op(module, op, self.print)
        }
    }

    fn selects(&self, module: &Module, op: Op) -> bool {
        self.only.iter().any(|wanted| match wanted.strip_prefix('@') {
            Some(symbol) => module.symbol_name(op) == Some(symbol),
            None => module.name_text(op) == wanted,
        })
    }

    pub(super) fn dump<'a>(
        &self,
        when: &str,
        pass: &'a str,
        outcome: &str,
        module: &'a Module,
        op: Op,
    ) -> Option<IrDump<'a>> {
        let text = self.text(module, op);
        let mut title = format!("IR Dump {when} {pass}{outcome}");
        if self.module_scope && op != module.root() {
            let symbol = module.symbol_name(op).map_or(String::new(), |name| format!(": @{name}"));
            title += &format!(" ('{}' operation{symbol})", module.name_text(op));
        }
        (!text.is_empty()).then_some(IrDump { pass, title, op, module, text })
    }
}
