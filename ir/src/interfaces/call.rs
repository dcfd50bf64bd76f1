//! Calls: who is called with what, and what a call can be replaced by.

use std::ops::Range;

use crate::{Block, Context, Loc, Module, Name, Op, OpState, Region, Value};

/// A call's answer.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The symbol it calls; `None` if the callee is a value.
    pub callee: fn(&Module, Op) -> Option<Name>,
    /// The positions of the operands that become the callee's arguments.
    pub arguments: fn(&Module, Op) -> Range<usize>,
    /// Tells an operation that took the place of the call what the call said of it: called with the call, which still
    /// stands, and each copied operation of the callee's body.
    pub inlined: Option<fn(&mut Module, Op, Op)>,
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
            inlined: None,
        }
    }

    /// Sets what copied operations are told.
    pub const fn telling(mut self, inlined: fn(&mut Module, Op, Op)) -> Self {
        self.inlined = Some(inlined);
        self
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

/// Makes a branch that passes values to a block.
pub type MakeBranch = fn(&Context, Block, &[Value], Loc) -> OpState;

/// The answer of a terminator whose operands are the results of the callable around it.
#[derive(Clone, Copy, Debug)]
pub struct ReturnLike {
    /// The branch that it becomes where a body of several blocks is inlined: it passes these values to this block.
    pub branch: Option<MakeBranch>,
}

impl ReturnLike {
    /// The interface of an operation, if it is one.
    pub fn of(module: &Module, op: Op) -> Option<&ReturnLike> {
        module.def(op)?.interface()
    }
}
