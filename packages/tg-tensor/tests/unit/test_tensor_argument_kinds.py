"""Arguments of kinds that nothing can be done with: named errors, at the user's line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_runtime.device import Device
from tg_tensor import Tensor
from tg_uop.errors import ArgumentTypeError, IndexItemError, TgError
from tg_uop.target import TargetError

X = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.sum("a"),
        lambda: X.softmax(axis=0.5),
        lambda: X.argsort(dim="a"),
        lambda: X.cumsum("a"),
        lambda: X.transpose("a", 0),
    ],
)
def test_an_axis_that_is_no_number(call: Callable[[], object]) -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"shape \(2, 3\).*(axis|dim0?) is .*expected a whole number"
    ) as e:
        call()
    check(e.value)


@pytest.mark.parametrize("item", [0.5, "a", {}, slice(1, 2, "a"), slice("a", None), slice(0, 2, 0)])
@pytest.mark.parametrize("kind", [IndexItemError, TypeError, IndexError, ValueError])
def test_an_item_that_is_no_index(item: object, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="is no index") as e:
        X[item]
    check(e.value)


@pytest.mark.parametrize("call", [lambda: X.to(3), lambda: Device[3], lambda: X.to(["CPU", 3])])
def test_a_device_that_is_no_text(call: Callable[[], object]) -> None:
    with pytest.raises(TargetError, match="named by a text, not by 3"):
        call()


def check(error: object) -> None:
    assert isinstance(error, TgError)
    assert error.location is not None
    assert error.location[0].endswith("test_tensor_argument_kinds.py")
