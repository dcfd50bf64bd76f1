"""Parameters with initial values, and modules that have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._tensor import DType, TensorType, dtype_name
from .._trace import Arithmetic, Tensor, _GRAPH, number_text, operation

__all__ = [
    "Embedding",
    "Init",
    "LayerNorm",
    "Linear",
    "Module",
    "Parameter",
    "RMSNorm",
    "constant_init",
    "normal",
    "ones",
    "uniform",
    "zeros",
]


class Init:
    """How a parameter starts. Value number ``i`` depends on the parameter's name and ``i`` alone."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<Init {self.text}>"


_OF_INIT = "a number of an initial value"


def normal(mean: float = 0.0, std: float = 0.02) -> Init:
    """Normally distributed."""
    return Init(f"normal<{number_text(mean, _OF_INIT)}, {number_text(std, _OF_INIT)}>")


def uniform(low: float, high: float) -> Init:
    """Uniform in ``[low, high)``."""
    return Init(f"uniform<{number_text(low, _OF_INIT)}, {number_text(high, _OF_INIT)}>")


def constant_init(value: float) -> Init:
    """All of one value."""
    return Init(f"constant<{number_text(value, _OF_INIT)}>")


#: All zero.
zeros = Init("zeros")
#: All one.
ones = Init("ones")


class Parameter(Arithmetic):
    """A trainable tensor. Its name is its path in the model, ``layers.0.weight``, unless one is given."""

    def __init__(
        self,
        *shape: int,
        init: Init | None = None,
        dtype: DType | str = "f32",
        name: str | None = None,
    ) -> None:
        self.type: TensorType = DType(dtype_name(dtype))[shape]
        self.init = init if init is not None else normal()
        self.name = name

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return self.type.shape

    @property
    def dtype(self) -> str:
        """The element type."""
        return self.type.dtype

    def __repr__(self) -> str:
        return f"<Parameter {self.name or '(no name yet)'}: {self.type}>"


class Module:
    """A part of a model: ``forward`` says what it computes, attributes hold its parameters and parts.

    A call of a module is what stages of a pipeline are made of: a stage ends where a call ends.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What it computes."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        graph = _GRAPH.get()
        if graph is None:
            return self.forward(*args, **kwargs)
        with graph.call():
            return self.forward(*args, **kwargs)

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Every parameter once, with its name."""
        return named_parameters(self)


class Linear(Module):
    """``y = x w + b``, with ``w[inputs, outputs]``."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        bias: bool = True,
        init: Init | None = None,
        dtype: DType | str = "f32",
    ) -> None:
        self.weight = Parameter(inputs, outputs, init=init, dtype=dtype)
        self.bias = Parameter(outputs, init=zeros, dtype=dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """The layer on ``x[.., inputs]``."""
        return operation("nn.linear", [x, self.weight, self.bias], {})[0]


class Embedding(Module):
    """Rows of a table picked by token."""

    def __init__(
        self, vocabulary: int, width: int, *, init: Init | None = None, dtype: DType | str = "f32"
    ) -> None:
        self.weight = Parameter(vocabulary, width, init=init, dtype=dtype)

    def forward(self, tokens: Tensor) -> Tensor:
        """``y[b, s, :] = weight[tokens[b, s], :]``."""
        return operation("nn.embedding", [tokens, self.weight], {})[0]


class RMSNorm(Module):
    """Root-mean-square normalisation over the last dimension."""

    def __init__(self, width: int, *, eps: float = 1e-5, dtype: DType | str = "f32") -> None:
        self.weight = Parameter(width, init=ones, dtype=dtype)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """``x / sqrt(mean(x^2) + eps) * weight``."""
        return operation("nn.rms_norm", [x, self.weight], {"eps": self.eps})[0]


class LayerNorm(Module):
    """Layer normalisation over the last dimension."""

    def __init__(self, width: int, *, eps: float = 1e-5, dtype: DType | str = "f32") -> None:
        self.weight = Parameter(width, init=ones, dtype=dtype)
        self.bias = Parameter(width, init=zeros, dtype=dtype)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias``."""
        return operation("nn.layer_norm", [x, self.weight, self.bias], {"eps": self.eps})[0]


def named_parameters(model: object) -> Iterator[tuple[str, Parameter]]:
    """Every parameter of a model once, with the name that it has or the first path to it."""
    seen: set[int] = set()

    def visit(value: object, path: str) -> Iterator[tuple[str, Parameter]]:
        if isinstance(value, Parameter):
            if id(value) not in seen:
                seen.add(id(value))
                yield value.name or path, value
            return
        if isinstance(value, dict):
            children = [(str(key), child) for key, child in value.items()]
        elif isinstance(value, (list, tuple)):
            children = [(str(index), child) for index, child in enumerate(value)]
        elif hasattr(value, "__dict__") and not isinstance(value, type) and not callable_only(value):
            children = list(vars(value).items())
        else:
            return
        if id(value) in seen:
            return
        seen.add(id(value))
        for name, child in children:
            yield from visit(child, f"{path}.{name}" if path else name)

    yield from visit(model, "")


def callable_only(value: object) -> bool:
    """Whether a value is a function or of a foreign library, where no parameters are looked for."""
    module = type(value).__module__.partition(".")[0]
    return module in ("builtins", "numpy", "functools", "types")
