//! Coordinates: who a device is, who its peers are, and which rows are its own.
//!
//! One program serves all replicas of a device class, so nothing in it names a device absolutely. Peers, groups and row
//! ranges are functions of the device's own coordinate, evaluated when a plan is loaded.

use crate::schema::handle;
use serde::{Deserialize, Serialize};

handle!(
    /// An axis of [`Plan::mesh`](crate::Plan::mesh).
    AxisId
);
handle!(
    /// A communicator of [`Plan::comms`](crate::Plan::comms).
    CommId
);

/// Some coordinates: a slice of the mesh, or replacements for a device's own.
pub type Coords = Vec<(AxisId, u32)>;

/// A mesh axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Its name, e.g. `pp`.
    pub name: String,
    /// Number of coordinates on it.
    pub size: u32,
}

/// Another device, as this device's coordinate with some axes replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The replaced axes.
    pub set: Coords,
}

/// A communicator, or a channel of point-to-point transfers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comm {
    /// For listings and diagnostics.
    pub name: String,
    /// The group of a device, in order, each as replacements in that device's coordinate: over `dp` of size 2 it is
    /// `[{dp=0}, {dp=1}]`; two owners times `dp` is their product. Empty for channels that carry only point-to-point.
    pub members: Vec<Coords>,
}

/// An affine function of a device's coordinate: `base + sum(coord[axis] * stride)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Affine {
    /// Value at the origin.
    pub base: u64,
    /// Increase per step along an axis.
    pub strides: Vec<(AxisId, u64)>,
}

impl Affine {
    /// The same value on every device.
    pub fn constant(base: u64) -> Affine {
        Affine { base, strides: Vec::new() }
    }

    /// Its value at a coordinate (one entry per mesh axis).
    pub fn at(&self, coord: &[u32]) -> u64 {
        self.strides.iter().fold(self.base, |sum, &(axis, stride)| {
            sum.saturating_add(u64::from(coord[axis.index()]).saturating_mul(stride))
        })
    }
}

/// A slice of dimension 0 of a global input, as a function of the device's coordinate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowMap {
    /// Its first row.
    pub first: Affine,
    /// Number of rows.
    pub rows: u64,
}

/// Coordinate arithmetic over a list of axes, row-major.
#[derive(Clone, Copy, Debug)]
pub struct Mesh<'a> {
    axes: &'a [Axis],
}

impl<'a> Mesh<'a> {
    /// The mesh with these axes, major to minor.
    pub fn new(axes: &'a [Axis]) -> Mesh<'a> {
        Mesh { axes }
    }

    /// Number of devices; 1 for a mesh without axes.
    pub fn devices(&self) -> usize {
        self.axes.iter().fold(1usize, |n, axis| n.saturating_mul(axis.size as usize))
    }

    /// The coordinate of a device, one entry per axis.
    pub fn coord(&self, device: usize) -> Vec<u32> {
        let mut rest = device;
        let mut coord = vec![0; self.axes.len()];
        for (at, axis) in self.axes.iter().enumerate().rev() {
            coord[at] = (rest % axis.size as usize) as u32;
            rest /= axis.size as usize;
        }
        coord
    }

    /// The device at a coordinate.
    pub fn device(&self, coord: &[u32]) -> usize {
        self.axes
            .iter()
            .zip(coord)
            .fold(0, |device, (axis, &c)| device * axis.size as usize + c as usize)
    }

    /// Calls `visit` with every device and its coordinate, in order of devices.
    pub fn for_each_coord(&self, mut visit: impl FnMut(usize, &[u32])) {
        let mut coord = vec![0; self.axes.len()];
        for device in 0..self.devices() {
            visit(device, &coord);
            for (c, axis) in coord.iter_mut().zip(self.axes).rev() {
                *c += 1;
                if *c < axis.size {
                    break;
                }
                *c = 0;
            }
        }
    }

    /// The device whose coordinate is `device`'s with some axes replaced. Axes and coordinates must be in range.
    pub fn replaced(&self, device: usize, set: &[(AxisId, u32)]) -> usize {
        let mut coord = self.coord(device);
        for &(axis, c) in set {
            coord[axis.index()] = c;
        }
        self.device(&coord)
    }

    /// The group of `device` in a communicator, in member order.
    pub fn group(&self, device: usize, comm: &Comm) -> Vec<usize> {
        comm.members.iter().map(|set| self.replaced(device, set)).collect()
    }

    /// Whether every axis exists and every coordinate lies on it.
    pub fn contains(&self, set: &[(AxisId, u32)]) -> bool {
        set.iter().all(|&(axis, c)| self.axes.get(axis.index()).is_some_and(|a| c < a.size))
    }

    /// `{pp=1, dp=0}`, for listings and diagnostics.
    pub fn render(&self, device: usize) -> String {
        let coord = self.coord(device);
        let set: Coords = coord.iter().enumerate().map(|(at, &c)| (AxisId(at as u32), c)).collect();
        self.render_set(&set)
    }

    /// A set of coordinates as `{pp=1}`.
    pub fn render_set(&self, set: &[(AxisId, u32)]) -> String {
        let parts: Vec<String> = set
            .iter()
            .map(|&(axis, c)| match self.axes.get(axis.index()) {
                Some(a) => format!("{}={c}", a.name),
                None => format!("axis{}={c}", axis.0),
            })
            .collect();
        format!("{{{}}}", parts.join(", "))
    }
}
