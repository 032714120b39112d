"""Every public name of Tensor, each as its row of the table says."""

from __future__ import annotations

from collections import Counter

import pytest
from tensor_table.cases import Case, Holds, Mistake
from tensor_table.check import difference_failures, gradient_failures, value_failures
from tensor_table.evaluate import value_of
from tensor_table.reference import Expected, Recorded, by_numpy, key_of
from tensor_table.table import all_rows, public_names
from tg_tensor import Tensor
from tg_uop.errors import TgError

ROWS = all_rows()
CASES = [(row.name, case) for row in ROWS for case in row.cases]
RECORDED = Recorded()


def _oracle(case, variation, inputs, gradient) -> Expected:  # type: ignore[no-untyped-def]
    """NumPy where it has the function, else what PyTorch has said."""
    if case.numpy is not None and not gradient:
        return by_numpy(case, inputs)
    found = RECORDED.find(key_of(case, variation, inputs, gradient))
    if found is None:
        pytest.fail("nothing recorded: run tests/conformance/record.py where PyTorch is")
    return found


def _named(parts: list[tuple[str, object]], text: str) -> list[object]:
    return [pytest.param(p, id=f"{n}: {getattr(p, text)}"[:90]) for n, p in parts]


@pytest.fixture(autouse=True)
def _known_seed() -> None:
    Tensor.manual_seed(7)


@pytest.mark.parametrize("case", _named(CASES, "ours"))
def test_values(case: Case, pytestconfig: pytest.Config) -> None:
    full = pytestconfig.getoption("--full") and case.torch is None
    failures = value_failures(case, _oracle, full)
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("case", _named([p for p in CASES if p[1].gradient], "ours"))
def test_gradient(case: Case) -> None:
    failures = gradient_failures(case, _oracle) if case.torch is not None else []
    failures += difference_failures(case)
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("case", _named([(r.name, h) for r in ROWS for h in r.holds], "expression"))
def test_holds(case: Holds) -> None:
    assert value_of(case.expression, {})


@pytest.mark.parametrize(
    "case", _named([(r.name, m) for r in ROWS for m in r.mistakes], "expression")
)
def test_mistake(case: Mistake) -> None:
    with pytest.raises(_error_class(case.error)) as caught:
        value_of(case.expression, {})
    assert len(str(caught.value)) > 10, "the message should say what was wrong"
    if case.error not in ("TypeError", "ValueError", "BufferError"):
        assert isinstance(caught.value, TgError)


def _error_class(name: str) -> type[Exception]:
    classes = _below(TgError)
    found = classes.get(name) or getattr(__import__("builtins"), name)
    assert issubclass(found, Exception)
    return found


def _below(base: type[Exception]) -> dict[str, type[Exception]]:
    found = {}
    pending: list[type[Exception]] = [base]
    while pending:
        kind = pending.pop()
        found[kind.__name__] = kind
        pending += kind.__subclasses__()
    return found


def test_every_public_name_has_a_row() -> None:
    missing = public_names() - {row.name for row in ROWS}
    assert not missing, f"add rows to tests/conformance/tensor_table/rows for {sorted(missing)}"


def test_no_row_is_of_a_name_that_is_gone() -> None:
    assert not {row.name for row in ROWS} - public_names()


def test_every_name_has_one_row_that_claims_something() -> None:
    twice = [name for name, count in Counter(row.name for row in ROWS).items() if count > 1]
    assert not twice
    assert not [row.name for row in ROWS if not row.cases and not row.holds]
