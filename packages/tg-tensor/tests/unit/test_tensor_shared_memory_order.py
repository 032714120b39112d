"""Work on memory that others have, too, is done when the call that asked for it returns."""

from __future__ import annotations

import numpy as np
import pytest
from tg_runtime import Buffer
from tg_tensor import Tensor, TinyJit
from tg_tensor.engine.buffers import buffer_of

SIZE = 1 << 20


def test_what_is_written_after_a_realize_is_not_read_by_it() -> None:
    array = np.ones(SIZE, np.float32)
    lent = Tensor.from_dlpack(array)
    for turn in range(20):
        found = (lent * 2 + 1).exp().log().realize()
        array[:] = turn
        expected = 3.0 if turn == 0 else 2.0 * (turn - 1) + 1
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_a_captured_step_waits_too() -> None:
    array = np.ones(SIZE, np.float32)
    lent = Tensor.from_dlpack(array)
    step = TinyJit(lambda x: (x * 2 + 1).exp().log().realize())
    for turn in range(20):
        found = step(lent)
        array[:] = turn
        expected = 3.0 if turn == 0 else 2.0 * (turn - 1) + 1
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("how", ["data", "dlpack", "array"])
def test_a_write_shows_in_memory_that_was_given_away(how: str) -> None:
    x = Tensor.ones(SIZE).contiguous().realize()
    if how == "data":
        seen = np.frombuffer(x.data(), np.float32)
    else:
        seen = np.from_dlpack(x) if how == "dlpack" else x.__array__(copy=False)
    for turn in range(20):
        x.assign((Tensor.ones(SIZE) * turn).exp().log()).realize()
        assert seen[-1] == pytest.approx(turn, abs=1e-5)


def test_only_memory_that_others_have_is_waited_for() -> None:
    own = Tensor.ones(4).contiguous().realize()
    own.numpy()
    assert not buffer_of(own.uop.base).is_shared
    array = np.ones(8, np.float32)
    lent = Tensor.from_dlpack(array)
    assert buffer_of(lent.uop.base).is_shared
    assert Buffer.any_shared
    part = buffer_of(lent.uop.base).view(4, lent.dtype, 16)
    assert part.is_shared
