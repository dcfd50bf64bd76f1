//! Device programs with the kernels they launch.

use std::path::Path;

use piper_codegen::adapter::CodeReport;
use piper_plan::{KernelDecl, Plan};
use piper_runtime::{Kernel, KernelLibrary, NativeLibrary, Options};
use piper_sim::{Machine, Outcome};

use crate::{Failure, Training};

/// What a program became: one program for each class of devices, and the kernels they launch.
pub struct Executable {
    /// The device programs, with machine code if there is any.
    pub plan: Plan,
    /// The kernels they launch.
    pub library: Box<dyn KernelLibrary + Send + Sync>,
    /// How the machine code was made, if it was made just now.
    pub code: Option<CodeReport>,
}

impl std::fmt::Debug for Executable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executable").field("plan", &self.plan.name).finish_non_exhaustive()
    }
}

impl Executable {
    /// A plan with the machine code that it carries. Without code for this processor it can be shown, simulated and written;
    /// [`train`](Self::train) says what is missing.
    pub fn of_plan(plan: Plan) -> Self {
        let library: Box<dyn KernelLibrary + Send + Sync> = match NativeLibrary::of_plan(&plan) {
            Ok(library) => Box::new(library),
            Err(error) => Box::new(Absent(error.to_string())),
        };
        Self { plan, library, code: None }
    }

    /// A `.pplan` file.
    ///
    /// # Errors
    /// A file that cannot be read or is none.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Failure> {
        Ok(Self::of_plan(Plan::read(path).map_err(failure)?))
    }

    /// The contents of a `.pplan` file.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        Ok(Self::of_plan(Plan::from_bytes(bytes).map_err(failure)?))
    }

    /// Writes a `.pplan` file. What the interpreter computes is not in it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Failure> {
        self.plan.write(path).map_err(failure)
    }

    /// The plan as text: its tables, and one program for each class of devices.
    pub fn text(&self) -> String {
        piper_plan::print::plan(&self.plan)
    }

    /// What each device issues, in order.
    pub fn launch_sequence(&self) -> String {
        piper_plan::print::launch_sequence(&self.plan, 0..self.plan.devices(), &|_| None)
    }

    /// Plays the programs on a model of a machine.
    ///
    /// # Errors
    /// A plan and a machine that do not fit each other.
    pub fn simulate(&self, machine: &Machine) -> Result<Outcome, Failure> {
        piper_sim::simulate(&self.plan, machine).map_err(failure)
    }

    /// Loads the programs on virtual devices, threads of this process, at the plan's initial state.
    ///
    /// # Errors
    /// A plan that is not safe to run, that lacks a kernel, or that needs more memory than there is.
    pub fn train(&self, options: Options) -> Result<Training, Failure> {
        Training::load(self.plan.clone(), &*self.library, options)
    }
}

/// No kernels, and why.
struct Absent(String);

impl KernelLibrary for Absent {
    fn kernel(&self, _: &KernelDecl) -> Result<Kernel, String> {
        Err(self.0.clone())
    }
}

fn failure(error: impl std::fmt::Display) -> Failure {
    Failure::new(error.to_string())
}
