//! The kernels that Piper itself brings, by the reference operations of optimizers.

use piper_dialects::device::{self, BuiltinKernel, Mode};
use piper_ir::Module;

use super::Parameter;
use crate::error::NumericError;
use crate::ops;
use crate::real::Real;
use crate::tensor::{ElementType, Tensor};

/// A built-in kernel with its constants.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    kernel: BuiltinKernel,
    /// As declared, those that stand for many buffers once.
    declared: Vec<device::Parameter>,
    sgd: ops::Sgd,
    adamw: ops::AdamW,
    max_norm: f64,
}

impl Rule {
    pub(super) fn of(module: &Module, view: device::Kernel) -> Option<Self> {
        let ctx = module.ctx();
        let kernel = BuiltinKernel::from_name(view.kernel(module).as_str(ctx)?)?;
        let hyper = view.hyper(module);
        let number = |name: &str| hyper.get(ctx, name).and_then(|a| a.as_number(ctx));
        let weight_decay = number("weight_decay").unwrap_or(0.0);
        Some(Self {
            kernel,
            declared: kernel.parameters(ctx, hyper),
            sgd: ops::Sgd { weight_decay, momentum: number("momentum").unwrap_or(0.0) },
            adamw: ops::AdamW {
                beta1: number("beta1").unwrap_or(0.9),
                beta2: number("beta2").unwrap_or(0.999),
                eps: number("eps").unwrap_or(1e-8),
                weight_decay,
            },
            max_norm: number("max_norm").unwrap_or(f64::INFINITY),
        })
    }

    pub(super) fn scalars(&self) -> usize {
        self.kernel.scalars().len()
    }

    /// The uses of the buffers, given how many are read or updated.
    pub(super) fn modes(&self, inputs: usize) -> Vec<Mode> {
        let ones = self.declared.iter().filter(|p| !p.many && p.mode != Mode::Write).count();
        let repeated = inputs.saturating_sub(ones);
        let count = |p: &device::Parameter| if p.many { repeated } else { 1 };
        self.declared.iter().flat_map(|p| std::iter::repeat_n(p.mode, count(p))).collect()
    }

    pub(super) fn run(
        &self,
        inputs: Vec<Tensor>,
        scalars: &[f64],
        parameters: &[Parameter],
    ) -> Result<Vec<Tensor>, NumericError> {
        if self.kernel == BuiltinKernel::Cast {
            let to = parameters.last().map_or(ElementType::F32, |p| p.element);
            return Ok(inputs.iter().map(|tensor| tensor.cast(to)).collect());
        }
        // The type that values are in: of what comes last, except that a sum of squares is always f64.
        let element = match self.kernel {
            BuiltinKernel::SumSquares => inputs.first().map(Tensor::element_type),
            _ => parameters.last().map(|p| p.element),
        };
        match element {
            Some(ElementType::F64) => self.typed::<f64>(inputs, scalars, parameters),
            _ => self.typed::<f32>(inputs, scalars, parameters),
        }
    }

    fn typed<T: Real>(
        &self,
        mut inputs: Vec<Tensor>,
        scalars: &[f64],
        parameters: &[Parameter],
    ) -> Result<Vec<Tensor>, NumericError> {
        let names: Vec<&str> = self.declared.iter().map(|p| p.name).collect();
        // Of the optimizers: gradient, maybe the clipping factor, then what is updated.
        let has = |name: &str| names.contains(&name);
        match self.kernel {
            BuiltinKernel::Accumulate => Ok(vec![ops::add::<T>(&inputs[1], &inputs[0])?]),
            BuiltinKernel::Sgd | BuiltinKernel::AdamW => {
                let mut updated = inputs.split_off(1 + usize::from(has("scale")));
                let scale = inputs.get(1).and_then(|s| s.values::<T>()?.first().copied());
                let scale = scale.unwrap_or_else(|| T::from_f64(1.0));
                let gradient = &inputs[0];
                match &mut updated[..] {
                    [p, m, v] => {
                        let step = scalars[1].clamp(0.0, f64::from(u32::MAX)) as u32;
                        self.adamw.step::<T>(p, m, v, gradient, scale, scalars[0], step)?;
                    }
                    [p, m] => self.sgd.step::<T>(p, Some(m), gradient, scale, scalars[0])?,
                    [p, ..] => self.sgd.step::<T>(p, None, gradient, scale, scalars[0])?,
                    [] => {}
                }
                Ok(updated)
            }
            BuiltinKernel::SumSquares => {
                let parts = inputs.iter().map(ops::sum_squares::<T>);
                let total = parts.sum::<Result<f64, NumericError>>()?;
                Ok(vec![Tensor::new([1], vec![total])?])
            }
            BuiltinKernel::ClipScale => {
                let total = inputs[0].to_f64().first().copied().unwrap_or(f64::NAN);
                Ok(vec![Tensor::new([1], vec![ops::clip_scale::<T>(total, self.max_norm)])?])
            }
            BuiltinKernel::Cast => Ok(inputs),
            BuiltinKernel::Sum => {
                let parts: Vec<&Tensor> = inputs.iter().collect();
                match parts.is_empty() {
                    true => {
                        Ok(parameters.iter().map(|p| Tensor::zeros([p.elems], p.element)).collect())
                    }
                    false => Ok(vec![ops::tree_sum::<T>(&parts)?]),
                }
            }
        }
    }
}
