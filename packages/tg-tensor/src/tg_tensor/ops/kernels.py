"""The way of a Tensor into the kernels of matrix algorithms, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, TypeVar

from tg_uop import UOp, dtypes
from tg_uop.dtype.promote import sum_acc_dtype
from tg_uop.errors import ShapeError

from tg_tensor.algorithms.calls import Gradient, run_kernel, with_gradient
from tg_tensor.ops.attention import AttentionOps

K = TypeVar("K", bound="KernelOps")
Body = Callable[..., Sequence[Any]]
Rule = Callable[..., Sequence[Any]]
"""How a function is computed, and its gradient, in terms of Tensors of the class in use."""


class KernelOps(AttentionOps):
    """What the families of matrix functions stand on."""

    __slots__ = ()

    def _check_matrix(self, op: str) -> None:
        if self.ndim < 2:
            raise ShapeError(op=op, shapes=(self.shape,), reason="a matrix has two axes or more")

    def _check_square(self, op: str) -> None:
        self._check_matrix(op)
        if self.shape[-1] != self.shape[-2]:
            raise ShapeError(
                op=op, shapes=(self.shape,), reason="the last two axes must be equally long"
            )

    def _as_solvable(self) -> Self:
        """In a dtype that loses few digits in long computations: float32 or float64."""
        given = self._as_float()
        return given.cast(sum_acc_dtype(given.dtype))

    def _in_own_dtype(self, *results: Self) -> tuple[Self, ...]:
        wanted = self._as_float().dtype
        return tuple(r.cast(wanted) if r.dtype.is_float else r for r in results)

    def _differentiable(
        self,
        name: str,
        body: Body,
        rule: Rule,
        *others: Self,
    ) -> tuple[Self, ...]:
        """The results of `body` on this Tensor and others, with `rule` as gradient."""
        operands = [self.uop, *(other.uop for other in others)]
        results = [result.uop for result in body(self, *others)]
        found = with_gradient(name, results, _bound_rule(type(self), rule), operands)
        return tuple(self._of(node) for node in found)

    def _run(
        self,
        fxn: Callable[..., UOp],
        shapes: Sequence[tuple[int, ...]],
        *others: Self,
        integers: Sequence[int] = (),
    ) -> tuple[Self, ...]:
        """One run of a kernel on matrices; `shapes` are those of its results for one matrix.

        Results in the places `integers` are int32, others have this dtype.
        """
        if not all(isinstance(size, int) for size in self.shape):
            raise ShapeError(
                op=fxn.__name__ if hasattr(fxn, "__name__") else type(fxn).__name__,
                shapes=(self.shape,),
                reason="matrix algorithms need sizes that do not depend on variables",
                hint="pad the matrices to the largest size, with ones on the diagonal",
            )
        batch = self.shape[:-2]
        count = math.prod(batch)
        flat = [m.reshape((count, *m.shape[len(batch) :])).uop for m in (self, *others)]
        rooms = [
            ((count, *shape), dtypes.int32 if place in integers else self.dtype)
            for place, shape in enumerate(shapes)
        ]
        found = run_kernel(fxn, rooms, *flat)
        pairs = zip(found, shapes, strict=True)
        return tuple(self._of(node).reshape((*batch, *shape)) for node, shape in pairs)

    def _nothing(self, *shape: int) -> Self:
        """Zeros of this dtype and device, for matrices without elements."""
        return self._of(self.ufix(0).uop.cast(self.dtype))._expand_to(shape)

    def _identity(self, size: int) -> Self:
        line = self._iota(size, self.device, dtypes.int32)
        return line.unsqueeze(-1).eq(line).cast(self.dtype)

    def _flipped(self) -> Self:
        return self.transpose(-2, -1)


_rules: dict[tuple[type, Rule], Gradient] = {}


def _bound_rule(kind: type[K], rule: Rule) -> Gradient:
    """The rule in terms of nodes; one object a rule, so that equal graphs stay equal."""
    found = _rules.get((kind, rule))
    if found is not None:
        return found

    def gradient(*arguments: UOp | None) -> list[UOp | None]:
        *grads, node = arguments
        assert node is not None, "the node comes last"
        flowing = [None if grad is None else kind._of(grad) for grad in grads]
        call = Applied(
            [kind._of(argument) for argument in node.call_args],
            [kind._of(node.gettuple(place)) for place in range(len(node.called.src))],
        )
        return [None if part is None else part.uop for part in rule(call, *flowing)]

    _rules[kind, rule] = gradient
    return gradient


class Applied(NamedTuple):
    """What a rule sees of a call: its arguments and results."""

    arguments: list[Any]
    results: list[Any]


def ratio_where(condition: K, above: K, below: K) -> K:
    """above / below where the condition holds, else 0, and no NaN in gradients of it."""
    return condition.where(above / condition.where(below, 1), 0)


def ones_on_diagonal(matrix: K) -> K:
    rows, columns = matrix.shape[-2:]
    line = matrix._iota(rows, matrix.device, dtypes.int32).unsqueeze(-1)
    other = matrix._iota(columns, matrix.device, dtypes.int32)
    return line.eq(other).cast(matrix.dtype)
