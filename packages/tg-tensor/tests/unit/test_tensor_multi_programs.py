"""Programs over CPU:0 to CPU:3: each way to cut gives what one device gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit, checkpoint
from tg_uop import Context

FOUR = ("CPU:0", "CPU:1", "CPU:2", "CPU:3")
CUTS = [(FOUR[:2], None), (FOUR[:3], 0), (FOUR[:2], 1)]
A = np.random.default_rng(0).standard_normal((7, 9)).astype(np.float32)
B = np.random.default_rng(1).standard_normal((9, 9)).astype(np.float32)
SQUARE = B[:4, :4] + 5 * np.eye(4, dtype=np.float32)
IMAGES = np.random.default_rng(2).standard_normal((4, 4, 8, 8)).astype(np.float32)

Program = Callable[[Tensor], Tensor]

# what neither the fuzzer nor the tests of single operations put together
PROGRAMS: dict[str, Program] = {
    "attention": lambda x: x.scaled_dot_product_attention(x, x.exp(), is_causal=True),
    "layer norm": lambda x: x.layernorm() @ x.T,
    "row of columns": lambda x: x[2:6, 1:].T[::2, -1],
    "middle and end": lambda x: x[1:5].cat(x[-3:] * 2, x[:1]),
    "pad and roll": lambda x: x.pad(((1, 2), (3, 0)), value=2.0).roll(2, 0),
    "fold axes": lambda x: x.flatten().reshape(9, 7).cumsum(0),
    "repeat": lambda x: x.repeat(2, 1).softmax(0),
    "sort": lambda x: x.sort(0)[0] + x.topk(9, 1)[0],
    "argmax": lambda x: x.argmax(0) + x.argmax(),
    "triangle": lambda x: x.tril() - x.triu(1),
    "windows": lambda x: x.unfold(1, 3, 2).max(2),
    "statistics": lambda x: x.std(0) + x.var() + x.norm(),
    "pick": lambda x: x[[3, 0, 6]][:, [1, 2, 2]],
    "where": lambda x: (x > 0).where(x, x.mean(1, keepdim=True)),
    "bits": lambda x: x.bitcast("int32").bitwise_and(0xFFFF).sum(1),
    "einsum": lambda x: Tensor.einsum("ij,ik->jk", x, x * 2),
    "losses": lambda x: x.log_softmax(1).nll_loss(x.argmax(1)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_cut_gives_what_one_device_gives(name: str) -> None:
    program = PROGRAMS[name]
    wanted = program(Tensor(A)).numpy()
    for devices, axis in CUTS:
        found = program(Tensor(A).shard(devices, axis)).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=f"{devices} {axis}")


MATRICES: dict[str, Program] = {
    "inverse": lambda x: x.inverse(),
    "determinant": lambda x: x.det(),
    "cholesky": lambda x: (x @ x.T).cholesky(),
    "singular values": lambda x: x.svd()[1],
    "orthogonal": lambda x: x.qr()[1].abs(),
    "solve": lambda x: x.solve(x.T.contiguous()),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_that_are_cut(name: str) -> None:
    program = MATRICES[name]
    wanted = program(Tensor(SQUARE)).numpy()
    for devices, axis in ((FOUR[:2], 0), (FOUR[:3], 1), (FOUR, 0)):
        found = program(Tensor(SQUARE).shard(devices, axis)).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4, err_msg=f"{devices} {axis}")


@pytest.mark.parametrize("axis", [None, 0, 1, 2, 3])
def test_images_cut_along_every_axis(axis: int | None) -> None:
    weight = IMAGES[:, :, :3, :3]
    wanted = Tensor(IMAGES).conv2d(Tensor(weight), padding=1).max_pool2d().numpy()
    for other in (None, 0 if axis == 0 else 1):
        x = Tensor(IMAGES).shard(FOUR[:2], axis)
        found = x.conv2d(Tensor(weight).shard(FOUR[:2], other), padding=1).max_pool2d()
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("ring", "all_to_all"), [(0, 0), (2, 0), (0, 2), (1, 1)])
def test_every_kind_of_allreduce(ring: int, all_to_all: int) -> None:
    """Also where the devices do not divide what is reduced."""
    rows = np.random.default_rng(3).standard_normal((4, 1001)).astype(np.float32)
    with Context(RING=ring, ALL2ALL=all_to_all):
        for count in (2, 3, 4):
            x = Tensor(rows).shard(FOUR[:count], 0)
            np.testing.assert_allclose(x.sum(0).numpy(), rows.sum(0), rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(x.max(0).numpy(), rows.max(0))


def descend(devices: tuple[str, ...] | None, layout: str, captured: bool) -> list[float]:
    """The losses of a few steps with momentum."""
    first, second = (Tensor(w * 0.2) for w in (B, B[:, :4]))
    x, y = Tensor(A), Tensor([0, 1, 2, 3, 0, 1, 2])
    if devices is not None:
        axes = {"data": (None, None), "tensor": (1, 0), "rows": (0, 0)}[layout]
        first, second = (w.shard(devices, n) for w, n in zip((first, second), axes, strict=True))
        x, y = (t.shard(devices, 0 if layout == "data" else None) for t in (x, y))
    weights = [w.contiguous().realize().requires_grad_() for w in (first, second)]
    speeds = [w.detach().zeros_like().contiguous().realize() for w in weights]

    def step(x: Tensor, y: Tensor) -> Tensor:
        hidden = checkpoint(lambda v: (v @ weights[0]).relu(), x)
        loss = (hidden @ weights[1]).sparse_categorical_crossentropy(y)
        for w, speed, grad in zip(weights, speeds, loss.gradient(*weights), strict=True):
            speed.assign(0.9 * speed + grad)
            w.assign(w.detach() - 0.1 * speed)
        return loss.realize(*weights, *speeds)

    run = TinyJit(step) if captured else step
    x.realize(y)
    return [run(x, y).item() for _ in range(4)]


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("layout", ["data", "tensor", "rows"])
def test_training_gives_what_one_device_gives(layout: str, captured: bool) -> None:
    wanted = descend(None, layout, captured)
    assert wanted[-1] < wanted[0]
    devices = FOUR if captured else FOUR[:3]
    np.testing.assert_allclose(descend(devices, layout, captured), wanted, rtol=1e-4)
