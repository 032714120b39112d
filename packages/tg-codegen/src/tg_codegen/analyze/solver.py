"""Ask z3, where it is installed, whether a condition on loops and data can hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from tg_uop import Ops, UOp, dtypes

Term = Any
PATIENCE_MS = 3000

_LEAVES = (Ops.RANGE, Ops.SPECIAL, Ops.DEFINE_VAR)


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether there are values for which the condition holds; if so, some, and what they give."""

    exists: bool
    values: dict[str, int]
    result: int


@cache
def _z3() -> ModuleType | None:
    return import_module("z3") if find_spec("z3") is not None else None


def solve(condition: UOp, wanted: UOp) -> Answer | None:
    """Whether the condition can hold, and what `wanted` is then.

    Data is any number of its dtype, the same wherever it is the same node. None where z3 is not
    installed or finds no answer in time.
    """
    z3 = _z3()
    if z3 is None:
        return None
    question = _Question(z3)
    solver = z3.Solver()
    solver.set("timeout", PATIENCE_MS)
    solver.add(question.term(condition))
    value = question.term(wanted)
    solver.add(*question.facts)
    found = solver.check()
    if found == z3.unsat:
        return Answer(False, {}, 0)
    if found != z3.sat:
        return None
    model = solver.model()
    values = {
        name: model.eval(term, model_completion=True).as_long()
        for name, term in question.named.items()
    }
    return Answer(True, values, model.eval(value, model_completion=True).as_long())


class _Question:
    """Nodes in the language of the solver: exact integers and truth values."""

    def __init__(self, z3: ModuleType) -> None:
        self.z3 = z3
        self.known: dict[UOp, Term] = {}
        self.facts: list[Term] = []
        self.named: dict[str, Term] = {}

    def term(self, root: UOp) -> Term:
        """The term of a node, with all below it."""
        for node in root.toposort(gate=lambda n: n not in self.known):
            self.known[node] = self._term(node)
        return self.known[root]

    def _term(self, node: UOp) -> Term:
        if node.op is Ops.CONST and isinstance(node.arg, bool | int):
            number = self.z3.BoolVal if node.dtype.is_bool else self.z3.IntVal
            return number(node.arg)
        if _is_opaque(node):
            return self._unknown(node)
        operands = [self.known[s] for s in node.src]
        make = self._boolean if node.dtype.is_bool else self._integer
        made = make(node, operands)
        return self._unknown(node) if made is None else made

    def _unknown(self, node: UOp) -> Term:
        """Any value between the bounds of the node."""
        name = node.render() if node.op in _LEAVES else f"data {len(self.known)}"
        if node.dtype.is_bool:
            return self.z3.Bool(name)
        made = self.z3.Int(name)
        if dtypes.is_int(node.dtype):
            self.facts += [made >= int(node.vmin), made <= int(node.vmax)]
            if node.op is Ops.RANGE or node.op is Ops.SPECIAL:
                self.facts.append(made < self.known[node.src[0]])
            self.named[name] = made
        return made

    def _boolean(self, node: UOp, operands: list[Term]) -> Term | None:
        z3 = self.z3
        if not all(s.dtype.is_bool or dtypes.is_int(s.dtype) for s in node.src):
            return None
        joined: dict[Ops, Callable[[], Term]] = {
            Ops.CMPLT: lambda: operands[0] < operands[1],
            Ops.CMPNE: lambda: operands[0] != operands[1],
            Ops.XOR: lambda: operands[0] != operands[1],
            Ops.CMPEQ: lambda: operands[0] == operands[1],
            Ops.AND: lambda: z3.And(*operands),
            Ops.MUL: lambda: z3.And(*operands),
            Ops.OR: lambda: z3.Or(*operands),
            Ops.MAX: lambda: z3.Or(*operands),
            Ops.WHERE: lambda: z3.If(*operands),
            Ops.CAST: lambda: operands[0] if node.src[0].dtype.is_bool else operands[0] != 0,
        }
        if node.op is Ops.CMPLT and node.src[0].dtype.is_bool:
            return z3.And(z3.Not(operands[0]), operands[1])
        make = joined.get(node.op)
        return None if make is None else make()

    def _integer(self, node: UOp, operands: list[Term]) -> Term | None:
        z3 = self.z3
        if not dtypes.is_int(node.dtype):
            return None
        if node.op is Ops.CAST:
            return self._cast(node, operands[0])
        joined: dict[Ops, Callable[[], Term]] = {
            Ops.ADD: lambda: operands[0] + operands[1],
            Ops.SUB: lambda: operands[0] - operands[1],
            Ops.MUL: lambda: operands[0] * operands[1],
            Ops.NEG: lambda: -operands[0],
            Ops.MAX: lambda: z3.If(operands[0] < operands[1], operands[1], operands[0]),
            Ops.WHERE: lambda: z3.If(*operands),
        }
        make = joined.get(node.op)
        if make is not None:
            return make()
        constant = node.src[-1]
        if constant.op is not Ops.CONST or not isinstance(constant.arg, int):
            return None
        return self._by_constant(node.op, operands[0], constant.arg)

    def _by_constant(self, op: Ops, left: Term, right: int) -> Term | None:
        """Division truncates here; the solver's rounds down for positive divisors."""
        if op is Ops.SHL and 0 <= right < 64:
            return left * (1 << right)
        if op is Ops.SHR and 0 <= right < 64:
            return left / (1 << right)
        if op is Ops.AND and right >= 0 and right & (right + 1) == 0:
            return left % (right + 1)
        if op not in (Ops.IDIV, Ops.MOD) or right <= 0:
            return None
        quotient = self.z3.If(left >= 0, left / right, -((-left) / right))
        return quotient if op is Ops.IDIV else left - quotient * right

    def _cast(self, node: UOp, operand: Term) -> Term | None:
        source = node.src[0]
        if source.dtype.is_bool:
            return self.z3.If(operand, 1, 0)
        if not dtypes.is_int(source.dtype):
            return None
        # a value that the new dtype cannot hold wraps around
        target = node.dtype
        fits = target is dtypes.weakint or (
            dtypes.min(target) <= source.vmin and source.vmax <= dtypes.max(target)
        )
        return operand if fits else None


def _is_opaque(node: UOp) -> bool:
    """Whether a node is taken as any value between its bounds."""
    return node.op in (*_LEAVES, Ops.INDEX, Ops.LOAD, Ops.REDUCE, Ops.PARAM, Ops.AFTER)
