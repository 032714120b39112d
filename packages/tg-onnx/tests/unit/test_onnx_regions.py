"""GridSample, regions, deformable windows, Col2Im: random forms beside onnxruntime."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx_one_node import check_node, one_node
from tg_onnx import OnnxRunner
from tg_tensor import Tensor

FLOATS = [np.float32, np.float32, np.float64, np.float16]


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_of_images(mode, padding):
    rng = np.random.default_rng(len(mode) + len(padding))
    x = rng.standard_normal((2, 2, 4, 3)).astype(np.float32)
    grid = rng.uniform(-1.7, 1.7, (2, 3, 4, 2)).astype(np.float32)
    for corners in (0, 1):
        how = {"padding_mode": padding, "align_corners": corners}
        check_node("GridSample", [x, grid], 16, mode=mode, **how)
        check_node("GridSample", [x, grid], 20, mode=mode.removeprefix("bi"), **how)


def test_grid_sample_of_volumes_and_halves_with_the_default_mode_of_each_opset():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((1, 2, 3, 4, 2))
    grid = rng.uniform(-1.3, 1.3, (1, 2, 2, 3, 3)).astype(np.float32)
    check_node("GridSample", [x.astype(np.float32), grid], 20)
    check_node("GridSample", [x.astype(np.float16), grid], 22, padding_mode="border")
    check_node("GridSample", [x, grid], 22, mode="nearest")
    check_node("GridSample", [x, grid], 22, mode="cubic", by_reference=True)
    check_node("GridSample", [x[:, :, 0].astype(np.float32), grid[:, 0, ..., :2]], 16)


@pytest.mark.parametrize("seed", range(12))
def test_roi_align_and_max_roi_pool(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2, 2, 5, 7)).astype(FLOATS[seed % 4])
    scale = float(rng.choice([1.0, 0.5]))
    ends = np.sort(rng.uniform(-1, 8 / scale, (3, 2, 2)), axis=1)
    rois = np.round(ends * 2).reshape(3, 4) / 2
    images = rng.integers(0, 2, 3)
    how = {} if seed % 3 == 0 else {"coordinate_transformation_mode": "output_half_pixel"}
    check_node(
        "RoiAlign",
        [x, rois.astype(x.dtype), images],
        10 if seed % 3 == 0 else [16, 22][seed % 2],
        mode=["avg", "max"][seed // 2 % 2],
        output_height=2,
        output_width=3,
        sampling_ratio=seed % 3,
        spatial_scale=scale,
        **how,
    )
    regions = np.concatenate([images[:, None], rois], 1).astype(np.float32)
    how = {"pooled_shape": [2, 3], "spatial_scale": scale}
    if pytest.importorskip("onnxruntime"):
        check_node("MaxRoiPool", [x.astype(np.float32), regions], 1, **how)


@pytest.mark.parametrize("seed", range(6))
def test_deform_conv(seed):
    rng = np.random.default_rng(seed)
    groups, offset_groups = 1 + seed % 2, 1 + seed // 2 % 2
    kernel, strides, dilations = ([int(n) for n in rng.integers(1, 3, 2)] for _ in range(3))
    pads = [int(n) for n in rng.integers(1, 3, 4)]
    x = rng.standard_normal((2, 4, 6, 5)).astype(FLOATS[seed % 3])
    steps = [
        (n + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1
        for i, n in enumerate(x.shape[2:])
    ]
    weights = rng.standard_normal((2, 4 // groups, *kernel))
    elements = offset_groups * math.prod(kernel)
    offsets = rng.standard_normal((2, 2 * elements, *steps))
    bias = rng.standard_normal(2) if seed % 2 else None
    mask = rng.uniform(0, 1, (2, elements, *steps)) if seed % 3 else None
    inputs = [None if a is None else a.astype(x.dtype) for a in (x, weights, offsets, bias, mask)]
    check_node(
        "DeformConv",
        inputs,
        19,
        group=groups,
        offset_group=offset_groups,
        strides=strides,
        dilations=dilations,
        pads=pads,
    )


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_col2im(rank, dtype):
    rng = np.random.default_rng(rank)
    size, block = [5, 4, 6][:rank], [2, 3, 1][:rank]
    strides, dilations, pads = [1, 2, 2][:rank], [2, 1, 1][:rank], [1, 0, 2, 2, 1, 0][: 2 * rank]
    steps = [
        (n + pads[i] + pads[i + rank] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
        for i, n in enumerate(size)
    ]
    columns = rng.standard_normal((2, 2 * math.prod(block), math.prod(steps))).astype(dtype)
    check_node(
        "Col2Im",
        [columns, np.array(size), np.array(block)],
        18,
        constants=(1, 2),
        # onnxruntime is wrong for uneven padding of three axes
        by_reference=True,
        strides=strides,
        dilations=dilations,
        pads=pads,
    )


def test_regions_are_differentiable_and_replayed():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 1, 4, 4)).astype(np.float32)
    rois = np.array([[0.5, 0.5, 3, 2.5]], np.float32)
    model = one_node(
        "RoiAlign", [x, rois, np.zeros(1, np.int64)], 16, output_height=2, output_width=2
    )
    runner = OnnxRunner(model.SerializeToString())
    results = [
        runner({"x0": x * k, "x1": rois, "x2": np.zeros(1, np.int64)})["y0"].numpy()
        for k in (1, 2, 3, 4)
    ]
    for k, result in enumerate(results):
        np.testing.assert_allclose(result, results[0] * (k + 1), rtol=1e-5)
    image = Tensor(x, requires_grad=True)
    runner({"x0": image, "x1": rois, "x2": np.zeros(1, np.int64)})["y0"].sum().backward()
    assert image.grad is not None
    # a mean of points inside of the image: the weights of each of the four cells add up to 1
    np.testing.assert_allclose(image.grad.numpy().sum(), 4, rtol=1e-5)
