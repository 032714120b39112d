"""What is no Tensor, no number or no parameter is named: method, argument, given, expected."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_uop.errors import ArgumentTypeError, OperandError, SignatureError, TgError

X = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
IMAGE = Tensor.ones(1, 3, 8, 8)

NO_TENSOR: list[tuple[str, Callable[[], object]]] = [
    ("conv2d weight", lambda: IMAGE.conv2d("w")),  # type: ignore[arg-type]
    ("conv2d bias", lambda: IMAGE.conv2d(Tensor.ones(4, 3, 3, 3), "b")),  # type: ignore[arg-type]
    ("matmul x", lambda: X.matmul("a")),
    ("dot w", lambda: X.dot("a")),
    ("gradient targets[0]", lambda: X.sum().gradient("a")),  # type: ignore[arg-type]
    ("backward gradient", lambda: X.sum().backward("a")),  # type: ignore[arg-type]
    ("linear weight", lambda: X.linear(3)),  # type: ignore[arg-type]
    ("gather index", lambda: X.gather(0, [[0]])),  # type: ignore[arg-type]
    ("index_select index", lambda: X.index_select(0, np.array([0]))),  # type: ignore[arg-type]
    ("kron other", lambda: X.kron("a")),  # type: ignore[arg-type]
    ("lerp weight", lambda: X.lerp(X, "a")),  # type: ignore[arg-type]
    ("cross_entropy Y", lambda: X.cross_entropy([1, 0])),  # type: ignore[arg-type]
    ("where y", lambda: (X > 0).where(1, "a")),
    ("maximum x", lambda: X.maximum("a")),
    ("add x", lambda: X.add({})),
]


@pytest.mark.parametrize(("where", "call"), NO_TENSOR, ids=[where for where, _ in NO_TENSOR])
def test_what_is_no_tensor_is_named(where: str, call: Callable[[], object]) -> None:
    method, argument = where.split()
    with pytest.raises(OperandError, match=r"expected a Tensor") as caught:
        call()
    error = caught.value
    assert isinstance(error, TypeError)
    assert isinstance(error, ValueError)
    assert error.call.split()[0] == method
    assert error.argument == argument
    assert_located(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_hint_for_data_says_how_a_tensor_is_made_of_it() -> None:
    for data in ([1, 0], np.zeros(2), 3):
        with pytest.raises(OperandError, match=r"Tensor\(\.\.\.\) makes one of it"):
            X.cross_entropy(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("operand", [[1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), Tensor([1, 2, 3])])
def test_operands_of_arithmetic_are_lists_and_arrays_too(operand: object) -> None:
    want = [[2, 4, 6], [5, 7, 9]]
    assert (X + operand).tolist() == want
    assert X.add(operand).tolist() == want
    assert (X > 0).where(operand, 0).tolist() == [[1, 2, 3], [1, 2, 3]]


@pytest.mark.parametrize("operand", ["a", {}, None, object()])
def test_what_no_tensor_is_made_of_is_no_operand(operand: object) -> None:
    for call in (lambda: X + operand, lambda: operand * X, lambda: operand > X, lambda: X**operand):
        with pytest.raises(OperandError, match="expected a Tensor, a number, a list") as caught:
            call()
        assert_located(caught.value)


NO_NUMBER: list[tuple[str, Callable[[], object]]] = [
    ("dropout p", lambda: X.dropout("a")),  # type: ignore[arg-type]
    ("eye n", lambda: Tensor.eye("a")),  # type: ignore[arg-type]
    ("manual_seed seed", lambda: Tensor.manual_seed(1.5)),  # type: ignore[arg-type]
    ("uniform low", lambda: Tensor.uniform(3, low="a")),  # type: ignore[arg-type]
    ("var correction", lambda: X.var(correction="a")),  # type: ignore[arg-type]
    ("sum axis", lambda: X.sum("a")),  # type: ignore[arg-type]
    ("softmax axis", lambda: X.softmax([0])),  # type: ignore[arg-type]
    ("topk k", lambda: X.topk("a")),  # type: ignore[arg-type]
    ("leaky_relu neg_slope", lambda: X.leaky_relu("a")),  # type: ignore[arg-type]
    ("sequential ll[0]", lambda: X.sequential([3])),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("where", "call"), NO_NUMBER, ids=[where for where, _ in NO_NUMBER])
def test_what_is_no_number_is_named(where: str, call: Callable[[], object]) -> None:
    method, argument = where.split()
    with pytest.raises(ArgumentTypeError, match="expected a") as caught:
        call()
    error = caught.value
    assert (error.call.split()[0], error.argument) == (method, argument)
    assert_located(error)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: X.sum(axsi=0), "sum: .*'axsi'; did you mean 'axis'"),
        (lambda: X.max(dim=0), "max: .*'dim'; did you mean 'axis'"),
        (lambda: Tensor.full(2), "full: missing a required argument: 'fill_value'"),
        (lambda: Tensor.cat(), "cat: missing a required argument: what it is called on"),
        (lambda: X.relu(1), "relu: too many positional arguments; it takes no arguments"),
        (lambda: Tensor(3, dtyp="int"), "Tensor: .*'dtyp'; did you mean 'dtype'"),
        (lambda: X.sum(axis=0, dim=0), "got both 'axis' and 'dim'"),
    ],
)
def test_arguments_that_are_no_parameters(call: Callable[[], object], text: str) -> None:
    with pytest.raises(SignatureError, match=text) as caught:
        call()
    assert isinstance(caught.value, TypeError)
    assert_located(caught.value)


AXIS_METHODS = ["sum", "prod", "mean", "any", "all", "var", "std", "argmax", "argmin", "amax",
                "amin", "softmax", "log_softmax", "logsumexp", "cumsum", "cumprod", "argsort",
                "count_nonzero", "nansum", "nanmean", "median", "norm", "logcumsumexp", "squeeze",
                "unsqueeze", "flip"]  # fmt: skip


@pytest.mark.parametrize("method", AXIS_METHODS)
def test_an_axis_has_the_names_of_all_libraries(method: str) -> None:
    want = first(getattr(X, method)(0)).tolist() if method != "norm" else X.norm(2, 0).tolist()
    for name in ("axis", "dim"):
        assert first(getattr(X, method)(**{name: 0})).tolist() == want


@pytest.mark.parametrize("method", ["sum", "max", "min", "mean", "std", "argmax", "all", "amax"])
def test_kept_axes_have_the_names_of_all_libraries(method: str) -> None:
    for name in ("keepdim", "keepdims"):
        assert getattr(X, method)(**{name: True}).shape == (1, 1)


def test_methods_are_those_of_the_class() -> None:
    assert pickle.loads(pickle.dumps(Tensor.relu)) is Tensor.relu
    assert Tensor.relu.__qualname__ == "Tensor.relu"


def test_errors_of_functions_by_a_user_stay_as_they_are() -> None:
    def fails(x: Tensor) -> Tensor:
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine") as caught:
        X.sequential([fails])
    assert type(caught.value) is TypeError


def first(result: object) -> Tensor:
    found = result[0] if isinstance(result, tuple) else result
    assert isinstance(found, Tensor)
    return found


def assert_located(error: TgError) -> None:
    assert error.location is not None
    assert error.location[0].endswith("test_tensor_named_arguments.py")
