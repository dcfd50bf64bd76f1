//! A strategy beside its reference on one device, step by step.
//!
//! Losses, gradients before the optimizer (AdamW hides errors of scale) and parameters are compared. Distances of tensors are
//! by norm: of the difference, over that of the reference. Parameters are also told in units of the learning rate, because a
//! step moves each by about as much, whatever the parameter's size.

use std::fmt::Write;

use crate::engine::{Step, Values};

/// How far apart two runs are. Later steps are folded in by [`Comparison::add`].
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Steps compared.
    pub steps: u64,
    /// Every loss, gradient and parameter had the same bits at every step.
    pub is_bitwise: bool,
    /// The first step in which anything differed in a bit, and what.
    pub first_difference: Option<(u64, String)>,
    /// The largest distance of losses, relative.
    pub loss: f64,
    /// The largest distance of one parameter's gradients by norm, and whose.
    pub gradient: (f64, String),
    /// The largest root mean square distance of one parameter in units of the learning rate, and whose.
    pub parameter: (f64, String),
    /// Gradients were compared in every step.
    pub has_gradients: bool,
}

impl Default for Comparison {
    fn default() -> Self {
        let none = || (0.0, String::new());
        Self {
            steps: 0,
            is_bitwise: true,
            first_difference: None,
            loss: 0.0,
            gradient: none(),
            parameter: none(),
            has_gradients: true,
        }
    }
}

/// What a comparison is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// The same bits.
    Bitwise,
    /// f64, sums in another order: everything to 1e-10.
    F64,
    /// f32, sums in another order: losses and gradients to 1e-5, parameters to a hundredth of a step.
    F32,
    /// bf16, rounded by other kernels: losses to 1e-2, gradients to 5e-2, parameters to a fifth of a step.
    Bf16,
}

impl Tier {
    /// What it asks for, in words.
    pub fn text(self) -> &'static str {
        match self {
            Tier::Bitwise => "bitwise (fixed tree)",
            Tier::F64 => "f64 (1e-10)",
            Tier::Bf16 => "bf16 (losses 1e-2, gradients 5e-2, parameters 0.2 lr)",
            Tier::F32 => "f32 (losses and gradients 1e-5, parameters 0.01 lr)",
        }
    }
}

impl Comparison {
    /// Compares a step: what both runs gave and the parameters after it, reference second.
    pub fn add(
        &mut self,
        number: u64,
        ours: &Step,
        theirs: &Step,
        parameters: (&Values, &Values),
        learning_rate: f64,
    ) {
        self.steps += 1;
        let loss = (ours.loss - theirs.loss).abs() / theirs.loss.abs().max(f64::MIN_POSITIVE);
        self.loss = worst(self.loss, loss);
        if ours.loss.to_bits() != theirs.loss.to_bits() {
            self.differs(number, || "the loss".to_owned());
        }
        self.has_gradients &=
            !ours.gradients.is_empty() && ours.gradients.len() == theirs.gradients.len();
        self.tensors(
            number,
            "the gradient of",
            (&ours.gradients, &theirs.gradients),
            |this, name, ours, theirs| {
                let distance = norm(ours.iter().zip(theirs).map(|(a, b)| a - b))
                    / norm(theirs.iter().copied()).max(f64::MIN_POSITIVE);
                raise(&mut this.gradient, distance, name);
            },
        );
        self.tensors(number, "parameter", parameters, |this, name, ours, theirs| {
            let rms = norm(ours.iter().zip(theirs).map(|(a, b)| a - b))
                / (theirs.len().max(1) as f64).sqrt();
            raise(&mut this.parameter, rms / learning_rate, name);
        });
    }

    fn tensors(
        &mut self,
        number: u64,
        what: &str,
        (ours, theirs): (&Values, &Values),
        measure: impl Fn(&mut Self, &str, &[f64], &[f64]),
    ) {
        for (name, reference) in theirs {
            let Some(value) = ours.get(name).filter(|v| v.len() == reference.len()) else {
                self.differs(number, || {
                    format!("{what} \"{name}\", which only one run has in this shape,")
                });
                raise(&mut self.gradient, f64::INFINITY, name);
                continue;
            };
            if !value.iter().map(|v| v.to_bits()).eq(reference.iter().map(|v| v.to_bits())) {
                self.differs(number, || format!("{what} \"{name}\""));
            }
            measure(self, name, value, reference);
        }
    }

    fn differs(&mut self, number: u64, what: impl Fn() -> String) {
        self.is_bitwise = false;
        self.first_difference.get_or_insert_with(|| (number, what()));
    }

    /// Whether it is what the tier asks for. A NaN never is.
    pub fn meets(&self, tier: Tier) -> bool {
        let within = |loss: f64, gradient: f64, steps: f64| {
            self.loss <= loss && self.gradient.0 <= gradient && self.parameter.0 <= steps
        };
        self.steps > 0
            && match tier {
                Tier::Bitwise => self.is_bitwise,
                Tier::F64 => within(1e-10, 1e-10, 1e-7),
                Tier::F32 => within(1e-5, 1e-5, 1e-2),
                Tier::Bf16 => within(1e-2, 5e-2, 0.2),
            }
    }

    /// A few lines for people.
    pub fn report(&self, tier: Tier) -> String {
        let mut out = String::new();
        let whose = |(value, name): &(f64, String)| match &**name {
            "" => format!("{value:.1e}"),
            name => format!("{value:.1e} ({name})"),
        };
        let _ = writeln!(out, "largest differences from one device over {} steps:", self.steps);
        let _ = writeln!(out, "  loss        {:.1e} relative", self.loss);
        let gradients = match self.has_gradients {
            true => format!("{} by norm, before the optimizer", whose(&self.gradient)),
            false => "not reported by this plan".to_owned(),
        };
        let _ = writeln!(out, "  gradients   {gradients}");
        let parameters = whose(&self.parameter);
        let _ = writeln!(out, "  parameters  {parameters} learning rates, root mean square");
        let bits = match &self.first_difference {
            None => "equal: every loss, gradient and parameter of every step".to_owned(),
            Some((step, what)) => format!("not equal: {what} differs first, in step {step}"),
        };
        let _ = writeln!(out, "  bitwise     {bits}");
        let verdict = if self.meets(tier) { "the same numbers" } else { "NOT the same numbers" };
        let _ = writeln!(out, "  verdict     {verdict}; held to: {}", tier.text());
        out
    }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}

/// The larger of two; NaN counts as the largest.
fn worst(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn raise(largest: &mut (f64, String), value: f64, name: &str) {
    if !largest.0.is_nan() && (value.is_nan() || value > largest.0) {
        *largest = (value, name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(v: f64) -> Values {
        [("w".to_owned(), vec![v, 2.0 * v])].into()
    }

    fn step(loss: f64, gradient: f64) -> Step {
        Step { loss, gradients: values(gradient), ..Step::default() }
    }

    #[test]
    fn equal_runs_are_bitwise_equal() {
        let mut c = Comparison::default();
        c.add(1, &step(2.0, 1.0), &step(2.0, 1.0), (&values(1.0), &values(1.0)), 0.1);
        assert!(c.meets(Tier::Bitwise) && c.meets(Tier::F64) && c.meets(Tier::F32));
        assert!(c.report(Tier::Bitwise).contains("the same numbers; held to: bitwise"));
        assert!(!Comparison::default().meets(Tier::F32), "nothing compared is no success");
    }

    #[test]
    fn doubled_gradients_and_lost_ones_show() {
        let mut c = Comparison::default();
        c.add(1, &step(2.0, 2.0), &step(2.0, 1.0), (&values(1.0), &values(1.0)), 0.1);
        assert!((c.gradient.0 - 1.0).abs() < 1e-12 && !c.meets(Tier::F32));
        let mut c = Comparison::default();
        let lost = Step { loss: 2.0, ..Step::default() };
        c.add(1, &lost, &step(2.0, 1.0), (&values(1.0), &values(1.0)), 0.1);
        assert!(!c.meets(Tier::F32) && !c.has_gradients);
    }

    #[test]
    fn one_bit_of_one_parameter_shows() {
        let mut c = Comparison::default();
        let next = f64::from_bits(1.0f64.to_bits() + 1);
        c.add(1, &step(2.0, 1.0), &step(2.0, 1.0), (&values(1.0), &values(1.0)), 0.1);
        c.add(2, &step(2.0, 1.0), &step(2.0, 1.0), (&values(next), &values(1.0)), 0.1);
        assert!(!c.meets(Tier::Bitwise) && c.meets(Tier::F64));
        assert_eq!(c.first_difference, Some((2, "parameter \"w\"".to_owned())));
    }

    #[test]
    fn not_a_number_is_no_success() {
        let mut c = Comparison::default();
        c.add(1, &step(f64::NAN, 1.0), &step(f64::NAN, 1.0), (&values(1.0), &values(1.0)), 0.1);
        c.add(2, &step(1.0, 1.0), &step(1.0, 1.0), (&values(1.0), &values(1.0)), 0.1);
        assert!(!c.meets(Tier::F32) && !c.meets(Tier::F64));
    }
}
