//! A table played against the clock.
//!
//! Ranks run their slots in order; a slot starts when its rank is free and everything its actions wait for has
//! finished: `F` of the stage before, the backward (`B` or `I`) of the stage after, the `F` before its own backward, the
//! `I` before its `W`. Transport costs nothing unless asked for, and then only time. This is the model under which the
//! bubbles of published schedules are stated, so their formulas can be compared with it digit by digit; it is not a
//! prediction of a cluster.

use crate::action::{Action, Kind, Slot};
use crate::check::{Deadlock, Position, Stuck};
use crate::table::Table;

/// Durations in any unit, as whole numbers so that comparisons with formulas are exact. `B` takes `i + w`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// One forward.
    pub f: u64,
    /// One input-gradient half.
    pub i: u64,
    /// One weight-gradient half.
    pub w: u64,
    /// A fused pair of one forward and one whole backward; by default no gain: `f + i + w`.
    pub pair: u64,
    /// From the end of a slot to the earliest start, on another rank, of one that waits for it; by default nothing.
    pub transport: u64,
}

impl Costs {
    /// Costs without a gain from overlap.
    pub fn new(f: u64, i: u64, w: u64) -> Costs {
        Costs { f, i, w, pair: f + i + w, transport: 0 }
    }

    /// The same costs with a fused pair of forward and backward taking `pair`.
    pub fn with_pair(self, pair: u64) -> Costs {
        Costs { pair, ..self }
    }

    /// The same costs with `transport` between ranks.
    pub fn with_transport(self, transport: u64) -> Costs {
        Costs { transport, ..self }
    }

    /// How long a slot takes.
    pub fn of(&self, slot: &Slot) -> u64 {
        match slot.actions() {
            [a, b] if matches!((a.kind, b.kind), (Kind::F, Kind::B) | (Kind::B, Kind::F)) => {
                self.pair
            }
            actions => actions.iter().map(|action| self.of_kind(action.kind)).sum(),
        }
    }

    fn of_kind(&self, kind: Kind) -> u64 {
        match kind {
            Kind::F => self.f,
            Kind::B => self.i + self.w,
            Kind::I => self.i,
            Kind::W => self.w,
        }
    }
}

/// When a slot runs: from `start`, up to `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First instant.
    pub start: u64,
    /// First instant after it.
    pub end: u64,
}

/// The outcome of [`Table::replay`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// From the start of the first slot to the end of the last, over all ranks.
    pub makespan: u64,
    /// Time each rank computes.
    pub busy: Vec<u64>,
    /// Most activations (one stage, one microbatch each) a rank holds at once. One comes to life when its `F` starts and
    /// is freed when its `B` or `W` ends.
    pub peak_activations: Vec<u32>,
    timeline: Vec<Vec<Span>>,
}

impl Replay {
    /// `timeline()[rank][slot]`: when that slot runs.
    pub fn timeline(&self) -> &[Vec<Span>] {
        &self.timeline
    }

    /// Time in which `rank` computes nothing: makespan less busy time.
    pub fn idle(&self, rank: usize) -> u64 {
        self.makespan - self.busy[rank]
    }

    /// Time in which `rank` computes nothing between its own first and last slot. What is left of the bubble when no
    /// barrier joins the ranks between steps.
    pub fn idle_in_span(&self, rank: usize) -> u64 {
        match (self.timeline[rank].first(), self.timeline[rank].last()) {
            (Some(first), Some(last)) => last.end - first.start - self.busy[rank],
            _ => 0,
        }
    }
}

impl Table {
    /// Plays the table with the given costs.
    ///
    /// # Errors
    /// The cycle, if ranks wait for one another. Meant for tables that pass [`Table::check`]; an action that waits for one
    /// that does not exist is taken not to wait.
    pub fn replay(&self, costs: &Costs) -> Result<Replay, Deadlock> {
        self.play(|slot| costs.of(slot), costs.transport)
    }

    /// As [`Table::replay`], with any duration per slot.
    ///
    /// # Errors
    /// As [`Table::replay`].
    pub fn replay_slots(&self, duration: impl Fn(&Slot) -> u64) -> Result<Replay, Deadlock> {
        self.play(duration, 0)
    }

    fn play(&self, duration: impl Fn(&Slot) -> u64, transport: u64) -> Result<Replay, Deadlock> {
        let timeline = Dependencies::of(self).run(&duration, transport)?;
        Ok(Replay {
            makespan: timeline
                .iter()
                .filter_map(|rank| rank.last())
                .map(|span| span.end)
                .max()
                .unwrap_or(0),
            busy: self.ranks.iter().map(|slots| slots.iter().map(&duration).sum()).collect(),
            peak_activations: self.ranks.iter().map(|slots| peak_activations(slots)).collect(),
            timeline,
        })
    }
}

fn peak_activations(slots: &[Slot]) -> u32 {
    let (mut live, mut peak) = (0u32, 0u32);
    for slot in slots {
        let count = |wanted: fn(Kind) -> bool| {
            u32::try_from(slot.actions().iter().filter(|action| wanted(action.kind)).count())
                .unwrap_or(u32::MAX)
        };
        live += count(|kind| kind == Kind::F);
        peak = peak.max(live);
        live = live.saturating_sub(count(|kind| matches!(kind, Kind::B | Kind::W)));
    }
    peak
}

/// Number of a slot over all ranks; ranks are numbered through.
type Node = u32;
const NOBODY: Node = Node::MAX;

/// Who produces what every slot waits for, found by table look-up rather than stored as edges: an action has at most two
/// producers and two consumers, and both follow from its stage, kind and microbatch.
pub(crate) struct Dependencies<'a> {
    table: &'a Table,
    slots: Vec<&'a Slot>,
    /// First node of each rank, and one past the last.
    base: Vec<Node>,
    /// Slots of forwards, of whole or input-gradient backwards, and of weight gradients, by stage and microbatch.
    forward: Vec<Node>,
    backward: Vec<Node>,
    weight: Vec<Node>,
}

impl<'a> Dependencies<'a> {
    pub(crate) fn of(table: &'a Table) -> Self {
        let cells = table.stages as usize * table.microbatches as usize;
        let mut found = Dependencies {
            table,
            slots: table.ranks.iter().flatten().collect(),
            base: vec![0],
            forward: vec![NOBODY; cells],
            backward: vec![NOBODY; cells],
            weight: vec![NOBODY; cells],
        };
        for slots in &table.ranks {
            let start = *found.base.last().unwrap_or(&0);
            for (node, slot) in (start..).zip(slots) {
                for action in slot.actions() {
                    let Some(cell) = found.cell(i64::from(action.stage), action.mb) else {
                        continue;
                    };
                    match action.kind {
                        Kind::F => found.forward[cell] = node,
                        Kind::B | Kind::I => found.backward[cell] = node,
                        Kind::W => found.weight[cell] = node,
                    }
                }
            }
            found.base.push(start + Node::try_from(slots.len()).unwrap_or(NOBODY));
        }
        found
    }

    fn cell(&self, stage: i64, mb: u32) -> Option<usize> {
        let inside =
            (0..i64::from(self.table.stages)).contains(&stage) && mb < self.table.microbatches;
        let stage = usize::try_from(stage).ok()?;
        inside.then(|| stage * self.table.microbatches as usize + mb as usize)
    }

    fn look_up(&self, nodes: &[Node], stage: i64, mb: u32) -> Option<Node> {
        self.cell(stage, mb).map(|cell| nodes[cell]).filter(|node| *node != NOBODY)
    }

    /// Slots that `action` waits for.
    fn producers(&self, action: Action) -> impl Iterator<Item = Node> {
        let (s, mb) = (i64::from(action.stage), action.mb);
        let found = match action.kind {
            Kind::F => [self.look_up(&self.forward, s - 1, mb), None],
            Kind::B | Kind::I => {
                [self.look_up(&self.forward, s, mb), self.look_up(&self.backward, s + 1, mb)]
            }
            Kind::W => [self.look_up(&self.backward, s, mb), None],
        };
        found.into_iter().flatten()
    }

    /// Slots that wait for `action`.
    fn consumers(&self, action: Action) -> impl Iterator<Item = Node> {
        let (s, mb) = (i64::from(action.stage), action.mb);
        let found = match action.kind {
            Kind::F => {
                [self.look_up(&self.forward, s + 1, mb), self.look_up(&self.backward, s, mb)]
            }
            Kind::B | Kind::I => {
                [self.look_up(&self.backward, s - 1, mb), self.look_up(&self.weight, s, mb)]
            }
            Kind::W => [None, None],
        };
        found.into_iter().flatten()
    }

    /// Start and end of every slot, by rank, in one topological sweep. What is produced on another rank comes `transport`
    /// later.
    pub(crate) fn run(
        &self,
        duration: impl Fn(&Slot) -> u64,
        transport: u64,
    ) -> Result<Vec<Vec<Span>>, Deadlock> {
        let mut waiting: Vec<u32> = Vec::with_capacity(self.slots.len());
        for rank in self.base.windows(2) {
            for node in rank[0]..rank[1] {
                let data: usize = self.slots[node as usize]
                    .actions()
                    .iter()
                    .map(|action| self.producers(*action).count())
                    .sum();
                waiting.push(u32::try_from(data).unwrap_or(u32::MAX) + u32::from(node != rank[0]));
            }
        }
        let mut rank_of = Vec::with_capacity(self.slots.len());
        for (rank, bounds) in self.base.windows(2).enumerate() {
            rank_of.resize(bounds[1] as usize, rank);
        }

        let mut spans = vec![Span::default(); self.slots.len()];
        let mut ready: Vec<Node> =
            (0..).zip(&waiting).filter(|(_, count)| **count == 0).map(|(node, _)| node).collect();
        let mut finished = 0;
        while let Some(node) = ready.pop() {
            finished += 1;
            let slot = self.slots[node as usize];
            let end = spans[node as usize].start + duration(slot);
            spans[node as usize].end = end;
            let here = rank_of[node as usize];
            let next = (rank_of.get(node as usize + 1) == Some(&here)).then_some(node + 1);
            let released =
                slot.actions().iter().flat_map(|action| self.consumers(*action)).chain(next);
            for consumer in released {
                let hop = if rank_of[consumer as usize] == here { 0 } else { transport };
                let consumer_span = &mut spans[consumer as usize];
                consumer_span.start = consumer_span.start.max(end + hop);
                // A repeated action releases its consumers again; `check` reports it, replay must merely not trip.
                if waiting[consumer as usize] == 1 {
                    ready.push(consumer);
                }
                waiting[consumer as usize] = waiting[consumer as usize].saturating_sub(1);
            }
        }
        if finished < self.slots.len() {
            let blocked: Vec<bool> = waiting.iter().map(|count| *count > 0).collect();
            return Err(self.deadlock(&blocked));
        }
        let rank_spans = |rank: &[Node]| spans[rank[0] as usize..rank[1] as usize].to_vec();
        Ok(self.base.windows(2).map(rank_spans).collect())
    }

    /// Walks from a stuck rank to the rank it waits for until one comes round again. Every rank with a blocked slot
    /// stands at its first blocked one, whose missing input is itself blocked, so the walk never ends otherwise.
    fn deadlock(&self, blocked: &[bool]) -> Deadlock {
        let head = |rank: usize| {
            (self.base[rank]..self.base[rank + 1]).find(|node| blocked[*node as usize])
        };
        let mut walk: Vec<Stuck> = Vec::new();
        let mut rank = (0..self.table.ranks.len()).find(|rank| head(*rank).is_some()).unwrap_or(0);
        let mut visited = vec![None; self.table.ranks.len()];
        while visited[rank].is_none() {
            visited[rank] = Some(walk.len());
            let Some(stuck) = head(rank).and_then(|node| self.stuck_at(node, blocked)) else {
                break;
            };
            rank = stuck.found_at.rank as usize;
            walk.push(stuck);
        }
        Deadlock { cycle: walk.split_off(visited[rank].unwrap_or(0)) }
    }

    fn stuck_at(&self, node: Node, blocked: &[bool]) -> Option<Stuck> {
        self.slots[node as usize].actions().iter().find_map(|action| {
            let producer = self.producers(*action).find(|producer| blocked[*producer as usize])?;
            let waits_for = self.slots[producer as usize].actions().iter().find(|other| {
                self.consumers(**other).any(|consumer| consumer == node) && feeds(**other, *action)
            })?;
            Some(Stuck {
                at: self.position(node),
                action: *action,
                waits_for: *waits_for,
                found_at: self.position(producer),
            })
        })
    }

    fn position(&self, node: Node) -> Position {
        let rank = self.base.partition_point(|start| *start <= node) - 1;
        Position { rank: u32::try_from(rank).unwrap_or(u32::MAX), slot: node - self.base[rank] }
    }
}

/// Whether `consumer` directly waits for `producer`.
fn feeds(producer: Action, consumer: Action) -> bool {
    let backward = |kind| matches!(kind, Kind::B | Kind::I);
    producer.mb == consumer.mb
        && match (producer.kind, consumer.kind) {
            (Kind::F, Kind::F) => producer.stage + 1 == consumer.stage,
            (Kind::F, kind) if backward(kind) => producer.stage == consumer.stage,
            (from, Kind::W) if backward(from) => producer.stage == consumer.stage,
            (from, to) if backward(from) && backward(to) => producer.stage == consumer.stage + 1,
            _ => false,
        }
}
