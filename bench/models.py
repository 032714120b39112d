"""The convolutional network of the example, in tg and in PyTorch."""

from __future__ import annotations

from bench.measure import Run

BATCH = 128


def tg_cnn_step() -> Run:
    """One training step with Adam, captured."""
    import numpy as np
    from tg_nn import BatchNorm, Conv2d, Linear
    from tg_nn.optim import Adam
    from tg_nn.state import get_parameters
    from tg_tensor import Device, Tensor, TinyJit

    class Net:
        def __init__(self) -> None:
            self.conv1, self.conv2, self.norm1 = Conv2d(1, 32, 5), Conv2d(32, 32, 5), BatchNorm(32)
            self.conv3, self.conv4, self.norm2 = Conv2d(32, 64, 3), Conv2d(64, 64, 3), BatchNorm(64)
            self.out = Linear(576, 10)

        def __call__(self, x: Tensor) -> Tensor:
            x = self.norm1(self.conv2(self.conv1(x).relu()).relu()).max_pool2d()
            x = self.norm2(self.conv4(self.conv3(x).relu()).relu()).max_pool2d()
            return self.out(x.flatten(1))

    Tensor.manual_seed(0)
    net = Net()
    optimizer = Adam(get_parameters(net), lr=1e-3)
    rng = np.random.default_rng(0)
    images = Tensor(rng.random((BATCH, 1, 28, 28), dtype=np.float32)).realize()
    labels = Tensor(rng.integers(0, 10, BATCH).astype(np.int32)).realize()

    @TinyJit
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = net(x).sparse_categorical_crossentropy(y)
        loss.backward()
        return loss.realize(*optimizer.schedule_step())

    def run() -> None:
        with Tensor.train():
            step(images, labels)
        Device[Device.DEFAULT].synchronize()

    return run


def torch_cnn_step() -> Run:
    """The same in PyTorch eager."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 32, 5),
        nn.ReLU(),
        nn.Conv2d(32, 32, 5),
        nn.ReLU(),
        nn.BatchNorm2d(32),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3),
        nn.ReLU(),
        nn.BatchNorm2d(64),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(576, 10),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    images, labels = torch.rand(BATCH, 1, 28, 28), torch.randint(0, 10, (BATCH,))

    def run() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()

    return run
