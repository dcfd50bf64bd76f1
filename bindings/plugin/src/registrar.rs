//! What a plugin adds.

use std::any::TypeId;
use std::ffi::c_void;
use std::sync::Arc;

use piper_ir::Dialect;
use piper_ir::pass::{BuildPass, Origin, Pass, PassContext, PassInfo, PassOptions, PassResult};
use piper_schedule::NewSchedule;

use crate::connect::guarded;
use crate::hooks;

/// What a plugin adds: passes, dialects and schedules.
#[derive(Debug, Default)]
pub struct Registrar {
    origin: Origin,
    passes: Vec<PassInfo>,
    dialects: Vec<Dialect>,
    schedules: Vec<NewSchedule>,
    interface_ids: Vec<TypeId>,
}

impl Registrar {
    /// An empty one, for what comes from there.
    pub fn new(origin: Origin) -> Self {
        Self { origin, ..Self::default() }
    }

    /// Adds a pass. If it panics, that is told with its name, and the host goes on.
    pub fn pass(&mut self, info: PassInfo) -> &mut Self {
        let build = Arc::clone(&info.build);
        let build: BuildPass = Arc::new(move |options: &PassOptions| {
            let pass = guarded(|| build(options))?;
            Ok(Box::new(Guarded(pass)))
        });
        self.passes.push(PassInfo { build, origin: self.origin.clone(), ..info });
        self
    }

    /// Adds passes.
    pub fn passes(&mut self, passes: impl IntoIterator<Item = PassInfo>) -> &mut Self {
        for info in passes {
            self.pass(info);
        }
        self
    }

    /// Adds a dialect. If one of its verifiers, folders, readers or printers panics, that is told with its name.
    pub fn dialect(&mut self, mut dialect: Dialect) -> &mut Self {
        hooks::guard(&mut dialect, &self.origin);
        self.dialects.push(dialect);
        self
    }

    /// Adds a schedule, for `strategy.pipeline schedule = "NAME"`.
    pub fn schedule(&mut self, schedule: NewSchedule) -> &mut Self {
        self.schedules.push(schedule.wrapped(|generate| guarded(generate)));
        self
    }

    /// What was added.
    pub fn finish(self) -> Contribution {
        let Self { passes, dialects, schedules, interface_ids, .. } = self;
        Contribution { passes, dialects, schedules, interface_ids }
    }
}

/// What a plugin added.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Contribution {
    pub passes: Vec<PassInfo>,
    pub dialects: Vec<Dialect>,
    pub schedules: Vec<NewSchedule>,
    /// The identities of interfaces on the plugin's side.
    pub interface_ids: Vec<TypeId>,
}

/// A pass whose panics go on as the host's.
struct Guarded(Box<dyn Pass>);

impl Pass for Guarded {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn run(&self, cx: &mut PassContext<'_, '_>) -> PassResult {
        guarded(|| self.0.run(cx))
    }

    fn only_reads(&self) -> bool {
        self.0.only_reads()
    }
}

/// Fills a host's registrar. For [`export!`](crate::export).
///
/// # Safety
/// `registrar` is a [`Registrar`] of a host of the same build.
pub unsafe fn enter(registrar: *mut c_void, register: impl FnOnce(&mut Registrar)) {
    guarded(|| {
        // SAFETY: the caller promises it.
        let registrar = unsafe { &mut *registrar.cast::<Registrar>() };
        registrar.interface_ids = crate::interface_ids();
        register(registrar);
    });
}
