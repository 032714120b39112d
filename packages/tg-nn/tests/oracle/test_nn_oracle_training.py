"""Trains a small batch-normalized network beside PyTorch: losses, weights and statistics agree."""

from __future__ import annotations

import numpy as np
import pytest
import tg_nn as nn
from tg_nn.optim import SGD, AdamW
from tg_tensor import Tensor, TinyJit

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch")


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("kind", ["sgd", "adamw"])
def test_training_follows_torch(kind: str, jit: bool) -> None:
    rng = np.random.default_rng(0)
    images = rng.standard_normal((32, 20)).astype(np.float32)
    labels = rng.integers(0, 5, 32).astype(np.int32)
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(
        torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 5)
    )
    first, norm, last = nn.Linear(20, 64), nn.BatchNorm(64), nn.Linear(64, 5)
    for mine, other in ((first, theirs[0]), (last, theirs[3])):
        mine.weight.assign(Tensor(other.weight.detach().numpy().copy()))
        mine.bias.assign(Tensor(other.bias.detach().numpy().copy()))
    weights = [first.weight, first.bias, norm.weight, norm.bias, last.weight, last.bias]
    if kind == "sgd":
        settings = {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True}
        optimizer, reference = SGD(weights, **settings), torch.optim.SGD
    else:
        settings = {"lr": 0.01, "weight_decay": 0.1}
        optimizer, reference = AdamW(weights, **settings), torch.optim.AdamW
    their_optimizer = reference(theirs.parameters(), **settings)

    def step(x: Tensor, y: Tensor) -> Tensor:
        with Tensor.train():
            optimizer.zero_grad()
            loss = last(norm(first(x).relu())).sparse_categorical_crossentropy(y).backward()
            optimizer.step()
            return loss.realize()

    run = TinyJit(step) if jit else step
    x, y = Tensor(images).realize(), Tensor(labels).realize()
    for _ in range(12):
        their_optimizer.zero_grad()
        target = torch.tensor(labels).long()
        loss = torch.nn.functional.cross_entropy(theirs(torch.tensor(images)), target)
        loss.backward()
        their_optimizer.step()
        np.testing.assert_allclose(run(x, y).item(), loss.item(), rtol=1e-4, atol=1e-4)
    wanted = theirs[0].weight.detach().numpy()
    np.testing.assert_allclose(first.weight.numpy(), wanted, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(norm.running_var.numpy(), theirs[2].running_var.numpy(), rtol=1e-4)
