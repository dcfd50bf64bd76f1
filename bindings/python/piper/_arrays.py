"""NumPy arrays as the runtime takes them: element type, shape and bytes.

NumPy has no bfloat16. A bf16 tensor comes back as a ``uint16`` array of its bits, and may be given as one, as an array of
``ml_dtypes.bfloat16``, or as floats, which are rounded to the nearest. :func:`bf16_to_f32` and :func:`f32_to_bf16` convert.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._errors import PiperError

__all__ = ["bf16_to_f32", "f32_to_bf16", "packed", "unpacked"]

Packed = tuple[str, list[int], bytes]

_DTYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i32": np.dtype(np.int32),
    "bf16": np.dtype(np.uint16),
}


def bf16_to_f32(bits: ArrayLike) -> NDArray[np.float32]:
    """The numbers that bits of bfloat16 stand for."""
    wide = np.asarray(bits, dtype=np.uint16).astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32)


def f32_to_bf16(numbers: ArrayLike) -> NDArray[np.uint16]:
    """The bits of the nearest bfloat16, ties to even."""
    bits = np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(is_nan, quiet, rounded).astype(np.uint16)


def as_array(name: str, value: ArrayLike) -> NDArray[Any]:
    """What is given for ``name``, as an array."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise PiperError.of(f"'{name}' is given what is no array: {error}") from None


def packed(
    name: str, value: ArrayLike, dtype: str, shape: list[int], *, hint: str | None = None
) -> Packed:
    """An array for the tensor ``name`` of this element type and shape; ``hint`` is for an array of another shape."""
    array = as_array(name, value)
    if list(array.shape) != list(shape):
        raise PiperError.of(
            f"'{name}' has the shape {list(array.shape)}, but {list(shape)} is wanted",
            hint=hint,
        )
    if array.dtype.name == "bfloat16":
        array = array.view(np.uint16) if dtype == "bf16" else array.astype(np.float32)
    kind = array.dtype.kind
    if dtype == "bf16":
        if array.dtype != np.uint16:
            if kind not in "fiu":
                raise _no_cast(name, array, dtype)
            array = f32_to_bf16(array)
    elif dtype == "i32":
        if kind not in "iu":
            raise _no_cast(name, array, dtype)
        limits = np.iinfo(np.int32)
        if array.size and (array.min() < limits.min or array.max() > limits.max):
            raise PiperError.of(f"'{name}' has numbers that do not fit 32 bits")
        array = array.astype(np.int32, copy=False)
    else:
        if kind not in "fiu":
            raise _no_cast(name, array, dtype)
        array = array.astype(_DTYPES[dtype], copy=False)
    return dtype, list(array.shape), array.tobytes()


def _no_cast(name: str, array: NDArray[Any], dtype: str) -> PiperError:
    return PiperError.of(f"'{name}' is an array of {array.dtype}, which does not become {dtype}")


def unpacked(tensor: tuple[str, list[int], bytearray]) -> NDArray[Any]:
    """A tensor of the runtime as an array of its own."""
    dtype, shape, data = tensor
    return np.frombuffer(data, dtype=_DTYPES[dtype]).reshape(shape)
