"""The same networks in PyTorch."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


def perceptron() -> nn.Module:
    """784-512-512-10 with ReLU."""
    hidden = nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU()
    return nn.Sequential(*hidden, nn.Linear(512, 10))


def digit_network() -> nn.Module:
    """The convolutional network of the example."""
    first = nn.Conv2d(1, 32, 5), nn.ReLU(), nn.Conv2d(32, 32, 5), nn.ReLU()
    second = nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU()
    return nn.Sequential(
        *(*first, nn.BatchNorm2d(32), nn.MaxPool2d(2)),
        *(*second, nn.BatchNorm2d(64), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(576, 10)),
    )


class ResidualBlock(nn.Module):
    """Two convolutions of 3 by 3 beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(inner + self.shortcut(x))


class ResNet18(nn.Module):
    """The network of 18 layers for images of 224 by 224."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(64)
        blocks = []
        for inputs, outputs, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
            blocks.append(ResidualBlock(inputs, outputs, stride))
            blocks.append(ResidualBlock(outputs, outputs, 1))
        self.blocks = nn.ModuleList(blocks)
        self.out = nn.Linear(512, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return self.out(x.mean((2, 3)))


class TransformerBlock(nn.Module):
    """Attention and a feed-forward network, each behind a layer norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joined, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.keys: list[torch.Tensor] = []

    def split_heads(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (self.split_heads(part) for part in self.joined(self.norm1(x)).chunk(3, -1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))

    def decode(self, x: torch.Tensor, cache: torch.Tensor, position: int) -> torch.Tensor:
        """The value for one token; `cache` holds keys and values of those before it."""
        q, k, v = (self.split_heads(part) for part in self.joined(self.norm1(x)).chunk(3, -1))
        cache[0, :, :, position : position + 1] = k
        cache[1, :, :, position : position + 1] = v
        keys, values = cache[0, :, :, : position + 1], cache[1, :, :, : position + 1]
        attended = F.scaled_dot_product_attention(q, keys, values)
        x = x + self.projection(attended.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    """GPT-2 small."""

    def __init__(self, layers: int = 12, width: int = 768, heads: int = 12) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(50257, width), nn.Embedding(1024, width)
        self.blocks = nn.ModuleList(TransformerBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.caches = [torch.zeros(2, 1, heads, 256, width // heads) for _ in range(layers)]

    def decode(self, token: torch.Tensor, position: int) -> torch.Tensor:
        """The logits for what follows a token."""
        x = self.tokens(token) + self.positions(torch.tensor([[position]]))
        for block, cache in zip(self.blocks, self.caches, strict=True):
            x = block.decode(x, cache, position)
        return self.norm(x) @ self.tokens.weight.T
