//! Elementwise operations as one scalar program.

use piper_dialects::nn;
use piper_ir::{Module, Op, Value};
use rustc_hash::FxHashMap;

use crate::catalog;
use crate::scalar::{ScalarOp, ScalarProgram, ValueId};

/// A program that grows operation by operation.
pub(super) struct ScalarBody<'m> {
    module: &'m Module,
    program: ScalarProgram,
    values: FxHashMap<Value, ValueId>,
}

impl<'m> ScalarBody<'m> {
    pub(super) fn new(module: &'m Module) -> Self {
        Self { module, program: ScalarProgram::default(), values: FxHashMap::default() }
    }

    /// Says that `value` is input number `input`.
    pub(super) fn input(&mut self, value: Value, input: u32) {
        let id = self.program.push(ScalarOp::Input(input));
        self.values.insert(value, id);
    }

    /// Appends an operation.
    pub(super) fn push(&mut self, op: Op) -> Result<(), String> {
        let module = self.module;
        let operand = |i: usize| -> Result<ValueId, String> {
            let value = module.operand(op, i);
            let known = self.values.get(&value).copied();
            known.ok_or_else(|| {
                format!("'{}' uses a value that is made later", module.name_text(op))
            })
        };
        let number = |name: &str| {
            let value = module.attr_by(op, name).and_then(|a| a.as_float(module.ctx()));
            value.ok_or_else(|| format!("'{}' lacks its {name}", module.name_text(op)))
        };
        let p = &mut self.program;
        let id = match module.name_text(op) {
            nn::Add::NAME => p.push(ScalarOp::Add(operand(0)?, operand(1)?)),
            nn::Mul::NAME => p.push(ScalarOp::Mul(operand(0)?, operand(1)?)),
            nn::Scale::NAME => {
                let factor = p.constant(number("factor")?);
                p.push(ScalarOp::Mul(operand(0)?, factor))
            }
            nn::Constant::NAME => p.constant(number("value")?),
            nn::StopGradient::NAME => operand(0)?,
            nn::Gelu::NAME => catalog::push_gelu(p, operand(0)?),
            nn::GeluDx::NAME => catalog::push_gelu_dx(p, operand(0)?, operand(1)?),
            nn::Silu::NAME => catalog::push_silu(p, operand(0)?),
            nn::SiluDx::NAME => catalog::push_silu_dx(p, operand(0)?, operand(1)?),
            name => return Err(format!("'{name}' does not work value by value")),
        };
        self.values.insert(module.result(op, 0), id);
        Ok(())
    }

    /// The program that yields `results`.
    pub(super) fn finish(mut self, results: &[Value]) -> Result<ScalarProgram, String> {
        let ids = results.iter().map(|v| self.values.get(v).copied());
        self.program.results = ids
            .collect::<Option<_>>()
            .ok_or("a result is not made by an elementwise operation of the kernel")?;
        Ok(self.program)
    }
}
