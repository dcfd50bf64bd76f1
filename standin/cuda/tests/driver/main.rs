//! The driver interface, called through its symbols as any program calls it.
#![allow(unsafe_code)]

mod graphs;
mod green;
mod library;
mod streams;

use std::ffi::{CStr, CString, c_char, c_void};

use library::{alloc, context, cu, download, kernel, launch, ok, upload};

/// `y[i] = a x[i] + y[i]` for `i < n`.
pub(crate) const SAXPY: &str = include_str!("../../../../ptx/tests/fixtures/saxpy.sm_80.ptx");

#[test]
fn a_kernel_of_ptx_text_runs() {
    context(0);
    let saxpy = kernel(SAXPY, "saxpy");
    let x: Vec<f32> = (0..300).map(|i| i as f32).collect();
    let (x, y) = (upload(&x), upload(&[1.0_f32; 300]));
    let args = [u64::from(2.0_f32.to_bits()), x, y, 300];
    assert_eq!(launch(saxpy, 3, 128, 0, &args), 0);
    ok!(cuCtxSynchronize());
    let expected: Vec<f32> = (0..300).map(|i| 2.0 * i as f32 + 1.0).collect();
    assert_eq!(download::<f32>(y, 300), expected);
}

#[test]
fn arguments_come_in_a_buffer_too() {
    context(0);
    let saxpy = kernel(SAXPY, "saxpy");
    let (x, y) = (upload(&[3.0_f32; 4]), upload(&[1.0_f32; 4]));
    let mut buffer = 2.0_f32.to_bits().to_le_bytes().to_vec();
    buffer.extend([0; 4]);
    buffer.extend(x.to_le_bytes());
    buffer.extend(y.to_le_bytes());
    buffer.extend(4_u32.to_le_bytes());
    let size = buffer.len();
    let extra = [1, buffer.as_ptr().addr(), 2, (&raw const size).addr(), 0];
    let code = cu!(cuLaunchKernel(
        saxpy => usize, 1 => u32, 1 => u32, 1 => u32, 32 => u32, 1 => u32, 1 => u32, 0 => u32, 0 => usize,
        std::ptr::null() => *const c_void, extra.as_ptr() => *const usize,
    ));
    assert_eq!(code, 0);
    assert_eq!(download::<f32>(y, 4), [7.0; 4]);
}

#[test]
fn bad_ptx_is_refused_with_line_and_column_in_the_log() {
    context(0);
    let text =
        CString::new(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k( { ret; }")
            .expect("text");
    let mut log = [0_u8; 256];
    let names = [5_u32, 6];
    let values = [log.as_mut_ptr().addr(), log.len()];
    let mut module = 0_usize;
    let code = cu!(cuModuleLoadDataEx(
        &mut module => *mut usize, text.as_ptr() => *const c_char, 2 => u32, names.as_ptr() => *const u32,
        values.as_ptr() => *const usize,
    ));
    assert_eq!(code, 218);
    let log = CStr::from_bytes_until_nul(&log).expect("a zero").to_string_lossy();
    assert!(log.starts_with("ptx:4:"), "{log}");
}

#[test]
fn a_module_for_another_chip_is_refused() {
    context(0);
    let text = CString::new(SAXPY.replace(".target sm_80", ".target sm_90a")).expect("text");
    let mut module = 0_usize;
    let code = cu!(cuModuleLoadData(&mut module => *mut usize, text.as_ptr() => *const c_char));
    assert_eq!(code, 209);
}

#[test]
fn machine_code_is_refused() {
    context(0);
    let mut module = 0_usize;
    let elf = b"\x7fELF\x02\x01\x01\0";
    assert_eq!(cu!(cuModuleLoadData(&mut module => *mut usize, elf.as_ptr() => *const u8)), 200);
}

#[test]
fn unknown_handles_are_errors() {
    context(0);
    assert_eq!(cu!(cuStreamSynchronize(0x1234 => usize)), 400);
    assert_eq!(cu!(cuEventQuery(0x7fff_0000_0000 => usize)), 400);
    assert_eq!(launch(7, 1, 32, 0, &[]), 400);
    let stream = library::stream();
    ok!(cuStreamDestroy_v2(stream => usize));
    assert_eq!(cu!(cuStreamSynchronize(stream => usize)), 400);
}

#[test]
fn a_copy_that_runs_over_its_allocation_is_refused() {
    context(0);
    let address = alloc(16);
    let mut bytes = [0_u8; 17];
    let code = cu!(cuMemcpyDtoH_v2(bytes.as_mut_ptr() => *mut u8, address => u64, 17 => usize));
    assert_eq!(code, 1);
    ok!(cuMemFree_v2(address => u64));
    assert_eq!(cu!(cuMemFree_v2(address => u64)), 1);
}

#[test]
fn fills_and_copies_on_the_device() {
    context(0);
    let (a, b) = (alloc(32), alloc(32));
    ok!(cuMemsetD32_v2(a => u64, 0x0102_0304 => u32, 8 => usize));
    ok!(cuMemsetD8_v2(a => u64, 9 => u8, 2 => usize));
    ok!(cuMemcpyDtoD_v2(b => u64, a + 4 => u64, 28 => usize));
    assert_eq!(download::<u32>(a, 2), [0x0102_0909, 0x0102_0304]);
    assert_eq!(download::<u32>(b, 7), [0x0102_0304; 7]);
}

#[test]
fn shared_memory_beyond_48_kilobytes_has_to_be_asked_for() {
    context(0);
    let saxpy = kernel(SAXPY, "saxpy");
    let most = |to: &mut i32| cu!(cuFuncGetAttribute(to => *mut i32, 8 => u32, saxpy => usize));
    let mut bytes = 0;
    assert_eq!(most(&mut bytes), 0);
    assert_eq!(bytes, 48 << 10);
    ok!(cuFuncSetAttribute(saxpy => usize, 8 => u32, 100 << 10 => i32));
    assert_eq!(cu!(cuFuncSetAttribute(saxpy => usize, 8 => u32, 164 << 10 => i32)), 1);
    assert_eq!(most(&mut bytes), 0);
    assert_eq!(bytes, 100 << 10);
}

#[test]
fn what_the_devices_are() {
    context(1);
    let mut count = 0;
    ok!(cuDeviceGetCount(&mut count => *mut i32));
    assert_eq!(count, 2);
    assert_eq!(cu!(cuDeviceGet(&mut count => *mut i32, 2 => i32)), 101);
    let mut value = 0;
    ok!(cuDeviceGetAttribute(&mut value => *mut i32, 16 => u32, 1 => i32));
    assert_eq!(value, 108);
    let mut device = 7;
    ok!(cuCtxGetDevice(&mut device => *mut i32));
    assert_eq!(device, 1);
}

#[test]
fn functions_are_found_by_name() {
    let mut at = std::ptr::null::<c_void>();
    for name in [c"cuMemAlloc", c"cuLaunchKernel", c"cuMemcpyHtoDAsync_v2"] {
        let code = cu!(cuGetProcAddress_v2(
            name.as_ptr() => *const c_char, &mut at => *mut *const c_void, 13000 => i32, 0 => u64,
            std::ptr::null_mut() => *mut u32,
        ));
        assert_eq!(code, 0, "{name:?}");
        assert!(!at.is_null());
    }
    let code = cu!(cuGetProcAddress_v2(
        c"cuFlyToTheMoon".as_ptr() => *const c_char, &mut at => *mut *const c_void, 13000 => i32, 0 => u64,
        std::ptr::null_mut() => *mut u32,
    ));
    assert_eq!(code, 500);
}

#[test]
fn what_is_not_supported_says_so() {
    context(0);
    let mut address = 0;
    assert_eq!(cu!(cuMemAllocManaged(&mut address => *mut u64, 4 => usize, 1 => u32)), 801);
    assert_eq!(cu!(cuTexRefCreate(&mut address => *mut u64)), 801);
}

#[test]
fn errors_have_names() {
    let mut text = std::ptr::null();
    ok!(cuGetErrorName(700 => u32, &mut text => *mut *const c_char));
    // SAFETY: the library gives a text that lives for ever.
    assert_eq!(unsafe { CStr::from_ptr(text) }, c"CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_eq!(cu!(cuGetErrorName(12345 => u32, &mut text => *mut *const c_char)), 1);
}

#[test]
fn every_call_is_found_by_name() {
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let listed = std::fs::read_to_string(sources.join("proc_address.rs")).expect("the list");
    let listed: Vec<&str> = listed.split_whitespace().map(|w| w.trim_end_matches(';')).collect();
    let mut missing = Vec::new();
    for file in std::fs::read_dir(sources).expect("the sources").flatten() {
        let text = std::fs::read_to_string(file.path()).expect("a source");
        let calls = text.split_once("calls! {").map_or("", |(_, calls)| calls);
        let declared = calls.lines().filter_map(|line| line.strip_prefix("    fn cu"));
        for line in declared {
            let name = format!("cu{}", line.split('(').next().unwrap_or_default());
            if !listed.contains(&name.as_str()) {
                missing.push(name);
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}
