"""Write `recorded.npz`: what PyTorch answers to the table, for where it is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from tensor_table.cases import Case
from tensor_table.check import gradient_variation
from tensor_table.reference import Expected, by_torch, key_of, write_record
from tensor_table.sweep import arguments, variations
from tensor_table.table import all_rows


def main() -> int:
    """Ask about every case; 1 if PyTorch refuses one."""
    found: dict[str, Expected] = {}
    refused = 0
    for row in all_rows():
        for case in row.cases:
            try:
                _ask(case, found)
            except Exception as error:
                print(f"{row.name}: {case.torch}: {type(error).__name__}: {error}")
                refused = 1
    write_record(found)
    print(f"{len(found)} results recorded")
    return refused


def _ask(case: Case, found: dict[str, Expected]) -> None:
    if case.torch is None:
        return
    if case.gradient:
        variation = gradient_variation(case)
        inputs = arguments(case, variation)
        key = key_of(case, variation, inputs, True)
        found[key] = by_torch(torch, case, variation, inputs, True)
    if case.numpy is not None:
        return
    for variation in variations(case, full=False):
        inputs = arguments(case, variation)
        key = key_of(case, variation, inputs, False)
        found[key] = by_torch(torch, case, variation, inputs, False)


if __name__ == "__main__":
    sys.exit(main())
