"""The whole table: the rows of every family."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

from tensor_table.cases import Row
from tg_tensor import Tensor


def family_modules() -> list[ModuleType]:
    """The files of rows, a family each, in order of their names."""
    paths = sorted((Path(__file__).parent / "rows").glob("*.py"))
    return [import_module(f"tensor_table.rows.{path.stem}") for path in paths]


def all_rows() -> list[Row]:
    """Every row."""
    return [row for module in family_modules() for row in module.ROWS]


# what the language puts into every class
_NO_OPERATORS = {
    "__annotations__", "__annotate__", "__array_priority__", "__array_ufunc__", "__classcell__",
    "__dict__", "__doc__",
    "__firstlineno__", "__module__", "__orig_bases__", "__parameters__", "__slots__",
    "__static_attributes__", "__weakref__",
}  # fmt: skip


def public_names() -> set[str]:
    """Every name of Tensor that a user may type, and the operators."""
    names = {n for n in dir(Tensor) if not n.startswith("_")}
    own = [kind for kind in Tensor.__mro__ if kind is not object]
    operators = {n for kind in own for n in vars(kind) if n.startswith("__")}
    return names | (operators - _NO_OPERATORS)
