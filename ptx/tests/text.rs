//! Whatever is done to a text, reading it ends with a module or with an error that says where.

use proptest::prelude::*;

use piper_ptx::{Arg, Machine, Module};

fn fixture(name: &str) -> String {
    let path = format!("{}/tests/fixtures/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn read(text: &str) {
    match Module::parse(text) {
        Ok(module) => {
            for kernel in module.kernels() {
                if let Err(error) = module.kernel(kernel) {
                    assert!(error.place.line as usize <= text.lines().count() + 1, "{error}");
                }
            }
        }
        Err(error) => assert!(error.place.line as usize <= text.lines().count() + 1, "{error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn truncated_and_mutated_texts_are_errors_or_modules(
        file in 0..4_usize,
        cut in 0.0..1.0_f64,
        at in 0.0..1.0_f64,
        length in 0..6_usize,
        put in "[ -~]{0,6}",
    ) {
        let text = fixture(["saxpy.sm_80", "reduce.sm_90a", "math.sm_100a", "tile.sm_80"][file]);
        read(&text[..(text.len() as f64 * cut) as usize]);
        let at = (text.len() as f64 * at) as usize;
        let end = (at + length).min(text.len());
        read(&format!("{}{put}{}", &text[..at], &text[end..]));
    }

    /// A changed kernel may do anything but bring the machine down.
    #[test]
    fn mutated_kernels_run_or_fault(at in 0.0..1.0_f64, digit in 0..10_u8, cut in 0..40_usize) {
        let text = fixture("reduce.sm_80");
        let end = text.find("entry warp_sum").unwrap();
        let mut bytes = text.into_bytes();
        let digits: Vec<usize> = (0..end).filter(|i| bytes[*i].is_ascii_digit()).collect();
        bytes[digits[(digits.len() as f64 * at) as usize]] = b'0' + digit;
        let text = String::from_utf8(bytes).unwrap();
        let Ok(module) = Module::parse(&text) else { return Ok(()) };
        let Ok(kernel) = module.kernel("block_sum") else { return Ok(()) };
        let mut machine = Machine::new();
        machine.checks.step_limit = 20_000;
        let x = machine.alloc_f32(&vec![1.0; 256 - cut]);
        let out = machine.alloc(16);
        if let Err(fault) = machine.launch(&kernel, 1, 256, 0, &[Arg::Ptr(x), Arg::Ptr(out)]) {
            prop_assert!(!fault.to_string().is_empty());
        }
    }
}
