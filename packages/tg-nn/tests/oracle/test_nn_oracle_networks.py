"""Trains whole networks beside PyTorch: the same text, the layers and functions of either library.

Losses follow each other step by step, captured by the JIT from the second on; weights and running
statistics go over as safetensors in both directions and agree at the end, as does evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tg_nn
from tg_nn.optim import SGD, AdamW
from tg_nn.state import get_parameters, get_state_dict, load_state_dict, safe_load, safe_save
from tg_tensor import Tensor, TinyJit, checkpoint

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch")
st = pytest.importorskip("safetensors.torch")
F = torch.nn.functional

Layers = dict[str, Any]
Arrays = tuple[np.ndarray, ...]

# what the two libraries call by other names, or only one of them has as a method
OURS = SimpleNamespace(
    cat=lambda values, dim: Tensor.cat(*values, dim=dim),
    stack=lambda values, dim: Tensor.stack(*values, dim=dim),
    arange=lambda count: Tensor.arange(count),
    zeros=lambda *shape: Tensor.zeros(*shape),
    cross_entropy=lambda x, y: x.sparse_categorical_crossentropy(y),
    logits=lambda x, y: x.binary_crossentropy_logits(y),
    attend=lambda q, k, v, **named: q.scaled_dot_product_attention(k, v, **named),
    gelu=lambda x: x.gelu(),
    silu=lambda x: x.silu(),
    pool=lambda x: x.max_pool2d(2),
    twice=lambda x: x.interpolate(tuple(2 * s for s in x.shape[2:]), mode="nearest"),
    unit=lambda x: x.normalize(dim=-1),
    where=lambda c, x, y: c.where(x, y),
    recompute=lambda f, x: checkpoint(f)(x),
)
THEIRS = SimpleNamespace(
    cat=torch.cat,
    stack=torch.stack,
    arange=torch.arange,
    zeros=torch.zeros,
    cross_entropy=F.cross_entropy,
    logits=F.binary_cross_entropy_with_logits,
    attend=lambda q, k, v, attn_mask=None, **named: F.scaled_dot_product_attention(
        q, k, v, attn_mask, **named
    ),
    gelu=F.gelu,
    silu=F.silu,
    pool=lambda x: F.max_pool2d(x, 2),
    twice=lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
    unit=lambda x: F.normalize(x, dim=-1),
    where=torch.where,
    recompute=lambda f, x: f(x),
)


class Network:
    """One network: its layers, its loss, and data for a step."""

    def layers(self, lib: ModuleType) -> Layers:
        raise NotImplementedError

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], *data: Any) -> Any:
        raise NotImplementedError

    def data(self, rng: np.random.Generator) -> Arrays:
        raise NotImplementedError


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def _places(rng: np.random.Generator, end: int, *shape: int) -> np.ndarray:
    return rng.integers(0, end, shape).astype(np.int32)


class Residual(Network):
    """Strided and depthwise convolutions with batch norm, and a shortcut."""

    def layers(self, lib: ModuleType) -> Layers:
        return {
            "stem": lib.Conv2d(3, 8, 7, 2, 3, bias=False),
            "norm": lib.BatchNorm2d(8),
            "wide": lib.Conv2d(8, 24, 1, bias=False),
            "norm_wide": lib.BatchNorm2d(24),
            "deep": lib.Conv2d(24, 24, 3, 2, 1, groups=24, bias=False),
            "norm_deep": lib.BatchNorm2d(24),
            "thin": lib.Conv2d(24, 16, 1, bias=False),
            "norm_thin": lib.BatchNorm2d(16),
            "short": lib.Conv2d(8, 16, 1, 2, bias=False),
            "norm_short": lib.BatchNorm2d(16),
            "out": lib.Linear(16, 10),
        }

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], x: Any, y: Any) -> Any:
        x = f.pool(m["norm"](m["stem"](x)).relu())
        h = m["norm_wide"](m["wide"](x)).relu()
        h = m["norm_deep"](m["deep"](h)).relu()
        h = m["norm_thin"](m["thin"](h)) + m["norm_short"](m["short"](x))
        return f.cross_entropy(m["out"](h.relu().mean((2, 3))), y)

    def data(self, rng: np.random.Generator) -> Arrays:
        return _floats(rng, 4, 3, 32, 32), _places(rng, 10, 4)


class Segmenter(Network):
    """Down and up again by transposed convolutions, with shortcuts joined by cat."""

    def layers(self, lib: ModuleType) -> Layers:
        return {
            "down": lib.Conv2d(3, 4, 3, padding=1),
            "norm": lib.BatchNorm2d(4),
            "middle": lib.Conv2d(4, 8, 3, padding=1),
            "up": lib.ConvTranspose2d(8, 4, 2, 2),
            "join": lib.Conv2d(8, 4, 3, padding=1),
            "out": lib.Conv2d(4, 1, 1),
        }

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], x: Any, y: Any) -> Any:
        first = m["norm"](m["down"](x)).relu()
        below = m["middle"](f.pool(first)).relu()
        joined = m["join"](f.cat((m["up"](below), first), 1)).relu()
        return f.logits(m["out"](joined), y)

    def data(self, rng: np.random.Generator) -> Arrays:
        return _floats(rng, 2, 3, 16, 16), (rng.random((2, 1, 16, 16)) > 0.5).astype(np.float32)


class Autoencoder(Network):
    """A variational one: the noise comes with the data."""

    def layers(self, lib: ModuleType) -> Layers:
        return {
            "encode": lib.Linear(30, 24),
            "mean": lib.Linear(24, 6),
            "spread": lib.Linear(24, 6),
            "decode": lib.Linear(6, 24),
            "out": lib.Linear(24, 30),
        }

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], x: Any, noise: Any) -> Any:
        h = m["encode"](x).relu()
        mean, spread = m["mean"](h), m["spread"](h)
        z = mean + noise * (spread * 0.5).exp()
        found = m["out"](m["decode"](z).relu())
        divergence = -0.5 * (1 + spread - mean.square() - spread.exp()).sum(1).mean()
        return f.logits(found, x) + 0.1 * divergence

    def data(self, rng: np.random.Generator) -> Arrays:
        return rng.random((8, 30)).astype(np.float32), _floats(rng, 8, 6)


class Recurrent(Network):
    """A language model of LSTM cells, forwards and backwards."""

    def layers(self, lib: ModuleType) -> Layers:
        return {
            "embed": lib.Embedding(20, 8),
            "forth": lib.LSTMCell(8, 12),
            "back": lib.LSTMCell(8, 12),
            "out": lib.Linear(24, 20),
        }

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], x: Any, y: Any) -> Any:
        h = m["embed"](x)
        steps = range(x.shape[1])
        forth = self._run(m["forth"], h, steps)
        back = self._run(m["back"], h, reversed(steps))[::-1]
        both = f.cat((f.stack(forth, 1), f.stack(back, 1)), 2)
        return f.cross_entropy(m["out"](both).reshape(-1, 20), y.reshape(-1))

    @staticmethod
    def _run(cell: Any, h: Any, steps: Any) -> list[Any]:
        state, found = None, []
        for step in steps:
            state = cell(h[:, step], state)
            found.append(state[0])
        return found

    def data(self, rng: np.random.Generator) -> Arrays:
        return _places(rng, 20, 3, 4), _places(rng, 20, 3, 4)


class Decoder(Network):
    """A causal transformer whose output shares the embedding, recomputed in the backward pass."""

    def layers(self, lib: ModuleType) -> Layers:
        return {
            "words": lib.Embedding(30, 16),
            "places": lib.Embedding(7, 16),
            "norm": lib.LayerNorm(16),
            "mix": lib.Linear(16, 48),
            "project": lib.Linear(16, 16),
            "norm_up": lib.LayerNorm(16),
            "up": lib.Linear(16, 64),
            "down": lib.Linear(64, 16),
        }

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], x: Any, y: Any) -> Any:
        h = m["words"](x) + m["places"](f.arange(x.shape[1]))
        h = f.recompute(lambda value: self._block(f, m, value), h)
        logits = h @ m["words"].weight.transpose(0, 1)
        return f.cross_entropy(logits.reshape(-1, 30), y.reshape(-1))

    @staticmethod
    def _block(f: SimpleNamespace, m: Mapping[str, Any], h: Any, mask: Any = None) -> Any:
        batch, length, width = h.shape
        mixed = m["mix"](m["norm"](h)).reshape(batch, length, 3, 2, width // 2)
        q, k, v = mixed.permute(2, 0, 3, 1, 4)
        found = f.attend(q, k, v, attn_mask=mask, is_causal=mask is None)
        h = h + m["project"](found.transpose(1, 2).reshape(batch, length, width))
        return h + m["down"](f.gelu(m["up"](m["norm_up"](h))))

    def data(self, rng: np.random.Generator) -> Arrays:
        return _places(rng, 30, 2, 7), _places(rng, 30, 2, 7)


class Encoder(Decoder):
    """A transformer over sentences of several lengths; padding is masked and costs nothing."""

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], *data: Any) -> Any:
        x, y, lengths = data
        places = f.arange(x.shape[1])
        kept = places.reshape(1, -1) < lengths.reshape(-1, 1)
        h = m["words"](x) + m["places"](places)
        h = self._block(f, m, h, kept.reshape(x.shape[0], 1, 1, -1))
        logits = h @ m["words"].weight.transpose(0, 1)
        every = -logits.log_softmax(-1).gather(2, y.unsqueeze(-1)).squeeze(-1)
        return f.where(kept, every, 0.0).sum() / kept.sum()

    def data(self, rng: np.random.Generator) -> Arrays:
        return (*super().data(rng), np.array([3, 7], np.int32))


class Denoiser(Network):
    """A diffusion step: the time as sines, group norm, resizing, attention over positions."""

    def layers(self, lib: ModuleType) -> Layers:
        return {
            "time": lib.Linear(16, 8),
            "into": lib.Conv2d(3, 8, 3, padding=1),
            "norm": lib.GroupNorm(4, 8),
            "down": lib.Conv2d(8, 8, 3, 2, 1),
            "query": lib.Conv2d(8, 24, 1),
            "up": lib.Conv2d(8, 8, 3, padding=1),
            "out": lib.Conv2d(16, 3, 3, padding=1),
        }

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], *data: Any) -> Any:
        x, times, noise = data
        kept = (f.arange(100) * -0.03).exp()[times][:, None, None, None]
        angles = times[:, None] * (f.arange(8) * -0.5).exp()[None]
        time = m["time"](f.cat((angles.sin(), angles.cos()), -1))
        h = m["into"](kept.sqrt() * x + (1 - kept).sqrt() * noise)
        first = f.silu(m["norm"](h) + time[:, :, None, None])
        below = m["down"](first)
        q, k, v = m["query"](below).flatten(2).transpose(1, 2).chunk(3, -1)
        below = below + f.attend(q, k, v).transpose(1, 2).reshape(below.shape)
        above = m["up"](f.twice(below))
        return (m["out"](f.cat((above, first), 1)) - noise).square().mean()

    def data(self, rng: np.random.Generator) -> Arrays:
        return _floats(rng, 2, 3, 8, 8), _places(rng, 100, 2), _floats(rng, 2, 3, 8, 8)


class Contrastive(Network):
    """Two towers whose pairs must find each other."""

    def layers(self, lib: ModuleType) -> Layers:
        return {
            "image": lib.Linear(20, 8),
            "words": lib.Embedding(50, 15),
            "text": lib.Linear(15, 8),
            "scale": lib.Linear(1, 1),
        }

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], x: Any, words: Any) -> Any:
        image = f.unit(m["image"](x))
        text = f.unit(m["text"](m["words"](words).mean(1)))
        logits = m["scale"].weight.exp() * (image @ text.transpose(0, 1)) + m["scale"].bias
        wanted = f.arange(x.shape[0])
        flipped = logits.transpose(0, 1)
        return (f.cross_entropy(logits, wanted) + f.cross_entropy(flipped, wanted)) / 2

    def data(self, rng: np.random.Generator) -> Arrays:
        return _floats(rng, 6, 20), _places(rng, 50, 6, 5)


class Critic(Network):
    """Double deep Q-learning: gather, argmax, detached targets, a loss with a corner."""

    def layers(self, lib: ModuleType) -> Layers:
        return {"first": lib.Linear(4, 16), "value": lib.Linear(16, 1), "act": lib.Linear(16, 3)}

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], *data: Any) -> Any:
        x, action, reward, then = data
        chosen = self._quality(m, x).gather(1, action[:, None]).squeeze(1)
        later = self._quality(m, then).detach()
        best = later.gather(1, later.argmax(1)[:, None]).squeeze(1)
        error = (chosen - (reward + 0.99 * best)).abs()
        return f.where(error < 1, 0.5 * error.square(), error - 0.5).mean()

    @staticmethod
    def _quality(m: Mapping[str, Any], x: Any) -> Any:
        h = m["first"](x).relu()
        each = m["act"](h)
        return m["value"](h) + each - each.mean(1, keepdim=True)

    def data(self, rng: np.random.Generator) -> Arrays:
        return _floats(rng, 8, 4), _places(rng, 3, 8), 3 * _floats(rng, 8), _floats(rng, 8, 4)


class Graph(Network):
    """Attention along the edges of a graph: messages are gathered, weighed, and scattered."""

    def layers(self, lib: ModuleType) -> Layers:
        return {
            "node": lib.Linear(5, 8),
            "edge": lib.Linear(16, 1),
            "out": lib.Linear(8, 4),
        }

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], *data: Any) -> Any:
        x, tail, head, y = data
        h = m["node"](x).relu()
        score = m["edge"](f.cat((h[tail], h[head]), 1)).squeeze(1)
        highest = (f.zeros(12) - 9).scatter_reduce(0, head, score, "amax")
        weight = (score - highest[head].detach()).exp()
        total = f.zeros(12).scatter_add(0, head, weight)
        message = h[tail] * (weight / (total[head] + 1e-9)).unsqueeze(1)
        rows = head.unsqueeze(1).expand(message.shape)
        return f.cross_entropy(m["out"](f.zeros(12, 8).scatter_add(0, rows, message)), y)

    def data(self, rng: np.random.Generator) -> Arrays:
        edges = _places(rng, 12, 30), _places(rng, 12, 30)
        return _floats(rng, 12, 5), *edges, _places(rng, 4, 12)


class Recommender(Network):
    """Embeddings of a user, of an item, and the mean of those of a history with gaps."""

    def layers(self, lib: ModuleType) -> Layers:
        return {
            "user": lib.Embedding(200, 4),
            "item": lib.Embedding(300, 4),
            "out": lib.Linear(12, 1),
        }

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], *data: Any) -> Any:
        user, item, history, y = data
        kept = (history > 0).unsqueeze(-1)
        mean = (m["item"](history) * kept).sum(1) / (kept.sum(1) + 1)
        joined = f.cat((m["user"](user), m["item"](item), mean), 1)
        return f.logits(m["out"](joined.relu()).squeeze(1), y)

    def data(self, rng: np.random.Generator) -> Arrays:
        places = _places(rng, 200, 16), _places(rng, 300, 16), _places(rng, 300, 16, 9)
        return *places, (rng.random(16) > 0.5).astype(np.float32)


class Experts(Network):
    """RMS norm, rotated queries, grouped keys, and the two best of four gated experts."""

    def layers(self, lib: ModuleType) -> Layers:
        found: Layers = {
            "words": lib.Embedding(30, 16),
            "norm": lib.RMSNorm(16, 1e-6),
            "query": lib.Linear(16, 16, bias=False),
            "pairs": lib.Linear(16, 16, bias=False),
            "gate": lib.Linear(16, 4, bias=False),
            "out": lib.Linear(16, 30, bias=False),
        }
        for expert in range(4):
            found[f"up{expert}"] = lib.Linear(16, 24, bias=False)
            found[f"gate{expert}"] = lib.Linear(16, 24, bias=False)
            found[f"down{expert}"] = lib.Linear(24, 16, bias=False)
        return found

    def loss(self, f: SimpleNamespace, m: Mapping[str, Any], x: Any, y: Any) -> Any:
        batch, length = x.shape
        h = m["words"](x)
        normal = m["norm"](h)
        q = m["query"](normal).reshape(batch, length, 4, 4).transpose(1, 2)
        k, v = m["pairs"](normal).reshape(batch, length, 2, 2, 4).permute(2, 0, 3, 1, 4)
        q, k = self._rotated(f, q), self._rotated(f, k)
        found = f.attend(q, k, v, is_causal=True, enable_gqa=True)
        h = h + found.transpose(1, 2).reshape(batch, length, 16)
        weight, chosen = m["gate"](h).softmax(-1).topk(2, -1)
        for e in range(4):
            share = ((chosen == e) * weight).sum(-1, keepdim=True)
            gated = f.silu(m[f"gate{e}"](h)) * m[f"up{e}"](h)
            h = h + share * m[f"down{e}"](gated)
        return f.cross_entropy(m["out"](h).reshape(-1, 30), y.reshape(-1))

    @staticmethod
    def _rotated(f: SimpleNamespace, x: Any) -> Any:
        angles = f.arange(x.shape[2])[:, None] * (f.arange(2) * -2.0).exp()[None]
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = (
            even * angles.cos() - odd * angles.sin(),
            even * angles.sin() + odd * angles.cos(),
        )
        return f.stack(turned, -1).flatten(-2)

    def data(self, rng: np.random.Generator) -> Arrays:
        return _places(rng, 30, 2, 6), _places(rng, 30, 2, 6)


NETWORKS = (
    Residual,
    Segmenter,
    Autoencoder,
    Recurrent,
    Decoder,
    Encoder,
    Denoiser,
    Contrastive,
    Critic,
    Graph,
    Recommender,
    Experts,
)
NESTEROV = {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True}
# an epsilon above the rounding errors of gradients that are 0, of which Adam would take the sign
ADAMW = {"lr": 0.003, "weight_decay": 0.1, "eps": 1e-4}


def _as_torch(array: np.ndarray) -> Any:
    value = torch.tensor(array)
    return value.long() if array.dtype.kind == "i" else value


@pytest.mark.parametrize("number", range(len(NETWORKS)), ids=lambda n: NETWORKS[n].__name__)
def test_a_network_trains_as_in_torch(number: int, tmp_path: Path) -> None:
    network = NETWORKS[number]()
    torch.manual_seed(number)
    theirs = torch.nn.ModuleDict(network.layers(torch.nn))
    ours = network.layers(tg_nn)
    st.save_file({k: v.clone() for k, v in theirs.state_dict().items()}, tmp_path / "start")
    load_state_dict(ours, safe_load(tmp_path / "start"), verbose=False)
    parameters = get_parameters(ours)
    if number % 2:
        optimizer = SGD(parameters, **NESTEROV)
        their_optimizer = torch.optim.SGD(theirs.parameters(), **NESTEROV)
    else:
        optimizer = AdamW(parameters, **ADAMW)
        their_optimizer = torch.optim.AdamW(theirs.parameters(), **ADAMW)

    @TinyJit
    def step(*data: Tensor) -> Tensor:
        with Tensor.train():
            optimizer.zero_grad()
            loss = network.loss(OURS, ours, *data).backward()
            optimizer.step()
            return loss.realize()

    data: Arrays = ()
    for turn in range(6):
        data = network.data(np.random.default_rng(turn % 3))
        their_optimizer.zero_grad()
        loss = network.loss(THEIRS, theirs, *map(_as_torch, data))
        loss.backward()
        their_optimizer.step()
        found = step(*(Tensor(array).realize() for array in data)).item()
        np.testing.assert_allclose(found, loss.item(), rtol=2e-5, atol=1e-6)
    _compare_ends(network, ours, theirs, data, tmp_path / "end")


def _compare_ends(network: Network, ours: Layers, theirs: Any, data: Arrays, path: Path) -> None:
    """The state goes back as a file, and the networks evaluate alike."""
    safe_save(get_state_dict(ours), path)
    state = st.load_file(path)
    wanted = theirs.state_dict()
    assert set(state) == set(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(state[name], value, rtol=1e-3, atol=2e-5, err_msg=name)
    theirs.eval()
    with torch.no_grad():
        loss = network.loss(THEIRS, theirs, *map(_as_torch, data)).item()
    found = network.loss(OURS, ours, *map(Tensor, data)).item()
    np.testing.assert_allclose(found, loss, rtol=1e-4, atol=1e-6)
