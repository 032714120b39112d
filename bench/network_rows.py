"""Rows of whole networks: training steps, inference, decoding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.case import Array, Competitors, Row
from bench.measure import Run


def _images(batch: int, channels: int, size: int) -> Array:
    return np.random.default_rng(0).random((batch, channels, size, size), dtype=np.float32)


def _labels(batch: int) -> Array:
    return np.random.default_rng(1).integers(0, 10, batch).astype(np.int32)


def tg_training(make: Callable[[], object], optimizer: str, data: Array) -> Run:
    """A captured training step of a classifier; it gives the loss."""
    import tg_nn.optim
    from tg_nn.state import get_parameters
    from tg_tensor import Device, Tensor, TinyJit

    Tensor.manual_seed(0)
    network = make()
    weights = get_parameters(network)
    optim = getattr(tg_nn.optim, optimizer)(weights, lr=1e-3)
    inputs, labels = Tensor(data).realize(), Tensor(_labels(len(data))).realize()

    @TinyJit
    def step(x: Tensor, y: Tensor) -> Tensor:
        optim.zero_grad()
        loss: Tensor = network(x).sparse_categorical_crossentropy(y)  # type: ignore[operator]
        loss.backward()
        return loss.realize(*optim.schedule_step())

    def run() -> object:
        with Tensor.train():
            loss = step(inputs, labels)
        Device[Device.DEFAULT].synchronize()
        return loss

    return run


def torch_training(make: str, optimizer: str, data: Array) -> Run:
    """The same in PyTorch eager."""
    import torch

    from bench import torch_networks

    torch.manual_seed(0)
    network = getattr(torch_networks, make)()
    optim = getattr(torch.optim, optimizer)(network.parameters(), lr=1e-3)
    inputs, labels = torch.from_numpy(data), torch.from_numpy(_labels(len(data))).long()

    def run() -> object:
        optim.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(inputs), labels)
        loss.backward()
        optim.step()
        return loss

    return run


def training(
    name: str, network: str, in_torch: str, optimizer: str, data: Array, target: float
) -> Row:
    """A training step on the same data again and again."""

    def build(libraries: frozenset[str]) -> Competitors:
        from bench import networks

        runs: Competitors = {"tg": tg_training(getattr(networks, network), optimizer, data)}
        if "torch" in libraries:
            runs["torch"] = torch_training(in_torch, optimizer, data)
        return runs

    return Row(name, build, target=target, budget=6.0, group="networks")


def inference(
    name: str, network: str, arguments: tuple[int, ...], data: Array, target: float
) -> Row:
    """A captured forward pass."""

    def build(libraries: frozenset[str]) -> Competitors:
        from bench import networks

        runs: Competitors = {"tg": tg_inference(getattr(networks, network)(*arguments), data)}
        if "torch" in libraries:
            runs["torch"] = torch_inference(network, arguments, data, compiled=False)
        if "compile" in libraries:
            runs["compile"] = torch_inference(network, arguments, data, compiled=True)
        return runs

    return Row(name, build, target=target, budget=4.0, group="networks")


def tg_inference(network: object, data: Array) -> Run:
    """A network captured on one input."""
    from tg_nn.state import get_parameters
    from tg_tensor import Device, Tensor, TinyJit

    for weight in get_parameters(network):
        weight.realize()
    step = TinyJit(lambda x: network(x).realize())  # type: ignore[operator]
    inputs = Tensor(data).realize()

    def run() -> object:
        result = step(inputs)
        Device[Device.DEFAULT].synchronize()
        return result

    return run


def torch_inference(name: str, arguments: tuple[int, ...], data: Array, *, compiled: bool) -> Run:
    """The same in PyTorch."""
    import torch

    from bench import torch_networks

    network = getattr(torch_networks, name)(*arguments).eval()
    function = torch.compile(network) if compiled else network
    inputs = torch.from_numpy(data)

    def run() -> object:
        with torch.inference_mode():
            return function(inputs)

    return run


POSITION = 128


def decoding() -> Row:
    """One more token, with 128 before it."""

    def build(libraries: frozenset[str]) -> Competitors:
        from tg_nn.state import get_parameters
        from tg_tensor import Device, Tensor, TinyJit

        from bench.networks import Decoder

        decoder = Decoder()
        for weight in get_parameters(decoder):
            weight.realize()
        step = TinyJit(lambda token: decoder.decode(token, POSITION).realize())
        token = Tensor([[11]]).realize()

        def run() -> object:
            result = step(token)
            Device[Device.DEFAULT].synchronize()
            return result

        runs: Competitors = {"tg": run}
        if "torch" in libraries:
            runs["torch"] = _torch_decoding()
        return runs

    return Row("GPT-2 small, one token", build, target=1.0, budget=4.0, group="networks")


def _torch_decoding() -> Run:
    import torch

    from bench import torch_networks

    decoder = torch_networks.Decoder().eval()
    token = torch.tensor([[11]])

    def run() -> object:
        with torch.inference_mode():
            return decoder.decode(token, POSITION)

    return run


def _sequence(length: int, width: int) -> Array:
    return np.random.default_rng(2).random((1, length, width), dtype=np.float32)


DIGITS = _images(128, 1, 28)
PIXELS = DIGITS.reshape(128, 784)
MLP = ("Perceptron", "perceptron")

NETWORKS = (
    training("MLP step, batch 128, SGD", *MLP, "SGD", PIXELS, 1.2),
    training("MLP step, batch 128, Adam", *MLP, "Adam", PIXELS, 1.2),
    training("CNN step, batch 128, Adam", "DigitNetwork", "digit_network", "Adam", DIGITS, 1.0),
    inference("ResNet-18, batch 1", "ResNet18", (), _images(1, 3, 224), 0.85),
    training(
        "ResNet-18 step, batch 8, SGD", "ResNet18", "ResNet18", "SGD", _images(8, 3, 224), 0.85
    ),
    inference("transformer block, 128 x 512", "TransformerBlock", (512, 8), _sequence(128, 512), 1),
    decoding(),
)
