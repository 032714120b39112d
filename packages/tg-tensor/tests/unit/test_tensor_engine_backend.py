"""Kernels of one schedule: compiled side by side, once each, with errors where they belong."""

from __future__ import annotations

import sys
import threading
from inspect import currentframe

import numpy as np
import pytest
import tg_codegen
from tg_codegen.render.renderer import Renderer
from tg_runtime.errors import CompileError
from tg_tensor import Context, Tensor, compile_linear, run_linear
from tg_tensor.engine.backend import BackEnd
from tg_uop import Ops, UOp, dtypes
from tg_uop.context import CACHELEVEL, CPU_COUNT

NODE = UOp(Ops.NOOP)


def parts(number: int) -> list[Tensor]:
    """Values that take as many kernels, new ones each time."""
    parts.used += 1  # type: ignore[attr-defined]
    x = Tensor(np.arange(6, dtype=np.float32)).realize()
    return [(x[: n + 2] * (parts.used + 0.125)).contiguous() for n in range(number)]  # type: ignore[attr-defined]


parts.used = 0  # type: ignore[attr-defined]


def test_programs_come_back_in_the_order_of_their_calls() -> None:
    with BackEnd(2) as back_end:
        nodes = [UOp.const(dtypes.int, n) for n in range(20)]
        pending = [back_end.start(lambda node=node: node) for node in nodes]
        assert [one.result() for one in pending] == nodes


def test_threads_work_under_the_settings_of_their_maker() -> None:
    seen: list[int] = []

    def look() -> UOp:
        seen.append(CACHELEVEL.value)
        return NODE

    for threads in (0, 1):
        with Context(CACHELEVEL=1), BackEnd(threads) as back_end:
            back_end.start(look).result()
    assert seen == [1, 1]


def test_turns_are_short_while_a_back_end_works() -> None:
    before = sys.getswitchinterval()
    with BackEnd(1) as outer, BackEnd(1) as inner:
        assert sys.getswitchinterval() == before
        for back_end in (outer, inner):
            back_end.start(lambda: NODE).result()
            assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before


def test_what_has_not_begun_is_dropped() -> None:
    begun, go_on = threading.Event(), threading.Event()
    seen: list[int] = []

    def first() -> UOp:
        begun.set()
        go_on.wait()
        return NODE

    def second() -> UOp:
        seen.append(2)
        return NODE

    with BackEnd(1) as back_end:
        pending = back_end.start(first)
        back_end.start(second)
        begun.wait()
    go_on.set()
    assert pending.result() is NODE
    assert seen == []


@pytest.mark.parametrize("cores", [1, 2])
def test_compiled_beside_the_front_end_or_not(cores: int) -> None:
    with Context(CPU_COUNT=cores):
        made = parts(5)
        linear = compile_linear(Tensor.schedule_linear(*made))
    assert all(call.called.op is not Ops.SINK for call in linear.src)
    run_linear(linear)
    for n, part in enumerate(made):
        wanted = np.arange(n + 2, dtype=np.float32) * np.float32(parts.used + 0.125)  # type: ignore[attr-defined]
        np.testing.assert_array_equal(part.numpy(), wanted)


def test_equal_kernels_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[str] = []
    whole = tg_codegen.with_binary

    def counted(program: UOp, renderer: Renderer) -> UOp:
        sources.append(str(program.src[3].arg))
        return whole(program, renderer)

    monkeypatch.setattr(tg_codegen, "with_binary", counted)
    x = [Tensor([1.0, 2.0, 3.0, n]).realize() for n in range(4)]
    Tensor.realize(*(one * 1.40625 for one in x))
    assert len(sources) == 1


def test_a_failure_of_the_back_end_names_the_line_of_the_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = tg_codegen.with_binary

    def refuse(program: UOp, renderer: Renderer) -> UOp:
        if "3.140625" in str(program.src[0].toposort()):
            raise CompileError(compiler="none", message="refused")
        return whole(program, renderer)

    monkeypatch.setattr(tg_codegen, "with_binary", refuse)
    frame = currentframe()
    assert frame is not None
    good = parts(2)
    bad, line = (Tensor([1.0, 2.0]).realize() * 3.140625).contiguous(), frame.f_lineno
    assert CPU_COUNT.value >= 1
    with pytest.raises(CompileError) as caught:
        Tensor.realize(good[0], bad, good[1])
    assert caught.value.location == (__file__, line)
