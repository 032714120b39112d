"""Tensor cores as data: tile shape, dtypes, and which work-item holds which element."""

from __future__ import annotations

from dataclasses import dataclass

from tg_uop import DType, dtypes

Bits = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the elements of one operand are.

    `lane` names, from the lowest bit of the work-item's number on, the bit of an index that it
    stands for: "m0" is the lowest bit of the row, "n" counts columns, "k" the summed axis. An empty
    name is a bit that does not matter: those work-items hold copies. `element` does the same for
    the number of an element among those that one work-item holds.
    """

    lane: Bits
    element: Bits

    @property
    def elements(self) -> int:
        """How many elements a work-item holds."""
        return 1 << len(self.element)

    def position(self, lane: int, element: int) -> dict[str, int]:
        """The indices, by axis letter, of an element of a work-item."""
        found: dict[str, int] = {}
        for number, bits in ((lane, self.lane), (element, self.element)):
            for place, name in enumerate(bits):
                if name:
                    axis, bit = name[0], int(name[1:])
                    found[axis] = found.get(axis, 0) | (number >> place & 1) << bit
        return found


@dataclass(frozen=True, slots=True)
class TensorCore:
    """One matrix unit: D (m by n) = A (m by k) times B (k by n) plus C.

    `dims` is (n, m, k). `threads` work-items share one tile, 1 for a unit that belongs to a thread.
    `name` selects the instruction in a renderer.
    """

    name: str
    dims: tuple[int, int, int]
    dtype_in: DType
    dtype_out: DType
    threads: int
    layout_a: Layout
    layout_b: Layout
    layout_c: Layout


def bits(axis: str, first: int, count: int) -> Bits:
    """The names of some bits of an axis, from `first` on."""
    return tuple(f"{axis}{place}" for place in range(first, first + count))


# *** x86: AMX tiles, one row of 64 bytes a register row (Intel SDM, volume 1, chapter 18) ***


def _amx(name: str, dtype_in: DType, dtype_out: DType, k_bits: int, packed: int) -> TensorCore:
    """Right operands have 2**packed successive k of a column side by side."""
    return TensorCore(
        name=name,
        dims=(16, 16, 1 << k_bits),
        dtype_in=dtype_in,
        dtype_out=dtype_out,
        threads=1,
        layout_a=Layout((), bits("k", 0, k_bits) + bits("m", 0, 4)),
        layout_b=Layout(
            (), bits("k", 0, packed) + bits("n", 0, 4) + bits("k", packed, k_bits - packed)
        ),
        layout_c=Layout((), bits("n", 0, 4) + bits("m", 0, 4)),
    )


AMX_BF16 = _amx("amx_bf16", dtypes.bfloat16, dtypes.float32, 5, 1)
AMX_INT8 = _amx("amx_int8", dtypes.int8, dtypes.int32, 6, 2)
AMX = (AMX_BF16, AMX_INT8)

# *** NVIDIA: mma.sync.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16") ***


def _mma_16816(dtype_in: DType, dtype_out: DType) -> TensorCore:
    return TensorCore(
        name="mma_m16n8k16",
        dims=(8, 16, 16),
        dtype_in=dtype_in,
        dtype_out=dtype_out,
        threads=32,
        layout_a=Layout(("k1", "k2", "m0", "m1", "m2"), ("k0", "m3", "k3")),
        layout_b=Layout(("k1", "k2", "n0", "n1", "n2"), ("k0", "k3")),
        layout_c=Layout(("n1", "n2", "m0", "m1", "m2"), ("n0", "m3")),
    )


CUDA_SM80 = (
    _mma_16816(dtypes.float16, dtypes.float32),
    _mma_16816(dtypes.bfloat16, dtypes.float32),
    _mma_16816(dtypes.float16, dtypes.float16),
)

# *** AMD: WMMA of RDNA 3 with 32 work-items, MFMA of CDNA with 64 (the ISA manuals of each) ***


def _wmma_rdna3(dtype_in: DType) -> TensorCore:
    """Both halves of the wave hold the same rows of A and columns of B."""
    return TensorCore(
        name="wmma_16x16x16",
        dims=(16, 16, 16),
        dtype_in=dtype_in,
        dtype_out=dtypes.float32,
        threads=32,
        layout_a=Layout((*bits("m", 0, 4), ""), bits("k", 0, 4)),
        layout_b=Layout((*bits("n", 0, 4), ""), bits("k", 0, 4)),
        layout_c=Layout((*bits("n", 0, 4), "m0"), bits("m", 1, 3)),
    )


def _mfma_16x16x16(dtype_in: DType) -> TensorCore:
    return TensorCore(
        name="mfma_16x16x16",
        dims=(16, 16, 16),
        dtype_in=dtype_in,
        dtype_out=dtypes.float32,
        threads=64,
        layout_a=Layout(bits("m", 0, 4) + bits("k", 2, 2), bits("k", 0, 2)),
        layout_b=Layout(bits("n", 0, 4) + bits("k", 2, 2), bits("k", 0, 2)),
        layout_c=Layout(bits("n", 0, 4) + bits("m", 2, 2), bits("m", 0, 2)),
    )


AMD_RDNA3 = (_wmma_rdna3(dtypes.float16), _wmma_rdna3(dtypes.bfloat16))
AMD_CDNA = (_mfma_16x16x16(dtypes.float16), _mfma_16x16x16(dtypes.bfloat16))

ALL = (*AMX, *CUDA_SM80, *AMD_RDNA3, *AMD_CDNA)
