"""Index arithmetic on sums of scaled terms: join axes, split axes, keep one spelling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast, final

from tg_uop import Ops, UOp, dtypes

Dim = int | UOp
Terms = dict[UOp, int]
_UNPLACED = (1 << 30,)

ZERO = UOp.const(dtypes.weakint, 0)


def integer(value: int) -> UOp:
    """An index constant."""
    return UOp.const(dtypes.weakint, value)


def as_index(value: Dim) -> UOp:
    """A dimension as a node."""
    return integer(value) if isinstance(value, int) else value


def max_dim(dim: Dim) -> int:
    """The largest value that a dimension can have."""
    return dim if isinstance(dim, int) else int(dim.vmax)


def is_one(dim: Dim) -> bool:
    """Whether an axis has exactly one element."""
    return isinstance(dim, int) and dim == 1


def drop_bindings(dim: Dim) -> Dim:
    """A dimension in terms of variables: BIND replaced by its variable, constants as int."""
    if isinstance(dim, int):
        return dim
    bound = {node: node.src[0] for node in dim.toposort() if node.op is Ops.BIND}
    plain = dim.substitute(bound) if bound else dim
    return plain.const_value if plain.op is Ops.CONST else plain


def _constant(node: UOp) -> int | None:
    """The number of an integer constant, None for everything else (Invalid included)."""
    if node.op is Ops.CONST and isinstance(node.arg, int):
        return node.const_value
    return None


def _order(entry: tuple[UOp, int]) -> tuple[int, tuple[int, ...]]:
    node, scale = entry
    place = node.range_arg.axis_id if node.op is Ops.RANGE else _UNPLACED
    return (-abs(scale), place)


@final
class Affine:
    """Builds and takes apart index expressions; remembers what it has seen.

    An index that reaches a node by two ways must come out as the same node, because the scheduler
    compares accesses by identity. So every sum is spelled in one order: larger factors first, then
    outer loops first, constants last.
    """

    __slots__ = ("_bounds", "_parts", "_plans")

    def __init__(self) -> None:
        self._parts: dict[UOp, tuple[Terms, int]] = {}
        self._plans: dict[tuple[tuple[Dim, ...], tuple[Dim, ...]], list[_Group]] = {}
        self._bounds: dict[UOp, tuple[int, int]] = {}

    # *** sums ***

    def parts(self, node: UOp) -> tuple[Terms, int]:
        """`node` as (terms with factors, constant); the dict must not be changed."""
        found = self._parts.get(node)
        if found is None:
            found = self._take_apart(node)
            self._parts[node] = found
        return found

    def _take_apart(self, node: UOp) -> tuple[Terms, int]:
        terms: Terms = {}
        offset = 0
        stack = [(node, 1)]
        while stack:
            part, scale = stack.pop()
            value = _constant(part)
            if value is not None:
                offset += scale * value
            elif part.op is Ops.ADD:
                stack.extend((operand, scale) for operand in reversed(part.src))
            elif part.op is Ops.MUL and (factor := _constant(part.src[1])) is not None:
                stack.append((part.src[0], scale * factor))
            else:
                terms[part] = terms.get(part, 0) + scale
        return {t: c for t, c in terms.items() if c != 0}, offset

    def build(self, terms: Terms, offset: int) -> UOp:
        """The sum as a node, in its one spelling."""
        terms, offset = self._rejoined(terms, offset)
        total: UOp | None = None
        for term, scale in sorted(terms.items(), key=_order):
            scaled = term if scale == 1 else term.alu(Ops.MUL, integer(scale))
            total = scaled if total is None else total.alu(Ops.ADD, scaled)
        if total is None:
            return integer(offset)
        result = total if offset == 0 else total.alu(Ops.ADD, integer(offset))
        self._parts.setdefault(result, (terms, offset))
        return result

    def _rejoined(self, terms: Terms, offset: int) -> tuple[Terms, int]:
        """(x // d) * d * c + (x % d) * c  becomes  x * c."""
        remainders = [t for t in terms if t.op is Ops.MOD and _constant(t.src[1]) is not None]
        if not remainders:
            return terms, offset
        joined = dict(terms)
        for remainder in remainders:
            whole, divisor = remainder.src
            quotient = whole.alu(Ops.IDIV, divisor)
            scale = joined.get(remainder)
            if scale is None or joined.get(quotient) != scale * divisor.const_value:
                continue
            del joined[remainder], joined[quotient]
            more, constant = self.parts(whole)
            offset += scale * constant
            for term, factor in more.items():
                joined[term] = joined.get(term, 0) + scale * factor
        return {t: c for t, c in joined.items() if c != 0}, offset

    def add(self, node: UOp, value: Dim) -> UOp:
        """`node + value`."""
        return self.weighted([(node, 1), (as_index(value), 1)])

    def weighted(self, addends: Sequence[tuple[UOp, int]]) -> UOp:
        """The sum of nodes times factors."""
        terms: Terms = {}
        offset = 0
        for node, scale in addends:
            more, constant = self.parts(node)
            offset += scale * constant
            for term, factor in more.items():
                terms[term] = terms.get(term, 0) + scale * factor
        return self.build({t: c for t, c in terms.items() if c != 0}, offset)

    def bounds(self, terms: Terms, offset: int) -> tuple[int, int]:
        """Lowest and highest value of a sum."""
        low = high = offset
        for term, scale in terms.items():
            lowest, highest = self.term_bounds(term)
            low += scale * (lowest if scale > 0 else highest)
            high += scale * (highest if scale > 0 else lowest)
        return low, high

    def node_bounds(self, node: UOp) -> tuple[int, int]:
        """Lowest and highest value of an index."""
        terms, offset = self.parts(node)
        return self.bounds(terms, offset)

    def term_bounds(self, term: UOp) -> tuple[int, int]:
        """Lowest and highest value of one term."""
        found = self._bounds.get(term)
        if found is None:
            found = (int(term.vmin), int(term.vmax))
            self._bounds[term] = found
        return found

    # *** axes ***

    def join(self, index: Sequence[UOp], dims: Sequence[Dim]) -> UOp:
        """One index over all axes, the last axis running fastest."""
        if all(isinstance(d, int) for d in dims):
            sizes = cast(Sequence[int], dims)
            addends = []
            stride = 1
            for node, size in zip(reversed(index), reversed(sizes), strict=True):
                addends.append((node, stride))
                stride *= size
            return self.weighted(addends[::-1])
        axes = [(n, d) for n, d in zip(index, dims, strict=True) if not is_one(d)]
        total = ZERO
        for number, (node, dim) in enumerate(axes):
            total = total.alu(Ops.MUL, as_index(dim)).alu(Ops.ADD, node) if number else node
        return total

    def split(self, index: UOp, dims: Sequence[Dim]) -> tuple[UOp, ...]:
        """The indices of the axes that `index` joins."""
        parts: list[UOp] = []
        for dim in reversed(dims[1:]):
            index, rest = self.divmod(index, dim)
            parts.append(rest)
        parts.append(index)
        return tuple(reversed(parts))

    def divmod(self, index: UOp, size: Dim) -> tuple[UOp, UOp]:
        """Quotient and remainder of an index that is never negative where it is used."""
        if not isinstance(size, int):
            return index.alu(Ops.IDIV, size), index.alu(Ops.MOD, size)
        if size == 1:
            return index, ZERO
        terms, offset = self.parts(index)
        for truncate in (False, True):
            outer, rest = _divide(terms, size, truncate)
            high, low = divmod(offset, size)
            lowest, highest = self.bounds(rest, low)
            if lowest >= 0 and highest < size:
                return self.build(outer, high), self.build(rest, low)
        outer, rest = _divide(terms, size, False)
        high, low = divmod(offset, size)
        kept = self.build(rest, low)
        divisor = integer(size)
        quotient = kept.alu(Ops.IDIV, divisor)
        whole = self.weighted([(self.build(outer, high), 1), (quotient, 1)])
        return whole, kept.alu(Ops.MOD, divisor)

    def reshape(
        self, index: tuple[UOp, ...], old: tuple[Dim, ...], new: tuple[Dim, ...]
    ) -> tuple[UOp, ...]:
        """The index into shape `old` of the element that `index` names in shape `new`."""
        plan = self._plans.get((old, new))
        if plan is None:
            # a value without elements has none to name
            plan = [] if 0 in old else _matching_groups(old, new)
            self._plans[(old, new)] = plan
        result = [ZERO] * len(old)
        for group in plan:
            taken = [index[axis] for axis in group.new_axes]
            if len(taken) == 1 and len(group.old_axes) == 1:
                result[group.old_axes[0]] = taken[0]
                continue
            flat = self.join(taken, [new[axis] for axis in group.new_axes])
            pieces = self.split(flat, [old[axis] for axis in group.old_axes])
            for axis, piece in zip(group.old_axes, pieces, strict=True):
                result[axis] = piece
        return tuple(result)


def _divide(terms: Terms, size: int, truncate: bool) -> tuple[Terms, Terms]:
    """Each factor as quotient and remainder; truncated where a remainder may be negative."""
    outer: Terms = {}
    rest: Terms = {}
    for term, scale in terms.items():
        quotient, remainder = divmod(scale, size)
        if truncate and scale < 0 and remainder:
            quotient, remainder = quotient + 1, remainder - size
        if quotient:
            outer[term] = quotient
        if remainder:
            rest[term] = remainder
    return outer, rest


@final
class _Group:
    """Neighbouring axes of both shapes that hold the same elements."""

    __slots__ = ("new_axes", "old_axes")

    def __init__(self, old_axes: list[int], new_axes: list[int]) -> None:
        self.old_axes = old_axes
        self.new_axes = new_axes


def _matching_groups(old: tuple[Dim, ...], new: tuple[Dim, ...]) -> list[_Group]:
    """The finest grouping of axes such that each group can be split and joined by itself."""
    old_axes = [axis for axis, dim in enumerate(old) if not is_one(dim)]
    new_axes = [axis for axis, dim in enumerate(new) if not is_one(dim)]
    if not all(isinstance(d, int) for d in old + new):
        return _symbolic_groups(old, new, old_axes, new_axes)
    groups: list[_Group] = []
    i = j = 0
    while i < len(old_axes) or j < len(new_axes):
        left, right = i, j
        old_count, new_count = 1, 1
        while i == left or j == right or old_count != new_count:
            if i < len(old_axes) and (old_count <= new_count or j == len(new_axes)):
                old_count *= cast(int, old[old_axes[i]])
                i += 1
            elif j < len(new_axes):
                new_count *= cast(int, new[new_axes[j]])
                j += 1
            else:
                break
        groups.append(_Group(old_axes[left:i], new_axes[right:j]))
    return groups


def _symbolic_groups(
    old: tuple[Dim, ...], new: tuple[Dim, ...], old_axes: list[int], new_axes: list[int]
) -> list[_Group]:
    """Equal axes at both ends stand alone, all between is one group."""
    front: list[_Group] = []
    back: list[_Group] = []
    while old_axes and new_axes and _same(old[old_axes[0]], new[new_axes[0]]):
        front.append(_Group([old_axes.pop(0)], [new_axes.pop(0)]))
    while old_axes and new_axes and _same(old[old_axes[-1]], new[new_axes[-1]]):
        back.append(_Group([old_axes.pop()], [new_axes.pop()]))
    if old_axes:
        front.append(_Group(old_axes, new_axes))
    return front + back[::-1]


def _same(left: Dim, right: Dim) -> bool:
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return left is right


def count(shape: Sequence[Dim]) -> int:
    """The number of elements, the largest where it is not known."""
    return prod(max_dim(dim) for dim in shape)
