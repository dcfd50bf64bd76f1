//! Writing `dense<...>`: element by element up to a hundred, as bytes beyond.

use super::numbers::print_wide;
use super::parse_dense::print_hex;
use super::print_attrs::quoted;
use super::printer::Printer;
use crate::dense::{Dense, Number, int_of, low_bits, num_elements};
use crate::float::print_float;
use crate::types::Signedness;
use crate::{Attr, AttrData, Type};

/// More elements than these are written as bytes.
const MOST_WRITTEN_OUT: usize = 100;

impl Printer<'_> {
    /// `dense<...> : type`
    pub(super) fn dense(&mut self, attr: Attr, ty: Type) {
        let dense = attr.as_dense(self.ctx).expect("dense elements are numbers");
        if self.options.elide_elements.is_some_and(|most| dense.len() > most) && !dense.is_splat() {
            self.text("dense_resource<__elided__> : ");
            return self.ty(ty);
        }
        self.text("dense<");
        self.dense_body(&dense);
        self.text("> : ");
        self.ty(ty);
    }

    /// The elements alone.
    pub(super) fn dense_body(&mut self, dense: &Dense<'_>) {
        if dense.is_empty() {
        } else if dense.is_splat() {
            self.element(dense, 0);
        } else if dense.len() > self.options.hex_elements.unwrap_or(MOST_WRITTEN_OUT) {
            let bytes = dense.raw();
            let hex = if dense.number().0.is_bit() && !dense.number().1 {
                let pack =
                    |bits: &[u8]| bits.iter().enumerate().fold(0, |b, (i, bit)| b | bit << i);
                print_hex(bytes.chunks(8).map(pack))
            } else {
                print_hex(bytes.iter().copied())
            };
            self.string(&hex);
        } else {
            self.lists(dense.shape(), &mut 0, &mut |p, at| p.element(dense, at));
        }
    }

    /// `dense<["a", "b"]> : type`
    pub(super) fn dense_strings(&mut self, ty: Type, values: &[Box<str>]) {
        self.text("dense<");
        self.strings_body(ty, values);
        self.text("> : ");
        self.ty(ty);
    }

    /// `sparse<indices, values> : type`
    pub(super) fn sparse(&mut self, ty: Type, indices: Attr, values: Attr) {
        self.text("sparse<");
        if let Some(indices) = indices.as_dense(self.ctx).filter(|indices| !indices.is_empty()) {
            self.dense_body(&indices);
            self.text(", ");
            match values.data(self.ctx) {
                AttrData::DenseStrings { ty, values } => self.strings_body(*ty, values),
                _ => {
                    if let Some(values) = values.as_dense(self.ctx) {
                        self.dense_body(&values);
                    }
                }
            }
        }
        self.text("> : ");
        self.ty(ty);
    }

    fn strings_body(&mut self, ty: Type, values: &[Box<str>]) {
        let (shape, _) = ty.as_shaped(self.ctx).expect("elements have a shaped type");
        match values {
            [] => {}
            [only] => {
                let text = quoted(only);
                self.text(&text);
            }
            _ if num_elements(shape) == Some(values.len()) => {
                self.lists(shape, &mut 0, &mut |p, at| {
                    let text = quoted(&values[at]);
                    p.text(&text);
                });
            }
            _ => unreachable!("as many texts as elements"),
        }
    }

    /// Nested lists of the elements from `next` on.
    fn lists(
        &mut self,
        shape: &[i64],
        next: &mut usize,
        element: &mut dyn FnMut(&mut Self, usize),
    ) {
        let Some((&size, inner)) = shape.split_first() else {
            element(self, *next);
            *next += 1;
            return;
        };
        self.text("[");
        self.commas(0..size, |p, _| p.lists(inner, next, element));
        self.text("]");
    }

    fn element(&mut self, dense: &Dense<'_>, at: usize) {
        let (number, is_pair) = dense.number();
        let bytes = dense.bytes_at(at);
        if !is_pair {
            return self.element_number(number, bytes);
        }
        let (real, imaginary) = bytes.split_at(number.bytes());
        self.text("(");
        self.element_number(number, real);
        self.text(",");
        self.element_number(number, imaginary);
        self.text(")");
    }

    fn element_number(&mut self, number: Number, bytes: &[u8]) {
        match number {
            Number::Float(kind) => {
                let text = print_float(kind, low_bits(bytes));
                self.text(&text);
            }
            Number::Int { width: 1, signedness: Signedness::Signless } => {
                self.text(if bytes[0] == 0 { "false" } else { "true" });
            }
            Number::Int { width, signedness } => match int_of(number, bytes) {
                Some(value) => self.integer(value, width, signedness),
                None => {
                    let text = print_wide(&words_of(bytes, width, signedness), signedness);
                    self.text(&text);
                }
            },
        }
    }

    /// An integer of at most 128 bits; that of `ui128` is kept as its bits.
    pub(super) fn integer(&mut self, value: i128, width: u32, signedness: Signedness) {
        match i64::try_from(value) {
            _ if width == 128 && signedness == Signedness::Unsigned => self.decimal(value as u128),
            Ok(small) => self.decimal(small),
            Err(_) => self.decimal(value),
        }
    }
}

/// The words of a wide integer from its bytes, filled up with its sign.
fn words_of(bytes: &[u8], width: u32, signedness: Signedness) -> Vec<u64> {
    let mut words: Vec<u64> = bytes.chunks(8).map(|chunk| low_bits(chunk) as u64).collect();
    let spare = words.len() as u32 * 64 - width;
    if let (true, Some(last)) = (signedness != Signedness::Unsigned, words.last_mut()) {
        *last = ((*last << spare) as i64 >> spare) as u64;
    }
    words
}
