//! What a plan is simulated on: one kind of device, and what connects them along every axis of the mesh.
//!
//! A machine is a TOML file ([`Machine::parse`]):
//!
//! ```toml
//! name = "8 x H100 a node"
//! [device]
//! flops = { bf16 = 989e12, f32 = 67e12 }  # operations a second at best, by element type
//! efficiency = 0.7                        # of these, reached by kernels that are bound by them; also by element type
//! memory_bandwidth = 3.35e12              # bytes a second
//! memory_efficiency = 0.85
//! launch_overhead = 3e-6                  # seconds a launch
//! memory = 80e9                           # bytes
//! [fabrics.nvlink]
//! bandwidth = 450e9                       # bytes a second, each way, that one device reaches
//! latency = 2e-6                          # seconds a message
//! [fabrics.ib]
//! bandwidth = 400e9
//! latency = 5e-6
//! shared_by = 8                           # so many consecutive devices share this bandwidth
//! [axes]
//! tp = "nvlink"
//! ep = [{ fabric = "nvlink", size = 8 }, { fabric = "ib" }]  # 8 neighbours in a node, then nodes
//! pp = { fabric = "ib", links = "line" }
//! dp = { bandwidth = 25e9, latency = 1e-5 }                  # a fabric of its own
//! ```
//!
//! `[host]` with `cores` says that all devices share the cores of one host, as threads do; `[device] streams = "serial"` that a
//! device runs its instructions one after the other in issue order.

mod connect;
mod read;

use piper_plan::DType;

pub use connect::{Dim, Topology};

/// A kind of device and the network between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// What reports call it.
    pub name: String,
    /// Every device.
    pub device: Device,
    /// Cores that all devices share; `None` if each computes on its own.
    pub host: Option<Host>,
    /// Kinds of network.
    pub fabrics: Vec<Fabric>,
    /// What mesh axes lie on.
    pub axes: Vec<AxisLinks>,
}

/// One device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Peak operations a second by element type.
    pub flops: Vec<(DType, f64)>,
    /// The part of the peak that kernels reach, by element type.
    pub efficiency: Vec<(DType, f64)>,
    /// Peak bytes a second between memory and cores.
    pub memory_bandwidth: f64,
    /// The part of it that kernels reach.
    pub memory_efficiency: f64,
    /// Seconds added to every kernel, copy and fill.
    pub launch_overhead: f64,
    /// Bytes of memory, if limited.
    pub memory: Option<f64>,
    /// Streams do not overlap: instructions run in issue order, one after the other.
    pub is_serial: bool,
}

impl Device {
    /// Operations a second that kernels of an element type reach; `None` if the machine does not say.
    pub fn reached_flops(&self, dtype: DType) -> Option<f64> {
        let find = |list: &[(DType, f64)]| list.iter().find(|(d, _)| *d == dtype).map(|(_, v)| *v);
        Some(find(&self.flops)? * find(&self.efficiency).unwrap_or(1.0))
    }

    /// Bytes a second that kernels reach.
    pub fn reached_bandwidth(&self) -> f64 {
        self.memory_bandwidth * self.memory_efficiency
    }
}

/// A host whose cores run all devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// At most so many devices compute at once; more share them evenly.
    pub cores: f64,
}

/// A kind of network.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// Its name.
    pub name: String,
    /// Bytes a second, each way, at the port of a device (or of the devices that share it).
    pub bandwidth: f64,
    /// Seconds a message takes on top.
    pub latency: f64,
    /// How many consecutive devices share a port.
    pub shared_by: u32,
}

/// What a mesh axis lies on.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisLinks {
    /// The axis.
    pub axis: String,
    /// From neighbouring coordinates outwards; see [`Level`].
    pub levels: Vec<Level>,
    /// Who is linked to whom.
    pub links: Links,
    /// Line and column of its entry in the file.
    pub place: (usize, usize),
}

/// A part of an axis on one fabric: `size` neighbours (of the level within), or all that are left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Index into [`Machine::fabrics`].
    pub fabric: usize,
    /// Coordinates it connects; `None` = the rest of the axis.
    pub size: Option<u32>,
}

/// Which coordinates of an axis have a link. A message between others takes the shortest way, with the latency of each hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Links {
    /// Everybody, through switches.
    All,
    /// Neighbours, and the last with the first.
    Ring,
    /// Neighbours.
    Line,
    /// These.
    Pairs(Vec<(u32, u32)>),
}

/// What is wrong with a machine file, or with a machine for a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError {
    /// Line and column, from 1.
    pub place: (usize, usize),
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl std::fmt::Display for MachineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (line, column) = self.place;
        write!(f, "{line}:{column}: {}", self.message)?;
        if !self.hint.is_empty() {
            write!(f, "\n  hint: {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for MachineError {}
