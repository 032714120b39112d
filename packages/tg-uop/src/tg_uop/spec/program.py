"""Check a PROGRAM: its parts stand in the order in which a kernel is compiled."""

from __future__ import annotations

from tg_uop.errors import SpecError
from tg_uop.ir.args import ProgramInfo
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.spec.node import Form
from tg_uop.spec.verify import verify

PARTS = (Ops.SINK, Ops.DEVICE, Ops.LINEAR, Ops.SOURCE, Ops.BINARY)


def verify_program(program: UOp, *, instructions: bool = True) -> None:
    """Raise unless `program` is a PROGRAM whose operands are the first of its five parts.

    With `instructions` its LINEAR is verified too; a program of machine instructions (INS) has
    none in linear form. Raises `SpecError`.
    """
    problem = _problem(program)
    if problem is not None:
        raise SpecError(form="program", rule=problem, node=repr(program))
    for part in program.src:
        is_code = part.op is Ops.LINEAR and all(node.op is not Ops.INS for node in part.src)
        if instructions and is_code:
            verify(part, Form.LINEAR)


def _problem(program: UOp) -> str | None:
    if program.op is not Ops.PROGRAM:
        return f"a program is a PROGRAM, not {program.op}"
    if program.arg is not None and not isinstance(program.arg, ProgramInfo):
        return f"its arg is a ProgramInfo, not {program.arg!r}"
    found = tuple(part.op for part in program.src)
    if not found or found != PARTS[: len(found)]:
        order = ", ".join(op.name for op in PARTS)
        return f"its operands are the first of {order}, not {', '.join(op.name for op in found)}"
    for part in program.src:
        if part.op is Ops.SOURCE and not isinstance(part.arg, str):
            return f"the arg of SOURCE is a text, not {part.arg!r}"
        if part.op is Ops.BINARY and not isinstance(part.arg, bytes):
            return f"the arg of BINARY is bytes, not {part.arg!r}"
        if part.op is Ops.DEVICE and not isinstance(part.arg, str):
            return f"a program is for one device, not {part.arg!r}"
    return None
