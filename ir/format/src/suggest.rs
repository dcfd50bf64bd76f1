//! "Did you mean" for names in formats and declarations.

/// The known name that `name` is most likely a slip of, if one is near enough: a third of its letters may differ.
pub fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let limit = (name.chars().count() / 3).max(1);
    let near = known.into_iter().map(|other| (distance(name, other), other));
    near.filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, n)| n)
}

/// Insertions, deletions, replacements and exchanges of neighbours that make `b` of `a` (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let known = ["operands", "results", "attrs"];
        assert_eq!(did_you_mean("operand", known), Some("operands"));
        assert_eq!(did_you_mean("reslut", known), Some("results"));
        assert_eq!(did_you_mean("reslults", known), Some("results"));
        assert_eq!(did_you_mean("symbols", known), None);
        assert_eq!(distance("ab", "ba"), 1);
    }
}
