//! Initial values of parameters, as a function of the parameter's name and the logical index alone.
//!
//! A counter-based generator has no state to share: any device computes any slice of any parameter by itself, and a run
//! starts from the same values under every strategy. The 64-bit word for `(name, i, lane)` is SplitMix64's output function
//! (Steele, Lea and Flood 2014) applied to `key + (2i + lane + 1) * 0x9E3779B97F4A7C15`, where `key` is the 64-bit FNV-1a
//! hash of the name's bytes, itself passed through that function.

use crate::error::NumericError;
use crate::real::Real;
use crate::tensor::Tensor;

/// How a parameter starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Initializer {
    /// Normally distributed.
    Normal {
        /// Centre.
        mean: f64,
        /// Standard deviation.
        std: f64,
    },
    /// Evenly distributed in `lo..hi`.
    Uniform {
        /// Least value.
        lo: f64,
        /// Bound above.
        hi: f64,
    },
    /// All 0.
    Zeros,
    /// All 1.
    Ones,
    /// All the same.
    Constant(f64),
}

impl Initializer {
    /// Value `index` of parameter `name`, before rounding to the element type.
    ///
    /// With `u1 = ((word0 >> 11) + 1) / 2^53` and `u2 = (word1 >> 11) / 2^53`, uniform is `lo + (hi - lo) (word0 >> 11) / 2^53`
    /// and normal is `mean + std sqrt(-2 ln u1) cos(2 pi u2)` (Box and Muller 1958).
    pub fn value(self, name: &str, index: u64) -> f64 {
        self.keyed_value(key(name), index)
    }

    fn keyed_value(self, key: u64, index: u64) -> f64 {
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        let fraction = |lane| word(key, index, lane) >> 11;
        match self {
            Self::Normal { mean, std } => {
                let u1 = (fraction(0) + 1) as f64 * UNIT;
                let u2 = fraction(1) as f64 * UNIT;
                mean + std * (-2.0 * u1.ln()).sqrt() * (std::f64::consts::TAU * u2).cos()
            }
            Self::Uniform { lo, hi } => lo + (hi - lo) * (fraction(0) as f64 * UNIT),
            Self::Zeros => 0.0,
            Self::Ones => 1.0,
            Self::Constant(value) => value,
        }
    }
}

/// The whole parameter `name`; each value is computed in f64 and rounded to `T`.
///
/// # Errors
/// Never for a shape whose element count fits in memory.
pub fn parameter<T: Real>(
    name: &str,
    shape: &[usize],
    init: Initializer,
) -> Result<Tensor, NumericError> {
    let key = key(name);
    let count: usize = shape.iter().product();
    let values = (0..count as u64).map(|i| T::from_f64(init.keyed_value(key, i))).collect();
    Tensor::new(shape, values)
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

fn key(name: &str) -> u64 {
    let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325, |h: u64, byte| {
        (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    mixed(hash)
}

fn word(key: u64, index: u64, lane: u64) -> u64 {
    let counter = index.wrapping_mul(2).wrapping_add(lane + 1);
    mixed(key.wrapping_add(counter.wrapping_mul(GOLDEN)))
}

fn mixed(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_stated_moments_and_depend_on_the_name() {
        let n = 20_000;
        let normal = |name: &str| {
            parameter::<f64>(name, &[n], Initializer::Normal { mean: 1.0, std: 0.5 })
                .unwrap()
                .to_f64()
        };
        let (a, b) = (normal("a"), normal("b"));
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let centred: Vec<f64> = a.iter().map(|v| v - 1.0).collect();
        let variance = mean(&centred.iter().map(|v| v * v).collect::<Vec<_>>());
        let covariance =
            mean(&centred.iter().zip(&b).map(|(a, b)| a * (b - 1.0)).collect::<Vec<_>>());
        let lag = mean(&centred.windows(2).map(|w| w[0] * w[1]).collect::<Vec<_>>());
        assert!((mean(&a) - 1.0).abs() < 0.015, "{}", mean(&a));
        assert!((variance - 0.25).abs() < 0.01, "{variance}");
        assert!(covariance.abs() < 0.01 && lag.abs() < 0.01, "{covariance} {lag}");
        let uniform = parameter::<f64>("u", &[n], Initializer::Uniform { lo: -2.0, hi: 4.0 })
            .unwrap()
            .to_f64();
        assert!(uniform.iter().all(|v| (-2.0..4.0).contains(v)));
        assert!((mean(&uniform) - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_value_does_not_depend_on_the_shape_around_it() {
        let init = Initializer::Normal { mean: 0.0, std: 1.0 };
        let whole = parameter::<f64>("w", &[4, 3], init).unwrap().to_f64();
        assert_eq!(whole[7], init.value("w", 7));
        assert_eq!(parameter::<f64>("w", &[12], init).unwrap().to_f64(), whole);
    }
}
