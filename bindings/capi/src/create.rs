//! Creating operations.

use piper_ir::{
    Arity, Attr, Block, Context, InferInput, InferTypes, Module, Name, OPERAND_SEGMENTS, Op,
    OpState, Region, Trait, Type,
};

use crate::attrs::PiperNamedAttr;
use crate::fault::{Fault, PIPER_IN_USE, PIPER_OUT_OF_RANGE, PIPER_WRONG_KIND, PiperStatus};
use crate::handle::{
    PiperBlock, PiperLoc, PiperModule, PiperOp, PiperRegion, PiperType, PiperValue, edit, make,
};
use crate::text::{PiperStr, Sized0, list, sized};

/// Nowhere: what is created stands in no block yet.
pub const PIPER_NOWHERE: u32 = 0;
/// At the end of `block`.
pub const PIPER_AT_END: u32 = 1;
/// Before `op`.
pub const PIPER_BEFORE: u32 = 2;
/// After `op`.
pub const PIPER_AFTER: u32 = 3;
/// At the beginning of `block`.
pub const PIPER_AT_START: u32 = 4;

/// Where an operation goes; the header has functions that fill it in. All zero is nowhere.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PiperPlace {
    /// One of `PIPER_NOWHERE`, `PIPER_AT_START`, `PIPER_AT_END`, `PIPER_BEFORE`, `PIPER_AFTER`.
    pub kind: u32,
    /// For `PIPER_AT_START` and `PIPER_AT_END`.
    pub block: PiperBlock,
    /// For `PIPER_BEFORE` and `PIPER_AFTER`.
    pub op: PiperOp,
}

/// What an operation is made of. Set `size` to `sizeof(PiperOpParts)` and the rest to zero, then what there is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PiperOpParts {
    /// `sizeof(PiperOpParts)`
    pub size: usize,
    /// Its name, as `nn.linear`.
    pub name: PiperStr,
    /// Its location; none takes that of the operation it is put before or after.
    pub loc: PiperLoc,
    /// Its operands, those of the first declared name first.
    pub operands: *const PiperValue,
    /// How many.
    pub num_operands: usize,
    /// The types of its results; with none, and an operation that has results, they are inferred.
    pub results: *const PiperType,
    /// How many.
    pub num_results: usize,
    /// Its attributes.
    pub attrs: *const PiperNamedAttr,
    /// How many.
    pub num_attrs: usize,
    /// Its regions, each made by `piper_region_create` and of no other operation.
    pub regions: *const PiperRegion,
    /// How many.
    pub num_regions: usize,
    /// The blocks it may go on to.
    pub successors: *const PiperBlock,
    /// How many.
    pub num_successors: usize,
}

// SAFETY: it begins with its size; null pointers and handles of nothing are zero.
unsafe impl Sized0 for PiperOpParts {}

/// Creates an operation and puts it at its place. Nothing is checked that the verifier checks. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_create(
    module: *mut PiperModule,
    parts: *const PiperOpParts,
    place: PiperPlace,
) -> PiperOp {
    make(module, "piper_op_create", |h| {
        let parts = sized(parts, "the parts")?;
        let mut state = state(h, &parts)?;
        let spot = Spot::of(h, place)?;
        let m = h.module_mut()?;
        if parts.loc.bits == 0
            && let Some(near) = spot.near()
        {
            state.loc = m.op_loc(near);
        }
        let op = m.create(state);
        spot.put(m, op);
        Ok(h.give_op(op))
    })
}

/// Copies an operation with everything in it and puts the copy at its place. The copy uses the same operands. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_copy(
    module: *mut PiperModule,
    op: PiperOp,
    place: PiperPlace,
) -> PiperOp {
    make(module, "piper_op_copy", |h| {
        let m = h.module()?;
        let op = h.op(m, op)?;
        if !m.successors(op).is_empty() {
            return Err(Fault::new(
                PIPER_WRONG_KIND,
                "a terminator with successors is copied only with its region",
            ));
        }
        let spot = Spot::of(h, place)?;
        let m = h.module_mut()?;
        let copy = m.clone_op(op, &mut Default::default());
        spot.put(m, copy);
        Ok(h.give_op(copy))
    })
}

/// Moves an operation with everything in it. Threads: writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_op_move(
    module: *mut PiperModule,
    op: PiperOp,
    place: PiperPlace,
) -> PiperStatus {
    edit(module, "piper_op_move", |h| {
        let m = h.module()?;
        let op = h.op(m, op)?;
        if op == m.root() {
            return Err(Fault::new(PIPER_IN_USE, "the outermost operation stays where it is"));
        }
        let spot = Spot::of(h, place)?;
        let mut around = match &spot {
            Spot::Nowhere => None,
            Spot::Start(block) | Spot::End(block) => m.block_op(*block),
            Spot::Before(near) | Spot::After(near) => Some(*near),
        };
        while let Some(outer) = around {
            if outer == op {
                return Err(Fault::new(PIPER_IN_USE, "the place is in or at the operation itself"));
            }
            around = m.parent_op(outer);
        }
        let m = h.module_mut()?;
        m.detach(op);
        spot.put(m, op);
        Ok(())
    })
}

/// A place that is known to be there.
enum Spot {
    Nowhere,
    Start(Block),
    End(Block),
    Before(Op),
    After(Op),
}

impl Spot {
    fn of(h: &PiperModule, place: PiperPlace) -> Result<Self, Fault> {
        let m = h.module()?;
        let near = |op| {
            let op = h.op(m, op)?;
            match m.parent_block(op) {
                Some(_) => Ok(op),
                None => Err(Fault::new(PIPER_IN_USE, "the operation at the place is in no block")),
            }
        };
        Ok(match place.kind {
            PIPER_NOWHERE => Self::Nowhere,
            PIPER_AT_START => Self::Start(h.block(place.block)?),
            PIPER_AT_END => Self::End(h.block(place.block)?),
            PIPER_BEFORE => Self::Before(near(place.op)?),
            PIPER_AFTER => Self::After(near(place.op)?),
            other => {
                return Err(Fault::new(PIPER_OUT_OF_RANGE, format!("{other} is no kind of place")));
            }
        })
    }

    fn near(&self) -> Option<Op> {
        match self {
            Self::Before(op) | Self::After(op) => Some(*op),
            Self::Nowhere | Self::Start(_) | Self::End(_) => None,
        }
    }

    fn put(self, m: &mut Module, op: Op) {
        let before = match self {
            Self::Nowhere => return,
            Self::End(block) => return m.append(block, op),
            Self::Before(near) => near,
            Self::Start(block) => match m.first_op(block) {
                Some(first) => first,
                None => return m.append(block, op),
            },
            Self::After(near) => match (m.next_op(near), m.parent_block(near)) {
                (Some(next), _) => next,
                (None, Some(block)) => return m.append(block, op),
                (None, None) => return,
            },
        };
        m.insert_before(before, op);
    }
}

fn state(h: &PiperModule, parts: &PiperOpParts) -> Result<OpState, Fault> {
    let (m, ctx) = (h.module()?, h.ctx()?);
    let name = ctx.op_name(parts.name.get("the name")?);
    let mut state = OpState::new(name, h.loc(parts.loc)?);
    for value in list(parts.operands, parts.num_operands) {
        state.operands.push(h.value(m, *value)?);
    }
    for ty in list(parts.results, parts.num_results) {
        state.result_types.push(h.ty(*ty)?);
    }
    for entry in list(parts.attrs, parts.num_attrs) {
        let name = ctx.name(entry.name.get("an attribute's name")?);
        let attr = h.attr(entry.attr)?;
        state.attrs.retain(|(known, _)| *known != name);
        state.attrs.push((name, attr));
    }
    for region in list(parts.regions, parts.num_regions) {
        let region: Region = h.region(*region)?;
        if m.region_op(region).is_some() || state.regions.contains(&region) {
            return Err(Fault::new(PIPER_IN_USE, "a region belongs to an operation already"));
        }
        state.regions.push(region);
    }
    for block in list(parts.successors, parts.num_successors) {
        state.successors.push(h.block(*block)?);
    }
    let most = [
        ("operands", state.operands.len(), usize::from(u16::MAX)),
        ("results", state.result_types.len(), usize::from(u16::MAX)),
        ("attributes", state.attrs.len(), usize::from(u16::MAX) / 4),
        ("regions", state.regions.len(), usize::from(u8::MAX)),
        ("successors", state.successors.len(), usize::from(u8::MAX)),
    ];
    if let Some((what, count, most)) = most.into_iter().find(|(_, count, most)| count > most) {
        return Err(Fault::new(PIPER_OUT_OF_RANGE, format!("{count} {what}, but at most {most}")));
    }
    if state.result_types.is_empty() {
        state.result_types = inferred(m, &ctx, &state)?;
    }
    Ok(state)
}

/// The types of results that follow from operands and attributes. None if the operation is not known, has no results, or does
/// not say: the verifier then does.
fn inferred(m: &Module, ctx: &Context, state: &OpState) -> Result<Vec<Type>, Fault> {
    let Some(def) = state.name.def(ctx).filter(|def| !def.results.is_empty()) else {
        return Ok(Vec::new());
    };
    let operands: Vec<Type> = state.operands.iter().map(|value| m.ty(*value)).collect();
    if let Some(InferTypes(infer)) = def.interface() {
        let attrs: &[(Name, Attr)] = &state.attrs;
        let given = attrs.iter().find(|(name, _)| name.text(ctx) == OPERAND_SEGMENTS);
        let given = given.and_then(|(_, sizes)| sizes.as_int_array(ctx)).map(<[i64]>::to_vec);
        let fixed = def.operands.iter().filter(|d| d.arity == Arity::One).count();
        let loose = operands.len().saturating_sub(fixed) as i64;
        let each = || def.operands.iter().map(|d| if d.arity == Arity::One { 1 } else { loose });
        let sizes = given.unwrap_or_else(|| each().collect());
        let input = InferInput { ctx, def, operands: &operands, sizes: &sizes, attrs };
        return infer(&input).map_err(|why| {
            Fault::new(PIPER_WRONG_KIND, format!("the results of '{}': {why}", def.name))
        });
    }
    match operands.first() {
        Some(first) if def.has(Trait::SameOperandsAndResultType) => {
            Ok(vec![*first; def.results.len()])
        }
        _ => Ok(Vec::new()),
    }
}
