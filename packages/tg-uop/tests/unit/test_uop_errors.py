"""The error tree: fields, texts, pickling."""

from __future__ import annotations

import pickle

import pytest
from tg_uop import errors
from tg_uop.errors import (
    DeviceMismatchError,
    DTypeError,
    EvaluationError,
    GraphTextError,
    MalformedNodeError,
    PatternError,
    RewriteFuelError,
    SettingError,
    ShapeError,
    SpecError,
    TargetError,
    TgError,
    UnboundVariableError,
    UnknownDTypeError,
    VariableRangeError,
)

EXAMPLES: list[TgError] = [
    DTypeError(what="vec(2)", dtypes=["dtypes.void"], reason="it has no lanes", hint="do not"),
    UnknownDTypeError(name="f33", known=["float"]),
    ShapeError(op="ADD", shapes=[(2,), (3,)], reason="they differ", hint="expand"),
    DeviceMismatchError(op="ADD", devices=["CPU", "NULL"]),
    MalformedNodeError(node="UOp(...)", attempted="shape", reason="it has none"),
    UnboundVariableError(name="i", given=["j"]),
    VariableRangeError(name="i", value=11, low=0, high=10),
    PatternError(pattern="UPat()", reason="it matches everything"),
    RewriteFuelError(name="sym", fuel=10, rules=["a", "b"], nodes=["n"]),
    SpecError(form="kernel", rule="r", node="n", path=["SINK", "ADD"], excerpt="e", origin="o"),
    TargetError(text="GPU", reason="there is none", known=["CPU"]),
    SettingError(name="DEBUG", reason="wrong", known=["DEBUG"]),
    EvaluationError(op="INDEX", reason="no value"),
    GraphTextError(line=3, reason="unreadable", text="n0"),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda e: type(e).__name__)
def test_fields_survive_pickling_and_show_in_the_text(error: TgError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__
    for value in error.__dict__.values():
        if isinstance(value, str):
            assert value in str(error)


def test_every_error_is_in_the_tree() -> None:
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, Exception):
            assert issubclass(value, TgError)
            assert value.__doc__
