"""Each step of the tour prints what is recorded beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOUR = Path(__file__).parents[2] / "docs" / "tour"
STEPS = sorted(TOUR.glob("step*.py"))


@pytest.mark.parametrize("step", STEPS, ids=lambda path: path.stem)
def test_step_prints_what_is_recorded(step: Path, request: pytest.FixtureRequest) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "NOOPT")}
    run = subprocess.run(
        [sys.executable, str(step)], capture_output=True, text=True, env=environment
    )
    assert run.returncode == 0, run.stderr
    recorded = step.with_suffix(".txt")
    if request.config.getoption("--update-golden"):
        recorded.write_text(run.stdout)
    assert run.stdout == recorded.read_text()


def test_the_tour_is_there() -> None:
    assert len(STEPS) >= 7
