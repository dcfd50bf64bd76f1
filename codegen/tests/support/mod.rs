//! Compiles kernels, loads the shared object, and runs kernels natively and by the reference on the same data.
#![allow(dead_code, unsafe_code)]

use piper_codegen::kernel::{Dtype, Kernel, bf16_from_f32, bf16_to_f32};
use piper_codegen::reference::{Slice, evaluate};
use piper_codegen::{Isolation, OptLevel, Target, VectorLevel, compile};
use std::ffi::c_void;
use std::io::Write;

/// Owned data of one parameter.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I32(Vec<i32>),
    Bf16(Vec<u16>),
}

impl Data {
    pub(crate) fn doubles(&self) -> Vec<f64> {
        match self {
            Self::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
            Self::F64(v) => v.clone(),
            Self::I32(v) => v.iter().map(|&x| f64::from(x)).collect(),
            Self::Bf16(v) => v.iter().map(|&x| f64::from(bf16_to_f32(x))).collect(),
        }
    }

    pub(crate) fn bits(&self) -> Vec<u64> {
        match self {
            Self::F32(v) => v.iter().map(|x| u64::from(x.to_bits())).collect(),
            Self::F64(v) => v.iter().map(|x| x.to_bits()).collect(),
            Self::I32(v) => v.iter().map(|&x| x as u64).collect(),
            Self::Bf16(v) => v.iter().map(|&x| u64::from(x)).collect(),
        }
    }

    /// Sets one number.
    pub(crate) fn set(&mut self, index: usize, value: f64) {
        match self {
            Self::F32(v) => v[index] = value as f32,
            Self::F64(v) => v[index] = value,
            Self::I32(v) => v[index] = value as i32,
            Self::Bf16(v) => v[index] = bf16_from_f32(value as f32),
        }
    }

    /// Magnitudes instead of numbers of either sign.
    pub(crate) fn absolute(&mut self) {
        match self {
            Self::F32(v) => v.iter_mut().for_each(|x| *x = x.abs()),
            Self::F64(v) => v.iter_mut().for_each(|x| *x = x.abs()),
            Self::I32(v) => v.iter_mut().for_each(|x| *x = x.abs()),
            Self::Bf16(v) => v.iter_mut().for_each(|x| *x &= 0x7fff),
        }
    }

    pub(crate) fn slice(&mut self) -> Slice<'_> {
        match self {
            Self::F32(v) => Slice::F32(v),
            Self::F64(v) => Slice::F64(v),
            Self::I32(v) => Slice::I32(v),
            Self::Bf16(v) => Slice::Bf16(v),
        }
    }

    fn pointer(&mut self) -> *mut c_void {
        match self {
            Self::F32(v) => v.as_mut_ptr().cast(),
            Self::F64(v) => v.as_mut_ptr().cast(),
            Self::I32(v) => v.as_mut_ptr().cast(),
            Self::Bf16(v) => v.as_mut_ptr().cast(),
        }
    }
}

/// A small generator of reproducible test data (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [-1, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Random data for every parameter; tokens are below `tokens_below`.
pub(crate) fn random_data(kernel: &Kernel, seed: u64, tokens_below: u64) -> Vec<Data> {
    let mut random = Random(seed);
    let parameters = kernel.parameters();
    parameters
        .iter()
        .map(|p| match p.dtype {
            Dtype::F32 => Data::F32((0..p.elems).map(|_| random.unit() as f32).collect()),
            Dtype::F64 => Data::F64((0..p.elems).map(|_| random.unit()).collect()),
            Dtype::Bf16 => {
                Data::Bf16((0..p.elems).map(|_| bf16_from_f32(random.unit() as f32)).collect())
            }
            Dtype::I32 => {
                Data::I32((0..p.elems).map(|_| (random.next() % tokens_below) as i32).collect())
            }
        })
        .collect()
}

pub(crate) fn by_reference(kernel: &Kernel, data: &[Data], scalars: &[f64]) -> Vec<Data> {
    let mut data = data.to_vec();
    let mut slices: Vec<Slice<'_>> = data.iter_mut().map(Data::slice).collect();
    evaluate(kernel, &mut slices, scalars).expect("the reference accepts the kernel");
    data
}

type Whole = unsafe extern "C" fn(*const *mut c_void, *const f64, *mut c_void);
type Part = unsafe extern "C" fn(*const *mut c_void, *const f64, *mut c_void, u64, u64);

/// A loaded shared object.
pub(crate) struct Native {
    library: libloading::Library,
}

impl Native {
    pub(crate) fn new(kernels: &[Kernel], level: VectorLevel) -> Self {
        Self::optimised(kernels, level, OptLevel::Full)
    }

    pub(crate) fn optimised(kernels: &[Kernel], level: VectorLevel, opt: OptLevel) -> Self {
        let target =
            if level == Target::host_level() { Target::host() } else { Target::generic(level) };
        let named: Vec<_> = kernels.iter().map(|k| (k.symbol(), k.clone())).collect();
        let bytes = compile(&named, &target, opt, Isolation::InProcess).expect("kernels compile");
        Self::load(&bytes)
    }

    pub(crate) fn load(bytes: &[u8]) -> Self {
        let mut file = tempfile::Builder::new().suffix(".so").tempfile().expect("a temporary file");
        file.write_all(bytes).expect("the object is written");
        // SAFETY: the object was just generated and has no initialisers.
        let library = unsafe { libloading::Library::new(file.path()) }.expect("the object loads");
        Self { library }
    }

    /// Runs `kernel`, which needs neither scalars nor workspace, on buffers where they lie, given as bytes.
    pub(crate) fn run_in_place(&self, kernel: &Kernel, buffers: &mut [&mut [u8]]) {
        for (buffer, parameter) in buffers.iter().zip(kernel.parameters()) {
            assert_eq!(parameter.elems * parameter.dtype.bytes(), buffer.len() as u64);
            assert_eq!(buffer.as_ptr().align_offset(parameter.dtype.bytes() as usize), 0);
        }
        let pointers: Vec<*mut c_void> =
            buffers.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
        assert_eq!((kernel.scalars(), kernel.workspace_bytes()), (0, 0));
        type Function = unsafe extern "C" fn(*const *mut c_void, *const f64, *mut c_void);
        // SAFETY: the symbol has the documented ABI, buffers have the parameters' sizes, and nothing else is used.
        unsafe {
            let function: libloading::Symbol<'_, Function> =
                self.library.get(kernel.symbol().as_bytes()).expect("the symbol is exported");
            function(pointers.as_ptr(), std::ptr::null(), std::ptr::null_mut());
        }
    }

    /// Runs `kernel` on copies of `data`. Buffers and workspace are followed by guard elements that must survive, and
    /// workspace starts as NaNs.
    pub(crate) fn run(&self, kernel: &Kernel, data: &[Data], scalars: &[f64]) -> Vec<Data> {
        self.launched(kernel, data, kernel.workspace_bytes(), |buffers, workspace| {
            // SAFETY: the symbol has the documented ABI, buffers have the parameters' sizes and outlive the call.
            unsafe { self.symbol::<Whole>(kernel, "")(buffers, scalars.as_ptr(), workspace) };
        })
    }

    /// As [`Self::run`], in `parts` parts, each on a thread of its own.
    pub(crate) fn run_in_parts(
        &self,
        kernel: &Kernel,
        data: &[Data],
        scalars: &[f64],
        parts: u64,
    ) -> Vec<Data> {
        let split = kernel.split();
        // SAFETY: the object says so: four integers.
        let said = unsafe { *self.symbol::<*const [u64; 4]>(kernel, "$split") };
        let has_end = u64::from(split.has_end);
        assert_eq!(said, [split.parts, split.shared_bytes, split.part_bytes, has_end]);
        assert!(parts <= split.parts, "{kernel:?}: {parts} of {}", split.parts);
        self.launched(kernel, data, split.workspace_bytes(parts), |buffers, workspace| {
            // SAFETY: as for `run`; parts may run at the same time, and the end runs after all of them.
            unsafe {
                let part = self.symbol::<Part>(kernel, "$part");
                let addresses = [buffers as usize, scalars.as_ptr() as usize, workspace as usize];
                std::thread::scope(|scope| {
                    for index in 0..parts {
                        scope.spawn(move || {
                            let [buffers, scalars, workspace] = addresses;
                            part(buffers as _, scalars as _, workspace as _, index, parts);
                        });
                    }
                });
                if split.has_end {
                    self.symbol::<Whole>(kernel, "$end")(buffers, scalars.as_ptr(), workspace);
                }
            }
        })
    }

    /// # Safety
    /// The symbol is of this type.
    unsafe fn symbol<T: Copy>(&self, kernel: &Kernel, suffix: &str) -> T {
        let name = format!("{}{suffix}", kernel.symbol());
        // SAFETY: the caller's promise.
        *unsafe { self.library.get::<T>(name.as_bytes()) }.expect("the symbol is exported")
    }

    fn launched(
        &self,
        kernel: &Kernel,
        data: &[Data],
        workspace_bytes: u64,
        launch: impl FnOnce(*const *mut c_void, *mut c_void),
    ) -> Vec<Data> {
        let mut guarded = data.to_vec();
        for d in &mut guarded {
            match d {
                Data::F32(v) => v.extend([12345.0; 32]),
                Data::F64(v) => v.extend([12345.0; 16]),
                Data::I32(v) => v.extend([12345; 32]),
                Data::Bf16(v) => v.extend([bf16_from_f32(12345.0); 64]),
            }
        }
        let workspace_len = workspace_bytes as usize / 8 + 1;
        let mut workspace = vec![f64::from_bits(u64::MAX); workspace_len + 16];
        workspace[workspace_len..].fill(12345.0);
        let pointers: Vec<*mut c_void> = guarded.iter_mut().map(Data::pointer).collect();
        launch(pointers.as_ptr(), workspace.as_mut_ptr().cast());
        assert!(workspace[workspace_len..].iter().all(|&x| x == 12345.0), "workspace overrun");
        let bf16_guard = f64::from(bf16_to_f32(bf16_from_f32(12345.0)));
        for (d, original) in guarded.iter_mut().zip(data) {
            let len = original.bits().len();
            assert!(
                d.doubles()[len..].iter().all(|&x| x == 12345.0 || x == bf16_guard),
                "buffer overrun in {kernel:?}"
            );
            match d {
                Data::F32(v) => v.truncate(len),
                Data::F64(v) => v.truncate(len),
                Data::I32(v) => v.truncate(len),
                Data::Bf16(v) => v.truncate(len),
            }
        }
        guarded
    }
}

/// Vector levels this machine can run.
pub(crate) fn levels() -> Vec<VectorLevel> {
    [VectorLevel::Portable, VectorLevel::Neon, VectorLevel::Avx2, VectorLevel::Avx512]
        .into_iter()
        .filter(|&l| Target::host_supports(l))
        .collect()
}

/// Compares each kernel with the reference on every level, and with itself bit by bit.
///
/// The tolerance is `factor * epsilon * (largest magnitude of the buffer + 1)`: errors of sums scale with the terms,
/// not with the result. A buffer of bf16 is summed in f32 and rounded once, so it may differ by one unit in the last place
/// more, unless the factor is zero.
pub(crate) fn check(kernels: &[Kernel], scalars: &[f64], tokens_below: u64, factor: f64) {
    for level in levels() {
        let native = Native::new(kernels, level);
        for (seed, kernel) in kernels.iter().enumerate() {
            let data = random_data(kernel, seed as u64, tokens_below);
            check_one(&native, kernel, &data, scalars, factor, level);
        }
    }
}

pub(crate) fn check_one(
    native: &Native,
    kernel: &Kernel,
    data: &[Data],
    scalars: &[f64],
    factor: f64,
    level: VectorLevel,
) {
    let expected = by_reference(kernel, data, scalars);
    let actual = native.run(kernel, data, scalars);
    let again = native.run(kernel, data, scalars);
    for (i, (a, b)) in actual.iter().zip(&again).enumerate() {
        assert_eq!(
            a.bits(),
            b.bits(),
            "{level:?} {kernel:?}: parameter {i} differs between two runs"
        );
    }
    agree(kernel, &expected, &actual, factor, &format!("{level:?}"));
}

/// Compares what a kernel gave on `target` with what the reference gave; the tolerance is that of [`check`].
pub(crate) fn agree(
    kernel: &Kernel,
    expected: &[Data],
    actual: &[Data],
    factor: f64,
    target: &str,
) {
    for (i, (e, a)) in expected.iter().zip(actual).enumerate() {
        let is_narrow = matches!(e, Data::Bf16(_));
        let (e, a) = (e.doubles(), a.doubles());
        assert_eq!(e.len(), a.len(), "{target} {kernel:?}: parameter {i}");
        let epsilon =
            if kernel.dtype == Dtype::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let largest = e.iter().filter(|x| x.is_finite()).fold(0.0_f64, |m, x| m.max(x.abs()));
        let sums = factor * epsilon * (largest + 1.0);
        let ulp = if factor > 0.0 && is_narrow { 2_f64.powi(-7) } else { 0.0 };
        for (j, (&e, &a)) in e.iter().zip(&a).enumerate() {
            let tolerance = sums + ulp * e.abs();
            let equal = e == a || (e.is_nan() && a.is_nan()) || (e - a).abs() <= tolerance;
            assert!(
                equal,
                "{target} {kernel:?}\nparameter {i} element {j}: {a} instead of {e} (+-{tolerance:e})"
            );
        }
    }
}
