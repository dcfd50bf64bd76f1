//! What can be wrong with the operands of a numeric operation.

use crate::tensor::ElementType;

/// An operation was given operands or attributes outside its definition.
///
/// The text is complete without the variant: it names the operation, the operand and the dimension, so that an
/// interpreter only has to add the source location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum NumericError {
    /// An operand holds another element type than the operation works on.
    #[error("{op}: {operand} holds {found}, expected {expected}")]
    ElementType {
        op: &'static str,
        operand: &'static str,
        found: ElementType,
        expected: ElementType,
    },

    /// An operand has too many or too few dimensions; `expected` is the form, such as `[*, K]`.
    #[error("{op}: {operand} has shape {found:?}, expected the form {expected}")]
    Rank { op: &'static str, operand: &'static str, found: Vec<usize>, expected: String },

    /// Two operands disagree on the size of a dimension.
    #[error(
        "{op}: dimension {dimension} of {operand} is {found}, but {reference} makes it {expected}"
    )]
    Dimension {
        op: &'static str,
        operand: &'static str,
        dimension: String,
        found: usize,
        reference: &'static str,
        expected: usize,
    },

    /// A token indexes past the vocabulary (or is negative).
    #[error("{op}: {operand}[{position}] = {token} is outside 0..{vocab}, the size of dimension V")]
    Token { op: &'static str, operand: &'static str, position: usize, token: i32, vocab: usize },

    /// An attribute does not fit the shapes, or is outside its range.
    #[error("{op}: {reason}")]
    Attribute { op: &'static str, reason: String },

    /// The number of values is not the product of the shape.
    #[error("shape {shape:?} has {expected} elements, but {found} values were given")]
    Length { shape: Vec<usize>, expected: usize, found: usize },
}
