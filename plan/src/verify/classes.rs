//! Device classes: the devices that run one program, described without listing them.
//!
//! A program serves all replicas of a class, and there may be thousands of them. They fill a box of the mesh (some axes
//! fixed, all coordinates of the others), so every question about all of them has an answer in the box's corners. Plans
//! made by hand may give a program to devices that fill no box; then, and only then, the devices are listed.

use crate::mesh::{Affine, AxisId, Comm};
use crate::schema::Plan;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// The devices of one program.
pub(super) struct Class {
    /// Per axis, the lowest and highest coordinate. Meaningless if there are no devices.
    extent: Vec<(u32, u32)>,
    /// Number of devices.
    count: usize,
    /// The devices' coordinates, if they do not fill the box.
    listed: Option<Vec<Vec<u32>>>,
}

/// The classes of a plan by program. Every device must have a program that exists.
pub(super) fn of(plan: &Plan) -> Vec<Class> {
    let axes = plan.mesh.len();
    let empty = || Class { extent: vec![(u32::MAX, 0); axes], count: 0, listed: None };
    let mut classes: Vec<Class> = plan.programs.iter().map(|_| empty()).collect();
    plan.mesh().for_each_coord(|device, coord| {
        let class = &mut classes[plan.device_program[device].index()];
        class.count += 1;
        for (extent, &c) in class.extent.iter_mut().zip(coord) {
            *extent = (extent.0.min(c), extent.1.max(c));
        }
    });
    for class in &mut classes {
        let size: u64 = (0..axes).map(|axis| u64::from(class.span(axis))).product();
        if class.count > 0 && size != class.count as u64 {
            class.listed = Some(Vec::with_capacity(class.count));
        }
    }
    if classes.iter().any(|class| class.listed.is_some()) {
        plan.mesh().for_each_coord(|device, coord| {
            if let Some(list) = &mut classes[plan.device_program[device].index()].listed {
                list.push(coord.to_vec());
            }
        });
    }
    classes
}

impl Class {
    fn span(&self, axis: usize) -> u32 {
        let (low, high) = self.extent[axis];
        if self.count == 0 { 0 } else { high - low + 1 }
    }

    /// Whether the devices fill a box that spans an axis of this size.
    pub(super) fn spans(&self, axis: usize, size: u32) -> bool {
        self.count == 0 || (self.listed.is_none() && self.span(axis) == size)
    }

    /// A device of the class that lies on a slice of the mesh.
    pub(super) fn device_on(&self, set: &[(AxisId, u32)]) -> Option<Vec<u32>> {
        if self.count == 0 {
            return None;
        }
        if let Some(list) = &self.listed {
            return list.iter().find(|c| agrees(set, c)).cloned();
        }
        let mut coord: Vec<u32> = self.extent.iter().map(|e| e.0).collect();
        for &(axis, c) in set {
            let (low, high) = self.extent[axis.index()];
            if c < low || c > high {
                return None;
            }
            coord[axis.index()] = c;
        }
        // A slice that names an axis twice with different coordinates is empty.
        agrees(set, &coord).then_some(coord)
    }

    /// Some device of the class for every choice of coordinates on `axes` that it has.
    pub(super) fn along(&self, axes: &[AxisId]) -> Vec<Vec<u32>> {
        if self.count == 0 {
            return Vec::new();
        }
        if let Some(list) = &self.listed {
            let mut seen: FxHashSet<Vec<u32>> = FxHashSet::default();
            let choice = |coord: &[u32]| axes.iter().map(|a| coord[a.index()]).collect();
            return list.iter().filter(|c| seen.insert(choice(c))).cloned().collect();
        }
        let mut all = vec![self.extent.iter().map(|e| e.0).collect::<Vec<u32>>()];
        for axis in axes {
            let (low, high) = self.extent[axis.index()];
            all = all
                .into_iter()
                .flat_map(|coord| {
                    (low..=high).map(move |c| {
                        let mut coord = coord.clone();
                        coord[axis.index()] = c;
                        coord
                    })
                })
                .collect();
        }
        all
    }

    /// A device of the class that is no member of a communicator.
    pub(super) fn outsider(&self, comm: &Comm) -> Option<Vec<u32>> {
        let Some(first) = comm.members.first() else { return self.device_on(&[]) };
        if self.listed.is_none() {
            // Members are distinct and set the same axes, so it is enough to count those inside the box.
            let inside = comm.members.iter().filter(|m| self.device_on(m).is_some()).count();
            let box_of: u64 =
                first.iter().map(|(axis, _)| u64::from(self.span(axis.index()))).product();
            if self.count == 0 || inside as u64 == box_of {
                return None;
            }
        }
        let axes: Vec<AxisId> = first.iter().map(|m| m.0).collect();
        self.along(&axes).into_iter().find(|c| position(comm, c).is_none())
    }

    /// The members of a communicator that are devices of the class, as ranges of their positions.
    pub(super) fn positions(&self, comm: &Comm) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (at, member) in (0u64..).zip(&comm.members) {
            if self.device_on(member).is_none() {
                continue;
            }
            match ranges.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => ranges.push(at..at + 1),
            }
        }
        ranges
    }

    /// Largest value of a function of the coordinate.
    pub(super) fn max(&self, affine: &Affine) -> u64 {
        match &self.listed {
            Some(list) => list.iter().map(|c| affine.at(c)).max().unwrap_or(0),
            None if self.count == 0 => 0,
            // Strides are not negative, so the far corner has the most.
            None => affine.at(&self.extent.iter().map(|e| e.1).collect::<Vec<u32>>()),
        }
    }
}

/// Position of a device among the members of a communicator.
pub(super) fn position(comm: &Comm, coord: &[u32]) -> Option<usize> {
    comm.members.iter().position(|m| agrees(m, coord))
}

/// Whether a device at `coord` lies on the slice `set`.
pub(super) fn agrees(set: &[(AxisId, u32)], coord: &[u32]) -> bool {
    set.iter().all(|&(axis, c)| coord[axis.index()] == c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Axis, Coords};
    use crate::schema::{Program, ProgramId};
    use proptest::prelude::*;

    /// A small mesh, a program for each device, and a communicator; half of the time programs are boxes.
    fn plans() -> impl Strategy<Value = (Plan, Comm)> {
        (
            prop::collection::vec(1u32..4, 1..4),
            any::<u8>(),
            any::<bool>(),
            prop::collection::vec(0u32..3, 27),
            prop::collection::vec(any::<bool>(), 27),
        )
            .prop_map(|(sizes, mask, boxes, chosen, kept)| {
                let mesh: Vec<Axis> =
                    sizes.iter().map(|&size| Axis { name: "a".into(), size }).collect();
                let device_program = (0..Mesh::new(&mesh).devices())
                    .map(|d| {
                        let own = if boxes { Mesh::new(&mesh).coord(d)[0] } else { chosen[d] };
                        ProgramId(own)
                    })
                    .collect();
                let axes = (0..sizes.len()).filter(|a| mask >> a & 1 == 1);
                let mut members: Vec<Coords> = vec![Vec::new()];
                for axis in axes {
                    members = members
                        .into_iter()
                        .flat_map(|m| {
                            (0..sizes[axis])
                                .map(move |c| [m.clone(), vec![(AxisId(axis as u32), c)]].concat())
                        })
                        .collect();
                }
                let mut keep = kept.iter();
                members.retain(|_| mask >= 64 || *keep.next().unwrap_or(&true));
                let programs = (0..3).map(|_| Program::default()).collect();
                let comm = Comm { name: "c".into(), members };
                (Plan { mesh, programs, device_program, ..Plan::default() }, comm)
            })
    }

    use crate::mesh::Mesh;

    proptest! {
        #[test]
        fn a_class_answers_as_its_devices_do((plan, comm) in plans(), strides in prop::collection::vec(0u64..5, 3)) {
            let mesh = plan.mesh();
            let strides = (0..plan.mesh.len()).map(|a| (AxisId(a as u32), strides[a])).collect();
            let affine = Affine { base: 3, strides };
            for (program, class) in of(&plan).iter().enumerate() {
                let coords: Vec<Vec<u32>> = (0..plan.devices())
                    .filter(|&d| plan.device_program[d].index() == program)
                    .map(|d| mesh.coord(d))
                    .collect();
                let outsider = class.outsider(&comm);
                let is_outside = |c: &Vec<u32>| !comm.members.iter().any(|m| agrees(m, c));
                prop_assert_eq!(outsider.is_some(), coords.iter().any(is_outside));
                prop_assert!(outsider.is_none_or(|o| coords.contains(&o) && is_outside(&o)));
                let positions: Vec<u64> = class.positions(&comm).into_iter().flatten().collect();
                let wanted: Vec<u64> = (0..comm.members.len() as u64)
                    .filter(|&k| coords.iter().any(|c| agrees(&comm.members[k as usize], c)))
                    .collect();
                prop_assert_eq!(positions, wanted);
                let most = coords.iter().map(|c| affine.at(c)).max().unwrap_or(0);
                prop_assert_eq!(class.max(&affine), most);
                for axes in [vec![], vec![AxisId(0)], (0..plan.mesh.len() as u32).map(AxisId).collect()] {
                    let along = class.along(&axes);
                    let choice = |c: &Vec<u32>| axes.iter().map(|a| c[a.index()]).collect::<Vec<_>>();
                    let mut found: Vec<_> = along.iter().map(choice).collect();
                    let mut wanted: Vec<_> = coords.iter().map(choice).collect();
                    found.sort();
                    wanted.sort();
                    wanted.dedup();
                    prop_assert_eq!(found, wanted);
                    prop_assert!(along.iter().all(|c| coords.contains(c)));
                }
                let size = plan.mesh[0].size;
                let spans = (0..size).all(|c| coords.iter().any(|d| d[0] == c));
                prop_assert!(!class.spans(0, size) || coords.is_empty() || spans);
            }
        }
    }
}
