"""Programs on disk: found again, never when damaged, not while the verifier is on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tg_codegen
from tg_codegen.pipeline import PROGRAMS
from tg_tensor import Context, Tensor
from tg_tensor.engine import compile as compiling


def forget() -> None:
    """As in a process that has just started."""
    compiling._programs.entries.clear()
    compiling._runtimes.entries.clear()
    PROGRAMS.clear()


def compute() -> None:
    x = Tensor(np.arange(6, dtype=np.float32)).realize()
    np.testing.assert_array_equal((x * 7 + 3).numpy(), np.arange(6) * 7 + 3)


def refuse(*_: object) -> None:
    raise AssertionError("no code is generated")


def test_a_program_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Context(TG_CACHE_DIR=str(tmp_path), SPEC=0):
        forget()
        compute()
        forget()
        monkeypatch.setattr(tg_codegen, "to_source", refuse)
        compute()


def test_damaged_entries_are_made_anew(tmp_path: Path) -> None:
    with Context(TG_CACHE_DIR=str(tmp_path), SPEC=0):
        forget()
        compute()
        kept = [path for path in (tmp_path / "programs").rglob("*") if path.is_file()]
        assert kept
        for path in kept:
            path.write_bytes(path.read_bytes()[:-5])
        forget()
        compute()


def test_keys_are_the_same_in_every_process(tmp_path: Path) -> None:
    program = "from tg_tensor import Tensor; (Tensor([1.0, 2.0]) * 3 + 1).numpy()"
    settings = {**os.environ, "TG_CACHE_DIR": str(tmp_path), "SPEC": "0"}
    kept: set[int] = set()
    for seed in ("1", "2", "3"):
        settings["PYTHONHASHSEED"] = seed
        subprocess.run([sys.executable, "-c", program], env=settings, check=True)
        kept.add(sum(path.is_file() for path in (tmp_path / "programs").rglob("*")))
    assert kept == {1}


def test_the_verifier_sees_every_pass(tmp_path: Path) -> None:
    with Context(TG_CACHE_DIR=str(tmp_path), SPEC=1):
        forget()
        compute()
    assert not (tmp_path / "programs").exists()
