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
