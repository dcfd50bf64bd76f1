//! What the declarations do not say: shapes, element types, dimension numbers and regions.

pub(super) mod collective;
pub(super) mod contraction;
pub(super) mod control;
pub(super) mod elementwise;
pub(super) mod indexing;
pub(super) mod reduction;
pub(super) mod shape;

use piper_ir::{DYNAMIC, Diagnostic, Module, Op, Reporter, Type, Value};

/// An operation that is checked.
pub(super) struct Check<'c, 'r> {
    pub(super) module: &'c Module,
    pub(super) op: Op,
    pub(super) reporter: &'c mut Reporter<'r>,
}

impl<'c, 'r> Check<'c, 'r> {
    pub(super) fn new(module: &'c Module, op: Op, reporter: &'c mut Reporter<'r>) -> Self {
        Self { module, op, reporter }
    }

    /// Reports a fault of the operation.
    pub(super) fn error(&mut self, reason: impl AsRef<str>) -> &mut Diagnostic {
        let name = self.module.name_text(self.op);
        self.reporter.error(self.module.op_loc(self.op), format!("'{name}': {}", reason.as_ref()))
    }

    /// A type as it is written.
    pub(super) fn text(&self, ty: Type) -> String {
        ty.display(self.module.ctx())
    }

    /// Shape and element type of a value; nothing for what is no ranked tensor.
    pub(super) fn tensor(&self, value: Value) -> Option<(&'c [i64], Type)> {
        self.module.ty(value).as_tensor(self.module.ctx())
    }

    /// The integers of a list attribute.
    pub(super) fn ints(&self, name: &str) -> &'c [i64] {
        let attr = self.module.attr_by(self.op, name);
        attr.and_then(|a| a.as_int_array(self.module.ctx())).unwrap_or(&[])
    }

    /// The number in an attribute.
    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.module.attr_by(self.op, name)?.as_int(self.module.ctx())
    }

    /// Checks that a list holds distinct dimensions of a tensor of this rank.
    pub(super) fn dims(&mut self, what: &str, dims: &[i64], rank: usize) -> bool {
        for (i, &dim) in dims.iter().enumerate() {
            if usize::try_from(dim).is_ok_and(|dim| dim < rank) {
                if dims[..i].contains(&dim) {
                    self.error(format!("{what} names dimension {dim} twice"));
                    return false;
                }
                continue;
            }
            let error =
                self.error(format!("{what} names dimension {dim} of a tensor of rank {rank}"));
            if rank > 0 {
                error.hint(format!("dimensions are counted from 0 to {}", rank - 1));
            }
            return false;
        }
        true
    }

    /// Checks a result against the shape and element type that the operands give.
    pub(super) fn result(&mut self, index: usize, shape: &[i64], element: Type) {
        let value = self.module.result(self.op, index);
        let Some((found, found_element)) = self.tensor(value) else { return };
        if !fits(found, shape) || found_element != element {
            let wanted = self.module.ctx().tensor(shape, element);
            let (found, wanted) = (self.text(self.module.ty(value)), self.text(wanted));
            self.error(format!("the result has type {found}, but the operands make it {wanted}"));
        }
    }
}

/// Whether shapes agree; a dynamic size agrees with any.
pub(super) fn fits(a: &[i64], b: &[i64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| size_fits(*a, *b))
}

/// Whether sizes agree.
pub(super) fn size_fits(a: i64, b: i64) -> bool {
    a == b || a == DYNAMIC || b == DYNAMIC
}
