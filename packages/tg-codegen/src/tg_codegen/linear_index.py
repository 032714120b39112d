"""See an address expression as a sum of loops times strides."""

from __future__ import annotations

from dataclasses import dataclass

from tg_uop import Invalid, Ops, UOp


@dataclass(frozen=True, slots=True)
class LinearForm:
    """`offset + sum(coefficient * atom)`.

    An atom is a RANGE, or a node that is not linear in what is below it.
    """

    terms: dict[UOp, int]
    offset: int

    def stride(self, loop: UOp) -> int | None:
        """How far one step of `loop` moves; None where that is not the same for each step."""
        for atom in self.terms:
            if atom is not loop and loop in atom.ranges:
                return None
        return self.terms.get(loop, 0)

    def depends_on(self, loop: UOp) -> bool:
        """Whether the address moves with `loop` at all."""
        return any(loop in atom.ranges for atom in self.terms)


def linear_form(expr: UOp) -> LinearForm:
    """The linear form of an integer expression; terms that cancel are gone."""
    terms: dict[UOp, int] = {}
    offset = 0
    stack = [(expr, 1)]
    while stack:
        node, factor = stack.pop()
        if node.op is Ops.CONST and isinstance(node.arg, int):
            offset += factor * node.const_value
        elif node.op is Ops.ADD:
            stack.extend((operand, factor) for operand in node.src)
        elif node.op is Ops.SUB:
            left, right = node.src
            stack += [(left, factor), (right, -factor)]
        elif node.op is Ops.NEG:
            stack.append((node.src[0], -factor))
        else:
            inner, scale = _scaled(node)
            if inner is node:
                terms[node] = terms.get(node, 0) + factor
            else:
                stack.append((inner, factor * scale))
    return LinearForm({atom: count for atom, count in terms.items() if count}, offset)


def _scaled(node: UOp) -> tuple[UOp, int]:
    """The node without a constant factor, and the factor."""
    if node.op is Ops.MUL:
        left, right = node.src
        if right.op is Ops.CONST and isinstance(right.arg, int):
            return left, right.const_value
        if left.op is Ops.CONST and isinstance(left.arg, int):
            return right, left.const_value
    if node.op is Ops.SHL:
        shifted, count = node.src
        if count.op is Ops.CONST and isinstance(count.arg, int):
            return shifted, 1 << count.const_value
    return node, 1


def split_gate(expr: UOp) -> tuple[UOp | None, UOp]:
    """The condition of an address (None where it always holds) and the address itself."""
    if expr.op is not Ops.WHERE:
        return None, expr
    condition, address, otherwise = expr.src
    if otherwise.op is Ops.CONST and otherwise.arg is Invalid:
        return condition, address
    return None, expr


def is_single_index(index: UOp) -> bool:
    """Whether an INDEX has one (flat) address expression."""
    return index.op is Ops.INDEX and len(index.src) == 2


def is_step_condition(condition: UOp) -> bool:
    """Whether a condition holds at every n-th place of a sum of loops: (i + r + 1) % 2 < 1.

    Elements that lie n steps apart are read under it: those of a strided window, seen from what
    the window was laid on.
    """
    if condition.op is not Ops.CMPLT:
        return False
    rest, limit = condition.src
    if rest.op is not Ops.MOD or limit.op is not Ops.CONST or limit.arg != 1:
        return False
    return rest.src[1].op is Ops.CONST and len(rest.src[0].ranges) > 1
