//! What a kernel asks of its launcher: buffers, scalars, legality, a stable name, and its cost.

use crate::kernel::{Access, Attention, Body, Dtype, Gemm, Kernel, Map, Mode, NormKind, Parameter};

/// Elements of the largest iteration space allowed: index arithmetic stays far from overflow.
const LARGEST: u64 = 1 << 48;

impl Kernel {
    /// Buffer parameters in launch order.
    pub fn parameters(&self) -> Vec<Parameter> {
        let real = self.dtype;
        let read = |elems| Parameter { mode: Mode::Read, elems, dtype: real };
        let write = |elems| Parameter { mode: Mode::Write, elems, dtype: real };
        let typed = |mode, elems, dtype| Parameter { mode, elems, dtype };
        match &self.body {
            Body::Gemm(g) => {
                let product = g.batch * g.m * g.n;
                let mut list = vec![read(g.batch * g.m * g.k), read(g.batch * g.k * g.n)];
                if g.bias {
                    list.push(read(g.n));
                }
                let epilogue = g.epilogue.iter();
                list.extend(
                    epilogue.flat_map(|e| &e.operands).map(|a| read(a.elems(g.batch * g.m, g.n))),
                );
                let mode = if g.accumulate { Mode::ReadWrite } else { Mode::Write };
                list.push(typed(mode, product, real));
                let extra =
                    g.epilogue.as_ref().map_or(0, |e| e.body.results.len().saturating_sub(1));
                list.extend(std::iter::repeat_n(write(product), extra));
                list
            }
            Body::Map(m) => m
                .operands
                .iter()
                .map(|o| typed(o.mode, o.access.elems(m.rows, m.cols), real))
                .collect(),
            Body::Norm(n) => {
                let mut list = vec![read(n.rows * n.cols), read(n.cols)];
                if n.kind == NormKind::Layer {
                    list.push(read(n.cols));
                }
                list.push(write(n.rows * n.cols));
                list
            }
            &Body::NormDx { norm: n, adds } => {
                let full = n.rows * n.cols;
                let mut list = vec![read(full), read(n.cols), read(full)];
                list.extend(adds.then(|| read(full)));
                list.push(write(full));
                list
            }
            Body::NormDw(n) => {
                let mut list = vec![read(n.rows * n.cols), read(n.rows * n.cols), write(n.cols)];
                if n.kind == NormKind::Layer {
                    list.push(write(n.cols));
                }
                list
            }
            Body::Attention { shape, lse } => {
                let (q, kv) = (shape.query_elems(), shape.key_elems());
                let mut list = vec![read(q), read(kv), read(kv), write(q)];
                if *lse {
                    list.push(write(shape.batch * shape.heads * shape.seq));
                }
                list
            }
            Body::AttentionDx(shape) => {
                let (q, kv) = (shape.query_elems(), shape.key_elems());
                let lse = shape.batch * shape.heads * shape.seq;
                vec![
                    read(q),
                    read(kv),
                    read(kv),
                    read(q),
                    read(lse),
                    read(q),
                    write(q),
                    write(kv),
                    write(kv),
                ]
            }
            &Body::Rotary { batch, seq, heads, head_dim, .. } => {
                let elems = batch * seq * heads * head_dim;
                vec![read(elems), write(elems)]
            }
            Body::CrossEntropy(c) => {
                let logits = read(c.rows * c.vocab);
                let mut list = vec![logits, typed(Mode::Read, c.rows, Dtype::I32), write(1)];
                list.extend(c.lse.then(|| write(c.rows)));
                list
            }
            Body::CrossEntropyDx(c) => {
                let logits = c.rows * c.vocab;
                let targets = typed(Mode::Read, c.rows, Dtype::I32);
                let mut list = vec![read(logits), targets, read(1)];
                list.extend(c.lse.then(|| read(c.rows)));
                list.push(write(logits));
                list
            }
            Body::Embedding(e) => {
                vec![
                    typed(Mode::Read, e.rows, Dtype::I32),
                    read(e.vocab * e.dim),
                    write(e.rows * e.dim),
                ]
            }
            Body::EmbeddingDw(e) => {
                vec![
                    typed(Mode::Read, e.rows, Dtype::I32),
                    read(e.rows * e.dim),
                    write(e.vocab * e.dim),
                ]
            }
            &Body::SumRows { rows, cols } => vec![read(rows * cols), write(cols)],
            &Body::SwapBlocks { a, b, block } => vec![read(a * b * block), write(a * b * block)],
            &Body::Cast { elems, to } => vec![read(elems), typed(Mode::Write, elems, to)],
            &Body::SumSquares { elems } => vec![read(elems), typed(Mode::Write, 1, Dtype::F64)],
            Body::ClipScale { .. } => vec![typed(Mode::Read, 1, Dtype::F64), write(1)],
        }
    }

    /// Number of run-time scalars (f64) a launch supplies.
    pub fn scalars(&self) -> u32 {
        match &self.body {
            Body::Map(m) => m.scalars,
            Body::Gemm(g) => g.epilogue.as_ref().map_or(0, |e| e.scalars),
            _ => 0,
        }
    }

    /// Checks that the description is meaningful.
    ///
    /// # Errors
    /// A sentence saying what is wrong: an integer element type, a program out of order, heads that do not divide, an
    /// odd rotary width, an accumulating product with an epilogue, a broadcast operand written, or sizes whose product
    /// leaves 2^48 elements.
    pub fn validate(&self) -> Result<(), String> {
        let result = if let Body::Cast { to, .. } = self.body { to } else { self.dtype };
        if self.dtype == Dtype::I32 || result == Dtype::I32 {
            return Err("the element type of a kernel is f32, f64 or bf16".into());
        }
        let program = match &self.body {
            Body::Map(m) => Some(&m.body),
            Body::Gemm(Gemm { epilogue: Some(epilogue), .. }) => Some(&epilogue.body),
            _ => None,
        };
        let single = program.and_then(|p| p.ops.iter().find(|op| op.is_single()));
        if let Some(op) = single.filter(|_| self.dtype == Dtype::F64) {
            return Err(format!("{op:?} is there for f32 and bf16, not for f64"));
        }
        match &self.body {
            Body::Gemm(g) => check_gemm(g)?,
            Body::Map(m) => check_map(m)?,
            Body::Attention { shape, .. } | Body::AttentionDx(shape) => {
                if shape.kv_heads == 0 || !shape.heads.is_multiple_of(shape.kv_heads) {
                    return Err(format!(
                        "{} query heads do not divide over {} kv heads",
                        shape.heads, shape.kv_heads
                    ));
                }
                if shape.head_dim == 0 {
                    return Err("attention heads have width zero".into());
                }
            }
            Body::Rotary { head_dim, .. } if !head_dim.is_multiple_of(2) => {
                return Err(format!("rotary head width {head_dim} is odd"));
            }
            Body::CrossEntropy(c) | Body::CrossEntropyDx(c)
                if c.denominator == 0 || c.vocab == 0 =>
            {
                return Err("cross entropy needs classes and a non-zero denominator".into());
            }
            Body::Norm(n) | Body::NormDx { norm: n, .. } | Body::NormDw(n) if n.cols == 0 => {
                return Err("a norm over no columns is undefined".into());
            }
            _ => {}
        }
        // Saturating, because the extents may come from a file.
        let size =
            |extents: &[u64]| extents.iter().fold(1_u64, |product, &n| product.saturating_mul(n));
        let largest = match &self.body {
            Body::Gemm(g) => size(&[g.batch, g.m.max(1), g.n.max(1), g.k]),
            Body::Map(m) => size(&[m.rows, m.cols]),
            Body::Norm(n) | Body::NormDx { norm: n, .. } | Body::NormDw(n) => {
                size(&[n.rows, n.cols])
            }
            Body::Attention { shape: s, .. } | Body::AttentionDx(s) => {
                size(&[s.batch, s.seq, s.heads, s.head_dim]).max(size(&[s.seq, s.seq]))
            }
            Body::Rotary { batch, seq, heads, head_dim, .. } => {
                size(&[*batch, *seq, *heads, *head_dim])
            }
            Body::CrossEntropy(c) | Body::CrossEntropyDx(c) => size(&[c.rows, c.vocab]),
            Body::Embedding(e) | Body::EmbeddingDw(e) => size(&[e.rows.max(e.vocab), e.dim]),
            Body::SumRows { rows, cols } => size(&[*rows, *cols]),
            Body::SwapBlocks { a, b, block } => size(&[*a, *b, *block]),
            Body::SumSquares { elems } | Body::Cast { elems, .. } => *elems,
            Body::ClipScale { .. } => 1,
        };
        match Some(largest).filter(|&n| n > LARGEST) {
            Some(n) => Err(format!("an iteration space of {n} elements is beyond 2^48")),
            None => Ok(()),
        }
    }

    /// A linker symbol that depends on the description only: equal kernels, equal names, on every machine.
    pub fn symbol(&self) -> String {
        let text = serde_json::to_vec(self).expect("a kernel holds only plain data");
        // FNV-1a, 64 bits, twice with different seeds: 128 bits make an accidental clash between bodies implausible.
        let hash = |seed: u64| {
            text.iter()
                .fold(seed, |h, &byte| (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
        };
        let (low, high) = (hash(0xcbf2_9ce4_8422_2325), hash(0x9ae1_6a3b_2f90_404f));
        format!("piper_{}_{high:016x}{low:016x}", self.family())
    }

    /// Short family name, as used in symbols.
    pub fn family(&self) -> &'static str {
        match &self.body {
            Body::Gemm(_) => "gemm",
            Body::Map(_) => "map",
            Body::Norm(_) => "norm",
            Body::NormDx { .. } => "norm_dx",
            Body::NormDw(_) => "norm_dw",
            Body::Attention { .. } => "attention",
            Body::AttentionDx(_) => "attention_dx",
            Body::Rotary { .. } => "rotary",
            Body::CrossEntropy(_) => "cross_entropy",
            Body::CrossEntropyDx(_) => "cross_entropy_dx",
            Body::Embedding(_) => "embedding",
            Body::EmbeddingDw(_) => "embedding_dw",
            Body::SumRows { .. } => "sum_rows",
            Body::SwapBlocks { .. } => "swap_blocks",
            Body::Cast { .. } => "cast",
            Body::SumSquares { .. } => "sum_squares",
            Body::ClipScale { .. } => "clip_scale",
        }
    }

    /// Floating-point operations of one launch (a multiply-add is two, a transcendental function ten).
    pub fn flops(&self) -> u64 {
        match &self.body {
            Body::Gemm(g) => {
                let product = g.batch * g.m * g.n;
                let after = u64::from(g.bias) + g.epilogue.as_ref().map_or(0, |e| e.body.flops());
                product * (2 * g.k + after)
            }
            Body::Map(m) => m.rows * m.cols * m.body.flops() + m.uniforms.flops(),
            Body::Norm(n) => 8 * n.rows * n.cols,
            Body::NormDx { norm: n, adds } => (14 + u64::from(*adds)) * n.rows * n.cols,
            Body::NormDw(n) => 9 * n.rows * n.cols,
            // Two products forward, five backward, over the visible half of the scores.
            Body::Attention { shape, .. } => shape.visible_scores() * (4 * shape.head_dim + 14),
            Body::AttentionDx(shape) => shape.visible_scores() * (10 * shape.head_dim + 15),
            &Body::Rotary { batch, seq, heads, head_dim, .. } => 3 * batch * seq * heads * head_dim,
            Body::CrossEntropy(c) => 13 * c.rows * c.vocab,
            Body::CrossEntropyDx(c) => (if c.lse { 13 } else { 26 }) * c.rows * c.vocab,
            Body::Embedding(_) => 0,
            Body::EmbeddingDw(e) => e.rows * e.dim,
            &Body::SumRows { rows, cols } => rows * cols,
            Body::SwapBlocks { .. } | Body::Cast { .. } => 0,
            &Body::SumSquares { elems } => 2 * elems,
            Body::ClipScale { .. } => 4,
        }
    }

    /// Bytes a launch must at least move between memory and core: each buffer once for each direction it is used in.
    pub fn bytes_moved(&self) -> u64 {
        let per_direction = |p: &Parameter| p.elems * p.dtype.bytes();
        let directions = |m: Mode| u64::from(m.reads()) + u64::from(m.writes());
        match &self.body {
            // Only the rows looked up are touched, not the table.
            Body::Embedding(e) => e.rows * (4 + 2 * e.dim * self.dtype.bytes()),
            _ => self.parameters().iter().map(|p| per_direction(p) * directions(p.mode)).sum(),
        }
    }
}

impl Attention {
    /// Elements of `q`, `o` and their gradients.
    pub fn query_elems(&self) -> u64 {
        self.batch * self.seq * self.heads * self.head_dim
    }

    /// Elements of `k`, `v` and their gradients.
    pub fn key_elems(&self) -> u64 {
        self.batch * self.seq * self.kv_heads * self.head_dim
    }

    /// Pairs of a query and a key that it may see, over all heads.
    pub fn visible_scores(&self) -> u64 {
        self.batch * self.heads * self.seq * (self.seq + 1) / 2
    }
}

fn check_gemm(g: &Gemm) -> Result<(), String> {
    if g.k == 0 {
        return Err("a product needs a contraction of at least one element".into());
    }
    if g.accumulate && (g.bias || g.epilogue.is_some()) {
        return Err("an accumulating product takes neither bias nor epilogue: it would apply to part of a sum".into());
    }
    if let Some(e) = &g.epilogue {
        e.body
            .check(1 + e.operands.len() as u32, e.scalars, false)
            .map_err(|m| format!("epilogue: {m}"))?;
        if e.body.results.is_empty() {
            return Err("epilogue: no result to store".into());
        }
    }
    Ok(())
}

fn check_map(m: &Map) -> Result<(), String> {
    m.uniforms.check(0, m.scalars, true).map_err(|e| format!("uniform program: {e}"))?;
    m.body
        .check(m.operands.len() as u32, m.uniforms.results.len() as u32, false)
        .map_err(|e| format!("map body: {e}"))?;
    if m.stores.len() != m.body.results.len() {
        return Err(format!("{} results for {} stores", m.body.results.len(), m.stores.len()));
    }
    for (index, operand) in m.operands.iter().enumerate() {
        let stored = m.stores.iter().filter(|&&s| s as usize == index).count();
        if operand.mode.writes() && operand.access != Access::Full {
            return Err(format!("operand {index} is written but broadcast"));
        }
        if stored != usize::from(operand.mode.writes()) {
            return Err(format!("operand {index} ({:?}) is stored {stored} times", operand.mode));
        }
        let read = m.body.ops.contains(&crate::scalar::ScalarOp::Input(index as u32));
        if read && !operand.mode.reads() {
            return Err(format!("operand {index} is read but write-only"));
        }
    }
    match m.stores.iter().find(|&&s| s as usize >= m.operands.len()) {
        Some(s) => Err(format!("a result is stored to operand {s} of {}", m.operands.len())),
        None => Ok(()),
    }
}
