"""The reference page of Tensor: each name with its signature, its oracle and where it differs."""

from __future__ import annotations

import inspect
from types import ModuleType

from tensor_table.cases import Row
from tensor_table.table import family_modules
from tg_tensor import Tensor

_INTRODUCTION = """# Tensor

Every public name, from the table that the conformance suite runs
(`tests/conformance/tensor_table`): values, shapes, dtypes, gradients and the errors of wrong
arguments are compared with the oracle named here. Where nothing is said, the meaning is PyTorch's.

What holds for all of them: the default dtypes are float32 and int32, positions and counts are
int32, integers narrower than 32 bits (and bool) add up to 32 bits of their signedness, NaN counts
as largest, and the first of equal values wins.
"""


def tensor_markdown() -> str:
    """The page."""
    lines = [_INTRODUCTION]
    for module in family_modules():
        lines += _section(module)
    return "\n".join(lines)


def _section(module: ModuleType) -> list[str]:
    title, _, _ = (module.__doc__ or "").partition("\n")
    lines = [f"## {module.__name__.rpartition('.')[2].capitalize()}", "", title, ""]
    lines += ["| name | what it gives | oracle | deviations |", "| --- | --- | --- | --- |"]
    rows = sorted(module.ROWS, key=lambda row: (row.name.strip("_").lower(), row.name))
    lines += [_line(row) for row in rows]
    return [*lines, ""]


def _line(row: Row) -> str:
    cells = [f"`{_signature(row.name)}`", _summary(row.name), row.oracle, row.deviations]
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _signature(name: str) -> str:
    found = inspect.getattr_static(Tensor, name)
    if isinstance(found, property) or not callable(getattr(Tensor, name)):
        return name
    if inspect.isclass(found):
        found = found.__init__
    try:
        signature = inspect.signature(getattr(found, "__func__", found))
    except (TypeError, ValueError):
        return name
    parameters = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in signature.parameters.values()
        if p.name not in ("self", "cls")
    ]
    plain = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return f"{name}{_without_objects(str(plain))}"


def _without_objects(text: str) -> str:
    """Defaults whose text has an address in it are left out of the page."""
    return text if " at 0x" not in text else "(...)"


def _summary(name: str) -> str:
    found = inspect.getattr_static(Tensor, name)
    text = inspect.getdoc(getattr(found, "__func__", found)) or ""
    paragraph, _, _ = text.partition("\n\n")
    summary = " ".join(paragraph.split())
    return summary if not name.startswith("__") or summary else "An operator of Python."


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
