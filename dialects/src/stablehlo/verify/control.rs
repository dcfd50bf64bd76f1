//! Control flow: what regions take and give.

use piper_ir::{Block, Module, Op, Reporter, Type};

use super::Check;
use crate::func;
use crate::stablehlo::ops::control::{Composite, Return};

fn list(check: &Check<'_, '_>, types: &[Type]) -> String {
    types.iter().map(|ty| check.text(*ty)).collect::<Vec<_>>().join(", ")
}

/// The block of a region and the types it takes and gives.
fn region(module: &Module, op: Op, index: usize) -> Option<(Block, Vec<Type>, Vec<Type>)> {
    let block = module.first_block(*module.regions(op).get(index)?)?;
    let args = module.args(block).iter().map(|v| module.ty(*v)).collect();
    let end = module.last_op(block).filter(|end| Return::cast(module, *end).is_some())?;
    Some((block, args, module.operands(end).map(|v| module.ty(v)).collect()))
}

/// Both regions take the loop's values; the first gives a boolean, the second the next values.
pub(in crate::stablehlo) fn while_loop(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let operands: Vec<Type> = module.operands(op).map(|v| module.ty(v)).collect();
    let results: Vec<Type> = module.results(op).map(|v| module.ty(v)).collect();
    if operands != results {
        let (a, b) = (list(&check, &operands), list(&check, &results));
        check.error(format!("the loop begins with ({a}), but gives ({b})"));
    }
    let boolean = module.ctx().tensor(&[], module.ctx().i1());
    for (index, what, wanted) in
        [(0, "the condition", vec![boolean]), (1, "the body", operands.clone())]
    {
        let Some((_, args, given)) = region(module, op, index) else { continue };
        if args != operands {
            let (a, b) = (list(&check, &args), list(&check, &operands));
            check.error(format!("{what} takes ({a}), but the loop has ({b})"));
        }
        if given != wanted {
            let (a, b) = (list(&check, &given), list(&check, &wanted));
            check.error(format!("{what} gives ({a}), expected ({b})"));
        }
    }
}

/// Every region takes nothing and gives the results.
pub(in crate::stablehlo) fn branches(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let mut check = Check::new(module, op, reporter);
    let results: Vec<Type> = module.results(op).map(|v| module.ty(v)).collect();
    if let Some((shape, _)) = check.tensor(module.operand(op, 0))
        && !shape.is_empty()
    {
        let text = check.text(module.ty(module.operand(op, 0)));
        check.error(format!("the choice is a scalar, not {text}"));
    }
    for index in 0..module.regions(op).len() {
        let Some((_, args, given)) = region(module, op, index) else { continue };
        if !args.is_empty() {
            check
                .error(format!("branch {index} takes arguments"))
                .hint("branches use values from outside");
        }
        if given != results {
            let (a, b) = (list(&check, &given), list(&check, &results));
            check.error(format!("branch {index} gives ({a}), but the results are ({b})"));
        }
    }
}

/// The decomposition is a function of the composite's type.
pub(in crate::stablehlo) fn composite(module: &Module, op: Op, reporter: &mut Reporter<'_>) {
    let ctx = module.ctx();
    let mut check = Check::new(module, op, reporter);
    let Some(name) = Composite(op).decomposition(module).as_symbol(ctx) else { return };
    let name = name.text(ctx);
    let target = module.lookup_nearest(op, name);
    let Some(function) = target.and_then(|target| func::Func::cast(module, target)) else {
        check.error(format!("there is no function '@{name}'"));
        return;
    };
    let (inputs, outputs) = function.signature(module);
    let operands: Vec<Type> = module.operands(op).map(|v| module.ty(v)).collect();
    let results: Vec<Type> = module.results(op).map(|v| module.ty(v)).collect();
    if operands != inputs || results != outputs {
        check
            .error(format!("'@{name}' is a function of another type"))
            .note(module.op_loc(function.0), "the decomposition is defined here");
    }
}
