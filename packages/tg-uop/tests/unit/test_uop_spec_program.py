"""The parts of a program, in their order."""

from __future__ import annotations

import pytest
from tg_uop import KernelInfo, Ops, ProgramInfo, UOp, dtypes
from tg_uop.errors import SpecError
from tg_uop.spec.program import verify_program

SINK = UOp(Ops.SINK, arg=KernelInfo())
DEVICE = UOp(Ops.DEVICE, arg="CPU")
LINEAR = UOp(Ops.LINEAR, src=(UOp.const(dtypes.int, 1),))
SOURCE = UOp(Ops.SOURCE, arg="void f() {}")
BINARY = UOp(Ops.BINARY, arg=b"\x7fELF")
PARTS = (SINK, DEVICE, LINEAR, SOURCE, BINARY)


@pytest.mark.parametrize("count", range(1, 6))
def test_any_prefix_is_legal(count: int) -> None:
    verify_program(UOp(Ops.PROGRAM, src=PARTS[:count], arg=ProgramInfo()))


def test_illegal_programs() -> None:
    loose = UOp.const(dtypes.int, 1).alu(Ops.NEG)
    cases = [
        (SINK, "a program is a PROGRAM"),
        (UOp(Ops.PROGRAM), "first of SINK, DEVICE"),
        (UOp(Ops.PROGRAM, src=(SINK, LINEAR)), "first of"),
        (UOp(Ops.PROGRAM, src=(SINK,), arg="x"), "ProgramInfo"),
        (UOp(Ops.PROGRAM, src=(SINK, UOp(Ops.DEVICE, arg=("CPU", "CPU:1")))), "one device"),
        (UOp(Ops.PROGRAM, src=(*PARTS[:3], UOp(Ops.SOURCE, arg=b""))), "SOURCE is a text"),
        (UOp(Ops.PROGRAM, src=(*PARTS[:4], UOp(Ops.BINARY, arg=""))), "BINARY is bytes"),
        (UOp(Ops.PROGRAM, src=(SINK, DEVICE, UOp(Ops.LINEAR, src=(loose,)))), "not defined before"),
    ]
    for program, words in cases:
        with pytest.raises(SpecError, match=words):
            verify_program(program)


def test_machine_instructions_are_left_alone() -> None:
    code = UOp(Ops.LINEAR, src=(UOp(Ops.INS, arg="nop"),))
    verify_program(UOp(Ops.PROGRAM, src=(SINK, DEVICE, code)))
