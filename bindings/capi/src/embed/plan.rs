//! Plans: one program for each class of devices, and the kernels they launch.

use piper::plan::{DType, Plan};
use piper::sim::{Machine, html, json, table, trace};
use piper::{Executable, Failure};

use super::{Problem, Tag, done};
use crate::fault::{Fault, PIPER_OUT_OF_RANGE, PiperStatus, caught};
use crate::report::PiperError;
use crate::text::{PiperStr, PiperString, list, store};

/// Elements of 4 bytes, IEEE binary32.
pub const PIPER_F32: u32 = 0;
/// Elements of 8 bytes, IEEE binary64.
pub const PIPER_F64: u32 = 1;
/// Elements of 4 bytes, signed integers.
pub const PIPER_I32: u32 = 2;
/// Elements of 2 bytes, bfloat16.
pub const PIPER_BF16: u32 = 3;

/// A table for people.
pub const PIPER_SIM_TABLE: u32 = 0;
/// JSON.
pub const PIPER_SIM_JSON: u32 = 1;
/// A trace for Perfetto.
pub const PIPER_SIM_TRACE: u32 = 2;
/// A page with the timeline drawn.
pub const PIPER_SIM_HTML: u32 = 3;

/// An array with a name, row-major, in the machine's byte order. As a result it is borrowed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PiperTensor {
    /// The name of the input, output, parameter or state.
    pub name: PiperStr,
    /// Extents; global ones, whatever the devices hold.
    pub shape: *const u64,
    /// How many.
    pub rank: usize,
    /// One of `PIPER_F32`, `PIPER_F64`, `PIPER_I32`, `PIPER_BF16`.
    pub dtype: u32,
    /// The elements; null where only name, shape and type are told.
    pub data: *const std::ffi::c_void,
    /// Bytes of them.
    pub size: usize,
}

impl PiperTensor {
    /// Nothing.
    pub(super) const NONE: Self = Self {
        name: PiperStr { data: std::ptr::null(), len: 0 },
        shape: std::ptr::null(),
        rank: 0,
        dtype: PIPER_F32,
        data: std::ptr::null(),
        size: 0,
    };
}

pub(super) fn dtype_number(dtype: DType) -> u32 {
    match dtype {
        DType::F32 => PIPER_F32,
        DType::F64 => PIPER_F64,
        DType::I32 => PIPER_I32,
        DType::Bf16 => PIPER_BF16,
    }
}

/// Device programs with the kernels they launch. Made by a compiler or read from a file.
#[derive(Debug)]
pub struct PiperPlan {
    tag: Tag,
    pub(super) executable: Executable,
}

/// Gives a plan away.
pub(super) fn plan_of(executable: Executable) -> *mut PiperPlan {
    Box::into_raw(Box::new(PiperPlan { tag: Tag::PLAN, executable }))
}

/// What a pointer of a caller points to, if it is a plan that lives.
pub(super) fn plan<'a>(plan: *const PiperPlan) -> Result<&'a PiperPlan, Fault> {
    // SAFETY: the header's contract: null, or a plan of this library that was not destroyed.
    let found = unsafe { plan.as_ref() }.filter(|plan| plan.tag == Tag::PLAN);
    found.ok_or_else(|| Fault::null("the plan"))
}

/// Destroys a plan; null is none. What runs it lives on. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_plan_destroy(given: *mut PiperPlan) {
    if plan(given).is_ok() {
        // SAFETY: the header's contract: made by this library, as a box, and not used any more.
        let mut owned = unsafe { Box::from_raw(given) };
        owned.tag = Tag::DEAD;
    }
}

/// Reads a `.pplan` file. `error` may be null. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_plan_read(
    path: PiperStr,
    out: *mut *mut PiperPlan,
    error: *mut *mut PiperError,
) -> PiperStatus {
    store(out, std::ptr::null_mut());
    done("piper_plan_read", error, || {
        let made = Executable::read(path.get("the path")?)?;
        if !out.is_null() {
            store(out, plan_of(made));
        }
        Ok(())
    })
}

/// Reads the contents of a `.pplan` file. `error` may be null. Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_plan_from_bytes(
    data: *const u8,
    size: usize,
    out: *mut *mut PiperPlan,
    error: *mut *mut PiperError,
) -> PiperStatus {
    store(out, std::ptr::null_mut());
    done("piper_plan_from_bytes", error, || {
        let made = Executable::of_bytes(list(data, size))?;
        if !out.is_null() {
            store(out, plan_of(made));
        }
        Ok(())
    })
}

/// Writes a `.pplan` file. What the interpreter computes is not in it. `error` may be null. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_plan_write(
    given: *const PiperPlan,
    path: PiperStr,
    error: *mut *mut PiperError,
) -> PiperStatus {
    done("piper_plan_write", error, || Ok(plan(given)?.executable.write(path.get("the path")?)?))
}

/// The contents of a `.pplan` file, to be freed by the caller. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_plan_bytes(
    given: *const PiperPlan,
    out: *mut PiperString,
) -> PiperStatus {
    given_text(given, "piper_plan_bytes", out, |executable| executable.plan.to_bytes())
}

/// The plan as text, to be freed by the caller: its tables, and one program for each class of devices. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_plan_text(
    given: *const PiperPlan,
    out: *mut PiperString,
) -> PiperStatus {
    given_text(given, "piper_plan_text", out, |executable| executable.text().into_bytes())
}

/// What each device issues, in order, as text to be freed by the caller. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_plan_launches(
    given: *const PiperPlan,
    out: *mut PiperString,
) -> PiperStatus {
    given_text(given, "piper_plan_launches", out, |e| e.launch_sequence().into_bytes())
}

fn given_text(
    given: *const PiperPlan,
    function: &str,
    out: *mut PiperString,
    write: impl FnOnce(&Executable) -> Vec<u8>,
) -> PiperStatus {
    done(function, std::ptr::null_mut(), || {
        if out.is_null() {
            return Err(Fault::null("where the text goes").into());
        }
        store(out, PiperString::own(write(&plan(given)?.executable)));
        Ok(())
    })
}

/// How many devices the plan is for. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_plan_num_devices(given: *const PiperPlan) -> usize {
    plan(given).map_or(0, |plan| plan.executable.plan.devices())
}

/// How many inputs a step wants. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_plan_num_inputs(given: *const PiperPlan) -> usize {
    plan(given).map_or(0, |plan| plan.executable.plan.inputs.len())
}

/// An input that a step wants: name, shape and type, without data; nothing if there are not so many. Lives as long as the plan.
/// Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_plan_input(given: *const PiperPlan, index: usize) -> PiperTensor {
    let found = caught(|| {
        let inputs = &plan(given)?.executable.plan.inputs;
        inputs.get(index).ok_or_else(|| Fault::range("input", index, inputs.len()))
    });
    found.map_or(PiperTensor::NONE, |input| PiperTensor {
        name: PiperStr::of(&input.name),
        shape: input.shape.as_ptr(),
        rank: input.shape.len(),
        dtype: dtype_number(input.dtype),
        ..PiperTensor::NONE
    })
}

/// Plays the programs on a model of a machine, whose file's text `machine` is (docs/simulation.md), and writes what comes out in
/// one of the forms `PIPER_SIM_*`, to be freed by the caller. `error` may be null. Threads: reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_plan_simulate(
    given: *const PiperPlan,
    machine: PiperStr,
    form: u32,
    out: *mut PiperString,
    error: *mut *mut PiperError,
) -> PiperStatus {
    done("piper_plan_simulate", error, || {
        let executable = &plan(given)?.executable;
        let machine = Machine::parse(machine.get("the machine")?)
            .map_err(|why| Failure::new(format!("the machine: {why}")))?;
        let outcome = executable.simulate(&machine)?;
        let plan: &Plan = &executable.plan;
        let text = match form {
            PIPER_SIM_TABLE => table::render(plan, &machine, &outcome),
            PIPER_SIM_JSON => json::render(plan, &machine, &outcome),
            PIPER_SIM_TRACE => trace::render(plan, &outcome),
            PIPER_SIM_HTML => html::render(plan, &machine, &outcome),
            other => {
                let text = format!("{other} is no form of an outcome");
                return Err(Problem::Fault(Fault::new(PIPER_OUT_OF_RANGE, text)));
            }
        };
        if !out.is_null() {
            store(out, PiperString::own(text));
        }
        Ok(())
    })
}
