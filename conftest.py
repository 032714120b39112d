"""Settings of every test run: the verifier is on, hypothesis has no deadline."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# before any package is imported: the environment is read once
os.environ.setdefault("SPEC", "1")

settings.register_profile(
    "tg", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("tg")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes recorded outputs; `--full` sweeps all of the conformance table."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files")
    parser.addoption("--full", action="store_true", help="sweep every dtype, shape and layout")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked `oracle` run only when asked for by `-m oracle`."""
    if "oracle" in (config.getoption("-m") or ""):
        return
    skip = pytest.mark.skip(reason="needs PyTorch: hatch run oracle:test")
    for item in items:
        if item.get_closest_marker("oracle"):
            item.add_marker(skip)
