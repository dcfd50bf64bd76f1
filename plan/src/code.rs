//! The code of a plan's kernels, and how it is launched where that is not a plain call.

use crate::schema::{KernelDecl, Kind, Mode, Plan, ProgramId};
use crate::verify::{Fault, FaultKind, MAX_FAULTS};
use serde::{Deserialize, Serialize};

/// The kernels' code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Code {
    /// None: kernels come from whoever runs the plan (an interpreter, say).
    #[default]
    None,
    /// A shared object that exports every kernel symbol.
    SharedObject(Vec<u8>),
    /// A textual module that defines every kernel, for interpreters and for accelerators' assemblers.
    ModuleText(String),
    /// PTX for an NVIDIA GPU.
    Ptx(Ptx),
    /// A shared object for each of several levels of vector instructions; whoever loads the plan takes the best that its processor
    /// has.
    Variants(Vec<Variant>),
}

/// Code of all kernels for processors with some vector instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// Which: `portable`, `avx2`, `avx512` or `neon`.
    pub vectors: String,
    /// A shared object that exports every kernel symbol.
    pub object: Vec<u8>,
}

impl Code {
    /// What it is called in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Code::None => "no code",
            Code::SharedObject(_) | Code::Variants(_) => "machine code of a CPU",
            Code::ModuleText(_) => "a module's text",
            Code::Ptx(_) => "PTX",
        }
    }
}

/// Kernels for an NVIDIA GPU: one text, and for each kernel the launches that it takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ptx {
    /// The chip, as the text's `.target` says: `sm_90a`. A name that ends in a letter runs on that chip only.
    pub chip: String,
    /// The module.
    pub text: String,
    /// One entry per kernel of [`Plan::kernels`], in its order.
    pub kernels: Vec<PtxLaunches>,
}

/// The launches of a kernel, one after the other on one stream; none for a kernel without elements.
///
/// Each takes the same arguments: a pointer, aligned to [`PTX_ALIGN`], for each buffer of the declaration, an f64 for each of
/// its scalars, and a pointer to its workspace if that is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PtxLaunches {
    /// In order.
    pub stages: Vec<PtxStage>,
    /// What the kernel computes if that is a matrix product: a library may have a better one.
    pub product: Option<Product>,
}

/// A kernel `c[m,n] = a·b (+ bias[n])`, or `c += a·b`, repeated `batch` times over consecutive operands, all dense and row-major.
/// Its parameters are `a, b, [bias], [operands of the epilogue..], c, [further results..]`, of one element type; bf16 is added up in f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// Rows of the product.
    pub m: u64,
    /// Columns of the product.
    pub n: u64,
    /// Length of the contraction.
    pub k: u64,
    /// Number of independent products.
    pub batch: u64,
    /// `a` is stored `[k, m]` rather than `[m, k]`.
    pub transpose_a: bool,
    /// `b` is stored `[n, k]` rather than `[k, n]`.
    pub transpose_b: bool,
    /// There is a `bias[n]`, added to every row.
    pub bias: bool,
    /// Added to `c` instead of overwriting it.
    pub accumulate: bool,
    /// More is done to the sums than the above before they are stored.
    pub epilogue: bool,
}

impl Product {
    /// Elements of the parameters of a product without an epilogue, in order; `None` beyond 64 bits.
    pub fn elems(&self) -> Option<Vec<u64>> {
        let of = |rows: u64, cols: u64| rows.checked_mul(cols)?.checked_mul(self.batch);
        let mut elems = vec![of(self.m, self.k)?, of(self.k, self.n)?];
        elems.extend(self.bias.then_some(self.n));
        elems.push(of(self.m, self.n)?);
        Some(elems)
    }
}

/// One launch of an entry of the PTX.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PtxStage {
    /// Name of the entry.
    pub entry: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, in x.
    pub block: u32,
    /// Bytes of shared memory to ask for at launch, beside what the entry declares.
    pub shared_bytes: u32,
}

/// What the pointers of a launch are multiples of, in bytes.
pub const PTX_ALIGN: u64 = 16;

/// What is wrong with the launches of a plan's PTX, apart from what an assembler says.
pub(crate) fn faults(plan: &Plan) -> Vec<Fault> {
    let Code::Ptx(ptx) = &plan.code else { return Vec::new() };
    let fault = |message: String| Fault::new(FaultKind::Structure, message);
    let (have, want) = (ptx.kernels.len(), plan.kernels.len());
    if have != want {
        return vec![fault(format!("the PTX launches {have} kernels, but the plan has {want}"))];
    }
    let mut found = misaligned(plan);
    for (launches, declared) in ptx.kernels.iter().zip(&plan.kernels) {
        found.extend(launches.product.and_then(|product| mismatch(&product, declared)).map(fault));
        for stage in &launches.stages {
            let PtxStage { entry, grid, block, .. } = stage;
            if entry.is_empty() || entry.contains(char::is_whitespace) || entry.contains('\0') {
                found
                    .push(fault(format!("kernel {} has an entry without a name", declared.symbol)));
            } else if grid.contains(&0) || *block == 0 || *block > 1024 {
                let [x, y, z] = grid;
                found.push(fault(format!(
                    "kernel {} launches {entry} on a grid of {x}x{y}x{z} blocks of {block} threads; blocks have 1 to 1024 threads, grids at least one block",
                    declared.symbol
                )));
            }
        }
    }
    found
}

/// How a kernel's parameters differ from those of the product that it is said to be. What libraries are told of is only that.
fn mismatch(product: &Product, declared: &KernelDecl) -> Option<String> {
    if product.epilogue {
        return None;
    }
    let have = declared.params.iter().map(|param| param.elems);
    let is_one_type = declared.params.iter().all(|p| p.dtype == declared.params[0].dtype);
    let writes = declared.params.iter().rposition(|p| p.mode != Mode::Read);
    let first = declared.params.iter().position(|p| p.mode != Mode::Read);
    let is_last = first == writes && writes.is_some_and(|at| at + 1 == declared.params.len());
    let elems = product.elems().filter(|elems| have.eq(elems.iter().copied()));
    let Product { m, n, k, batch, .. } = product;
    if elems.is_none() || !is_one_type || !is_last || declared.scalars > 0 {
        return Some(format!(
            "kernel {} is said to be {batch} product(s) of {m}x{k} and {k}x{n}, which its parameters are not",
            declared.symbol
        ));
    }
    let (mode, what) = match product.accumulate {
        true => (Mode::ReadWrite, "added to its result"),
        false => (Mode::Write, "written over its result"),
    };
    let is_so = declared.params.last().is_some_and(|result| result.mode == mode);
    (!is_so).then(|| {
        format!(
            "kernel {} is said to be a product that is {what}, which is not how it takes that",
            declared.symbol
        )
    })
}

/// Launches with a buffer that does not begin at a multiple of [`PTX_ALIGN`].
fn misaligned(plan: &Plan) -> Vec<Fault> {
    let mut found = Vec::new();
    for (at, program) in plan.programs.iter().enumerate() {
        for (i, instr) in program.instrs.iter().enumerate() {
            let Kind::Launch { args, .. } = &instr.kind else { continue };
            let buffers = args.iter().filter_map(|arg| program.buffers.get(arg.index()));
            if let Some(buffer) = { buffers }.find(|b| !b.offset.is_multiple_of(PTX_ALIGN)) {
                let message = format!(
                    "kernels in PTX read {PTX_ALIGN} bytes at a time, but %{} begins at byte {}; make the sizes of the parameters that share its bucket multiples of {PTX_ALIGN} bytes",
                    buffer.name, buffer.offset
                );
                let fault = Fault::new(FaultKind::Range, message);
                found.push(fault.at(plan, ProgramId(at as u32), i, "launched here"));
            }
            if found.len() >= MAX_FAULTS {
                return found;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceId;
    use crate::schema::{Buffer, BufferId, DType, Instr, KernelId, Param, Program};

    fn plan(offset: u64, stage: PtxStage) -> Plan {
        let param = Param { mode: Mode::Write, dtype: DType::F32, elems: 1 };
        let kernel = KernelDecl {
            symbol: "k".to_owned(),
            params: vec![param],
            scalars: 0,
            workspace_bytes: 0,
            cost: None,
        };
        let buffer =
            Buffer { name: "x".to_owned(), offset, elems: 1, dtype: DType::F32, persistent: true };
        let launch = Kind::Launch { kernel: KernelId(0), args: vec![BufferId(0)], scalars: vec![] };
        let program = Program {
            name: "p".to_owned(),
            arena_bytes: 64,
            buffers: vec![buffer],
            streams: vec!["compute".to_owned()],
            instrs: vec![Instr::new(0, SourceId(0), launch)],
            ..Program::default()
        };
        let kernels = vec![PtxLaunches { stages: vec![stage], product: None }];
        Plan {
            programs: vec![program],
            device_program: vec![ProgramId(0)],
            kernels: vec![kernel],
            code: Code::Ptx(Ptx { chip: "sm_80".to_owned(), text: String::new(), kernels }),
            ..Plan::default()
        }
    }

    fn said(plan: &Plan) -> String {
        crate::verify(plan).iter().map(|f| f.render(plan)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn launches_that_cannot_be_are_found() {
        let stage =
            PtxStage { entry: "k".to_owned(), grid: [1, 1, 1], block: 32, ..PtxStage::default() };
        assert_eq!(said(&plan(16, stage.clone())), "");
        assert!(said(&plan(4, stage.clone())).contains("%x begins at byte 4"));
        let none = PtxStage { grid: [0, 1, 1], ..stage.clone() };
        assert!(said(&plan(16, none)).contains("a grid of 0x1x1 blocks of 32 threads"));
        let nameless = PtxStage { entry: String::new(), ..stage.clone() };
        assert!(said(&plan(16, nameless)).contains("without a name"));
        let mut other = plan(16, stage.clone());
        let Code::Ptx(ptx) = &mut other.code else { panic!("PTX") };
        ptx.kernels[0].product = Some(Product { m: 1, n: 1, k: 1, batch: 1, ..Product::default() });
        assert!(said(&other).contains("1 product(s) of 1x1 and 1x1, which its parameters are not"));
        // A product of one element each, and what it does to the third.
        let multiplies = |mode: Mode, accumulate: bool| {
            let mut plan = plan(16, stage.clone());
            let param = |mode| Param { mode, dtype: DType::F32, elems: 1 };
            plan.kernels[0].params = vec![param(Mode::Read), param(Mode::Read), param(mode)];
            let Code::Ptx(ptx) = &mut plan.code else { panic!("PTX") };
            let one = Product { m: 1, n: 1, k: 1, batch: 1, ..Product::default() };
            ptx.kernels[0].product = Some(Product { accumulate, ..one });
            faults(&plan).iter().map(|f| f.render(&plan)).collect::<String>()
        };
        assert_eq!(multiplies(Mode::Write, false), "");
        assert_eq!(multiplies(Mode::ReadWrite, true), "");
        assert!(multiplies(Mode::ReadWrite, false).contains("a product that is written over its"));
        assert!(multiplies(Mode::Write, true).contains("a product that is added to its result"));
        let mut short = plan(16, stage);
        if let Code::Ptx(ptx) = &mut short.code {
            ptx.kernels.clear();
        }
        assert!(said(&short).contains("launches 0 kernels, but the plan has 1"));
    }
}
