//! Result types from operand types: the letters that operands bind give the sizes of the results.

use piper_ir::{InferInput, Type};

use super::signature::Signature;

/// The types of the required results of an operation with a [`Signature`]. Optional ones, which a caller asks for by
/// giving their type, are not among them. Whether operands agree with each other is the verifier's question.
///
/// # Errors
/// An operand that is not of its form, or a size or element type that nothing fixes.
pub(super) fn infer_types(input: &InferInput<'_>) -> Result<Vec<Type>, String> {
    let (ctx, def) = (input.ctx, input.def);
    let Some(signature) = def.interface::<Signature>() else {
        return Err("it has no signature".into());
    };
    let is_transposed = input.attr("transpose_w").is_some();
    let form = |name: &str, form: &'static str| -> Vec<&'static str> {
        let mut letters: Vec<&str> = form.split_whitespace().collect();
        if is_transposed && matches!(name, "w" | "dw") {
            letters.reverse();
        }
        letters
    };
    let (mut sizes, mut leading, mut element): (Vec<(&str, i64)>, Option<&[i64]>, _) =
        (Vec::new(), None, None);
    for &(letter, attribute) in signature.attributes {
        sizes.extend(input.attr(attribute).and_then(|a| a.as_int(ctx)).map(|size| (letter, size)));
    }
    for (i, (operand, text)) in def.operands.iter().zip(signature.operands).enumerate() {
        let letters = form(&operand.name, text);
        let named = letters.iter().filter(|letter| **letter != "*").count();
        for ty in input.group(i) {
            let Some((shape, of)) = ty.as_tensor(ctx) else { continue };
            if of.as_float(ctx).is_some() {
                element.get_or_insert(of);
            }
            let (is_open, rank) = (named < letters.len(), shape.len());
            if rank < named || (!is_open && rank > named) {
                let (name, ty) = (&operand.name, ty.display(ctx));
                return Err(format!(
                    "'{name}' has type {ty}, expected the form [{}]",
                    letters.join(", ")
                ));
            }
            let (front, back) = shape.split_at(rank - named);
            if is_open {
                leading.get_or_insert(front);
            }
            let letters = letters.iter().copied().filter(|letter| *letter != "*");
            sizes.extend(letters.zip(back.iter().copied()));
        }
    }
    let mut types = Vec::new();
    for (result, text) in def.results.iter().zip(signature.results) {
        if result.arity != piper_ir::Arity::One {
            continue;
        }
        let mut shape = Vec::new();
        for letter in form(&result.name, text) {
            let size = sizes.iter().find(|(known, _)| *known == letter).map(|(_, size)| *size);
            match (letter, leading, size) {
                ("*", Some(dims), _) => shape.extend(dims),
                (_, _, Some(size)) => shape.push(size),
                _ => {
                    return Err(format!(
                        "nothing fixes the size of dimension {letter} of '{}'",
                        result.name
                    ));
                }
            }
        }
        let element = element.or_else(|| input.operands.first()?.as_tensor(ctx).map(|(_, of)| of));
        let element = element
            .ok_or_else(|| format!("nothing fixes the element type of '{}'", result.name))?;
        types.push(ctx.tensor(&shape, element));
    }
    Ok(types)
}
