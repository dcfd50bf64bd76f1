//! Matrix products of bf16 by warpgroups (`wgmma`): two groups of four warps, each with 64 rows of a tile of 128 by 128, whose
//! operands stay in shared memory. No GPU has run this yet, so it is only made for [`super::Chip::Sm90aWarpgroups`].
//!
//! Panels are not swizzled. They consist of cores of eight rows of 16 bytes, one row after the other, whichever way the
//! operand is stored: across the contraction the instruction turns them. Descriptors say how far the next core along the
//! contraction and the next beside it are (PTX ISA, "Matrix Descriptor Format", "Strides"). Copies are by threads, which
//! pass a fence before the other way into shared memory, that of `wgmma`, may see what they wrote.
//!
//! A step's four products are one piece of assembly with the wait for them, so that nothing between can touch the sums. The
//! other group, and a second block, keep the tensor cores busy meanwhile.

use super::device::Device;
use super::gemm_tensor::{Side, Work};
use super::launch::{CORE, Tile};
use super::tensor::{DEPTH, Rows};
use crate::kernel::Gemm;
use crate::llvm::emit::{I, Local, V, built};
use inkwell::InlineAsmDialect;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum};

/// Rows of a product.
const ROWS: u64 = 64;

/// Elements from a row of cores to the next.
fn core_rows(side: &Side<'_>, tile: Tile) -> u64 {
    let width = if side.rows == Rows::Along { tile.k } else { side.tile };
    width / 8 * CORE
}

/// The descriptor of 64 rows, or of all columns, from `first` on, and of [`DEPTH`] steps of the contraction from `deep` on.
fn descriptor<'c>(
    k: &Device<'_, 'c>,
    side: &Side<'c>,
    panel: super::tensor::Panel<'c>,
    tile: Tile,
    [first, deep]: [I<'c>; 2],
) -> I<'c> {
    let e = k.e;
    let core_rows = core_rows(side, tile);
    // Elements between neighbouring cores: along the contraction, and beside it.
    let (leading, stride) = match side.rows {
        Rows::Along => (CORE, core_rows),
        Rows::Across => (core_rows, CORE),
    };
    let cores = |at: I<'c>, elems: u64| e.imul(e.idiv(at, 8), e.n(elems));
    let start = e.at(panel.base, e.iadd(cores(first, stride), cores(deep, leading)));
    let start = built(e.b.build_ptr_to_int(start.address, e.i64(), ""));
    let field = |bytes: u64, at: u64| (bytes / 16) << at;
    let rest = field(2 * leading, 16) | field(2 * stride, 32);
    let start = built(e.b.build_and(e.idiv(start, 16), e.n(0x3fff), ""));
    built(e.b.build_or(start, e.n(rest), ""))
}

/// Assembly with effects that LLVM does not see, to be executed by all threads together.
fn assembly<'c>(
    k: &Device<'_, 'c>,
    text: &str,
    constraints: &str,
    result: Option<BasicTypeEnum<'c>>,
    args: &[V<'c>],
) -> Option<V<'c>> {
    let e = k.e;
    let types: Vec<BasicMetadataTypeEnum> = args.iter().map(|arg| arg.get_type().into()).collect();
    let ty = match result {
        Some(BasicTypeEnum::StructType(ty)) => ty.fn_type(&types, false),
        _ => e.ctx.void_type().fn_type(&types, false),
    };
    let dialect = Some(InlineAsmDialect::ATT);
    let code =
        e.ctx.create_inline_asm(ty, text.into(), constraints.into(), true, false, dialect, false);
    let args: Vec<_> = args.iter().map(|&arg| arg.into()).collect();
    let call = built(e.b.build_indirect_call(ty, code, &args, ""));
    let convergent = Attribute::get_named_enum_kind_id("convergent");
    call.add_attribute(AttributeLoc::Function, e.ctx.create_enum_attribute(convergent, 0));
    call.try_as_basic_value().basic()
}

/// Adds the products of a step's panels, and waits for them.
fn multiply<'c>(
    k: &Device<'_, 'c>,
    tile: Tile,
    descriptors: &[[I<'c>; 2]],
    is_across: [bool; 2],
    sums: &[Local<'c>],
) {
    let e = k.e;
    let count = sums.len();
    let registers: Vec<_> = (0..count).map(|i| format!("${i}")).collect();
    let registers = registers.join(", ");
    let [across_a, across_b] = is_across.map(u64::from);
    let mut text = String::from(
        "{\n\t.reg .pred %piper_added;\n\tsetp.eq.u32 %piper_added, 0, 0;\n\twgmma.fence.sync.aligned;\n",
    );
    for step in 0..descriptors.len() {
        let (a, b) = (count + 2 * step, count + 2 * step + 1);
        text += &format!(
            "\twgmma.mma_async.sync.aligned.m64n{}k{DEPTH}.f32.bf16.bf16 {{{registers}}}, ${a}, ${b}, %piper_added, \
             1, 1, {across_a}, {across_b};\n",
            tile.n
        );
    }
    text += "\twgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;\n\t}";
    let mut constraints = vec!["=f".to_owned(); count];
    constraints.extend(vec!["l".to_owned(); 2 * descriptors.len()]);
    constraints.extend((0..count).map(|i| i.to_string()));
    constraints.push("~{memory}".to_owned());
    let mut args: Vec<V> = descriptors.iter().flatten().map(|&d| d.into()).collect();
    args.extend(sums.iter().map(|sum| e.get(sum)));
    let ty = e.ctx.struct_type(&vec![e.ctx.f32_type().into(); count], false);
    let found = assembly(k, &text, &constraints.join(","), Some(ty.into()), &args);
    let found = found.expect("a product has a value").into_struct_value();
    for (i, sum) in (0..).zip(sums) {
        e.set(sum, built(e.b.build_extract_value(found, i, "")));
    }
}

/// The operands of a product, its bias and its epilogue.
pub(super) fn gemm(k: &Device<'_, '_>, g: &Gemm, tile: Tile) {
    let e = k.e;
    let work = Work::new(k, g, tile);
    let warp = e.idiv(k.thread(), 32);
    let group_row = e.imul(e.idiv(warp, 4), e.n(ROWS));
    let sums: Vec<_> = (0..tile.n / 2).map(|_| e.local(e.float(0.0))).collect();
    work.steps(
        |slot, at| {
            for side in &work.sides {
                let core_rows = core_rows(side, tile);
                let place = |row, col| {
                    let core = e.iadd(
                        e.imul(e.idiv(row, 8), e.n(core_rows)),
                        e.imul(e.idiv(col, 8), e.n(CORE)),
                    );
                    e.iadd(core, e.iadd(e.imul(e.irem(row, 8), e.n(8)), e.irem(col, 8)))
                };
                side.fill(k, slot, tile, g.k, at, Some(&place));
            }
        },
        || {
            assembly(k, "fence.proxy.async.shared::cta;", "~{memory}", None, &[]);
        },
        |slot| {
            let [left, right] = &work.sides;
            let panels = [left.panel(k, slot, tile), right.panel(k, slot, tile)];
            let descriptors: Vec<_> = (0..tile.k)
                .step_by(DEPTH as usize)
                .map(|deep| {
                    let deep = e.n(deep);
                    [
                        descriptor(k, left, panels[0], tile, [group_row, deep]),
                        descriptor(k, right, panels[1], tile, [e.n(0), deep]),
                    ]
                })
                .collect();
            let is_across = [left, right].map(|side| side.rows == Rows::Across);
            multiply(k, tile, &descriptors, is_across, &sums);
        },
    );
    let row = e.iadd(group_row, e.imul(e.irem(warp, 4), e.n(16)));
    work.finish(
        (0..)
            .zip(sums.chunks_exact(4))
            .map(|(number, sums)| (row, e.n(8 * number), std::array::from_fn(|i| e.get(&sums[i])))),
    );
}
