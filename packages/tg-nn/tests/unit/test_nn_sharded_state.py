"""Training on uneven shards with clipped gradients goes on from a file as on one device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tg_nn as nn
from tg_nn.optim import AdamW
from tg_nn.state import get_parameters, get_state_dict, load_state_dict, safe_load, safe_save
from tg_tensor import Tensor, TinyJit

DEVICES = ("CPU:0", "CPU:1", "CPU:2")
STEPS = 3


class Net:
    """Two matrices, the inner axis of which may be cut."""

    def __init__(self) -> None:
        self.up, self.down = nn.Linear(4, 7), nn.Linear(7, 2)

    def __call__(self, x: Tensor) -> Tensor:
        return self.down(self.up(x).tanh())


def place(net: Net, layout: str) -> None:
    if layout == "tensor":
        for param, axis in ((net.up.weight, 0), (net.up.bias, 0), (net.down.weight, 1)):
            param.shard_(DEVICES, axis)
        net.down.bias.shard_(DEVICES)


def batch(turn: int, layout: str) -> Tensor:
    x = Tensor(np.random.default_rng(turn).standard_normal((8, 4)).astype(np.float32))
    return x if layout == "one" else x.shard(DEVICES)


def trained(net: Net, optimizer: AdamW, layout: str, first: int) -> None:
    def step(x: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = (net(x) - Tensor(0.5)).square().mean() * Tensor(10.0)
        loss.backward()
        squares = [param.grad.square().sum() for param in optimizer.params]
        norm = sum(squares[1:], squares[0]).sqrt()
        for param in optimizer.params:
            param.grad = param.grad * (0.5 / (norm + 1e-6)).minimum(1.0)
        optimizer.step()
        return loss.realize()

    captured = TinyJit(step)
    with Tensor.train():
        for turn in range(first, first + STEPS):
            captured(batch(turn, layout).realize())


def run(layout: str, folder: Path) -> dict[str, np.ndarray]:
    """Parameters after training, saving, loading into another network, and training on."""
    Tensor.manual_seed(5)
    for first in (0, STEPS):
        net = Net()
        place(net, layout)
        optimizer = AdamW(get_parameters(net), lr=0.05)
        if first:
            load_state_dict(net, safe_load(folder / "net.safetensors"), verbose=False)
            load_state_dict(optimizer, safe_load(folder / "adam.safetensors"), verbose=False)
        for param, moment in zip(optimizer.params, optimizer.m, strict=True):
            assert (moment.device, moment.uop.axis) == (param.device, param.uop.axis)
        trained(net, optimizer, layout, first)
        safe_save(get_state_dict(net), folder / "net.safetensors")
        safe_save(get_state_dict(optimizer), folder / "adam.safetensors")
    return {name: value.numpy() for name, value in get_state_dict(net).items()}


def test_training_on_shards_goes_on_as_on_one_device(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    wanted = run("one", tmp_path / "one")
    found = run("tensor", tmp_path)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-4, err_msg=name)
