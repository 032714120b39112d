"""Memory, modes and long chains, as people reported them: leaks, quadratic work, threads."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor, TinyJit, dtypes
from tg_tensor.autograd import history
from tg_tensor.errors import AssignError
from tg_tensor.ops import views
from tg_uop import KernelInfo, Ops, UOp


@pytest.mark.parametrize(
    ("target", "value"), [("int32", "float32"), ("float32", "int32"), ("half", "float32")]
)
@pytest.mark.parametrize("realized", [True, False])
def test_another_dtype_is_refused_by_assign(target: str, value: str, realized: bool) -> None:
    """x_int.assign(x_float) neither rounds nor reads bytes as another type: the error says so."""
    x = Tensor([1, 2, 3], dtype=target)
    x = x.realize() if realized else x * 1
    with pytest.raises(AssignError) as error:
        x.assign(Tensor([1.5, 2.5, 3.5]).cast(value))
    assert str(dtypes.from_name(target)) in str(error.value)
    assert str(dtypes.from_name(value)) in str(error.value)
    assert x.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "step",
    [
        lambda x: x.assign(x + 1),
        lambda x: x[1:3].assign(x[1:3] + 1),
        lambda x: x.__setitem__(slice(0, 2), x[2:] + 1),
        lambda x: x.flip(0).assign(x + 1),
    ],
)
def test_one_more_write_costs_the_same(
    step: Callable[[Tensor], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chain of writes that nothing computes: building it is not quadratic in its length."""
    walked = 0
    plain = views.below_effects

    def counted(node: UOp) -> UOp:
        nonlocal walked
        below = node
        while below.op is Ops.AFTER and below not in views._below:
            below = below.src[0]
            walked += 1
        return plain(node)

    monkeypatch.setattr(views, "below_effects", counted)
    x = Tensor.zeros(4).contiguous().realize()
    for _ in range(300):
        step(x)
    assert walked <= 4 * 300
    assert x.numpy().max() > 0


@pytest.mark.parametrize(
    "step",
    [
        lambda m, w: (m.detach() + w).realize(),
        lambda m, w: (m + w).realize().detach(),
        lambda m, w: (m.detach() * 0.9 + w * 0.1).contiguous().realize(),
        lambda m, w: (m.reshape(2, 2).detach() * w.reshape(2, 2)).reshape(4).realize(),
    ],
)
def test_a_running_value_keeps_no_history_behind_detach(
    step: Callable[[Tensor, Tensor], Tensor],
) -> None:
    """The graph that a gradient needs of the last step is kept, those of the steps before not."""
    w = Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True).realize()
    m = Tensor.ones(4).contiguous().realize()
    kept = []
    for i in range(12):
        m = step(m, w)
        if i % 4 == 3:
            gc.collect()
            kept.append((len(history._graphs), GlobalCounters.mem_used))
    assert kept[0] == kept[1] == kept[2]


def test_gradients_read_what_was_detached_and_let_go() -> None:
    """The detached factor is gone for everyone but the graph, and is overwritten or not."""
    w = Tensor([1.0, 2.0], requires_grad=True).realize()
    held = (w * 3).realize()
    gone = (held + 1).realize()
    y = (gone.detach() * w).realize()
    z = (held.detach() * w).realize()
    del gone
    gc.collect()
    gradient = z.sum().gradient(w)[0]
    held.assign(held * 0).realize()
    assert gradient.tolist() == [3.0, 6.0]
    assert y.sum().gradient(w)[0].tolist() == [4.0, 7.0]


def test_steps_with_detached_state_train_alike_captured_or_not() -> None:
    """A moving target that is detached, beside gradients, in and outside of a captured step."""

    def trained(wrap: Callable[[Callable[[], Tensor]], Callable[[], Tensor]]) -> list[float]:
        w = Tensor([1.0, 2.0], requires_grad=True).realize()
        mean = Tensor([0.5, 0.5]).realize()

        def step() -> Tensor:
            target = (mean.detach() * 0.5 + w * 0.5).realize()
            loss = ((target.detach() - w) ** 2 + target * w).sum()
            w.grad = None
            loss.backward()
            assert w.grad is not None
            mean.assign(target.detach())
            w.assign(w.detach() - w.grad * 0.1)
            Tensor.realize(loss, mean, w)
            return loss

        wrapped = wrap(step)
        return [float(wrapped().item()) for _ in range(6)]

    np.testing.assert_allclose(trained(TinyJit), trained(lambda f: f), rtol=1e-6)


def test_threads_train_and_serve_side_by_side() -> None:
    """`with Tensor.train()` is for its thread, in whatever order such blocks end."""
    before = Tensor.training
    seen: list[bool] = []
    inside, go_on = threading.Event(), threading.Event()

    def trains() -> None:
        with Tensor.train():
            inside.set()
            go_on.wait(10)
            seen.append(Tensor.training)

    thread = threading.Thread(target=trains)
    with Tensor.train(False):
        thread.start()
        inside.wait(10)
        assert not Tensor.training
    go_on.set()
    thread.join()
    assert seen == [True]
    assert Tensor.training == before


def test_what_is_assigned_to_training_is_for_all_threads() -> None:
    """Outside of `with`; inside it lasts as long as the block."""
    seen: list[bool] = []
    Tensor.training = True
    try:
        thread = threading.Thread(target=lambda: seen.append(Tensor.training))
        thread.start()
        thread.join()
        with Tensor.train(False):
            Tensor.training = True
            assert Tensor.training
        assert Tensor.training
    finally:
        Tensor.training = False
    assert seen == [True]
    assert "training" in dir(Tensor)


@pytest.mark.parametrize("name", ["softplus", "mish", "cos", "relu6", "logsigmoid", "hardtanh"])
def test_functions_of_values_inside_own_kernels(name: str) -> None:
    """What hides a part of a function from gradients is nothing to a kernel."""

    def kernel(out: UOp, a: UOp) -> UOp:
        i = UOp.range(4, 0)
        stored = out[i].store(getattr(a[i], name)())
        return stored.end(i).sink(arg=KernelInfo(name=name))

    x = Tensor([-0.5, 0.25, 1.5, 7.0])
    found = Tensor.custom_kernel(Tensor.empty(4), x, fxn=kernel)[0]
    np.testing.assert_allclose(found.numpy(), getattr(x, name)().numpy(), rtol=1e-6, atol=1e-7)
