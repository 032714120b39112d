"""The records that nodes carry in `arg`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Protocol

from tg_uop.errors import UnboundVariableError
from tg_uop.ir.axis import AxisType
from tg_uop.ir.ops import Ops


class SymbolicInt(Protocol):
    """What these records need of a node that stands for an integer."""

    @property
    def var_name(self) -> str:
        """The name of a DEFINE_VAR."""

    def evaluate(self, var_vals: Mapping[str, int]) -> int:
        """The value with variables put in."""

    def __add__(self, other: int) -> SymbolicInt: ...

    def __radd__(self, other: int) -> SymbolicInt: ...


Size = int | SymbolicInt


class OptOps(Enum):
    """The kinds of optimization of a kernel's loops."""

    TC = auto()
    UPCAST = auto()
    UNROLL = auto()
    LOCAL = auto()
    THREAD = auto()
    GROUP = auto()
    GROUPTOP = auto()
    NOLOCALS = auto()
    PADTO = auto()
    SWAP = auto()
    LANES = auto()
    STAGE = auto()
    BLOCK = auto()
    SCAN = auto()
    LAP = auto()
    KEEP = auto()

    def __repr__(self) -> str:
        return f"OptOps.{self.name}"

    def __lt__(self, other: OptOps) -> bool:
        return self.value < other.value


OptArg = int | tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Opt:
    """One decision about the loops of a kernel: what, on which axis, how much."""

    op: OptOps
    axis: int | None = None
    arg: OptArg = None

    def __repr__(self) -> str:
        return f"Opt(op={self.op!r}, axis={self.axis}, arg={self.arg})"


@dataclass(frozen=True, slots=True)
class Estimates:
    """Work of a kernel: arithmetic operations, bytes loaded and stored, bytes of memory touched."""

    ops: Size = 0
    lds: Size = 0
    mem: Size = 0

    def __add__(self, other: Estimates) -> Estimates:
        return Estimates(
            _add(self.ops, other.ops), _add(self.lds, other.lds), _add(self.mem, other.mem)
        )


def _add(left: Size, right: Size) -> Size:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, int):
        return right if left == 0 else right + left  # type: ignore[operator]
    return left if right == 0 else left + right  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class TileProduct:
    """One use of a matrix unit of a processor; the `arg` of a WMMA that is a statement.

    Its operands are the addresses of C, A and B. The statement overwrites C, `rows` by `columns`
    elements in one piece, with the product of A and B over `steps` depths of the unit. Strides are
    bytes from one row to the next, of B from one group of packed depths to the next.
    """

    unit: str
    dims: tuple[int, int, int]
    steps: int
    rows: int
    columns: int
    stride_a: int
    stride_b: int

    @property
    def operations(self) -> int:
        """Multiplications and additions of one statement."""
        return 2 * self.rows * self.columns * self.steps * self.dims[2]


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """What is known and wanted of a kernel; the `arg` of its SINK.

    `opts_to_apply` is None to let the heuristic choose, and a tuple to apply just these.
    """

    name: str = "test"
    axis_types: tuple[AxisType, ...] = ()
    dont_use_locals: bool = False
    applied_opts: tuple[Opt, ...] = ()
    opts_to_apply: tuple[Opt, ...] | None = None
    estimates: Estimates | None = None
    beam: int = 0

    @property
    def function_name(self) -> str:
        """The name as an identifier of the C family."""
        return to_function_name(self.name)


def to_function_name(name: str) -> str:
    """`name` with everything but ASCII letters, digits and underscores written as hex."""
    spelled = "".join(
        c if (c.isascii() and c.isalnum()) or c == "_" else f"_{ord(c):02X}" for c in name
    )
    return spelled if spelled and not spelled[0].isdigit() else f"_{spelled}"


@dataclass(frozen=True, slots=True)
class ProgramInfo:
    """Launch data of a compiled kernel; the `arg` of PROGRAM.

    `globals`, `outs` and `ins` are PARAM slots; `vars` are DEFINE_VAR nodes in the order in which
    their values are passed.
    """

    name: str = "test"
    global_size: tuple[Size, Size, Size] = (1, 1, 1)
    local_size: tuple[Size, Size, Size] | None = None
    vars: tuple[SymbolicInt, ...] = ()
    globals: tuple[int, ...] = ()
    outs: tuple[int, ...] = ()
    ins: tuple[int, ...] = ()
    aux: tuple[object, ...] = ()
    estimates: Estimates | None = None
    applied_opts: tuple[Opt, ...] = ()

    @property
    def function_name(self) -> str:
        """The symbol that the binary exports."""
        return to_function_name(self.name)

    def vals(self, var_vals: Mapping[str, int]) -> tuple[int, ...]:
        """The values of `vars`, in order.

        Raises `UnboundVariableError` when a variable has no value.
        """
        try:
            return tuple(var_vals[var.var_name] for var in self.vars)
        except KeyError as error:
            raise UnboundVariableError(name=str(error.args[0]), given=tuple(var_vals)) from None

    def launch_dims(
        self, var_vals: Mapping[str, int]
    ) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
        """Global and local size with the variables' values put in."""
        global_size = tuple(_size_value(s, var_vals) for s in self.global_size)
        if self.local_size is None:
            return global_size, None
        return global_size, tuple(_size_value(s, var_vals) for s in self.local_size)


def _size_value(size: Size, var_vals: Mapping[str, int]) -> int:
    return size if isinstance(size, int) else size.evaluate(var_vals)


@dataclass(frozen=True, slots=True)
class RangeArg:
    """Identity and role of a loop.

    `axis_id` is a path: splitting a range appends to it, so that parts sort where the whole stood.
    `lanes` marks the one replicated axis that becomes the lanes of a vector.
    """

    axis_id: tuple[int, ...]
    axis_type: AxisType
    lanes: bool = False

    def with_type(self, axis_type: AxisType) -> RangeArg:
        """The same loop in another role."""
        return replace(self, axis_type=axis_type)


@dataclass(frozen=True, slots=True)
class BufferArg:
    """Identity of a BUFFER: a number unique in the process, and its elements."""

    slot: int
    size: int


@dataclass(frozen=True, slots=True)
class ParamArg:
    """An argument slot of a kernel or function; shape and device are set for tensor parameters."""

    slot: int
    shape: tuple[Size, ...] | None = None
    device: str | tuple[str, ...] | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ReduceArg:
    """A reduction of whole axes (tensor form): the operation and the axes, which stay as size 1."""

    op: Ops
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SpecialArg:
    """A launch index: gidx0..2, lidx0..2 or core_id."""

    name: str


@dataclass(frozen=True, slots=True)
class CallArg:
    """What a CALL carries beside its operands: names for reports, and a custom gradient."""

    name: str | None = None
    grad_fxn: Callable[..., object] | None = field(default=None, compare=True)
    precompile: bool = False
