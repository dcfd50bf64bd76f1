//! Shares of a device are counted as the driver counts them.

use crate::SAXPY;
use crate::library::{context, cu, download, kernel, launch, ok, upload};

/// `CUdevResource`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Resource {
    kind: u32,
    internal: [u8; 92],
    count: u32,
    rest: [u8; 44],
}

const NONE: Resource = Resource { kind: 0, internal: [0; 92], count: 0, rest: [0; 44] };

#[test]
fn a_kernel_runs_on_a_share() {
    let whole_context = context(0);
    let mut all = NONE;
    ok!(cuDeviceGetDevResource(0 => i32, &mut all => *mut Resource, 1 => u32));
    assert_eq!((all.kind, all.count), (1, 108));
    let (mut share, mut rest, mut groups) = (NONE, NONE, 1_u32);
    ok!(cuDevSmResourceSplitByCount(
        &mut share => *mut Resource, &mut groups => *mut u32, &all => *const Resource, &mut rest => *mut Resource,
        0 => u32, 15 => u32
    ));
    assert_eq!((groups, share.count, rest.count), (1, 16, 92));
    let (mut descriptor, mut green, mut of_green, mut stream) =
        (0_usize, 0_usize, 0_usize, 0_usize);
    ok!(cuDevResourceGenerateDesc(&mut descriptor => *mut usize, &share => *const Resource, 1 => u32));
    ok!(cuGreenCtxCreate(&mut green => *mut usize, descriptor => usize, 0 => i32, 1 => u32));
    ok!(cuCtxFromGreenCtx(&mut of_green => *mut usize, green => usize));
    ok!(cuGreenCtxStreamCreate(&mut stream => *mut usize, green => usize, 1 => u32, 0 => i32));
    let mut own = NONE;
    ok!(cuCtxGetDevResource(of_green => usize, &mut own => *mut Resource, 1 => u32));
    assert_eq!(own.count, 16);
    ok!(cuCtxGetDevResource(whole_context => usize, &mut own => *mut Resource, 1 => u32));
    assert_eq!(own.count, 108);
    // Memory and modules of the primary context serve the share's streams.
    let saxpy = kernel(SAXPY, "saxpy");
    let (x, y) = (upload(&[1.0_f32; 8]), upload(&[1.0_f32; 8]));
    assert_eq!(launch(saxpy, 1, 32, stream, &[u64::from(4.0_f32.to_bits()), x, y, 8]), 0);
    ok!(cuStreamSynchronize(stream => usize));
    assert_eq!(download::<f32>(y, 8), [5.0; 8]);
    ok!(cuGreenCtxDestroy(green => usize));
}

#[test]
fn too_many_multiprocessors_are_refused() {
    context(0);
    let mut all = NONE;
    ok!(cuDeviceGetDevResource(0 => i32, &mut all => *mut Resource, 1 => u32));
    let (mut share, mut groups) = ([NONE; 8], 8_u32);
    let none = std::ptr::null_mut();
    let mut split = |least: u32| {
        cu!(cuDevSmResourceSplitByCount(
            share.as_mut_ptr() => *mut Resource, &mut groups => *mut u32, &all => *const Resource,
            none => *mut Resource, 0 => u32, least => u32
        ))
    };
    assert_eq!(split(200), 915);
    assert_eq!(split(40), 0);
    assert_eq!(groups, 2);
    assert_eq!(cu!(cuDeviceGetDevResource(0 => i32, &mut all => *mut Resource, 7 => u32)), 914);
}

#[test]
fn blocks_that_fit_a_multiprocessor() {
    context(0);
    let saxpy = kernel(SAXPY, "saxpy");
    let mut blocks = 0;
    let mut fit = |threads: i32, shared: usize| {
        ok!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &mut blocks => *mut i32, saxpy => usize, threads => i32, shared => usize
        ));
        blocks
    };
    assert_eq!(fit(1024, 0), 1);
    assert_eq!(fit(128, 0), 8);
    assert_eq!(fit(32, 40 << 10), 4);
}
