//! Interfaces of operations, known on both sides.
//!
//! A pass asks an operation for an interface by its type, and a type's identity ([`TypeId`]) differs between two builds of
//! one crate in different workspaces, even where its layout is the same. So what one side attached to an operation is
//! attached again under the identity that the type has on the other side.

use std::any::{Any, TypeId};
use std::ffi::c_void;
use std::sync::Arc;

use piper_ir::interfaces::{
    Branch, Call, Callable, Canonicalize, ConstantValue, CostModel, Differentiable, Expand, Fold,
    InferTypes, MemoryEffects, ReturnLike, Shardable, Trainable,
};
use piper_ir::{Dialect, OpDef};

type Shared = Arc<dyn Any + Send + Sync>;

macro_rules! interfaces {
    ($($interface:ty),* $(,)?) => {
        /// The identities that the interfaces have here, in one order on all sides.
        pub fn interface_ids() -> Vec<TypeId> {
            vec![$(TypeId::of::<$interface>()),*]
        }

        /// How each is made known here, in the same order.
        const ADOPT: &[unsafe fn(Shared) -> Shared] = &[$(adopt::<$interface>),*];
    };
}

interfaces![
    Branch,
    Call,
    Callable,
    Canonicalize,
    ConstantValue,
    CostModel,
    Differentiable,
    Expand,
    Fold,
    InferTypes,
    MemoryEffects,
    ReturnLike,
    Shardable,
    Trainable,
    piper_dialects::kernel::Fusion,
    piper_dialects::nn::Signature,
    piper_dialects::nn::GivenCostOf,
    piper_schedule::Schedules,
];

/// The same value, with the identity its type has here.
///
/// # Safety
/// The value is an `I` of a build with the same layout of types.
unsafe fn adopt<I: Any + Send + Sync>(value: Shared) -> Shared {
    let value: *const I = Arc::into_raw(value).cast();
    // SAFETY: the caller promises that it was made as an `Arc<I>`, of the same layout.
    let value: Arc<I> = unsafe { Arc::from_raw(value) };
    value
}

/// Attaches the interfaces of an operation again, under their identities here.
///
/// # Safety
/// `theirs` are the [`interface_ids`] of a build with the same layout of types.
unsafe fn adopt_op(def: &mut OpDef, theirs: &[TypeId], replaces: bool) {
    for ((theirs, ours), adopt) in theirs.iter().zip(interface_ids()).zip(ADOPT) {
        if let Some(value) = def.interfaces.get(theirs).cloned()
            && (replaces || !def.interfaces.contains_key(&ours))
        {
            // SAFETY: the caller promises that this identity is that of the same interface there.
            def.interfaces.insert(ours, unsafe { adopt(value) });
        }
    }
}

/// Attaches interfaces again, under their identities here, for the operations of dialects that nobody shares yet. What is
/// known here already stays, unless theirs replaces it.
///
/// # Safety
/// `theirs` are the [`interface_ids`] of a build with the same layout of types.
pub unsafe fn adopt_dialects(dialects: &mut [Dialect], theirs: &[TypeId], replaces: bool) {
    for op in dialects.iter_mut().flat_map(|dialect| &mut dialect.ops) {
        if let Some(def) = Arc::get_mut(op) {
            // SAFETY: as promised by the caller.
            unsafe { adopt_op(def, theirs, replaces) };
        }
    }
}

/// [`adopt_dialects`] across the boundary.
pub(crate) unsafe extern "C-unwind" fn adopt_all(dialects: *mut c_void, theirs: *const c_void) {
    // SAFETY: that is what a host gives, as the descriptor says.
    let (dialects, theirs) =
        unsafe { (&mut *dialects.cast::<Vec<Dialect>>(), &*theirs.cast::<Vec<TypeId>>()) };
    // SAFETY: the host compared the builds. What it says now is newer than what it said before.
    unsafe { adopt_dialects(dialects, theirs, true) };
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::sync::Arc;

    use piper_ir::OpDef;
    use piper_ir::interfaces::Fold;

    use super::{adopt_op, interface_ids};

    /// An interface as another build would have it: the same in memory, with another identity.
    struct TheirFold(#[expect(dead_code, reason = "read as a `Fold`")] Fold);

    #[test]
    fn an_interface_of_another_build_is_found() {
        let mut theirs = interface_ids();
        let at = theirs.iter().position(|id| *id == TypeId::of::<Fold>()).expect("it is listed");
        theirs.iter_mut().for_each(|id| *id = TypeId::of::<()>());
        theirs[at] = TypeId::of::<TheirFold>();
        let fold = Fold(|_| piper_ir::interfaces::Folded::No);
        let mut def = OpDef::new("t.op");
        def.interfaces.insert(theirs[at], Arc::new(TheirFold(fold)));
        assert!(def.interface::<Fold>().is_none());
        // SAFETY: the two types have one layout: one is made of the other.
        unsafe { adopt_op(&mut def, &theirs, false) };
        let found = def.interface::<Fold>().expect("it is known now");
        assert!(std::ptr::fn_addr_eq(found.0, fold.0));
    }

    #[test]
    fn every_interface_of_a_dialect_is_known() {
        let known = interface_ids();
        for dialect in piper_dialects::all() {
            for op in &dialect.ops {
                for id in op.interfaces.keys() {
                    let names = op.interface_names.join(", ");
                    assert!(
                        known.contains(id),
                        "one of {names} of {}: add it to `interfaces!`",
                        op.name
                    );
                }
            }
        }
    }
}
