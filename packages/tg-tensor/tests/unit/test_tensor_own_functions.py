"""Kernels and functions with gradients of their own, sharded values, draws in captured steps."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit, UOp, function
from tg_tensor.errors import GradientError
from tg_uop import KernelInfo


def multiply(out: UOp, a: UOp, b: UOp) -> UOp:
    size = out.shape[0]
    assert isinstance(size, int)
    i = UOp.range(size, 0)
    return out[i].store(a[i] * b[i]).end(i).sink(arg=KernelInfo(name="multiply"))


def multiply_gradient(grad: UOp, call: UOp) -> tuple[UOp | None, ...]:
    _, a, b = call.call_args
    return None, grad * b, grad * a


def test_a_kernel_with_a_gradient() -> None:
    a, b = Tensor([1.0, 2.0], requires_grad=True), Tensor([4.0, 5.0], requires_grad=True)
    out = Tensor.empty(2).custom_kernel(a, b, fxn=multiply, grad_fxn=multiply_gradient)[0]
    (out * 2).sum().backward()
    assert out.tolist() == [4, 10]
    assert a.grad is not None
    assert b.grad is not None
    assert a.grad.tolist() == [8, 10]
    assert b.grad.tolist() == [2, 4]


def test_a_kernel_without_a_gradient_says_so() -> None:
    a = Tensor([1.0, 2.0])
    out = Tensor.empty(2).custom_kernel(a, a, fxn=multiply)[0]
    with pytest.raises(GradientError, match="grad_fxn"):
        out.sum().gradient(a)


def test_a_function_of_two_results_with_a_gradient() -> None:
    seen: list[tuple[bool, bool]] = []

    def gradient(first: UOp | None, second: UOp | None, call: UOp) -> tuple[UOp | None, UOp | None]:
        seen.append((first is not None, second is not None))
        return first, second

    @function(grad_fxn=gradient)
    def both(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x * y, x + y

    a, b = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0], requires_grad=True)
    product, total = both(a, b)
    assert product.tolist() == [3, 8]
    assert total.tolist() == [4, 6]
    to_a, to_b = (product * 2 + total * 5).sum().gradient(a, b)
    assert to_a.tolist() == [2, 2]
    assert to_b.tolist() == [5, 5]
    product.sum().gradient(a)
    assert seen == [(True, True), (True, False)]


def test_an_expression_of_stand_ins() -> None:
    a, b = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    body = a.as_param(0) * b.as_param(1)
    assert a.call(b, fxn=body).tolist() == [3, 8]
    changed = a.call(b, fxn=body, grad_fxn=lambda grad, call: (grad * 7, None))
    assert changed.sum().gradient(a)[0].tolist() == [7, 7]


def test_gradients_of_replicas_and_shards() -> None:
    devices = ("CPU", "CPU:1")
    w = Tensor([1.0, 2.0, 3.0, 4.0]).shard(devices).requires_grad_()
    x = Tensor(np.arange(8, dtype=np.float32).reshape(2, 4)).shard(devices, 0)
    (x * w).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [4, 6, 8, 10]
    inner = Tensor([1.0, 2.0])
    flowing = (inner.shard(devices, 0) * 3).sum().gradient(inner)[0]
    assert flowing.tolist() == [3, 3]


def test_draws_go_on_in_captured_steps() -> None:
    @TinyJit
    def step(x: Tensor) -> Tensor:
        return (x + Tensor.rand(3)).realize()

    zeros = Tensor.zeros(3).contiguous().realize()
    Tensor.manual_seed(1)
    captured = [step(zeros).tolist() for _ in range(4)]
    Tensor.manual_seed(1)
    plain = [(zeros + Tensor.rand(3)).tolist() for _ in range(4)]
    assert captured == plain
    Tensor.manual_seed(1)
    assert step(zeros).tolist() == plain[0]
