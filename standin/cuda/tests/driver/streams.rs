//! Streams, events, errors that stay. What depends on the environment, or breaks a device, runs in a process of its own.

use std::ffi::c_void;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::SAXPY;
use crate::library::{alloc, context, cu, download, event, kernel, launch, ok, stream, upload};

/// Runs one ignored test in a process with `variables`.
pub(crate) fn alone(test: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(std::env::current_exe().expect("a path of this test"))
        .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .envs(variables.iter().copied())
        .output()
        .expect("the test starts")
}

#[test]
fn streams_are_ordered_by_events() {
    context(0);
    let saxpy = kernel(SAXPY, "saxpy");
    let (a, b) = (stream(), stream());
    let (x, y) = (upload(&[1.0_f32; 64]), upload(&[0.0_f32; 64]));
    let done = event();
    let mut two = [2.0_f32; 64];
    let from = two.as_ptr().cast();
    ok!(cuMemcpyHtoDAsync_v2(x => u64, from => *const c_void, 256 => usize, a => usize));
    // Ordinary memory of the host was read at the call.
    two.fill(9.0);
    ok!(cuEventRecord(done => usize, a => usize));
    ok!(cuStreamWaitEvent(b => usize, done => usize, 0 => u32));
    assert_eq!(launch(saxpy, 1, 64, b, &[u64::from(1.0_f32.to_bits()), x, y, 64]), 0);
    ok!(cuStreamSynchronize(b => usize));
    assert_eq!(download::<f32>(y, 64), [2.0; 64]);
    ok!(cuEventQuery(done => usize));
}

#[test]
fn a_wait_that_is_left_out_is_noticed() {
    let of = |wait: &str| alone("streams::one_wait", &[("PIPER_STANDIN_DROP_WAIT", wait)]);
    let output = of("0");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        text.contains("kernel saxpy (number 1 of stream 1) reads what copy to the device"),
        "{text}"
    );
    assert!(of("1").status.success());
}

#[test]
#[ignore = "run by the test above, with and without its wait"]
fn one_wait() {
    streams_are_ordered_by_events();
}

#[test]
fn work_is_shown_as_it_is_done() {
    let output = alone("streams::one_wait", &[("PIPER_STANDIN_LOG", "2")]);
    let text = String::from_utf8_lossy(&output.stderr);
    let work = text.lines().filter(|line| line.starts_with("standin: device 0, stream "));
    let names: Vec<&str> = work.filter_map(|line| line.split(": ").nth(2)).collect();
    let copy = "copy to the device";
    assert_eq!(names, [copy, copy, copy, "kernel saxpy", "copy to the host"], "{text}");
}

#[test]
fn functions_of_the_host_run_in_order_and_may_not_call_the_driver() {
    unsafe extern "C" fn note(data: *mut c_void) {
        // SAFETY: the test gives a counter that outlives the call.
        let seen = unsafe { &*data.cast::<AtomicUsize>() };
        let mut bytes = (0_usize, 0_usize);
        let code = cu!(cuMemGetInfo_v2(&mut bytes.0 => *mut usize, &mut bytes.1 => *mut usize));
        seen.store(code as usize, Ordering::SeqCst);
    }
    context(0);
    let seen = AtomicUsize::new(0);
    let stream = stream();
    let data = (&raw const seen).cast_mut().cast();
    ok!(cuLaunchHostFunc(
        stream => usize, note => unsafe extern "C" fn(*mut c_void), data => *mut c_void
    ));
    ok!(cuStreamSynchronize(stream => usize));
    assert_eq!(seen.load(Ordering::SeqCst), 800);
}

#[test]
fn the_default_stream_waits_for_others_and_they_for_it() {
    for seed in 0..6 {
        let seed = seed.to_string();
        let output = alone("streams::default_rule", &[("PIPER_STANDIN_SEED", &seed)]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // A stream that has nothing to do with it does not wait, and that is a race.
    let output = alone("streams::default_rule", &[("TEST_STREAM_FLAGS", "1")]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(text.contains("nothing orders them"), "{text}");
}

#[test]
#[ignore = "run by the test above, in several orders"]
fn default_rule() {
    context(0);
    let flags = std::env::var("TEST_STREAM_FLAGS").map_or(0, |f| f.parse().expect("a number"));
    let mut stream = 0_usize;
    ok!(cuStreamCreate(&mut stream => *mut usize, flags => u32));
    let (word, copy) = (alloc(4), alloc(4));
    ok!(cuMemsetD32Async(word => u64, 1 => u32, 1 => usize, 0 => usize));
    ok!(cuMemsetD32Async(word => u64, 2 => u32, 1 => usize, stream => usize));
    ok!(cuMemcpyDtoDAsync_v2(copy => u64, word => u64, 4 => usize, 0 => usize));
    assert_eq!(download::<u32>(copy, 1), [2]);
}

#[test]
fn pinned_memory_is_used_when_the_stream_gets_there() {
    unsafe extern "C" fn wait(data: *mut c_void) {
        // SAFETY: the test gives a flag that outlives the call.
        let is_free = unsafe { &*data.cast::<AtomicUsize>() };
        while is_free.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
    }
    // Its own device, which this test holds up.
    context(1);
    let stream = stream();
    let is_free = AtomicUsize::new(0);
    let word = alloc(4);
    let mut pinned = std::ptr::null_mut::<u32>();
    ok!(cuMemHostAlloc(&mut pinned => *mut *mut u32, 8 => usize, 0 => u32));
    // SAFETY: the memory has eight bytes, and the device does not use it yet.
    unsafe { pinned.write(1) };
    let flag = (&raw const is_free).cast_mut().cast();
    ok!(cuLaunchHostFunc(
        stream => usize, wait => unsafe extern "C" fn(*mut c_void), flag => *mut c_void
    ));
    ok!(cuMemcpyHtoDAsync_v2(word => u64, pinned => *mut u32, 4 => usize, stream => usize));
    let second = pinned.wrapping_add(1);
    ok!(cuMemcpyDtoHAsync_v2(second => *mut u32, word => u64, 4 => usize, stream => usize));
    assert_eq!(cu!(cuStreamQuery(stream => usize)), 600);
    // SAFETY: the device waits for the flag, so it does not read yet.
    unsafe { pinned.write(7) };
    is_free.store(1, Ordering::SeqCst);
    ok!(cuStreamSynchronize(stream => usize));
    // SAFETY: the copies are done.
    assert_eq!(unsafe { second.read() }, 7);
    ok!(cuMemFreeHost(pinned => *mut u32));
    assert_eq!(cu!(cuMemFreeHost(pinned => *mut u32)), 1);
}

#[test]
fn a_wait_is_for_the_record_before_it() {
    context(0);
    let (a, b) = (stream(), stream());
    let mark = event();
    // Never recorded: no reason to wait, and nothing to time.
    ok!(cuStreamWaitEvent(b => usize, mark => usize, 0 => u32));
    let mut time = 0.0;
    assert_eq!(cu!(cuEventElapsedTime(&mut time => *mut f32, mark => usize, mark => usize)), 400);
    ok!(cuEventRecord(mark => usize, a => usize));
    ok!(cuStreamWaitEvent(b => usize, mark => usize, 0 => u32));
    ok!(cuEventDestroy_v2(mark => usize));
    assert_eq!(cu!(cuStreamWaitEvent(b => usize, mark => usize, 0 => u32)), 400);
    ok!(cuStreamSynchronize(b => usize));
}

#[test]
fn memory_comes_and_goes_with_a_stream() {
    context(0);
    let stream = stream();
    let mut address = 0;
    ok!(cuMemAllocAsync(&mut address => *mut u64, 64 => usize, stream => usize));
    ok!(cuMemsetD8Async(address => u64, 1 => u8, 64 => usize, stream => usize));
    ok!(cuMemFreeAsync(address => u64, stream => usize));
    ok!(cuStreamSynchronize(stream => usize));
    assert_eq!(cu!(cuMemsetD8_v2(address => u64, 1 => u8, 64 => usize)), 1);
}

#[test]
fn time_passes_between_events() {
    context(0);
    let (start, end) = (event(), event());
    ok!(cuEventRecord(start => usize, 0 => usize));
    ok!(cuEventRecord(end => usize, 0 => usize));
    ok!(cuEventSynchronize(end => usize));
    let mut time = -1.0;
    ok!(cuEventElapsedTime(&mut time => *mut f32, start => usize, end => usize));
    assert!(time >= 0.0);
}

#[test]
fn events_order_two_devices() {
    let second = context(1);
    let on_second = stream();
    let target = alloc(4);
    let first = context(0);
    let on_first = stream();
    let source = upload(&[5_u32]);
    let done = event();
    ok!(cuMemsetD32Async(source => u64, 6 => u32, 1 => usize, on_first => usize));
    ok!(cuEventRecord(done => usize, on_first => usize));
    ok!(cuCtxSetCurrent(second => usize));
    ok!(cuStreamWaitEvent(on_second => usize, done => usize, 0 => u32));
    ok!(cuMemcpyPeerAsync(
        target => u64, second => usize, source => u64, first => usize, 4 => usize, on_second => usize
    ));
    ok!(cuStreamSynchronize(on_second => usize));
    assert_eq!(download::<u32>(target, 1), [6]);
}

#[test]
fn a_kernel_out_of_bounds_is_an_error_that_stays() {
    let output = alone("streams::out_of_bounds", &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("standin: device 0: kernel saxpy: kernel saxpy, line 37: 4 bytes at"),
        "{text}"
    );
}

#[test]
#[ignore = "breaks its device: run by the test above in a process of its own"]
fn out_of_bounds() {
    context(0);
    let saxpy = kernel(SAXPY, "saxpy");
    let (x, y) = (upload(&[1.0_f32; 63]), upload(&[0.0_f32; 64]));
    assert_eq!(launch(saxpy, 1, 64, 0, &[0, x, y, 64]), 0);
    assert_eq!(cu!(cuCtxSynchronize()), 700);
    assert_eq!(launch(saxpy, 1, 64, 0, &[0, x, y, 64]), 700);
    let mut address = 0;
    assert_eq!(cu!(cuMemAlloc_v2(&mut address => *mut u64, 4 => usize)), 700);
    context(1);
    ok!(cuMemAlloc_v2(&mut address => *mut u64, 4 => usize));
}

#[test]
fn a_missing_wait_is_a_race_that_names_both() {
    let output = alone("streams::without_a_wait", &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    let expected =
        "fill (number 1 of stream 1) writes what fill (number 1 of stream 0) writes, 4 bytes at";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn some_seed_shows_a_missing_wait() {
    let runs = (0..12).map(|seed| {
        let seed = seed.to_string();
        let variables = [("PIPER_STANDIN_SEED", seed.as_str()), ("PIPER_STANDIN_CHECKS", "none")];
        alone("streams::without_a_wait", &variables)
    });
    let outcomes: Vec<bool> = runs.map(|output| output.status.success()).collect();
    assert!(outcomes.contains(&false), "no order was another than that of submission");
    assert!(outcomes.contains(&true), "no order was that of submission");
}

#[test]
#[ignore = "fails on purpose: run by the test above"]
fn without_a_wait() {
    context(0);
    let (a, b) = (stream(), stream());
    let word = alloc(4);
    ok!(cuMemsetD32Async(word => u64, 1 => u32, 1 => usize, a => usize));
    ok!(cuMemsetD32Async(word => u64, 2 => u32, 1 => usize, b => usize));
    ok!(cuCtxSynchronize());
    assert_eq!(download::<u32>(word, 1), [2]);
}
