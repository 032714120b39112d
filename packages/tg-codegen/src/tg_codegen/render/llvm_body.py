"""The text of one LLVM function while it is written: lines, stack slots, names, declarations."""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import DType, UOp

from tg_codegen.render.llvm_types import intrinsic_suffix, type_name


class Body:
    """Collects the instructions of a function; names are unique in it.

    `values` maps a node to how its value is written: a name or a literal.
    """

    __slots__ = (
        "_names",
        "_zeros",
        "allocas",
        "block",
        "declarations",
        "epilogue",
        "lines",
        "values",
    )

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.epilogue: list[str] = []
        self.declarations: dict[str, None] = {}
        self.values: dict[UOp, str] = {}
        self.block = "entry"
        self._names = 0
        self._zeros: dict[str, str] = {}

    def fresh(self, prefix: str = "v") -> str:
        """A name that nothing has yet, without its sigil."""
        self._names += 1
        return f"{prefix}{self._names}"

    def emit(self, text: str) -> str:
        """Append an instruction that has a result; the result's name."""
        self._names += 1
        name = f"%v{self._names}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Start a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def alloca(self, text: str, prefix: str = "stack") -> str:
        """Reserve stack in the entry block; the pointer's name."""
        name = f"%{self.fresh(prefix)}"
        self.allocas.append(f"  {name} = alloca {text}")
        return name

    def zeros(self, kind: str) -> str:
        """A pointer to a zero of a memory type on the stack; the same one for each type."""
        found = self._zeros.get(kind)
        if found is None:
            found = self._zeros[kind] = self.alloca(f"{kind}, align 64", "zeros")
            self.allocas.append(f"  store {kind} zeroinitializer, ptr {found}, align 64")
        return found

    def typed(self, node: UOp) -> str:
        """The value of a node with its type in front."""
        return f"{type_name(node.dtype)} {self.values[node]}"

    def intrinsic(self, name: str, dtype: DType, operands: Sequence[str]) -> str:
        """Call `llvm.NAME.TYPE`, whose operands and result are all of `dtype`."""
        kind = type_name(dtype)
        function = f"@llvm.{name}.{intrinsic_suffix(dtype)}"
        self.declarations[f"declare {kind} {function}({', '.join([kind] * len(operands))})"] = None
        arguments = ", ".join(f"{kind} {operand}" for operand in operands)
        return self.emit(f"call {kind} {function}({arguments})")
