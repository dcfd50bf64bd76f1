//! The page shows the code of this example, not other code.

const PAGE: &str = include_str!("../../../docs/embed-rust.md");
const SOURCES: [&str; 4] = [
    include_str!("../src/lib.rs"),
    include_str!("../src/main.rs"),
    include_str!("../src/model.rs"),
    include_str!("../src/pass.rs"),
];

/// Without what indentation and line ends add.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_block_of_the_page_stands_in_the_example() {
    let blocks: Vec<&str> =
        PAGE.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 5, "the page shows {} blocks", blocks.len());
    for block in blocks {
        let is_there = SOURCES.iter().any(|source| words(source).contains(&words(block)));
        assert!(is_there, "not in the example:\n{block}");
    }
}
