"""Errors name the user's line: where tg was called, or where the node was made."""

from __future__ import annotations

import inspect
import pickle

import pytest
import tg_codegen
from tg_runtime.errors import CompileError
from tg_tensor import Tensor
from tg_uop import Ops, UOp
from tg_uop.errors import ShapeError, TgError


def here() -> int:
    """The line that calls this."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: Tensor.zeros(2, 3) + Tensor.zeros(2),
        lambda: Tensor.zeros(2, 3) @ Tensor.zeros(2, 3),
        lambda: Tensor.zeros(2, 3).reshape(4, 2),
        lambda: Tensor.zeros(2, 3)[5],
        lambda: Tensor([[1, 2], [3]]),
        lambda: Tensor([1.0], device="CUP"),
        lambda: Tensor([1.0, 2.0]).item(),
        lambda: Tensor([1.0, 2.0]).sum().backward(),
    ],
)
def test_an_error_names_the_line_that_called(mistake: object) -> None:
    with pytest.raises(TgError) as caught:
        mistake()  # type: ignore[operator]
    code = mistake.__code__  # type: ignore[attr-defined]
    assert caught.value.location == (code.co_filename, code.co_firstlineno)
    assert str(caught.value).endswith(f"\n  at {code.co_filename}:{code.co_firstlineno}")
    assert "  at " not in caught.value.explain()


def test_the_location_survives_pickling() -> None:
    with pytest.raises(ShapeError) as caught:
        Tensor.zeros(2).reshape(3)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_what_fails_later_names_the_line_that_made_the_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: object) -> UOp:
        raise CompileError(compiler="none", message="refused")

    value, line = (Tensor([1.0, 2.0, 3.0]) * 1.25 + 0.75).exp2(), here()
    monkeypatch.setattr(tg_codegen, "to_source", refuse)
    with pytest.raises(CompileError) as caught:
        value.realize()
    assert caught.value.location == (__file__, line)


def test_calls_of_a_schedule_carry_the_line_of_their_value() -> None:
    value, line = (Tensor([1.0, 2.0, 3.0]) * 1.5 + 0.25).sum(), here()
    linear = value.schedule_linear()
    assert [call.source_line for call in linear.src if call.called.op is Ops.SINK] == [
        (__file__, line)
    ]
