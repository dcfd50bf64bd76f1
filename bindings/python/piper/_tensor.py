"""Types of tensors as Python says them: ``piper.f32[16, 64]``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._errors import PiperError
from ._numbers import whole

__all__ = ["DType", "TensorType", "bf16", "f32", "f64", "i32"]


@dataclass(frozen=True)
class TensorType:
    """A shape with an element type."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def text(self) -> str:
        """As modules write it: ``tensor<16x64xf32>``."""
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.dtype}>"

    @property
    def elements(self) -> int:
        """The product of the sizes."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @classmethod
    def parse(cls, text: str) -> TensorType:
        """The type that :attr:`text` writes."""
        found = re.fullmatch(r"tensor<((?:\d+x)*)(\w+)>", text)
        if found is None:
            raise PiperError.of(f"'{text}' is no tensor of known sizes")
        shape = tuple(int(size) for size in found[1].split("x")[:-1])
        return cls(shape, found[2])

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class DType:
    """An element type. ``f32[16, 64]`` is a tensor of it, ``f32[()]`` a scalar."""

    name: str

    def __getitem__(self, shape: int | tuple[int, ...]) -> TensorType:
        sizes = shape if isinstance(shape, tuple) else (shape,)
        numbers = []
        for size in sizes:
            number = whole(size)
            if number is None or number < 1:
                raise PiperError.of(f"a size of a tensor is a number from 1, not {size!r}")
            numbers.append(number)
        return TensorType(tuple(numbers), self.name)

    def __str__(self) -> str:
        return self.name


f32 = DType("f32")
f64 = DType("f64")
bf16 = DType("bf16")
i32 = DType("i32")


def dtype_name(dtype: DType | str) -> str:
    """The name of an element type that is one or is named."""
    name = str(dtype)
    if name not in ("f32", "f64", "bf16", "i32"):
        raise PiperError.of(f"'{name}' is no element type", hint="there are f32, f64, bf16 and i32")
    return name
