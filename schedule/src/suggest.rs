//! "Did you mean": the known name nearest to a misspelt one.

/// The candidate closest to `word`, if close enough that a slip of the fingers explains the difference.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_lowercase()), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().max(2) / 3 + 1)
        .map(|(_, candidate)| candidate)
}
