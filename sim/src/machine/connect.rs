//! A machine's network under a plan's mesh.
//!
//! A coordinate on an axis is written in digits, one a level, the innermost level first: on an axis of 64 with 8 neighbours a
//! node, coordinate 19 is device 3 of node 2. Two devices whose digits differ on several levels talk over the slowest of their
//! fabrics.

use piper_plan::{AxisId, Coords, Mesh, Plan};

use super::{AxisLinks, Fabric, Links, Machine, MachineError};

/// Devices that a communicator spans in one direction: `size` of them on one fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// How many.
    pub size: u64,
    /// Index into [`Machine::fabrics`].
    pub fabric: usize,
}

/// A machine that fits a mesh.
#[derive(Clone, Debug)]
pub struct Topology<'a> {
    /// The machine.
    pub machine: &'a Machine,
    mesh: Mesh<'a>,
    /// Per mesh axis: size and fabric of each level, the innermost first.
    levels: Vec<Vec<(u32, usize)>>,
    /// Per mesh axis with links of its own: hops between each two coordinates, row-major.
    hops: Vec<Option<Vec<u32>>>,
}

impl<'a> Topology<'a> {
    /// Lays a machine under a plan's mesh.
    ///
    /// # Errors
    /// An axis over which devices talk and that the machine does not have; levels that do not divide an axis; coordinates that
    /// no link reaches.
    pub fn of(machine: &'a Machine, plan: &'a Plan) -> Result<Topology<'a>, MachineError> {
        let used = axes_in_use(plan);
        let mut levels = Vec::new();
        let mut hops = Vec::new();
        for (at, axis) in plan.mesh.iter().enumerate() {
            let Some(entry) = machine.axes.iter().find(|a| a.axis == axis.name) else {
                if used[at] && axis.size > 1 {
                    let known: Vec<&str> = machine.axes.iter().map(|a| a.axis.as_str()).collect();
                    return Err(MachineError {
                        place: (1, 1),
                        message: format!(
                            "the machine leaves the ranks of axis \"{}\" unconnected, over which plan @{} communicates",
                            axis.name, plan.name
                        ),
                        hint: format!(
                            "add {} = {{ bandwidth = ..., latency = ... }} to [axes]{}",
                            axis.name,
                            if known.is_empty() {
                                String::new()
                            } else {
                                format!(", which has {}", known.join(", "))
                            }
                        ),
                    });
                }
                levels.push(Vec::new());
                hops.push(None);
                continue;
            };
            levels.push(levels_of(entry, axis.size)?);
            hops.push(hops_of(entry, axis.size)?);
        }
        Ok(Topology { machine, mesh: plan.mesh(), levels, hops })
    }

    /// The fabric between two devices, and how many hops a message takes.
    pub fn between(&self, a: usize, b: usize) -> (usize, u32) {
        let (a, b) = (self.mesh.coord(a), self.mesh.coord(b));
        let mut found: Option<usize> = None;
        let mut hops = 0;
        for (axis, levels) in self.levels.iter().enumerate() {
            let (mut x, mut y) = (a[axis], b[axis]);
            if x == y {
                continue;
            }
            hops += self.hops[axis].as_ref().map_or(1, |table| {
                let size = (table.len() as f64).sqrt() as usize;
                table[x as usize * size + y as usize]
            });
            for &(size, fabric) in levels {
                if x % size != y % size {
                    found = Some(found.map_or(fabric, |f| self.slower(f, fabric)));
                }
                (x, y) = (x / size, y / size);
            }
        }
        (found.unwrap_or(0), hops.max(1))
    }

    /// The directions in which a group of devices extends, the fastest first. A group that is no product of such directions
    /// (two owners of a parameter, say) is one direction on the slowest fabric it touches.
    pub fn dims(&self, members: &[usize]) -> Vec<Dim> {
        let coords: Vec<Vec<u32>> = members.iter().map(|&m| self.mesh.coord(m)).collect();
        let mut dims: Vec<Dim> = Vec::new();
        for (axis, levels) in self.levels.iter().enumerate() {
            let mut rest: Vec<u32> = coords.iter().map(|c| c[axis]).collect();
            for &(size, fabric) in levels {
                let mut digits: Vec<u32> = rest.iter().map(|c| c % size).collect();
                digits.sort_unstable();
                digits.dedup();
                if digits.len() > 1 {
                    match dims.iter_mut().find(|d| d.fabric == fabric) {
                        Some(dim) => dim.size *= digits.len() as u64,
                        None => dims.push(Dim { size: digits.len() as u64, fabric }),
                    }
                }
                rest.iter_mut().for_each(|c| *c /= size);
            }
        }
        let product: u64 = dims.iter().map(|d| d.size).product();
        if product != members.len() as u64
            && let Some(slowest) = dims.iter().map(|d| d.fabric).reduce(|a, b| self.slower(a, b))
        {
            return vec![Dim { size: members.len() as u64, fabric: slowest }];
        }
        dims.sort_by(|a, b| {
            self.fabric(b.fabric).bandwidth.total_cmp(&self.fabric(a.fabric).bandwidth)
        });
        dims
    }

    /// A fabric.
    pub fn fabric(&self, at: usize) -> &'a Fabric {
        &self.machine.fabrics[at]
    }

    fn slower(&self, a: usize, b: usize) -> usize {
        let share = |at: usize| self.fabric(at).bandwidth / f64::from(self.fabric(at).shared_by);
        if share(b) < share(a) { b } else { a }
    }
}

/// Per axis whether anything is sent along it.
fn axes_in_use(plan: &Plan) -> Vec<bool> {
    let mut used = vec![false; plan.mesh.len()];
    let mut note = |set: &Coords| {
        for (AxisId(axis), _) in set {
            if let Some(used) = used.get_mut(*axis as usize) {
                *used = true;
            }
        }
    };
    for comm in &plan.comms {
        comm.members.iter().for_each(&mut note);
    }
    for instr in plan.programs.iter().flat_map(|p| &p.instrs) {
        match &instr.kind {
            piper_plan::Kind::Send(p) | piper_plan::Kind::Recv(p) => note(&p.peer.set),
            piper_plan::Kind::Group(transfers) => {
                transfers.iter().for_each(|t| note(&t.p2p().peer.set));
            }
            _ => {}
        }
    }
    used
}

fn levels_of(entry: &AxisLinks, size: u32) -> Result<Vec<(u32, usize)>, MachineError> {
    let mut left = size;
    let mut out = Vec::new();
    for (at, level) in entry.levels.iter().enumerate() {
        let is_last = at + 1 == entry.levels.len();
        let here = match level.size {
            // An axis smaller than a level lies within it.
            Some(here) if !is_last => here.min(left),
            Some(here) => here,
            None => left,
        };
        if !left.is_multiple_of(here) || is_last && here != left {
            return Err(MachineError {
                place: entry.place,
                message: format!(
                    "axis \"{}\" has {size} coordinates, which its levels do not divide",
                    entry.axis
                ),
                hint: "sizes of levels multiply to the axis; the last needs none".to_owned(),
            });
        }
        out.push((here, level.fabric));
        left /= here;
    }
    Ok(out)
}

/// Shortest ways between all coordinates; `None` if everybody has a link to everybody.
fn hops_of(entry: &AxisLinks, size: u32) -> Result<Option<Vec<u32>>, MachineError> {
    let pairs: Vec<(u32, u32)> = match &entry.links {
        Links::All => return Ok(None),
        Links::Ring => (0..size).map(|c| (c, (c + 1) % size)).collect(),
        Links::Line => (1..size).map(|c| (c - 1, c)).collect(),
        Links::Pairs(pairs) => pairs.clone(),
    };
    let error = |message: String, hint: &str| MachineError {
        place: entry.place,
        message,
        hint: hint.to_owned(),
    };
    if let Some((a, b)) = pairs.iter().find(|(a, b)| *a >= size || *b >= size) {
        return Err(error(
            format!("a link joins {a} and {b}, but axis \"{}\" has {size} coordinates", entry.axis),
            "coordinates begin at 0",
        ));
    }
    let n = size as usize;
    let mut neighbours = vec![Vec::new(); n];
    for (a, b) in pairs {
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
    }
    let mut table = vec![u32::MAX; n * n];
    for from in 0..n {
        let row = &mut table[from * n..(from + 1) * n];
        row[from] = 0;
        let mut front = vec![from];
        while !front.is_empty() {
            let mut next = Vec::new();
            for at in front {
                for &to in &neighbours[at] {
                    if row[to as usize] == u32::MAX {
                        row[to as usize] = row[at] + 1;
                        next.push(to as usize);
                    }
                }
            }
            front = next;
        }
        if let Some(lost) = row.iter().position(|&h| h == u32::MAX) {
            return Err(error(
                format!(
                    "the links of axis \"{}\" leave ranks unconnected: no way leads from {from} to {lost}",
                    entry.axis
                ),
                "add a link between the two parts",
            ));
        }
    }
    Ok(Some(table))
}
