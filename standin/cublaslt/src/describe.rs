//! The calls that make objects and set their attributes. Numbers are those of `cublasLt.h`.

use std::ffi::c_void;

use piper_standin_interface::driver;

use crate::call::{Failure, Result, Status, calls, put, refuse};
use crate::objects::{
    self, Description, Element, Layout, Object, Preference, description, insert, layout,
    preference, remove, replace,
};

/// The value of an attribute of a caller.
struct Value<'a> {
    attribute: u32,
    bytes: &'a [u8],
}

impl Value<'_> {
    /// # Safety
    /// `value` is null or has as many bytes.
    unsafe fn of<'a>(attribute: u32, value: *const c_void, bytes: usize) -> Result<Value<'a>> {
        if value.is_null() {
            return refuse(format!("attribute {attribute}: the value is null"));
        }
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), bytes) };
        Ok(Value { attribute, bytes })
    }

    fn array<const N: usize>(&self) -> Result<[u8; N]> {
        self.bytes.try_into().or_else(|_| {
            let (attribute, have) = (self.attribute, self.bytes.len());
            refuse(format!("attribute {attribute} has {N} bytes, but {have} are given"))
        })
    }

    fn i32(&self) -> Result<i32> {
        Ok(i32::from_ne_bytes(self.array()?))
    }

    fn u64(&self) -> Result<u64> {
        Ok(u64::from_ne_bytes(self.array()?))
    }

    fn unknown<T>(&self, of: &str) -> Result<T> {
        refuse(format!("attribute {} of a {of} is not supported", self.attribute))
    }
}

fn set_of_product(mut product: Description, value: &Value<'_>) -> Result<Description> {
    match value.attribute {
        at @ (3 | 4) => {
            let operation = value.i32()?;
            if !(0..2).contains(&operation) {
                return refuse(format!(
                    "operation {operation}: 0 (none) and 1 (transpose) are supported"
                ));
            }
            product.is_transposed[at as usize - 3] = operation == 1;
        }
        7 => {
            product.has_bias = match value.i32()? {
                1 => false,
                4 => true,
                other => {
                    return refuse(format!(
                        "epilogue {other}: 1 (none) and 4 (bias) are supported"
                    ));
                }
            };
        }
        8 => product.bias = value.u64()?,
        15 => match u32::try_from(value.i32()?) {
            Ok(n) => product.multiprocessors = n,
            Err(_) => return refuse("a negative number of multiprocessors"),
        },
        _ => return value.unknown("product"),
    }
    Ok(product)
}

fn set_of_layout(mut matrix: Layout, value: &Value<'_>) -> Result<Layout> {
    match value.attribute {
        5 => match value.i32()? {
            n @ 1.. => matrix.batch = n as u64,
            n => return refuse(format!("a batch of {n}")),
        },
        6 => match i64::from_ne_bytes(value.array()?) {
            n @ 0.. => matrix.stride = n as u64,
            n => return refuse(format!("a stride of {n}")),
        },
        _ => return value.unknown("layout"),
    }
    Ok(matrix)
}

fn set_of_preference(mut kept: Preference, value: &Value<'_>) -> Result<Preference> {
    match value.attribute {
        1 => kept.most_workspace = value.u64()?,
        at @ 5..=8 => {
            let bytes = u32::from_ne_bytes(value.array()?);
            if !bytes.is_power_of_two() {
                return refuse(format!("an alignment of {bytes} bytes"));
            }
            kept.alignments[at as usize - 5] = bytes;
        }
        _ => return value.unknown("preference"),
    }
    Ok(kept)
}

calls! {
    /// A handle; a context must be current.
    fn cublasLtCreate(to: *mut usize) {
        if driver::current_context()? == 0 {
            let message = "no context is current".to_owned();
            return Err(Failure { status: Status::NOT_INITIALIZED, message });
        }
        // SAFETY: the caller's place for the result.
        unsafe { put(to, insert(Object::Handle)) }
    }

    /// Forgets a handle.
    fn cublasLtDestroy(handle: usize) {
        objects::handle(handle)?;
        remove(handle)
    }

    /// A product with sums (`CUBLAS_COMPUTE_32F`) and factors in f32.
    fn cublasLtMatmulDescCreate(to: *mut usize, compute: u32, scale: u32) {
        if (compute, scale) != (68, 0) {
            let message = format!(
                "sums of type {compute} with factors of type {scale}: 68 (f32) with 0 (f32) are supported"
            );
            return Err(Failure { status: Status::NOT_SUPPORTED, message });
        }
        // SAFETY: the caller's place for the result.
        unsafe { put(to, insert(Object::Description(Description::default()))) }
    }

    /// Forgets it.
    fn cublasLtMatmulDescDestroy(number: usize) {
        description(number)?;
        remove(number)
    }

    /// Transposes, epilogue, bias, most multiprocessors.
    fn cublasLtMatmulDescSetAttribute(number: usize, attribute: u32, value: *const c_void, bytes: usize) {
        // SAFETY: the caller's value.
        let value = unsafe { Value::of(attribute, value, bytes)? };
        let changed = set_of_product(description(number)?, &value)?;
        replace(number, Object::Description(changed));
        Ok(())
    }

    /// A matrix, column by column.
    fn cublasLtMatrixLayoutCreate(to: *mut usize, element: u32, rows: u64, columns: u64, leading: i64) {
        let element = Element::of(element)?;
        let leading = match u64::try_from(leading) {
            Ok(leading) if leading >= rows && rows > 0 && columns > 0 => leading,
            _ => return refuse(format!("{rows} rows and {columns} columns, {leading} elements apart")),
        };
        let layout = Layout { element, rows, columns, leading, batch: 1, stride: 0 };
        // SAFETY: the caller's place for the result.
        unsafe { put(to, insert(Object::Layout(layout))) }
    }

    /// Forgets it.
    fn cublasLtMatrixLayoutDestroy(number: usize) {
        layout(number)?;
        remove(number)
    }

    /// Size of a batch, and elements from one of its matrices to the next.
    fn cublasLtMatrixLayoutSetAttribute(number: usize, attribute: u32, value: *const c_void, bytes: usize) {
        // SAFETY: the caller's value.
        let value = unsafe { Value::of(attribute, value, bytes)? };
        let changed = set_of_layout(layout(number)?, &value)?;
        replace(number, Object::Layout(changed));
        Ok(())
    }

    /// What a way to multiply must keep to: no workspace, aligned operands.
    fn cublasLtMatmulPreferenceCreate(to: *mut usize) {
        // SAFETY: the caller's place for the result.
        unsafe { put(to, insert(Object::Preference(Preference::default()))) }
    }

    /// Forgets it.
    fn cublasLtMatmulPreferenceDestroy(number: usize) {
        preference(number)?;
        remove(number)
    }

    /// Most workspace, and alignments.
    fn cublasLtMatmulPreferenceSetAttribute(number: usize, attribute: u32, value: *const c_void, bytes: usize) {
        // SAFETY: the caller's value.
        let value = unsafe { Value::of(attribute, value, bytes)? };
        let changed = set_of_preference(preference(number)?, &value)?;
        replace(number, Object::Preference(changed));
        Ok(())
    }
}
