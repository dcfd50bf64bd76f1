//! The score: every mutant is judged by the verifier, and what it accepts must be shown to be the same.

use std::collections::BTreeMap;
use std::time::Duration;

use piper_plan::{FaultKind, Plan, verify};
use piper_runtime::{KernelLibrary, Options, OutputValue, Session, SliceMut};

use crate::cases::{Case, VOCABULARY};
use crate::full::{Verdict, play};
use crate::mutate::{KINDS, Mutant, choose};
use crate::races;
use crate::symbolic::{Meaning, Order, execute};

/// Interleavings in which what the verifier accepts is executed.
const ORDERS: [Order; 6] = [
    Order::FirstStream,
    Order::LastStream,
    Order::Random(1),
    Order::Random(2),
    Order::Random(3),
    Order::Random(4),
];

/// Counts of one kind of mutation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub mutants: usize,
    pub rejected: usize,
    /// Rejected, though one symbolic execution found nothing different: unsafe in another, or more than was needed.
    pub rejected_same: usize,
    /// Accepted and shown to be the same.
    pub same: usize,
    /// Accepted, and the same bits in the runtime too.
    pub ran: usize,
}

/// What came out.
#[derive(Debug, Default)]
pub struct Score {
    pub plans: usize,
    pub kinds: [Count; KINDS.len()],
    /// By the first fault that was reported.
    pub faults: BTreeMap<&'static str, usize>,
    /// Accepted, but not the same: holes in the verifier.
    pub holes: Vec<String>,
}

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Mutants of each plan.
    pub mutants: usize,
    /// Of those that are accepted, how many are run with real numbers, per plan.
    pub runs: usize,
    /// Rejected mutants are executed as well, to see how many of them were harmless.
    pub look_at_rejected: bool,
}

/// Everything a few steps give, bit by bit.
#[derive(PartialEq)]
struct Bits {
    outputs: Vec<(String, Vec<u8>)>,
    states: Vec<(String, Vec<u8>)>,
}

impl Score {
    /// Mutates a case.
    ///
    /// # Errors
    /// A case that does not compile, or whose own plan is not accepted and run.
    pub fn add(&mut self, case: &Case, seed: u64, effort: Effort) -> Result<(), String> {
        let compiled = case.compile().map_err(|failure| format!("{}: {failure}", case.name))?;
        let (plan, library) = (&compiled.plan, &*compiled.library);
        let reference = execute(plan, Order::FirstStream)
            .ok_or_else(|| format!("{}: the plan itself hangs", case.name))?;
        if !is_safe(plan) || !means(plan, &reference) {
            return Err(format!("{}: the plan itself depends on the order", case.name));
        }
        let bits = bits(plan, library).map_err(|why| format!("{}: {why}", case.name))?;
        self.plans += 1;
        let mut runs = 0;
        for mutation in choose(plan, effort.mutants, seed) {
            let Some(mutant) = mutation.apply(plan) else { continue };
            let faults = verify(&mutant.plan);
            let count = &mut self.kinds[mutant.kind];
            count.mutants += 1;
            if let Some(fault) = faults.first() {
                count.rejected += 1;
                *self.faults.entry(fault.kind.name()).or_default() += 1;
                if effort.look_at_rejected && is_executable(fault.kind) {
                    let found = execute(&mutant.plan, Order::FirstStream);
                    count.rejected_same += usize::from(found.as_ref() == Some(&reference));
                }
                continue;
            }
            match harmless(&mutant, &reference) {
                Ok(()) => count.same += 1,
                Err(why) => {
                    self.holes.push(format!("{}: {}: {why}", case.name, mutant.place));
                    continue;
                }
            }
            if runs < effort.runs {
                runs += 1;
                match self::bits(&mutant.plan, library) {
                    Ok(found) if found == bits => self.kinds[mutant.kind].ran += 1,
                    Ok(_) => {
                        self.holes.push(format!("{}: {}: other bits", case.name, mutant.place))
                    }
                    Err(why) => self.holes.push(format!("{}: {}: {why}", case.name, mutant.place)),
                }
            }
        }
        Ok(())
    }

    /// Mutants in all.
    pub fn mutants(&self) -> usize {
        self.kinds.iter().map(|k| k.mutants).sum()
    }
}

/// Whether a plan with such a fault can be executed at all.
fn is_executable(kind: FaultKind) -> bool {
    use FaultKind::{Comm, Range, Shape, State, Structure};
    !matches!(kind, Comm | Range | Shape | State | Structure)
}

/// No race and no hang, by definition and not by the verifier.
fn is_safe(plan: &Plan) -> bool {
    plan.programs.iter().all(|program| races::find(plan, program).is_none())
        && play(plan, true) == Verdict::Ends
}

fn means(plan: &Plan, reference: &Meaning) -> bool {
    ORDERS.iter().all(|order| execute(plan, *order).as_ref() == Some(reference))
}

/// Whether a mutant is the same plan; what is wrong with it otherwise.
fn harmless(mutant: &Mutant, reference: &Meaning) -> Result<(), String> {
    let program = &mutant.plan.programs[mutant.program];
    if let Some((early, late)) = races::find(&mutant.plan, program) {
        return Err(format!("#{early} and #{late} race"));
    }
    match play(&mutant.plan, true) {
        Verdict::Ends => {}
        verdict => return Err(format!("the communication: {verdict:?}")),
    }
    if means(&mutant.plan, reference) { Ok(()) } else { Err("another meaning".to_owned()) }
}

/// Two steps in the runtime.
fn bits(plan: &Plan, library: &dyn KernelLibrary) -> Result<Bits, String> {
    let options = Options { timeout: Duration::from_secs(20), ..Options::default() };
    let mut session = Session::load(plan.clone(), library, options).map_err(|e| e.to_string())?;
    let data = |step: u64, _: &piper_plan::Input, into: SliceMut<'_>| {
        let SliceMut::I32(into) = into else { return Err("only tokens are known".to_owned()) };
        for (at, token) in (0u64..).zip(into) {
            *token = ((at * 7 + step * 5 + at * at) % u64::from(VOCABULARY)) as i32;
        }
        Ok(())
    };
    let mut outputs = Vec::new();
    for _ in 0..2 {
        let report = session.step(&data).map_err(|e| e.to_string())?;
        outputs.extend(report.outputs.into_iter().map(|(name, value)| match value {
            OutputValue::Number(number) => (name, number.to_bits().to_le_bytes().to_vec()),
            OutputValue::Tensor(tensor) => (name, tensor.bytes),
        }));
    }
    let names: Vec<String> = session.states().map(str::to_owned).collect();
    let read = |name: String| {
        let value = session.state(&name).map_err(|e| e.to_string())?;
        Ok((name, value.bytes))
    };
    let states = names.into_iter().map(read).collect::<Result<_, String>>()?;
    Ok(Bits { outputs, states })
}
