"""The example trains, saves, loads and draws, and gives the same weights twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "mnist.py"


def train(out: Path, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "SPEC"}
    command = [sys.executable, str(EXAMPLE), "--out", str(out), "--steps", "12", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_training_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    printed = train(tmp_path / "one")
    train(tmp_path / "two")
    assert "test accuracy" in printed
    first = (tmp_path / "one" / "mnist.safetensors").read_bytes()
    assert first == (tmp_path / "two" / "mnist.safetensors").read_bytes()
    assert (tmp_path / "one" / "mnist.png").read_bytes().startswith(b"\x89PNG")


def test_another_seed_gives_other_weights(tmp_path: Path) -> None:
    train(tmp_path / "one")
    train(tmp_path / "two", "--seed", "1")
    first = (tmp_path / "one" / "mnist.safetensors").read_bytes()
    assert first != (tmp_path / "two" / "mnist.safetensors").read_bytes()


def test_an_interrupt_stops_cleanly_and_the_next_run_works(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "SPEC"}
    command = [sys.executable, str(EXAMPLE), "--out", str(tmp_path / "out")]
    # who runs the tests may ignore interrupts, and what it starts would, too
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    run = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    signal.signal(signal.SIGINT, before)
    try:
        assert run.stderr is not None
        shown = ""
        while "step/s" not in shown:  # the progress bar has moved: a step is running
            read = run.stderr.read(1)
            assert read, shown
            shown += read
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode != 0
    assert "stopped; nothing was saved" in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "out").exists()
    train(tmp_path / "out")
