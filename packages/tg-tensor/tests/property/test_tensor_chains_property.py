"""Random chains of operations: what the kernels compute is what NumPy computes node by node."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tg_tensor import Tensor

Array = npt.NDArray[np.generic]
Witness = Callable[[Tensor], Array]
Step = Callable[[Tensor], Tensor]

SMALL = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def movements(draw: st.DrawFn, x: Tensor) -> Tensor:
    """One view of `x`."""
    kind = draw(st.sampled_from(["permute", "flip", "pad", "shrink", "reshape", "expand", "step"]))
    axes = range(x.ndim)
    if kind == "permute":
        return x.permute(draw(st.permutations(list(axes))))
    if kind == "flip":
        return x.flip([a for a in axes if draw(st.booleans())])
    if kind == "pad":
        amounts = st.integers(0, 2)
        return x.pad([(draw(amounts), draw(amounts)) for _ in axes])
    if kind == "shrink":
        bounds = []
        for size in x.shape:
            start = draw(st.integers(0, size - 1))
            bounds.append((start, draw(st.integers(start + 1, size))))
        return x.shrink(bounds)
    if kind == "reshape":
        shapes = [x.shape, (x.numel(),), (*x.shape, 1)]
        if x.ndim > 1:
            shapes.append((x.shape[0] * x.shape[1], *x.shape[2:]))
        return x.reshape(draw(st.sampled_from(shapes)))
    if kind == "expand":
        return x.unsqueeze(0).expand(draw(st.integers(1, 3)), *x.shape)
    axis = draw(st.integers(0, x.ndim - 1))
    step = draw(st.sampled_from([-2, -1, 2, 3]))
    return x[tuple(slice(None, None, step) if a == axis else slice(None) for a in axes)]


@st.composite
def computations(draw: st.DrawFn, x: Tensor) -> Tensor:
    """One elementwise operation, reduction, window or lookup on `x`."""
    kind = draw(st.sampled_from(["unary", "scalar", "self", "reduce", "window", "lookup", "cut"]))
    if kind == "unary":
        return getattr(x, draw(st.sampled_from(["relu", "neg", "square", "abs", "sigmoid"])))()
    if kind == "scalar":
        number = draw(st.sampled_from([2, -1, 0.5]))
        return x + number if draw(st.booleans()) else x * number
    if kind == "self":
        return x + x.flip(list(range(x.ndim)))
    if kind == "cut":
        return x.contiguous()
    axis = draw(st.integers(0, x.ndim - 1))
    if kind == "reduce":
        keep = draw(st.booleans()) or x.ndim == 1
        return getattr(x, draw(st.sampled_from(["sum", "max", "mean"])))(axis, keepdim=keep)
    if kind == "window":
        if x.shape[axis] < 2:
            return x
        return x.unfold(axis, 2, draw(st.integers(1, 2))).sum(-1)
    positions = draw(st.lists(st.integers(0, x.shape[axis] - 1), min_size=1, max_size=3))
    return x[tuple(positions if a == axis else slice(None) for a in range(x.ndim))]


@st.composite
def chains(draw: st.DrawFn) -> Tensor:
    """A value that up to six steps make of a small array."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    values = np.random.default_rng(draw(st.integers(0, 9))).standard_normal(shape)
    x = Tensor(values.astype(np.float32))
    for _ in range(draw(st.integers(1, 6))):
        x = draw(computations(x)) if draw(st.booleans()) else draw(movements(x))
        if x.numel() > 600 or x.ndim > 5:
            break
    return x


def assert_agrees(x: Tensor, witness: Witness) -> None:
    wanted = witness(x)
    np.testing.assert_allclose(x.numpy(), wanted, rtol=2e-5, atol=2e-5)


@SMALL
@given(x=chains())
def test_kernels_agree_with_numpy(x: Tensor, witness: Witness) -> None:
    assert_agrees(x, witness)


@SMALL
@given(x=chains(), y=chains())
def test_two_values_at_once(x: Tensor, y: Tensor, witness: Witness) -> None:
    total = x.sum() + y.mean()
    wanted = [witness(x), witness(y), witness(total)]
    x.realize(y, total)
    for found, reference in zip((x, y, total), wanted, strict=True):
        np.testing.assert_allclose(found.numpy(), reference, rtol=5e-5, atol=5e-5)


@SMALL
@given(data=st.data())
def test_gradients_of_chains(data: st.DataObject, witness: Witness) -> None:
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    x = Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    y = x
    for _ in range(data.draw(st.integers(1, 4))):
        y = data.draw(computations(y)) if data.draw(st.booleans()) else data.draw(movements(y))
    if y.numel() > 600:
        return
    weights = Tensor(np.random.default_rng(1).standard_normal(y.shape).astype(np.float32))
    flowing = (y * weights).sum().gradient(x)[0]
    assert_agrees(flowing, witness)


@SMALL
@given(data=st.data())
def test_writes_into_parts(data: st.DataObject, witness: Witness) -> None:
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x = Tensor(array.copy())
    for turn in range(data.draw(st.integers(1, 4))):
        index = tuple(data.draw(st.slices(size)) for size in shape)
        value = np.float32(turn) if data.draw(st.booleans()) else array[index] * 2
        old = x * 1 if data.draw(st.booleans()) else None
        before = array.copy()
        array[index] = value
        x[index] = Tensor(value) if isinstance(value, np.ndarray) else float(value)
        if data.draw(st.booleans()):
            x.realize()
        if old is not None:
            np.testing.assert_array_equal(old.numpy(), before)
    np.testing.assert_array_equal(x.numpy(), array)
