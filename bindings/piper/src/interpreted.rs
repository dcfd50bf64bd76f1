//! Kernels computed by the reference interpreter.

use std::sync::Arc;

use piper_interp::kernel::{Evaluator, Library, Mode};
use piper_interp::tensor::{Bf16, Data};
use piper_plan::KernelDecl;
use piper_runtime::{Arg, Kernel, KernelLibrary, Slice, SliceMut};

/// The kernels of a module.
pub(crate) struct Interpreted(pub(crate) Library);

impl KernelLibrary for Interpreted {
    fn kernel(&self, decl: &KernelDecl) -> Result<Kernel, String> {
        let evaluator = self
            .0
            .get(&decl.symbol)
            .ok_or_else(|| format!("nothing in the module is called @{}", decl.symbol))?;
        Ok(Kernel::Closure(Arc::new(move |args: &mut [Arg<'_>], scalars: &[f64]| {
            launch(&evaluator, args, scalars)
        })))
    }
}

/// Runs an evaluator on buffers.
fn launch(evaluator: &Evaluator, args: &mut [Arg<'_>], scalars: &[f64]) -> Result<(), String> {
    let modes = evaluator.parameters().iter().map(|p| p.mode);
    let inputs = args.iter().zip(modes.clone()).filter(|(_, mode)| *mode != Mode::Write);
    let inputs: Vec<Data> = inputs.map(|(arg, _)| contents(arg)).collect::<Result<_, _>>()?;
    let outputs = evaluator.run(inputs, scalars)?;
    let written = args.iter_mut().zip(modes).filter(|(_, mode)| *mode != Mode::Read);
    for ((arg, _), data) in written.zip(&outputs) {
        store(arg, data)?;
    }
    Ok(())
}

fn contents(arg: &Arg<'_>) -> Result<Data, String> {
    Ok(match arg {
        Arg::Read(Slice::F32(v)) => Data::F32(v.to_vec()),
        Arg::Read(Slice::F64(v)) => Data::F64(v.to_vec()),
        Arg::Read(Slice::I32(v)) => Data::I32(v.to_vec()),
        Arg::Write(SliceMut::F32(v)) => Data::F32(v.to_vec()),
        Arg::Write(SliceMut::F64(v)) => Data::F64(v.to_vec()),
        Arg::Write(SliceMut::I32(v)) => Data::I32(v.to_vec()),
        Arg::Read(Slice::Bf16(v)) => Data::Bf16(v.iter().map(|bits| Bf16(*bits)).collect()),
        Arg::Write(SliceMut::Bf16(v)) => Data::Bf16(v.iter().map(|bits| Bf16(*bits)).collect()),
    })
}

fn store(arg: &mut Arg<'_>, data: &Data) -> Result<(), String> {
    match (arg, data) {
        (Arg::Write(SliceMut::F32(to)), Data::F32(from)) if to.len() == from.len() => {
            to.copy_from_slice(from)
        }
        (Arg::Write(SliceMut::F64(to)), Data::F64(from)) if to.len() == from.len() => {
            to.copy_from_slice(from)
        }
        (Arg::Write(SliceMut::I32(to)), Data::I32(from)) if to.len() == from.len() => {
            to.copy_from_slice(from)
        }
        (Arg::Write(SliceMut::Bf16(to)), Data::Bf16(from)) if to.len() == from.len() => {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from.0);
        }
        _ => return Err("the interpreter's result does not fit its buffer".to_owned()),
    }
    Ok(())
}
