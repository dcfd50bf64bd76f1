//! What can be wrong with the operands of a numeric operation.

use crate::tensor::ElementType;

/// An operation was given operands or attributes outside its definition.
///
/// The text is complete without the variant: it names the operation, the operand and the dimension, so that an
/// interpreter only has to add the source location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NumericError {
    /// An operand holds another element type than the operation works on.
    #[error("{op}: {operand} holds {found}, expected {expected}")]
    ElementType {
        /// The operation, by its name in the IR.
        op: &'static str,
        /// The operand, by its name in the definition.
        operand: &'static str,
        /// What it has.
        found: ElementType,
        /// What it should have.
        expected: ElementType,
    },

    /// An operand has too many or too few dimensions; `expected` is the form, such as `[*, K]`.
    #[error("{op}: {operand} has shape {found:?}, expected the form {expected}")]
    Rank {
        /// The operation, by its name in the IR.
        op: &'static str,
        /// The operand, by its name in the definition.
        operand: &'static str,
        /// What it has.
        found: Vec<usize>,
        /// What it should have.
        expected: String,
    },

    /// Two operands disagree on the size of a dimension.
    #[error(
        "{op}: dimension {dimension} of {operand} is {found}, but {reference} makes it {expected}"
    )]
    Dimension {
        /// The operation, by its name in the IR.
        op: &'static str,
        /// The operand, by its name in the definition.
        operand: &'static str,
        /// The dimension's letter in the definition, or its position among the leading ones.
        dimension: String,
        /// What it has.
        found: usize,
        /// The operand that fixed the size.
        reference: &'static str,
        /// What it should have.
        expected: usize,
    },

    /// A token indexes past the vocabulary (or is negative).
    #[error("{op}: {operand}[{position}] = {token} is outside 0..{vocab}, the size of dimension V")]
    Token {
        /// The operation, by its name in the IR.
        op: &'static str,
        /// The operand, by its name in the definition.
        operand: &'static str,
        /// Row-major position of the token.
        position: usize,
        /// Its value.
        token: i32,
        /// Number of classes.
        vocab: usize,
    },

    /// An attribute does not fit the shapes, or is outside its range.
    #[error("{op}: {reason}")]
    Attribute {
        /// The operation, by its name in the IR.
        op: &'static str,
        /// What does not fit.
        reason: String,
    },

    /// The number of values is not the product of the shape.
    #[error("shape {shape:?} has {expected} elements, but {found} values were given")]
    Length {
        /// The shape.
        shape: Vec<usize>,
        /// What it should have.
        expected: usize,
        /// What it has.
        found: usize,
    },
}
