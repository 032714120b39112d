"""Products of narrow dtypes on a device with a unit for them: one kernel, and right."""

from __future__ import annotations

import numpy as np
import pytest
from tg_runtime import Device
from tg_tensor import GlobalCounters, Tensor
from tg_tensor.schedule.products import widened_factors
from tg_uop import DType, dtypes
from tg_uop.context import Context

needs_unit = pytest.mark.skipif(
    not Device["CPU"].renderer.caps.tensor_cores, reason="this processor has no matrix unit"
)


def integers(*shape: int, dtype: DType = dtypes.bfloat16) -> Tensor:
    numbers = np.random.default_rng(shape[0]).integers(-8, 8, shape)
    return Tensor(numbers.astype(np.float32)).cast(dtype).realize()


def kernels(value: Tensor) -> int:
    GlobalCounters.reset()
    value.realize()
    return GlobalCounters.kernel_count


@needs_unit
@pytest.mark.parametrize("dtype", [dtypes.bfloat16, dtypes.int8], ids=str)
def test_a_product_of_narrow_factors_is_one_kernel(dtype: DType) -> None:
    left, right = integers(48, 64, dtype=dtype), integers(64, 40, dtype=dtype)
    wide = dtypes.float32 if dtype.is_float else dtypes.int32
    expected = left.cast(wide).numpy() @ right.cast(wide).numpy()
    product = left.matmul(right, dtype=wide)
    assert kernels(product) == 1
    np.testing.assert_array_equal(product.numpy(), expected)
    turned = left.matmul(integers(40, 64, dtype=dtype).T, dtype=wide)
    assert kernels(turned) == 1


@needs_unit
def test_two_products_of_one_value_are_two_kernels() -> None:
    """A unit computes one product a kernel; without it both would share what they read."""
    x = integers(48, 64, dtype=dtypes.int8)
    weights = [integers(64, 40, dtype=dtypes.int8), integers(64, 40, dtype=dtypes.int8) ^ 1]
    Tensor.realize(*weights)

    def products() -> list[Tensor]:
        return [x.matmul(weight, dtype=dtypes.int32) for weight in weights]

    GlobalCounters.reset()
    Tensor.realize(*products())
    assert GlobalCounters.kernel_count == 2
    both = products()
    expected = [x.int().numpy() @ weight.int().numpy() for weight in weights]
    for product, values in zip(both, expected, strict=True):
        np.testing.assert_array_equal(product.numpy(), values)


@needs_unit
def test_without_tensor_cores_the_factors_are_widened_first() -> None:
    left, right = integers(48, 64), integers(64, 40)
    expected = (left @ right).float().numpy()
    with Context(TC=0):
        product = left @ right
        assert kernels(product) == 3
    np.testing.assert_array_equal(product.float().numpy(), expected)


def test_only_conversions_of_both_factors_are_found() -> None:
    narrow = Tensor.empty(4, 8, dtype=dtypes.bfloat16)
    wide = Tensor.empty(8, 4)
    products = frozenset([(dtypes.bfloat16, dtypes.float32)])

    def found(value: Tensor) -> int:
        return len(widened_factors(value.uop.toposort(), products))

    assert found(narrow.float() @ narrow.T.contiguous().float()) == 2
    assert found(narrow.float() @ wide) == 0
    assert found(narrow.float().exp() @ narrow.T.float()) == 0


@pytest.mark.parametrize(
    ("sum_of", "rows", "columns", "kernels"),
    [(520, 513, 300, 2), (520, 513, 40, 1), (64, 513, 300, 1)],
    ids=["long and wide", "narrow", "short"],
)
def test_a_left_factor_read_across_is_transposed_where_it_pays(
    sum_of: int, rows: int, columns: int, kernels: int
) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((sum_of, n)).astype(np.float32) for n in (rows, columns))
    left, right = Tensor(a).realize(), Tensor(b).realize()
    GlobalCounters.reset()
    result = (left.T @ right).relu().realize()
    assert GlobalCounters.kernel_count == kernels
    np.testing.assert_allclose(result.numpy(), np.maximum(a.T @ b, 0), rtol=1e-4, atol=1e-3)


def test_two_products_read_one_transposed_copy() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal((520, 512)).astype(np.float32) for _ in range(3))
    left, others = Tensor(a).realize(), [Tensor(x).realize() for x in (b, c)]
    GlobalCounters.reset()
    results = [(left.T @ other).contiguous() for other in others]
    Tensor.realize(*results)
    assert GlobalCounters.kernel_count <= 3
    for result, x in zip(results, (b, c), strict=True):
        np.testing.assert_allclose(result.numpy(), a.T @ x, rtol=1e-4, atol=1e-3)
