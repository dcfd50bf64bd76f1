//! `canonicalize`: every operation in the form others expect.
//!
//! Folds what is known, keeps one copy of each constant at the head of its function, applies the patterns that operations
//! give for it, erases what nobody needs, and tidies blocks, over and over until nothing changes.
//!
//! ```mlir
//! // before
//! func.func @f(%x: i32) -> i32 {
//!   %c2 = arith.constant 2 : i32
//!   %c3 = arith.constant 3 : i32
//!   %a = arith.addi %c2, %x : i32
//!   %b = arith.addi %a, %c3 : i32
//!   func.return %b : i32
//! }
//! // after
//! func.func @f(%x: i32) -> i32 {
//!   %c5_i32 = arith.constant 5 : i32
//!   %0 = arith.addi %x, %c5_i32 : i32
//!   func.return %0 : i32
//! }
//! ```

use std::sync::{Arc, Mutex};

use piper_ir::Context;
use piper_ir::pass::{OptionDef, PassContext, PassFailed, PassInfo, PassOptions, PassResult};
use piper_ir::rewrite::{
    FrozenPatterns, Limits, Outcome, PatternSet, RegionSimplification, SimplifyOptions, simplify,
};

/// The pass.
pub fn passes() -> Vec<PassInfo> {
    let option = |name, summary, default| OptionDef::new(name, summary, Some(default));
    let options = vec![
        option("top-down", "Look at operations from the top down", "true"),
        option("region-simplify", "disabled, normal or aggressive", "normal"),
        option("max-iterations", "Rounds over the whole; -1 for no limit", "10"),
        option("max-num-rewrites", "Patterns that may fire; -1 for no limit", "-1"),
        option("test-convergence", "Fail if a limit ends the run", "false"),
        option("disable-patterns", "Names of patterns to leave out, with commas", ""),
        option("enable-patterns", "Names of the only patterns to use, with commas", ""),
    ];
    let info = PassInfo::with_options(
        "canonicalize",
        "Fold, simplify and erase until nothing changes",
        options,
        |options| {
            let settings = Settings::read(options)?;
            let cache = PatternCache::default();
            Ok(move |cx: &mut PassContext<'_, '_>| settings.run(cx, &cache))
        },
    );
    vec![
        info.describe(
            "Applies folds and canonicalization patterns greedily. Works on any operation and what is inside it; the operation \
             itself stays. A run that a limit ends is reported with the pattern that still fires: a warning, or an error under \
             `test-convergence`.",
        )
        .anchored(None),
    ]
}

/// The patterns made ready for the context that they were last used with.
#[derive(Default)]
struct PatternCache(Mutex<Option<(Arc<Context>, Arc<FrozenPatterns>)>>);

impl PatternCache {
    fn get(&self, ctx: Arc<Context>, settings: &Settings) -> Arc<FrozenPatterns> {
        let mut cached = self.0.lock().expect("no pass panics while it looks up patterns");
        if let Some((known, patterns)) = &*cached
            && Arc::ptr_eq(known, &ctx)
        {
            return Arc::clone(patterns);
        }
        let mut set = PatternSet::canonicalization(&ctx);
        set.retain(|name| settings.uses(name));
        let patterns = Arc::new(set.freeze(&ctx));
        *cached = Some((ctx, Arc::clone(&patterns)));
        patterns
    }
}

struct Settings {
    simplify: SimplifyOptions,
    must_converge: bool,
    disabled: Vec<String>,
    enabled: Vec<String>,
}

impl Settings {
    fn read(options: &PassOptions) -> Result<Self, String> {
        let regions = match options.text("region-simplify").unwrap_or_default() {
            "disabled" => RegionSimplification::Disabled,
            "normal" => RegionSimplification::Normal,
            "aggressive" => RegionSimplification::Aggressive,
            other => {
                return Err(format!(
                    "option 'region-simplify' of pass 'canonicalize' takes disabled, normal or aggressive, not '{other}'"
                ));
            }
        };
        let limit = |name| Ok::<_, String>(options.get::<i64>(name)?.unwrap_or(-1));
        let names = |name| {
            let text = options.text(name).unwrap_or_default();
            text.split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect()
        };
        Ok(Self {
            simplify: SimplifyOptions {
                top_down: options.get("top-down")?.unwrap_or(true),
                regions,
                fold: true,
                limits: Limits {
                    iterations: u32::try_from(limit("max-iterations")?).ok(),
                    rewrites: u64::try_from(limit("max-num-rewrites")?).ok(),
                },
            },
            must_converge: options.get("test-convergence")?.unwrap_or(false),
            disabled: names("disable-patterns"),
            enabled: names("enable-patterns"),
        })
    }

    fn uses(&self, pattern: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| name == pattern);
        (self.enabled.is_empty() || is_named(&self.enabled)) && !is_named(&self.disabled)
    }

    fn run(&self, cx: &mut PassContext<'_, '_>, cache: &PatternCache) -> PassResult {
        let patterns = cache.get(cx.module.ctx_arc(), self);
        let outcome = simplify(cx.module, cx.op, &patterns, self.simplify);
        cx.count("num-folded", outcome.folds);
        cx.count("num-rewrites", outcome.rewrites);
        cx.count("num-erased", outcome.erased);
        match outcome.stuck {
            Some(_) => self.report(cx, &outcome),
            None => Ok(()),
        }
    }

    fn report(&self, cx: &mut PassContext<'_, '_>, outcome: &Outcome) -> PassResult {
        let Some(stuck) = &outcome.stuck else { return Ok(()) };
        let who = match &stuck.pattern {
            Some(name) => {
                format!("pattern '{name}' fired {} time(s) in the last round", stuck.times)
            }
            None => "operations still folded in the last round".to_owned(),
        };
        let rounds = outcome.iterations;
        let message = format!("canonicalize did not come to an end in {rounds} round(s): {who}");
        if self.must_converge {
            cx.reporter.error(stuck.loc, message).hint(
                "a pattern that matches what it made never ends; disable-patterns leaves it out",
            );
            return Err(PassFailed);
        }
        cx.reporter.warning(stuck.loc, message);
        Ok(())
    }
}
