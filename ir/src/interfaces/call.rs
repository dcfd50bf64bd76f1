//! Calls: who is called with what, and what a call can be replaced by.

use std::ops::Range;

use crate::{Module, Name, Op, Region};

/// A call's answer.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The symbol it calls; `None` if the callee is a value.
    pub callee: fn(&Module, Op) -> Option<Name>,
    /// The positions of the operands that become the callee's arguments.
    pub arguments: fn(&Module, Op) -> Range<usize>,
}

impl Call {
    /// The interface of an operation, if it is a call.
    pub fn of(module: &Module, op: Op) -> Option<&Call> {
        module.def(op)?.interface()
    }

    /// A call whose operands are all arguments and whose `callee` attribute names a symbol.
    pub const fn by_symbol() -> Self {
        Self {
            callee: |module, op| module.attr_by(op, "callee")?.as_symbol(module.ctx()),
            arguments: |module, op| 0..module.num_operands(op),
        }
    }

    /// The operation it calls: the symbol in the nearest enclosing symbol table that has it.
    pub fn target(&self, module: &Module, op: Op) -> Option<Op> {
        let name = (self.callee)(module, op)?;
        module.lookup_nearest(op, name.text(module.ctx()))
    }
}

/// The answer of what can be called.
#[derive(Clone, Copy, Debug)]
pub struct Callable {
    /// The body, whose entry block takes the arguments of a call; `None` if it is only declared.
    pub body: fn(&Module, Op) -> Option<Region>,
}

impl Callable {
    /// Something whose first region is its body.
    pub const fn first_region() -> Self {
        Self {
            body: |module, op| {
                let region = *module.regions(op).first()?;
                module.first_block(region).map(|_| region)
            },
        }
    }

    /// The body of an operation, if it can be called and has one.
    pub fn body_of(module: &Module, op: Op) -> Option<Region> {
        (module.def(op)?.interface::<Callable>()?.body)(module, op)
    }
}

/// Marks a terminator whose operands are the results of the callable around it.
#[derive(Clone, Copy, Debug)]
pub struct ReturnLike;

impl ReturnLike {
    /// Whether an operation is one.
    pub fn is(module: &Module, op: Op) -> bool {
        module.def(op).is_some_and(|def| def.interface::<ReturnLike>().is_some())
    }
}
