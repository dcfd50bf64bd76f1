//! What callers make: numbers that are looked up, never followed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::call::{Failure, Result, Status, refuse};

/// `CUDA_R_32F`, `CUDA_R_16BF`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F32,
    Bf16,
}

impl Element {
    pub(crate) fn of(number: u32) -> Result<Self> {
        match number {
            0 => Ok(Self::F32),
            14 => Ok(Self::Bf16),
            other => Err(Failure {
                status: Status::NOT_SUPPORTED,
                message: format!("element type {other}: f32 (0) and bf16 (14) are supported"),
            }),
        }
    }

    pub(crate) fn bytes(self) -> u64 {
        if self == Self::F32 { 4 } else { 2 }
    }
}

/// A matrix, column by column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) element: Element,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    /// Elements from one column to the next.
    pub(crate) leading: u64,
    pub(crate) batch: u64,
    /// Elements from one matrix to the next.
    pub(crate) stride: u64,
}

impl Layout {
    /// Bytes from the first element to behind the last.
    pub(crate) fn bytes(&self) -> u64 {
        let one = self.leading * self.columns.saturating_sub(1) + self.rows;
        (self.stride * (self.batch - 1) + one) * self.element.bytes()
    }
}

/// A product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Description {
    /// Of the left and of the right operand.
    pub(crate) is_transposed: [bool; 2],
    pub(crate) has_bias: bool,
    pub(crate) bias: u64,
    /// Most multiprocessors; 0 for all.
    pub(crate) multiprocessors: u32,
}

/// What a way to multiply must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preference {
    pub(crate) most_workspace: u64,
    /// Of A, B, C and D, in bytes.
    pub(crate) alignments: [u32; 4],
}

impl Default for Preference {
    fn default() -> Self {
        Self { most_workspace: 0, alignments: [256; 4] }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Object {
    Handle,
    Description(Description),
    Layout(Layout),
    Preference(Preference),
}

static OBJECTS: Mutex<(usize, BTreeMap<usize, Object>)> = Mutex::new((0, BTreeMap::new()));

/// Takes an object in, and gives its number.
pub(crate) fn insert(object: Object) -> usize {
    let mut objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
    objects.0 += 1;
    let number = 0x6c74_0000_0000_0000 | objects.0 << 4;
    objects.1.insert(number, object);
    number
}

pub(crate) fn get(number: usize) -> Result<Object> {
    let objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
    match objects.1.get(&number) {
        Some(object) => Ok(*object),
        None => refuse(format!("there is no object {number:#x}")),
    }
}

pub(crate) fn replace(number: usize, object: Object) {
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner).1.insert(number, object);
}

pub(crate) fn remove(number: usize) -> Result {
    get(number)?;
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&number);
    Ok(())
}

/// Checks a handle.
pub(crate) fn handle(number: usize) -> Result {
    match get(number) {
        Ok(Object::Handle) => Ok(()),
        _ => Err(Failure {
            status: Status::NOT_INITIALIZED,
            message: format!("{number:#x} is no handle"),
        }),
    }
}

pub(crate) fn description(number: usize) -> Result<Description> {
    match get(number)? {
        Object::Description(found) => Ok(found),
        _ => refuse(format!("{number:#x} is no description of a product")),
    }
}

pub(crate) fn layout(number: usize) -> Result<Layout> {
    match get(number)? {
        Object::Layout(found) => Ok(found),
        _ => refuse(format!("{number:#x} is no layout of a matrix")),
    }
}

pub(crate) fn preference(number: usize) -> Result<Preference> {
    match get(number)? {
        Object::Preference(found) => Ok(found),
        _ => refuse(format!("{number:#x} is no preference")),
    }
}
