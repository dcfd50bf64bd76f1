//! What ZeRO shards and when it communicates: the options that `zero` and `replicate` share.
//!
//! The same words are attributes of the directives and options of the passes, so both are read and checked here.

use piper_ir::{Attr, Module, Op};

use super::bucket_bytes;

/// Bytes of a communication bucket where none is written.
const DEFAULT_BUCKET: u64 = 25 << 20;

/// When gradients of microbatches are summed over the copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// After each microbatch: only shards are accumulated (ZeRO-2 proper), at as many times the traffic as there are microbatches.
    Each,
    /// Once, after the last microbatch: whole gradients are accumulated.
    Last,
}

/// How long gathered parameters are kept (stage 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gather {
    /// For one pass (forward or backward) of one microbatch: freed after the forward, gathered again for the backward.
    Microbatch,
    /// From the first use to the last one of the step.
    Keep,
    /// At most so many buckets at a time on a device: one is freed when that many others are used before its next use.
    Live(u32),
}

/// What `strategy.zero` and `strategy.replicate` say beside the axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharding {
    /// 0: nothing is sharded; 1: optimizer state; 2: gradients too; 3: parameters too.
    pub stage: u32,
    /// The most bytes of a flat bucket, if written.
    pub bucket_bytes: Option<u64>,
    /// What else a bucket does not reach beyond: `segment`, or a tag (parameters of equal values are together).
    pub group: Option<String>,
    /// How long gathered parameters are kept, if written.
    pub gather: Option<Gather>,
    /// How many uses ahead a gather is issued, if written.
    pub prefetch: Option<u32>,
    /// When gradients are reduced, if written.
    pub reduce: Option<Reduce>,
}

/// The options by name, as they are written. Absent: not given.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Written<'a> {
    pub bucket: Option<&'a str>,
    pub group: Option<&'a str>,
    pub gather: Option<&'a str>,
    pub prefetch: Option<i64>,
    pub reduce: Option<&'a str>,
}

/// Names of the attributes that are options, in the order of the textual form.
pub const OPTIONS: [&str; 5] = ["bucket", "group", "gather", "prefetch", "reduce"];

impl Sharding {
    /// The most bytes of a flat bucket: 25 MiB where neither that nor a group is written, any size in a group.
    pub fn bucket_limit(&self) -> u64 {
        let otherwise = if self.group.is_some() { u64::MAX } else { DEFAULT_BUCKET };
        self.bucket_bytes.unwrap_or(otherwise)
    }

    /// What a stage and options say together.
    ///
    /// # Errors
    /// The message of what makes no sense, and a hint.
    pub fn of(stage: i64, written: Written<'_>) -> Result<Self, (String, Option<String>)> {
        let fail = |message: String, hint: &str| {
            Err((message, (!hint.is_empty()).then(|| hint.to_owned())))
        };
        let Some(stage) = u32::try_from(stage).ok().filter(|stage| *stage <= 3) else {
            return fail(
                format!("the ZeRO stage is 0, 1, 2 or 3, not {stage}"),
                "1 shards the optimizer state, 2 gradients too, 3 parameters too; 0 shards nothing",
            );
        };
        let bucket_bytes = match written.bucket.map(bucket_bytes).transpose() {
            Ok(bytes) => bytes,
            Err(message) => return fail(format!("'bucket': {message}"), ""),
        };
        let gather = match written.gather {
            None => None,
            Some("microbatch") => Some(Gather::Microbatch),
            Some("keep") => Some(Gather::Keep),
            Some(number) => match number.parse::<u32>() {
                Ok(live) if live > 0 => Some(Gather::Live(live)),
                _ => {
                    return fail(
                        format!(
                            "'gather' is \"microbatch\", \"keep\" or how many buckets are kept, not \"{number}\""
                        ),
                        "as in gather = \"2\"",
                    );
                }
            },
        };
        let prefetch = match written.prefetch {
            None => None,
            Some(ahead) => match u32::try_from(ahead).ok().filter(|n| *n <= 1 << 16) {
                Some(ahead) => Some(ahead),
                None => {
                    return fail(
                        format!(
                            "'prefetch' is the number of uses that a gather is ahead, 0 or more, not {ahead}"
                        ),
                        "",
                    );
                }
            },
        };
        let reduce = match written.reduce {
            None => None,
            Some("each") => Some(Reduce::Each),
            Some("last") => Some(Reduce::Last),
            Some(other) => {
                return fail(
                    format!("'reduce' is \"each\" (microbatch) or \"last\", not \"{other}\""),
                    "",
                );
            }
        };
        if written.group.is_some_and(str::is_empty) {
            return fail(
                "'group' names what a bucket belongs to".to_owned(),
                "\"segment\", or a tag of the model's operations",
            );
        }
        let needs = |option: &str, least: u32, why: &str| {
            let message = format!("'{option}' makes no sense at stage {stage}: {why}");
            (message, Some(format!("take stage = {least}, or leave '{option}' out")))
        };
        if stage == 0 {
            for (option, given) in [("bucket", written.bucket), ("group", written.group)] {
                if given.is_some() {
                    return Err(needs(option, 1, "without shards there are no buckets"));
                }
            }
        }
        if stage < 2 && reduce.is_some() {
            return Err(needs("reduce", 2, "whole gradients are kept and reduced once"));
        }
        if stage < 3 && gather.is_some() {
            return Err(needs("gather", 3, "every device has the whole parameters"));
        }
        if stage < 3 && prefetch.is_some() {
            return Err(needs(
                "prefetch",
                3,
                "there is nothing to gather before the optimizer's step",
            ));
        }
        if let (Some(Gather::Live(live)), Some(ahead)) = (gather, prefetch)
            && ahead >= live
        {
            return fail(
                format!(
                    "'prefetch' = {ahead} needs {} buckets at a time, but 'gather' keeps {live}",
                    ahead + 1
                ),
                &format!("gather = \"{}\", or prefetch = {}", ahead + 1, live - 1),
            );
        }
        Ok(Self {
            stage,
            bucket_bytes,
            group: written.group.map(str::to_owned),
            gather,
            prefetch,
            reduce,
        })
    }

    /// What a directive's attributes say; `stage` is the attribute with the ZeRO stage.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn read(
        module: &Module,
        op: Op,
        stage: Option<Attr>,
    ) -> Result<Self, (String, Option<String>)> {
        let ctx = module.ctx();
        let attr = |name: &str| module.attr_by(op, name);
        let text = |name: &str| attr(name).and_then(|a| a.as_str(ctx));
        let number = attr("gather").and_then(|a| a.as_int(ctx)).map(|n| n.to_string());
        let stage = stage.map_or(0, |a| a.as_int(ctx).unwrap_or(-1));
        Self::of(
            stage,
            Written {
                bucket: text("bucket"),
                group: text("group"),
                gather: text("gather").or(number.as_deref()),
                prefetch: attr("prefetch").map(|a| a.as_int(ctx).unwrap_or(-1)),
                reduce: text("reduce"),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Written<'static> {
        Written::default()
    }

    #[test]
    fn options_belong_to_stages() {
        for (stage, options) in [
            (0, Written { bucket: Some("1MiB"), ..written() }),
            (0, Written { group: Some("segment"), ..written() }),
            (1, Written { reduce: Some("each"), ..written() }),
            (2, Written { gather: Some("keep"), ..written() }),
            (2, Written { prefetch: Some(1), ..written() }),
            (3, Written { gather: Some("2"), prefetch: Some(2), ..written() }),
            (3, Written { gather: Some("0"), ..written() }),
            (4, written()),
        ] {
            assert!(Sharding::of(stage, options).is_err(), "stage {stage} with {options:?}");
        }
        let all = Written {
            bucket: Some("1MiB"),
            group: Some("LAYER"),
            gather: Some("3"),
            prefetch: Some(2),
            reduce: Some("each"),
        };
        let sharding = Sharding::of(3, all).expect("makes sense");
        assert_eq!(sharding.gather, Some(Gather::Live(3)));
        assert_eq!(sharding.bucket_limit(), 1 << 20);
    }

    #[test]
    fn a_group_has_no_size_unless_one_is_written() {
        let sharding = |options| Sharding::of(1, options).expect("makes sense");
        assert_eq!(sharding(written()).bucket_limit(), 25 << 20);
        assert_eq!(
            sharding(Written { group: Some("segment"), ..written() }).bucket_limit(),
            u64::MAX
        );
    }
}
