//! What is captured runs as often as it is launched, in the order that it was captured in.

use std::ffi::c_void;

use crate::SAXPY;
use crate::library::{alloc, context, cu, download, event, kernel, launch, ok, stream, upload};
use crate::streams::alone;

fn begin(stream: usize) {
    ok!(cuStreamBeginCapture_v2(stream => usize, 0 => u32));
}

fn end(stream: usize) -> (u32, usize) {
    let mut graph = 9_usize;
    let code = cu!(cuStreamEndCapture(stream => usize, &mut graph => *mut usize));
    (code, graph)
}

fn ready(graph: usize) -> usize {
    let mut executable = 0_usize;
    ok!(cuGraphInstantiateWithFlags(&mut executable => *mut usize, graph => usize, 0 => u64));
    executable
}

fn wait(stream: usize, on: usize) -> u32 {
    cu!(cuStreamWaitEvent(stream => usize, on => usize, 0 => u32))
}

#[test]
fn a_graph_of_two_streams_is_launched_twice() {
    context(0);
    let saxpy = kernel(SAXPY, "saxpy");
    let (a, b) = (stream(), stream());
    let (x, y) = (upload(&[1.0_f32; 64]), upload(&[0.0_f32; 64]));
    let copy = alloc(256);
    let (fork, join) = (event(), event());
    let one = u64::from(1.0_f32.to_bits());
    begin(a);
    assert_eq!(launch(saxpy, 1, 64, a, &[one, x, y, 64]), 0);
    ok!(cuEventRecord(fork => usize, a => usize));
    assert_eq!(wait(b, fork), 0);
    ok!(cuMemcpyDtoDAsync_v2(copy => u64, y => u64, 256 => usize, b => usize));
    ok!(cuEventRecord(join => usize, b => usize));
    assert_eq!(wait(a, join), 0);
    let mut status = 0;
    ok!(cuStreamIsCapturing(b => usize, &mut status => *mut u32));
    assert_eq!(status, 1);
    let (code, graph) = end(a);
    assert_eq!(code, 0);
    ok!(cuStreamIsCapturing(b => usize, &mut status => *mut u32));
    assert_eq!(status, 0);
    let mut nodes = 0;
    ok!(cuGraphGetNodes(graph => usize, std::ptr::null_mut() => *mut usize, &mut nodes => *mut usize));
    assert_eq!(nodes, 2);
    // Nothing has run so far.
    assert_eq!(download::<f32>(y, 1), [0.0]);
    let executable = ready(graph);
    ok!(cuGraphDestroy(graph => usize));
    for _ in 0..2 {
        ok!(cuGraphLaunch(executable => usize, b => usize));
    }
    ok!(cuStreamSynchronize(b => usize));
    assert_eq!(download::<f32>(y, 64), [2.0; 64]);
    assert_eq!(download::<f32>(copy, 64), [2.0; 64]);
    ok!(cuGraphExecDestroy(executable => usize));
    assert_eq!(cu!(cuGraphLaunch(executable => usize, b => usize)), 400);
    // The events belong to the capture, which is over.
    assert_eq!(wait(a, fork), 907);
}

/// `CUDA_KERNEL_NODE_PARAMS`.
#[repr(C)]
struct KernelParams {
    function: usize,
    sizes: [u32; 7],
    params: *const *const u64,
    rest: [usize; 3],
}

#[test]
fn a_launch_gets_other_arguments() {
    context(0);
    let saxpy = kernel(SAXPY, "saxpy");
    let stream = stream();
    let (x, y) = (upload(&[1.0_f32; 8]), upload(&[0.0_f32; 8]));
    begin(stream);
    assert_eq!(launch(saxpy, 1, 32, stream, &[u64::from(1.0_f32.to_bits()), x, y, 8]), 0);
    let (mut status, mut id, mut graph, mut count) = (0, 0, 0, 0);
    let mut nodes = std::ptr::null();
    ok!(cuStreamGetCaptureInfo_v2(
        stream => usize, &mut status => *mut u32, &mut id => *mut u64, &mut graph => *mut usize,
        &mut nodes => *mut *const usize, &mut count => *mut usize
    ));
    assert_eq!((status, count), (1, 1));
    // SAFETY: there is one node.
    let node = unsafe { *nodes };
    ok!(cuMemsetD32Async(x => u64, 0 => u32, 1 => usize, stream => usize));
    let (_, graph) = end(stream);
    let executable = ready(graph);
    let args = [u64::from(5.0_f32.to_bits()), x, y, 8];
    let pointers = args.each_ref().map(std::ptr::from_ref);
    let params = KernelParams {
        function: saxpy,
        sizes: [1, 1, 1, 32, 1, 1, 0],
        params: pointers.as_ptr(),
        rest: [0; 3],
    };
    let set = |node: usize| {
        cu!(cuGraphExecKernelNodeSetParams_v2(
            executable => usize, node => usize, &params => *const KernelParams
        ))
    };
    assert_eq!(set(node), 0);
    // The fill is no launch, and there is no third node.
    assert_eq!((set(node + 1), set(node + 2), set(7)), (801, 400, 400));
    ok!(cuGraphLaunch(executable => usize, stream => usize));
    ok!(cuStreamSynchronize(stream => usize));
    assert_eq!(download::<f32>(y, 2), [5.0, 5.0]);
    assert_eq!(download::<f32>(x, 2), [0.0, 1.0]);
}

#[test]
fn a_copy_from_the_host_is_read_at_each_launch() {
    context(0);
    let stream = stream();
    let word = alloc(4);
    let mut source = Box::new(1_u32);
    begin(stream);
    let from = (&raw mut *source).cast_const().cast();
    ok!(cuMemcpyHtoDAsync_v2(word => u64, from => *const c_void, 4 => usize, stream => usize));
    let (_, graph) = end(stream);
    let executable = ready(graph);
    for value in [5, 6] {
        *source = value;
        ok!(cuGraphLaunch(executable => usize, stream => usize));
        ok!(cuStreamSynchronize(stream => usize));
        assert_eq!(download::<u32>(word, 1), [value]);
    }
}

#[test]
fn a_stream_that_joined_has_to_be_waited_for() {
    context(0);
    let (a, b) = (stream(), stream());
    let (word, fork) = (alloc(4), event());
    begin(a);
    ok!(cuEventRecord(fork => usize, a => usize));
    assert_eq!(wait(b, fork), 0);
    ok!(cuMemsetD32Async(word => u64, 1 => u32, 1 => usize, b => usize));
    assert_eq!(end(b).0, 903);
    assert_eq!(end(a), (904, 0));
    // Both are free again.
    ok!(cuMemsetD32Async(word => u64, 2 => u32, 1 => usize, b => usize));
    ok!(cuStreamSynchronize(b => usize));
    assert_eq!(download::<u32>(word, 1), [2]);
}

#[test]
fn a_capture_may_not_depend_on_what_is_outside() {
    context(0);
    let (a, b) = (stream(), stream());
    let outside = event();
    ok!(cuEventRecord(outside => usize, b => usize));
    begin(a);
    assert_eq!(wait(a, outside), 905);
    assert_eq!(cu!(cuStreamSynchronize(a => usize)), 900);
    assert_eq!(end(a), (901, 0));
}

#[test]
fn the_default_stream_stays_out_of_captures() {
    let output = alone("graphs::default_stream", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "would disturb others on its device: run by the test above in a process of its own"]
fn default_stream() {
    let context = context(1);
    let mut waiting = 0_usize;
    ok!(cuStreamCreate(&mut waiting => *mut usize, 0 => u32));
    let word = alloc(4);
    begin(waiting);
    assert_eq!(cu!(cuMemsetD32_v2(word => u64, 1 => u32, 1 => usize)), 906);
    assert_eq!(end(waiting).0, 0);
    assert_eq!(cu!(cuStreamBeginCapture_v2(0 => usize, 0 => u32)), 900);
    ok!(cuCtxSetCurrent(context => usize));
    ok!(cuMemsetD32_v2(word => u64, 1 => u32, 1 => usize));
}
