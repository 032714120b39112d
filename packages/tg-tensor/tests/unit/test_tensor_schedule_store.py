"""Schedules of large graphs on disk: read instead of made, never when they may not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tg_tensor import Context, Tensor, UOp, Variable
from tg_tensor.schedule import pipeline
from tg_tensor.schedule.pipeline import clear_schedule_cache

A = np.random.default_rng(3).standard_normal((6, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path) -> Iterator[None]:
    clear_schedule_cache()
    with Context(TG_CACHE_DIR=str(tmp_path), SPEC=0):
        yield


def files(folder: Path) -> list[Path]:
    return [path for path in (folder / "schedules").rglob("*") if path.is_file()]


def refuse(*_: object) -> None:
    raise AssertionError("no schedule is made")


def compute(layers: int = 40) -> list[np.ndarray]:
    """Several results, memory that is kept and memory that is written."""
    x = Tensor(A).realize()
    state = Tensor(np.zeros((6, 6), np.float32)).realize()
    for layer in range(layers):
        x = (x @ Tensor(A).realize()).relu() * 0.25 + layer
        if layer == layers // 2:
            middle = x.sum(axis=1)
            state.assign(state * 0.5 + x)
    Tensor.realize(x, middle, state)
    return [x.numpy(), middle.numpy(), state.numpy()]


def test_a_schedule_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compute()
    assert len(files(tmp_path)) == 1
    clear_schedule_cache()
    monkeypatch.setattr(pipeline, "make_recipe", refuse)
    for found, wanted in zip(compute(), first, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("planned", [0, 1])
def test_with_and_without_shared_memory(planned: int, tmp_path: Path) -> None:
    with Context(NO_MEMORY_PLANNER=1 - planned):
        first = compute()
        clear_schedule_cache()
        for found, wanted in zip(compute(), first, strict=True):
            np.testing.assert_array_equal(found, wanted)
    with Context(NO_MEMORY_PLANNER=planned):
        clear_schedule_cache()
        compute()
    assert len(files(tmp_path)) == 2


def test_a_damaged_schedule_is_made_anew(tmp_path: Path) -> None:
    first = compute()
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    for damaged in (whole[:-7], whole[:20], b"", whole[:60] + b"xxxx" + whole[64:]):
        file.write_bytes(damaged)
        clear_schedule_cache()
        np.testing.assert_array_equal(compute()[0], first[0])
        assert file.read_bytes() == whole


def test_a_line_that_moved_is_another_schedule(tmp_path: Path) -> None:
    def run(name: str) -> None:
        code = "for number in range(200):\n    x = x * 0.5 + number\nx.realize()"
        exec(compile(code, name, "exec"), {"x": Tensor(A).realize()})

    run("first.py")
    clear_schedule_cache()
    run("first.py")
    assert len(files(tmp_path)) == 1
    clear_schedule_cache()
    run("second.py")
    assert len(files(tmp_path)) == 2


def test_small_graphs_have_no_files(tmp_path: Path) -> None:
    (Tensor(A) + 1).sum().realize()
    assert not files(tmp_path)


def test_symbolic_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = Variable("size", 1, 6)

    def run(value: int) -> np.ndarray:
        x = Tensor(A).realize()[: size.bind(value)]
        for number in range(200):
            x = x * 0.5 + number
        return np.asarray(x.sum(axis=0).numpy())

    first = run(4)
    assert len(files(tmp_path)) == 1
    clear_schedule_cache()
    monkeypatch.setattr(pipeline, "make_recipe", refuse)
    np.testing.assert_array_equal(run(4), first)
    assert run(2)[0] != first[0]


def double(out: UOp, x: UOp) -> UOp:
    i = UOp.range(36, 0)
    return out.reshape((36,)).index(i).store(x.reshape((36,)).index(i) * 2).end(i).sink()


def test_own_kernels_are_scheduled_each_time(tmp_path: Path) -> None:
    x = Tensor(A).realize()
    for number in range(200):
        x = x + number
    out = Tensor.custom_kernel(Tensor.empty(6, 6), x.contiguous(), fxn=double)[0]
    np.testing.assert_allclose(out.numpy(), (A + sum(range(200))) * 2, rtol=1e-5)
    assert not files(tmp_path)


@pytest.mark.parametrize("setting", ["SCACHE", "CCACHE"])
def test_settings_turn_it_off(setting: str, tmp_path: Path) -> None:
    with Context(**{setting: 0}):
        compute()
    assert not files(tmp_path)
