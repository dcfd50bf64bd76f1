//! In which order the members of a slot run: one direction computes while the other's exchange is in flight.
//!
//! A *chain* is what one microbatch does in one direction, in order; a member that takes the result of an exchange *waits*. A
//! chain runs up to its next exchange, and then it is the turn of another one, which covers it. Weight gradients, for which
//! nobody in the slot waits, *fill* what remains: they run as soon as their turn is over, when the exchange behind which they
//! stand has been started.

/// One compute node of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    /// Which chain it is of. Of two that may both run, the lower goes first.
    pub(crate) chain: usize,
    /// Positions of the members whose results it uses.
    pub(crate) needs: Vec<usize>,
    /// Takes the result of an exchange.
    pub(crate) waits: bool,
    /// Nobody in the slot waits for it: a weight gradient.
    pub(crate) fills: bool,
}

/// Positions of the members in the order in which they run. What has no exchange to hide keeps its order.
pub(crate) fn turns(members: &[Member]) -> Vec<usize> {
    let given: Vec<usize> = (0..members.len()).collect();
    let chains = members.iter().map(|m| m.chain + 1).max().unwrap_or(0);
    let is_pair = (0..chains).filter(|c| members.iter().any(|m| m.chain == *c)).count() > 1;
    if !is_pair || members.iter().all(|m| !m.waits) {
        return given;
    }
    let mut turns = Turns {
        members,
        done: vec![false; members.len()],
        order: Vec::with_capacity(members.len()),
        // An exchange that stands before the slot was started just now.
        fresh: vec![true; chains],
        last: vec![0; chains],
        next: vec![0; chains],
    };
    turns.run();
    // Needs in a circle: the graph is wrong, which is for its verifier to say.
    if turns.order.len() == members.len() { turns.order } else { given }
}

struct Turns<'m> {
    members: &'m [Member],
    done: Vec<bool>,
    order: Vec<usize>,
    /// Chains whose last exchange nothing has covered yet.
    fresh: Vec<bool>,
    /// When each chain had its last turn, counted from 1.
    last: Vec<usize>,
    /// Where each chain's next member is looked for.
    next: Vec<usize>,
}

impl Turns<'_> {
    fn run(&mut self) {
        let mut turn = 0;
        loop {
            turn += 1;
            let ready: Vec<usize> =
                (0..self.fresh.len()).filter(|&c| self.head(c).is_some()).collect();
            let covered = |&c: &usize| {
                !(self.fresh[c] && self.head(c).is_some_and(|at| self.members[at].waits))
            };
            let longest_ago = |c: &usize| (self.last[*c], *c);
            let chosen = ready.iter().copied().filter(covered).min_by_key(longest_ago);
            let Some(chain) = chosen.or_else(|| ready.iter().copied().min_by_key(longest_ago))
            else {
                if self.fill() == 0 {
                    return;
                }
                continue;
            };
            let mut is_first = true;
            while let Some(at) = self.head(chain)
                && (is_first || !self.members[at].waits)
            {
                self.take(at);
                is_first = false;
            }
            self.fresh.iter_mut().for_each(|fresh| *fresh = false);
            self.fresh[chain] = true;
            self.last[chain] = turn;
            self.fill();
        }
    }

    /// A chain's next member, if all it needs is done.
    fn head(&self, chain: usize) -> Option<usize> {
        let of_chain = |at: &usize| {
            let member = &self.members[*at];
            member.chain == chain && !member.fills && !self.done[*at]
        };
        let at = (self.next[chain]..self.members.len()).find(of_chain)?;
        self.is_ready(at).then_some(at)
    }

    fn is_ready(&self, at: usize) -> bool {
        self.members[at].needs.iter().all(|need| self.done[*need])
    }

    fn take(&mut self, at: usize) {
        self.done[at] = true;
        self.order.push(at);
        if !self.members[at].fills {
            self.next[self.members[at].chain] = at + 1;
        }
    }

    /// Runs the weight gradients that can run; how many.
    fn fill(&mut self) -> usize {
        let can = |at: &usize| self.members[*at].fills && !self.done[*at] && self.is_ready(*at);
        let filling: Vec<usize> = (0..self.members.len()).filter(can).collect();
        filling.iter().for_each(|&at| self.take(at));
        filling.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, turns};
    use proptest::collection::vec;
    use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

    /// `F` of a microbatch and `I`, `W` of another, each with whether the members wait, in running order.
    fn pair(forward: &[bool], backward: &[bool]) -> Vec<Member> {
        let mut members: Vec<Member> = Vec::new();
        for (chain, waits) in [(1, forward), (0, backward)] {
            for (i, &waits) in waits.iter().enumerate() {
                let needs = if i == 0 { vec![] } else { vec![members.len() - 1] };
                members.push(Member { chain, needs, waits, fills: false });
            }
        }
        for i in 0..backward.len() {
            let needs = vec![forward.len() + i];
            members.push(Member { chain: 0, needs, waits: false, fills: true });
        }
        members
    }

    fn text(members: &[Member], forward: usize, backward: usize) -> String {
        let name = |&at: &usize| match at {
            at if at < forward => format!("F{at}"),
            at if at < forward + backward => format!("I{}", at - forward),
            at => format!("W{}", at - forward - backward),
        };
        turns(members).iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn attention_and_experts_take_turns() {
        let members = pair(&[false, true], &[true, true]);
        assert_eq!(text(&members, 2, 2), "F0 I0 W0 F1 I1 W1");
        let members = pair(&[false, true, true, true], &[true; 4]);
        assert_eq!(text(&members, 4, 4), "F0 I0 W0 F1 I1 W1 F2 I2 W2 F3 I3 W3");
    }

    #[test]
    fn a_chain_runs_up_to_its_next_exchange() {
        // The backward begins with the loss: it starts its exchange before the forward has anything to cover.
        let members = pair(&[false, true, false], &[false, true, false]);
        assert_eq!(text(&members, 3, 3), "I0 W0 F0 I1 I2 W1 W2 F1 F2");
    }

    #[test]
    fn what_exchanges_nothing_keeps_its_order() {
        let members = pair(&[false, false], &[false, false]);
        assert_eq!(text(&members, 2, 2), "F0 F1 I0 I1 W0 W1");
        let alone = pair(&[], &[true, true]);
        assert_eq!(text(&alone, 0, 2), "I0 I1 W0 W1");
    }

    #[test]
    fn the_longer_chain_goes_on_alone() {
        let members = pair(&[false, true], &[true, true, true, true]);
        assert_eq!(text(&members, 2, 4), "F0 I0 W0 F1 I1 W1 I2 W2 I3 W3");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        /// Everything runs once, after what it needs, and each chain in its order.
        #[test]
        fn every_member_runs_once_after_what_it_needs(
            forward in vec(any::<bool>(), 0..8),
            backward in vec(any::<bool>(), 0..8),
        ) {
            let members = pair(&forward, &backward);
            let order = turns(&members);
            let mut place = vec![usize::MAX; members.len()];
            for (i, &at) in order.iter().enumerate() {
                prop_assert_eq!(place[at], usize::MAX);
                place[at] = i;
            }
            prop_assert_eq!(order.len(), members.len());
            for (at, member) in members.iter().enumerate() {
                prop_assert!(member.needs.iter().all(|need| place[*need] < place[at]));
            }
        }
    }
}
