"""The rows of the table: what is computed, by whom, and how much work it is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.measure import Run
from bench.models import tg_cnn_step, torch_cnn_step

Competitors = dict[str, Run]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `flops` and `bytes` give rates; `target` is for the reader."""

    name: str
    build: Callable[[bool], Competitors]
    flops: float = 0.0
    bytes: float = 0.0
    target: str = ""
    budget: float = field(default=2.0)


def matmul(size: int) -> Row:
    """A square float32 product."""

    def build(with_torch: bool) -> Competitors:
        import numpy as np
        from tg_tensor import Device, Tensor, TinyJit

        rng = np.random.default_rng(0)
        a, b = (rng.random((size, size), dtype=np.float32) for _ in range(2))
        x, y = Tensor(a).realize(), Tensor(b).realize()
        product = TinyJit(lambda p, q: (p @ q).realize())

        def run() -> None:
            product(x, y)
            Device[Device.DEFAULT].synchronize()

        runs: Competitors = {"tg": run, "numpy": lambda: a @ b}
        if with_torch:
            import torch

            c, d = torch.from_numpy(a), torch.from_numpy(b)
            runs["torch"] = lambda: c @ d
        return runs

    return Row(f"matmul {size} f32", build, flops=2.0 * size**3, target=">= 100 GFLOP/s at 1024")


def elementwise(name: str, count: int, code: str) -> Row:
    """An expression of x on many floats."""

    def build(with_torch: bool) -> Competitors:
        import numpy as np
        from tg_tensor import Device, Tensor, TinyJit

        a = np.random.default_rng(0).random(count, dtype=np.float32)
        x = Tensor(a).realize()
        function = TinyJit(lambda t: eval(code, {"x": t}).realize())

        def run() -> None:
            function(x)
            Device[Device.DEFAULT].synchronize()

        runs: Competitors = {"tg": run}
        if with_torch:
            import torch

            b = torch.from_numpy(a)
            runs["torch"] = lambda: eval(code, {"x": b})
        return runs

    return Row(name, build, bytes=8.0 * count)


def dispatch() -> Row:
    """The cost of one captured call on four floats."""

    def build(with_torch: bool) -> Competitors:
        from tg_tensor import Tensor, TinyJit

        x = Tensor([1.0, 2.0, 3.0, 4.0]).realize()
        function = TinyJit(lambda t: (t + 1).realize())
        runs: Competitors = {"tg": lambda: function(x)}
        if with_torch:
            import torch

            y = torch.tensor([1.0, 2.0, 3.0, 4.0])
            runs["torch"] = lambda: y + 1
        return runs

    return Row("jitted x+1, 4 floats", build, target="<= 20 us")


def cnn_step() -> Row:
    """Training the example's network on 128 digits."""

    def build(with_torch: bool) -> Competitors:
        runs: Competitors = {"tg": tg_cnn_step()}
        if with_torch:
            runs["torch"] = torch_cnn_step()
        return runs

    return Row("CNN training step, batch 128", build, target="ratio >= 0.33", budget=6.0)


FIRST_RESULT = "from tg_tensor import Tensor; (Tensor.ones(4) + 1).numpy()"


def fresh_process() -> Row:
    """Import and a first tiny result in a process of its own, with a warm cache."""

    def build(with_torch: bool) -> Competitors:
        environment = {k: v for k, v in os.environ.items() if k != "SPEC"}

        def run_code(code: str) -> Run:
            return lambda: subprocess.run([sys.executable, "-c", code], check=True, env=environment)

        runs = {"tg": run_code(FIRST_RESULT), "numpy": run_code("import numpy")}
        if with_torch:
            runs["torch"] = run_code("import torch; (torch.ones(4) + 1).numpy()")
        return runs

    return Row("fresh process to first result", build, target="<= 0.5 s", budget=4.0)


ROWS = (
    fresh_process(),
    dispatch(),
    matmul(256),
    matmul(512),
    matmul(1024),
    elementwise("x+1 on 16M", 1 << 24, "x + 1"),
    elementwise("(x*2+1).relu().sqrt() on 16M", 1 << 24, "(x * 2 + 1).relu().sqrt()"),
    elementwise("exp on 16M", 1 << 24, "x.exp()"),
    elementwise("sum of 16M", 1 << 24, "x.sum()"),
    cnn_step(),
)
