//! The example does what its page says.

#[test]
fn a_model_built_in_code_is_compiled_and_learns() {
    let outcome = embed::run(30).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(outcome.text.contains("strategy.pipeline over \"pp\""), "{}", outcome.text);
    assert_eq!(outcome.remarks.len(), 1);
    assert_eq!(outcome.remarks[0].text, "the widest layer has 8192 weights");
    assert_eq!(outcome.memory.len(), 4);
    let names: Vec<&str> = outcome.gradients.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["grad.table", "grad.hidden.w", "grad.head"]);
    assert!(outcome.gradients.iter().all(|(_, largest)| *largest > 0.0 && largest.is_finite()));
    let (first, last) = (outcome.losses[0], outcome.losses[29]);
    assert!((first - 64f64.ln()).abs() < 0.1, "before training nothing is known: {first}");
    assert!(last < 0.5 * first, "{first} -> {last}");
}
