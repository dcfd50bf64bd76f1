//! Modules and what is in them, as C holds them.
//!
//! A [`PiperModule`] owns its module, or is lent one for the time of a pass. What is in it are numbers with a stamp: the upper
//! half of the bits says of which module, and since when. A pipeline that ran gives the module a new stamp, because passes erase,
//! move and renumber. What is erased through this interface is remembered, so that its handles are stale at once.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use piper_ir::{
    Attr, Block, Context, Loc, Module, Op, Region, Sources, Type, Value, ValueDefinition,
};

use crate::fault::{
    Fault, PIPER_NULL, PIPER_OK, PIPER_READ_ONLY, PIPER_STALE, PiperStatus, caught,
};
use crate::text::PiperStr;

/// An operation of a module. Bits 0 for none.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct PiperOp {
    /// A stamp and a number; 0 for none. Equal bits are the same operation.
    pub bits: u64,
}

/// A value: a result of an operation or an argument of a block. Bits 0 for none.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct PiperValue {
    /// A stamp and a number; 0 for none. Equal bits are the same value.
    pub bits: u64,
}

/// A block: a list of operations with arguments. Bits 0 for none.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct PiperBlock {
    /// A stamp and a number; 0 for none. Equal bits are the same block.
    pub bits: u64,
}

/// A region: a list of blocks that an operation owns. Bits 0 for none.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct PiperRegion {
    /// A stamp and a number; 0 for none. Equal bits are the same region.
    pub bits: u64,
}

/// A type. Holds for its module whatever passes run. Bits 0 for none.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct PiperType {
    /// A stamp and a number; 0 for none. Equal bits are equal types.
    pub bits: u64,
}

/// An attribute: constant data. Holds for its module whatever passes run. Bits 0 for none.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct PiperAttr {
    /// A stamp and a number; 0 for none. Equal bits are equal attributes.
    pub bits: u64,
}

/// A location: where something was written. Holds for its module whatever passes run. Bits 0 are the unknown location.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct PiperLoc {
    /// A stamp and a number; 0 for the unknown location.
    pub bits: u64,
}

/// Stamps are given once in a process: two modules never have the same. This counter is all that is global here.
static STAMPS: AtomicU32 = AtomicU32::new(1);

fn next_stamp() -> u32 {
    STAMPS.fetch_add(1, Ordering::Relaxed)
}

fn bits(stamp: u32, index: usize) -> u64 {
    u64::from(stamp) << 32 | index as u64
}

/// Numbers of what was erased.
#[derive(Debug, Default)]
struct Gone(Vec<u64>);

impl Gone {
    fn has(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    fn add(&mut self, index: usize) {
        if self.0.len() <= index / 64 {
            self.0.resize(index / 64 + 1, 0);
        }
        self.0[index / 64] |= 1 << (index % 64);
    }
}

/// What a module is besides its operations.
#[derive(Debug, Default)]
pub(crate) struct Origin {
    pub(crate) sources: Sources,
    #[cfg_attr(not(feature = "embed"), expect(dead_code, reason = "pipelines say it"))]
    pub(crate) name: String,
}

#[derive(Debug)]
enum Place {
    /// The caller's own.
    Owned(Box<Module>),
    /// A pass's, for as long as it runs.
    Lent(NonNull<Module>),
    /// A pass's that has ended.
    Ended,
}

/// Set in handles that live; anything else is not one, or was destroyed.
const LIVE: u64 = u64::from_le_bytes(*b"PiperMod");

/// A module. Made by a compiler, or lent to a pass for the time that it runs.
#[derive(Debug)]
pub struct PiperModule {
    tag: u64,
    place: Place,
    pub(crate) origin: Origin,
    pub(crate) only_reads: bool,
    stamp: u32,
    ctx_stamp: u32,
    gone_ops: Gone,
    gone_blocks: Gone,
    gone_regions: Gone,
    misuse: Mutex<Option<(Fault, Box<str>)>>,
}

// SAFETY: a lent module is used by whoever runs the pass alone, and the pointer to it is gone when the pass ends; everything
// else is Send.
unsafe impl Send for PiperModule {}

impl PiperModule {
    fn new(place: Place) -> Self {
        Self {
            tag: LIVE,
            place,
            origin: Origin::default(),
            only_reads: false,
            stamp: next_stamp(),
            ctx_stamp: next_stamp(),
            gone_ops: Gone::default(),
            gone_blocks: Gone::default(),
            gone_regions: Gone::default(),
            misuse: Mutex::new(None),
        }
    }

    /// A module of the caller's own.
    pub(crate) fn owned(module: Module, origin: Origin) -> Self {
        Self { origin, ..Self::new(Place::Owned(Box::new(module))) }
    }

    /// A module that is not there, to be lent one.
    pub(crate) fn ended() -> Self {
        Self::new(Place::Ended)
    }

    /// Lends a module, which must stay where it is until [`end`](Self::end).
    pub(crate) fn lend(&mut self, module: NonNull<Module>, only_reads: bool) {
        self.place = Place::Lent(module);
        self.only_reads = only_reads;
        self.ctx_stamp = next_stamp();
        self.renew();
        *self.misuse.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Takes the module back: a pointer that somebody kept leads to no module.
    pub(crate) fn end(&mut self) {
        self.place = Place::Ended;
        self.renew();
    }

    /// Makes all handles of operations, values, blocks and regions stale.
    pub(crate) fn renew(&mut self) {
        self.stamp = next_stamp();
        (self.gone_ops, self.gone_blocks, self.gone_regions) = Default::default();
    }

    /// A copy in the same context: types, attributes and locations of one hold for the other.
    #[cfg(feature = "embed")]
    pub(crate) fn copied(&self) -> Result<Self, Fault> {
        let origin =
            Origin { sources: self.origin.sources.clone(), name: self.origin.name.clone() };
        let copy = Self::owned(self.module()?.clone(), origin);
        Ok(Self { ctx_stamp: self.ctx_stamp, ..copy })
    }

    pub(crate) fn module(&self) -> Result<&Module, Fault> {
        match &self.place {
            Place::Owned(module) => Ok(module),
            // SAFETY: whoever lent it keeps it there until `end`, and reaches it only through this handle.
            Place::Lent(module) => Ok(unsafe { module.as_ref() }),
            Place::Ended => {
                Err(Fault::new(PIPER_STALE, "the pass that the module was lent to has ended"))
            }
        }
    }

    pub(crate) fn module_mut(&mut self) -> Result<&mut Module, Fault> {
        if self.only_reads {
            return Err(Fault::new(PIPER_READ_ONLY, "the pass said that it only reads"));
        }
        match &mut self.place {
            Place::Owned(module) => Ok(module),
            // SAFETY: as in `module`; the handle is borrowed mutably.
            Place::Lent(module) => Ok(unsafe { module.as_mut() }),
            Place::Ended => {
                Err(Fault::new(PIPER_STALE, "the pass that the module was lent to has ended"))
            }
        }
    }

    pub(crate) fn ctx(&self) -> Result<Arc<Context>, Fault> {
        Ok(self.module()?.ctx_arc())
    }

    /// Keeps the first misuse, to be asked for.
    pub(crate) fn note(&self, function: &str, fault: Fault) {
        let mut misuse = self.misuse.lock().unwrap_or_else(PoisonError::into_inner);
        misuse.get_or_insert_with(|| {
            let text = format!("{function}: {}", fault.text).into_boxed_str();
            (fault, text)
        });
    }

    /// The first misuse: its status and text.
    pub(crate) fn misuse(&self) -> Option<(PiperStatus, String)> {
        let misuse = self.misuse.lock().unwrap_or_else(PoisonError::into_inner);
        misuse.as_ref().map(|(fault, text)| (fault.status, text.to_string()))
    }

    pub(crate) fn clear_misuse(&mut self) {
        *self.misuse.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn own(&self, bits: u64, what: &str) -> Result<usize, Fault> {
        if (bits >> 32) as u32 == self.stamp {
            Ok(bits as u32 as usize)
        } else {
            Err(Fault::stale(what))
        }
    }

    fn of_ctx(&self, bits: u64, what: &str) -> Result<usize, Fault> {
        if (bits >> 32) as u32 == self.ctx_stamp {
            Ok(bits as u32 as usize)
        } else {
            Err(Fault::stale(what))
        }
    }

    /// The operation, if it is one and lives.
    pub(crate) fn op(&self, module: &Module, op: PiperOp) -> Result<Op, Fault> {
        let index = self.own(op.bits, "operation")?;
        if index >= module.op_capacity() || self.gone_ops.has(index) {
            return Err(Fault::stale("operation"));
        }
        Ok(Op::from_index(index))
    }

    pub(crate) fn block(&self, block: PiperBlock) -> Result<Block, Fault> {
        let index = self.own(block.bits, "block")?;
        if self.gone_blocks.has(index) {
            Err(Fault::stale("block"))
        } else {
            Ok(Block::from_index(index))
        }
    }

    pub(crate) fn region(&self, region: PiperRegion) -> Result<Region, Fault> {
        let index = self.own(region.bits, "region")?;
        if self.gone_regions.has(index) {
            Err(Fault::stale("region"))
        } else {
            Ok(Region::from_index(index))
        }
    }

    /// The value, if whoever defines it lives.
    pub(crate) fn value(&self, module: &Module, value: PiperValue) -> Result<Value, Fault> {
        let index = self.own(value.bits, "value")?;
        if index >= module.value_capacity() {
            return Err(Fault::stale("value"));
        }
        let value = Value::from_index(index);
        let lives = match module.definition(value) {
            ValueDefinition::Result { op, .. } => !self.gone_ops.has(op.index()),
            ValueDefinition::Argument { block, index } => {
                !self.gone_blocks.has(block.index())
                    && module.args(block).get(index) == Some(&value)
            }
        };
        if lives { Ok(value) } else { Err(Fault::stale("value")) }
    }

    pub(crate) fn ty(&self, ty: PiperType) -> Result<Type, Fault> {
        self.of_ctx(ty.bits, "type").map(Type::from_index)
    }

    pub(crate) fn attr(&self, attr: PiperAttr) -> Result<Attr, Fault> {
        self.of_ctx(attr.bits, "attribute").map(Attr::from_index)
    }

    /// The location; none is the unknown one.
    pub(crate) fn loc(&self, loc: PiperLoc) -> Result<Loc, Fault> {
        match loc.bits {
            0 => Ok(self.module()?.ctx().unknown_loc()),
            bits => self.of_ctx(bits, "location").map(Loc::from_index),
        }
    }

    pub(crate) fn give_op(&self, op: Op) -> PiperOp {
        PiperOp { bits: bits(self.stamp, op.index()) }
    }

    pub(crate) fn give_block(&self, block: Block) -> PiperBlock {
        PiperBlock { bits: bits(self.stamp, block.index()) }
    }

    pub(crate) fn give_region(&self, region: Region) -> PiperRegion {
        PiperRegion { bits: bits(self.stamp, region.index()) }
    }

    pub(crate) fn give_value(&self, value: Value) -> PiperValue {
        PiperValue { bits: bits(self.stamp, value.index()) }
    }

    pub(crate) fn give_type(&self, ty: Type) -> PiperType {
        PiperType { bits: bits(self.ctx_stamp, ty.index()) }
    }

    pub(crate) fn give_attr(&self, attr: Attr) -> PiperAttr {
        PiperAttr { bits: bits(self.ctx_stamp, attr.index()) }
    }

    pub(crate) fn give_loc(&self, loc: Loc) -> PiperLoc {
        PiperLoc { bits: bits(self.ctx_stamp, loc.index()) }
    }

    /// Remembers that everything in an operation is about to go.
    pub(crate) fn forget_op(&mut self, root: Op) -> Result<(), Fault> {
        let module = self.module()?;
        let ops: Vec<Op> = module.walk(root).collect();
        let regions: Vec<Region> = ops.iter().flat_map(|op| module.regions(*op)).copied().collect();
        let blocks: Vec<Block> = regions.iter().flat_map(|region| module.blocks(*region)).collect();
        ops.iter().for_each(|op| self.gone_ops.add(op.index()));
        blocks.iter().for_each(|block| self.gone_blocks.add(block.index()));
        regions.iter().for_each(|region| self.gone_regions.add(region.index()));
        Ok(())
    }

    /// Remembers that a block with everything in it is about to go.
    pub(crate) fn forget_block(&mut self, block: Block) -> Result<(), Fault> {
        let ops: Vec<Op> = self.module()?.ops(block).collect();
        ops.into_iter().try_for_each(|op| self.forget_op(op))?;
        self.gone_blocks.add(block.index());
        Ok(())
    }
}

/// A module as C holds it, for programs in Rust that hand it on. As a box it is [`Box::from_raw`]'s.
pub fn module_handle(module: Module) -> *mut PiperModule {
    Box::into_raw(Box::new(PiperModule::owned(module, Origin::default())))
}

/// What a pointer of a caller points to, if it is a module that lives.
fn alive<'a>(module: *const PiperModule) -> Option<&'a PiperModule> {
    // SAFETY: the header's contract: null, or a module of this library that was not destroyed.
    unsafe { module.as_ref() }.filter(|module| module.tag == LIVE)
}

/// As [`alive`], to be changed.
fn alive_mut<'a>(module: *mut PiperModule) -> Option<&'a mut PiperModule> {
    // SAFETY: the header's contract: as in `alive`, and nobody else uses it now.
    unsafe { module.as_mut() }.filter(|module| module.tag == LIVE)
}

/// Asks a module. A fault is kept in it, and the answer is then "nothing".
pub(crate) fn read<T: Default>(
    module: *const PiperModule,
    function: &str,
    ask: impl FnOnce(&PiperModule, &Module) -> Result<T, Fault>,
) -> T {
    let Some(handle) = alive(module) else { return T::default() };
    caught(|| ask(handle, handle.module()?)).unwrap_or_else(|fault| {
        handle.note(function, fault);
        T::default()
    })
}

/// Asks a module. A fault is kept in it and given as a status.
pub(crate) fn inspect(
    module: *const PiperModule,
    function: &str,
    ask: impl FnOnce(&PiperModule) -> Result<(), Fault>,
) -> PiperStatus {
    let Some(handle) = alive(module) else { return PIPER_NULL };
    match caught(|| ask(handle)) {
        Ok(()) => PIPER_OK,
        Err(fault) => {
            let status = fault.status;
            handle.note(function, fault);
            status
        }
    }
}

/// Changes a module. A fault is kept in it and given as a status.
pub(crate) fn edit(
    module: *mut PiperModule,
    function: &str,
    change: impl FnOnce(&mut PiperModule) -> Result<(), Fault>,
) -> PiperStatus {
    let Some(handle) = alive_mut(module) else { return PIPER_NULL };
    match caught(|| change(handle)) {
        Ok(()) => PIPER_OK,
        Err(fault) => {
            let status = fault.status;
            handle.note(function, fault);
            status
        }
    }
}

/// Changes a module and answers with what was made. A fault is kept in it, and the answer is then "nothing".
pub(crate) fn make<T: Default>(
    module: *mut PiperModule,
    function: &str,
    change: impl FnOnce(&mut PiperModule) -> Result<T, Fault>,
) -> T {
    let mut made = T::default();
    edit(module, function, |handle| {
        made = change(handle)?;
        Ok(())
    });
    made
}

/// Destroys a module of the caller's own.
#[cfg(feature = "embed")]
pub(crate) fn destroy(module: *mut PiperModule) {
    let Some(handle) = alive_mut(module) else { return };
    if !matches!(handle.place, Place::Owned(_)) {
        handle.note("piper_module_destroy", Fault::new(PIPER_READ_ONLY, "the module is only lent"));
        return;
    }
    handle.tag = 0;
    // SAFETY: the header's contract: made by this library, as a box, and not used any more.
    drop(unsafe { Box::from_raw(module) });
}

/// A view of the text of the first misuse. It stays where it is until [`PiperModule::clear_misuse`].
pub(crate) fn misuse_text(module: *const PiperModule) -> PiperStr {
    let Some(handle) = alive(module) else { return PiperStr::default() };
    let misuse = handle.misuse.lock().unwrap_or_else(PoisonError::into_inner);
    PiperStr::of_some(misuse.as_ref().map(|(_, text)| &**text))
}

/// The status of the first misuse.
pub(crate) fn misuse_status(module: *const PiperModule) -> PiperStatus {
    match alive(module) {
        Some(handle) => handle.misuse().map_or(PIPER_OK, |(status, _)| status),
        None => PIPER_NULL,
    }
}

/// Has a pipeline work on a module of the caller's own. Its handles of operations are stale afterwards.
#[cfg(feature = "embed")]
pub(crate) fn worked_on<T>(
    module: *mut PiperModule,
    work: impl FnOnce(&mut piper::Program) -> T,
) -> Result<T, Fault> {
    let handle = alive_mut(module).ok_or_else(|| Fault::null("the module"))?;
    if !matches!(handle.place, Place::Owned(_)) {
        let text = "the module is lent to a pass, or is being worked on";
        return Err(Fault::new(PIPER_READ_ONLY, text));
    }
    // Whoever looks at the handle while the passes run, as a pass may, finds no module.
    let Place::Owned(owned) = std::mem::replace(&mut handle.place, Place::Ended) else {
        return Err(Fault::null("the module"));
    };
    handle.renew();
    let Origin { sources, name } = std::mem::take(&mut handle.origin);
    let mut program = piper::Program { module: *owned, sources, name };
    let outcome = caught(|| Ok(work(&mut program)));
    // A pass may have used the pointer meanwhile: it is looked at anew.
    let handle = alive_mut(module).ok_or_else(|| Fault::null("the module"))?;
    handle.place = Place::Owned(Box::new(program.module));
    handle.origin = Origin { sources: program.sources, name: program.name };
    handle.renew();
    outcome
}

/// A copy of a module as a program.
#[cfg(feature = "embed")]
pub(crate) fn program_of(module: *const PiperModule) -> Result<piper::Program, Fault> {
    let handle = alive(module).ok_or_else(|| Fault::null("the module"))?;
    let module = handle.module()?.clone();
    let Origin { sources, name } = &handle.origin;
    Ok(piper::Program { module, sources: sources.clone(), name: name.clone() })
}
