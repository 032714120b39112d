"""How gradients flow through graphs: leaves, ties, branches, depth, computed losses."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import ElementCountError, GradientError
from tg_uop import Ops, UOp

Array = npt.NDArray[np.generic]
Witness = Callable[[Tensor], Array]


def leaf(values: list[float]) -> Tensor:
    return Tensor(values, requires_grad=True)


def test_equal_constants_are_different_leaves(witness: Witness) -> None:
    x, y = Tensor.ones(3, requires_grad=True), Tensor.ones(3, requires_grad=True)
    (x * y * 2).sum().backward()
    assert x.grad is not None
    assert witness(x.grad).tolist() == [2, 2, 2]
    a, b = Tensor(3.0), Tensor(3.0)
    assert witness((a * b).gradient(a)[0]) == 3
    c, d = Tensor.arange(3.0), Tensor.arange(3.0)
    assert witness((c * d).sum().gradient(c)[0]).tolist() == [0, 1, 2]


def test_gradients_add_up(witness: Witness) -> None:
    x = leaf([1.0, 2.0])
    (x * 2).sum().backward()
    (x * x).sum().backward()
    assert x.grad is not None
    assert witness(x.grad).tolist() == [4, 6]


def test_ties_share_evenly(witness: Witness) -> None:
    x = leaf([3.0, 3.0, 1.0])
    assert witness(x.max().gradient(x)[0]).tolist() == [0.5, 0.5, 0]
    assert witness(x.maximum(3).sum().gradient(x)[0]).tolist() == [0.5, 0.5, 0]
    zero = leaf([0.0, 2.0])
    assert witness(zero.relu().sum().gradient(zero)[0]).tolist() == [0, 1]
    assert witness(zero.abs().sum().gradient(zero)[0]).tolist() == [0, 1]
    assert witness(zero.clip(0, 1).sum().gradient(zero)[0]).tolist() == [1, 0]


def test_a_branch_not_taken_makes_no_nan(witness: Witness) -> None:
    x = leaf([-1.0, 0.0, 4.0])
    root = (x > 0).where(x.sqrt(), 0).sum().gradient(x)[0]
    assert witness(root).tolist() == [0, 0, 0.25]
    inverse = (x != 0).where(1 / x, 0).sum().gradient(x)[0]
    assert witness(inverse).tolist() == [-1, 0, -1 / 16]
    logarithm = (x > 0).where(x.log(), 0).sum().gradient(x)[0]
    assert witness(logarithm).tolist() == [0, 0, 0.25]
    steep = leaf([200.0])
    assert witness((steep < 0).where(steep.exp(), 1.0).sum().gradient(steep)[0]).tolist() == [0]
    assert np.isfinite(witness(leaf([-200.0, 200.0]).sigmoid().sum())).all()


def test_sigmoid_far_out_has_no_nan(witness: Witness) -> None:
    x = leaf([-200.0, 200.0])
    assert witness(x.sigmoid().sum().gradient(x)[0]).tolist() == [0, 0]


def test_products_with_zeros(witness: Witness) -> None:
    x = leaf([0.0, 2.0, 3.0])
    assert witness(x.prod().gradient(x)[0]).tolist() == [6, 0, 0]


def test_detach_stops(witness: Witness) -> None:
    x = leaf([2.0])
    assert witness((x * x.detach()).sum().gradient(x)[0]).tolist() == [2]
    with pytest.raises(GradientError, match="does not depend on target 0"):
        x.detach().sum().gradient(x)


def test_integers_stop() -> None:
    x = leaf([2.0])
    with pytest.raises(GradientError, match="does not depend"):
        x.cast(dtypes.int32).cast(dtypes.float32).sum().gradient(x)


def test_what_flows_in(witness: Witness) -> None:
    x = leaf([1.0, 2.0])
    flowing = (x * 3).gradient(x, gradient=Tensor([10.0, 1.0]))[0]
    assert witness(flowing).tolist() == [30, 3]
    with pytest.raises(ElementCountError, match="one element"):
        (x * 3).backward()
    with pytest.raises(GradientError, match="shape"):
        (x * 3).backward(Tensor([1.0]))
    with pytest.raises(GradientError, match="requires_grad"):
        Tensor([1.0]).sum().backward()


def test_a_scalar_next_to_a_tensor(witness: Witness) -> None:
    scale = Tensor(2.0, requires_grad=True)
    x = Tensor([1.0, 2.0, 3.0])
    assert witness((x * scale).sum().gradient(scale)[0]) == 6


def test_an_inner_value_as_target(witness: Witness) -> None:
    x = leaf([2.0])
    y = x * x
    z = (y * y).sum()
    to_y, to_x = z.gradient(y, x)
    assert witness(to_y).tolist() == [8]
    assert witness(to_x).tolist() == [32]


def test_half_gradients_stay_half() -> None:
    x = Tensor([1.0, 2.0]).half()
    assert (x * x).sum().gradient(x)[0].dtype is dtypes.half
    y = x.float().exp().half().sum().gradient(x)[0]
    assert y.dtype is dtypes.half


def test_a_long_chain() -> None:
    x = Tensor([1.0])
    y = x
    for _ in range(100_000):
        y = y * 1.0001
    flowing = y.sum().gradient(x)[0]
    assert flowing.shape == (1,)


def test_convolution_backward_is_convolution() -> None:
    """No intermediate as large as all windows: each gradient is one sum of products."""
    x, w = Tensor.empty(2, 4, 8, 8), Tensor.empty(6, 4, 3, 3)
    to_x, to_w = x.conv2d(w, padding=1).gradient(x, w, gradient=Tensor.empty(2, 6, 8, 8))
    for flowing in (to_x, to_w):
        sums = [n for n in flowing.uop.toposort() if n.op is Ops.REDUCE]
        assert len(sums) == 1


def test_an_op_without_a_rule_says_so() -> None:
    x = Tensor([1.0, 2.0])
    odd = Tensor.from_uop(UOp(Ops.MOD, dtypes.float32, (x.uop, (x * 2).uop)))
    with pytest.raises(GradientError, match="MOD"):
        odd.sum().gradient(x)


def test_a_computed_loss_can_be_differentiated() -> None:
    w = leaf([1.0, 2.0])
    loss = (w * w).sum()
    assert loss.item() == 5
    total = loss * 3
    total.backward()
    assert w.grad is not None
    assert w.grad.tolist() == [6, 12]


def test_a_graph_whose_weights_were_overwritten_is_gone() -> None:
    w = leaf([1.0, 2.0])
    loss = (w * w).sum()
    loss.realize()
    w.assign(w * 0).realize()
    with pytest.raises(GradientError):
        loss.backward()
    assert math.isclose(loss.item(), 5)
