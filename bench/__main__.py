"""Print the table: `python -m bench [--json FILE] [--only TEXT] [--threads N] [--compile]`."""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench.case import Row
from bench.limits import Limits, measured
from bench.measure import Timing, interleaved
from bench.rows import LACKING, ROWS

COLUMNS = ("torch", "compile", "numpy", "onnxruntime")


def limit_threads(count: int) -> bool:
    """Give each library `count` threads, before any of them starts; whether PyTorch is here."""
    for name in ("CPU_COUNT", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(count)
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    torch.set_num_threads(count)
    return True


def shown(seconds: float) -> str:
    """A time with a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def rate(row: Row, timing: Timing) -> str:
    """Arithmetic or memory rate, where the row has one."""
    if row.flops:
        return f"{row.flops / timing.seconds / 1e9:.0f} GFLOP/s"
    return f"{row.bytes / timing.seconds / 1e9:.1f} GB/s" if row.bytes else ""


def share(row: Row, timing: Timing, limits: Limits) -> str:
    """How much of what the machine can do that is; bfloat16 has units of its own."""
    if row.flops and "bfloat16" not in row.name:
        return f"{row.flops / timing.seconds / limits.float_operations:4.0%}"
    if row.bytes:
        return f"{row.bytes / timing.seconds / limits.read_bytes:4.0%}"
    return ""


def verdict(row: Row, timings: dict[str, Timing]) -> str:
    """The row's target, and whether it is met."""
    ours = timings["tg"].seconds
    if row.limit is not None:
        return f"<= {shown(row.limit)}{'' if ours <= row.limit else '  MISSED'}"
    if row.target is None or "torch" not in timings:
        return ""
    met = timings["torch"].seconds / ours >= row.target
    return f">= {row.target:g}x{'' if met else '  MISSED'}"


def line(row: Row, timings: dict[str, Timing], limits: Limits) -> str:
    """One line of the table."""
    ours = timings["tg"]
    others = [
        f"{shown(timings[name].seconds):>8} {timings[name].seconds / ours.seconds:6.2f}x"
        if name in timings
        else " " * 16
        for name in COLUMNS
    ]
    head = [f"{row.name:36}", f"{shown(ours.seconds):>8}", f"{rate(row, ours):>13}"]
    return "  ".join([*head, f"{share(row, ours, limits):>4}", *others, verdict(row, timings)])


def geometric_mean(ratios: Sequence[float]) -> float:
    """The mean of ratios."""
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def main(arguments: list[str]) -> int:
    """Run the rows and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--group", default="", help="process, schedule, kernels, networks or onnx")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true", help="torch.compile, too (slow)")
    options = parser.parse_args(arguments)
    libraries = set()
    if limit_threads(options.threads):
        libraries = {"torch", "compile"} if options.compile else {"torch"}
    else:
        print("PyTorch is not here: hatch run bench compares with it")
    if LACKING:
        print(LACKING)
    limits = measured(options.threads)
    print(
        f"{options.threads} threads; the machine does {limits.float_operations / 1e9:.0f} GFLOP/s "
        f"of float32, reads {limits.read_bytes / 1e9:.1f} GB/s, copies "
        f"{limits.copied_bytes / 1e9:.1f} GB/s. A ratio is the time of another library by ours."
    )
    names = [f"{name + '  ratio':>16}"[-16:] for name in COLUMNS]
    print("  ".join([f"{'row':36}", f"{'tg':>8}", f"{'rate':>13}", "of max", *names, "target"]))
    figures: dict[str, dict[str, float]] = {}
    for row in ROWS:
        if options.only in row.name and options.group in row.group:
            timings = interleaved(row.build(frozenset(libraries)), row.budget, row.pause)
            figures[row.name] = {name: timing.seconds for name, timing in timings.items()}
            print(line(row, timings, limits), flush=True)
    ratios = [
        figures[row.name]["torch"] / figures[row.name]["tg"]
        for row in ROWS
        if row.target is not None and "torch" in figures.get(row.name, {})
    ]
    if ratios:
        print(f"geometric mean of the ratios with a target: {geometric_mean(ratios):.2f}x")
    models = [figures[row.name] for row in ROWS if row.group == "onnx" and row.name in figures]
    if models:
        mean = geometric_mean([figure["onnxruntime"] / figure["tg"] for figure in models])
        print(f"geometric mean of the ratios to onnxruntime: {mean:.2f}x")
    if options.json is not None:
        content = {"threads": options.threads, "limits": asdict(limits), "seconds": figures}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
