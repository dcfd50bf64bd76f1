//! What would hang, or mix up memory, is an error with the names of those who waited.

use crate::libraries::{Rank, UniqueId, call, device, last_error, ok, unique_id};
use crate::run;

const SHORT: (&str, &str) = ("PIPER_STANDIN_TIMEOUT", "1.5");
const TWO: (&str, &str) = ("PIPER_STANDIN_DEVICES", "2");

/// Two ranks, each a thread that does `work`.
fn two(work: impl Fn(Rank) + Send + Sync) {
    let id = unique_id();
    std::thread::scope(|scope| {
        for rank in 0..2 {
            let work = &work;
            scope.spawn(move || work(Rank::join(id, rank, 2, rank)));
        }
    });
}

fn all_reduce(r: &Rank, buffer: u64, count: usize) -> u32 {
    call!(nccl, ncclAllReduce(
        buffer => u64, buffer => u64, count => usize, 7 => u32, 0 => u32, r.communicator => usize,
        r.stream => usize
    ))
}

fn send(r: &Rank, buffer: u64, peer: i32) -> u32 {
    call!(nccl, ncclSend(
        buffer => u64, 1 => usize, 7 => u32, peer => i32, r.communicator => usize, r.stream => usize
    ))
}

fn receive(r: &Rank, buffer: u64, peer: i32) -> u32 {
    call!(nccl, ncclRecv(
        buffer => u64, 1 => usize, 7 => u32, peer => i32, r.communicator => usize, r.stream => usize
    ))
}

#[test]
fn a_rank_that_does_not_come_is_named() {
    run("faults::missing", &[TWO, SHORT]);
}

#[test]
#[ignore = "needs the libraries by name: run by the test above"]
fn missing() {
    two(|r| {
        if r.rank == 1 {
            return;
        }
        let buffer = r.upload(&[1.0_f32; 4]);
        assert_eq!(all_reduce(&r, buffer, 4), 0);
        assert_eq!(r.wait(), 702);
        assert_eq!(r.asynchronous_error(), 6);
        let text = last_error(r.communicator);
        assert!(text.contains("all-reduce of 4 f32 (Sum): waited 1.5 s for rank 1"), "{text}");
        // The next call says so at once.
        assert_eq!(all_reduce(&r, buffer, 4), 6);
    });
}

#[test]
fn counts_that_differ_are_told() {
    run("faults::mismatch", &[TWO]);
}

#[test]
#[ignore = "needs the libraries by name: run by the test above"]
fn mismatch() {
    two(|r| {
        let buffer = r.upload(&[1.0_f32; 4]);
        assert_eq!(all_reduce(&r, buffer, 3 + r.rank), 0);
        assert_eq!(r.wait(), 702);
        assert_eq!(r.asynchronous_error(), 5);
        let (own, other) = (3 + r.rank, 4 - r.rank);
        let text = last_error(r.communicator);
        let expected = format!(
            "all-reduce of {own} f32 (Sum): rank {} does something else at this place: all-reduce of {other} f32",
            1 - r.rank
        );
        assert!(text.contains(&expected), "{text}");
    });
}

#[test]
fn sends_that_wait_for_each_other_time_out() {
    run("faults::crossed", &[TWO, SHORT]);
}

#[test]
#[ignore = "needs the libraries by name: run by the test above"]
fn crossed() {
    two(|r| {
        let (a, b) = (r.upload(&[1.0_f32]), r.upload(&[0.0_f32]));
        let peer = 1 - r.rank as i32;
        assert_eq!(send(&r, a, peer), 0);
        assert_eq!(receive(&r, b, peer), 0);
        assert_eq!(r.wait(), 702);
        let text = last_error(r.communicator);
        assert!(text.contains(&format!("send of 1 f32 to rank {peer}: waited")), "{text}");
    });
}

#[test]
fn a_communicator_that_is_given_up_frees_its_device() {
    run("faults::abort", &[TWO]);
}

#[test]
#[ignore = "needs the libraries by name: run by the test above"]
fn abort() {
    two(|r| {
        if r.rank == 1 {
            return;
        }
        let buffer = r.upload(&[1.0_f32]);
        assert_eq!(all_reduce(&r, buffer, 1), 0);
        assert_eq!(call!(cuda, cuStreamQuery(r.stream => usize)), 600);
        ok!(nccl, ncclCommAbort(r.communicator => usize));
        assert_eq!(r.download::<f32>(buffer, 1), [1.0]);
    });
}

#[test]
fn a_rendezvous_names_who_is_missing() {
    run("faults::alone", &[SHORT]);
}

#[test]
#[ignore = "needs the libraries by name: run by the test above"]
fn alone() {
    device(0);
    let id = unique_id();
    let mut communicator = 0_usize;
    let code = call!(nccl, ncclCommInitRank(
        &mut communicator => *mut usize, 3 => i32, id => UniqueId, 1 => i32
    ));
    assert_eq!(code, 6);
    let text = last_error(0);
    assert!(text.contains("rank 1 of 3: of 3 ranks, 0, 2 did not come in time"), "{text}");
}

#[test]
fn what_is_made_in_a_context_needs_one() {
    run("faults::no_context", &[]);
}

#[test]
#[ignore = "needs the libraries by name: run by the test above"]
fn no_context() {
    let id = unique_id();
    let mut made = 0_usize;
    let mut join = || {
        let code = call!(nccl, ncclCommInitRank(
            &mut made => *mut usize, 1 => i32, id => UniqueId, 0 => i32
        ));
        (code, last_error(0))
    };
    let wanted = "ncclCommInitRank: a communicator needs a current context";
    assert_eq!(join(), (1, wanted.to_owned()));
    // Nor is one that was current any good.
    device(0);
    ok!(cuda, cuCtxSetCurrent(0 => usize));
    assert_eq!(join(), (1, wanted.to_owned()));
    let mut address = 0_u64;
    let code = call!(nccl, ncclMemAlloc(&mut address => *mut u64, 64 => usize));
    assert_eq!((code, &*last_error(0)), (1, "ncclMemAlloc: memory needs a current context"));
}

#[test]
fn wrong_arguments_are_refused() {
    run("faults::arguments", &[TWO]);
}

#[test]
#[ignore = "needs the libraries by name: run by the test above"]
fn arguments() {
    two(|r| {
        let buffer = r.upload(&[1.0_f32]);
        assert_eq!(send(&r, buffer, 2), 4);
        assert!(last_error(0).contains("there is no rank 2"), "{}", last_error(0));
        let on_other = Rank { stream: device(1 - r.rank), ..r };
        assert_eq!(all_reduce(&on_other, buffer, 1), 4);
        let unknown = Rank { communicator: 99, ..r };
        assert_eq!(all_reduce(&unknown, buffer, 1), 4);
        // One launch has one stream.
        ok!(nccl, ncclGroupStart());
        let second = Rank { stream: device(r.rank), ..r };
        assert_eq!((send(&r, buffer, 0), receive(&second, buffer, 0)), (0, 0));
        assert_eq!(call!(nccl, ncclGroupEnd()), 5);
        assert!(last_error(0).contains("a group on two streams"), "{}", last_error(0));
        // A group with a call that failed does nothing.
        ok!(nccl, ncclGroupStart());
        assert_eq!(send(&r, buffer, -1), 4);
        assert_eq!(call!(nccl, ncclGroupEnd()), 4);
        assert_eq!(call!(nccl, ncclGroupEnd()), 5);
    });
}

#[test]
fn limits_of_thread_blocks_are_kept() {
    run("faults::limits", &[]);
}

/// The beginning of `ncclConfig_t`.
#[repr(C)]
struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: i32,
    cluster: i32,
    least: i32,
    most: i32,
    rest: [u64; 8],
}

/// What `NCCL_CONFIG_INITIALIZER` gives.
const DEFAULTS: Config = Config {
    size: size_of::<Config>(),
    magic: 0xcafe_beef,
    version: 23_000,
    blocking: i32::MIN,
    cluster: i32::MIN,
    least: i32::MIN,
    most: i32::MIN,
    rest: [0; 8],
};

#[test]
#[ignore = "needs the libraries by name: run by the test above"]
fn limits() {
    device(0);
    let config = |least: i32, most: i32| Config { least, most, ..DEFAULTS };
    let mut communicator = 0_usize;
    let mut join = |config: &Config| {
        call!(nccl, ncclCommInitRankConfig(
            &mut communicator => *mut usize, 1 => i32, unique_id() => UniqueId, 0 => i32,
            config => *const Config,
        ))
    };
    assert_eq!(join(&config(8, 4)), 4);
    assert_eq!(join(&config(2, i32::MIN)), 0);
    let (mut least, mut most) = (9, 9);
    ok!(nccl, piperStandinCommLimits(
        communicator => usize, &mut least => *mut u32, &mut most => *mut u32
    ));
    assert_eq!((least, most), (2, 0));
}

#[test]
fn joining_need_not_block() {
    run("faults::patient", &[TWO, SHORT]);
}

#[test]
#[ignore = "needs the libraries by name: run by the test above"]
fn patient() {
    let stream = device(0);
    let config = Config { blocking: 0, ..DEFAULTS };
    let join = |id: UniqueId, rank: i32, count: i32| {
        let mut communicator = 0_usize;
        let code = call!(nccl, ncclCommInitRankConfig(
            &mut communicator => *mut usize, count => i32, id => UniqueId, rank => i32,
            &config => *const Config,
        ));
        assert_eq!(code, 7);
        Rank { communicator, stream, rank: rank as usize, count: count as usize }
    };
    let settled = |r: &Rank| loop {
        match r.asynchronous_error() {
            7 => std::thread::yield_now(),
            code => break code,
        }
    };
    // One thread joins as both, which it could not do if it waited.
    let id = unique_id();
    let (a, b) = (join(id, 0, 2), join(id, 1, 2));
    assert_eq!((settled(&a), settled(&b)), (0, 0));
    let alone = join(unique_id(), 1, 2);
    assert_eq!(all_reduce(&alone, alone.upload(&[1.0_f32]), 1), 5);
    assert_eq!(settled(&alone), 6);
    let text = last_error(alone.communicator);
    assert!(text.contains("of 2 ranks, 0 did not come in time"), "{text}");
}
