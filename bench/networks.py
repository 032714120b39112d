"""The networks of the table in tg: layers of tg-nn, put together as their papers say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tg_nn import BatchNorm, Conv2d, Embedding, LayerNorm, Linear
from tg_tensor import Tensor


class Network(Protocol):
    """What is called with inputs."""

    def __call__(self, x: Tensor) -> Tensor: ...


class Perceptron:
    """784-512-512-10 with ReLU."""

    def __init__(self) -> None:
        self.layers = [Linear(784, 512), Linear(512, 512), Linear(512, 10)]

    def __call__(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x)


class DigitNetwork:
    """The convolutional network of the example."""

    def __init__(self) -> None:
        self.conv1, self.conv2, self.norm1 = Conv2d(1, 32, 5), Conv2d(32, 32, 5), BatchNorm(32)
        self.conv3, self.conv4, self.norm2 = Conv2d(32, 64, 3), Conv2d(64, 64, 3), BatchNorm(64)
        self.out = Linear(576, 10)

    def __call__(self, x: Tensor) -> Tensor:
        x = self.norm1(self.conv2(self.conv1(x).relu()).relu()).max_pool2d()
        x = self.norm2(self.conv4(self.conv3(x).relu()).relu()).max_pool2d()
        return self.out(x.flatten(1))


class ResidualBlock:
    """Two convolutions of 3 by 3 beside a shortcut (He and others, 2015)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        self.conv1 = Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.norm1 = BatchNorm(outputs)
        self.conv2 = Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = BatchNorm(outputs)
        self.shortcut: list[Callable[[Tensor], Tensor]] = []
        if stride != 1 or inputs != outputs:
            projection = Conv2d(inputs, outputs, 1, stride=stride, bias=False)
            self.shortcut = [projection, BatchNorm(outputs)]

    def __call__(self, x: Tensor) -> Tensor:
        inner = self.norm2(self.conv2(self.norm1(self.conv1(x)).relu()))
        return (inner + x.sequential(self.shortcut)).relu()


class ResNet18:
    """The network of 18 layers for images of 224 by 224 (He and others, 2015)."""

    def __init__(self) -> None:
        self.conv = Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.norm = BatchNorm(64)
        widths = ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))
        self.blocks = []
        for inputs, outputs, stride in widths:
            self.blocks.append(ResidualBlock(inputs, outputs, stride))
            self.blocks.append(ResidualBlock(outputs, outputs, 1))
        self.out = Linear(512, 1000)

    def __call__(self, x: Tensor) -> Tensor:
        x = self.norm(self.conv(x)).relu()
        x = x.max_pool2d((3, 3), stride=2, padding=1)
        for block in self.blocks:
            x = block(x)
        return self.out(x.mean((2, 3)))


class TransformerBlock:
    """Attention and a feed-forward network, each behind a layer norm (as in GPT-2)."""

    def __init__(self, width: int, heads: int) -> None:
        self.heads = heads
        self.norm1, self.norm2 = LayerNorm(width), LayerNorm(width)
        self.joined, self.projection = Linear(width, 3 * width), Linear(width, width)
        self.up, self.down = Linear(width, 4 * width), Linear(4 * width, width)

    def split_heads(self, x: Tensor) -> Tensor:
        """(batch, sequence, width) as (batch, heads, sequence, width of a head)."""
        batch, length, width = x.shape
        return x.reshape(batch, length, self.heads, int(width) // self.heads).transpose(1, 2)

    def __call__(self, x: Tensor) -> Tensor:
        q, k, v = (self.split_heads(part) for part in self.joined(self.norm1(x)).chunk(3, -1))
        attended = q.scaled_dot_product_attention(k, v, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).flatten(2))
        return x + self.down(self.up(self.norm2(x)).gelu())


class DecodingBlock(TransformerBlock):
    """A block that sees one token, and keeps the keys and values of those before it."""

    def __init__(self, width: int, heads: int, context: int) -> None:
        super().__init__(width, heads)
        self.cache = Tensor.zeros(2, 1, heads, context, width // heads).contiguous().realize()

    def decode(self, x: Tensor, position: int) -> Tensor:
        """The block's value for the token at `position`."""
        q, k, v = (self.split_heads(part) for part in self.joined(self.norm1(x)).chunk(3, -1))
        self.cache[:, :, :, position : position + 1] = k.stack(v)
        keys, values = self.cache[0, :, :, : position + 1], self.cache[1, :, :, : position + 1]
        attended = q.scaled_dot_product_attention(keys, values)
        x = x + self.projection(attended.transpose(1, 2).flatten(2))
        return x + self.down(self.up(self.norm2(x)).gelu())


class Decoder:
    """GPT-2 small (Radford and others, 2019): 12 blocks of width 768 with 12 heads."""

    def __init__(self, layers: int = 12, width: int = 768, heads: int = 12, words: int = 50257):
        self.tokens, self.positions = Embedding(words, width), Embedding(1024, width)
        self.blocks = [DecodingBlock(width, heads, 256) for _ in range(layers)]
        self.norm = LayerNorm(width)

    def decode(self, token: Tensor, position: int) -> Tensor:
        """The logits for what follows a token, given all before it."""
        x = self.tokens(token) + self.positions(Tensor([[position]]))
        for block in self.blocks:
            x = block.decode(x, position)
        return self.norm(x) @ self.tokens.weight.T


def parameters(parts: Sequence[Tensor]) -> Sequence[Tensor]:
    """Make weights exist, so that the first step is a step like others."""
    for part in parts:
        part.realize()
    return parts
