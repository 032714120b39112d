"""Settings of every test run: verifier on; hypothesis without a deadline, with a seed it tells."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, settings

# before any package is imported: the environment is read once
os.environ.setdefault("SPEC", "1")

settings.register_profile(
    "tg", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("tg")

# marks of tests that run only when asked for, and how
ASKED_FOR = {
    "oracle": "needs PyTorch: hatch run oracle:test",
    "suite": "takes minutes: hatch run suite",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes recorded outputs; `--full` sweeps all of the conformance table;
    `--programs` is how many programs drawn at random each file of them tries.
    """
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files")
    parser.addoption("--full", action="store_true", help="sweep every dtype, shape and layout")
    parser.addoption("--programs", type=int, default=200, help="random programs to try")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose a seed where none was given, before hypothesis reads it; tell files of the number."""
    if config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))
    os.environ.setdefault("FUZZ_EXAMPLES", str(config.getoption("--programs")))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What repeats the draws of this run."""
    seed = terminalreporter.config.getoption("--hypothesis-seed")
    terminalreporter.write_line(f"draws are repeated by --hypothesis-seed={seed}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests with a mark of `ASKED_FOR` run only when asked for by `-m`."""
    asked = config.getoption("-m") or ""
    for mark, reason in ASKED_FOR.items():
        if mark in asked:
            continue
        skip = pytest.mark.skip(reason=reason)
        for item in items:
            if item.get_closest_marker(mark):
                item.add_marker(skip)
