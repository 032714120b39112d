"""Calls that fail name the wrong argument; those that do not are left alone."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Self

import pytest
from tg_uop import dtypes
from tg_uop.arguments import methods_name_bad_arguments, names_bad_arguments, shown
from tg_uop.errors import (
    ArgumentError,
    ArgumentTypeError,
    OperandError,
    ShapeError,
    SignatureError,
)
from tg_uop.suggest import closest, did_you_mean


@methods_name_bad_arguments(others={"apart": ["dim"]}, inner=["hidden"])
class Box:
    """A class with one method a kind of argument."""

    def __init__(self, size: int) -> None:
        self.size = size + 0

    def __call__(self, other: Self) -> int:
        return self.size + other.size

    def along(self, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> object:
        return (sum(axis) if isinstance(axis, list) else (axis or 0) + 1), keepdim

    def apart(self, axis: int = 0) -> int:
        return axis + 0

    def several(self, *others: Self) -> int:
        return sum(other.size for other in others)

    def paired(self, pair: tuple[int, str]) -> str:
        return pair[1] * pair[0]

    def named(self, names: Mapping[str, float]) -> float:
        return sum(names.values())

    def mode(self, name: Literal["a", "b"]) -> int:
        return {"a": 1, "b": 2}[name]

    def divided(self, by: float) -> float:
        return self.size / by

    def applied(self, function: Callable[[int], int]) -> int:
        return function(self.size)

    def hidden(self, value: int) -> int:
        return value + 0

    def unknown(self, value: NotThere) -> int:  # type: ignore[name-defined]  # noqa: F821
        return value + 0

    @classmethod
    def made(cls, size: int) -> Self:
        return cls(size + 0)

    @staticmethod
    def doubled(value: float) -> float:
        return value + value + 0.0


B = Box(3)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: Box("a"), ArgumentTypeError, "Box: size is 'a' .*expected a whole number"),
        (lambda: B(3), ArgumentTypeError, "Box: other is 3 .*expected a Box"),
        (lambda: B.along("a"), ArgumentTypeError, "axis is 'a' .*a whole number, None or a list"),
        (lambda: B.along([1, "a"]), ArgumentTypeError, r"axis\[1\] is 'a'"),
        (lambda: B.several(B, None), ArgumentTypeError, r"others\[1\] is None, expected a Box"),
        (lambda: B.paired((1,)), ArgumentTypeError, "expected 2 values: a whole number, a text"),
        (lambda: B.named([1]), ArgumentTypeError, "names is .*expected a dict"),
        (lambda: B.mode("c"), ArgumentTypeError, "expected one of 'a', 'b'"),
        (lambda: B.divided("a"), ArgumentTypeError, "by is 'a' .*expected a number"),
        (lambda: B.divided(0), ArgumentError, "by must be other than 0"),
        (lambda: B.applied(3), ArgumentTypeError, "expected a function"),
        (lambda: Box.made("a"), ArgumentTypeError, "made: size is 'a'"),
        (lambda: Box.doubled("a"), ArgumentTypeError, "doubled: value is 'a'"),
        (lambda: Box.divided(3, 2), ArgumentTypeError, "what it is called on is 3"),
        (lambda: Box(), SignatureError, "Box: missing a required argument: 'size'"),
        (lambda: B.along(0, False, 1), SignatureError, "too many positional arguments"),
        (lambda: B.along(axsi=0), SignatureError, "did you mean 'axis'"),
        (lambda: B.apart(dim=0), SignatureError, "did you mean 'axis'"),
        (lambda: B.along(axis=0, dim=0), SignatureError, "both 'axis' and 'dim'"),
        (lambda: dtypes.finfo("float32"), ArgumentTypeError, "dtype is .*expected a DType"),
        (lambda: dtypes.max(3), ArgumentTypeError, "dtype is .*expected a DType"),
    ],
)
def test_the_wrong_argument_is_named(
    call: Callable[[], object], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text) as caught:
        call()
    error = caught.value
    assert isinstance(error, ArgumentTypeError | SignatureError | ArgumentError)
    assert error.location is not None
    assert error.location[0] == __file__
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_what_fits_is_left_alone() -> None:
    def fails(value: int) -> int:
        raise TypeError("mine")

    for call, text in (
        (lambda: B.applied(fails), "mine"),
        (lambda: B.hidden("a"), "concatenate"),
        (lambda: B.unknown("a"), "concatenate"),
    ):
        with pytest.raises(TypeError, match=text) as caught:
            call()
        assert type(caught.value) is TypeError
    assert (B(B), B.several(B, B), B.paired((2, "a")), Box.doubled(2)) == (6, 6, "aa", 4.0)
    assert B.along(dim=3, keepdims=True) == (4, True)
    assert B.along(axes=[1, 2]) == (3, False)


def test_errors_of_the_tree_are_left_alone() -> None:
    @names_bad_arguments
    def refuses(size: int) -> None:
        raise ShapeError(op="refuses", shapes=(), reason="it always does")

    with pytest.raises(ShapeError, match="it always does"):
        refuses("a")  # type: ignore[arg-type]


def test_methods_keep_their_signature_and_name() -> None:
    assert list(inspect.signature(Box.along).parameters) == ["self", "axis", "keepdim"]
    assert Box.along.__qualname__ == "Box.along"


def test_a_class_below_has_errors_of_its_own_name() -> None:
    @methods_name_bad_arguments()
    class Crate(Box):
        """A box."""

    with pytest.raises(ArgumentTypeError, match="Crate: size is"):
        Crate("a")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"Crate: other is 3 .*expected a Crate"):
        Crate(3)(3)  # type: ignore[arg-type]


def test_values_are_shown_short() -> None:
    assert shown(None) == "None"
    assert shown(True) == "True"
    assert shown("a") == "'a' (of type str)"
    assert len(shown(list(range(1000)))) < 90
    assert issubclass(OperandError, TypeError)
    assert issubclass(OperandError, ValueError)


def test_names_that_were_meant() -> None:
    assert closest("flaot32", ["int32", "float32"]) == "float32"
    assert did_you_mean("zzz", ["int32", "float32"]) == ""
    assert did_you_mean("DEBU", ["BEAM", "DEBUG"]) == "did you mean 'DEBUG'? "
