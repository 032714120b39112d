"""Settings that watch the compiler or split captured steps do what their help says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tg_codegen.errors import OutOfBoundsError
from tg_codegen.pipeline import PROGRAMS
from tg_tensor import Context, Tensor, TinyJit
from tg_tensor.engine import compile as compiling
from tg_tensor.engine.source_store import kept_sources
from tg_tensor.viz import process_replay
from tg_uop import UOp


@pytest.fixture(autouse=True)
def forget() -> None:
    """As in a process that has just started."""
    compiling._programs.entries.clear()
    PROGRAMS.clear()


def compute() -> None:
    x = Tensor(np.arange(6, dtype=np.float32)).realize()
    np.testing.assert_array_equal((x * 5 + 2).numpy(), np.arange(6) * 5 + 2)


def test_viz_writes_a_page_for_each_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = Tensor(np.arange(6, dtype=np.float32)).realize()
    with Context(TG_CACHE_DIR=str(tmp_path), VIZ=1):
        x.reshape(2, 3).permute(1, 0).pad(((1, 1), (0, 3))).reshape(5, 5).sum(1).realize()
    (page,) = (tmp_path / "viz").iterdir()
    assert str(page) in capsys.readouterr().out
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "matches" in text
    assert "rules/" in text or "canonicalize/" in text  # where a rule is written
    assert "define" in text or "void" in text  # the source


def test_process_replay_compares_with_what_was_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Context(TG_CACHE_DIR=str(tmp_path), CAPTURE_PROCESS_REPLAY=1, CACHELEVEL=0):
        compute()
    with Context(TG_CACHE_DIR=str(tmp_path)):
        assert len(list(kept_sources())) == 1
        assert process_replay.main() == 0
        assert capsys.readouterr().out == "1 kernels, 0 changed\n"
        changed = [kept._replace(source=kept.source + "\n; more") for kept in kept_sources()]
        monkeypatch.setattr(process_replay, "kept_sources", lambda: changed)
        assert process_replay.main() == 1
        assert "-; more" in capsys.readouterr().out


@pytest.mark.parametrize("most", [0, 1, 2])
def test_captured_steps_in_batches(most: int) -> None:
    @TinyJit
    def step(x: Tensor) -> Tensor:
        for n in range(6):
            x = (x * 2 + n).realize()
        return x

    def wanted(value: float) -> float:
        for n in range(6):
            value = value * 2 + n
        return value

    with Context(JIT_BATCH_SIZE=most):
        for start in range(4):
            assert step(Tensor([float(start)]).realize()).tolist() == [wanted(start)]
    assert step.captured is not None
    runners = step.captured.calls.runners
    assert len(runners) == {0: 1, 1: 3, 2: 2}[most]


def leaving(out: UOp, x: UOp) -> UOp:
    i = UOp.range(4, 0)
    return out.index(i).store(x.index(i + 1)).end(i).sink()


def test_a_kernel_that_leaves_its_memory_is_refused() -> None:
    x, out = Tensor([1.0, 2.0, 3.0, 4.0]).realize(), Tensor.empty(4)
    with Context(CHECK_OOB=1), pytest.raises(OutOfBoundsError, match="4 elements"):
        Tensor.custom_kernel(out, x, fxn=leaving)[0].realize()


def test_own_kernels_stay_inside(tmp_path: Path) -> None:
    x = Tensor.rand(7, 13)
    with Context(CHECK_OOB=1, TG_CACHE_DIR=str(tmp_path)):
        x.pad(((1, 2), (3, 4))).sum(0).realize()
        x[Tensor([1, -2, 9])].realize()
        (x @ x.T).softmax().realize()
        x.roll(3, 1).cat(x.flip(0), dim=1).cumsum(1).realize()
    assert not (tmp_path / "programs").exists()
