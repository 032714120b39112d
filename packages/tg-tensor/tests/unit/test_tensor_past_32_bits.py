"""More elements than 32 bits count: indices, positions and writes are right beyond them."""

from __future__ import annotations

import os

import pytest
from tg_tensor import Tensor, dtypes

COUNT = (1 << 31) + 40
NEEDED = 8 << 30


def available_bytes() -> int:
    """The memory that a program can still have; 0 where that is not known."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def test_counters_get_the_bits_that_they_need() -> None:
    """Without any memory: of a long counter one element is computed."""
    counter = Tensor.arange(COUNT)
    assert counter.dtype is dtypes.int64
    assert counter[-2:].tolist() == [COUNT - 2, COUNT - 1]
    assert Tensor.zeros(COUNT, dtype=dtypes.int8).argmax().dtype is dtypes.int64
    assert Tensor.zeros(5, dtype=dtypes.int8).argmax().dtype is dtypes.int32
    assert Tensor.ones(1 << 16, 1 << 16).sum().item() == 2.0**32


@pytest.mark.skipif(available_bytes() < NEEDED, reason="needs 8 GiB of free memory")
def test_long_tensors_are_read_and_written_at_their_ends() -> None:
    x = Tensor.zeros(COUNT, dtype=dtypes.int8).contiguous().realize()
    x[COUNT - 3] = 9
    x[(1 << 31) - 1] = 7
    x[10] = 3
    assert x.sum().item() == 19
    assert x.argmax().item() == COUNT - 3
    assert x[COUNT - 5 :].tolist() == [0, 0, 9, 0, 0]
    assert x[-3].item() == 9
    assert x[Tensor([(1 << 31) - 1, COUNT - 3, 10, 0])].tolist() == [7, 9, 3, 0]
    assert x[Tensor([-3, -1])].tolist() == [9, 0]
    assert x[(1 << 31) - 1 :: 8].tolist() == [7, 0, 0, 0, 0, 0]
    assert x.flip(0)[:4].tolist() == [0, 0, 9, 0]
    rows = x.reshape(8, COUNT // 8)
    assert rows.sum(1).tolist() == [3, 0, 0, 0, 0, 0, 0, 16]
    assert (rows + 1)[7, -4:].tolist() == [1, 10, 1, 1]
