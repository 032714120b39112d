"""1. A Tensor is a graph of UOps. Building one computes nothing."""

from __future__ import annotations

from expression import expression
from tg_uop.text.dump import dump

y = expression()
print("shape", y.shape, "dtype", y.dtype, "device", y.device)
print()

# every line is a node: its number, operation, dtype, arg, and the numbers of its operands
print(dump(y.uop, lines=False))
