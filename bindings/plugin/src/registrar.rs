//! What a plugin adds.

use std::any::TypeId;
use std::ffi::c_void;
use std::sync::Arc;

use piper_ir::Dialect;
use piper_ir::pass::{BuildPass, Origin, Pass, PassContext, PassInfo, PassOptions, PassResult};

use crate::connect::guarded;

/// What a plugin adds: passes and dialects.
#[derive(Debug, Default)]
pub struct Registrar {
    origin: Origin,
    passes: Vec<PassInfo>,
    dialects: Vec<Dialect>,
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

    /// Adds a dialect.
    pub fn dialect(&mut self, dialect: Dialect) -> &mut Self {
        self.dialects.push(dialect);
        self
    }

    /// What was added: passes, dialects, and the identities of interfaces on the plugin's side.
    pub fn finish(self) -> (Vec<PassInfo>, Vec<Dialect>, Vec<TypeId>) {
        (self.passes, self.dialects, self.interface_ids)
    }
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
