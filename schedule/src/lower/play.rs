//! A lowered program played without a clock: who can go on, and, when nobody can, who waits for whom.

use std::collections::{HashMap, HashSet, VecDeque};

use super::check::{Circle, Transport, Waiting};
use super::{Leg, Op, Program, Transfer};
use crate::action::{Action, Kind};
use crate::check::Position;

/// The state of a play. The program has every transfer once.
pub(super) struct Play<'a> {
    program: &'a Program,
    transport: Transport,
    /// The operation at which each rank stands.
    at: Vec<usize>,
    computed: HashSet<Action>,
    posted: HashSet<Transfer>,
}

impl<'a> Play<'a> {
    pub(super) fn of(program: &'a Program, transport: Transport) -> Self {
        Play {
            program,
            transport,
            at: vec![0; program.ranks.len()],
            computed: HashSet::new(),
            posted: HashSet::new(),
        }
    }

    /// Plays to the end.
    ///
    /// # Errors
    /// The circle of ranks that cannot go on.
    pub(super) fn run(mut self) -> Result<(), Circle> {
        let mut woken: VecDeque<usize> = (0..self.at.len()).collect();
        while let Some(rank) = woken.pop_front() {
            while let Some(op) = self.program.ranks[rank].get(self.at[rank]) {
                if self.blocker(rank, op).is_some_and(|(_, need)| matches!(need, Need::Local(_))) {
                    break;
                }
                for transfer in op.transfers() {
                    if self.posted.insert(*transfer) {
                        woken.extend(self.program.peer(*transfer).map(|peer| peer as usize));
                    }
                }
                if self.blocker(rank, op).is_some() {
                    break;
                }
                self.computed.extend(op.actions());
                self.at[rank] += 1;
            }
        }
        match (0..self.at.len()).find(|rank| self.at[*rank] < self.program.ranks[*rank].len()) {
            None => Ok(()),
            Some(stuck) => Err(self.circle(stuck)),
        }
    }

    /// What `op` at the head of `rank` waits for, with the part of it that waits.
    fn blocker(&self, rank: usize, op: &Op) -> Option<(String, Need)> {
        for action in op.actions() {
            if let Some(need) = self.input_missing(rank, *action) {
                return Some((action.to_string(), need));
            }
        }
        let unsent = |transfer: &&Transfer| self.producer_missing(**transfer);
        if let Some(transfer) = op.transfers().iter().find(unsent) {
            let kind = if transfer.leg == Leg::SendF { Kind::F } else { Kind::B };
            let action = Action::new(transfer.stage, kind, transfer.mb);
            return Some((transfer.to_string(), Need::Local(Part::Action(action))));
        }
        op.transfers().iter().find_map(|transfer| {
            let other = transfer.counterpart()?;
            let over = transfer.leg.is_send() && self.transport == Transport::Buffered;
            let waits = !over && !self.posted.contains(&other);
            waits.then(|| (transfer.to_string(), Need::Peer(other)))
        })
    }

    fn has(&self, stage: u32, kind: Kind, mb: u32) -> bool {
        self.computed.contains(&Action::new(stage, kind, mb))
    }

    fn has_backward(&self, stage: u32, mb: u32) -> bool {
        self.has(stage, Kind::B, mb) || self.has(stage, Kind::I, mb)
    }

    fn producer_missing(&self, transfer: Transfer) -> bool {
        match transfer.leg {
            Leg::SendF => !self.has(transfer.stage, Kind::F, transfer.mb),
            Leg::SendB => !self.has_backward(transfer.stage, transfer.mb),
            Leg::RecvF | Leg::RecvB => false,
        }
    }

    fn input_missing(&self, rank: usize, action: Action) -> Option<Need> {
        let Action { stage, kind, mb } = action;
        let local = |stage, kind| Some(Need::Local(Part::Action(Action::new(stage, kind, mb))));
        match kind {
            Kind::W if !self.has_backward(stage, mb) => return local(stage, Kind::I),
            Kind::B | Kind::I if !self.has(stage, Kind::F, mb) => return local(stage, Kind::F),
            _ => {}
        }
        let recv = Transfer::recv_before(action, self.program.stages)?;
        let from = recv.peer_stage()?;
        let crosses = self.program.peer(recv).is_some_and(|peer| peer as usize != rank);
        match kind {
            _ if crosses => {
                (!self.received(rank, recv)).then_some(Need::Local(Part::Transfer(recv)))
            }
            Kind::F if !self.has(from, Kind::F, mb) => local(from, Kind::F),
            Kind::B | Kind::I if !self.has_backward(from, mb) => local(from, Kind::B),
            _ => None,
        }
    }

    /// Whether `rank` has left the operation in which it posts `recv`.
    fn received(&self, rank: usize, recv: Transfer) -> bool {
        let posts = |op: &Op| op.transfers().contains(&recv);
        self.posted.contains(&recv)
            && !self.program.ranks[rank].get(self.at[rank]).is_some_and(posts)
    }

    /// Walks from a stuck rank to the rank it waits for until one comes round again.
    fn circle(&self, mut rank: usize) -> Circle {
        let mut places: HashMap<Part, Position> = HashMap::new();
        for (at, op) in self.program.positions() {
            for action in op.actions() {
                // A whole backward is asked for as B and may stand as I.
                let whole = Action { kind: Kind::B, ..*action };
                if action.kind == Kind::I {
                    places.entry(Part::Action(whole)).or_insert(at);
                }
                places.insert(Part::Action(*action), at);
            }
            places.extend(op.transfers().iter().map(|transfer| (Part::Transfer(*transfer), at)));
        }
        let mut visited = vec![None; self.at.len()];
        let mut walk: Vec<Waiting> = Vec::new();
        while visited[rank].is_none() {
            visited[rank] = Some(walk.len());
            let slot = self.at[rank];
            let at = Position {
                rank: u32::try_from(rank).unwrap_or(u32::MAX),
                slot: u32::try_from(slot).unwrap_or(u32::MAX),
            };
            let blocker = self.program.ranks[rank].get(slot).and_then(|op| self.blocker(rank, op));
            let Some((what, need)) = blocker else { break };
            let part = match need {
                Need::Local(part) => part,
                Need::Peer(transfer) => Part::Transfer(transfer),
            };
            let Some(found_at) = places.get(&part).copied() else { break };
            walk.push(Waiting { at, what, waits_for: part.to_string(), found_at });
            rank = found_at.rank as usize;
        }
        Circle(walk.split_off(visited[rank].unwrap_or(0)))
    }
}

/// What is missing.
enum Need {
    /// Something this rank itself should have done before.
    Local(Part),
    /// The other side of a transfer that is posted.
    Peer(Transfer),
}

/// An action or one side of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Action(Action),
    Transfer(Transfer),
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Part::Action(action) => action.fmt(f),
            Part::Transfer(transfer) => transfer.fmt(f),
        }
    }
}
