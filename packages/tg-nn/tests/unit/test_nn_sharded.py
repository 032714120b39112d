"""Training over several devices gives what training on one gives: data, tensors, both cut."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_nn import BatchNorm, Embedding, LayerNorm, Linear, RMSNorm
from tg_nn.optim import LAMB, LARS, SGD, Adam, AdamW, Muon
from tg_nn.state import get_parameters, get_state_dict, load_state_dict
from tg_tensor import Tensor, TinyJit

Array = npt.NDArray[np.generic]
Place = Callable[[str, Tensor], object]
rng = np.random.default_rng(0)


def devices(count: int) -> tuple[str, ...]:
    """Names of CPU devices."""
    return tuple(f"CPU:{i}" for i in range(count))


class Perceptron:
    """Two layers with norms between."""

    inputs = rng.standard_normal((3, 12, 8)).astype(np.float32)
    labels = rng.integers(0, 4, (3, 12)).astype(np.int32)
    columns = ("l1.weight", "l1.bias", "bn.weight", "bn.bias")
    rows = ("l2.weight",)

    def __init__(self) -> None:
        self.l1 = Linear(8, 12)
        self.bn = BatchNorm(12)
        self.ln = LayerNorm(12)
        self.l2 = Linear(12, 4)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Of a batch."""
        hidden = self.ln(self.bn(self.l1(x).relu()))
        return self.l2(hidden).cross_entropy(y)


class Transformer:
    """One block over tokens."""

    inputs = rng.integers(0, 10, (3, 4, 6)).astype(np.int32)
    labels = np.roll(inputs, -1, 2)
    columns = ("q.weight", "k.weight", "v.weight", "head.weight")
    rows = ("o.weight", "emb.weight")

    def __init__(self) -> None:
        self.emb = Embedding(10, 8)
        self.norm = RMSNorm(8)
        self.q, self.k, self.v = (Linear(8, 8, bias=False) for _ in range(3))
        self.o = Linear(8, 8)
        self.head = Linear(8, 10)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Of a batch of sentences."""
        hidden = self.emb(x)
        normed = self.norm(hidden)
        q, k, v = (
            layer(normed).reshape(*x.shape, 4, 2).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        seen = q.scaled_dot_product_attention(k, v, is_causal=True).transpose(1, 2)
        hidden = hidden + self.o(seen.reshape(*x.shape, 8))
        return self.head(hidden).reshape(-1, 10).cross_entropy(y.reshape(-1))


Model = Perceptron | Transformer


def whole(count: int) -> Place:
    """Every parameter on each device."""
    return lambda name, param: param.shard_(devices(count))


def cut(kind: type[Model], count: int) -> Place:
    """Layers cut by columns and rows in turn."""

    def place(name: str, param: Tensor) -> object:
        axis = 0 if name in kind.columns else 1 if name in kind.rows else None
        return param.shard_(devices(count), axis)

    return place


def first_axis(count: int) -> Place:
    """Every parameter cut along its first axis."""

    def place(name: str, param: Tensor) -> object:
        fits = param.ndim > 0 and param.shape[0] >= count
        return param.shard_(devices(count), 0 if fits else None)

    return place


def train(
    kind: type[Model],
    make: Callable[[list[Tensor]], SGD | LAMB],
    place: Place | None,
    count: int,
    data_axis: int | None,
    *,
    jit: bool,
) -> tuple[list[float], dict[str, Array]]:
    """The losses of some steps, and the parameters afterwards."""
    Tensor.manual_seed(1)
    model = kind()
    for name, param in get_state_dict(model).items():
        if place is not None:
            place(name, param)
    optimizer = make(get_parameters(model))

    def step(x: Tensor, y: Tensor) -> Tensor:
        with Tensor.train():
            optimizer.zero_grad()
            loss = model.loss(x, y).backward()
            optimizer.step()
            return loss.realize()

    run = TinyJit(step) if jit else step
    losses = []
    for x, y in zip(kind.inputs, kind.labels, strict=True):
        batch = [Tensor(x), Tensor(y)]
        if place is not None:
            batch = [part.shard(devices(count), data_axis) for part in batch]
        losses.append(float(run(*(part.realize() for part in batch)).item()))
    return losses, {name: param.numpy() for name, param in get_state_dict(model).items()}


WAYS: dict[str, tuple[Callable[[type[Model]], Place], int, int | None]] = {
    "data on 4": (lambda kind: whole(4), 4, 0),
    "data on 3": (lambda kind: whole(3), 3, 0),
    "tensors on 2": (lambda kind: cut(kind, 2), 2, None),
    "both on 2": (lambda kind: first_axis(2), 2, 0),
}
OPTIMIZERS: dict[str, Callable[[list[Tensor]], SGD | LAMB]] = {
    "sgd": lambda p: SGD(p, 0.1, momentum=0.9),
    "adam": lambda p: Adam(p, 0.01),
    "adamw": lambda p: AdamW(p, 0.01),
    "lamb": lambda p: LAMB(p, 0.01),
    "lars": lambda p: LARS(p, 0.1),
    "muon": lambda p: Muon(p, 0.02),
}
CASES = [
    (Perceptron, "adam", "data on 3", True),
    (Perceptron, "adam", "tensors on 2", False),
    (Perceptron, "sgd", "both on 2", True),
    (Transformer, "adam", "data on 4", True),
    (Transformer, "adam", "tensors on 2", False),
]


@functools.cache
def on_one_device(kind: type[Model], name: str) -> tuple[list[float], dict[str, Array]]:
    """What training without shards gives."""
    return train(kind, OPTIMIZERS[name], None, 1, None, jit=False)


@pytest.mark.parametrize(("kind", "name", "way", "jit"), CASES)
def test_training_gives_what_one_device_gives(
    kind: type[Model], name: str, way: str, jit: bool
) -> None:
    place, count, data_axis = WAYS[way]
    losses, params = on_one_device(kind, name)
    found = train(kind, OPTIMIZERS[name], place(kind), count, data_axis, jit=jit)
    np.testing.assert_allclose(found[0], losses, rtol=1e-3, atol=1e-4)
    for key, value in params.items():
        np.testing.assert_allclose(found[1][key], value, rtol=5e-3, atol=5e-4, err_msg=key)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_optimizers_on_a_sharded_parameter(name: str, axis: int | None) -> None:
    start, target = rng.standard_normal((2, 4, 6)).astype(np.float32)

    def trained(axis: int | None, names: tuple[str, ...]) -> Array:
        weight, wanted = (Tensor(a).shard(names, axis).realize() for a in (start, target))
        optimizer = OPTIMIZERS[name]([weight])
        with Tensor.train():
            for _ in range(3):
                optimizer.zero_grad()
                (weight - wanted).square().sum().backward()
                optimizer.step()
        assert weight.uop.axis == axis
        return weight.numpy()

    np.testing.assert_allclose(
        trained(axis, devices(2)), trained(None, devices(1)), rtol=1e-4, atol=1e-5
    )


def test_the_state_of_an_optimizer_is_cut_as_its_parameters() -> None:
    weight = Tensor.ones(4, 6).shard(devices(2), 1).realize()
    optimizer = Adam([weight])
    assert [state.uop.axis for state in (*optimizer.m, *optimizer.v)] == [1, 1]
    assert optimizer.lr.device == weight.device


def test_values_are_loaded_into_the_shards_of_a_model() -> None:
    saved = {key: value.numpy() for key, value in get_state_dict(Linear(4, 6)).items()}
    model = Linear(4, 6)
    model.weight.shard_(devices(2), 0)
    assert model.bias is not None
    model.bias.shard_(devices(2))
    load_state_dict(model, {key: Tensor(value) for key, value in saved.items()}, verbose=False)
    assert (model.weight.uop.axis, model.bias.uop.axis) == (0, None)
    assert model.weight.device == model.bias.device == ("CPU", "CPU:1")
    np.testing.assert_array_equal(model.weight.numpy(), saved["weight"])
    other = Linear(4, 6)
    load_state_dict(other, get_state_dict(model), verbose=False)
    assert other.weight.device == "CPU"
    np.testing.assert_array_equal(other.weight.numpy(), saved["weight"])
