//! Pairing: positional partners must exist and agree on what they exchange. Then, if they do, deadlock.

use super::channels::{Channel, End, Network, Role};
use super::classes::Class;
use super::{Fault, FaultKind, MAX_FAULTS, Sends, rendezvous};
use crate::schema::{Buffer, Plan};

pub(super) fn check(plan: &Plan, classes: &[Class], sends: Sends) -> Vec<Fault> {
    let network = Network::of(plan, classes);
    let view = View { plan, network: &network };
    let mut faults: Vec<Fault> = network
        .channels
        .iter()
        .filter_map(|channel| view.channel(channel))
        .take(MAX_FAULTS)
        .collect();
    if faults.is_empty() {
        faults.extend(rendezvous::check(plan, &network, sends));
    }
    faults
}

struct View<'a> {
    plan: &'a Plan,
    network: &'a Network,
}

impl View<'_> {
    /// The first disagreement on a channel; later ones are usually its consequences.
    fn channel(&self, channel: &Channel) -> Option<Fault> {
        let shortest = channel.sides.iter().map(|s| s.1.len()).min().unwrap_or(0);
        for at in 0..shortest {
            let mut ends = channel.sides.iter().map(|s| &self.network.ends[s.1[at] as usize]);
            let first = ends.next()?;
            for other in ends {
                if let Some(fault) = self.pair(channel, at, first, other) {
                    return Some(fault);
                }
            }
        }
        let longest = channel.sides.iter().max_by_key(|s| s.1.len())?;
        if longest.1.len() == shortest {
            return None;
        }
        let alone = &self.network.ends[longest.1[shortest] as usize];
        let lacking = channel.sides.iter().find(|s| s.1.len() == shortest)?.0;
        let lacking_device = self.network.devices[lacking as usize];
        let (own, other) =
            (self.render(self.network.devices[alone.rank as usize]), self.render(lacking_device));
        let comm = &self.plan.comms[channel.comm].name;
        let nth = ordinal(shortest + 1);
        let (kind, message) = match alone.role {
            Role::Send => (
                FaultKind::Pairing,
                format!("the {nth} send from {own} to {other} on {comm} is never received"),
            ),
            Role::Recv => (
                FaultKind::Pairing,
                format!("the {nth} receive of {own} from {other} on {comm} is never sent"),
            ),
            role => (
                FaultKind::Collective,
                format!(
                    "{own} takes part in a {nth} collective ({}) on {comm}, {other} does not",
                    role.name()
                ),
            ),
        };
        let mut fault = self.party(Fault::new(kind, message), alone, "issued");
        let before = channel
            .sides
            .iter()
            .find(|s| s.0 == lacking && s.1.len() == shortest)
            .and_then(|s| s.1.last());
        if let Some(&last) = before {
            fault = self.party(
                fault,
                &self.network.ends[last as usize],
                "the last one of the other side",
            );
        }
        Some(fault)
    }

    fn pair(&self, channel: &Channel, at: usize, a: &End, b: &End) -> Option<Fault> {
        let comm = &self.plan.comms[channel.comm].name;
        let nth = ordinal(at + 1);
        let (x, y) = (self.buffer(a), self.buffer(b));
        let (kind, message) = if channel.is_p2p {
            let (from, to) = (
                self.render(self.network.devices[a.rank as usize]),
                self.render(self.network.devices[b.rank as usize]),
            );
            let pair = format!("the {nth} transfer from {from} to {to} on {comm}");
            if x.elems != y.elems || x.dtype != y.dtype {
                let message = format!(
                    "{pair} sends {} x {} and receives {} x {}",
                    x.elems,
                    x.dtype.name(),
                    y.elems,
                    y.dtype.name()
                );
                (FaultKind::Pairing, message)
            } else if a.tag != b.tag {
                (
                    FaultKind::Pairing,
                    format!(
                        "{pair} sends one value and receives it as another; transfers pair by position"
                    ),
                )
            } else {
                return None;
            }
        } else if let (Role::AllToAll(..), Role::AllToAll(..)) = (a.role, b.role)
            && a.role != b.role
        {
            let message = format!(
                "members of the {nth} collective on {comm}, an all_to_all, divide it in different ways"
            );
            (FaultKind::Collective, message)
        } else if a.role != b.role {
            (
                FaultKind::Collective,
                format!(
                    "the {nth} collective on {comm} is {} on one member and {} on another",
                    a.role.name(),
                    b.role.name()
                ),
            )
        } else if x.elems != y.elems || x.dtype != y.dtype {
            let sizes = format!(
                "{} x {} on one member and {} x {} on another",
                x.elems,
                x.dtype.name(),
                y.elems,
                y.dtype.name()
            );
            (FaultKind::Collective, format!("the {nth} collective on {comm} takes {sizes}"))
        } else {
            return None;
        };
        Some(self.party(self.party(Fault::new(kind, message), a, "issued"), b, "issued"))
    }

    fn party(&self, fault: Fault, end: &End, verb: &str) -> Fault {
        let role = match end.role {
            Role::Send if verb == "issued" => "sent here".to_owned(),
            Role::Recv if verb == "issued" => "received here".to_owned(),
            role => format!("{} {verb} here", role.name()),
        };
        fault.on(self.plan, self.network.devices[end.rank as usize], end.instr as usize, role)
    }

    fn buffer(&self, end: &End) -> &Buffer {
        let program = self.plan.device_program[self.network.devices[end.rank as usize]];
        self.plan.programs[program.index()].buffer(end.buffer)
    }

    fn render(&self, device: usize) -> String {
        self.plan.mesh().render(device)
    }
}

/// `1st`, `2nd`, ...
fn ordinal(n: usize) -> String {
    let suffix = match (n % 10, n % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}
