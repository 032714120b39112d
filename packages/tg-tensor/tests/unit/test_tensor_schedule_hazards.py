"""Writes in place: order, overlap, and values that were built before."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tg_tensor import GlobalCounters, Tensor

Array = npt.NDArray[np.float32]
rng = np.random.default_rng(1)


def data(*shape: int) -> tuple[Tensor, Array]:
    array = rng.standard_normal(shape).astype(np.float32)
    return Tensor(array).realize(), array


def test_a_write_that_reads_its_own_element_needs_no_copy() -> None:
    x, a = data(8)
    x.assign(x * 2 + 1)
    GlobalCounters.reset()
    x.realize()
    assert GlobalCounters.kernel_count == 1
    np.testing.assert_allclose(x.numpy(), a * 2 + 1, rtol=1e-6)


def test_a_write_that_reads_other_elements_reads_them_first() -> None:
    x, a = data(6, 6)
    x.assign(x.permute(1, 0)).realize()
    np.testing.assert_array_equal(x.numpy(), a.T)


def test_overlapping_copies_behave_as_if_the_source_were_copied_first() -> None:
    x, a = data(16)
    x[1:] = x[:-1]
    expected = a.copy()
    expected[1:] = a[:-1]
    np.testing.assert_array_equal(x.numpy(), expected)


def test_two_tensors_swap() -> None:
    x, a = data(8)
    y, b = data(8)
    old_x, old_y = x + 0, y + 0
    x.assign(old_y)
    y.assign(old_x)
    x.realize(y)
    np.testing.assert_array_equal(x.numpy(), b)
    np.testing.assert_array_equal(y.numpy(), a)


def test_a_lazy_value_keeps_what_it_was_built_from() -> None:
    x, a = data(8)
    before = x * 3
    x.assign(x + 1).realize()
    np.testing.assert_allclose(before.numpy(), a * 3, rtol=1e-6)
    np.testing.assert_allclose(x.numpy(), a + 1, rtol=1e-6)


def test_a_view_keeps_what_it_was_built_from() -> None:
    x, a = data(4, 4)
    row = x[1]
    x[1] = 7
    x.realize()
    np.testing.assert_array_equal(row.numpy(), a[1])


def test_old_and_new_contents_in_one_value() -> None:
    x, a = data(8)
    before = x + 0
    x.assign(x * 2)
    np.testing.assert_allclose((before + x).numpy(), a + a * 2, rtol=1e-6)


def test_chained_writes_run_in_order() -> None:
    x, a = data(8)
    x.assign(x + 1)
    x[:4] = x[4:] * 3
    x.assign(x.flip(0))
    expected = a + 1
    expected[:4] = expected[4:] * 3
    np.testing.assert_allclose(x.numpy(), expected[::-1], rtol=1e-6)


def test_a_pending_write_happens_once() -> None:
    x, a = data(4)
    x.assign(x + 1)
    y = x * 2
    y.realize()
    x.realize()
    np.testing.assert_allclose(x.numpy(), a + 1, rtol=1e-6)
    np.testing.assert_allclose(y.numpy(), (a + 1) * 2, rtol=1e-6)


def test_two_values_of_one_constant_have_memory_of_their_own() -> None:
    x = Tensor.zeros(4).contiguous()
    y = Tensor.zeros(4).contiguous()
    x.realize(y)
    x.assign(x + 1).realize()
    np.testing.assert_array_equal(x.numpy(), np.ones(4))
    np.testing.assert_array_equal(y.numpy(), np.zeros(4))


def test_clones_of_one_value_are_written_apart() -> None:
    x, a = data(4)
    first, second = x.clone(), x.clone()
    first.realize(second)
    first.assign(first + 1)
    second.assign(second + 2)
    first.realize(second)
    np.testing.assert_allclose(first.numpy(), a + 1, rtol=1e-6)
    np.testing.assert_allclose(second.numpy(), a + 2, rtol=1e-6)
    np.testing.assert_allclose(x.numpy(), a, rtol=1e-6)
