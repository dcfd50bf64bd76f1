//! Schedules for a V by dispatching, from the start or from the middle of another schedule.
//!
//! Whenever a rank is free, it runs the most urgent of the actions whose inputs are there; a weight gradient only where
//! there is nothing else, where memory asks for it, or where too many are pending. Such schedules begin and end well, as
//! ranks do what they can; in the middle a block's rhythm may be better. So [`recreate`] keeps the beginning of a
//! good schedule, up to some moment, and dispatches the rest (ruin and recreate: Schrimpf et al., 2000).

use super::Problem;
use super::progress::{Found, Progress};
use crate::action::{Action, Kind};

/// F of the outer stage, F of the inner, I of the inner, I of the outer: what a microbatch does on a rank, in order.
const LEGS: usize = 4;

/// Which action a free rank prefers.
#[derive(Clone, Debug)]
struct Rule {
    /// The legs, most urgent first.
    urgent: [usize; LEGS],
    /// Forwards of the outer stage that each rank may be ahead of those of the inner one.
    ahead: Vec<u32>,
}

/// What a rank does next and when; a weight gradient if no leg.
type Choice = Option<(u64, Option<usize>)>;

#[derive(Clone)]
struct Dispatch<'a> {
    progress: Progress<'a>,
    /// Microbatches that have done each leg, by rank.
    done: Vec<[u32; LEGS]>,
}

impl<'a> Dispatch<'a> {
    fn new(problem: &'a Problem) -> Self {
        let done = vec![[0; LEGS]; problem.ranks as usize];
        Dispatch { progress: Progress::new(problem), done }
    }

    /// What `found` has started before `until`.
    fn beginning(problem: &'a Problem, found: &Found, until: u64) -> Self {
        let mut dispatch = Dispatch::new(problem);
        let mut at = vec![0; found.ranks.len()];
        loop {
            let mut moved = false;
            for (r, row) in found.ranks.iter().enumerate() {
                while let Some([action]) = row.get(at[r]).map(|slot| slot.actions()) {
                    let ready = match action.kind {
                        Kind::W => Some(0),
                        _ => dispatch.progress.ready(r, *action),
                    };
                    let start = ready.map(|ready| ready.max(dispatch.progress.ranks[r].now));
                    if start.is_none_or(|start| start >= until) {
                        break;
                    }
                    dispatch.run(r, *action, start.unwrap_or(0));
                    at[r] += 1;
                    moved = true;
                }
            }
            if !moved {
                return dispatch;
            }
        }
    }

    fn run(&mut self, r: usize, action: Action, start: u64) {
        if action.kind == Kind::W {
            let pending = &self.progress.ranks[r].pending;
            if let Some(at) = pending.iter().position(|pending| *pending == action) {
                self.progress.run_pending(r, at);
            }
            return;
        }
        let is_inner = action.stage >= self.progress.problem.ranks;
        let leg = match (action.kind, is_inner) {
            (Kind::F, false) => 0,
            (Kind::F, true) => 1,
            (_, true) => 2,
            (_, false) => 3,
        };
        self.done[r][leg] += 1;
        self.progress.run(r, action, start);
    }

    /// The next action of a leg.
    fn next(&self, r: usize, leg: usize) -> Action {
        let (outer, kind) = (r as u32, if leg < 2 { Kind::F } else { Kind::I });
        let is_outer = leg == 0 || leg == 3;
        let stage = if is_outer { outer } else { self.progress.problem.stages - 1 - outer };
        Action::new(stage, kind, self.done[r][leg])
    }

    fn choice(&self, r: usize, rule: &Rule) -> Choice {
        let (problem, rank, done) = (self.progress.problem, &self.progress.ranks[r], &self.done[r]);
        let mut chosen: Choice = (!rank.pending.is_empty()).then_some((rank.now, None));
        // What comes within half of a weight gradient is worth waiting for.
        let soon = problem.costs.w / 2;
        for leg in rule.urgent {
            let is_full = leg < 2 && rank.live >= problem.limit;
            let is_ahead = leg == 0 && done[0] >= done[1] + rule.ahead[r];
            if done[leg] == problem.microbatches || is_full || is_ahead {
                continue;
            }
            let Some(ready) = self.progress.ready(r, self.next(r, leg)) else { continue };
            let at = ready.max(rank.now);
            let is_better = match chosen {
                None => true,
                Some((then, None)) => at <= then + soon,
                Some((then, Some(_))) => at + soon < then,
            };
            if is_better {
                chosen = Some((at, Some(leg)));
            }
        }
        chosen
    }

    /// Dispatches what is left; none if the limit or the rule lets ranks wait for ever.
    fn finish(mut self, rule: &Rule) -> Option<Found> {
        let all = [self.progress.problem.microbatches; LEGS];
        let ranks = self.done.len();
        let mut choices: Vec<Choice> = (0..ranks).map(|r| self.choice(r, rule)).collect();
        let mut unfinished = self.done.iter().filter(|done| **done != all).count();
        while unfinished > 0 {
            // Whoever can act first does; what comes later gives nobody an earlier choice.
            let ready =
                choices.iter().enumerate().filter_map(|(r, choice)| Some((choice.as_ref()?, r)));
            let ((at, leg), r) = ready.min_by_key(|((at, _), r)| (*at, *r))?;
            match *leg {
                None => self.progress.run_pending(r, 0),
                Some(leg) => {
                    self.run(r, self.next(r, leg), *at);
                    unfinished -= usize::from(self.done[r] == all);
                }
            }
            // Inputs come from the ranks beside.
            let beside = choices.iter_mut().enumerate().skip(r.saturating_sub(1)).take(3);
            beside.for_each(|(r, choice)| *choice = self.choice(r, rule));
        }
        Some(self.progress.finish())
    }
}

/// Orders of the legs: the forward of the inner stage before that of the outer one, as it is nearer to its end.
fn urgencies() -> Vec<[usize; LEGS]> {
    let mut found = Vec::new();
    for code in 0..LEGS.pow(4) {
        let legs = [code / 64, code / 16 % 4, code / 4 % 4, code % 4];
        let place = |leg| legs.iter().position(|l| *l == leg);
        if (0..LEGS).all(|leg| place(leg).is_some()) && place(1) < place(0) {
            found.push(legs);
        }
    }
    found
}

/// Rules that let rank 0 be `base` forwards ahead and each rank after it some `quarters` of a forward less.
fn rules(problem: &Problem, slopes: impl Iterator<Item = (u32, u32)>) -> Vec<Rule> {
    let ahead = |(base, quarters): (u32, u32)| -> Vec<u32> {
        (0..problem.ranks).map(|r| base.saturating_sub(r * quarters / 4).max(1)).collect()
    };
    let urgencies = urgencies();
    let with =
        |ahead: Vec<u32>| urgencies.iter().map(move |u| Rule { urgent: *u, ahead: ahead.clone() });
    slopes.map(ahead).flat_map(with).collect()
}

/// Actions that are dispatched at most, of all rules together; large tables get fewer rules.
const MOST_DISPATCHED: u64 = 1 << 22;

fn affordable(problem: &Problem, tables: usize) -> usize {
    let actions = 3 * u64::from(problem.stages) * u64::from(problem.microbatches);
    (MOST_DISPATCHED / actions).min(tables as u64) as usize
}

/// The schedules that rules give from the start.
pub(super) fn dispatched(problem: &Problem) -> Vec<Found> {
    let bases = problem.limit.saturating_sub(problem.ranks)..=problem.limit;
    let rules = rules(problem, bases.flat_map(|base| [(base, 0), (base, 2), (base, 4)]));
    let affordable = affordable(problem, rules.len());
    rules[..affordable].iter().filter_map(|rule| Dispatch::new(problem).finish(rule)).collect()
}

/// Moments of a schedule from which the rest is dispatched anew, at most.
const MOST_MOMENTS: usize = 40;

/// Schedules that begin as `found` does and are not longer.
pub(super) fn recreated(problem: &Problem, found: &Found) -> Vec<Found> {
    let slopes = [(problem.limit / 2, 2), (problem.limit.saturating_sub(1), 4)];
    let rules = rules(problem, slopes.into_iter());
    // The rest is half of a table on average.
    let moments = affordable(problem, MOST_MOMENTS * rules.len() / 2) * 2 / rules.len();
    let begun = (1..moments as u64).map(|moment| {
        Dispatch::beginning(problem, found, found.makespan * moment / moments as u64)
    });
    begun
        .flat_map(|begun| rules.iter().filter_map(move |rule| begun.clone().finish(rule)))
        .filter(|made| made.makespan <= found.makespan)
        .collect()
}
