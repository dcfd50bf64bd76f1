//! Which function of [`crate::ops`] each `nn` operation is. The table is built once and indexed by interned name, so that
//! running compares no strings.

use piper_dialects::nn;
use piper_ir::{Attr, Context, Module, Op, OpName};
use rustc_hash::FxHashMap;

use crate::error::NumericError;
use crate::ops;
use crate::real::Real;
use crate::tensor::{ElementType, Tensor};

/// Computes the results of an operation from its operands.
pub type Evaluate = fn(&Module, Op, &[&Tensor]) -> Result<Vec<Tensor>, NumericError>;

/// The operations that have values, by name.
#[derive(Debug)]
pub struct Evaluators {
    table: FxHashMap<OpName, Evaluate>,
}

/// An [`Evaluate`] from a body that is generic over the element type `$T`, which is that of the first result.
macro_rules! evaluate {
    (|$m:ident, $op:ident, $x:ident, $T:ident| $body:expr) => {{
        fn generic<$T: Real>(
            $m: &Module,
            $op: Op,
            $x: &[&Tensor],
        ) -> Result<Vec<Tensor>, NumericError> {
            $body
        }
        fn dispatch(m: &Module, op: Op, x: &[&Tensor]) -> Result<Vec<Tensor>, NumericError> {
            let ty = m.ty(m.result(op, 0)).as_tensor(m.ctx());
            match ty.is_some_and(|(_, element)| element == m.ctx().f64()) {
                true => generic::<f64>(m, op, x),
                false => generic::<f32>(m, op, x),
            }
        }
        dispatch as Evaluate
    }};
}

/// To the type of the result, or to f32 where that is stored in bf16.
fn cast(m: &Module, op: Op, x: &[&Tensor]) -> Result<Vec<Tensor>, NumericError> {
    let to_f64 = m.ty(m.result(op, 0)).as_tensor(m.ctx()).is_some_and(|(_, e)| e == m.ctx().f64());
    let to = if to_f64 { ElementType::F64 } else { ElementType::F32 };
    Ok(vec![x[0].cast(to)])
}

impl Evaluators {
    /// The table of all `nn` operations but `nn.parameter`, whose value is not its own.
    pub fn new(ctx: &Context) -> Self {
        let entries: [(&str, Evaluate); 32] = [
            (nn::Convert::NAME, cast as Evaluate),
            (nn::Embedding::NAME, evaluate!(|_m, _op, x, T| one(ops::embedding::<T>(x[0], x[1])))),
            (
                nn::EmbeddingDw::NAME,
                evaluate!(|m, op, x, T| {
                    one(ops::embedding_dw::<T>(x[0], x[1], count(m, nn::EmbeddingDw(op).vocab(m))))
                }),
            ),
            (
                nn::Linear::NAME,
                evaluate!(|m, op, x, T| {
                    let transposed = nn::Linear(op).transpose_w(m).is_some();
                    one(ops::linear::<T>(x[0], x[1], x.get(2).copied(), transposed))
                }),
            ),
            (
                nn::LinearDx::NAME,
                evaluate!(|m, op, x, T| {
                    one(ops::linear_dx::<T>(x[0], x[1], nn::LinearDx(op).transpose_w(m).is_some()))
                }),
            ),
            (
                nn::LinearDw::NAME,
                evaluate!(|m, op, x, T| {
                    one(ops::linear_dw::<T>(x[0], x[1], nn::LinearDw(op).transpose_w(m).is_some()))
                }),
            ),
            (
                nn::Dispatch::NAME,
                evaluate!(|m, op, x, T| {
                    one(ops::dispatch::<T>(x[0], count(m, nn::Dispatch(op).experts(m))))
                }),
            ),
            (nn::Combine::NAME, evaluate!(|_m, _op, x, T| one(ops::combine::<T>(x[0])))),
            (
                nn::ExpertLinear::NAME,
                evaluate!(|_m, _op, x, T| one(ops::expert_linear::<T>(x[0], x[1]))),
            ),
            (
                nn::ExpertLinearDx::NAME,
                evaluate!(|_m, _op, x, T| one(ops::expert_linear_dx::<T>(x[0], x[1]))),
            ),
            (
                nn::ExpertLinearDw::NAME,
                evaluate!(|_m, _op, x, T| one(ops::expert_linear_dw::<T>(x[0], x[1]))),
            ),
            (nn::SumRows::NAME, evaluate!(|_m, _op, x, T| one(ops::sum_rows::<T>(x[0])))),
            (
                nn::LayerNorm::NAME,
                evaluate!(|m, op, x, T| {
                    one(ops::layer_norm::<T>(x[0], x[1], x[2], real(m, nn::LayerNorm(op).eps(m))))
                }),
            ),
            (
                nn::LayerNormDx::NAME,
                evaluate!(|m, op, x, T| {
                    let eps = real(m, nn::LayerNormDx(op).eps(m));
                    one(ops::layer_norm_dx::<T>(x[0], x[1], x[2], eps))
                }),
            ),
            (
                nn::LayerNormDw::NAME,
                evaluate!(|m, op, x, T| {
                    let eps = real(m, nn::LayerNormDw(op).eps(m));
                    ops::layer_norm_dw::<T>(x[0], x[1], eps).map(|(a, b)| vec![a, b])
                }),
            ),
            (
                nn::RmsNorm::NAME,
                evaluate!(|m, op, x, T| {
                    one(ops::rms_norm::<T>(x[0], x[1], real(m, nn::RmsNorm(op).eps(m))))
                }),
            ),
            (
                nn::RmsNormDx::NAME,
                evaluate!(|m, op, x, T| {
                    one(ops::rms_norm_dx::<T>(x[0], x[1], x[2], real(m, nn::RmsNormDx(op).eps(m))))
                }),
            ),
            (
                nn::RmsNormDw::NAME,
                evaluate!(|m, op, x, T| {
                    one(ops::rms_norm_dw::<T>(x[0], x[1], real(m, nn::RmsNormDw(op).eps(m))))
                }),
            ),
            (nn::Gelu::NAME, evaluate!(|_m, _op, x, T| one(ops::gelu::<T>(x[0])))),
            (nn::GeluDx::NAME, evaluate!(|_m, _op, x, T| one(ops::gelu_dx::<T>(x[0], x[1])))),
            (nn::Silu::NAME, evaluate!(|_m, _op, x, T| one(ops::silu::<T>(x[0])))),
            (nn::SiluDx::NAME, evaluate!(|_m, _op, x, T| one(ops::silu_dx::<T>(x[0], x[1])))),
            (nn::Add::NAME, evaluate!(|_m, _op, x, T| one(ops::add::<T>(x[0], x[1])))),
            (nn::Mul::NAME, evaluate!(|_m, _op, x, T| one(ops::mul::<T>(x[0], x[1])))),
            (
                nn::Scale::NAME,
                evaluate!(|m, op, x, T| one(ops::scale::<T>(
                    x[0],
                    real(m, nn::Scale(op).factor(m))
                ))),
            ),
            (nn::StopGradient::NAME, |_, _, x| Ok(vec![ops::stop_gradient(x[0])])),
            (
                nn::Constant::NAME,
                evaluate!(|m, op, _x, T| {
                    let ty = m.ty(nn::Constant(op).x(m)).as_tensor(m.ctx());
                    let shape: Vec<usize> = ty
                        .map_or(&[][..], |(shape, _)| shape)
                        .iter()
                        .map(|&d| d as usize)
                        .collect();
                    Ok(vec![ops::constant::<T>(&shape, real(m, nn::Constant(op).value(m)))])
                }),
            ),
            (
                nn::Attention::NAME,
                evaluate!(|m, op, x, T| {
                    let view = nn::Attention(op);
                    let (heads, kv) = (count(m, view.heads(m)), count(m, view.kv_heads(m)));
                    let (o, lse) = ops::attention::<T>(x[0], x[1], x[2], heads, kv)?;
                    Ok(if m.num_results(op) == 1 { vec![o] } else { vec![o, lse] })
                }),
            ),
            (
                nn::AttentionDx::NAME,
                evaluate!(|m, op, x, T| {
                    let view = nn::AttentionDx(op);
                    let (heads, kv) = (count(m, view.heads(m)), count(m, view.kv_heads(m)));
                    ops::attention_dx::<T>(x[0], x[1], x[2], x[3], x[4], x[5], heads, kv)
                        .map(|(dq, dk, dv)| vec![dq, dk, dv])
                }),
            ),
            (
                nn::Rotary::NAME,
                evaluate!(|m, op, x, T| {
                    let view = nn::Rotary(op);
                    let (heads, base) = (count(m, view.heads(m)), real(m, view.base(m)));
                    one(ops::rotary::<T>(x[0], heads, base, view.inverse(m).is_some()))
                }),
            ),
            (
                nn::CrossEntropy::NAME,
                evaluate!(|m, op, x, T| {
                    let denominator = int(m, nn::CrossEntropy(op).denominator(m));
                    let (loss, lse) = ops::cross_entropy::<T>(x[0], x[1], denominator)?;
                    Ok(if m.num_results(op) == 1 { vec![loss] } else { vec![loss, lse] })
                }),
            ),
            (
                nn::CrossEntropyDx::NAME,
                evaluate!(|m, op, x, T| {
                    let denominator = int(m, nn::CrossEntropyDx(op).denominator(m));
                    let lse = x.get(3).copied();
                    one(ops::cross_entropy_dx::<T>(x[0], x[1], x[2], lse, denominator))
                }),
            ),
        ];
        Self { table: entries.into_iter().map(|(name, f)| (ctx.op_name(name), f)).collect() }
    }

    /// How an operation of this name is computed, if it has a value of its own.
    pub fn get(&self, name: OpName) -> Option<Evaluate> {
        self.table.get(&name).copied()
    }
}

fn one(result: Result<Tensor, NumericError>) -> Result<Vec<Tensor>, NumericError> {
    result.map(|tensor| vec![tensor])
}

// The verifier has checked that these attributes hold what they are read as.

fn real(module: &Module, attr: Attr) -> f64 {
    attr.as_float(module.ctx()).unwrap_or(f64::NAN)
}

fn int(module: &Module, attr: Attr) -> i64 {
    attr.as_int(module.ctx()).unwrap_or(0)
}

fn count(module: &Module, attr: Attr) -> usize {
    usize::try_from(int(module, attr)).unwrap_or(0)
}
