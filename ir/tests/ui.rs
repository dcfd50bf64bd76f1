//! What the compiler says of declarations that are wrong, word by word. `TRYBUILD=overwrite` blesses.

#[test]
fn wrong_declarations_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}
