"""Print the table: `python -m bench [--json FILE] [--only TEXT] [--threads N]`."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path

from bench.measure import Timing, interleaved
from bench.rows import ROWS, Row


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


def line(row: Row, timings: dict[str, Timing]) -> str:
    """One line of the table."""
    ours = timings["tg"].seconds
    others = [
        f"{shown(timings[name].seconds):>9} {timings[name].seconds / ours:5.2f}x"
        if name in timings
        else " " * 16
        for name in ("torch", "numpy")
    ]
    columns = [f"{row.name:34}", f"{shown(ours):>9}", f"{rate(row, timings['tg']):>14}", *others]
    return "  ".join([*columns, row.target])


def main(arguments: list[str]) -> int:
    """Run the rows and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    with_torch = limit_threads(options.threads)
    if not with_torch:
        print("PyTorch is not here: hatch run bench compares with it")
    header = ["row", "tg", "rate", "torch  ratio", "numpy  ratio", "target"]
    print("{:34}  {:>9}  {:>14}  {:>16}  {:>16}  {}".format(*header))
    figures: dict[str, dict[str, float]] = {}
    for row in ROWS:
        if options.only in row.name:
            timings = interleaved(row.build(with_torch), row.budget)
            figures[row.name] = {name: timing.seconds for name, timing in timings.items()}
            print(line(row, timings), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
