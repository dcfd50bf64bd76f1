//! Checks that make a plan safe to run.
/// What is wrong with a plan.
#[derive(Clone, Debug)]
pub struct Fault {}
/// Which check found it.
#[derive(Clone, Copy, Debug)]
pub enum FaultKind {}
/// Limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {}
/// Every fault of a plan; empty if it is safe to run.
pub fn verify(plan: &crate::Plan) -> Vec<Fault> {
    verify_within(plan, &Limits::default())
}
/// As [`verify`].
pub fn verify_within(_plan: &crate::Plan, _limits: &Limits) -> Vec<Fault> {
    Vec::new()
}
