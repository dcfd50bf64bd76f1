//! A thin layer over inkwell's builder: values that are either one number or a vector of them, structured loops, and
//! loads and stores of row pieces.
//!
//! Kernels are written for a *virtual* vector of 64 bytes on every target; LLVM splits it where registers are
//! narrower. So the order in which a row is summed depends on its length only, not on the CPU.

mod control;
mod memory;

use crate::kernel::Dtype;
use crate::target::{Target, VectorLevel};
use inkwell::attributes::Attribute;
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module;
use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum, FloatType, IntType, VectorType};
use inkwell::values::{BasicValueEnum, IntValue, ValueKind, VectorValue};
use inkwell::{AddressSpace, FloatPredicate, IntPredicate};
use std::cell::Cell;

/// A number, a truth value, or a vector of either.
pub(crate) type V<'c> = BasicValueEnum<'c>;
/// An index or count, always 64 bits.
pub(crate) type I<'c> = IntValue<'c>;
pub(crate) use memory::{Local, P};

use crate::blocking::VIRTUAL_BYTES;

/// Building fails only when the builder has no position or an operand's type is wrong: a defect of this crate.
pub(crate) fn built<T>(result: Result<T, BuilderError>) -> T {
    result.expect("the emitter positions its builder and matches operand types")
}

/// Emits functions into one module.
pub(crate) struct Emitter<'c> {
    pub(crate) ctx: &'c Context,
    pub(crate) module: Module<'c>,
    pub(crate) b: Builder<'c>,
    pub(crate) level: VectorLevel,
    attributes: Vec<Attribute>,
    dtype: Cell<Dtype>,
    /// How many times as many lanes as [`VIRTUAL_BYTES`] hold are worked on together.
    widened: Cell<u64>,
    /// Whether results that are not read again are stored past the caches.
    streams_results: Cell<bool>,
}

macro_rules! float_binary {
    ($($name:ident $method:ident),*) => { $(
        pub(crate) fn $name(&self, a: V<'c>, b: V<'c>) -> V<'c> {
            match (a, b) {
                (V::FloatValue(a), V::FloatValue(b)) => built(self.b.$method(a, b, "")).into(),
                (V::VectorValue(a), V::VectorValue(b)) => built(self.b.$method(a, b, "")).into(),
                (V::VectorValue(a), b) => built(self.b.$method(a, self.splat_to(b, a), "")).into(),
                (a, V::VectorValue(b)) => built(self.b.$method(self.splat_to(a, b), b, "")).into(),
                (a, b) => unreachable!("{a} and {b} are not numbers"),
            }
        }
    )* };
}

macro_rules! int_binary {
    ($($name:ident $method:ident),*) => { $(
        pub(crate) fn $name(&self, a: V<'c>, b: V<'c>) -> V<'c> {
            match (a, b) {
                (V::IntValue(a), V::IntValue(b)) => built(self.b.$method(a, b, "")).into(),
                (V::VectorValue(a), V::VectorValue(b)) => built(self.b.$method(a, b, "")).into(),
                (a, b) => unreachable!("{a} and {b} are not bit patterns"),
            }
        }
    )* };
}

impl<'c> Emitter<'c> {
    pub(crate) fn new(ctx: &'c Context, target: &Target) -> Self {
        let width = (8 * target.vectors.vector_bytes()).to_string();
        let attributes = [
            ("target-cpu", target.cpu.as_str()),
            ("target-features", target.features.as_str()),
            ("prefer-vector-width", &width),
            ("min-legal-vector-width", &width),
        ]
        .map(|(key, value)| ctx.create_string_attribute(key, value))
        .into_iter()
        .chain([ctx.create_enum_attribute(Attribute::get_named_enum_kind_id("nounwind"), 0)])
        .collect();
        Self {
            ctx,
            module: ctx.create_module("piper"),
            b: ctx.create_builder(),
            level: target.vectors,
            attributes,
            dtype: Cell::new(Dtype::F32),
            widened: Cell::new(1),
            streams_results: Cell::new(false),
        }
    }

    // ---- types ----

    /// Sets the type that what is emitted next computes in, given that of its elements.
    pub(crate) fn set_dtype(&self, dtype: Dtype) {
        self.dtype.set(dtype.computed());
    }

    pub(crate) fn dtype(&self) -> Dtype {
        self.dtype.get()
    }

    pub(crate) fn real_of(&self, dtype: Dtype) -> FloatType<'c> {
        if dtype == Dtype::F64 { self.ctx.f64_type() } else { self.ctx.f32_type() }
    }

    pub(crate) fn real(&self) -> FloatType<'c> {
        self.real_of(self.dtype())
    }

    /// Elements of the virtual vector.
    pub(crate) fn lanes(&self) -> u64 {
        self.widened.get() * VIRTUAL_BYTES / self.dtype().bytes()
    }

    pub(crate) fn vector(&self, lanes: u64) -> VectorType<'c> {
        self.real().vec_type(lanes as u32)
    }

    pub(crate) fn i64(&self) -> IntType<'c> {
        self.ctx.i64_type()
    }

    pub(crate) fn ptr_type(&self) -> BasicMetadataTypeEnum<'c> {
        self.ctx.ptr_type(AddressSpace::default()).into()
    }

    // ---- constants ----

    pub(crate) fn n(&self, value: u64) -> I<'c> {
        self.i64().const_int(value, false)
    }

    pub(crate) fn float(&self, value: f64) -> V<'c> {
        self.real().const_float(value).into()
    }

    /// `value` in the shape and type of `like`.
    pub(crate) fn like(&self, like: V<'c>, value: f64) -> V<'c> {
        match like {
            V::FloatValue(f) => f.get_type().const_float(value).into(),
            V::VectorValue(v) => {
                let element = v.get_type().get_element_type().into_float_type().const_float(value);
                VectorType::const_vector(&vec![element; v.get_type().get_size() as usize]).into()
            }
            other => unreachable!("{other} is not a number"),
        }
    }

    /// The integer `value` in the shape and width of the number `like`.
    pub(crate) fn bits_like(&self, like: V<'c>, value: u64) -> V<'c> {
        match self.bits_type(like) {
            BasicTypeEnum::VectorType(t) => {
                let element = t.get_element_type().into_int_type().const_int(value, false);
                VectorType::const_vector(&vec![element; t.get_size() as usize]).into()
            }
            other => other.into_int_type().const_int(value, false).into(),
        }
    }

    fn bits_type(&self, like: V<'c>) -> BasicTypeEnum<'c> {
        let of = |float: FloatType<'c>| {
            if float == self.ctx.f64_type() { self.ctx.i64_type() } else { self.ctx.i32_type() }
        };
        match like {
            V::FloatValue(f) => of(f.get_type()).into(),
            V::VectorValue(v) => of(v.get_type().get_element_type().into_float_type())
                .vec_type(v.get_type().get_size())
                .into(),
            other => unreachable!("{other} is not a number"),
        }
    }

    /// Whether the elements of `v` are f64.
    pub(crate) fn is_double(&self, v: V<'c>) -> bool {
        match v {
            V::VectorValue(v) => {
                v.get_type().get_element_type().into_float_type() == self.ctx.f64_type()
            }
            v => v.into_float_value().get_type() == self.ctx.f64_type(),
        }
    }

    // ---- arithmetic ----

    float_binary!(add build_float_add, sub build_float_sub, mul build_float_mul, div build_float_div);
    int_binary!(bit_add build_int_add, bit_sub build_int_sub, bit_and build_and, bit_or build_or, bit_xor build_xor,
        shl build_left_shift);

    pub(crate) fn shift_right(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        match (a, b) {
            (V::VectorValue(a), V::VectorValue(b)) => {
                built(self.b.build_right_shift(a, b, false, "")).into()
            }
            (a, b) => {
                built(self.b.build_right_shift(a.into_int_value(), b.into_int_value(), false, ""))
                    .into()
            }
        }
    }

    pub(crate) fn shift_right_signed(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        match (a, b) {
            (V::VectorValue(a), V::VectorValue(b)) => {
                built(self.b.build_right_shift(a, b, true, "")).into()
            }
            (a, b) => {
                built(self.b.build_right_shift(a.into_int_value(), b.into_int_value(), true, ""))
                    .into()
            }
        }
    }

    pub(crate) fn neg(&self, a: V<'c>) -> V<'c> {
        match a {
            V::VectorValue(a) => built(self.b.build_float_neg(a, "")).into(),
            a => built(self.b.build_float_neg(a.into_float_value(), "")).into(),
        }
    }

    /// `a * b + c`: fused where the target has it, else two roundings.
    pub(crate) fn mul_add(&self, a: V<'c>, b: V<'c>, c: V<'c>) -> V<'c> {
        if self.level.has_fma() {
            self.intrinsic("llvm.fma", c.get_type(), &[a, b, c])
        } else {
            self.add(self.mul(a, b), c)
        }
    }

    pub(crate) fn sqrt(&self, a: V<'c>) -> V<'c> {
        self.intrinsic("llvm.sqrt", a.get_type(), &[a])
    }

    fn intrinsic(&self, name: &str, ty: BasicTypeEnum<'c>, args: &[V<'c>]) -> V<'c> {
        self.intrinsic_of(name, &[ty], args).unwrap_basic()
    }

    /// A call of an intrinsic that is overloaded on `types`.
    pub(crate) fn intrinsic_of(
        &self,
        name: &str,
        types: &[BasicTypeEnum<'c>],
        args: &[V<'c>],
    ) -> ValueKind<'c> {
        let declaration = Intrinsic::find(name)
            .and_then(|i| i.get_declaration(&self.module, types))
            .unwrap_or_else(|| unreachable!("LLVM 22 has {name}"));
        let args: Vec<_> = args.iter().map(|&a| a.into()).collect();
        built(self.b.build_call(declaration, &args, "")).try_as_basic_value()
    }

    /// Calls an intrinsic that is not overloaded.
    pub(crate) fn call_intrinsic(&self, name: &str, args: &[V<'c>]) -> Option<V<'c>> {
        self.intrinsic_of(name, &[], args).basic()
    }

    pub(crate) fn compare(&self, predicate: FloatPredicate, a: V<'c>, b: V<'c>) -> V<'c> {
        match (a, b) {
            (V::VectorValue(a), V::VectorValue(b)) => {
                built(self.b.build_float_compare(predicate, a, b, "")).into()
            }
            (V::VectorValue(a), b) => {
                built(self.b.build_float_compare(predicate, a, self.splat_to(b, a), "")).into()
            }
            (a, V::VectorValue(b)) => {
                built(self.b.build_float_compare(predicate, self.splat_to(a, b), b, "")).into()
            }
            (a, b) => built(self.b.build_float_compare(
                predicate,
                a.into_float_value(),
                b.into_float_value(),
                "",
            ))
            .into(),
        }
    }

    /// `if condition { a } else { b }`, lane by lane where the condition is a vector.
    pub(crate) fn select(&self, condition: V<'c>, a: V<'c>, b: V<'c>) -> V<'c> {
        match condition {
            V::VectorValue(c) => {
                let widen = |v: V<'c>| match v {
                    V::VectorValue(_) => v,
                    v => self.splat(v, u64::from(c.get_type().get_size())).into(),
                };
                built(self.b.build_select(c, widen(a), widen(b), ""))
            }
            c => built(self.b.build_select(c.into_int_value(), a, b, "")),
        }
    }

    /// For lanes `from, from + 1, ..`: whether they lie before `limit`.
    pub(crate) fn lanes_before(&self, from: I<'c>, limit: I<'c>) -> V<'c> {
        let lanes = self.lanes();
        let short = self.ctx.i32_type();
        let left = built(self.b.build_int_truncate(self.isub(limit, from), short, ""));
        let ty = short.vec_type(lanes as u32);
        let first =
            built(self.b.build_insert_element(ty.get_poison(), left, short.const_zero(), ""));
        let left = built(self.b.build_shuffle_vector(
            first,
            ty.get_poison(),
            self.mask(&vec![0; lanes as usize]),
            "",
        ));
        let index = self.mask(&(0..lanes).collect::<Vec<_>>());
        built(self.b.build_int_compare(IntPredicate::SLT, index, left, "")).into()
    }

    /// For lanes `first, first + 1, ..`, each with `shift` added, which may be a negative number: whether they are not below
    /// zero.
    pub(crate) fn lanes_reaching_zero(&self, first: i64, lanes: u64, shift: I<'c>) -> V<'c> {
        let short = self.ctx.i32_type();
        let least = built(self.b.build_int_truncate(self.isub(self.n(0), shift), short, ""));
        let ty = short.vec_type(lanes as u32);
        let one =
            built(self.b.build_insert_element(ty.get_poison(), least, short.const_zero(), ""));
        let zeros = self.mask(&vec![0; lanes as usize]);
        let least = built(self.b.build_shuffle_vector(one, ty.get_poison(), zeros, ""));
        let index: Vec<_> =
            (0..lanes as i64).map(|lane| short.const_int((first + lane) as u64, true)).collect();
        let index = VectorType::const_vector(&index);
        built(self.b.build_int_compare(IntPredicate::SGE, index, least, "")).into()
    }

    /// `if a > b { a } else { b }`.
    pub(crate) fn max(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.select(self.compare(FloatPredicate::OGT, a, b), a, b)
    }

    /// `if a < b { a } else { b }`.
    pub(crate) fn min(&self, a: V<'c>, b: V<'c>) -> V<'c> {
        self.select(self.compare(FloatPredicate::OLT, a, b), a, b)
    }

    /// The bit pattern of a number.
    pub(crate) fn to_bits(&self, v: V<'c>) -> V<'c> {
        built(self.b.build_bit_cast(v, self.bits_type(v), ""))
    }

    /// Whether bits are all zero, lane by lane.
    pub(crate) fn number_is_zero(&self, bits: V<'c>) -> V<'c> {
        let bits = bits.into_vector_value();
        let zero = bits.get_type().const_zero();
        built(self.b.build_int_compare(IntPredicate::EQ, bits, zero, "")).into()
    }

    /// The number with a bit pattern, in the type of `like`.
    pub(crate) fn number_from_bits(&self, bits: V<'c>, like: V<'c>) -> V<'c> {
        built(self.b.build_bit_cast(bits, like.get_type(), ""))
    }

    /// Signed integers to numbers, in the type of `like`.
    pub(crate) fn number_from_signed(&self, bits: V<'c>, like: V<'c>) -> V<'c> {
        match bits {
            V::VectorValue(b) => {
                built(self.b.build_signed_int_to_float(b, like.into_vector_value().get_type(), ""))
                    .into()
            }
            b => built(self.b.build_signed_int_to_float(
                b.into_int_value(),
                like.into_float_value().get_type(),
                "",
            ))
            .into(),
        }
    }

    /// A scalar rounded or widened to `dtype`.
    pub(crate) fn convert(&self, v: V<'c>, dtype: Dtype) -> V<'c> {
        built(self.b.build_float_cast(v.into_float_value(), self.real_of(dtype), "")).into()
    }

    /// A vector rounded or widened to `dtype`.
    pub(crate) fn convert_lanes(&self, v: V<'c>, dtype: Dtype) -> V<'c> {
        let v = v.into_vector_value();
        let ty = self.real_of(dtype).vec_type(v.get_type().get_size());
        if v.get_type() == ty {
            return v.into();
        }
        built(self.b.build_float_cast(v, ty, "")).into()
    }

    // ---- vectors ----

    /// `lanes` copies of a scalar.
    pub(crate) fn splat(&self, v: V<'c>, lanes: u64) -> VectorValue<'c> {
        let ty = v.into_float_value().get_type().vec_type(lanes as u32);
        let first = built(self.b.build_insert_element(
            ty.get_poison(),
            v,
            self.ctx.i32_type().const_zero(),
            "",
        ));
        built(self.b.build_shuffle_vector(
            first,
            ty.get_poison(),
            self.mask(&vec![0; lanes as usize]),
            "",
        ))
    }

    fn splat_to(&self, v: V<'c>, like: VectorValue<'c>) -> VectorValue<'c> {
        self.splat(v, u64::from(like.get_type().get_size()))
    }

    fn mask(&self, indices: &[u64]) -> VectorValue<'c> {
        let elements: Vec<_> =
            indices.iter().map(|&i| self.ctx.i32_type().const_int(i, false)).collect();
        VectorType::const_vector(&elements)
    }

    /// Lanes of `a` followed by `b`, picked by `indices`.
    pub(crate) fn shuffle(&self, a: V<'c>, b: V<'c>, indices: &[u64]) -> V<'c> {
        let (a, b) = (a.into_vector_value(), b.into_vector_value());
        built(self.b.build_shuffle_vector(a, b, self.mask(indices), "")).into()
    }

    /// The first `width` lanes of `v`, the others replaced by `fill`.
    pub(crate) fn keep(&self, v: V<'c>, width: u64, fill: f64) -> V<'c> {
        let lanes = u64::from(v.into_vector_value().get_type().get_size());
        if width == lanes {
            return v;
        }
        let indices: Vec<_> = (0..lanes).map(|l| if l < width { l } else { lanes + l }).collect();
        self.shuffle(v, self.like(v, fill), &indices)
    }

    /// Folds lanes by halves: lane `l` meets lane `l + half` until one is left.
    pub(crate) fn fold(&self, mut v: V<'c>, combine: impl Fn(V<'c>, V<'c>) -> V<'c>) -> V<'c> {
        let mut half = u64::from(v.into_vector_value().get_type().get_size()) / 2;
        while half > 0 {
            let low: Vec<_> = (0..half).collect();
            let high: Vec<_> = (half..2 * half).collect();
            v = combine(self.shuffle(v, v, &low), self.shuffle(v, v, &high));
            half /= 2;
        }
        built(self.b.build_extract_element(
            v.into_vector_value(),
            self.ctx.i32_type().const_zero(),
            "",
        ))
    }

    /// Sum of all lanes, in the order of [`Self::fold`].
    pub(crate) fn lane_sum(&self, v: V<'c>) -> V<'c> {
        self.fold(v, |a, b| self.add(a, b))
    }

    /// Largest lane.
    pub(crate) fn lane_max(&self, v: V<'c>) -> V<'c> {
        self.fold(v, |a, b| self.max(a, b))
    }

    // ---- integers ----

    pub(crate) fn iadd(&self, a: I<'c>, b: I<'c>) -> I<'c> {
        built(self.b.build_int_nuw_add(a, b, ""))
    }

    pub(crate) fn isub(&self, a: I<'c>, b: I<'c>) -> I<'c> {
        built(self.b.build_int_sub(a, b, ""))
    }

    pub(crate) fn imul(&self, a: I<'c>, b: I<'c>) -> I<'c> {
        built(self.b.build_int_nuw_mul(a, b, ""))
    }

    pub(crate) fn idiv(&self, a: I<'c>, b: u64) -> I<'c> {
        built(self.b.build_int_unsigned_div(a, self.n(b), ""))
    }

    pub(crate) fn idivided(&self, a: I<'c>, b: I<'c>) -> I<'c> {
        built(self.b.build_int_unsigned_div(a, b, ""))
    }

    pub(crate) fn irem(&self, a: I<'c>, b: u64) -> I<'c> {
        built(self.b.build_int_unsigned_rem(a, self.n(b), ""))
    }

    pub(crate) fn icmp(&self, predicate: IntPredicate, a: I<'c>, b: I<'c>) -> I<'c> {
        built(self.b.build_int_compare(predicate, a, b, ""))
    }

    pub(crate) fn imin(&self, a: I<'c>, b: I<'c>) -> I<'c> {
        let less = self.icmp(IntPredicate::ULT, a, b);
        built(self.b.build_select(less, a, b, "")).into_int_value()
    }

    pub(crate) fn both(&self, a: I<'c>, b: I<'c>) -> I<'c> {
        built(self.b.build_and(a, b, ""))
    }
}
