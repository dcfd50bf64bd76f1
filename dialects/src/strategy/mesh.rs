//! The cluster as a grid of devices, and slices of it.
//!
//! Device numbers are row-major: the last axis varies fastest. A [`Slice`] fixes the coordinate of some axes and leaves the
//! others free; the empty slice is the whole mesh.

use std::fmt;

use piper_ir::diag::did_you_mean;
use piper_ir::{Attr, Context};

use super::SubAxis;

/// One axis of a mesh.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// Its name, unique in the mesh.
    pub name: String,
    /// Devices along it, at least 1.
    pub size: u32,
}

/// Named axes with sizes; the devices are the points of their product.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mesh {
    /// Major to minor.
    pub axes: Vec<Axis>,
}

/// Coordinates along some axes of a mesh, sorted by axis name. The devices that have them are the slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slice {
    /// `(axis, coordinate)`, each axis once.
    pub fixed: Vec<(String, u32)>,
}

/// Why a slice is none of a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SliceFault {
    /// The mesh has no such axis.
    UnknownAxis(String),
    /// `(axis, coordinate, size)`: the axis has no such coordinate.
    OutOfRange(String, u32, u32),
}

impl Mesh {
    /// A mesh of these axes, major to minor.
    pub fn new<'a>(axes: impl IntoIterator<Item = (&'a str, u32)>) -> Self {
        let axes =
            axes.into_iter().map(|(name, size)| Axis { name: name.to_owned(), size }).collect();
        Self { axes }
    }

    /// Number of devices: the product of the sizes.
    pub fn devices(&self) -> usize {
        self.axes.iter().map(|axis| axis.size as usize).product()
    }

    /// The position of the axis of this name.
    pub fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis.name == name)
    }

    /// The size of the axis of this name, which may be a sub-axis such as `dp:(2)4`.
    pub fn size(&self, name: &str) -> Option<u32> {
        if let Some(at) = self.axis(name) {
            return Some(self.axes[at].size);
        }
        let part = SubAxis::parse(name)?;
        self.axis(&part.axis).filter(|at| part.fits(self.axes[*at].size)).map(|_| part.size)
    }

    /// The coordinates of a device, one an axis. `device` must be below [`devices`](Self::devices).
    pub fn coordinates(&self, device: usize) -> Vec<u32> {
        let mut rest = device;
        let mut coordinates = vec![0; self.axes.len()];
        for (coordinate, axis) in coordinates.iter_mut().zip(&self.axes).rev() {
            *coordinate = (rest % axis.size as usize) as u32;
            rest /= axis.size as usize;
        }
        coordinates
    }

    /// The device with these coordinates, one an axis.
    pub fn device(&self, coordinates: &[u32]) -> usize {
        coordinates
            .iter()
            .zip(&self.axes)
            .fold(0, |device, (&at, axis)| device * axis.size as usize + at as usize)
    }

    /// The devices of a slice, ascending.
    pub fn devices_in(&self, slice: &Slice) -> Vec<usize> {
        (0..self.devices())
            .filter(|&device| {
                let at = self.coordinates(device);
                slice.fixed.iter().all(|(name, c)| self.axis(name).is_some_and(|a| at[a] == *c))
            })
            .collect()
    }

    /// Whether a slice is one of this mesh.
    ///
    /// # Errors
    /// The first axis or coordinate that the mesh does not have.
    pub fn check(&self, slice: &Slice) -> Result<(), SliceFault> {
        for (axis, at) in &slice.fixed {
            match self.size(axis) {
                None => return Err(SliceFault::UnknownAxis(axis.clone())),
                Some(size) if *at >= size => {
                    return Err(SliceFault::OutOfRange(axis.clone(), *at, size));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// What to say to someone who named an axis that is not there: the nearest name, or all of them.
    pub fn axis_hint(&self, name: &str) -> String {
        match did_you_mean(name, self.axes.iter().map(|axis| &*axis.name)) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => {
                let names: Vec<String> =
                    self.axes.iter().map(|axis| format!("\"{}\"", axis.name)).collect();
                format!("the mesh has {}", names.join(", "))
            }
        }
    }
}

impl Slice {
    /// The slice with these coordinates.
    pub fn new<'a>(fixed: impl IntoIterator<Item = (&'a str, u32)>) -> Self {
        let mut fixed: Vec<_> = fixed.into_iter().map(|(axis, at)| (axis.to_owned(), at)).collect();
        fixed.sort();
        Self { fixed }
    }

    /// The coordinate along an axis, if the slice fixes it.
    pub fn at(&self, axis: &str) -> Option<u32> {
        self.fixed.iter().find(|(name, _)| name == axis).map(|(_, at)| *at)
    }

    /// Whether no device is in both slices: they fix one axis differently.
    pub fn is_disjoint(&self, other: &Slice) -> bool {
        self.fixed.iter().any(|(axis, at)| other.at(axis).is_some_and(|other| other != *at))
    }

    /// Reads `{pp = 0, dp = 1}`. `None` if the attribute is anything else.
    pub fn from_attr(ctx: &Context, attr: Attr) -> Option<Self> {
        let entries = attr.as_dict(ctx)?;
        let fixed: Option<Vec<_>> = entries
            .iter()
            .map(|(name, at)| {
                Some((name.text(ctx).to_owned(), u32::try_from(at.as_int(ctx)?).ok()?))
            })
            .collect();
        let mut fixed = fixed?;
        fixed.sort();
        Some(Self { fixed })
    }

    /// The slice as an attribute.
    pub fn to_attr(&self, ctx: &Context) -> Attr {
        ctx.dict_attr(
            self.fixed.iter().map(|(axis, at)| (ctx.name(axis), ctx.int_attr((*at).into()))),
        )
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, (axis, at)) in self.fixed.iter().enumerate() {
            write!(f, "{}{axis} = {at}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, axis) in self.axes.iter().enumerate() {
            write!(f, "{}\"{}\" = {}", if i == 0 { "" } else { ", " }, axis.name, axis.size)?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_are_row_major() {
        let mesh = Mesh::new([("pp", 4), ("dp", 2)]);
        assert_eq!(mesh.devices(), 8);
        assert_eq!(mesh.coordinates(5), [2, 1]);
        assert_eq!(mesh.device(&[2, 1]), 5);
        assert!((0..8).all(|d| mesh.device(&mesh.coordinates(d)) == d));
        assert_eq!(mesh.devices_in(&Slice::new([("pp", 1)])), [2, 3]);
        assert_eq!(mesh.devices_in(&Slice::new([("dp", 1)])), [1, 3, 5, 7]);
        assert_eq!(mesh.devices_in(&Slice::default()).len(), 8);
    }

    #[test]
    fn slices_that_fix_one_axis_differently_share_nothing() {
        let slice = |fixed: &[(&'static str, u32)]| Slice::new(fixed.iter().copied());
        assert!(slice(&[("pp", 0)]).is_disjoint(&slice(&[("pp", 1)])));
        assert!(!slice(&[("pp", 0)]).is_disjoint(&slice(&[("dp", 1)])));
        assert!(!slice(&[]).is_disjoint(&slice(&[("pp", 1)])));
        let mesh = Mesh::new([("pp", 2)]);
        assert_eq!(
            mesh.check(&slice(&[("pp", 2)])),
            Err(SliceFault::OutOfRange("pp".into(), 2, 2))
        );
        assert_eq!(mesh.check(&slice(&[("tp", 0)])), Err(SliceFault::UnknownAxis("tp".into())));
    }
}
