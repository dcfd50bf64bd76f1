//! The machine: device memory and launches.

mod access;
mod asynchronous;
mod block;
mod execute;
mod memory;
mod shadow;
mod tile;
mod together;
mod warpgroup;

use std::sync::Arc;

use crate::ast::Space;
use crate::fault::{Fault, FaultKind};
use crate::kernel::{Kernel, Module};
use crate::stats::Stats;
use block::Launch;
use memory::Global;

/// An address in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The address `bytes` further.
    pub fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A pointer.
    Ptr(DevicePtr),
    /// An unsigned integer of 32 bits.
    U32(u32),
    /// A signed integer of 32 bits.
    I32(i32),
    /// An unsigned integer of 64 bits.
    U64(u64),
    /// A signed integer of 64 bits.
    I64(i64),
    /// A single.
    F32(f32),
    /// A double.
    F64(f64),
    /// Any other argument, as its bytes.
    Bytes(Vec<u8>),
}

impl Arg {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Ptr(p) => p.0.to_le_bytes().to_vec(),
            Self::U32(v) => v.to_le_bytes().to_vec(),
            Self::I32(v) => v.to_le_bytes().to_vec(),
            Self::U64(v) => v.to_le_bytes().to_vec(),
            Self::I64(v) => v.to_le_bytes().to_vec(),
            Self::F32(v) => v.to_le_bytes().to_vec(),
            Self::F64(v) => v.to_le_bytes().to_vec(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// Size of a grid or a block: x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim(pub [u32; 3]);

impl From<u32> for Dim {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self([x, y, z])
    }
}

impl From<[u32; 3]> for Dim {
    fn from(sizes: [u32; 3]) -> Self {
        Self(sizes)
    }
}

impl Dim {
    fn count(self) -> u64 {
        self.0.iter().fold(1_u64, |n, size| n.saturating_mul(u64::from(*size)))
    }
}

/// What is checked during a launch. Bounds, alignment and barriers always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Data races in shared and global memory.
    pub races: bool,
    /// Reads of registers and shared memory that nobody wrote.
    pub uninitialised: bool,
    /// Reads of global memory that neither the host nor a kernel wrote.
    pub uninitialised_global: bool,
    /// Instructions that a warp may issue before the kernel counts as endless.
    pub step_limit: u64,
}

impl Default for Checks {
    fn default() -> Self {
        Self {
            races: true,
            uninitialised: true,
            uninitialised_global: true,
            step_limit: 200_000_000,
        }
    }
}

/// Device memory and a processor that runs one block at a time.
#[derive(Debug)]
pub struct Machine {
    global: Global,
    /// What is checked.
    pub checks: Checks,
    /// Modules whose variables have memory, with the addresses.
    modules: Vec<(Module, Vec<u64>)>,
    /// Counts launches, so that what one recorded is not taken for another's.
    period: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine {
    /// A machine without allocations, with all checks on.
    pub fn new() -> Self {
        Self::starting_at(DevicePtr(memory::FIRST))
    }

    /// A machine whose memory begins at `first`, so that those of several machines are told apart by their addresses.
    pub fn starting_at(first: DevicePtr) -> Self {
        Self {
            global: Global::starting_at(first.0),
            checks: Checks::default(),
            modules: Vec::new(),
            period: 0,
        }
    }

    /// Allocates `bytes` of device memory that nobody has written, aligned to 256 bytes.
    pub fn alloc(&mut self, bytes: usize) -> DevicePtr {
        DevicePtr(self.global.alloc(bytes, None, false))
    }

    /// Frees an allocation.
    ///
    /// # Errors
    /// `pointer` is not the start of an allocation.
    pub fn free(&mut self, pointer: DevicePtr) -> Result<(), Fault> {
        if self.global.free(pointer.0) {
            return Ok(());
        }
        Err(host_fault(format!("{:#x} is not the start of an allocation", pointer.0)))
    }

    /// Copies from the host.
    ///
    /// # Errors
    /// The range is not within one allocation.
    pub fn copy_in(&mut self, to: DevicePtr, data: &[u8]) -> Result<(), Fault> {
        let (allocation, offset) = self.range(to, data.len())?;
        let bytes = &mut self.global.allocations[allocation].bytes;
        bytes.data[offset..offset + data.len()].copy_from_slice(data);
        bytes.mark_all(offset, data.len());
        Ok(())
    }

    /// Copies to the host. Memory that nobody wrote reads as zero.
    ///
    /// # Errors
    /// The range is not within one allocation.
    pub fn copy_out(&mut self, from: DevicePtr, data: &mut [u8]) -> Result<(), Fault> {
        let (allocation, offset) = self.range(from, data.len())?;
        let bytes = &self.global.allocations[allocation].bytes;
        data.copy_from_slice(&bytes.data[offset..offset + data.len()]);
        Ok(())
    }

    /// Copies within the machine; bytes that nobody wrote stay so. The ranges may overlap.
    ///
    /// # Errors
    /// A range is not within one allocation.
    pub fn copy_within(
        &mut self,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), Fault> {
        let (source, from) = self.range(from, bytes)?;
        let (target, to) = self.range(to, bytes)?;
        let held = self.global.allocations[source].bytes.part(from, bytes);
        self.global.allocations[target].bytes.put_part(to, &held);
        Ok(())
    }

    /// Whether a range lies within one allocation.
    pub fn holds(&mut self, pointer: DevicePtr, bytes: usize) -> bool {
        self.global.find(pointer.0, bytes as u64).is_some()
    }

    /// The bytes of global memory that the last launch read and wrote, as address and length. They are known where
    /// races were checked.
    pub fn touched(&self, read: &mut Vec<(u64, u64)>, written: &mut Vec<(u64, u64)>) {
        for allocation in self.global.allocations.iter().filter(|a| !a.is_constant) {
            allocation.bytes.shadow.touched(self.period, allocation.base, read, written);
        }
    }

    fn range(&mut self, pointer: DevicePtr, bytes: usize) -> Result<(usize, usize), Fault> {
        match self.global.find(pointer.0, bytes as u64) {
            Some((allocation, offset)) => Ok((allocation, offset as usize)),
            None => Err(host_fault(format!(
                "a copy of {bytes} bytes at {:#x} is not within one allocation; {}",
                pointer.0,
                self.global.nearest(pointer.0)
            ))),
        }
    }

    /// Allocates and copies `values` in.
    pub fn alloc_f32(&mut self, values: &[f32]) -> DevicePtr {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.alloc_bytes(&bytes)
    }

    /// Allocates and copies `values` in.
    pub fn alloc_u32(&mut self, values: &[u32]) -> DevicePtr {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.alloc_bytes(&bytes)
    }

    /// Allocates and copies `bytes` in.
    pub fn alloc_bytes(&mut self, bytes: &[u8]) -> DevicePtr {
        let pointer = self.alloc(bytes.len());
        // The range is the allocation just made.
        let _ = self.copy_in(pointer, bytes);
        pointer
    }

    /// `count` singles from `from`.
    ///
    /// # Errors
    /// As [`Machine::copy_out`].
    pub fn read_f32(&mut self, from: DevicePtr, count: usize) -> Result<Vec<f32>, Fault> {
        Ok(self.read_u32(from, count)?.into_iter().map(f32::from_bits).collect())
    }

    /// `count` integers of 32 bits from `from`.
    ///
    /// # Errors
    /// As [`Machine::copy_out`].
    pub fn read_u32(&mut self, from: DevicePtr, count: usize) -> Result<Vec<u32>, Fault> {
        let mut bytes = vec![0; count * 4];
        self.copy_out(from, &mut bytes)?;
        let words = bytes.chunks_exact(4);
        Ok(words.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }

    /// The address of the variable `name` of `module`; its memory is made at the first use of the module.
    pub fn symbol(&mut self, module: &Module, name: &str) -> Option<DevicePtr> {
        let number = module.variables().iter().position(|v| v.name == name)?;
        let at = self.module(module);
        self.modules[at].1.get(number).copied().filter(|a| *a != 0).map(DevicePtr)
    }

    fn module(&mut self, module: &Module) -> usize {
        let known = self.modules.iter().position(|(m, _)| Arc::ptr_eq(&m.inner, &module.inner));
        if let Some(at) = known {
            return at;
        }
        let mut addresses = Vec::new();
        for variable in module.variables() {
            if variable.space == Space::Shared {
                addresses.push(0);
                continue;
            }
            let is_constant = variable.space == Space::Const;
            let size = variable.bytes as usize;
            let base = self.global.alloc(size, Some(variable.name.clone()), is_constant);
            // Variables of a module without an initial value are zero.
            let mut bytes = variable.init.clone().unwrap_or_default();
            bytes.resize(size, 0);
            let _ = self.copy_in(DevicePtr(base), &bytes);
            addresses.push(base);
        }
        self.modules.push((module.clone(), addresses));
        self.modules.len() - 1
    }

    /// Runs `kernel` over `grid` blocks of `block` threads with `shared_bytes` of dynamic shared memory. Blocks run one
    /// after the other; what one wrote, later ones (and the host) see.
    ///
    /// # Errors
    /// The launch does not fit the kernel, or the kernel did something wrong: see [`FaultKind`].
    pub fn launch(
        &mut self,
        kernel: &Kernel,
        grid: impl Into<Dim>,
        block: impl Into<Dim>,
        shared_bytes: u32,
        args: &[Arg],
    ) -> Result<Stats, Fault> {
        let (grid, block) = (grid.into(), block.into());
        let fail = |message: String| Err(Fault::launch(kernel.name(), message));
        if block.count() == 0 || block.count() > 1024 {
            return fail(format!("a block of {:?} threads: there are 1 to 1024", block.0));
        }
        if grid.count() == 0 || grid.0[0] > 0x7fff_ffff || grid.0[1] > 65535 || grid.0[2] > 65535 {
            return fail(format!(
                "a grid of {:?} blocks: every size is at least 1, y and z at most 65535",
                grid.0
            ));
        }
        if let Some((most, is_exact)) = kernel.threads {
            let fits = if is_exact { most == block.0 } else { Dim(most).count() >= block.count() };
            if !fits {
                let word = if is_exact { "exactly" } else { "at most" };
                return fail(format!(
                    "a block of {:?} threads: the kernel asks for {word} {most:?}",
                    block.0
                ));
            }
        }
        let shared = kernel.code.shared_bytes + u64::from(shared_bytes);
        if shared > kernel.most_shared() {
            return fail(format!(
                "{shared} bytes of shared memory: {} has {} a block",
                kernel.module.target(),
                kernel.most_shared()
            ));
        }
        let expected = &kernel.code.params;
        if args.len() != expected.len() {
            return fail(format!(
                "{} arguments are given, {} expected",
                args.len(),
                expected.len()
            ));
        }
        let mut params = vec![0; kernel.code.param_bytes as usize];
        for (number, ((variable, offset), arg)) in expected.iter().zip(args).enumerate() {
            let bytes = arg.bytes();
            if bytes.len() as u64 != variable.bytes {
                return fail(format!(
                    "argument {number} ({}) has {} bytes, {} are given",
                    variable.name,
                    variable.bytes,
                    bytes.len()
                ));
            }
            params[*offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        let module = self.module(&kernel.module);
        self.period += 1;
        let mut launch = Launch {
            kernel,
            code: &kernel.code,
            global: &mut self.global,
            checks: self.checks,
            symbols: &self.modules[module].1,
            params,
            grid: grid.0,
            block: block.0,
            shared_bytes: shared,
            dynamic_bytes: shared_bytes,
            stats: Stats::default(),
            period: self.period,
            released: Default::default(),
        };
        launch.run()?;
        Ok(launch.stats)
    }
}

fn host_fault(message: String) -> Fault {
    Fault { kind: FaultKind::OutOfBounds, ..Fault::launch("(host)", message) }
}
