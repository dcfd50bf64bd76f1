//! Products through the library's symbols, as any program calls them, and what it refuses. Libraries are found when a process
//! starts, so each test runs this program once more with the stand-ins.
#![allow(unsafe_code, non_snake_case)]

use std::ffi::c_void;
use std::ptr::null;

use libloading::Library;

/// A function of a library, called with arguments of the types that are given.
macro_rules! call {
    ($library:expr, $name:ident($($value:expr => $ty:ty),* $(,)?)) => {{
        // SAFETY: the types are those of the C header.
        unsafe {
            let function: libloading::Symbol<'_, unsafe extern "C" fn($($ty),*) -> u32> =
                $library.get(concat!(stringify!($name), "\0").as_bytes()).expect("a function");
            function($($value),*)
        }
    }};
}

fn on_standins(test: &str) -> String {
    let program = std::env::current_exe().expect("this program");
    let output = piper_standin::command(program)
        .expect("the libraries are built")
        .args([test, "--exact", "--ignored", "--nocapture"])
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}{said}", String::from_utf8_lossy(&output.stdout));
    said
}

struct Libraries {
    cuda: Library,
    lt: Library,
    handle: usize,
}

impl Libraries {
    fn open() -> Self {
        // SAFETY: stand-ins, which have no initialisers.
        let open = |name: &str| unsafe { Library::new(name) }.expect("the stand-in");
        let (cuda, lt) = (open("libcuda.so.1"), open("libcublasLt.so.12"));
        let (mut context, mut handle) = (0, 0);
        assert_eq!(
            call!(lt, cublasLtCreate(&mut handle => &mut usize)),
            1,
            "no context is current"
        );
        assert_eq!(call!(cuda, cuInit(0 => u32)), 0);
        assert_eq!(call!(cuda, cuDevicePrimaryCtxRetain(&mut context => &mut usize, 0 => i32)), 0);
        assert_eq!(call!(cuda, cuCtxSetCurrent(context => usize)), 0);
        assert_eq!(call!(lt, cublasLtCreate(&mut handle => &mut usize)), 0);
        Self { cuda, lt, handle }
    }

    fn upload(&self, values: &[f32]) -> u64 {
        let (mut at, bytes) = (0, size_of_val(values));
        assert_eq!(call!(self.cuda, cuMemAlloc_v2(&mut at => &mut u64, bytes => usize)), 0);
        let from = values.as_ptr().cast();
        let copy =
            call!(self.cuda, cuMemcpyHtoD_v2(at => u64, from => *const c_void, bytes => usize));
        assert_eq!(copy, 0);
        at
    }

    fn download(&self, at: u64, count: usize) -> Vec<f32> {
        let mut values = vec![0f32; count];
        assert_eq!(call!(self.cuda, cuCtxSynchronize()), 0);
        let to = values.as_mut_ptr().cast();
        let copy =
            call!(self.cuda, cuMemcpyDtoH_v2(to => *mut c_void, at => u64, count * 4 => usize));
        assert_eq!(copy, 0);
        values
    }

    fn layout(&self, rows: u64, columns: u64) -> usize {
        let mut layout = 0;
        let made = call!(self.lt, cublasLtMatrixLayoutCreate(
            &mut layout => &mut usize, 0 => u32, rows => u64, columns => u64, rows as i64 => i64,
        ));
        assert_eq!(made, 0);
        layout
    }

    fn product(&self) -> usize {
        let mut product = 0;
        let made = call!(self.lt, cublasLtMatmulDescCreate(&mut product => &mut usize, 68 => u32, 0 => u32));
        assert_eq!(made, 0);
        product
    }

    fn set<T>(&self, product: usize, attribute: u32, value: T) -> u32 {
        let at = (&raw const value).cast();
        call!(self.lt, cublasLtMatmulDescSetAttribute(
            product => usize, attribute => u32, at => *const c_void, size_of::<T>() => usize,
        ))
    }

    fn multiply(
        &self,
        product: usize,
        beta: f32,
        at: [u64; 3],
        layouts: [usize; 3],
        algorithm: *const [u64; 8],
    ) -> u32 {
        call!(self.lt, cublasLtMatmul(
            self.handle => usize, product => usize, &1f32 => &f32, at[0] => u64, layouts[0] => usize, at[1] => u64,
            layouts[1] => usize, &beta => &f32, at[2] => u64, layouts[2] => usize, at[2] => u64, layouts[2] => usize,
            algorithm => *const [u64; 8], 0 => u64, 0 => usize, 0 => usize,
        ))
    }
}

#[test]
fn products_are_those_of_the_definition() {
    on_standins("inner_products");
}

#[test]
#[ignore = "the other half of a test"]
fn inner_products() {
    let l = Libraries::open();
    let (m, n, k) = (3, 2, 4);
    let values = |count: u64, step: u64| -> Vec<f32> {
        (0..count).map(|i| ((i * step) % 7) as f32 - 3.0).collect()
    };
    let (a, b, c, bias) = (values(m * k, 3), values(k * n, 5), values(m * n, 2), values(m, 4));
    for case in 0..16 {
        let [turn_a, turn_b, add, has_bias] = [1, 2, 4, 8].map(|bit| case & bit != 0);
        let product = l.product();
        if turn_a {
            assert_eq!(l.set(product, 3, 1i32), 0);
        }
        if turn_b {
            assert_eq!(l.set(product, 4, 1i32), 0);
        }
        if has_bias {
            assert_eq!(l.set(product, 7, 4i32), 0);
            assert_eq!(l.set(product, 8, l.upload(&bias)), 0);
        }
        let layouts = [
            if turn_a { l.layout(k, m) } else { l.layout(m, k) },
            if turn_b { l.layout(n, k) } else { l.layout(k, n) },
            l.layout(m, n),
        ];
        let at = [l.upload(&a), l.upload(&b), l.upload(&c)];
        let beta = if add { 1.0 } else { 0.0 };
        assert_eq!(l.multiply(product, beta, at, layouts, null()), 0);
        let mut expected = vec![0f32; (m * n) as usize];
        for column in 0..n {
            for row in 0..m {
                let left = |i: u64| a[(if turn_a { row * k + i } else { i * m + row }) as usize];
                let right =
                    |i: u64| b[(if turn_b { i * n + column } else { column * k + i }) as usize];
                let place = (column * m + row) as usize;
                let sum: f32 = (0..k).map(|i| left(i) * right(i)).sum();
                let more = if has_bias { bias[row as usize] } else { 0.0 };
                expected[place] = sum + beta * c[place] + more;
            }
        }
        assert_eq!(l.download(at[2], expected.len()), expected, "case {case}");
    }
}

#[test]
fn what_does_not_fit_is_said() {
    let said = on_standins("inner_faults");
    for wanted in [
        "cublasLtMatmul: 3x4 times 5x2",
        "C is 2x3, but the product is 3x2",
        "the algorithm was chosen for another product",
        "attribute 3 has 4 bytes, but 8 are given",
        "the epilogue adds a bias, but the pointer to it is null",
        "overlaps the operand",
        "no context is current",
        "is no layout of a matrix",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

#[test]
#[ignore = "the other half of a test"]
fn inner_faults() {
    let l = Libraries::open();
    let at = [l.upload(&[1.0; 12]), l.upload(&[1.0; 10]), l.upload(&[1.0; 6])];
    let (a, b, c) = (l.layout(3, 4), l.layout(4, 2), l.layout(3, 2));
    let product = l.product();
    assert_eq!(l.multiply(product, 0.0, at, [a, l.layout(5, 2), c], null()), 7);
    assert_eq!(l.multiply(product, 0.0, at, [a, b, l.layout(2, 3)], null()), 7);
    assert_eq!(l.multiply(product, 0.0, at, [a, b, c], &[1; 8]), 7);
    assert_eq!(l.set(product, 3, 1i64), 7);
    assert_eq!(l.multiply(product, 0.0, [at[0], at[2], at[2]], [a, b, c], null()), 7);
    assert_eq!(l.multiply(product, 0.0, at, [product, b, c], null()), 7);
    assert_eq!(l.set(product, 7, 4i32), 0);
    assert_eq!(l.multiply(product, 0.0, at, [a, b, c], null()), 7);
    let mut half = 0;
    let made = call!(l.lt, cublasLtMatmulDescCreate(&mut half => &mut usize, 64 => u32, 2 => u32));
    assert_eq!(made, 15, "sums in f16 are not supported");
}
