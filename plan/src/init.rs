//! Initial values: the one definition, the same under every strategy.
//!
//! The value of element `i` (row-major index in the *logical* tensor) depends on the tensor's name, the seed and `i` alone,
//! so a shard computes exactly its elements. To reproduce it anywhere:
//!
//! ```text
//! key(name, seed) = mix(fnv1a64(name as UTF-8) ^ mix(seed))
//! bits(k)         = mix(key + (k + 1) * 0x9E3779B97F4A7C15)          (SplitMix64's k-th output from state `key`)
//! unit(k)         = (bits(k) >> 11) * 2^-53                          in [0, 1)
//! uniform(i)      = low + (high - low) * unit(i)
//! normal(i)       = mean + std * z(i),  p = i / 2 (integer division)
//!   u1 = 1 - unit(2p)  (in (0, 1]),  u2 = unit(2p + 1)
//!   z(i) = sqrt(-2 ln u1) * cos(2 pi u2) for even i,  * sin(2 pi u2) for odd i            (Box-Muller)
//! ```
//!
//! all in f64, wrapping 64-bit integer arithmetic, rounded once at the end to the tensor's type. `fnv1a64` is FNV-1a with
//! offset basis `0xCBF29CE484222325` and prime `0x100000001B3`; `mix` is SplitMix64's finaliser (Steele, Lea and Flood 2014):
//! `z = (z ^ z>>30) * 0xBF58476D1CE4E5B9; z = (z ^ z>>27) * 0x94D049BB133111EB; z ^ z>>31`.

use serde::{Deserialize, Serialize};

/// Distribution of a tensor's initial values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Init {
    /// Independent normal values.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        std: f64,
    },
    /// Independent uniform values in `[low, high)`.
    Uniform {
        /// Lower bound, included.
        low: f64,
        /// Upper bound, excluded (up to rounding).
        high: f64,
    },
    /// All zero.
    Zeros,
    /// All one.
    Ones,
    /// All the same.
    Constant(f64),
}

/// An initialiser bound to a tensor: element index to value.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    init: Init,
    key: u64,
}

impl Init {
    /// The values of the tensor called `name` under `seed` (0 unless the user says otherwise).
    pub fn values(self, name: &str, seed: u64) -> Values {
        Values { init: self, key: mix(fnv1a64(name.as_bytes()) ^ mix(seed)) }
    }
}

impl Values {
    /// The value of element `index`, in f64; round it to the tensor's type.
    pub fn at(&self, index: u64) -> f64 {
        match self.init {
            Init::Zeros => 0.0,
            Init::Ones => 1.0,
            Init::Constant(value) => value,
            Init::Uniform { low, high } => low + (high - low) * self.unit(index),
            Init::Normal { mean, std } => {
                let first = index & !1;
                let u1 = 1.0 - self.unit(first);
                let angle = 2.0 * std::f64::consts::PI * self.unit(first + 1);
                let radius = (-2.0 * u1.ln()).sqrt();
                mean + std * radius * if index & 1 == 0 { angle.cos() } else { angle.sin() }
            }
        }
    }

    fn unit(&self, k: u64) -> f64 {
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        let bits = mix(self.key.wrapping_add(k.wrapping_add(1).wrapping_mul(GOLDEN)));
        (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

pub(crate) fn fnv1a64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &b| {
        (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3)
    })
}

pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_and_fnv_match_their_published_values() {
        // SplitMix64 from state 0 yields 0xE220A8397B1DCDAF first; FNV-1a of "a" is 0xAF63DC4C8601EC8C.
        assert_eq!(mix(0x9E37_79B9_7F4A_7C15), 0xE220_A839_7B1D_CDAF);
        assert_eq!(fnv1a64(b"a"), 0xAF63_DC4C_8601_EC8C);
    }

    #[test]
    fn normal_values_have_the_moments_asked_for() {
        let values = Init::Normal { mean: 1.0, std: 2.0 }.values("w", 0);
        let n = 200_000u64;
        let mean = (0..n).map(|i| values.at(i)).sum::<f64>() / n as f64;
        let var = (0..n).map(|i| (values.at(i) - mean).powi(2)).sum::<f64>() / n as f64;
        let lag = (0..n).map(|i| (values.at(i) - mean) * (values.at(i + 1) - mean)).sum::<f64>()
            / n as f64;
        assert!(
            (mean - 1.0).abs() < 0.02 && (var - 4.0).abs() < 0.06 && lag.abs() < 0.06,
            "{mean} {var} {lag}"
        );
    }

    #[test]
    fn names_and_seeds_give_unrelated_values() {
        let init = Init::Uniform { low: 0.0, high: 1.0 };
        assert_ne!(init.values("a", 0).at(0), init.values("b", 0).at(0));
        assert_ne!(init.values("a", 0).at(0), init.values("a", 1).at(0));
        assert!((0..1000).all(|i| (0.0..1.0).contains(&init.values("a", 0).at(i))));
    }
}
