"""Train a convolutional network on MNIST digits, keep its weights, and draw what it sees."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from tg_nn import BatchNorm, Conv2d, Linear
from tg_nn.datasets import mnist
from tg_nn.optim import Adam
from tg_nn.state import (
    get_parameters,
    get_state_dict,
    load_state_dict,
    safe_load,
    safe_save,
)
from tg_tensor import Tensor, TinyJit
from tqdm import tqdm

CLASSES = 10
PEAK_RATE = 2e-3
DIGITS_SHOWN = 40
COLUMNS = 10
SCALE = 2


class ConvNet:
    """Two 5x5 convolutions, batch norm, max pool; two 3x3, batch norm, max pool; a linear layer."""

    def __init__(self) -> None:
        self.conv1 = Conv2d(1, 32, 5)
        self.conv2 = Conv2d(32, 32, 5)
        self.norm1 = BatchNorm(32)
        self.conv3 = Conv2d(32, 64, 3)
        self.conv4 = Conv2d(64, 64, 3)
        self.norm2 = BatchNorm(64)
        self.out = Linear(576, CLASSES)

    def __call__(self, images: Tensor) -> Tensor:
        """Images (n, 1, 28, 28) with values 0..255 give one score a class, (n, 10)."""
        x = images.float() / 255.0
        x = self.conv1(x).relu()
        x = self.norm1(self.conv2(x).relu()).max_pool2d()
        x = self.conv3(x).relu()
        x = self.norm2(self.conv4(x).relu()).max_pool2d()
        return self.out(x.flatten(1))


def batches(count: int, size: int, rng: np.random.Generator) -> Iterator[NDArray[np.int32]]:
    """The numbers of one epoch's digits in random order, in batches; a rest is left out."""
    order = rng.permutation(count).astype(np.int32)
    for start in range(0, count - size + 1, size):
        yield order[start : start + size]


def train(
    net: ConvNet,
    images: Tensor,
    labels: Tensor,
    epochs: int,
    size: int,
    seed: int,
    most_steps: int | None = None,
) -> None:
    """Minimize the cross entropy with Adam; the learning rate falls to zero by a half cosine."""
    optimizer = Adam(get_parameters(net), lr=PEAK_RATE)

    @TinyJit
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = net(x).sparse_categorical_crossentropy(y)
        loss.backward()
        return loss.realize(*optimizer.schedule_step())

    rng = np.random.default_rng(seed)
    pixels, classes = images.numpy(), labels.numpy()
    steps = epochs * (len(pixels) // size)
    plan = (batch for _ in range(epochs) for batch in batches(len(pixels), size, rng))
    steps = min(steps, most_steps) if most_steps is not None else steps
    with Tensor.train(), tqdm(total=steps, desc="training", unit="step") as bar:
        for position, chosen in enumerate(islice(plan, steps)):
            rate = PEAK_RATE * 0.5 * (1 + np.cos(np.pi * position / steps))
            optimizer.lr.assign(Tensor([rate], dtype=optimizer.lr.dtype)).realize()
            loss = step(Tensor(pixels[chosen]), Tensor(classes[chosen]))
            bar.update()
            if position % 10 == 0:
                bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)


def predict(net: ConvNet, images: Tensor, size: int) -> NDArray[np.int32]:
    """The most likely class of each image."""
    forward = TinyJit(lambda x: net(x).argmax(axis=1).realize())
    pixels = images.numpy()
    found = [
        forward(Tensor(pixels[start : start + size])).numpy()
        for start in range(0, len(pixels), size)
    ]
    return np.concatenate(found)


def draw(
    pixels: NDArray[np.uint8], found: NDArray[np.int32], labels: NDArray[np.uint8], path: Path
) -> None:
    """A sheet of digits, each with what was found under it: green where right, red where not."""
    side = pixels.shape[-1] * SCALE
    rows = -(-len(pixels) // COLUMNS)
    cell = (side + 4, side + 16)
    sheet = Image.new("RGB", (COLUMNS * cell[0], rows * cell[1]), "white")
    pen = ImageDraw.Draw(sheet)
    for position, image in enumerate(pixels):
        x = position % COLUMNS * cell[0] + 2
        y = position // COLUMNS * cell[1] + 2
        digit = Image.fromarray(255 - image.reshape(pixels.shape[-2:])).resize((side, side))
        sheet.paste(digit, (x, y))
        right = found[position] == labels[position]
        caption = str(found[position]) if right else f"{found[position]} (is {labels[position]})"
        pen.text((x + 2, y + side), caption, fill="darkgreen" if right else "red")
    sheet.save(path)


def main(arguments: list[str]) -> int:
    """Train, test, save, load, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, help="stop after so many steps")
    parser.add_argument("--batch-size", type=int, default=125)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full", action="store_true", help="all 70,000 digits (downloads them)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where files are written")
    options = parser.parse_args(arguments)

    Tensor.manual_seed(options.seed)
    images, labels, test_images, test_labels = mnist(full=options.full)
    net = ConvNet()
    started = time.perf_counter()
    train(net, images, labels, options.epochs, options.batch_size, options.seed, options.steps)
    print(f"trained on {len(images)} digits in {time.perf_counter() - started:.1f} s")

    options.out.mkdir(parents=True, exist_ok=True)
    weights = options.out / "mnist.safetensors"
    safe_save(get_state_dict(net), weights)
    loaded = ConvNet()
    load_state_dict(loaded, safe_load(weights))

    found = predict(loaded, test_images, options.batch_size)
    truth = test_labels.numpy()
    print(f"test accuracy: {100 * np.mean(found == truth):.2f} % of {len(truth)} digits")
    wrong = np.flatnonzero(found != truth)
    right = np.flatnonzero(found == truth)
    shown = np.concatenate([wrong, right])[:DIGITS_SHOWN]
    picture = options.out / "mnist.png"
    draw(test_images.numpy()[shown], found[shown], truth[shown], picture)
    print(f"weights: {weights}, picture: {picture}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("stopped; nothing was saved")
