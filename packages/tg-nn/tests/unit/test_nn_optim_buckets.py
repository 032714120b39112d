"""A step of an optimizer is one kernel for many parameters, with the values of one each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from tg_nn.optim import LAMB, SGD, Adam, AdamW, Optimizer
from tg_tensor import GlobalCounters, Tensor, TinyJit
from tg_uop.context import Context

Array = npt.NDArray[np.float32]
SHAPES = ((33, 17), (33,), (1, 33), (1,), (3, 2, 5), (64, 64), (4096,))
STEPS = 3

BUILDERS: dict[str, Callable[[Sequence[Tensor]], Optimizer]] = {
    "sgd": lambda p: SGD(p, lr=0.1),
    "momentum": lambda p: SGD(p, lr=0.1, momentum=0.9),
    "nesterov": lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: Adam(p, lr=0.1),
    "adamw": lambda p: AdamW(p, lr=0.1),
}
SCALARS = {"adam": 1, "adamw": 1}
"""Kernels for the two numbers that count Adam's steps: they are read by all others."""


def values(seed: int, shapes: Sequence[tuple[int, ...]] = SHAPES) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def parameters(arrays: Sequence[Array], device: str | None = None) -> list[Tensor]:
    return [Tensor(a.copy(), device=device, requires_grad=True).realize() for a in arrays]


def give_gradients(params: Sequence[Tensor], step: int) -> None:
    for param, grad in zip(params, values(step, [p.shape for p in params]), strict=True):
        param.grad = Tensor(grad, device=param.device).realize()


def trained(
    build: Callable[[Sequence[Tensor]], Optimizer], params: Sequence[Tensor]
) -> tuple[list[Array], int]:
    """The parameters after some steps, and the kernels of the last one."""
    optimizer = build(params)
    kernels = 0
    for step in range(1, STEPS + 1):
        give_gradients(params, step)
        GlobalCounters.reset()
        with Tensor.train():
            optimizer.step()
        kernels = GlobalCounters.kernel_count
    return [param.numpy() for param in params], kernels


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("threads", [1, 2])
def test_one_kernel_updates_all_parameters(name: str, threads: int) -> None:
    arrays = values(0)
    with Context(CPU_COUNT=threads):
        found, kernels = trained(BUILDERS[name], parameters(arrays))
    assert kernels == 1 + SCALARS.get(name, 0)
    for array, result in zip(arrays, found, strict=True):
        # one parameter alone: a kernel of one loop nest
        position = next(i for i, a in enumerate(arrays) if a is array)
        alone = parameters([array])
        optimizer = BUILDERS[name](alone)
        for step in range(1, STEPS + 1):
            alone[0].grad = Tensor(values(step)[position]).realize()
            with Tensor.train():
                optimizer.step()
        np.testing.assert_array_equal(alone[0].numpy(), result)


def test_the_interpreter_agrees() -> None:
    arrays = values(0, SHAPES[:5])
    found, _ = trained(BUILDERS["adamw"], parameters(arrays))
    expected, kernels = trained(BUILDERS["adamw"], parameters(arrays, "PYTHON"))
    assert kernels == 2
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


def test_parameters_of_several_dtypes_and_devices() -> None:
    arrays = values(0)
    params = parameters(arrays[:2]) + parameters(arrays[2:4], "CPU:1")
    params += [Tensor(arrays[4].astype(np.float64), requires_grad=True).realize()]
    optimizer = SGD(params[:2] + params[4:], lr=0.5)
    for param in params:
        param.grad = (param.detach() * 0 + 2).realize()
    GlobalCounters.reset()
    with Tensor.train():
        optimizer.step()
    assert GlobalCounters.kernel_count == 1
    for param, array in zip(params[:2], arrays[:2], strict=True):
        np.testing.assert_allclose(param.numpy(), array - 1, rtol=1e-6)
    np.testing.assert_allclose(params[4].numpy(), arrays[4] - 1, rtol=1e-6)


def test_norms_of_layers_come_before_the_one_update() -> None:
    _, kernels = trained(lambda p: LAMB(p, lr=0.1, weight_decay=0.1), parameters(values(0)))
    # the moments and norms of each parameter, one scalar kernel, one update
    assert kernels <= 2 * len(SHAPES) + 5


def test_many_parameters_are_a_few_kernels() -> None:
    shapes = [(5, 3)] * 70
    params = parameters(values(0, shapes))
    optimizer = SGD(params, lr=0.1, momentum=0.9)
    for step in (1, 2):
        give_gradients(params, step)
        GlobalCounters.reset()
        with Tensor.train():
            optimizer.step()
    assert GlobalCounters.kernel_count == 3


def test_a_captured_step_replays_the_bucket() -> None:
    plain, jitted = parameters(values(0)), parameters(values(0))
    first, second = BUILDERS["adam"](plain), BUILDERS["adam"](jitted)

    def update(optimizer: Optimizer, scale: Tensor) -> None:
        for number, param in enumerate(optimizer.params):
            param.grad = param.detach() * scale + number
        with Tensor.train():
            Tensor.realize(*optimizer.schedule_step())

    captured = TinyJit(lambda scale: update(second, scale))
    for step in range(5):
        scale = Tensor([float(step)]).realize()
        update(first, scale)
        captured(scale)
    for left, right in zip(plain, jitted, strict=True):
        np.testing.assert_allclose(left.numpy(), right.numpy(), rtol=1e-6)


def test_an_old_value_survives_the_update() -> None:
    arrays = values(0)
    params = parameters(arrays)
    before = [param.detach() * 1 for param in params]
    trained(BUILDERS["sgd"], params)
    for old, array in zip(before, arrays, strict=True):
        np.testing.assert_array_equal(old.numpy(), array)


def test_parameters_that_read_each_other_wait() -> None:
    a, b, c = (Tensor([1.0, 2.0, 3.0]).realize() for _ in range(3))
    a.assign(a + 1)
    b.assign(b + a)
    c.assign(c + b)
    Tensor.realize(a, b, c)
    np.testing.assert_array_equal(a.numpy(), [2, 3, 4])
    np.testing.assert_array_equal(b.numpy(), [3, 5, 7])
    np.testing.assert_array_equal(c.numpy(), [4, 7, 10])
