//! `kernel.func`s: each kind has one form of body.

use piper_dialects::{kernel, nn};
use piper_ir::{Module, Op, Value};

use super::elements;
use super::scalar_body::ScalarBody;
use crate::kernel::{
    Access, Attention, Body, CrossEntropy, Embedding, Epilogue, Gemm, Kernel, Map, Mode, Norm,
    NormKind, Operand,
};
use crate::scalar::{Real, ScalarProgram};

/// The parts of a kernel.
struct Parts<'m> {
    module: &'m Module,
    ops: Vec<Op>,
    arguments: &'m [Value],
    results: Vec<Value>,
}

/// The description of a kernel.
pub(super) fn kernel(module: &Module, view: kernel::Func) -> Result<Kernel, String> {
    let block = view.block(module).ok_or("it has no body")?;
    let end = view.terminator(module).ok_or("it does not return")?;
    let results: Vec<Value> = end.operands(module).collect();
    let parts = Parts { module, ops: view.fused(module), arguments: module.args(block), results };
    let first = *parts.ops.first().ok_or("it is empty")?;
    if let Some(why) = nn::declared_only(module, first) {
        return Err(why);
    }
    let made = *parts.results.first().ok_or("it has no result")?;
    // A cast is described by what it reads, everything else by what it makes.
    let typed =
        if nn::Convert::cast(module, first).is_some() { module.operand(first, 0) } else { made };
    let (_, dtype) = elements(module, module.ty(typed))?;
    let body = match view.kind(module).as_str(module.ctx()).unwrap_or("") {
        "map" => parts.map()?,
        "gemm" => parts.gemm(first)?,
        "norm_dx" if parts.ops.len() > 1 => parts.sum_with_norm_gradient(first)?,
        _ => parts.alone(first)?,
    };
    Ok(Kernel::new(dtype, body))
}

impl Parts<'_> {
    fn elems(&self, value: Value) -> Result<u64, String> {
        Ok(elements(self.module, self.module.ty(value))?.0)
    }

    /// Size of dimension `from_last` counted from the last one.
    fn size(&self, value: Value, from_last: usize) -> u64 {
        let shape =
            self.module.ty(value).as_tensor(self.module.ctx()).map_or(&[][..], |(shape, _)| shape);
        shape.iter().rev().nth(from_last).map_or(1, |&n| u64::try_from(n).unwrap_or(0))
    }

    /// Rows of a tensor whose rows are along the last dimension, and their length.
    fn rows(&self, value: Value) -> Result<(u64, u64), String> {
        let cols = self.size(value, 0);
        Ok((self.elems(value)? / cols.max(1), cols))
    }

    fn count(&self, op: Op, name: &str) -> Result<u64, String> {
        let value = self.module.attr_by(op, name).and_then(|a| a.as_int(self.module.ctx()));
        value.and_then(|v| u64::try_from(v).ok()).ok_or_else(|| format!("'{name}' is no count"))
    }

    fn real(&self, op: Op, name: &str) -> Result<Real, String> {
        let value = self.module.attr_by(op, name).and_then(|a| a.as_number(self.module.ctx()));
        value.map(Real::new).ok_or_else(|| format!("'{name}' is no number"))
    }

    fn map(&self) -> Result<Body, String> {
        let module = self.module;
        let elems = self.elems(self.results[0])?;
        let mut body = ScalarBody::new(module);
        for (i, &argument) in self.arguments.iter().enumerate() {
            if self.elems(argument)? != elems {
                return Err(format!("argument {i} has another shape than the results"));
            }
            body.input(argument, i as u32);
        }
        self.ops.iter().try_for_each(|op| body.push(*op))?;
        let read = Operand { access: Access::Full, mode: Mode::Read };
        let write = Operand { access: Access::Full, mode: Mode::Write };
        let (reads, writes) = (self.arguments.len(), self.results.len());
        Ok(Body::Map(Map {
            rows: 1,
            cols: elems,
            operands: [vec![read; reads], vec![write; writes]].concat(),
            scalars: 0,
            uniforms: ScalarProgram::default(),
            body: body.finish(&self.results)?,
            stores: (reads as u32..(reads + writes) as u32).collect(),
        }))
    }

    /// A product and what follows it elementwise.
    fn gemm(&self, product: Op) -> Result<Body, String> {
        let module = self.module;
        let (first, second) = (module.operand(product, 0), module.operand(product, 1));
        let made = module.result(product, 0);
        let is_stored_transposed = module.attr_by(product, "transpose_w").is_some();
        let (mut own, bias) = (vec![first, second], module.num_operands(product) == 3);
        let (m, n, k, transpose_a, transpose_b) = match module.name_text(product) {
            nn::Linear::NAME => {
                let (rows, k) = self.rows(first)?;
                (rows, self.size(made, 0), k, false, is_stored_transposed)
            }
            // The weight is stored [K, N] and read as [N, K].
            nn::LinearDx::NAME => {
                let (rows, k) = self.rows(first)?;
                (rows, self.size(made, 0), k, false, !is_stored_transposed)
            }
            nn::LinearDw::NAME => {
                if is_stored_transposed {
                    own.reverse();
                }
                let (rows, m) = self.rows(own[0])?;
                (m, self.size(own[1], 0), rows, true, false)
            }
            // A product for each expert, of the rows of all sequences.
            nn::ExpertLinear::NAME => {
                let rows = self.size(first, 2) * self.size(first, 1);
                (rows, self.size(made, 0), self.size(first, 0), false, false)
            }
            nn::ExpertLinearDx::NAME => {
                let rows = self.size(first, 2) * self.size(first, 1);
                (rows, self.size(made, 0), self.size(first, 0), false, true)
            }
            nn::ExpertLinearDw::NAME => {
                let rows = self.size(first, 2) * self.size(first, 1);
                (self.size(first, 0), self.size(second, 0), rows, true, false)
            }
            name => return Err(format!("'{name}' is no matrix product")),
        };
        let batch = match module.name_text(product) {
            nn::ExpertLinear::NAME | nn::ExpertLinearDx::NAME | nn::ExpertLinearDw::NAME => {
                self.size(first, 3)
            }
            _ => 1,
        };
        if bias {
            own.push(module.operand(product, 2));
        }
        // An argument may serve as a factor and again later, but then it is passed twice.
        let Some((factors, rest)) =
            self.arguments.split_at_checked(own.len()).filter(|(f, _)| *f == own)
        else {
            return Err("its first arguments are not the factors of its product in order".into());
        };
        let own_count = factors.len();
        let epilogue = if self.ops.len() == 1 && self.results == [made] {
            None
        } else {
            let mut body = ScalarBody::new(module);
            body.input(made, 0);
            for (i, &argument) in rest.iter().enumerate() {
                if module.ty(argument) != module.ty(made) {
                    return Err(format!(
                        "argument {} has another shape than the product",
                        own_count + i
                    ));
                }
                body.input(argument, 1 + i as u32);
            }
            self.ops[1..].iter().try_for_each(|op| body.push(*op))?;
            let operands = vec![Access::Full; rest.len()];
            Some(Epilogue { operands, scalars: 0, body: body.finish(&self.results)? })
        };
        let shape =
            Gemm { m, n, k, transpose_a, transpose_b, batch, bias, accumulate: false, epilogue };
        Ok(Body::Gemm(shape))
    }

    fn attention(&self, op: Op) -> Result<Attention, String> {
        let query = self.module.operand(op, 0);
        let heads = self.count(op, "heads")?;
        Ok(Attention {
            batch: self.size(query, 2),
            seq: self.size(query, 1),
            heads,
            kv_heads: self.count(op, "kv_heads")?,
            head_dim: self.size(query, 0) / heads.max(1),
        })
    }

    fn norm(&self, kind: NormKind, op: Op) -> Result<Norm, String> {
        let (rows, cols) = self.rows(self.module.operand(op, 0))?;
        Ok(Norm { kind, rows, cols, eps: self.real(op, "eps")? })
    }

    /// The input gradient of a norm, and the sum of it and a further argument.
    fn sum_with_norm_gradient(&self, op: Op) -> Result<Body, String> {
        let module = self.module;
        let kind = match module.name_text(op) {
            nn::LayerNormDx::NAME => NormKind::Layer,
            nn::RmsNormDx::NAME => NormKind::Rms,
            name => return Err(format!("'{name}' adds nothing to what it makes")),
        };
        let made = module.result(op, 0);
        let is_direct = match (self.arguments, &self.ops[..]) {
            (&[.., added], &[_, sum]) => {
                let terms: Vec<Value> = module.operands(sum).collect();
                nn::Add::cast(module, sum).is_some()
                    && (terms == [added, made] || terms == [made, added])
                    && self.results == [module.result(sum, 0)]
                    && module.operands(op).chain([added]).eq(self.arguments.iter().copied())
            }
            _ => false,
        };
        if !is_direct {
            return Err(
                "a norm's gradient may be followed by one sum, of it and the last argument".into(),
            );
        }
        Ok(Body::NormDx { norm: self.norm(kind, op)?, adds: true })
    }

    fn cross_entropy(&self, op: Op, lse: bool) -> Result<CrossEntropy, String> {
        let (rows, vocab) = self.rows(self.module.operand(op, 0))?;
        let denominator = self.count(op, "denominator")?;
        let denominator = i64::try_from(denominator).map_err(|_| "the denominator is too large")?;
        Ok(CrossEntropy { rows, vocab, denominator, lse })
    }

    /// A kernel of one operation, whose arguments and results are the kernel's.
    fn alone(&self, op: Op) -> Result<Body, String> {
        let module = self.module;
        let name = module.name_text(op);
        let is_direct = self.ops.len() == 1
            && module.operands(op).eq(self.arguments.iter().copied())
            && module.results(op).eq(self.results.iter().copied());
        if !is_direct {
            return Err(format!(
                "'{name}' must be alone, and take the arguments and give the results in order"
            ));
        }
        let first = module.operand(op, 0);
        Ok(match name {
            nn::LayerNorm::NAME => Body::Norm(self.norm(NormKind::Layer, op)?),
            nn::RmsNorm::NAME => Body::Norm(self.norm(NormKind::Rms, op)?),
            nn::LayerNormDx::NAME => {
                Body::NormDx { norm: self.norm(NormKind::Layer, op)?, adds: false }
            }
            nn::RmsNormDx::NAME => {
                Body::NormDx { norm: self.norm(NormKind::Rms, op)?, adds: false }
            }
            nn::LayerNormDw::NAME => Body::NormDw(self.norm(NormKind::Layer, op)?),
            nn::RmsNormDw::NAME => Body::NormDw(self.norm(NormKind::Rms, op)?),
            nn::Attention::NAME => {
                Body::Attention { shape: self.attention(op)?, lse: self.results.len() == 2 }
            }
            nn::AttentionDx::NAME => Body::AttentionDx(self.attention(op)?),
            nn::Rotary::NAME => {
                let heads = self.count(op, "heads")?;
                Body::Rotary {
                    batch: self.size(first, 2),
                    seq: self.size(first, 1),
                    heads,
                    head_dim: self.size(first, 0) / heads.max(1),
                    base: self.real(op, "base")?,
                    inverse: module.attr_by(op, "inverse").is_some(),
                }
            }
            nn::CrossEntropy::NAME => {
                let lse = nn::CrossEntropy::cast(module, op).and_then(|op| op.lse(module));
                Body::CrossEntropy(self.cross_entropy(op, lse.is_some())?)
            }
            nn::CrossEntropyDx::NAME => {
                let lse = nn::CrossEntropyDx::cast(module, op).and_then(|op| op.lse(module));
                Body::CrossEntropyDx(self.cross_entropy(op, lse.is_some())?)
            }
            nn::Embedding::NAME => {
                let table = module.operand(op, 1);
                let (vocab, dim) = self.rows(table)?;
                Body::Embedding(Embedding { rows: self.elems(first)?, vocab, dim })
            }
            nn::EmbeddingDw::NAME => {
                let (vocab, dim) = self.rows(self.results[0])?;
                Body::EmbeddingDw(Embedding { rows: self.elems(first)?, vocab, dim })
            }
            nn::Dispatch::NAME => {
                let experts = self.count(op, "experts")?;
                let block = self.size(first, 1) / experts.max(1) * self.size(first, 0);
                Body::SwapBlocks { a: self.size(first, 2), b: experts, block }
            }
            nn::Combine::NAME => Body::SwapBlocks {
                a: self.size(first, 3),
                b: self.size(first, 2),
                block: self.size(first, 1) * self.size(first, 0),
            },
            nn::Convert::NAME => {
                let (elems, to) = elements(module, module.ty(self.results[0]))?;
                Body::Cast { elems, to }
            }
            nn::SumRows::NAME => {
                let (rows, cols) = self.rows(first)?;
                Body::SumRows { rows, cols }
            }
            _ => return Err(format!("'{name}' has no kernel")),
        })
    }
}
