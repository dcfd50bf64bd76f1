//! Modules and kernels as their users see them.

use std::sync::Arc;

use crate::ast::Variable;
use crate::code::Code;
use crate::error::{SourceError, line_of};
use crate::load::load;
use crate::parse::{Parsed, parse};

/// A parsed PTX module. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) parsed: Parsed,
    pub(crate) source: String,
}

impl Module {
    /// Parses a module.
    ///
    /// # Errors
    /// The text is no PTX as LLVM writes it: with line and column, and what was expected.
    pub fn parse(source: &str) -> Result<Self, SourceError> {
        let parsed = parse(source).map_err(|error| error.with_text(source))?;
        Ok(Self { inner: Arc::new(Inner { parsed, source: source.to_string() }) })
    }

    /// The target, such as `sm_80`.
    pub fn target(&self) -> &str {
        &self.inner.parsed.target
    }

    /// Variables of the module.
    pub fn variables(&self) -> &[Variable] {
        &self.inner.parsed.variables
    }

    /// Names of the kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let functions = self.inner.parsed.functions.iter();
        functions.filter(|f| f.is_entry && f.is_defined).map(|f| f.name.as_str())
    }

    /// Loads the kernel `name`: every instruction of it is decided here.
    ///
    /// # Errors
    /// There is no such kernel, or it has an instruction that is not supported: with its line.
    pub fn kernel(&self, name: &str) -> Result<Kernel, SourceError> {
        let code =
            load(&self.inner.parsed, name).map_err(|error| error.with_text(&self.inner.source))?;
        let threads =
            self.inner.parsed.functions.iter().find(|f| f.name == name).and_then(|f| f.threads);
        Ok(Kernel { module: self.clone(), name: name.to_string(), code: Arc::new(code), threads })
    }
}

/// A kernel that can be launched. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) module: Module,
    name: String,
    pub(crate) code: Arc<Code>,
    pub(crate) threads: Option<([u32; 3], bool)>,
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters, in order.
    pub fn params(&self) -> impl ExactSizeIterator<Item = &Variable> {
        self.code.params.iter().map(|(variable, _)| variable)
    }

    /// Registers, with those of inlined functions. They are virtual: what the hardware needs is for `ptxas` to say.
    pub fn registers(&self) -> usize {
        self.code.registers.len()
    }

    /// Bytes of static shared memory.
    pub fn shared_bytes(&self) -> u64 {
        self.code.shared_bytes
    }

    /// Bytes of local memory of a thread.
    pub fn local_bytes(&self) -> u64 {
        self.code.local_bytes
    }

    /// Instructions, with those of inlined functions.
    pub fn instructions(&self) -> usize {
        self.code.steps.len()
    }

    /// The most threads a block may have in each direction, and whether it must have exactly these.
    pub fn threads(&self) -> Option<([u32; 3], bool)> {
        self.threads
    }

    /// Bytes of shared memory that a block can have on the target: CUDA C++ Programming Guide, table of technical
    /// specifications per compute capability, less the kilobyte that the system keeps.
    pub(crate) fn most_shared(&self) -> u64 {
        let digits: String = self
            .module
            .target()
            .trim_start_matches("sm_")
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        match digits.parse::<u32>().unwrap_or(80) {
            80 | 87 => 163 << 10,
            90 | 100..=110 => 227 << 10,
            _ => 99 << 10,
        }
    }

    pub(crate) fn line(&self, line: u32) -> String {
        line_of(&self.module.inner.source, line)
    }
}
