//! Figures as Markdown: to be read in a terminal, and to be kept in docs/benchmarks.md.

use std::fmt::Write;

use super::comparison::{Figure, Round};

/// A ratio that is to be reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) figure: Figure,
    /// mlir-opt's figure over ours, at least.
    pub(crate) ratio: f64,
}

/// What the goals came to.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Verdicts {
    pub(crate) met: usize,
    pub(crate) missed: usize,
}

/// Least, middle and greatest.
pub(crate) fn spread(mut numbers: Vec<f64>) -> Option<[f64; 3]> {
    numbers.sort_by(f64::total_cmp);
    let (least, most) = (*numbers.first()?, *numbers.last()?);
    // Of an even count the mean of the two in the middle, which favours nobody.
    let (low, high) = (numbers[(numbers.len() - 1) / 2], numbers[numbers.len() / 2]);
    Some([least, low.midpoint(high), most])
}

/// The table of a case: medians of both sides, and the ratio of the two runs of a turn, its median and its spread.
pub(crate) fn table(
    figures: &[Figure],
    rounds: &[Round],
    goals: &[Goal],
    verdicts: &mut Verdicts,
) -> String {
    let mut out = String::from(
        "| figure | piper-opt | mlir-opt | ratio | least to most | goal |\n|---|---:|---:|---:|---:|---|\n",
    );
    for &figure in figures {
        let ours: Vec<f64> = rounds.iter().map(|round| figure.ours(round)).collect();
        let theirs: Vec<f64> = rounds.iter().filter_map(|round| figure.theirs(round)).collect();
        let ratios = ours.iter().zip(&theirs).filter(|(ours, _)| **ours > 0.0).map(|(a, b)| b / a);
        let ratio = spread(ratios.collect());
        let goal = goals.iter().find(|goal| goal.figure == figure);
        let goal = match (goal, ratio) {
            (Some(goal), Some([_, median, _])) => {
                let is_met = median >= goal.ratio;
                *(if is_met { &mut verdicts.met } else { &mut verdicts.missed }) += 1;
                format!("{}: {}", goal.ratio, if is_met { "met" } else { "**missed**" })
            }
            _ => String::new(),
        };
        let shown =
            |values: Vec<f64>| spread(values).map_or(String::new(), |[_, m, _]| amount(figure, m));
        let (middle, range) = match ratio {
            Some([least, median, most]) => {
                (format!("{median:.1}"), format!("{least:.1} to {most:.1}"))
            }
            None => Default::default(),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {middle} | {range} | {goal} |",
            figure.name(),
            shown(ours),
            shown(theirs)
        );
    }
    out
}

fn amount(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Memory => format!("{:.0} MiB", value / f64::from(1 << 20)),
        _ if value < 0.01 => format!("{:.2} ms", value * 1e3),
        _ => format!("{:.0} ms", value * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn a_spread_has_its_middle() {
        assert_eq!(spread(vec![3.0, 1.0, 2.0]), Some([1.0, 2.0, 3.0]));
        assert_eq!(spread(vec![3.0, 1.0]), Some([1.0, 2.0, 3.0]));
        assert_eq!(spread(vec![4.0]), Some([4.0; 3]));
        assert_eq!(spread(Vec::new()), None);
    }
}
