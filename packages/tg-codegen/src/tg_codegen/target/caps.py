"""What a target can do: one frozen record that every stage reads."""

from __future__ import annotations

from dataclasses import dataclass

from tg_uop import DType, Ops

from tg_codegen.target.tensor_cores import TensorCore


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Facts about one target (device, renderer and architecture together).

    `ops` are the operations that its renderer writes as they are; the rest is decomposed.
    `dtypes` are the scalar dtypes that it loads, stores and computes with; `convert_dtypes` are
    those that it can load, store and convert to and from float32, but not compute with. Any other
    dtype is emulated: stored as an unsigned integer of its width, computed in float32.
    Sizes are in bytes unless the name says bits.
    """

    ops: frozenset[Ops]
    dtypes: frozenset[DType]
    convert_dtypes: frozenset[DType] = frozenset()
    # vectors: `vector_bits` is 0 where a value is always one element
    vector_bits: int = 0
    vector_registers: int = 16
    # where only some widths exist, `max_lanes` is the most lanes of a vector, a power of two
    vector_any_width: bool = False
    max_lanes: int = 1
    masked_memory: bool = False
    # sizes of elements that one instruction can gather from and scatter to any places
    gather_bytes: frozenset[int] = frozenset()
    has_fma: bool = False
    # the tool chain turns divisions by constants into multiplications itself
    expands_division: bool = False
    # work distribution
    has_local: bool = False
    has_shared: bool = False
    has_threads: bool = False
    max_threads: int = 1
    global_max: tuple[int, ...] = ()
    local_max: tuple[int, ...] = ()
    max_workgroup: int = 1
    warp_size: int = 1
    # memory
    shared_bytes: int = 0
    stack_bytes: int = 0
    l1_bytes: int = 32 * 1024
    l2_bytes: int = 1024 * 1024
    address_bits: int = 64
    tensor_cores: tuple[TensorCore, ...] = ()

    def lanes(self, dtype: DType) -> int:
        """Elements of `dtype` that one vector register holds; 1 on a target without vectors."""
        if self.vector_bits == 0:
            return 1
        return max(1, self.vector_bits // (8 * dtype.scalar().itemsize))

    def has_op(self, op: Ops) -> bool:
        """Whether the renderer writes `op` as it is."""
        return op in self.ops

    def computes(self, dtype: DType) -> bool:
        """Whether arithmetic on `dtype` needs no emulation."""
        return dtype.scalar() in self.dtypes

    def converts(self, dtype: DType) -> bool:
        """Whether `dtype` converts to and from float32 without emulation."""
        return dtype.scalar() in self.dtypes or dtype.scalar() in self.convert_dtypes
