"""Rows of single expressions: products, elementwise chains, reductions, rows, convolutions."""

from __future__ import annotations

from math import prod

import numpy as np

from bench.case import Array, Case

MANY = 1 << 24


def matmul(rows: int, columns: int, depth: int, dtype: str, target: float) -> Case:
    """A product of two matrices."""
    square = rows == columns == depth
    size = str(rows) if square else f"{rows}x{columns}x{depth}"
    return Case(
        name=f"matmul {size} {dtype}",
        shapes=((rows, depth), (depth, columns)),
        tg=lambda a, b: a @ b,
        torch=lambda a, b: a @ b,
        numpy=lambda a, b: a @ b,
        flops=2.0 * rows * columns * depth,
        target=target,
        dtype=dtype,
        tolerance=2e-2 if dtype == "bfloat16" else 1e-4,
        compares_numpy=dtype == "float32",
    )


def batched(count: int, size: int, target: float) -> Case:
    """Products side by side."""
    return Case(
        name=f"matmul {count} x {size} float32",
        shapes=((count, size, size), (count, size, size)),
        tg=lambda a, b: a @ b,
        torch=lambda a, b: a @ b,
        numpy=lambda a, b: a @ b,
        flops=2.0 * count * size**3,
        target=target,
    )


def matvec(size: int, target: float) -> Case:
    """A matrix times a vector: the matrix is read once."""
    return Case(
        name=f"matrix-vector {size}",
        shapes=((size, size), (size,)),
        tg=lambda a, b: a @ b,
        torch=lambda a, b: a @ b,
        numpy=lambda a, b: a @ b,
        bytes=4.0 * size * size,
        target=target,
        compares_numpy=True,
    )


def gelu_of(x: Array) -> Array:
    """The exact GELU, by the error function of Abramowitz and Stegun 7.1.26 (to 2e-7)."""
    z = np.abs(x) / np.sqrt(2.0)
    t = 1 / (1 + 0.3275911 * z)
    tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * -1.453152027)))
    tail += 1.061405429 * t**5
    erf = np.sign(x) * (1 - tail * np.exp(-z * z))
    result: Array = (0.5 * x * (1 + erf)).astype(np.float32)
    return result


def _torch_gelu(x: object) -> object:
    import torch

    return torch.nn.functional.gelu(x)  # type: ignore[arg-type]


def _torch_layernorm(x: object) -> object:
    import torch

    return torch.nn.functional.layer_norm(x, x.shape[-1:])  # type: ignore[attr-defined, arg-type]


def _layernorm(x: Array) -> Array:
    centered = x - x.mean(-1, keepdims=True)
    result: Array = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
    return result


def _softmax(x: Array) -> Array:
    shifted = np.exp(x - x.max(-1, keepdims=True))
    result: Array = shifted / shifted.sum(-1, keepdims=True)
    return result


ELEMENTWISE = (
    Case(
        name="add of 16M",
        shapes=((MANY,), (MANY,)),
        tg=lambda a, b: a + b,
        torch=lambda a, b: a + b,
        numpy=lambda a, b: a + b,
        bytes=12.0 * MANY,
        target=2.0,
        compares_numpy=True,
    ),
    Case(
        name="gelu of 16M",
        shapes=((MANY,),),
        tg=lambda x: x.gelu(),
        torch=_torch_gelu,
        numpy=gelu_of,
        bytes=8.0 * MANY,
        target=3.0,
    ),
    Case(
        name="exp of 16M",
        shapes=((MANY,),),
        tg=lambda x: x.exp(),
        torch=lambda x: x.exp(),
        numpy=np.exp,
        bytes=8.0 * MANY,
        target=1.6,
    ),
    Case(
        name="(x*2+1).relu().sqrt() of 16M",
        shapes=((MANY,),),
        tg=lambda x: (x * 2 + 1).relu().sqrt(),
        torch=lambda x: (x * 2 + 1).relu().sqrt(),
        numpy=lambda x: np.sqrt(np.maximum(x * 2 + 1, 0)),
        bytes=8.0 * MANY,
        target=8.0,
    ),
)

REDUCTIONS = (
    Case(
        name="sum of 16M",
        shapes=((MANY,),),
        tg=lambda x: x.sum(),
        torch=lambda x: x.sum(),
        numpy=lambda x: np.asarray(x.sum(dtype=np.float64)),
        bytes=4.0 * MANY,
        target=0.95,
        compares_numpy=True,
    ),
    Case(
        name="sum of 4096x4096, axis 0",
        shapes=((4096, 4096),),
        tg=lambda x: x.sum(0),
        torch=lambda x: x.sum(0),
        numpy=lambda x: x.sum(0),
        bytes=4.0 * MANY,
        target=1.0,
    ),
    Case(
        name="sum of 4096x4096, axis 1",
        shapes=((4096, 4096),),
        tg=lambda x: x.sum(1),
        torch=lambda x: x.sum(1),
        numpy=lambda x: x.sum(1),
        bytes=4.0 * MANY,
        target=0.95,
    ),
    Case(
        name="softmax of 4096x1024",
        shapes=((4096, 1024),),
        tg=lambda x: x.softmax(),
        torch=lambda x: x.softmax(-1),
        numpy=_softmax,
        bytes=8.0 * (1 << 22),
        target=1.0,
    ),
    Case(
        name="layernorm of 4096x1024",
        shapes=((4096, 1024),),
        tg=lambda x: x.layernorm(),
        torch=_torch_layernorm,
        numpy=_layernorm,
        bytes=8.0 * (1 << 22),
        target=0.9,
        tolerance=1e-3,
    ),
    Case(
        name="argmax of 4096x1024",
        shapes=((4096, 1024),),
        tg=lambda x: x.argmax(1),
        torch=lambda x: x.argmax(1),
        numpy=lambda x: x.argmax(1),
        bytes=4.0 * (1 << 22),
        target=3.0,
    ),
    Case(
        name="cumsum of 1M",
        shapes=((1 << 20,),),
        tg=lambda x: x.cumsum(0),
        torch=lambda x: x.cumsum(0),
        numpy=lambda x: x.cumsum(0, dtype=np.float64),
        bytes=8.0 * (1 << 20),
        target=1.0,
        compares_numpy=True,
    ),
    Case(
        name="sort of 256x4096",
        shapes=((256, 4096),),
        tg=lambda x: x.sort()[0],
        torch=lambda x: x.sort()[0],
        numpy=lambda x: np.sort(x, -1),
        bytes=8.0 * (1 << 20),
    ),
)


def convolution(
    image: tuple[int, ...],
    weight: tuple[int, ...],
    target: float,
    *,
    stride: int = 1,
    groups: int = 1,
) -> Case:
    """A convolution that keeps the size of the image, or divides it by the stride."""
    padding = weight[-1] // 2

    def in_torch(x: object, w: object) -> object:
        import torch

        return torch.nn.functional.conv2d(
            x,  # type: ignore[arg-type]
            w,  # type: ignore[arg-type]
            stride=stride,
            padding=padding,
            groups=groups,
        )

    side = -(-image[-1] // stride)
    kind = "depthwise " if groups > 1 else ""
    return Case(
        name=f"conv {kind}{'x'.join(map(str, image))} by {'x'.join(map(str, weight))}",
        shapes=(image, weight),
        tg=lambda x, w: x.conv2d(w, stride=stride, padding=padding, groups=groups),
        torch=in_torch,
        numpy=lambda x, w: convolved(x, w, stride, padding, groups),
        flops=2.0 * image[0] * prod(weight) * side * side,
        target=target,
        tolerance=1e-3,
    )


def convolved(x: Array, w: Array, stride: int, padding: int, groups: int) -> Array:
    """The definition, as a sum over positions of the kernel."""
    batch, channels, height, width = x.shape
    outputs, per_group, kernel, _ = w.shape
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    rows = (height + 2 * padding - kernel) // stride + 1
    columns = (width + 2 * padding - kernel) // stride + 1
    result = np.zeros((batch, groups, outputs // groups, rows, columns), np.float32)
    weights = w.reshape(groups, outputs // groups, per_group, kernel, kernel)
    for i in range(kernel):
        for j in range(kernel):
            window = padded[:, :, i : i + rows * stride : stride, j : j + columns * stride : stride]
            parts = window.reshape(batch, groups, channels // groups, rows, columns)
            result += np.einsum("bgcyx,goc->bgoyx", parts, weights[..., i, j], optimize=True)
    return result.reshape(batch, outputs, rows, columns)


KERNELS = (
    matmul(256, 256, 256, "float32", 0.85),
    matmul(512, 512, 512, "float32", 0.9),
    matmul(1024, 1024, 1024, "float32", 0.9),
    matmul(2048, 2048, 2048, "float32", 0.9),
    matmul(1000, 1000, 1000, "float32", 0.5),
    matmul(513, 777, 255, "float32", 0.5),
    matmul(1024, 1024, 1024, "bfloat16", 1.0),
    batched(16, 256, 0.9),
    matvec(4096, 0.95),
    *ELEMENTWISE,
    *REDUCTIONS,
    convolution((32, 64, 56, 56), (64, 64, 3, 3), 0.85),
    convolution((1, 3, 224, 224), (64, 3, 7, 7), 0.85, stride=2),
    convolution((32, 128, 28, 28), (128, 1, 3, 3), 4.0, groups=128),
)
