//! Values.

use piper_ir::ValueDefinition;

use crate::fault::{Fault, PIPER_IN_USE, PiperStatus};
use crate::handle::{PiperBlock, PiperModule, PiperOp, PiperType, PiperValue, edit, read};
use crate::text::{PiperStr, store};

/// A use of a value: operand number `index` of `op`.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PiperUse {
    /// Who uses it.
    pub op: PiperOp,
    /// As which operand.
    pub index: usize,
}

/// The value's type. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_value_type(
    module: *const PiperModule,
    value: PiperValue,
) -> PiperType {
    read(module, "piper_value_type", |h, m| Ok(h.give_type(m.ty(h.value(m, value)?))))
}

/// Sets the value's type. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_value_set_type(
    module: *mut PiperModule,
    value: PiperValue,
    ty: PiperType,
) -> PiperStatus {
    edit(module, "piper_value_set_type", |h| {
        let (value, ty) = (h.value(h.module()?, value)?, h.ty(ty)?);
        h.module_mut()?.set_ty(value, ty);
        Ok(())
    })
}

/// The operation whose result the value is; none for an argument of a block. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_value_op(module: *const PiperModule, value: PiperValue) -> PiperOp {
    read(module, "piper_value_op", |h, m| {
        Ok(m.defining_op(h.value(m, value)?).map(|op| h.give_op(op)).unwrap_or_default())
    })
}

/// The block whose argument the value is; none for a result. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_value_block(
    module: *const PiperModule,
    value: PiperValue,
) -> PiperBlock {
    read(module, "piper_value_block", |h, m| {
        Ok(match m.definition(h.value(m, value)?) {
            ValueDefinition::Argument { block, .. } => h.give_block(block),
            ValueDefinition::Result { .. } => PiperBlock::default(),
        })
    })
}

/// The number of the result or argument that the value is. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_value_index(module: *const PiperModule, value: PiperValue) -> usize {
    read(module, "piper_value_index", |h, m| {
        Ok(match m.definition(h.value(m, value)?) {
            ValueDefinition::Argument { index, .. } | ValueDefinition::Result { index, .. } => {
                index
            }
        })
    })
}

/// The name that the value is printed with, without `%`; null data if it has none. Lives as long as the module. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_value_name(
    module: *const PiperModule,
    value: PiperValue,
) -> PiperStr {
    read(module, "piper_value_name", |h, m| {
        let name = m.value_name(h.value(m, value)?);
        Ok(PiperStr::of_some(name.map(|name| name.text(m.ctx()))))
    })
}

/// Sets the name that the value is printed with, which the printer makes unique. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_value_set_name(
    module: *mut PiperModule,
    value: PiperValue,
    name: PiperStr,
) -> PiperStatus {
    edit(module, "piper_value_set_name", |h| {
        let value = h.value(h.module()?, value)?;
        let name = h.module()?.ctx().name(name.get("the name")?);
        h.module_mut()?.set_value_name(value, name);
        Ok(())
    })
}

/// The value's uses, latest first: writes as many as there is room for, and says how many there are. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_value_uses(
    module: *const PiperModule,
    value: PiperValue,
    out: *mut PiperUse,
    room: usize,
) -> usize {
    read(module, "piper_value_uses", |h, m| {
        let room = if out.is_null() { 0 } else { room };
        let mut count = 0;
        for found in m.uses(h.value(m, value)?) {
            if count < room {
                let found = PiperUse { op: h.give_op(found.op), index: found.index };
                store(out.wrapping_add(count), found);
            }
            count += 1;
        }
        Ok(count)
    })
}

/// Makes all users of a value use another one of the same type. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_value_replace(
    module: *mut PiperModule,
    value: PiperValue,
    by: PiperValue,
) -> PiperStatus {
    edit(module, "piper_value_replace", |h| {
        let m = h.module()?;
        let (value, by) = (h.value(m, value)?, h.value(m, by)?);
        if value == by {
            return Err(Fault::new(PIPER_IN_USE, "a value cannot replace itself"));
        }
        h.module_mut()?.replace_uses(value, by);
        Ok(())
    })
}
