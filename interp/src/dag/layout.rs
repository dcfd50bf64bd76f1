//! Which device holds what: the meaning of homes and axes in a distribution.

use piper_dialects::dag::{Dist, Graph, Home, MICROBATCH};
use piper_dialects::strategy::{GroupOp, Mesh, MeshOp, Slice};
use piper_ir::{Module, Name, Op};
use rustc_hash::FxHashMap;

use crate::NumericError;
use crate::tensor::Tensor;

/// The devices of a graph with its groups and the time axis.
#[derive(Debug)]
pub(super) struct Layout {
    mesh: Mesh,
    axes: FxHashMap<Name, usize>,
    groups: FxHashMap<Name, Vec<Slice>>,
    microbatch: Name,
    microbatches: usize,
    /// Coordinates of every device.
    coordinates: Vec<Vec<u32>>,
}

impl Layout {
    /// `None` if the graph's mesh does not verify.
    pub(super) fn of(module: &Module, graph: Op) -> Option<Self> {
        let ctx = module.ctx();
        let view = Graph::cast(module, graph)?;
        let mesh = view.mesh(module).as_symbol(ctx)?;
        let mesh = MeshOp::cast(module, module.lookup_nearest(graph, mesh.text(ctx))?)?;
        let names = mesh.axes(module).as_array(ctx)?;
        let sizes = mesh.sizes(module).as_int_array(ctx)?;
        let axes: Option<Vec<_>> = names
            .iter()
            .zip(sizes)
            .map(|(name, size)| Some((name.as_str(ctx)?, u32::try_from(*size).ok()?)))
            .collect();
        let mesh = Mesh::new(axes?);
        let mut groups = FxHashMap::default();
        for op in module.ops(module.parent_block(graph)?) {
            let Some(group) = GroupOp::cast(module, op) else { continue };
            let slices: Option<Vec<Slice>> = group
                .slices(module)
                .as_array(ctx)?
                .iter()
                .map(|s| Slice::from_attr(ctx, *s))
                .collect();
            groups.insert(ctx.name(module.symbol_name(op)?), slices?);
        }
        let axes =
            mesh.axes.iter().enumerate().map(|(i, axis)| (ctx.name(&axis.name), i)).collect();
        let microbatches = view.microbatches(module).and_then(|m| m.as_int(ctx)).unwrap_or(1);
        Some(Self {
            coordinates: (0..mesh.devices()).map(|d| mesh.coordinates(d)).collect(),
            mesh,
            axes,
            groups,
            microbatch: ctx.name(MICROBATCH),
            microbatches: usize::try_from(microbatches).ok()?,
        })
    }

    pub(super) fn devices(&self) -> usize {
        self.coordinates.len()
    }

    fn is_on(&self, device: usize, slice: impl IntoIterator<Item = (usize, u32)>) -> bool {
        slice.into_iter().all(|(axis, at)| self.coordinates[device][axis] == at)
    }

    /// A slice as positions of axes with coordinates.
    fn fixed(&self, slice: &Slice) -> Vec<(usize, u32)> {
        slice.fixed.iter().filter_map(|(name, at)| Some((self.mesh.axis(name)?, *at))).collect()
    }

    /// The coordinates a home fixes on mesh axes.
    fn place(&self, home: &[(Name, i64)]) -> Vec<(usize, u32)> {
        home.iter().filter_map(|(name, at)| Some((*self.axes.get(name)?, *at as u32))).collect()
    }

    /// Which slice of a group a device is on.
    pub(super) fn part_of(&self, group: Name, device: usize) -> Option<usize> {
        self.groups.get(&group)?.iter().position(|slice| self.is_on(device, self.fixed(slice)))
    }

    /// The devices a value lives on, ascending.
    pub(super) fn home(&self, home: &Home) -> Vec<usize> {
        (0..self.devices())
            .filter(|&device| match home {
                Home::Slice(at) => self.is_on(device, self.place(at)),
                Home::Group(group) => self.part_of(*group, device).is_some(),
            })
            .collect()
    }

    /// The device that differs from `device` only in being on the slice `home`.
    pub(super) fn moved_to(&self, device: usize, home: &Home) -> usize {
        let mut at = self.coordinates[device].clone();
        if let Home::Slice(home) = home {
            for (axis, coordinate) in self.place(home) {
                at[axis] = coordinate;
            }
        }
        self.mesh.device(&at)
    }

    fn size(&self, axis: Name) -> usize {
        if axis == self.microbatch {
            return self.microbatches;
        }
        match self.axes.get(&axis) {
            Some(&at) => self.mesh.axes[at].size as usize,
            None => self.groups.get(&axis).map_or(1, Vec::len),
        }
    }

    fn coordinate(&self, axis: Name, dist: &Dist, device: usize) -> usize {
        if axis == self.microbatch {
            return dist.coordinate(axis).unwrap_or(0) as usize;
        }
        match self.axes.get(&axis) {
            Some(&at) => self.coordinates[device][at] as usize,
            None => self.part_of(axis, device).unwrap_or(0),
        }
    }

    /// `(index, count)`: which of how many shards of a dimension a device holds. The first axis is the most significant.
    pub(super) fn shard(&self, dist: &Dist, dim: usize, device: usize) -> (usize, usize) {
        self.position(&dist.dims[dim], dist, device)
    }

    /// The number of positions along axes.
    pub(super) fn count(&self, axes: &[Name]) -> usize {
        axes.iter().map(|axis| self.size(*axis)).product()
    }

    /// The position of a device along axes, and the number of positions.
    pub(super) fn position(&self, axes: &[Name], dist: &Dist, device: usize) -> (usize, usize) {
        axes.iter().fold((0, 1), |(index, count), axis| {
            let size = self.size(*axis);
            (index * size + self.coordinate(*axis, dist, device), count * size)
        })
    }

    /// The devices that differ from `device` along these axes only, itself among them, in order of position.
    pub(super) fn members(&self, axes: &[Name], device: usize) -> Vec<usize> {
        let mut members = vec![self.coordinates[device].clone()];
        for axis in axes {
            let alternatives: Vec<Vec<(usize, u32)>> = match self.axes.get(axis) {
                Some(&at) => (0..self.mesh.axes[at].size).map(|c| vec![(at, c)]).collect(),
                None => self.groups.get(axis).map_or(vec![Vec::new()], |slices| {
                    slices.iter().map(|slice| self.fixed(slice)).collect()
                }),
            };
            members = members
                .iter()
                .flat_map(|at| {
                    alternatives.iter().map(|change| {
                        let mut at = at.clone();
                        for (axis, coordinate) in change {
                            at[*axis] = *coordinate;
                        }
                        at
                    })
                })
                .collect();
        }
        members.iter().map(|at| self.mesh.device(at)).collect()
    }

    /// A device's part of a whole tensor.
    ///
    /// # Errors
    /// A dimension that is not divisible.
    pub(super) fn cut(
        &self,
        whole: &Tensor,
        dist: &Dist,
        device: usize,
    ) -> Result<Tensor, NumericError> {
        let mut part = whole.clone();
        for dim in 0..dist.dims.len() {
            let (index, count) = self.shard(dist, dim, device);
            if count > 1 {
                let size = part.shape[dim];
                if !size.is_multiple_of(count) {
                    let reason =
                        format!("dimension {dim} of size {size} has no {count} equal parts");
                    return Err(NumericError::Attribute { op: "shard", reason });
                }
                part = part.slice(dim, index * (size / count)..(index + 1) * (size / count))?;
            }
        }
        Ok(part)
    }
}
