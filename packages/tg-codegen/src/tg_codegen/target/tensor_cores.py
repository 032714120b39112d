"""Tensor cores as data: tile shape, dtypes, and which thread or register holds which element."""

from __future__ import annotations

from dataclasses import dataclass

from tg_uop import DType, dtypes


@dataclass(frozen=True, slots=True)
class TensorCore:
    """One matrix unit: D (n by m) = A (m by k) times B (k by n) plus C.

    `dims` is (n, m, k). `threads` work-items share one tile (1 for a unit that belongs to a
    thread). `elements_per_thread` counts the elements of A, B and C that one work-item holds.
    `opts` splits the output axes in order, each step by two: "l" onto the work-items of a warp,
    "u" onto one work-item's elements; the digit is the axis (0 for n, 1 for m).
    `swizzle` names, for A and for B, the order of those binary digits (local, upcast, reduce)
    in the register layout that the unit wants. `name` selects the intrinsic in a renderer.
    """

    name: str
    dims: tuple[int, int, int]
    dtype_in: DType
    dtype_out: DType
    threads: int = 1
    elements_per_thread: tuple[int, int, int] = (0, 0, 0)
    opts: tuple[str, ...] = ()
    swizzle: tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]] = ((), ())
    # the right operand is read in groups of `k_pack` successive k of a column
    k_pack: int = 1
    tile_registers: int = 0


AMX_BF16 = TensorCore(
    name="amx_bf16",
    dims=(16, 16, 32),
    dtype_in=dtypes.bfloat16,
    dtype_out=dtypes.float32,
    k_pack=2,
    tile_registers=8,
)
AMX_INT8 = TensorCore(
    name="amx_int8",
    dims=(16, 16, 64),
    dtype_in=dtypes.int8,
    dtype_out=dtypes.int32,
    k_pack=4,
    tile_registers=8,
)
