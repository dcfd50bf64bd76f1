//! Texts and lists on both sides of the border: a pointer with a size.
//!
//! The functions here read what pointers of a caller point to. They are for exported functions alone, which are `unsafe` and
//! whose contract is the header's: a pointer is null or good for as many elements as is said with it, for the time of the call.

use std::os::raw::c_char;

use crate::fault::{Fault, PIPER_BAD_TEXT, PIPER_WRONG_KIND};

/// A text: `len` bytes of UTF-8, which need not end with a NUL. As a result it is borrowed: the function says for how long.
/// `data` is null for no text at all.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PiperStr {
    /// The first byte.
    pub data: *const c_char,
    /// How many bytes.
    pub len: usize,
}

impl Default for PiperStr {
    fn default() -> Self {
        Self { data: std::ptr::null(), len: 0 }
    }
}

impl PiperStr {
    /// A view of a text, which must outlive it.
    pub(crate) fn of(text: &str) -> Self {
        Self { data: text.as_ptr().cast(), len: text.len() }
    }

    /// A view of a text if there is one.
    pub(crate) fn of_some(text: Option<&str>) -> Self {
        text.map_or(Self::default(), Self::of)
    }

    /// The text; no text is the empty one.
    pub(crate) fn get<'a>(self, what: &str) -> Result<&'a str, Fault> {
        std::str::from_utf8(list(self.data.cast::<u8>(), self.len))
            .map_err(|error| Fault::new(PIPER_BAD_TEXT, format!("{what} is not UTF-8: {error}")))
    }

    /// The text, if there is one.
    pub(crate) fn optional<'a>(self, what: &str) -> Result<Option<&'a str>, Fault> {
        if self.data.is_null() { Ok(None) } else { self.get(what).map(Some) }
    }
}

/// Bytes that the caller owns, with a NUL after them that does not count. Freed with `piper_string_free`.
#[repr(C)]
#[derive(Debug)]
pub struct PiperString {
    /// The first byte; null if there is nothing.
    pub data: *mut c_char,
    /// How many bytes, without the NUL.
    pub len: usize,
}

impl PiperString {
    /// Gives bytes away.
    pub(crate) fn own(bytes: impl Into<Vec<u8>>) -> Self {
        let mut bytes = bytes.into();
        let len = bytes.len();
        bytes.push(0);
        Self { data: Box::into_raw(bytes.into_boxed_slice()).cast(), len }
    }
}

/// Frees what a function gave, and makes it null, so that freeing it again does nothing. Threads: any, each on its own string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn piper_string_free(string: *mut PiperString) {
    // SAFETY: the header's contract: null, or a string of this library that nobody else uses now.
    let Some(string) = (unsafe { string.as_mut() }) else { return };
    let data = std::mem::replace(&mut string.data, std::ptr::null_mut());
    if !data.is_null() {
        let bytes = std::ptr::slice_from_raw_parts_mut(data.cast::<u8>(), string.len + 1);
        // SAFETY: `own` made it, of just this length.
        drop(unsafe { Box::from_raw(bytes) });
    }
    string.len = 0;
}

/// The elements that a pointer and a length of a caller stand for.
pub(crate) fn list<'a, T>(data: *const T, len: usize) -> &'a [T] {
    if data.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: the header's contract: a pointer that is not null is good for as many elements as is said.
    unsafe { std::slice::from_raw_parts(data, len) }
}

/// Writes a result where the caller wants it, if it does.
pub(crate) fn store<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: the header's contract: a pointer that is not null is good for a value, which may be uninitialised.
        unsafe { out.write(value) };
    }
}

/// A structure that a caller fills in and that later versions may make longer; it begins with its size.
///
/// # Safety
/// The first field is a `usize`, and all bytes zero are a value of it.
pub(crate) unsafe trait Sized0: Copy {}

/// Reads such a structure. What the caller's header did not have yet is zero.
pub(crate) fn sized<T: Sized0>(given: *const T, what: &str) -> Result<T, Fault> {
    if given.is_null() {
        return Err(Fault::null(what));
    }
    // SAFETY: the header's contract: it begins with its size, and is good for as many bytes.
    let size = unsafe { given.cast::<usize>().read_unaligned() };
    // Longer ones are from a later header; what is there beyond ours would be ignored, so it must say nothing.
    let known = size_of::<T>();
    let is_plausible = (size_of::<usize>()..=known + 4096).contains(&size);
    if !is_plausible {
        return Err(Fault::new(
            PIPER_WRONG_KIND,
            format!("{what} says that it has {size} bytes; set its field 'size' to sizeof"),
        ));
    }
    let beyond = list(given.cast::<u8>(), size).get(known..).unwrap_or_default();
    if beyond.iter().any(|byte| *byte != 0) {
        return Err(Fault::new(
            PIPER_WRONG_KIND,
            format!("{what} asks for something that this version of the library does not know"),
        ));
    }
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: both are good for so many bytes, and all bytes zero are a value.
    unsafe {
        std::ptr::copy_nonoverlapping(
            given.cast::<u8>(),
            value.as_mut_ptr().cast(),
            size.min(known),
        );
        Ok(value.assume_init())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::PIPER_NULL;

    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    struct Two {
        size: usize,
        first: u64,
        second: u64,
    }

    // SAFETY: it begins with its size, and numbers may be zero.
    unsafe impl Sized0 for Two {}

    #[test]
    fn shorter_structures_are_filled_up_and_longer_ones_must_say_nothing_more() {
        let two = Two { size: 16, first: 1, second: 2 };
        assert_eq!(sized(&two, "two").map(|t| (t.first, t.second)), Ok((1, 0)));
        let mut long = [24_usize + 8, 5, 6, 0];
        assert_eq!(sized(long.as_ptr().cast::<Two>(), "two").map(|t| t.second), Ok(6));
        long[3] = 7;
        let later = sized(long.as_ptr().cast::<Two>(), "two").map(|t| t.second);
        assert_eq!(later.expect_err("unknown").status, PIPER_WRONG_KIND);
        let none = Two { size: 0, ..two };
        assert_eq!(sized(&none, "two").expect_err("no size").status, PIPER_WRONG_KIND);
        assert_eq!(sized::<Two>(std::ptr::null(), "two").expect_err("null").status, PIPER_NULL);
    }

    #[test]
    fn strings_end_with_a_nul_and_are_freed_once() {
        let mut string = PiperString::own("abc");
        assert_eq!(list(string.data.cast::<u8>(), 4), b"abc\0");
        for _ in 0..2 {
            // SAFETY: a string of this library, or none.
            unsafe { piper_string_free(&mut string) };
            assert!(string.data.is_null() && string.len == 0);
        }
    }

    #[test]
    fn what_is_not_utf8_is_refused() {
        let bytes = [b'a', 0xff];
        let text = PiperStr { data: bytes.as_ptr().cast(), len: 2 };
        assert_eq!(text.get("a name").expect_err("bad").status, PIPER_BAD_TEXT);
        assert_eq!(PiperStr::default().get("a name"), Ok(""));
        assert_eq!(PiperStr::default().optional("a name"), Ok(None));
    }
}
