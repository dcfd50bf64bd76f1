//! Initial values of parameters. The formula is the plan's ([`piper_plan::init`]): runtime, reference and golden files
//! start from the same values because there is one definition.

use piper_plan::Init;

use crate::error::NumericError;
use crate::real::Real;
use crate::tensor::Tensor;

/// The whole parameter `name`, under seed 0; each value is computed in f64 and rounded to `T`.
///
/// # Errors
/// Never for a shape whose element count fits in memory.
pub fn parameter<T: Real>(name: &str, shape: &[usize], init: Init) -> Result<Tensor, NumericError> {
    let values = init.values(name, 0);
    let count: usize = shape.iter().product();
    Tensor::new(shape, (0..count as u64).map(|i| T::from_f64(values.at(i))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_does_not_depend_on_the_shape_around_it() {
        let init = Init::Normal { mean: 0.0, std: 1.0 };
        let whole = parameter::<f64>("w", &[4, 3], init).unwrap().to_f64();
        assert_eq!(whole[7], init.values("w", 0).at(7));
        assert_eq!(parameter::<f64>("w", &[12], init).unwrap().to_f64(), whole);
    }
}
