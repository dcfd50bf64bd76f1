//! Arguments of a kernel as one writes them on a command line.

use anyhow::{Result, bail};
use piper_ptx::{Arg, DevicePtr, Machine};

use crate::npy;

/// Types of elements, by NumPy's names for them.
const ELEMENTS: [(&str, &str, usize); 7] = [
    ("f32", "<f4", 4),
    ("f64", "<f8", 8),
    ("i32", "<i4", 4),
    ("u32", "<u4", 4),
    ("i64", "<i8", 8),
    ("u16", "<u2", 2),
    ("u8", "|u1", 1),
];

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    name: &'static str,
    pub(crate) numpy: &'static str,
    pub(crate) bytes: usize,
}

impl Element {
    fn find(is_it: impl Fn(&str, &str) -> bool) -> Option<Self> {
        let found = ELEMENTS.iter().find(|(name, numpy, _)| is_it(name, numpy));
        found.map(|(name, numpy, bytes)| Self { name, numpy, bytes: *bytes })
    }

    pub(crate) fn from_numpy(descr: &str) -> Option<Self> {
        Self::find(|_, numpy| numpy == descr)
    }

    fn encode(self, value: f64) -> Vec<u8> {
        match self.name {
            "f32" => (value as f32).to_le_bytes().to_vec(),
            "f64" => value.to_le_bytes().to_vec(),
            _ => (value as i64).to_le_bytes()[..self.bytes].to_vec(),
        }
    }

    fn show(self, bytes: &[u8]) -> String {
        let mut word = [0; 8];
        word[..self.bytes].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(word);
        match self.name {
            "f32" => f32::from_bits(bits as u32).to_string(),
            "f64" => f64::from_bits(bits).to_string(),
            "i32" => (bits as i32).to_string(),
            "i64" => (bits as i64).to_string(),
            _ => bits.to_string(),
        }
    }
}

/// A buffer in device memory.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) pointer: DevicePtr,
    pub(crate) element: Element,
    pub(crate) shape: Vec<usize>,
}

impl Buffer {
    pub(crate) fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.element.bytes
    }

    /// The first elements.
    pub(crate) fn show(&self, bytes: &[u8]) -> String {
        const MOST: usize = 8;
        let elements = bytes.chunks_exact(self.element.bytes);
        let count = elements.len();
        let mut text: Vec<String> = elements.take(MOST).map(|e| self.element.show(e)).collect();
        if count > MOST {
            text.push(format!("… ({count} in all)"));
        }
        format!("{} [{}]", self.element.name, text.join(", "))
    }
}

/// How a buffer is filled.
#[derive(Clone, Debug)]
enum Fill {
    Empty,
    Zeros,
    /// 0, 1, 2 and so on.
    Iota,
}

/// An argument before there is memory for it.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Value(Arg),
    Filled(Filled),
    File(String),
}

/// A buffer of so many elements.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    fill: Fill,
    count: usize,
    element: Element,
}

impl Argument {
    /// Reads `kind:value`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some((kind, value)) = text.split_once(':') else {
            return Err(format!(
                "`{text}`: expected KIND:VALUE, such as f32:2.0 or buf:zeros:64xf32"
            ));
        };
        fn number<T: std::str::FromStr>(kind: &str, value: &str) -> Result<T, String> {
            value.parse().map_err(|_| format!("`{value}` is no {kind}"))
        }
        Ok(match kind {
            "f32" => Self::Value(Arg::F32(number(kind, value)?)),
            "f64" => Self::Value(Arg::F64(number(kind, value)?)),
            "i32" => Self::Value(Arg::I32(number(kind, value)?)),
            "u32" => Self::Value(Arg::U32(number(kind, value)?)),
            "i64" => Self::Value(Arg::I64(number(kind, value)?)),
            "u64" => Self::Value(Arg::U64(number(kind, value)?)),
            "buf" => return Self::buffer(value),
            // `zeros:4096xf32` without `buf:`.
            "zeros" | "iota" | "empty" => return Self::buffer(text),
            _ => return Err(format!("`{kind}`: expected f32, f64, i32, u32, i64, u64 or buf")),
        })
    }

    fn buffer(value: &str) -> Result<Self, String> {
        let Some((fill, size)) = value.split_once(':') else {
            return Ok(Self::File(value.to_string()));
        };
        let fill = match fill {
            "zeros" => Fill::Zeros,
            "iota" => Fill::Iota,
            "empty" => Fill::Empty,
            _ => return Err(format!("`{fill}`: expected a file, zeros, iota or empty")),
        };
        let parts = size.split_once('x');
        let parsed = parts.and_then(|(count, element)| {
            Some((count.parse::<usize>().ok()?, Element::find(|name, _| name == element)?))
        });
        match parsed {
            Some((count, element)) if count <= 1 << 30 => {
                Ok(Self::Filled(Filled { fill, count, element }))
            }
            _ => Err(format!(
                "`{size}`: expected COUNTxTYPE with a type of f32, f64, i32, u32, i64, u16, u8"
            )),
        }
    }

    /// Makes memory for it.
    pub(crate) fn place(self, machine: &mut Machine) -> Result<(Arg, Option<Buffer>)> {
        let (bytes, element, shape) = match self {
            Self::Value(arg) => return Ok((arg, None)),
            Self::Filled(Filled { fill: Fill::Empty, count, element }) => {
                let pointer = machine.alloc(count * element.bytes);
                let buffer = Buffer { pointer, element, shape: vec![count] };
                return Ok((Arg::Ptr(pointer), Some(buffer)));
            }
            Self::Filled(Filled { fill, count, element }) => {
                let value = |i: usize| if matches!(fill, Fill::Iota) { i as f64 } else { 0.0 };
                let bytes = (0..count).flat_map(|i| element.encode(value(i))).collect();
                (bytes, element, vec![count])
            }
            Self::File(path) => match npy::read(&path) {
                Ok(read) => read,
                Err(error) => bail!("{path}: {error}"),
            },
        };
        let pointer = machine.alloc_bytes(&bytes);
        Ok((Arg::Ptr(pointer), Some(Buffer { pointer, element, shape })))
    }
}
