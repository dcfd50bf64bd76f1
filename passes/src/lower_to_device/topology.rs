//! Device classes: which devices run the same program, and what homes and axes mean to them.
//!
//! A class is one coordinate on every axis that some home of the graph names; along all other axes devices are replicas. A node
//! runs on the classes that agree with its home, of a group's home on those of any of its slices.

use std::rc::Rc;

use piper_dialects::dag::{AxisSizes, Dist, Home, MICROBATCH};
use piper_ir::{Attr, Context, Module, Name, Op, Type, TypeData, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Coordinates on some axes, sorted by axis name.
pub(super) type Coords = Vec<(Name, i64)>;

/// One device class.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) coords: Coords,
    /// Symbol of its program, such as `pp1`.
    pub(super) name: String,
}

/// What a value's type means on devices.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) dist: Dist,
    /// The shape on one device.
    pub(super) local: Vec<i64>,
    /// Elements on one device, and their type.
    pub(super) elems: u64,
    pub(super) element: Type,
    /// The type of a buffer for it.
    pub(super) buffer: Type,
    /// The classes that hold it.
    pub(super) classes: Rc<[u32]>,
}

/// The mesh as the graph uses it.
#[derive(Debug)]
pub(super) struct Topology {
    /// Mesh axes with sizes, major to minor.
    pub(super) axes: Vec<(Name, i64)>,
    pub(super) classes: Vec<Class>,
    /// Slices of the groups that the graph names.
    pub(super) groups: FxHashMap<Name, Vec<Coords>>,
    /// Every value's meaning, by its type.
    kept: FxHashMap<Type, Kept>,
}

/// `memref<128xf32>`
pub(super) fn buffer_type(ctx: &Context, elems: u64, element: Type) -> Type {
    let shape = Box::new([i64::try_from(elems).unwrap_or(i64::MAX)]);
    ctx.ty(TypeData::MemRef { shape, element, layout: None, space: None })
}

/// Reads `{pp = 0}`.
fn coords_of(ctx: &Context, attr: Attr) -> Option<Coords> {
    attr.as_dict(ctx)?.iter().map(|(axis, at)| Some((*axis, at.as_int(ctx)?))).collect()
}

impl Topology {
    /// The topology of a verified graph.
    ///
    /// # Errors
    /// What makes a value impossible to hold, with the operation that makes it.
    pub(super) fn of(module: &Module, graph: Op, mesh: Op) -> Result<Self, (Op, String)> {
        let ctx = module.ctx();
        let names = module.attr_by(mesh, "axes").and_then(|a| a.as_array(ctx)).unwrap_or(&[]);
        let sizes = module.attr_by(mesh, "sizes").and_then(|a| a.as_int_array(ctx)).unwrap_or(&[]);
        let axes: Vec<(Name, i64)> = names
            .iter()
            .zip(sizes)
            .filter_map(|(name, size)| Some((ctx.name(name.as_str(ctx)?), *size)))
            .collect();
        let mut topology = Self {
            axes,
            classes: Vec::new(),
            groups: FxHashMap::default(),
            kept: FxHashMap::default(),
        };
        let block = module.only_block(graph).expect("a graph has a block");
        let mut types: Vec<(Type, Op)> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut named: FxHashSet<Name> = FxHashSet::default();
        let mut dists: FxHashMap<Type, Dist> = FxHashMap::default();
        for op in module.ops(block) {
            for value in module.results(op) {
                let ty = module.ty(value);
                if !seen.insert(ty) {
                    continue;
                }
                let Some(dist) = Dist::of(ctx, ty) else { continue };
                match dist.place(ctx) {
                    Home::Slice(coords) => named.extend(coords.iter().map(|(axis, _)| *axis)),
                    Home::Group(_) => {}
                }
                let group = match &dist.home {
                    Home::Group(group) => Some(*group),
                    Home::Slice(_) => None,
                };
                for group in
                    dist.partial.iter().chain(dist.dims.iter().flatten()).copied().chain(group)
                {
                    topology.add_group(module, graph, group, &mut named);
                }
                types.push((ty, op));
                dists.insert(ty, dist);
            }
        }
        topology.classes = topology.enumerate(ctx, &named);
        let axis_sizes = AxisSizes::of_graph(module, graph);
        let mut places: FxHashMap<Home, Rc<[u32]>> = FxHashMap::default();
        for (ty, op) in types {
            let Some(dist) = dists.remove(&ty) else { continue };
            let place = dist.place(ctx);
            let classes = match places.get(&place) {
                Some(classes) => Rc::clone(classes),
                None => {
                    let classes: Rc<[u32]> = topology.classes_at(&place).into();
                    places.insert(place, Rc::clone(&classes));
                    classes
                }
            };
            let local = dist.local(ctx, &axis_sizes);
            let elems = local.and_then(|l| l.num_elements(ctx)).filter(|n| *n > 0);
            let local =
                local.and_then(|l| l.as_tensor(ctx)).map_or(Vec::new(), |(s, _)| s.to_vec());
            let (Some(elems), Some((_, element))) = (elems, dist.tensor.as_tensor(ctx)) else {
                return Err((op, "has no static size on a device".to_owned()));
            };
            let buffer = buffer_type(ctx, elems, element);
            topology.kept.insert(ty, Kept { dist, local, elems, element, buffer, classes });
        }
        Ok(topology)
    }

    fn add_group(&mut self, module: &Module, graph: Op, group: Name, named: &mut FxHashSet<Name>) {
        let ctx = module.ctx();
        if self.groups.contains_key(&group) || self.axes.iter().any(|(axis, _)| *axis == group) {
            return;
        }
        let Some(def) = module.lookup_nearest(graph, group.text(ctx)) else { return };
        let slices = module.attr_by(def, "slices").and_then(|a| a.as_array(ctx)).unwrap_or(&[]);
        let slices: Vec<Coords> = slices.iter().filter_map(|s| coords_of(ctx, *s)).collect();
        named.extend(slices.iter().flatten().map(|(axis, _)| *axis));
        self.groups.insert(group, slices);
    }

    /// All coordinates on the named axes, row-major.
    fn enumerate(&self, ctx: &Context, named: &FxHashSet<Name>) -> Vec<Class> {
        let mut classes: Vec<Coords> = vec![Vec::new()];
        for &(axis, size) in self.axes.iter().filter(|(axis, _)| named.contains(axis)) {
            classes = classes
                .iter()
                .flat_map(|coords| {
                    (0..size).map(move |at| coords.iter().copied().chain([(axis, at)]).collect())
                })
                .collect();
        }
        let class = |coords: Coords| {
            let parts: Vec<String> =
                coords.iter().map(|(axis, at)| format!("{}{at}", axis.text(ctx))).collect();
            let name = if parts.is_empty() { "all".to_owned() } else { parts.join("_") };
            Class { coords, name }
        };
        classes.into_iter().map(class).collect()
    }

    /// The classes of a home without time coordinates.
    pub(super) fn classes_at(&self, place: &Home) -> Vec<u32> {
        let slices: Vec<&Coords> = match place {
            Home::Slice(coords) => vec![coords],
            Home::Group(group) => {
                self.groups.get(group).map_or_else(Vec::new, |g| g.iter().collect())
            }
        };
        let agrees =
            |class: &Class, slice: &Coords| slice.iter().all(|at| class.coords.contains(at));
        (0..self.classes.len() as u32)
            .filter(|&c| slices.iter().any(|slice| agrees(&self.classes[c as usize], slice)))
            .collect()
    }

    /// The slice of a group that a class is on.
    pub(super) fn slice_in(&self, group: Name, class: u32) -> Option<usize> {
        let coords = &self.classes[class as usize].coords;
        self.groups.get(&group)?.iter().position(|slice| slice.iter().all(|at| coords.contains(at)))
    }

    /// What a value's type means.
    pub(super) fn kept(&self, module: &Module, value: Value) -> &Kept {
        &self.kept[&module.ty(value)]
    }

    /// The members of a communicator over axes (mesh axes and groups), the first axis major.
    pub(super) fn members(&self, axes: &[Name]) -> Vec<Coords> {
        let mut members: Vec<Coords> = vec![Vec::new()];
        for axis in axes {
            let points: Vec<Coords> = match self.groups.get(axis) {
                Some(slices) => slices.clone(),
                None => (0..self.size(*axis)).map(|at| vec![(*axis, at)]).collect(),
            };
            members = members
                .iter()
                .flat_map(|member| {
                    points.iter().map(move |point| [&member[..], &point[..]].concat())
                })
                .collect();
        }
        members
    }

    /// The size of a mesh axis; 1 if it is none.
    pub(super) fn size(&self, axis: Name) -> i64 {
        self.axes.iter().find(|(name, _)| *name == axis).map_or(1, |(_, size)| *size)
    }
}

/// The coordinates of a slice home without time coordinates; none for a group's.
pub(super) fn slice_coords(ctx: &Context, dist: &Dist) -> Coords {
    match &dist.home {
        Home::Slice(coords) => {
            coords.iter().copied().filter(|(axis, _)| axis.text(ctx) != MICROBATCH).collect()
        }
        Home::Group(_) => Vec::new(),
    }
}
