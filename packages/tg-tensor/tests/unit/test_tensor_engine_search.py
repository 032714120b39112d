"""Searches: kept on disk, gone on with after an interrupt, never for the worse, and reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from tg_codegen.options import Options
from tg_runtime import Device
from tg_tensor import Context, Tensor
from tg_tensor.engine import measure
from tg_tensor.engine.measure import fastest_kernel, opts_of
from tg_tensor.engine.search_store import SearchState, load_state, save_state
from tg_uop import Opt, OptOps, UOp

WANTED = (Opt(OptOps.UPCAST, 0, 2), Opt(OptOps.UPCAST, 0, 4))


def by_number_of_opts(kernel: UOp) -> float:
    return 1.0 / (1 + len(opts_of(kernel)))


class Clock:
    """Stands in for the clock of kernels."""

    best = inf
    seconds: Callable[[UOp], float] = staticmethod(by_number_of_opts)
    measured: ClassVar[list[UOp]] = []

    def __init__(self, *_: object) -> None:
        pass

    def __call__(self, kernel: UOp) -> float:
        self.measured.append(kernel)
        return self.seconds(kernel)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(measure, "Timer", Clock)
    monkeypatch.setattr(Clock, "seconds", staticmethod(by_number_of_opts))
    monkeypatch.setattr(Clock, "measured", [])
    with Context(TG_CACHE_DIR=str(tmp_path)):
        yield


def kernel() -> UOp:
    x = Tensor(np.ones((8, 12), np.float32)).realize()
    return x.sum(1).schedule_linear().src[0].called


def search(one: UOp) -> UOp:
    return fastest_kernel("PYTHON", one, Device["PYTHON"].renderer, Options(beam=1))


def test_a_result_is_found_again(capsys: pytest.CaptureFixture[str]) -> None:
    first = search(kernel())
    assert opts_of(first)
    count = len(Clock.measured)
    assert "times as fast" in capsys.readouterr().err
    assert search(kernel()) is first
    assert len(Clock.measured) == count
    assert capsys.readouterr().err == ""


def test_an_interrupted_search_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(one: UOp) -> float:
        if len(Clock.measured) == 5:
            raise KeyboardInterrupt
        return by_number_of_opts(one)

    monkeypatch.setattr(Clock, "seconds", staticmethod(interrupted))
    with pytest.raises(KeyboardInterrupt):
        search(kernel())
    before = [opts_of(one) for one in Clock.measured[:4]]
    Clock.measured.clear()
    monkeypatch.setattr(Clock, "seconds", staticmethod(by_number_of_opts))
    assert opts_of(search(kernel()))
    # the last comparison measures the heuristic's choice and the best once more
    again = [opts_of(one) for one in Clock.measured[: -2 * measure.ROUNDS]]
    assert not set(before) & set(again)


def test_no_time_is_no_search_and_more_time_goes_on() -> None:
    with Context(BEAM_SECONDS=0.0):
        assert opts_of(search(kernel())) == ()
    count = len(Clock.measured)
    assert opts_of(search(kernel()))
    assert len(Clock.measured) > count


def test_luck_is_not_speed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: set[UOp] = set()

    def lucky_once(one: UOp) -> float:
        if one in seen:
            return float(len(opts_of(one)))
        seen.add(one)
        return by_number_of_opts(one)

    monkeypatch.setattr(Clock, "seconds", staticmethod(lucky_once))
    one = kernel()
    assert search(one) is one
    assert "nothing won" in capsys.readouterr().err


def test_a_search_is_one_of_the_cores_too() -> None:
    one, renderer = kernel(), Device["PYTHON"].renderer
    fastest_kernel("PYTHON", one, renderer, Options(beam=1, cores=1))
    count = len(Clock.measured)
    fastest_kernel("PYTHON", one, renderer, Options(beam=1, cores=2))
    assert len(Clock.measured) > count


def test_opts_of_another_version_are_not_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    impossible = SearchState(best=(Opt(OptOps.UPCAST, 7, 3),), complete=True)
    monkeypatch.setattr(measure, "load_state", lambda key: impossible)
    one = kernel()
    assert search(one) is one


def test_states_on_disk() -> None:
    assert load_state("new") == SearchState()
    state = SearchState({WANTED: 0.5, WANTED[:1]: inf, (): 1.0}, 3.0, WANTED)
    save_state("some", state)
    assert load_state("some") == state
    assert state.is_enough(3.0)
    assert not state.is_enough(4.0)
    state.complete = True
    assert state.is_enough(4.0)
    assert not SearchState(spent=9.0).is_enough(3.0)


def test_a_damaged_state_is_a_new_one(tmp_path: Path) -> None:
    save_state("some", SearchState(spent=3.0, best=()))
    (file,) = (path for path in (tmp_path / "beam").rglob("*") if path.is_file())
    file.write_bytes(file.read_bytes()[:-3])
    assert load_state("some") == SearchState()
