"""Models of one node with random attributes, shapes and dtypes give what onnxruntime gives.

ONNX_CASES=200 in the environment runs so many of each operator.
"""

from __future__ import annotations

import os
import zlib

import numpy as np
import pytest
from onnx_exact import exact_session
from onnx_single_cases import FAMILIES, Case, Make
from tg_onnx import OnnxRunner

onnxruntime = pytest.importorskip("onnxruntime")

COUNT = int(os.environ.get("ONNX_CASES", "2"))
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-6}


def expected(case: Case, data: bytes) -> list[np.ndarray] | None:
    """What onnxruntime gives; None for what it refuses or has no kernel for."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = exact_session(data, options)
        return session.run(None, case.feeds())
    except Exception:  # its errors have no common class
        return None


def compare(case: Case, seed: int) -> bool:
    """Whether there was something to compare with. Raises AssertionError where it differs."""
    data = case.model(symbolic=seed % 2 == 0)
    wanted = expected(case, data)
    if wanted is None:
        return False
    found = OnnxRunner(data)(case.feeds())
    for reference, output in zip(wanted, found.values(), strict=True):
        ours = output if isinstance(output, np.ndarray) else output.numpy()
        assert ours.shape == reference.shape
        if reference.dtype.kind == "V" or ours.dtype != reference.dtype:
            assert str(ours.dtype) == str(reference.dtype)
        quantized = "Quantize" in case.operator or case.operator.startswith("QLinear")
        if quantized and reference.dtype.kind in "iu":
            assert np.abs(ours.astype(int) - reference.astype(int)).max(initial=0) <= 1
            continue
        tolerance = TOLERANCE.get(str(reference.dtype), 0) * case.loose
        np.testing.assert_allclose(ours, reference, rtol=tolerance, atol=tolerance)
    return True


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_operator(name):
    compared = 0
    for number in range(COUNT):
        seed = zlib.crc32(f"{name} {number}".encode())
        compared += compare(FAMILIES[name](Make(seed)), number)
