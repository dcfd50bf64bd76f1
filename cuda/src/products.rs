//! Matrix products by cuBLASLt, for who asks for it, instead of the plan's own kernels.
//!
//! A kernel that is a product, its bias and an addition at most goes there; any other stays. Row-major matrices are column-major
//! ones transposed, so `c = a·b` is asked for as `cᵀ = bᵀ·aᵀ`: `b` is the left operand, and a bias lies along the rows of the
//! result. How to multiply is chosen when the plan is loaded, never while it runs.

#![allow(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::ptr::null_mut;

use piper_plan::{BufferId, Code, DType, Kind, Method, Param, Plan, Product, Program};
use rustc_hash::FxHashMap;

use crate::cublaslt::{CublasLt, NOT_SUPPORTED, Object, Way};
use crate::device::Device;
use crate::error::CudaError;
use crate::memory::DeviceMemory;

/// `CUBLAS_COMPUTE_32F`: sums in f32, f32 operands as they are.
const COMPUTE_F32: c_int = 68;
/// `CUDA_R_32F`, `CUDA_R_16BF`
const F32: c_int = 0;
const BF16: c_int = 14;
/// `CUBLASLT_MATMUL_DESC_TRANSA`, `TRANSB`, `EPILOGUE`, `BIAS_POINTER`, `SM_COUNT_TARGET`
const TRANSPOSE: [c_int; 2] = [3, 4];
const EPILOGUE: c_int = 7;
const BIAS_POINTER: c_int = 8;
const MULTIPROCESSORS: c_int = 15;
/// `CUBLASLT_EPILOGUE_BIAS`
const BIAS: c_int = 4;
/// `CUBLAS_OP_T`
const TRANSPOSED: c_int = 1;
/// `CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT`, `STRIDED_BATCH_OFFSET`
const BATCH_COUNT: c_int = 5;
const BATCH_STRIDE: c_int = 6;
/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`, `MIN_ALIGNMENT_A_BYTES` and those of B, C and D
const MOST_WORKSPACE: c_int = 1;
const ALIGNMENTS: [c_int; 4] = [5, 6, 7, 8];

/// Bytes that a product may use besides its operands: what its maker recommends for the largest GPUs.
const WORKSPACE: u64 = 32 << 20;
/// The largest alignment that is of any use, in bytes.
const ALIGNED: u64 = 256;

/// What computes matrix products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gemm {
    /// The plan's own kernels.
    #[default]
    Own,
    /// cuBLASLt where it has the form, otherwise the plan's own kernels.
    CublasLt,
}

/// Which products of a step went to cuBLASLt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductCounts {
    /// Launches of all kernels.
    pub launches: usize,
    /// Of these, products that cuBLASLt computes.
    pub taken: usize,
    /// Products that stay with the plan's kernels, by the reason.
    pub kept: BTreeMap<&'static str, usize>,
    /// Partitions, as indices into those of the plan, on whose streams cuBLASLt computes a product.
    pub partitions: BTreeSet<usize>,
}

impl ProductCounts {
    /// Adds those of another device.
    pub(crate) fn add(&mut self, other: &Self) {
        self.launches += other.launches;
        self.taken += other.taken;
        for (why, count) in &other.kept {
            *self.kept.entry(why).or_default() += count;
        }
        self.partitions.extend(&other.partitions);
    }

    /// A line for people. Other processes have devices, and products, of their own.
    pub(crate) fn told(&self, version: &str, has_others: bool) -> String {
        let kept: usize = self.kept.values().sum();
        let of = if has_others { " on the devices of this process" } else { "" };
        let mut text = format!(
            "cuBLASLt {version} computes {} of {} matrix products of a step{of} ({} launches in all)",
            self.taken,
            self.taken + kept,
            self.launches
        );
        for (at, (why, count)) in self.kept.iter().enumerate() {
            let lead = if at == 0 { "; kept" } else { "," };
            let _ = write!(text, "{lead} {count} {why}");
        }
        text
    }
}

/// A product with everything filled in.
struct Matmul {
    description: Object,
    /// Left operand, right operand, result.
    layouts: [Object; 3],
    addresses: [u64; 3],
    beta: f32,
    algorithm: [u64; 8],
}

/// The products of a device. The device's primary context is current where this is made, used and dropped.
pub(crate) struct Products {
    library: &'static CublasLt,
    handle: Object,
    preference: Object,
    /// By kernel.
    layouts: FxHashMap<usize, [Object; 3]>,
    /// By kernel, alignments of the operands and most multiprocessors; `None` where there is no way.
    ways: FxHashMap<(usize, [u32; 3], u32), Option<Way>>,
    all: Vec<Matmul>,
    /// By instruction of the program.
    of: FxHashMap<u32, usize>,
    /// By stream.
    workspaces: Vec<DeviceMemory>,
    workspace_bytes: Vec<u64>,
    pub(crate) counts: ProductCounts,
}

/// Sets an attribute of an object by one of its library's functions.
macro_rules! set {
    ($products:expr, $function:ident, $object:expr, $attribute:expr, $value:expr) => {{
        let value = $value;
        // SAFETY: an object of this library, and an attribute of it that has the type of the value, which lives here.
        let status = unsafe {
            ($products.library.api.$function)(
                $object,
                $attribute,
                (&raw const value).cast::<c_void>(),
                size_of_val(&value),
            )
        };
        $products.library.check("describing a product", status)?
    }};
}

/// Makes an object by one of its library's functions.
macro_rules! make {
    ($library:expr, $function:ident $(, $argument:expr)*) => {{
        let mut object: Object = null_mut();
        // SAFETY: the object is written to a pointer that lives here.
        let status = unsafe { ($library.api.$function)(&raw mut object $(, $argument)*) };
        $library.check("preparing products", status)?;
        object
    }};
}

impl Products {
    /// Takes what products it can from a device's program.
    ///
    /// # Errors
    /// Calls that fail; too little memory for workspace.
    pub(crate) fn of(
        library: &'static CublasLt,
        device: &Device,
        plan: &Plan,
    ) -> Result<Self, CudaError> {
        device.enter_primary()?;
        let program = &plan.programs[plan.device_program[device.number].index()];
        let mut products = Self {
            library,
            handle: make!(library, cublasLtCreate),
            preference: make!(library, cublasLtMatmulPreferenceCreate),
            layouts: FxHashMap::default(),
            ways: FxHashMap::default(),
            all: Vec::new(),
            of: FxHashMap::default(),
            workspaces: Vec::new(),
            workspace_bytes: vec![0; program.streams.len()],
            counts: ProductCounts::default(),
        };
        let set = |products: &Self, attribute, value: u64| -> Result<(), CudaError> {
            let preference = products.preference;
            set!(products, cublasLtMatmulPreferenceSetAttribute, preference, attribute, value);
            Ok(())
        };
        set(&products, MOST_WORKSPACE, WORKSPACE)?;
        let Code::Ptx(ptx) = &plan.code else { return Ok(products) };
        for (at, instr) in program.instrs.iter().enumerate() {
            let Kind::Launch { kernel, args, .. } = &instr.kind else { continue };
            products.counts.launches += 1;
            let launches = &ptx.kernels[kernel.index()];
            let Some(product) = launches.product.filter(|_| !launches.stages.is_empty()) else {
                continue;
            };
            let stream = usize::from(instr.stream);
            let params = &plan.kernels[kernel.index()].params;
            // Its handle is of the primary context.
            let kept = match element_of(&product, params, device.is_primary(stream)) {
                Err(why) => Some(why),
                Ok(dtype) => {
                    let most = multiprocessors(plan, program, stream);
                    let at_bytes = |b: &BufferId| device.arena.at(program.buffer(*b).offset);
                    let operands: Vec<u64> = args.iter().map(at_bytes).collect();
                    match products.take(kernel.index(), &product, dtype, &operands, most)? {
                        Some(bytes) => {
                            products.of.insert(at as u32, products.all.len() - 1);
                            let workspace = &mut products.workspace_bytes[stream];
                            *workspace = bytes.max(*workspace);
                            None
                        }
                        None => Some("as cuBLASLt has no way to compute them"),
                    }
                }
            };
            let counts = &mut products.counts;
            if let Some(why) = kept {
                *counts.kept.entry(why).or_default() += 1;
            } else {
                counts.taken += 1;
                counts.partitions.extend(plan.partition_of(&program.streams[stream]));
            }
        }
        for bytes in products.workspace_bytes.clone() {
            let what = "workspace of cuBLASLt";
            products.workspaces.push(device.memory(&program.name, bytes, what)?);
        }
        Ok(products)
    }

    /// Which product an instruction is, if it is one.
    pub(crate) fn find(&self, instr: u32) -> Option<usize> {
        self.of.get(&instr).copied()
    }

    /// Bytes of workspace, of all streams.
    pub(crate) fn workspace(&self) -> u64 {
        self.workspace_bytes.iter().sum()
    }

    /// Prepares a product, and gives the bytes of workspace that it needs; `None` if there is no way.
    fn take(
        &mut self,
        kernel: usize,
        product: &Product,
        dtype: DType,
        operands: &[u64],
        most: u32,
    ) -> Result<Option<u64>, CudaError> {
        let [a, b, .., c] = *operands else { unreachable!("{VERIFIED}") };
        let layouts = self.layouts(kernel, product, dtype)?;
        let library = self.library;
        let description = make!(library, cublasLtMatmulDescCreate, COMPUTE_F32, F32);
        let beta = if product.accumulate { 1.0 } else { 0.0 };
        let addresses = [b, a, c];
        // Kept from here on, so that it is destroyed whatever fails below.
        self.all.push(Matmul { description, layouts, addresses, beta, algorithm: [0; 8] });
        let transposes = [product.transpose_b, product.transpose_a];
        for (attribute, _) in TRANSPOSE.iter().zip(transposes).filter(|(_, is_given)| *is_given) {
            set!(self, cublasLtMatmulDescSetAttribute, description, *attribute, TRANSPOSED);
        }
        if product.bias {
            set!(self, cublasLtMatmulDescSetAttribute, description, EPILOGUE, BIAS);
            set!(self, cublasLtMatmulDescSetAttribute, description, BIAS_POINTER, operands[2]);
        }
        if most > 0 {
            set!(self, cublasLtMatmulDescSetAttribute, description, MULTIPROCESSORS, most as c_int);
        }
        let alignments =
            addresses.map(|at| (1u64 << at.trailing_zeros().min(8)).min(ALIGNED) as u32);
        let way = match self.ways.get(&(kernel, alignments, most)) {
            Some(way) => *way,
            None => {
                let way = self.way(description, layouts, alignments)?;
                self.ways.insert((kernel, alignments, most), way);
                way
            }
        };
        if let (Some(way), Some(matmul)) = (way, self.all.last_mut()) {
            matmul.algorithm = way.algorithm;
        } else if let Some(matmul) = self.all.pop() {
            // SAFETY: made above, and used by nobody.
            unsafe { (library.api.cublasLtMatmulDescDestroy)(matmul.description) };
        }
        Ok(way.map(|way| way.workspace_bytes as u64))
    }

    /// The layouts of a kernel's operands and its result, as column-major matrices.
    fn layouts(
        &mut self,
        kernel: usize,
        product: &Product,
        dtype: DType,
    ) -> Result<[Object; 3], CudaError> {
        if let Some(layouts) = self.layouts.get(&kernel) {
            return Ok(*layouts);
        }
        let Product { m, n, k, batch, transpose_a, transpose_b, .. } = *product;
        let turned = |is_turned: bool, rows: u64, columns: u64| match is_turned {
            true => (columns, rows),
            false => (rows, columns),
        };
        let shapes = [turned(transpose_b, n, k), turned(transpose_a, k, m), (n, m)];
        let element = if dtype == DType::Bf16 { BF16 } else { F32 };
        let mut made = Vec::new();
        for (rows, columns) in shapes {
            let leading = rows as i64;
            let library = self.library;
            let layout =
                make!(library, cublasLtMatrixLayoutCreate, element, rows, columns, leading);
            made.push(layout);
            if batch > 1 {
                let (count, stride) = (batch as i32, (rows * columns) as i64);
                set!(self, cublasLtMatrixLayoutSetAttribute, layout, BATCH_COUNT, count);
                set!(self, cublasLtMatrixLayoutSetAttribute, layout, BATCH_STRIDE, stride);
            }
        }
        let layouts = [made[0], made[1], made[2]];
        self.layouts.insert(kernel, layouts);
        Ok(layouts)
    }

    /// The best way that the library knows, if any.
    fn way(
        &self,
        description: Object,
        [left, right, result]: [Object; 3],
        [a, b, c]: [u32; 3],
    ) -> Result<Option<Way>, CudaError> {
        for (attribute, alignment) in ALIGNMENTS.into_iter().zip([a, b, c, c]) {
            let preference = self.preference;
            set!(self, cublasLtMatmulPreferenceSetAttribute, preference, attribute, alignment);
        }
        let (mut way, mut count) = (Way::default(), 0);
        // SAFETY: objects of this library; there is room for the one way that is asked for.
        let status = unsafe {
            (self.library.api.cublasLtMatmulAlgoGetHeuristic)(
                self.handle,
                description,
                left,
                right,
                result,
                result,
                self.preference,
                1,
                &raw mut way,
                &raw mut count,
            )
        };
        if status == NOT_SUPPORTED || (status == 0 && count == 0) {
            return Ok(None);
        }
        self.library.check("asking how to compute a product", status)?;
        Ok((way.status == 0 && way.workspace_bytes as u64 <= WORKSPACE).then_some(way))
    }

    /// Puts a product on a stream.
    pub(crate) fn put(&self, product: usize, stream: usize, device: &Device) -> Result<(), String> {
        let Matmul { description, layouts, addresses, beta, algorithm } = &self.all[product];
        let alpha = 1f32;
        let workspace = &self.workspaces[stream];
        // SAFETY: objects of this library; operands are buffers of the arena of the sizes that the layouts say (verified with
        // the plan), whose use the plan's events order; the workspace is this stream's alone, and as large as is said.
        let status = unsafe {
            (self.library.api.cublasLtMatmul)(
                self.handle,
                *description,
                (&raw const alpha).cast(),
                addresses[0],
                layouts[0],
                addresses[1],
                layouts[1],
                (&raw const *beta).cast(),
                addresses[2],
                layouts[2],
                addresses[2],
                layouts[2],
                &raw const *algorithm,
                workspace.at(0),
                self.workspace_bytes[stream] as usize,
                device.streams[stream].raw,
            )
        };
        if status == 0 { Ok(()) } else { Err(self.library.describe(status)) }
    }
}

impl Drop for Products {
    fn drop(&mut self) {
        let api = &self.library.api;
        // SAFETY (all calls): made here, destroyed once, when all work has ended. A failure leaks it until the process ends.
        for matmul in &self.all {
            unsafe { (api.cublasLtMatmulDescDestroy)(matmul.description) };
        }
        for layout in self.layouts.values().flatten() {
            // SAFETY: see above.
            unsafe { (api.cublasLtMatrixLayoutDestroy)(*layout) };
        }
        // SAFETY: see above.
        unsafe {
            (api.cublasLtMatmulPreferenceDestroy)(self.preference);
            (api.cublasLtDestroy)(self.handle);
        }
    }
}

/// Why a product without an epilogue is known to have its parameters: `piper_plan::verify`, before the plan was loaded.
const VERIFIED: &str = "verified: the parameters are those of the product";

/// The element type of a product that cuBLASLt may compute, or why the product stays with the plan's kernels.
fn element_of(
    product: &Product,
    params: &[Param],
    is_primary: bool,
) -> Result<DType, &'static str> {
    // Comes first: what the parameters of such products are, nobody has verified.
    if product.epilogue {
        return Err("for what follows their sums");
    }
    match params.first().expect(VERIFIED).dtype {
        DType::F64 | DType::I32 => Err("for their element type"),
        _ if !is_primary => Err("for their green contexts"),
        _ if product.k == 0 => Err("as they are empty"),
        dtype => Ok(dtype),
    }
}

/// Most multiprocessors of a stream: those of its partition, if kernels keep to it themselves; else 0 for all.
fn multiprocessors(plan: &Plan, program: &Program, stream: usize) -> u32 {
    let of = plan.partition_of(&program.streams[stream]).map(|at| &plan.partitions[at]);
    of.filter(|p| p.method == Method::Grid).map_or(0, |p| p.size)
}

#[cfg(test)]
mod tests {
    use piper_plan::{KernelDecl, Mode, Ptx, PtxLaunches};

    use super::*;

    #[test]
    fn what_goes_where_is_told() {
        let mut counts = ProductCounts { launches: 9, taken: 3, ..ProductCounts::default() };
        assert_eq!(
            counts.told("12.8.4", false),
            "cuBLASLt 12.8.4 computes 3 of 3 matrix products of a step (9 launches in all)"
        );
        assert_eq!(
            counts.told("12.8.4", true),
            "cuBLASLt 12.8.4 computes 3 of 3 matrix products of a step on the devices of this process (9 launches in all)"
        );
        let kept =
            BTreeMap::from([("for their element type", 1), ("for what follows their sums", 2)]);
        let partitions = BTreeSet::from([1]);
        counts.add(&ProductCounts { launches: 9, taken: 1, kept, partitions });
        assert_eq!(counts.partitions, BTreeSet::from([1]));
        assert_eq!(
            counts.told("12.8.4", false),
            "cuBLASLt 12.8.4 computes 4 of 7 matrix products of a step (18 launches in all); kept 1 for their element type, 2 for what follows their sums"
        );
    }

    #[test]
    fn products_are_kept_for_what_keeps_them() {
        let param = |dtype| Param { mode: Mode::Read, dtype, elems: 4 };
        let plain = Product { m: 2, n: 2, k: 2, batch: 1, ..Product::default() };
        let followed = Product { epilogue: true, ..plain };
        assert_eq!(element_of(&plain, &[param(DType::Bf16)], true), Ok(DType::Bf16));
        // Whatever its parameters are.
        for params in [&[][..], &[param(DType::F64)]] {
            assert_eq!(element_of(&followed, params, false), Err("for what follows their sums"));
        }
        let kept = |product, dtype, is_primary| element_of(product, &[param(dtype)], is_primary);
        assert_eq!(kept(&plain, DType::F64, true), Err("for their element type"));
        assert_eq!(kept(&plain, DType::F32, false), Err("for their green contexts"));
        let empty = Product { k: 0, ..plain };
        assert_eq!(kept(&empty, DType::F32, true), Err("as they are empty"));
    }

    /// That parameters are missing is no reason to keep a product, as no plan is loaded where they are.
    #[test]
    fn a_product_without_parameters_is_no_plan() {
        let product = Some(Product { m: 2, n: 2, k: 2, batch: 1, ..Product::default() });
        let kernel = KernelDecl {
            symbol: "k".to_owned(),
            params: Vec::new(),
            scalars: 0,
            workspace_bytes: 0,
            cost: None,
        };
        let kernels = vec![PtxLaunches { stages: Vec::new(), product }];
        let ptx = Ptx { kernels, ..Ptx::default() };
        let plan = Plan { kernels: vec![kernel], code: Code::Ptx(ptx), ..Plan::default() };
        let faults = piper_plan::verify(&plan);
        let wanted =
            "kernel k is said to be 1 product(s) of 2x2 and 2x2, which its parameters are not";
        assert!(faults.iter().any(|fault| fault.message.contains(wanted)), "{faults:?}");
    }
}
