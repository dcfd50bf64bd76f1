//! Registers that the machine sets.

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// `%tid`, by direction.
    Thread(u8),
    /// `%ntid`.
    Threads(u8),
    /// `%ctaid`.
    Block(u8),
    /// `%nctaid`.
    Blocks(u8),
    Lane,
    Warp,
    Warps,
    LaneMaskEq,
    LaneMaskLt,
    LaneMaskLe,
    LaneMaskGt,
    LaneMaskGe,
    /// A clock: instructions that the block has issued.
    Clock,
    /// `%dynamic_smem_size`.
    DynamicShared,
    /// `%total_smem_size`.
    TotalShared,
    /// `%smid`, `%gridid` and what else is zero on a machine with one processor.
    Zero,
    /// `WARP_SZ`.
    WarpSize,
}

impl Special {
    /// The register that `name` stands for.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        if let Some((base, direction)) = name.rsplit_once('.') {
            let direction = ["x", "y", "z"].iter().position(|d| *d == direction)? as u8;
            return Some(match base {
                "%tid" => Self::Thread(direction),
                "%ntid" => Self::Threads(direction),
                "%ctaid" => Self::Block(direction),
                "%nctaid" => Self::Blocks(direction),
                _ => return None,
            });
        }
        Some(match name {
            "%laneid" => Self::Lane,
            "%warpid" => Self::Warp,
            "%nwarpid" => Self::Warps,
            "%lanemask_eq" => Self::LaneMaskEq,
            "%lanemask_lt" => Self::LaneMaskLt,
            "%lanemask_le" => Self::LaneMaskLe,
            "%lanemask_gt" => Self::LaneMaskGt,
            "%lanemask_ge" => Self::LaneMaskGe,
            "%clock" | "%clock64" | "%globaltimer" => Self::Clock,
            "%dynamic_smem_size" => Self::DynamicShared,
            "%total_smem_size" => Self::TotalShared,
            "%smid" | "%gridid" => Self::Zero,
            "WARP_SZ" => Self::WarpSize,
            _ => return None,
        })
    }
}
