//! The machine code is generated for, as plain data.

use serde::{Deserialize, Serialize};

/// The vector instructions a kernel may be shaped for: tile sizes and the use of fused multiply-add follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum VectorLevel {
    /// 128-bit vectors, no fused multiply-add (x86-64-v2).
    Portable,
    /// 128-bit vectors and fused multiply-add (AArch64).
    Neon,
    /// 256-bit vectors and fused multiply-add (x86-64-v3).
    Avx2,
    /// 512-bit vectors and fused multiply-add (x86-64-v4).
    Avx512,
}

impl VectorLevel {
    /// Bytes of one native vector register.
    pub fn vector_bytes(self) -> u64 {
        match self {
            Self::Portable | Self::Neon => 16,
            Self::Avx2 => 32,
            Self::Avx512 => 64,
        }
    }

    /// The name that a plan carries, so that a machine without these instructions refuses its code.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether `a * b + c` with one rounding is one instruction.
    pub fn has_fma(self) -> bool {
        self != Self::Portable
    }
}

/// Target triple, CPU and features in LLVM's spelling, with the vector level they allow.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    /// LLVM triple; `None` for that of this machine.
    pub triple: Option<String>,
    /// LLVM CPU name.
    pub cpu: String,
    /// LLVM feature string (`+avx2,-sse4a`), possibly empty.
    pub features: String,
    /// Vector level, which the CPU must support.
    pub vectors: VectorLevel,
}

impl Target {
    /// A generic CPU of this machine's architecture at `level`: the same code bits on every machine, at some cost.
    pub fn generic(level: VectorLevel) -> Self {
        let cpu = match level {
            VectorLevel::Portable => "x86-64-v2",
            VectorLevel::Neon => "generic",
            VectorLevel::Avx2 => "x86-64-v3",
            VectorLevel::Avx512 => "x86-64-v4",
        };
        Self { triple: None, cpu: cpu.into(), features: String::new(), vectors: level }
    }

    /// The target of a name as people give it: `host`, or a level of this machine's architecture (`x86-64-v2`, `x86-64-v3`,
    /// `x86-64-v4`; on AArch64 `aarch64`).
    ///
    /// # Errors
    /// Another name; the message lists those that there are.
    pub fn named(name: &str) -> Result<Self, String> {
        let levels: &[(&str, VectorLevel)] = if cfg!(target_arch = "aarch64") {
            &[("aarch64", VectorLevel::Neon)]
        } else {
            &[
                ("x86-64-v2", VectorLevel::Portable),
                ("x86-64-v3", VectorLevel::Avx2),
                ("x86-64-v4", VectorLevel::Avx512),
            ]
        };
        if name == "host" {
            return Ok(Self::host());
        }
        match levels.iter().find(|(known, _)| *known == name) {
            Some((_, level)) => Ok(Self::generic(*level)),
            None => {
                let names: Vec<&str> = levels.iter().map(|(known, _)| *known).collect();
                Err(format!(
                    "there is no target '{name}'; this build has: host, {}",
                    names.join(", ")
                ))
            }
        }
    }

    /// The targets of vector levels as people give them: `host`, `all`, or a list of names of this architecture's levels. Those that are
    /// named are generic, so that any processor of the level runs them.
    ///
    /// # Errors
    /// A name that is none, of another architecture, or there twice; the message lists those there are.
    pub fn of_vectors(names: &str) -> Result<Vec<Self>, String> {
        use VectorLevel::{Avx2, Avx512, Neon, Portable};
        let here: &[VectorLevel] =
            if cfg!(target_arch = "aarch64") { &[Neon] } else { &[Portable, Avx2, Avx512] };
        match names {
            "host" => return Ok(vec![Self::host()]),
            "all" => return Ok(here.iter().map(|&level| Self::generic(level)).collect()),
            _ => {}
        }
        let known = || here.iter().map(|level| level.name()).collect::<Vec<_>>().join(", ");
        let mut levels = Vec::new();
        for name in names.split(',') {
            let level =
                here.iter().copied().find(|level| level.name() == name).ok_or_else(|| {
                    format!(
                        "'{name}' is no level of {}; there are {}, and by themselves host and all",
                        std::env::consts::ARCH,
                        known()
                    )
                })?;
            if levels.contains(&level) {
                return Err(format!("'{name}' stands there twice"));
            }
            levels.push(level);
        }
        Ok(levels.into_iter().map(Self::generic).collect())
    }

    /// Whether this machine can run code generated at `level`.
    pub fn host_supports(level: VectorLevel) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            match level {
                VectorLevel::Portable => {
                    is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("popcnt")
                }
                VectorLevel::Neon => false,
                VectorLevel::Avx2 => {
                    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
                }
                VectorLevel::Avx512 => {
                    is_x86_feature_detected!("avx512f")
                        && is_x86_feature_detected!("avx512bw")
                        && is_x86_feature_detected!("avx512cd")
                        && is_x86_feature_detected!("avx512dq")
                        && is_x86_feature_detected!("avx512vl")
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            level
                == if cfg!(target_arch = "aarch64") {
                    VectorLevel::Neon
                } else {
                    VectorLevel::Portable
                }
        }
    }

    /// The widest level this machine supports.
    pub fn host_level() -> VectorLevel {
        [VectorLevel::Avx512, VectorLevel::Avx2, VectorLevel::Neon]
            .into_iter()
            .find(|&level| Self::host_supports(level))
            .unwrap_or(VectorLevel::Portable)
    }

    /// The machine this process runs on: its exact CPU and features where LLVM is linked, else the generic CPU of its
    /// level.
    pub fn host() -> Self {
        #[cfg(feature = "llvm")]
        {
            use inkwell::targets::TargetMachine;
            Self {
                triple: None,
                cpu: TargetMachine::get_host_cpu_name().to_string(),
                features: TargetMachine::get_host_cpu_features().to_string(),
                vectors: Self::host_level(),
            }
        }
        #[cfg(not(feature = "llvm"))]
        Self::generic(Self::host_level())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_named_once_and_for_this_architecture() {
        let names = |text: &str| -> Result<Vec<&str>, String> {
            Ok(Target::of_vectors(text)?.iter().map(|target| target.vectors.name()).collect())
        };
        assert_eq!(names("host").unwrap(), [Target::host_level().name()]);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(names("all").unwrap(), ["portable", "avx2", "avx512"]);
            assert_eq!(names("avx512,portable").unwrap(), ["avx512", "portable"]);
            assert_eq!(names("avx2,avx2").unwrap_err(), "'avx2' stands there twice");
            for (text, wrong) in [("neon", "neon"), ("avx2,host", "host"), ("", ""), ("avx", "avx")]
            {
                let expected = format!(
                    "'{wrong}' is no level of x86_64; there are portable, avx2, avx512, and by themselves host and all"
                );
                assert_eq!(names(text).unwrap_err(), expected);
            }
        }
    }
}
