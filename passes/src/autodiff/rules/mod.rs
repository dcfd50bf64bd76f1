//! The closed list of what can be differentiated, one file a family. A rule gives each operand that wants one its cotangent.

mod attention;
mod elementwise;
mod embedding;
mod linear;
mod loss;
mod norm;

use piper_dialects::nn;
use piper_ir::{Context, Op, OpName, Value};
use rustc_hash::FxHashMap;

use super::backward::Vjp;

/// Emits the backward of a forward operation, given the cotangent of its first result.
pub type Rule = fn(&mut Vjp<'_>, Op, Value);

/// Every rule, in the order of documentation.
pub const RULES: [(&str, Rule); 12] = [
    (nn::Embedding::NAME, embedding::embedding),
    (nn::Linear::NAME, linear::linear),
    (nn::LayerNorm::NAME, norm::layer_norm),
    (nn::RmsNorm::NAME, norm::rms_norm),
    (nn::Gelu::NAME, elementwise::gelu),
    (nn::Silu::NAME, elementwise::silu),
    (nn::Add::NAME, elementwise::add),
    (nn::Mul::NAME, elementwise::mul),
    (nn::Scale::NAME, elementwise::scale),
    (nn::Attention::NAME, attention::attention),
    (nn::Rotary::NAME, attention::rotary),
    (nn::CrossEntropy::NAME, loss::cross_entropy),
];

/// The rules by interned name.
pub(super) struct Table(FxHashMap<OpName, Rule>);

impl Table {
    pub(super) fn get(&self, name: OpName) -> Option<Rule> {
        self.0.get(&name).copied()
    }

    /// The differentiable operations, for people.
    pub(super) fn names(&self, _ctx: &Context) -> String {
        RULES.map(|(name, _)| name).join(", ")
    }
}

pub(super) fn table(ctx: &Context) -> Table {
    Table(RULES.into_iter().map(|(name, rule)| (ctx.op_name(name), rule)).collect())
}
