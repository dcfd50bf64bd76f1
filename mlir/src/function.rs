//! Writes one `func.func` of structured operations on buffers.

use std::fmt::Write;

use piper_codegen::kernel::Dtype;

/// A buffer: an argument of the function, or memory of its own.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    name: String,
    shape: Vec<u64>,
    element: &'static str,
}

impl Buffer {
    fn ty(&self) -> String {
        let extents: String = self.shape.iter().map(|n| format!("{n}x")).collect();
        format!("memref<{extents}{}>", self.element)
    }
}

/// A number in the body of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    name: String,
    ty: &'static str,
}

/// MLIR's name of an element type.
pub(crate) fn element(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "f32",
        Dtype::F64 => "f64",
        Dtype::I32 => "i32",
        Dtype::Bf16 => "bf16",
    }
}

/// Operands of a structured operation: buffers, each with its index for an iteration, such as `"row col"`.
pub(crate) type Operands<'a> = &'a [(&'a Buffer, &'a str)];

/// A function in the making.
pub(crate) struct Function {
    arguments: Vec<String>,
    body: String,
    own: Vec<Buffer>,
    names: u32,
    depth: usize,
    /// The type that numbers are computed in.
    pub(crate) computed: &'static str,
}

impl Function {
    pub(crate) fn new(dtype: Dtype) -> Self {
        Self {
            arguments: Vec::new(),
            body: String::new(),
            own: Vec::new(),
            names: 0,
            depth: 2,
            computed: element(dtype.computed()),
        }
    }

    /// The next argument, a buffer.
    pub(crate) fn buffer(&mut self, shape: &[u64], element: &'static str) -> Buffer {
        let name = format!("%arg{}", self.arguments.len());
        let buffer = Buffer { name, shape: shape.to_vec(), element };
        self.arguments.push(format!("{}: {}", buffer.name, buffer.ty()));
        buffer
    }

    /// The next argument, an f64.
    pub(crate) fn scalar(&mut self) -> Value {
        let name = format!("%arg{}", self.arguments.len());
        self.arguments.push(format!("{name}: f64"));
        Value { name, ty: "f64" }
    }

    /// Memory that lives as long as the function runs, every element `start`.
    pub(crate) fn own(&mut self, shape: &[u64], element: &'static str, start: f64) -> Buffer {
        let buffer = Buffer { name: self.name(), shape: shape.to_vec(), element };
        self.line(&format!("{} = memref.alloc() : {}", buffer.name, buffer.ty()));
        let start = self.constant(start, element);
        self.line(&format!(
            "linalg.fill ins({} : {}) outs({} : {})",
            start.name,
            start.ty,
            buffer.name,
            buffer.ty()
        ));
        self.own.push(buffer.clone());
        buffer
    }

    /// As [`own`](Self::own), in the type that numbers are computed in.
    pub(crate) fn sums(&mut self, shape: &[u64]) -> Buffer {
        self.own(shape, self.computed, 0.0)
    }

    /// One `linalg.generic` over `loops`, names separated by spaces, those of `summed` reductions. `body` is given the elements of
    /// `ins`, in the computed type where they are floats, and those of `outs` as they are; it gives the new elements of `outs`.
    pub(crate) fn generic(
        &mut self,
        loops: &str,
        summed: &str,
        ins: Operands<'_>,
        outs: Operands<'_>,
        body: impl FnOnce(&mut Self, &[Value], &[Value]) -> Vec<Value>,
    ) {
        let names: Vec<&str> = loops.split(' ').collect();
        let listed = |names: &str| names.split(' ').collect::<Vec<_>>().join(", ");
        let maps: Vec<String> = ins
            .iter()
            .chain(outs)
            .map(|(_, index)| format!("affine_map<({}) -> ({})>", listed(loops), listed(index)))
            .collect();
        let kind = |name: &&str| match summed.split(' ').any(|summed| summed == *name) {
            true => "\"reduction\"",
            false => "\"parallel\"",
        };
        let kinds: Vec<&str> = names.iter().map(kind).collect();
        let clause = |word: &str, operands: Operands<'_>| match operands {
            [] => String::new(),
            _ => {
                let names: Vec<&str> = operands.iter().map(|(b, _)| b.name.as_str()).collect();
                let types: Vec<String> = operands.iter().map(|(b, _)| b.ty()).collect();
                format!(" {word}({} : {})", names.join(", "), types.join(", "))
            }
        };
        let head = format!(
            "linalg.generic {{indexing_maps = [{}], iterator_types = [{}]}}{}{} {{",
            maps.join(", "),
            kinds.join(", "),
            clause("ins", ins),
            clause("outs", outs)
        );
        self.line(&head);
        let mut argument =
            |(buffer, _): &(&Buffer, &str)| Value { name: self.name(), ty: buffer.element };
        let (ins, out_values): (Vec<Value>, Vec<Value>) =
            (ins.iter().map(&mut argument).collect(), outs.iter().map(&mut argument).collect());
        let arguments: Vec<String> =
            ins.iter().chain(&out_values).map(|v| format!("{}: {}", v.name, v.ty)).collect();
        self.line(&format!("^bb0({}):", arguments.join(", ")));
        let ins: Vec<Value> = ins.iter().map(|value| self.computed(value)).collect();
        let made = body(self, &ins, &out_values);
        let made: Vec<Value> = made
            .iter()
            .zip(outs)
            .map(|(value, (buffer, _))| self.converted(value, buffer.element))
            .collect();
        let names: Vec<&str> = made.iter().map(|v| v.name.as_str()).collect();
        let types: Vec<&str> = made.iter().map(|v| v.ty).collect();
        self.line(&format!("linalg.yield {} : {}", names.join(", "), types.join(", ")));
        self.line("}");
    }

    /// Adds `body`'s element to `out`, for every iteration: a sum over the loops that `out`'s index leaves out.
    pub(crate) fn sum(
        &mut self,
        loops: &str,
        ins: Operands<'_>,
        out: (&Buffer, &str),
        body: impl FnOnce(&mut Self, &[Value]) -> Value,
    ) {
        self.fold(loops, ins, out, |f, ins, so_far| {
            let term = body(f, ins);
            f.binary("arith.addf", so_far, &term)
        });
    }

    /// As [`sum`](Self::sum), with any way to take the next iteration in.
    pub(crate) fn fold(
        &mut self,
        loops: &str,
        ins: Operands<'_>,
        out: (&Buffer, &str),
        body: impl FnOnce(&mut Self, &[Value], &Value) -> Value,
    ) {
        let kept: Vec<&str> = out.1.split(' ').collect();
        let summed: Vec<&str> = loops.split(' ').filter(|name| !kept.contains(name)).collect();
        self.generic(loops, &summed.join(" "), ins, &[out], |f, ins, outs| {
            vec![body(f, ins, &outs[0])]
        });
    }

    /// Computes every element of `out`.
    pub(crate) fn each(
        &mut self,
        loops: &str,
        ins: Operands<'_>,
        out: (&Buffer, &str),
        body: impl FnOnce(&mut Self, &[Value]) -> Value,
    ) {
        self.generic(loops, "", ins, &[out], |f, ins, _| vec![body(f, ins)]);
    }

    /// `body` for every index below `extent`, one after the other.
    pub(crate) fn for_each(&mut self, extent: u64, body: impl FnOnce(&mut Self, &Value)) {
        let [zero, one, end] = [0, 1, extent].map(|n| self.index_constant(n));
        let at = Value { name: self.name(), ty: "index" };
        let (at_name, zero, one, end) = (&at.name, zero.name, one.name, end.name);
        self.line(&format!("scf.for {at_name} = {zero} to {end} step {one} {{"));
        body(self, &at);
        self.line("}");
    }

    /// `body` where `condition` holds.
    pub(crate) fn only_if(&mut self, condition: &Value, body: impl FnOnce(&mut Self)) {
        self.line(&format!("scf.if {} {{", condition.name));
        body(self);
        self.line("}");
    }

    /// A number, as `ty` rounds it.
    pub(crate) fn constant(&mut self, number: f64, ty: &'static str) -> Value {
        let text = literal(number, ty);
        self.define(&format!("arith.constant {text} : {ty}"), ty)
    }

    /// A number in the computed type.
    pub(crate) fn number(&mut self, number: f64) -> Value {
        self.constant(number, self.computed)
    }

    pub(crate) fn index_constant(&mut self, number: u64) -> Value {
        self.define(&format!("arith.constant {number} : index"), "index")
    }

    pub(crate) fn unary(&mut self, op: &str, a: &Value) -> Value {
        self.define(&format!("{op} {} : {}", a.name, a.ty), a.ty)
    }

    pub(crate) fn binary(&mut self, op: &str, a: &Value, b: &Value) -> Value {
        self.define(&format!("{op} {}, {} : {}", a.name, b.name, a.ty), a.ty)
    }

    /// A comparison by a predicate such as `olt`, of floats, or `slt`, of integers.
    pub(crate) fn compare(&mut self, predicate: &str, a: &Value, b: &Value) -> Value {
        let op = if a.ty.contains('f') { "arith.cmpf" } else { "arith.cmpi" };
        self.define(&format!("{op} {predicate}, {}, {} : {}", a.name, b.name, a.ty), "i1")
    }

    pub(crate) fn select(&mut self, condition: &Value, a: &Value, b: &Value) -> Value {
        let (condition, a_name, b_name, ty) = (&condition.name, &a.name, &b.name, a.ty);
        self.define(&format!("arith.select {condition}, {a_name}, {b_name} : {ty}"), ty)
    }

    /// The larger of two numbers, the second if they do not compare.
    pub(crate) fn larger(&mut self, a: &Value, b: &Value) -> Value {
        let is_larger = self.compare("ogt", a, b);
        self.select(&is_larger, a, b)
    }

    /// The position in loop number `loop_` of the operation around.
    pub(crate) fn position(&mut self, loop_: usize) -> Value {
        self.define(&format!("linalg.index {loop_} : index"), "index")
    }

    /// A position as a number.
    pub(crate) fn position_number(&mut self, loop_: usize, ty: &'static str) -> Value {
        let position = self.position(loop_);
        let whole = self.cast("arith.index_cast", &position, "i64");
        self.cast("arith.sitofp", &whole, ty)
    }

    /// A token as an index, and whether it is below `limit`; 0 if not.
    pub(crate) fn token(&mut self, token: &Value, limit: u64) -> (Value, Value) {
        let index = self.cast("arith.index_cast", token, "index");
        let limit = self.index_constant(limit);
        // As an unsigned number a negative token is beyond every limit.
        let is_legal = self.compare("ult", &index, &limit);
        let zero = self.index_constant(0);
        (self.select(&is_legal, &index, &zero), is_legal)
    }

    pub(crate) fn load(&mut self, buffer: &Buffer, at: &[&Value]) -> Value {
        let at: Vec<&str> = at.iter().map(|v| v.name.as_str()).collect();
        let text = format!("memref.load {}[{}] : {}", buffer.name, at.join(", "), buffer.ty());
        let loaded = self.define(&text, buffer.element);
        self.computed(&loaded)
    }

    pub(crate) fn store(&mut self, value: &Value, buffer: &Buffer, at: &[&Value]) {
        let value = self.converted(value, buffer.element);
        let at: Vec<&str> = at.iter().map(|v| v.name.as_str()).collect();
        let (name, at, ty) = (&buffer.name, at.join(", "), buffer.ty());
        self.line(&format!("memref.store {}, {name}[{at}] : {ty}", value.name));
    }

    /// A float in the computed type; anything else as it is.
    pub(crate) fn computed(&mut self, value: &Value) -> Value {
        match value.ty {
            "f32" | "bf16" => self.converted(value, self.computed),
            _ => value.clone(),
        }
    }

    /// A float in another type. Between f64 and bf16 it goes by f32.
    pub(crate) fn converted(&mut self, value: &Value, to: &'static str) -> Value {
        match (value.ty, to) {
            (from, to) if from == to => value.clone(),
            ("bf16", "f32") | ("f32", "f64") => self.cast("arith.extf", value, to),
            ("f64", "f32") | ("f32", "bf16") => self.cast("arith.truncf", value, to),
            _ => {
                let middle = self.converted(value, "f32");
                self.converted(&middle, to)
            }
        }
    }

    fn cast(&mut self, op: &str, value: &Value, to: &'static str) -> Value {
        self.define(&format!("{op} {} : {} to {to}", value.name, value.ty), to)
    }

    fn define(&mut self, text: &str, ty: &'static str) -> Value {
        let name = self.name();
        self.line(&format!("{name} = {text}"));
        Value { name, ty }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("%{}", self.names - 1)
    }

    fn line(&mut self, text: &str) {
        self.depth -= usize::from(text == "}");
        let indent = 2 * (self.depth - usize::from(text.starts_with("^bb")));
        let _ = writeln!(self.body, "{:indent$}{text}", "");
        self.depth += usize::from(text.ends_with('{'));
    }

    /// The text of the function.
    pub(crate) fn finish(mut self, symbol: &str) -> String {
        for buffer in std::mem::take(&mut self.own) {
            self.line(&format!("memref.dealloc {} : {}", buffer.name, buffer.ty()));
        }
        self.line("func.return");
        format!("  func.func @{symbol}({}) {{\n{}  }}\n", self.arguments.join(", "), self.body)
    }
}

/// A float as MLIR reads it: the shortest digits that give it back, bits where there are none.
fn literal(number: f64, ty: &str) -> String {
    let single = number as f32;
    let (digits, bits, is_finite) = match ty {
        "f64" => {
            (format!("{number:?}"), format!("0x{:016X}", number.to_bits()), number.is_finite())
        }
        _ => (format!("{single:?}"), format!("0x{:08X}", single.to_bits()), single.is_finite()),
    };
    match digits.split_once('e') {
        _ if !is_finite => bits,
        Some((whole, power)) if !whole.contains('.') => format!("{whole}.0e{power}"),
        _ => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn literals_are_what_mlir_reads() {
        for (number, ty, text) in [
            (0.0, "f32", "0.0"),
            (-1.0, "f64", "-1.0"),
            (0.1, "f32", "0.1"),
            (1e-30, "f64", "1.0e-30"),
            (1.5e-30, "f32", "1.5e-30"),
            (f64::NEG_INFINITY, "f32", "0xFF800000"),
            (f64::INFINITY, "f64", "0x7FF0000000000000"),
            (f64::NAN, "f32", "0x7FC00000"),
        ] {
            assert_eq!(literal(number, ty), text);
        }
    }
}
