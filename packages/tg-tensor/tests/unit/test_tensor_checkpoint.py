"""Checkpoints: parts of a graph that gradients compute again give the same, with less memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor, TinyJit, checkpoint, function
from tg_uop.context import Context

Part = Callable[..., Tensor]


def plain(part: Part) -> Part:
    """No checkpoint at all."""
    return part


def in_block(part: Part) -> Part:
    """The same part inside of a block."""

    def inside(*args: Tensor) -> Tensor:
        with checkpoint():
            return part(*args)

    return inside


def called(part: Part) -> Part:
    """The way of `torch.utils.checkpoint`."""
    return lambda *args: checkpoint(part, *args, use_reentrant=False)


WAYS = [checkpoint, in_block, called, Tensor.checkpoint]


@pytest.fixture(autouse=True)
def verified() -> Iterator[None]:
    """Every graph is held against its form."""
    with Context(SPEC=1):
        yield


def weights(count: int, width: int, seed: int = 0) -> list[Tensor]:
    random = np.random.default_rng(seed)
    return [
        Tensor((random.standard_normal((width, width)) * 0.3).astype(np.float32)).requires_grad_()
        for _ in range(count)
    ]


def layer(x: Tensor, first: Tensor, second: Tensor) -> Tensor:
    return ((x @ first).relu() @ second).sin() + x


def network(way: Callable[[Part], Part], ws: list[Tensor], x: Tensor) -> Tensor:
    part = way(layer)
    for first, second in zip(ws[::2], ws[1::2], strict=True):
        x = part(x, first, second)
    return (x * x).mean()


@pytest.mark.parametrize("way", WAYS)
def test_values_and_gradients_are_the_same(way: Callable[[Part], Part]) -> None:
    x = Tensor(np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)).requires_grad_()
    ws = weights(6, 8)
    expected = network(plain, ws, x)
    wanted = [g.numpy() for g in expected.gradient(x, *ws)]
    loss = network(way, ws, x)
    found = [g.numpy() for g in loss.gradient(x, *ws)]
    np.testing.assert_allclose(loss.item(), expected.item(), rtol=1e-5)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_backward_adds_to_grad() -> None:
    ws, x = weights(4, 8), Tensor.ones(4, 8)
    network(plain, ws, x).backward()
    wanted = [w.grad.numpy() for w in ws]
    for w in ws:
        w.grad = None
    network(checkpoint, ws, x).backward()
    network(checkpoint, ws, x).backward()
    for w, grad in zip(ws, wanted, strict=True):
        np.testing.assert_allclose(w.grad.numpy(), 2 * grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("order", [2, 3])
def test_gradients_of_gradients_are_the_same(order: int) -> None:
    def cube(x: Tensor) -> Tensor:
        return (x.sin() * x * x).exp()

    found = []
    for way in (plain, checkpoint):
        x = Tensor([0.5, -0.3, 1.2])
        y = way(cube)(way(cube)(x)).sum()
        for _ in range(order):
            (y,) = (g.sum() for g in y.gradient(x))
        found.append(y.item())
    assert found[1] == pytest.approx(found[0], rel=1e-4)


def test_each_part_is_computed_once_more() -> None:
    """Kernels grow by those of the parts, however many parts there are in a row."""
    counts = {}
    for depth in (4, 8, 16):
        x, ws = Tensor.ones(16, 16).contiguous().realize(), weights(2 * depth, 16)
        for way in (plain, checkpoint):
            loss = network(way, ws, x)
            grads = loss.gradient(*ws)
            GlobalCounters.reset()
            loss.realize(*grads)
            counts[way, depth] = GlobalCounters.kernel_count
    for depth in (4, 8, 16):
        extra = counts[checkpoint, depth] - counts[plain, depth]
        assert 0 < extra <= 2 * depth


def test_parts_inside_of_parts_are_computed_once_more() -> None:
    def nested(x: Tensor, ws: list[Tensor], depth: int) -> Tensor:
        if depth == 0:
            return (x @ ws[0]).relu() @ ws[1]
        return checkpoint(nested, checkpoint(nested, x, ws, depth - 1), ws, depth - 1)

    ws, x = weights(2, 8), Tensor.ones(4, 8).contiguous().realize()
    work = {}
    for depth in (1, 2, 3, 4):
        loss = (nested(x, ws, depth) ** 2).mean()
        grads = loss.gradient(*ws)
        GlobalCounters.reset()
        loss.realize(*grads)
        work[depth] = GlobalCounters.kernel_count
    # a level more is twice the layers
    assert work[4] < 2.5 * work[3] < 6.25 * work[2]


def training_step(part: Part, ws: list[Tensor]) -> TinyJit:
    @TinyJit
    def step(x: Tensor) -> Tensor:
        for w in ws:
            w.grad = None
        for first, second in zip(ws[::2], ws[1::2], strict=True):
            x = part(x, first, second)
        loss = (x * x).mean()
        loss.backward()
        return loss.realize(*(w.grad for w in ws))

    return step


def test_less_memory_is_needed_for_a_deep_network() -> None:
    x = Tensor.ones(256, 32).contiguous().realize()
    peaks = []
    for way in (plain, checkpoint):
        step = training_step(way(layer), weights(24, 32))
        for _ in range(2):
            step(x)
        assert step.captured is not None
        peaks.append(step.captured.memory.peak)
    assert peaks[1] < 0.6 * peaks[0]


def attention_block(x: Tensor, ws: list[Tensor]) -> Tensor:
    q, k, v = ((x @ w).reshape(2, 32, 4, 8).transpose(1, 2) for w in ws[:3])
    mixed = q.scaled_dot_product_attention(k, v, is_causal=True).transpose(1, 2)
    x = x + mixed.reshape(2, 32, 32) @ ws[3]
    return x + (x.layernorm() @ ws[4]).gelu() @ ws[5]


def test_less_memory_is_needed_for_a_transformer() -> None:
    x = Tensor(np.random.default_rng(1).standard_normal((2, 32, 32)).astype(np.float32))
    results, peaks = [], []
    for way in (plain, checkpoint):
        block, ws = way(attention_block), [w.detach() * 0.3 for w in weights(36, 32)]
        ws[0].realize(*ws[1:])

        @TinyJit
        def step(x: Tensor, block: Part = block, ws: list[Tensor] = ws) -> list[Tensor]:
            for number in range(0, len(ws), 6):
                x = block(x, ws[number : number + 6])
            grads = (x * x).mean().gradient(*ws)
            grads[0].realize(*grads[1:])
            return grads

        for _ in range(2):
            results.append([g.numpy() for g in step(x)])
        assert step.captured is not None
        peaks.append(step.captured.memory.scratch)
    for one, other in zip(results[0], results[-1], strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=1e-4)
    assert peaks[1] < 0.5 * peaks[0]


def dropping(x: Tensor, w: Tensor) -> Tensor:
    return (x @ w).dropout(0.5)


@pytest.mark.parametrize("way", WAYS)
def test_dropout_drops_the_same_again(way: Callable[[Part], Part]) -> None:
    found = []
    with Tensor.train():
        for each in (plain, way):
            Tensor.manual_seed(3)
            x, (w,) = Tensor.ones(8, 8).contiguous().requires_grad_(), weights(1, 8)
            part = each(dropping)
            y = part(part(part(x, w), w), w)
            loss = (y * y).sum()
            found.append([loss.item(), *(g.numpy() for g in loss.gradient(x, w))])
            found[-1].append(Tensor.rand(3).numpy())
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_captured_steps_drop_other_elements_each_time() -> None:
    x, (w,) = Tensor.ones(8, 8).contiguous().realize(), weights(1, 8)

    def step(x: Tensor, part: Part) -> Tensor:
        with Tensor.train():
            y = part(part(x, w), w)
            (grad,) = (y * y).sum().gradient(w)
            return grad.realize()

    outcomes = []
    for captured, part in ((False, dropping), (True, checkpoint(dropping))):
        Tensor.manual_seed(5)
        run = TinyJit(step) if captured else step
        outcomes.append([run(x, part).numpy() for _ in range(5)])
    for one, other in zip(*outcomes, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    assert not np.array_equal(outcomes[1][3], outcomes[1][4])


def test_all_that_is_left_of_a_block_is_its_result() -> None:
    (w, v), x = weights(2, 4), Tensor.ones(2, 4).requires_grad_()
    with checkpoint():
        hidden = (x @ w).tanh()
        outcome = hidden @ v
        position = outcome.argmax(axis=1)
    loss = (hidden * outcome).sum() + (position * 0.5).sum()
    grads = loss.gradient(x, w, v)
    again = (x @ w).tanh()
    wanted = (again * (again @ v)).sum().gradient(x, w, v)
    for one, other in zip(grads, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)
    assert position.dtype.is_int


def test_what_stands_beside_a_part_shares_its_input() -> None:
    x, (w,) = Tensor.ones(2, 4).requires_grad_(), weights(1, 4)
    hidden = (x @ w).relu()
    loss = (checkpoint(Tensor.tanh, hidden) * hidden).sum()
    found = loss.gradient(hidden, x)
    wanted = (hidden.tanh() * hidden).sum().gradient(hidden, x)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


def test_results_in_containers_and_keyword_arguments() -> None:
    def two(x: Tensor, *, scale: float) -> dict[str, Tensor]:
        return {"up": x.exp() * scale, "down": (x * -scale).exp()}

    x = Tensor([0.1, 0.2])
    found = checkpoint(two, x, scale=3.0)
    (grad,) = (found["up"] * found["down"]).sum().gradient(x)
    plain_result = two(x, scale=3.0)
    (wanted,) = (plain_result["up"] * plain_result["down"]).sum().gradient(x)
    np.testing.assert_allclose(grad.numpy(), wanted.numpy(), rtol=1e-5)


def test_writes_inside_happen_once() -> None:
    seen = Tensor.zeros(1).contiguous().realize()

    def counting(x: Tensor) -> Tensor:
        seen.assign(seen + 1)
        y = x.exp()
        y[0] = 7.0
        return y * x

    x = Tensor([1.0, 2.0])
    (grad,) = checkpoint(counting, x).sum().gradient(x)
    np.testing.assert_allclose(grad.numpy(), [7, np.exp(2) * 3], rtol=1e-5)
    assert seen.item() == 1


def test_what_is_read_inside_may_be_overwritten_before_the_gradient() -> None:
    found = []
    for way in (plain, checkpoint):
        state = Tensor([[1.0, 2.0], [3.0, 4.0]]).contiguous().realize()
        x = Tensor([[0.5, -1.0], [2.0, 1.5]]).requires_grad_()
        part = way(lambda v, state=state: (v * state.T).sin() * v)
        y = part(x)
        state.assign(state + y.detach())
        y = part(y)
        state.assign(state * 2)
        (grad,) = part(y).sum().gradient(x)
        grad.realize(state)
        found.append((grad.numpy(), state.numpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_weights_may_be_updated_in_the_same_step() -> None:
    found = []
    for way in (plain, checkpoint):
        ws, x = weights(4, 8), Tensor.ones(4, 8).contiguous().realize()

        @TinyJit
        def step(x: Tensor, way: Callable[[Part], Part] = way, ws: list[Tensor] = ws) -> Tensor:
            loss = network(way, ws, x)
            grads = loss.gradient(*ws)
            for w, grad in zip(ws, grads, strict=True):
                w.assign(w - 0.1 * grad)
            return loss.realize(*ws)

        found.append([step(x).item() for _ in range(5)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


def test_gradients_of_steps_and_branches_not_taken() -> None:
    x = Tensor([-1.0, 0.0, 4.0])
    y = (x > 0).where(checkpoint(lambda v: v.sqrt() * v.log(), x), 0)
    (grad,) = y.sum().gradient(x)
    np.testing.assert_allclose(grad.numpy(), [0, 0, np.log(4) / 4 + 0.5], rtol=1e-5)
    (flat,) = checkpoint(Tensor.floor, x).sum().gradient(x)
    assert flat.tolist() == [0, 0, 0]


def test_over_devices() -> None:
    devices = ("CPU:0", "CPU:1")
    ws = weights(4, 8)
    x = Tensor(np.linspace(0, 1, 32, dtype=np.float32).reshape(4, 8))
    wanted = [g.numpy() for g in network(plain, ws, x).gradient(*ws)]
    spread = [w.detach().shard(devices).requires_grad_() for w in ws]
    loss = network(checkpoint, spread, x.shard(devices, axis=0))
    for one, other in zip(loss.gradient(*spread), wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-4, atol=1e-6)


def test_with_functions_of_ones_own() -> None:
    inner = function(lambda x: x.exp() * 2)
    x = Tensor([0.5, 1.0])
    (grad,) = checkpoint(lambda v: inner(v) * v, x).sum().gradient(x)
    outer = function(checkpoint(lambda v: v.exp() * 2))
    (other,) = (outer(x) * x).sum().gradient(x)
    wanted = 2 * np.exp([0.5, 1.0]) * [1.5, 2.0]
    np.testing.assert_allclose(grad.numpy(), wanted, rtol=1e-5)
    np.testing.assert_allclose(other.numpy(), wanted, rtol=1e-5)


def failing(x: Tensor) -> Tensor:
    raise ZeroDivisionError(x)


def test_an_error_inside_leaves_nothing_behind() -> None:
    x = Tensor([1.0, 2.0])
    with pytest.raises(ZeroDivisionError), checkpoint():
        y = failing(x)
    y = x.exp()
    (grad,) = (checkpoint(Tensor.exp, x) * y).sum().gradient(x)
    np.testing.assert_allclose(grad.numpy(), 2 * np.exp([2.0, 4.0]), rtol=1e-5)


def test_no_gradient_costs_nothing() -> None:
    x, ws = Tensor.ones(4, 8).contiguous().realize(), weights(4, 8)
    counts = []
    for way in (plain, checkpoint):
        loss = network(way, ws, x)
        GlobalCounters.reset()
        loss.realize()
        counts.append(GlobalCounters.kernel_count)
    assert counts[0] == counts[1]
