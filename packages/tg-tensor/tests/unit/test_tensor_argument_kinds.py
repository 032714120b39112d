"""Arguments of kinds that nothing can be done with: named errors, at the user's line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_runtime.device import Device
from tg_tensor import Tensor, Variable, dtypes
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


def test_a_dtype_is_no_device() -> None:
    with pytest.raises(TargetError, match=r"cast\(\) changes the dtype"):
        X.to(dtypes.float16)  # type: ignore[arg-type]


def check(error: object) -> None:
    assert isinstance(error, TgError)
    assert error.location is not None
    assert error.location[0].endswith("test_tensor_argument_kinds.py")


V = Variable("v", 1, 5)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: Variable("a", 5, 1), ValueError, "bounds of which the first is not above"),
        (lambda: Variable("", 0, 1), ValueError, "a name, and bounds"),
        (lambda: Variable(3, 0, 1), TypeError, "name is 3"),
        (lambda: Variable("a", "0", 1), TypeError, "min_val is '0'"),
        (lambda: Variable("a", 1), TypeError, "missing .*'max_val'"),
        (lambda: V.bind("z"), TypeError, "takes whole numbers"),
        (lambda: V.bind(2.5), TypeError, "one from 1 to 5"),
        (lambda: V.bind(6), ValueError, "declared for 1 to 5"),
        (lambda: V.unbind(), TypeError, "no variable with a value"),
        (lambda: V + "a", TypeError, "must be a number"),
        (lambda: len(Tensor(3)), TypeError, "without axes"),
        (lambda: list(Tensor(3)), TypeError, "without axes"),
        (lambda: list(reversed(Tensor(3))), IndexError, "without axes"),
        (lambda: range(Tensor(1.5)), TypeError, "is no index"),
        (lambda: X.__delitem__(0), TypeError, "can be deleted"),
        (lambda: X.clip(), RuntimeError, "a lower bound, an upper bound"),
        (lambda: X.gelu("x"), ValueError, "gelu: approximate"),
        (lambda: X.div(2, rounding_mode="x"), RuntimeError, "rounding_mode must be None, 'trunc'"),
        (lambda: Tensor.full((2,), 1, foo=2), TypeError, "full: it takes no argument foo"),
        (lambda: Tensor.rand(2, foo=2), TypeError, "rand: it takes no argument foo"),
    ],
)
def test_mistakes_have_a_class_of_the_tree_and_the_kind_that_others_raise(
    call: Callable[[], object], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text) as caught:
        call()
    check(caught.value)
