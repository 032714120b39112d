"""What the benchmark times is right: each row of kernels beside NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tg_tensor import Tensor

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from bench.case import Case  # noqa: E402 - the benchmark is no package that is installed
from bench.kernels import KERNELS  # noqa: E402
from bench.networks import DecodingBlock, TransformerBlock  # noqa: E402


@pytest.mark.parametrize("case", KERNELS, ids=lambda case: case.name)
def test_kernel_gives_what_numpy_gives(case: Case) -> None:
    arrays = case.arrays()
    expected = np.asarray(case.numpy(*arrays))
    result = case.tg_run(arrays)()
    assert isinstance(result, Tensor)
    found = result.float().numpy()
    scale = float(np.abs(expected).max())
    assert found.shape == expected.shape
    assert float(np.abs(found - expected).max()) <= case.tolerance * scale


def test_one_token_after_the_other_gives_what_all_at_once_give() -> None:
    Tensor.manual_seed(0)
    block = DecodingBlock(32, 4, 16)
    tokens = Tensor.randn(1, 6, 32)
    together = TransformerBlock.__call__(block, tokens).numpy()
    for position in range(6):
        one = block.decode(tokens[:, position : position + 1], position).numpy()
        np.testing.assert_allclose(one[0, 0], together[0, position], rtol=1e-4, atol=1e-5)
