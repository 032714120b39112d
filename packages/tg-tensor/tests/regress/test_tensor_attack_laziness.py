"""A lazy value is what it was when built, also where computing it would be nothing to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_tensor import Tensor


def _assign(x: Tensor) -> None:
    x.assign(x * 0)


def _set(x: Tensor) -> None:
    x[0:] = 0.0


def _set_masked(x: Tensor) -> None:
    x[x > 0] = 0.0


@pytest.mark.parametrize("write", [_assign, _set, _set_masked])
@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.contiguous(),
        lambda x: x.detach(),
        lambda x: x.reshape(2, 2).contiguous().detach(),
        lambda x: x[1:].contiguous(),
        lambda x: x[::2],
        lambda x: x * 1,
    ],
)
def test_a_later_write_is_not_seen(
    read: Callable[[Tensor], Tensor], write: Callable[[Tensor], None]
) -> None:
    """Whether the writer, the reader or both are realized."""
    for order in ([0], [1], [0, 1], [1, 0]):
        x = Tensor([1.0, 2.0, 3.0, 4.0]).realize()
        want = read(x).tolist()
        y = read(x)
        write(x)
        first, *rest = [(x, y)[i] for i in order]
        first.realize(*rest)
        assert y.tolist() == want
        assert x.tolist() == [0.0, 0.0, 0.0, 0.0]
