"""Settings of every test run: verifier on; hypothesis without a deadline, with a seed it tells."""

from __future__ import annotations

import gc
import os
import random

import pytest
from hypothesis import HealthCheck, settings

# before any package is imported: the environment is read once
os.environ.setdefault("SPEC", "1")

settings.register_profile(
    "tg", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("one-case", settings.get_profile("tg"), max_examples=10)
settings.load_profile("tg")

# marks of tests that run only when asked for, and how
ASKED_FOR = {
    "oracle": "needs PyTorch: hatch run oracle:test",
    "suite": "takes minutes: hatch run suite",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes recorded outputs; `--full` sweeps all of the conformance table;
    `--programs` is how many programs drawn at random each file of them tries; `--one-case` runs one
    case of each test function, and few draws, to see that a package has all that it needs.
    """
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files")
    parser.addoption("--full", action="store_true", help="sweep every dtype, shape and layout")
    parser.addoption("--programs", type=int, default=200, help="random programs to try")
    parser.addoption("--one-case", action="store_true", help="one case of each test function")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose a seed where none was given, before hypothesis reads it; tell files of the number."""
    if config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))
    if config.getoption("--one-case"):
        settings.load_profile("one-case")
    os.environ.setdefault("FUZZ_EXAMPLES", str(config.getoption("--programs")))


def pytest_collection_finish() -> None:
    """What stays to the end, thousands of tests, is not looked through in each collection."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What repeats the draws of this run."""
    seed = terminalreporter.config.getoption("--hypothesis-seed")
    terminalreporter.write_line(f"draws are repeated by --hypothesis-seed={seed}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests with a mark of `ASKED_FOR` run only when asked for by `-m`."""
    if config.getoption("--one-case"):
        first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        kept = set(first.values())
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    asked = config.getoption("-m") or ""
    for mark, reason in ASKED_FOR.items():
        if mark in asked:
            continue
        skip = pytest.mark.skip(reason=reason)
        for item in items:
            if item.get_closest_marker(mark):
                item.add_marker(skip)
