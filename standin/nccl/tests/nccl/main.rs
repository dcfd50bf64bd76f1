//! Ranks in threads and in processes of their own. Each test starts processes that find the stand-in libraries by name.
#![allow(unsafe_code)]

mod collectives;
mod faults;
mod libraries;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};

/// Starts one ignored test of this program with `variables`.
pub(crate) fn start(test: &str, variables: &[(&str, &str)]) -> Child {
    let program = std::env::current_exe().expect("a path of this test");
    piper_standin::command(program)
        .expect("the libraries are built")
        .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the test starts")
}

/// Runs it to its end; it has to succeed.
pub(crate) fn run(test: &str, variables: &[(&str, &str)]) -> Output {
    finish(start(test, variables))
}

fn finish(child: Child) -> Output {
    let output = child.wait_with_output().expect("the test ends");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stdout));
    output
}

#[test]
fn four_ranks_in_threads() {
    run("threads", &[("PIPER_STANDIN_DEVICES", "4")]);
}

#[test]
fn four_ranks_in_threads_in_other_orders() {
    for seed in ["1", "2"] {
        run("threads", &[("PIPER_STANDIN_DEVICES", "4"), ("PIPER_STANDIN_SEED", seed)]);
    }
}

#[test]
#[ignore = "needs the libraries by name: run by the test above"]
fn threads() {
    collectives::on_threads(4);
}

#[test]
fn four_ranks_of_one_thread() {
    run("one_thread", &[("PIPER_STANDIN_DEVICES", "4")]);
}

#[test]
#[ignore = "needs the libraries by name: run by the test above"]
fn one_thread() {
    collectives::on_one_thread(4);
}

#[test]
fn five_ranks_in_three_processes() {
    let place = format!("piper-standin-id-{}", std::process::id());
    let file = std::env::temp_dir().join(place);
    let name = file.to_string_lossy().into_owned();
    let of = |ranks: &str| {
        let variables = [
            ("PIPER_STANDIN_DEVICES", "2"),
            ("TEST_ID_FILE", name.as_str()),
            ("TEST_RANKS", ranks),
        ];
        start("process", &variables)
    };
    let children = [of("0,1"), of("2"), of("3,4")];
    children.into_iter().for_each(|child| drop(finish(child)));
    let _ = std::fs::remove_file(file);
}

#[test]
#[ignore = "one process of several: run by the test above"]
fn process() {
    let file = PathBuf::from(std::env::var("TEST_ID_FILE").expect("a file for the id"));
    let ranks = std::env::var("TEST_RANKS").expect("ranks");
    let ranks: Vec<usize> = ranks.split(',').map(|r| r.parse().expect("a rank")).collect();
    let id = if ranks.contains(&0) {
        let id = libraries::unique_id();
        let fresh = file.with_extension("new");
        let mut to = std::fs::File::create(&fresh).expect("a file for the id");
        to.write_all(&id.0).expect("the id is written");
        std::fs::rename(&fresh, &file).expect("the id is in place");
        id
    } else {
        loop {
            if let Ok(bytes) = std::fs::read(&file) {
                break libraries::UniqueId(bytes.try_into().expect("128 bytes"));
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    std::thread::scope(|scope| {
        for (device, rank) in ranks.iter().enumerate() {
            scope.spawn(move || collectives::everything(id, *rank, 5, device));
        }
    });
}
