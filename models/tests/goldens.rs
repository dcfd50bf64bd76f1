//! Small models in full, as they are written: `PIPER_BLESS=1 cargo test -p piper-models` writes them anew. That they can be
//! planned is a lit test (`test/lit/models`).

use std::fs;
use std::path::Path;

use piper_models::{Run, Schedule, find, text};

fn small(name: &str, layers: u64, run: Run) -> (String, String) {
    let model = find(name).expect("a model of the crate").with_layers(layers);
    (format!("{name}.pir"), text(&model, &run).expect("a layout that fits"))
}

fn all() -> Vec<(String, String)> {
    let base = Run { pp: 2, dp: 2, microbatches: 4, ..Run::default() };
    let pipeline = |name: &str| Schedule::Pipeline(name.to_owned());
    vec![
        small("deepseek-v3", 4, Run { ep: 2, schedule: Schedule::DualPipe, ..base.clone() }),
        small(
            "llama3-405b",
            6,
            Run { v: 2, tp: 2, zero: 0, schedule: pipeline("interleaved-1f1b"), ..base.clone() },
        ),
        small("mixtral-8x7b", 2, Run { ep: 2, ..base.clone() }),
        small("gpt3-175b", 2, Run { schedule: pipeline("zb-h1"), ..base.clone() }),
        small("qwen3-30b-a3b", 2, Run { ep: 4, dp: 1, schedule: pipeline("gpipe"), ..base }),
    ]
}

#[test]
fn models_are_written_so() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens");
    for (file, text) in all() {
        let path = folder.join(&file);
        if std::env::var_os("PIPER_BLESS").is_some() {
            fs::write(&path, &text).expect("the folder is there");
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        assert!(golden == text, "{file} differs; see it with PIPER_BLESS=1 and git diff");
    }
}

#[test]
fn layouts_that_do_not_fit_are_refused() {
    let refused = |name: &str, run: Run| text(find(name).expect("there"), &run).unwrap_err();
    let base = Run::default;
    assert_eq!(
        refused("llama3-8b", Run { ep: 2, ..base() }),
        "llama3-8b has no experts: ep must be 1"
    );
    assert_eq!(
        refused("deepseek-v3", Run { ep: 7, ..base() }),
        "ep = 7 does not divide 256 experts"
    );
    assert_eq!(
        refused("deepseek-v3", Run { tp: 2, ..base() }),
        "tp is for models without experts; divide those by ep"
    );
    assert_eq!(refused("llama3-8b", Run { dp: 0, ..base() }), "dp must be at least 1");
    assert_eq!(
        refused("deepseek-v3", Run { overlap: true, ..base() }),
        "overlap hides exchanges between experts, and with ep = 1 there are none"
    );
    assert_eq!(
        refused("llama3-8b", Run { pp: 35, ..base() }),
        "35 stages, but only 32 layers, the embedding and the head"
    );
}
