"""A pad inside a pad keeps both conditions, whatever movement stands between them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_tensor import Tensor


def test_the_gradient_of_a_diagonal_is_a_diagonal():
    x = Tensor(np.ones((3, 5), np.float32), requires_grad=True)
    (x.diagonal() * Tensor([1.0, 2.0, 3.0])).sum().backward()
    expected = np.zeros((3, 5), np.float32)
    expected[[0, 1, 2], [0, 1, 2]] = [1, 2, 3]
    np.testing.assert_array_equal(x.grad.numpy(), expected)


@st.composite
def chains(draw: st.DrawFn) -> list[tuple[str, tuple[int, int], tuple[int, int]]]:
    small = st.integers(0, 2)
    pairs = st.tuples(small, small)
    kinds = st.sampled_from(["pad", "shrink", "fold", "transpose"])
    return draw(st.lists(st.tuples(kinds, pairs, pairs), min_size=2, max_size=6))


@given(chains())
@settings(max_examples=60)
def test_chains_of_pads_and_shrinks_agree_with_numpy(chain):
    array = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    ours = Tensor(array)
    for kind, rows, columns in chain:
        if kind == "pad":
            array = np.pad(array, (rows, columns))
            ours = ours.pad((rows, columns))
        elif kind == "transpose":
            array, ours = array.T, ours.permute(1, 0)
        elif kind == "fold":
            array = array.reshape(array.shape[1], array.shape[0])
            ours = ours.reshape(array.shape)
        else:
            keep = [
                (min(pair[0], size - 1), max(size - pair[1], min(pair[0], size - 1) + 1))
                for pair, size in zip((rows, columns), array.shape, strict=True)
            ]
            array = array[keep[0][0] : keep[0][1], keep[1][0] : keep[1][1]]
            ours = ours.shrink(tuple(keep))
    np.testing.assert_array_equal((ours * 2).numpy(), array * 2)
