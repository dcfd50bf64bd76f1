//! Which schedules `strategy.pipeline` may name: those of the catalogue, and those that a context has besides.
//!
//! They are an interface of the operation, so that whoever sees the operation sees the same schedules: its verifier, the
//! pass that expands it, and plugins.

use std::sync::Arc;

use piper_ir::{Context, Dialect, OpDef};
use piper_schedule::Schedules;

use super::PipelineOp;

static CATALOGUE: Schedules = Schedules::new();

/// The schedules of a context.
pub fn schedules(ctx: &Context) -> &Schedules {
    let def = ctx.op_name(PipelineOp::NAME).def(ctx);
    def.and_then(|def| def.interface::<Schedules>()).unwrap_or(&CATALOGUE)
}

/// Sets the schedules of contexts that will be made of these dialects. Says whether it could: a definition that is shared
/// already stays as it is.
pub fn set_schedules(dialects: &mut [Dialect], schedules: &Schedules) -> bool {
    let ops = dialects.iter_mut().flat_map(|dialect| &mut dialect.ops);
    let pipeline = ops.into_iter().find(|op| op.name == PipelineOp::NAME);
    let Some(def) = pipeline.and_then(Arc::get_mut) else { return false };
    def.interfaces.remove(&std::any::TypeId::of::<Schedules>());
    let taken = std::mem::replace(def, OpDef::new(PipelineOp::NAME));
    *def = taken.with_interface(schedules.clone());
    true
}

#[cfg(test)]
mod tests {
    use piper_ir::Context;
    use piper_schedule::Schedules;
    use piper_schedule::generate::{NewSchedule, Placed};

    use super::{schedules, set_schedules};

    #[test]
    fn a_context_knows_its_schedules() {
        let mut all = Schedules::new();
        let mine = NewSchedule::each("mine", "", Placed::Loop, |_, _| Vec::new());
        all.add(mine).expect("a free name");
        let mut dialects = crate::all();
        assert!(set_schedules(&mut dialects, &all));
        let shared = dialects.clone();
        assert!(!set_schedules(&mut dialects, &all));
        assert!(schedules(&Context::new(shared)).check("mine").is_ok());
        assert!(schedules(&Context::new(crate::all())).check("mine").is_err());
    }
}
