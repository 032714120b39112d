"""What a row of the table computes, by whom, and how much work it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bench.measure import PAUSE_SECONDS, Run

Array = npt.NDArray[np.generic]
Competitors = dict[str, Run]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    `build(libraries)` gives what to time by the name of a library, "tg" always among them.
    `flops` and `bytes` of memory give rates. `target` is the least ratio to PyTorch, or None, and
    `limit` the most seconds. `budget` is how long to measure, `pause` how long to wait before each.
    """

    name: str
    build: Callable[[frozenset[str]], Competitors]
    flops: float = 0.0
    bytes: float = 0.0
    target: float | None = None
    limit: float | None = None
    budget: float = 2.0
    pause: float = PAUSE_SECONDS
    group: str = "kernels"


@dataclass(frozen=True, slots=True)
class Case:
    """A function of arrays in several libraries; the one for NumPy is also the reference.

    `tg`, `torch` and `numpy` take the arrays as their own kind. `dtype` is what they are cast to
    first, by a name that all libraries know.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    tg: Callable[..., object]
    torch: Callable[..., object]
    numpy: Callable[..., Array]
    flops: float = 0.0
    bytes: float = 0.0
    target: float | None = None
    dtype: str = "float32"
    tolerance: float = 1e-4
    compares_numpy: bool = field(default=False)

    def arrays(self) -> list[Array]:
        """The inputs, the same ones each time."""
        rng = np.random.default_rng(0)
        return [rng.random(shape, dtype=np.float32) - np.float32(0.25) for shape in self.shapes]

    def row(self) -> Row:
        """The line of the table."""
        return Row(self.name, self._build, self.flops, self.bytes, self.target)

    def _build(self, libraries: frozenset[str]) -> Competitors:
        arrays = self.arrays()
        runs: Competitors = {"tg": self.tg_run(arrays)}
        if "torch" in libraries:
            runs["torch"] = self._torch_run(arrays, compiled=False)
        if "compile" in libraries:
            runs["compile"] = self._torch_run(arrays, compiled=True)
        if self.compares_numpy:
            runs["numpy"] = lambda: self.numpy(*arrays)
        return runs

    def tg_run(self, arrays: list[Array]) -> Run:
        """A captured call that waits for its result; it gives the result."""
        from tg_tensor import Device, Tensor, TinyJit

        inputs = [Tensor(a).cast(self.dtype).realize() for a in arrays]
        function = self.tg
        step = TinyJit(lambda *tensors: function(*tensors).realize())  # type: ignore[attr-defined]
        device = Device[Device.DEFAULT]

        def run() -> object:
            result = step(*inputs)
            device.synchronize()
            return result

        return run

    def _torch_run(self, arrays: list[Array], *, compiled: bool) -> Run:
        import torch

        # memory of its own: what NumPy reads must not be near for one of the others only
        inputs = [torch.tensor(a).to(getattr(torch, self.dtype)) for a in arrays]
        function = torch.compile(self.torch) if compiled else self.torch

        def run() -> object:
            with torch.inference_mode():
                return function(*inputs)

        return run
