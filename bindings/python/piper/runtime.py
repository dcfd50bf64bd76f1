"""Running compiled plans: :func:`execute`, and :class:`Runtime` for the spelling with an object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._errors import PiperError
from ._numbers import whole
from ._run import Executable, StepResult, Training

__all__ = ["Runtime", "execute"]


def execute(
    plan: Executable | Training,
    inputs: Mapping[str, ArrayLike] | Sequence[ArrayLike],
    *,
    steps: int = 1,
    seed: int = 0,
) -> list[StepResult]:
    """Takes ``steps`` steps of a plan, from its initial values, on one batch: arrays by name, or in the order of the inputs.

    A :class:`piper.Training` goes on from where it is. An interrupt ends the run between two steps.
    """
    if not isinstance(plan, (Executable, Training)):
        raise PiperError.of(f"execute takes what piper.compile gives, not {plan!r}")
    number = whole(steps)
    if number is None or number < 0:
        raise PiperError.of(f"steps is a number from 0, not {steps!r}")
    training = plan if isinstance(plan, Training) else plan.train(seed=seed)
    batch: Mapping[str, Any]
    if isinstance(inputs, Mapping):
        batch = inputs
    elif isinstance(inputs, (str, bytes)) or not isinstance(inputs, (Sequence, np.ndarray)):
        raise PiperError.of(f"the inputs of a step are arrays by name or in order, not {inputs!r}")
    else:
        names = [name for name, _, _ in training.inputs]
        if len(names) != len(inputs):
            raise PiperError.of(
                f"{len(inputs)} arrays are given for {len(names)} inputs", hint=f"they are {', '.join(names)}"
            )
        batch = dict(zip(names, inputs, strict=True))
    return [training.step(batch) for _ in range(number)]


class Runtime:
    """Virtual devices, a number of them or as many as a plan wants."""

    def __init__(self, num_devices: int | None = None) -> None:
        self.num_devices = num_devices

    def execute(
        self,
        plan: Executable,
        inputs: Mapping[str, ArrayLike] | Sequence[ArrayLike],
        *,
        steps: int = 1,
        seed: int = 0,
    ) -> list[StepResult]:
        """As :func:`execute`."""
        if not isinstance(plan, Executable):
            raise PiperError.of(f"execute takes what piper.compile gives, not {plan!r}")
        if self.num_devices is not None and self.num_devices != plan.num_devices:
            raise PiperError.of(
                f"the plan is for {plan.num_devices} devices, the runtime has {self.num_devices}",
                hint=f"Runtime(num_devices={plan.num_devices})",
            )
        return execute(plan, inputs, steps=steps, seed=seed)
