"""Short expressions."""

from __future__ import annotations

import pytest
from tg_uop import Ops, UOp, Variable, dtypes, render

I = Variable("i", 0, 10)
J = Variable("j", -5, 5)
F = UOp.param(0, dtypes.float.ptr(16))
R = UOp.range(8, 3)
TRUE = UOp.const(dtypes.bool, True)

CASES = [
    (I + 1, "i+1"),
    (I + -1, "i-1"),
    ((I + 1) * 3, "(i+1)*3"),
    (I * 3 + J, "i*3+j"),
    (I + J * -1, "i-j"),
    (I + J * -4, "i-j*4"),
    (I * -1, "i*-1"),
    (I.alu(Ops.IDIV, UOp.const(dtypes.weakint, 3)), "i//3"),
    (J.alu(Ops.IDIV, UOp.const(dtypes.weakint, 3)), "idiv(j, 3)"),
    (I.alu(Ops.MOD, UOp.const(dtypes.weakint, 3)), "i%3"),
    (J.alu(Ops.MOD, UOp.const(dtypes.weakint, 3)), "mod(j, 3)"),
    ((I + 1).alu(Ops.IDIV, I + 2), "(i+1)//(i+2)"),
    ((I < 3), "i<3"),
    ((I < 3).alu(Ops.AND, J < 2), "(i<3)&(j<2)"),
    ((I < 3).alu(Ops.CMPNE, TRUE), "!(i<3)"),
    ((I < 3).alu(Ops.CMPEQ, J < 2), "(i<3)==(j<2)"),
    ((I < 3).where(I, J), "(i<3?i:j)"),
    (I.valid(I < 3), "(i<3?i:Invalid)"),
    (I.alu(Ops.MAX, J), "max(i, j)"),
    (I.alu(Ops.NEG), "-i"),
    (I.alu(Ops.SUB, J + 1), "i-(j+1)"),
    (I.alu(Ops.SUB, J), "i-j"),
    (I.cast(dtypes.float) * 0.5, "float(i)*0.5"),
    (F.index(R * 4 + I), "data0[r3*4+i]"),
    (F.index(R).alu(Ops.EXP2) + -2.0, "exp2(data0[r3])-2.0"),
    (F.index(R) * (F.index(R) * 2.0), "data0[r3]*(data0[r3]*2.0)"),
    (F.index(R).reduce(R, arg=Ops.ADD), "sum(data0[r3]; r3)"),
    (F.index(R).store(F.index(R)), "data0[r3] = data0[r3]"),
    (UOp.special(8, "gidx0") + 1, "gidx0+1"),
    (I.bind(3) + 1, "(i=3)+1"),
    (F.index(R).bitcast(dtypes.int), "bits.int(data0[r3])"),
    (UOp.const(dtypes.int.vec(2), (1, 2)).gep(1), "(1, 2)[1]"),
    (UOp.const(dtypes.float, float("-inf")), "-inf"),
]


@pytest.mark.parametrize(("node", "text"), CASES, ids=[text for _, text in CASES])
def test_text(node: UOp, text: str) -> None:
    assert render(node) == text
    assert node.render(simplify=False) == text


def test_long_expressions_name_what_repeats() -> None:
    x: UOp = Variable("x", 0, 3) + 5
    for _ in range(60):
        x = x * x
    text = render(x)
    assert len(text) < 2000
    assert "(t0:=" in text
    assert "t59" not in text.split(":=")[0]


def test_a_factor_that_is_a_quotient_keeps_its_parentheses() -> None:
    x, y = UOp.variable("x", 0, 9), UOp.variable("y", 1, 9)
    for op, text in ((Ops.IDIV, "x*(x//y)"), (Ops.MOD, "x*(x%y)")):
        assert x.alu(Ops.MUL, x.alu(op, y)).render(simplify=False) == text
