//! Loops, branches and functions.

use super::{Emitter, I, V, built};
use crate::kernel::Dtype;
use crate::llvm::PART;
use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::module::Linkage;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::FunctionValue;

impl<'c> Emitter<'c> {
    fn current_block(&self) -> BasicBlock<'c> {
        self.b.get_insert_block().expect("the builder is inside a function")
    }

    pub(super) fn current_function(&self) -> FunctionValue<'c> {
        self.current_block().get_parent().expect("blocks belong to functions")
    }

    /// `for i in (from..to).step_by(step)`.
    pub(crate) fn for_each(&self, from: I<'c>, to: I<'c>, step: u64, body: impl FnOnce(I<'c>)) {
        let function = self.current_function();
        let [head, inside, after] =
            ["head", "body", "after"].map(|n| self.ctx.append_basic_block(function, n));
        let before = self.current_block();
        built(self.b.build_unconditional_branch(head));
        self.b.position_at_end(head);
        let index = built(self.b.build_phi(self.i64(), "i"));
        let value = index.as_basic_value().into_int_value();
        built(self.b.build_conditional_branch(
            self.icmp(IntPredicate::ULT, value, to),
            inside,
            after,
        ));
        self.b.position_at_end(inside);
        body(value);
        let next = self.iadd(value, self.n(step));
        index.add_incoming(&[(&from, before), (&next, self.current_block())]);
        built(self.b.build_unconditional_branch(head));
        self.b.position_at_end(after);
    }

    /// Walks a row of `cols` elements in virtual vectors: `body` is emitted for whole vectors and once more for the
    /// rest, with the first column and the number of columns at hand.
    pub(crate) fn for_pieces(&self, cols: u64, body: impl Fn(I<'c>, u64)) {
        let lanes = self.lanes();
        let whole = cols - cols % lanes;
        if whole > 0 {
            self.for_each(self.n(0), self.n(whole), lanes, |c| body(c, lanes));
        }
        if whole < cols {
            body(self.n(whole), cols - whole);
        }
    }

    /// As [`Self::for_pieces`] for columns `from..to`. Both are multiples of [`Self::lanes`], but for the end of the row.
    pub(crate) fn for_pieces_of(
        &self,
        from: I<'c>,
        to: I<'c>,
        cols: u64,
        body: impl Fn(I<'c>, u64),
    ) {
        let lanes = self.lanes();
        let whole = cols - cols % lanes;
        if whole > 0 {
            let end = self.imin(to, self.n(whole));
            self.for_each(from, end, lanes, |c| body(c, lanes));
        }
        if whole < cols {
            let is_last = self.icmp(IntPredicate::EQ, to, self.n(cols));
            self.if_true(is_last, || body(self.n(whole), cols - whole));
        }
    }

    pub(crate) fn if_else(&self, condition: I<'c>, then: impl FnOnce(), otherwise: impl FnOnce()) {
        let function = self.current_function();
        let [yes, no, after] =
            ["then", "else", "end"].map(|n| self.ctx.append_basic_block(function, n));
        built(self.b.build_conditional_branch(condition, yes, no));
        self.b.position_at_end(yes);
        then();
        built(self.b.build_unconditional_branch(after));
        self.b.position_at_end(no);
        otherwise();
        built(self.b.build_unconditional_branch(after));
        self.b.position_at_end(after);
    }

    pub(crate) fn if_true(&self, condition: I<'c>, then: impl FnOnce()) {
        self.if_else(condition, then, || {});
    }

    /// A function without result, emitted now; the builder returns to where it was.
    pub(crate) fn define(
        &self,
        name: &str,
        linkage: Linkage,
        params: &[BasicMetadataTypeEnum<'c>],
        body: impl FnOnce(&[V<'c>]),
    ) -> FunctionValue<'c> {
        let back = self.b.get_insert_block();
        let function = self.module.add_function(
            name,
            self.ctx.void_type().fn_type(params, false),
            Some(linkage),
        );
        for &attribute in &self.attributes {
            function.add_attribute(AttributeLoc::Function, attribute);
        }
        if linkage == Linkage::Internal || name.ends_with(PART) {
            let noinline = Attribute::get_named_enum_kind_id("noinline");
            function
                .add_attribute(AttributeLoc::Function, self.ctx.create_enum_attribute(noinline, 0));
        }
        self.b.position_at_end(self.ctx.append_basic_block(function, "entry"));
        body(&function.get_params());
        built(self.b.build_return(None));
        if let Some(block) = back {
            self.b.position_at_end(block);
        }
        function
    }

    /// The internal function `name`, shared by all kernels of the module and emitted at first use.
    pub(crate) fn shared(
        &self,
        name: &str,
        params: &[BasicMetadataTypeEnum<'c>],
        body: impl FnOnce(&[V<'c>]),
    ) -> FunctionValue<'c> {
        let suffix = if self.dtype() == Dtype::F64 { "f64" } else { "f32" };
        let name = format!("piper.{name}.{suffix}");
        self.module
            .get_function(&name)
            .unwrap_or_else(|| self.define(&name, Linkage::Internal, params, body))
    }

    pub(crate) fn call(&self, function: FunctionValue<'c>, args: &[V<'c>]) {
        let args: Vec<_> = args.iter().map(|&a| a.into()).collect();
        built(self.b.build_call(function, &args, ""));
    }
}
