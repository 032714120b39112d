"""Resize in every mode, Upsample, CenterCropPad: beside onnxruntime and the onnx package."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_one_node import check_node

TRANSFORMATIONS = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
NOTHING = np.zeros(0, np.float32)


def image(seed, dtype=np.float32, shape=(1, 2, 5, 7)):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * (1 if np.dtype(dtype).kind == "f" else 40)).astype(dtype)


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_by_scales_and_by_sizes(mode, transformation):
    how = {"mode": mode, "coordinate_transformation_mode": transformation}
    scales = np.array([1, 1, 0.6, 2.2], np.float32)
    # onnxruntime takes corners from the length that has been rounded already
    own = {"by_reference": transformation == "align_corners"}
    check_node("Resize", [image(0), NOTHING, scales], 11, constants=(2,), loose=5, **own, **how)
    sizes = np.array([1, 2, 8, 3])
    check_node("Resize", [image(1), None, None, sizes], 13, constants=(3,), loose=5, **how)


@pytest.mark.parametrize("exclude", [0, 1])
@pytest.mark.parametrize("antialias", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_with_antialias_and_without_what_is_outside(mode, antialias, exclude):
    how = {"mode": mode, "antialias": antialias, "exclude_outside": exclude}
    sizes = np.array([2, 11])
    inputs = [image(2), None, None, sizes]
    check_node("Resize", inputs, 19, constants=(3,), by_reference=True, loose=5, axes=[3, 2], **how)
    inputs = [image(3, np.float64), None, np.array([0.5, 0.4], np.float32)]
    check_node("Resize", inputs, 18, constants=(2,), by_reference=True, loose=5, axes=[2, 3], **how)


@pytest.mark.parametrize("ties", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_resize_to_the_nearest(ties):
    how = {"mode": "nearest", "nearest_mode": ties}
    for scale in (0.5, 0.8, 1.5, 2.0):
        scales = np.array([1, 1, scale, scale], np.float32)
        x = image(4, [np.float32, np.uint8, np.int8, np.float16][int(scale * 2) % 4])
        check_node("Resize", [x, None, scales], 13, constants=(2,), **how)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_of_a_region(mode):
    how = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize"}
    roi = np.array([0, 0, 0.1, -0.2, 1, 1, 0.8, 1.2], np.float32)
    sizes = np.array([1, 2, 7, 6])
    inputs = [image(5), roi, None, sizes]
    check_node("Resize", inputs, 13, constants=(1, 3), extrapolation_value=3.0, loose=5, **how)
    inputs = [image(6), roi[[2, 6]], np.array([0.7], np.float32)]
    check_node("Resize", inputs, 18, constants=(1, 2), by_reference=True, axes=[2], loose=5, **how)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_resize_that_keeps_the_aspect_ratio(policy):
    how = {"keep_aspect_ratio_policy": policy, "mode": "linear", "axes": [3, 2]}
    inputs = [image(7), None, None, np.array([10, 4])]
    check_node("Resize", inputs, 18, constants=(3,), by_reference=True, loose=5, **how)


def test_resize_of_a_symmetric_half_pixel_and_of_integers():
    how = {"coordinate_transformation_mode": "half_pixel_symmetric", "mode": "linear"}
    scales = np.array([0.6, 1.7], np.float32)
    inputs = [image(8), None, scales]
    check_node("Resize", inputs, 19, constants=(2,), by_reference=True, axes=[2, 3], **how)
    scales = np.array([1, 1, 2.5, 0.7], np.float32)
    for dtype in (np.uint8, np.int8):
        x = np.random.default_rng(9).integers(0, 120, (1, 2, 4, 5)).astype(dtype)
        check_node("Resize", [x, None, scales], 13, constants=(2,), loose=1.01, mode="linear")


@pytest.mark.parametrize("scale", [0.4, 0.6, 0.9, 1.2, 2.0])
def test_resize_of_opset_10(scale):
    pytest.importorskip("onnxruntime")
    scales = np.array([1, 1, scale, 1], np.float32)
    for mode in ("nearest", "linear"):
        check_node("Resize", [image(10), scales], 10, constants=(1,), mode=mode)


def test_upsample():
    pytest.importorskip("onnxruntime")
    scales = [1.0, 1.0, 2.0, 1.5]
    for mode in ("nearest", "linear"):
        check_node("Upsample", [image(11)], 7, mode=mode, scales=scales)
        given = np.array(scales, np.float32)
        check_node("Upsample", [image(11), given], 9, constants=(1,), mode=mode)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_center_crop_pad(dtype):
    x = image(12, dtype, (3, 5, 4, 7))
    for shape in ([3, 2, 7, 6], [4, 6, 1, 8], [2, 5, 4, 4]):
        check_node("CenterCropPad", [x, np.array(shape)], 18, by_reference=True)
    check_node("CenterCropPad", [x, np.array([4, 8])], 18, by_reference=True, axes=[-1, 1])
