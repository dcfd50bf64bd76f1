"""Piper compiles training strategies: a model, and how it is spread over devices, become one program for each device.

A model is a class whose ``forward`` uses :mod:`piper.nn`; decorators say the strategy::

    import numpy as np
    import piper

    @piper.annotate(data_parallel=2, pipeline_parallel=2)
    @piper.directive("Pipeline", schedule="1F1B")
    class Model(piper.nn.Module):
        def __init__(self):
            self.table = piper.nn.Embedding(256, 32)
            self.head = piper.nn.Linear(32, 256)

        def forward(self, tokens: piper.i32[16, 8], targets: piper.i32[16, 8]):
            return piper.nn.cross_entropy(self.head(self.table(tokens)), targets)

    ir = piper.generate_ir(Model())              # text: print(ir)
    plan = piper.compile(ir, num_devices=4)      # print(plan[0]): what device 0 issues
    tokens = np.zeros((16, 8), np.int32)
    piper.runtime.execute(plan, {"tokens": tokens, "targets": tokens})

Any text at any level is read by :meth:`Module.parse`, run through passes, walked and changed. Whatever is wrong is a
:class:`PiperError` with its diagnostics.
"""

from __future__ import annotations

from . import nn, passes, runtime
from ._arrays import bf16_to_f32, f32_to_bf16
from ._errors import PiperError
from ._ir import IR, Edge, Node, generate_ir
from ._piper import (
    Attribute,
    Block,
    Compiler,
    Diagnostic,
    Module,
    Note,
    Operation,
    PassContext,
    Simulation,
    Value,
    has_llvm,
    operations,
    schedules,
)
from ._run import (
    DeviceMemory,
    DevicePlan,
    Executable,
    StepResult,
    Training,
    compile,
    load,
    simulate,
)
from ._strategy import SGD, AdamW, Directive, Strategy, annotate, directive
from ._tensor import DType, TensorType, bf16, f32, f64, i32
from ._trace import Tensor
from .runtime import Runtime

#: The name that the runtime has on the public page that describes this interface.
PiperRuntime = Runtime

__all__ = [
    "IR",
    "SGD",
    "AdamW",
    "Attribute",
    "Block",
    "Compiler",
    "DType",
    "DeviceMemory",
    "DevicePlan",
    "Diagnostic",
    "Directive",
    "Edge",
    "Executable",
    "Module",
    "Node",
    "Note",
    "Operation",
    "PassContext",
    "PiperError",
    "PiperRuntime",
    "Runtime",
    "Simulation",
    "StepResult",
    "Strategy",
    "Tensor",
    "TensorType",
    "Training",
    "Value",
    "annotate",
    "bf16",
    "bf16_to_f32",
    "compile",
    "directive",
    "f32",
    "f32_to_bf16",
    "f64",
    "generate_ir",
    "has_llvm",
    "i32",
    "load",
    "nn",
    "operations",
    "passes",
    "runtime",
    "schedules",
    "simulate",
]
