//! Parts of a mesh axis: `"dp:(2)4"` is the part of size 4 of axis "dp" that two more major parts come before.
//!
//! An axis of size 16 is a product such as 2 x 4 x 2, written major to minor; a sub-axis names one factor by its *pre-size* (the
//! product of the factors before it) and its size, in the notation of Shardy (<https://openxla.org/shardy/sharding_representation>).

use std::fmt;

/// A factor of an axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubAxis {
    /// The axis.
    pub axis: String,
    /// Product of the more major factors.
    pub before: u32,
    /// Its own size.
    pub size: u32,
}

impl SubAxis {
    /// Reads `dp:(2)4`; `None` if the name is not of this form.
    pub fn parse(name: &str) -> Option<Self> {
        let (axis, part) = name.split_once(":(")?;
        let (before, size) = part.split_once(')')?;
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n >= 1);
        Some(Self { axis: axis.to_owned(), before: number(before)?, size: number(size)? })
    }

    /// Whether an axis of this size has it: before and size together divide it.
    pub fn fits(&self, axis_size: u32) -> bool {
        self.end().is_some_and(|end| axis_size.is_multiple_of(end))
    }

    /// Whether the two have no part of an axis in common.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        let apart = |first: &Self, second: &Self| {
            first.end().is_some_and(|end| second.before.is_multiple_of(end))
        };
        self.axis != other.axis || apart(self, other) || apart(other, self)
    }

    /// The pre-size of what comes after it.
    fn end(&self) -> Option<u32> {
        self.before.checked_mul(self.size)
    }
}

impl fmt::Display for SubAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:({}){}", self.axis, self.before, self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::SubAxis;

    #[test]
    fn parts_are_apart_if_one_ends_before_the_other_begins() {
        let part = |text: &str| SubAxis::parse(text).expect(text);
        assert!(part("dp:(1)2").is_disjoint(&part("dp:(2)4")));
        assert!(part("dp:(4)2").is_disjoint(&part("dp:(1)2")));
        assert!(part("dp:(1)2").is_disjoint(&part("ep:(1)2")));
        assert!(!part("dp:(1)4").is_disjoint(&part("dp:(2)4")));
        assert!(!part("dp:(2)2").is_disjoint(&part("dp:(3)2")));
        assert!(part("dp:(2)4").fits(8) && part("dp:(2)4").fits(16) && !part("dp:(2)4").fits(12));
        assert_eq!(part("dp:(2)4").to_string(), "dp:(2)4");
        for wrong in ["dp", "dp:2", "dp:(2)", "dp:(0)2", "dp:(2)x", ":(", "dp:(2)0"] {
            assert!(SubAxis::parse(wrong).is_none(), "{wrong}");
        }
        assert!(!part("dp:(65536)65536").fits(8));
    }
}
