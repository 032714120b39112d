"""The methods that nodes share with tensors: floors, choices, views, windows, shapes."""

from __future__ import annotations

import pytest
from tg_uop import Ops, UOp, dtypes
from tg_uop.errors import IndexRangeError, ShapeError
from tg_uop.methods.windows import Window, slide, unslide


def value(expression: UOp) -> int:
    return expression.evaluate()


def number(n: int) -> UOp:
    return UOp.const(dtypes.int32, n)


def box(*shape: int) -> UOp:
    size = 1
    for dim in shape:
        size *= dim
    return UOp.new_buffer("CPU", size, dtypes.float32).reshape(shape)


@pytest.mark.parametrize("left", [-7, -6, -1, 0, 5, 7])
@pytest.mark.parametrize("right", [-3, -1, 2, 3])
def test_operators_floor_and_named_division_truncates(left: int, right: int) -> None:
    assert value(number(left) // number(right)) == left // right
    assert value(number(left) % number(right)) == left % right
    assert value(number(left).idiv(number(right))) == int(left / right)


def test_what_is_never_negative_divides_in_one_node() -> None:
    index = UOp.range(10, 0)
    assert (index // 2).op is Ops.IDIV
    assert (index % 2).op is Ops.MOD
    assert ((index - 3) // 2).op is Ops.WHERE


def test_extremes_of_integers() -> None:
    lowest = UOp.const(dtypes.int8, -128)
    assert value(lowest.minimum(UOp.const(dtypes.int8, 5))) == -128
    assert value(number(3).maximum(number(-4))) == 3


def test_operands_of_different_shapes_broadcast() -> None:
    assert (box(2, 3, 4) + box(4)).shape == (2, 3, 4)
    assert (box(2, 1) * box(3)).shape == (2, 3)
    assert (box(2, 3) < 1).where(box(3), 0).shape == (2, 3)
    with pytest.raises(ShapeError, match="sizes 3 and 4"):
        box(3) + box(4)


def test_numbers_stay_without_a_shape() -> None:
    total = box(2, 3) + 1.5
    assert total.src[1].op is Ops.CONST
    assert total.src[1].shape == ()


def test_views() -> None:
    x = box(2, 3, 4)
    assert x[1].shape == (3, 4)
    assert x[:, ::2, None].shape == (2, 2, 1, 4)
    assert x[..., -1:].shape == (2, 3, 1)
    assert x.flatten(1).shape == (2, 12)
    assert x.repeat(2, 1, 1).shape == (4, 3, 4)
    assert x.diagonal(1, 1, 2).shape == (2, 3)
    with pytest.raises(IndexRangeError, match="axis 0 has 2 elements"):
        x[2]


def test_a_step_that_fits_the_axis_needs_no_padding() -> None:
    assert not box(6)[::2].op_in_backward_slice_with_self(Ops.PAD)
    assert box(5)[::2].op_in_backward_slice_with_self(Ops.PAD)


@pytest.mark.parametrize(
    "window", [Window(3), Window(2, 2), Window(3, 2, 2), Window(1, 3), Window(2, 3)]
)
def test_windows_and_back(window: Window) -> None:
    x = box(2, 9)
    steps = window.steps(9)
    slid = slide(x, [window])
    assert slid.shape == (2, steps, window.kernel)
    assert unslide(slid, [window], [9]).shape == (2, window.kernel, 9)
    assert not slid.op_in_backward_slice_with_self(Ops.REDUCE)


def test_a_window_must_fit() -> None:
    with pytest.raises(ShapeError, match="reaches over 5 elements"):
        slide(box(4), [Window(3, 1, 2)])


def test_reductions() -> None:
    x = box(2, 3)
    assert x.sum().shape == ()
    assert x.max(1, keepdim=True).shape == (2, 1)
    assert x.cast(dtypes.half).sum().dtype is dtypes.half
    assert x.cast(dtypes.int8).sum().dtype is dtypes.int32
    assert x.softmax().shape == (2, 3)
