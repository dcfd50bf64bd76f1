//! NumPy's `.npy` files, version 1: a header in text, then the elements (NumPy Enhancement Proposal 1).

use anyhow::{Context, Result, bail};

use crate::argument::{Buffer, Element};

const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// The elements of a file as bytes, their type and their shape.
pub(crate) fn read(path: &str) -> Result<(Vec<u8>, Element, Vec<usize>)> {
    let bytes = std::fs::read(path).context("cannot be read")?;
    if bytes.len() < 10 || &bytes[..8] != MAGIC {
        bail!("this is no .npy file of version 1");
    }
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let Some(header) = bytes.get(10..10 + length) else { bail!("the header is cut off") };
    let header = String::from_utf8_lossy(header);
    let after = |key: &str| header.split_once(key).map(|(_, rest)| rest.trim_start());
    let descr = after("'descr':").and_then(|rest| rest.split('\'').nth(1)).unwrap_or_default();
    let Some(element) = Element::from_numpy(descr) else {
        bail!("elements of type `{descr}` are not read");
    };
    if after("'fortran_order':").is_some_and(|rest| rest.starts_with("True")) {
        bail!("the elements are in Fortran's order");
    }
    let shape =
        after("'shape':").and_then(|rest| rest.split(['(', ')']).nth(1)).unwrap_or_default();
    let shape: Vec<usize> = shape.split(',').filter_map(|size| size.trim().parse().ok()).collect();
    let data = bytes[10 + length..].to_vec();
    if shape.iter().try_fold(element.bytes, |n, size| n.checked_mul(*size)) != Some(data.len()) {
        bail!("{shape:?} elements of {} bytes are not {} bytes", element.bytes, data.len());
    }
    Ok((data, element, shape))
}

/// Writes a buffer.
pub(crate) fn write(path: &str, buffer: &Buffer, bytes: &[u8]) -> Result<()> {
    let sizes: Vec<String> = buffer.shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
        buffer.element.numpy,
        sizes.concat()
    );
    // Data begin at a multiple of 64 bytes.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header.push_str(&" ".repeat(length - header.len() - 1));
    header.push('\n');
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&(length as u16).to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(bytes);
    std::fs::write(path, file).with_context(|| format!("{path} cannot be written"))
}
