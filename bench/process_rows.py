"""Rows of what a user waits for before anything runs: imports, scheduling, compiling, dispatch."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.case import Competitors, Row
from bench.measure import Run

ROOT = Path(__file__).parent.parent

FIRST_RESULT = "from tg_tensor import Tensor; (Tensor.ones(4) + 1).numpy()"
FIRST_STEP = """
from bench.network_rows import DIGITS, tg_training
from bench.networks import DigitNetwork
tg_training(DigitNetwork, "Adam", DIGITS)()
"""
FIRST_STEP_TORCH = """
from bench.network_rows import DIGITS, torch_training
torch_training("digit_network", "Adam", DIGITS)()
"""


def _environment(cache: str | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "SPEC"}
    if cache is not None:
        kept["TG_CACHE_DIR"] = cache
    return kept


def _in_process(code: str, *, cold: bool = False) -> Run:
    def run() -> object:
        command = [sys.executable, "-c", code]
        if not cold:
            return subprocess.run(command, check=True, env=_environment(None), cwd=ROOT)
        with tempfile.TemporaryDirectory() as cache:
            return subprocess.run(command, check=True, env=_environment(cache), cwd=ROOT)

    return run


def fresh(name: str, code: str, others: dict[str, str], limit: float, *, cold: bool = False) -> Row:
    """A program in a process of its own, with the caches of the runs before or with empty ones."""

    def build(libraries: frozenset[str]) -> Competitors:
        runs = {"tg": _in_process(code, cold=cold)}
        runs.update({n: _in_process(c) for n, c in others.items() if n in {"numpy", *libraries}})
        return runs

    return Row(name, build, limit=limit, budget=6.0, group="process")


def dispatch() -> Row:
    """The cost of one captured call on four floats."""

    def build(libraries: frozenset[str]) -> Competitors:
        from tg_tensor import Tensor, TinyJit

        x = Tensor([1.0, 2.0, 3.0, 4.0]).realize()
        function = TinyJit(lambda t: (t + 1).realize())
        runs: Competitors = {"tg": lambda: function(x)}
        if "torch" in libraries:
            import torch

            y = torch.tensor([1.0, 2.0, 3.0, 4.0])
            runs["torch"] = lambda: y + 1
        return runs

    return Row("jitted x+1 on 4 floats", build, limit=8e-6, group="process")


def cold_kernel() -> Row:
    """An elementwise kernel that no cache has seen, from Tensor to its result."""

    def build(libraries: frozenset[str]) -> Competitors:
        from tg_tensor import Tensor

        x = Tensor([0.5] * 1000).realize()
        count = iter(range(1 << 30))

        def run() -> object:
            # a new constant makes a new kernel
            return (x * (2.0 + next(count) / 1024 + os.getpid()) + 1).relu().realize()

        return {"tg": run}

    return Row("one new kernel", build, limit=40e-3, group="process")


def cold_schedule() -> Row:
    """ResNet-18 scheduled and compiled with empty caches, in a process that has started."""
    code = """
from bench.networks import ResNet18
from tg_nn.state import get_parameters
from tg_tensor import Tensor, compile_linear
network = ResNet18()
for weight in get_parameters(network):
    weight.replace(Tensor.empty(*weight.shape))
compile_linear(network(Tensor.empty(1, 3, 224, 224)).schedule_linear())
"""

    def build(libraries: frozenset[str]) -> Competitors:
        return {"tg": _in_process(code, cold=True)}

    return Row("ResNet-18 new, with its process", build, limit=2.5, budget=6.0, group="process")


PROCESS = (
    fresh(
        "fresh process to first result",
        FIRST_RESULT,
        {"numpy": "import numpy", "torch": "import torch; (torch.ones(4) + 1).numpy()"},
        0.35,
    ),
    fresh("first CNN step, warm caches", FIRST_STEP, {"torch": FIRST_STEP_TORCH}, 0.9),
    fresh("first CNN step, empty caches", FIRST_STEP, {}, 2.4, cold=True),
    dispatch(),
    cold_kernel(),
    cold_schedule(),
)
