"""The text of one C function while it is written: lines, names, and the definitions it needs."""

from __future__ import annotations

from tg_uop import DType, UOp, dtypes

from tg_codegen.render.c_types import DEFINITIONS, scalar_name, type_name

INDENT = "  "


class Body:
    """Collects the statements of a function.

    `values` maps a node to an expression that has no effects and may be repeated: a name, a literal
    or an address. `pointers` are the buffers with the type of their elements. `definitions` are
    what has to stand before the function, each once.
    """

    __slots__ = ("_names", "definitions", "depth", "lines", "pointers", "values")

    def __init__(self) -> None:
        self.definitions: dict[str, None] = {}
        self.lines: list[str] = []
        self.values: dict[UOp, str] = {}
        self.pointers: dict[str, str] = {}
        self.depth = 1
        self._names = 0

    def fresh(self, prefix: str = "v") -> str:
        """A name that nothing has yet."""
        self._names += 1
        return f"{prefix}{self._names}"

    def do(self, statement: str) -> None:
        """Append a statement."""
        self.lines.append(INDENT * self.depth + statement)

    def open(self, head: str) -> None:
        """Append the head of a block; what follows is inside."""
        self.do(head + " {")
        self.depth += 1

    def close(self) -> None:
        """Close the innermost block."""
        self.depth -= 1
        self.do("}")

    def let(self, dtype: DType, expression: str) -> str:
        """Name the value of an expression; the name."""
        name = self.fresh()
        self.do(f"{self.type(dtype)} {name} = {expression};")
        return name

    def type(self, dtype: DType) -> str:
        """The name of a value's type, which is defined if it is a vector."""
        name = type_name(dtype)
        if dtype.count > 1:
            self.vector(scalar_name(dtype), dtype.count)
        return name

    def vector(self, lane: str, count: int) -> str:
        """The name of a vector type, defined together with its form in memory (suffix _m)."""
        name = f"{lane}x{count}"
        size = LANE_BYTES[lane] * count
        attribute = f"vector_size({size})"
        self.definitions[f"typedef {lane} {name} __attribute__(({attribute}));"] = None
        # in memory it is aligned as one element, and may be seen as another type's
        loose = f"{attribute}, aligned({LANE_BYTES[lane]}), may_alias"
        self.definitions[f"typedef {lane} {name}_m __attribute__(({loose}));"] = None
        return name

    def define(self, text: str) -> None:
        """Make sure that a definition stands before the function."""
        self.definitions[text] = None


LANE_BYTES = {
    scalar_name(dtype): dtype.itemsize
    for dtype in (*dtypes.ints, dtypes.float16, dtypes.float32, dtypes.float64)
}

PRELUDE = [f"typedef {text} {name};" for name, text in DEFINITIONS.items() if name != "f16"]
HALF_PRELUDE = "typedef _Float16 f16;"
