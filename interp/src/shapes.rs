//! Checks operands against forms such as `[*, K]` and remembers what each letter stands for.
//!
//! The first operand that mentions a letter fixes its size; a later one that disagrees is an error naming both. `*`, only
//! in front, stands for any number of leading dimensions, the same ones in every operand. Operations therefore open with
//! the same shapes that their definition states.

use crate::error::NumericError;
use crate::tensor::{Element, Tensor};

/// The dimensions of one operation, bound operand by operand.
pub struct Shapes {
    op: &'static str,
    leading: Option<(Vec<usize>, &'static str)>,
    sizes: Vec<(&'static str, usize, &'static str)>,
}

impl Shapes {
    /// No dimension known yet; `op` is the name used in errors.
    pub fn new(op: &'static str) -> Self {
        Self { op, leading: None, sizes: Vec::new() }
    }

    /// Fixes a size that comes from an attribute.
    pub fn attribute(&mut self, name: &'static str, size: usize) {
        self.sizes.push((name, size, "an attribute"));
    }

    /// Binds the dimensions of `tensor` to the letters of `form` and returns its values.
    ///
    /// # Errors
    /// When it holds another type than `T`, has another rank than the form, or a letter already stands for another size.
    pub fn operand<'t, T: Element>(
        &mut self,
        operand: &'static str,
        tensor: &'t Tensor,
        form: &[&'static str],
    ) -> Result<&'t [T], NumericError> {
        let op = self.op;
        let (with_leading, named) = match form {
            ["*", named @ ..] => (true, named),
            named => (false, named),
        };
        let shape = &tensor.shape;
        let rank_error = || NumericError::Rank {
            op,
            operand,
            found: shape.clone(),
            expected: format!("[{}]", form.join(", ")),
        };
        if shape.len() < named.len() || (!with_leading && shape.len() > named.len()) {
            return Err(rank_error());
        }
        let (leading, trailing) = shape.split_at(shape.len() - named.len());
        let dimension_error = |dimension, found, reference, expected| NumericError::Dimension {
            op,
            operand,
            dimension,
            found,
            reference,
            expected,
        };
        if with_leading {
            match &self.leading {
                None => self.leading = Some((leading.to_vec(), operand)),
                Some((known, _)) if known.len() != leading.len() => return Err(rank_error()),
                Some((known, reference)) => {
                    for (dim, (&found, &expected)) in leading.iter().zip(known).enumerate() {
                        if found != expected {
                            return Err(dimension_error(
                                dim.to_string(),
                                found,
                                reference,
                                expected,
                            ));
                        }
                    }
                }
            }
        }
        for (&name, &found) in named.iter().zip(trailing) {
            match self.sizes.iter().find(|(known, ..)| *known == name) {
                None => self.sizes.push((name, found, operand)),
                Some(&(_, expected, reference)) if found != expected => {
                    return Err(dimension_error(name.to_string(), found, reference, expected));
                }
                Some(_) => {}
            }
        }
        tensor.values::<T>().ok_or(NumericError::ElementType {
            op,
            operand,
            found: tensor.element_type(),
            expected: T::TYPE,
        })
    }

    /// What a letter stands for.
    ///
    /// # Panics
    /// When no operand has bound it: a mistake in the operation, not in its operands.
    pub fn size(&self, name: &str) -> usize {
        match self.sizes.iter().find(|(known, ..)| *known == name) {
            Some(&(_, size, _)) => size,
            None => panic!("{}: dimension {name} is used before an operand binds it", self.op),
        }
    }

    /// The product of the leading dimensions that `*` stands for.
    pub fn rows(&self) -> usize {
        self.leading.iter().flat_map(|(dims, _)| dims).product()
    }

    /// A tensor of the given form and values.
    ///
    /// # Errors
    /// When the number of values is not the product of the form's sizes.
    pub fn result<T: Element>(
        &self,
        form: &[&str],
        values: Vec<T>,
    ) -> Result<Tensor, NumericError> {
        let mut shape = Vec::new();
        for &name in form {
            match (name, &self.leading) {
                ("*", Some((leading, _))) => shape.extend_from_slice(leading),
                ("*", None) => {}
                (name, _) => shape.push(self.size(name)),
            }
        }
        Tensor::new(shape, values)
    }

    /// The quotient of a dimension and an attribute that must divide it.
    ///
    /// # Errors
    /// When the attribute is 0 or does not divide the dimension.
    pub fn divided(&self, name: &str, attribute: &str, by: usize) -> Result<usize, NumericError> {
        let size = self.size(name);
        if by == 0 || !size.is_multiple_of(by) {
            return Err(self.attribute_error(format!(
                "{attribute} = {by} does not divide dimension {name} = {size}"
            )));
        }
        Ok(size / by)
    }

    /// An error about an attribute of this operation.
    pub fn attribute_error(&self, reason: String) -> NumericError {
        NumericError::Attribute { op: self.op, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disagreements_name_both_operands_and_the_dimension() {
        let mut shapes = Shapes::new("nn.linear");
        shapes.operand::<f32>("x", &Tensor::filled([2, 3, 4], 0f32), &["*", "K"]).unwrap();
        let error =
            shapes.operand::<f32>("w", &Tensor::filled([5, 7], 0f32), &["K", "N"]).unwrap_err();
        assert_eq!(error.to_string(), "nn.linear: dimension K of w is 5, but x makes it 4");
        let error =
            shapes.operand::<f32>("dy", &Tensor::filled([2, 9, 7], 0f32), &["*", "N"]).unwrap_err();
        assert_eq!(error.to_string(), "nn.linear: dimension 1 of dy is 9, but x makes it 3");
        let error = shapes.operand::<f32>("bias", &Tensor::scalar(0f32), &["N"]).unwrap_err();
        assert_eq!(error.to_string(), "nn.linear: bias has shape [], expected the form [N]");
        let error =
            shapes.operand::<f32>("w", &Tensor::filled([4, 7], 0f64), &["K", "N"]).unwrap_err();
        assert_eq!(error.to_string(), "nn.linear: w holds f64, expected f32");
    }
}
