"""Settings: values, scopes, threads, errors, the reference page."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tg_uop import context
from tg_uop.context import (
    BEAM,
    DEBUG,
    DEV,
    JIT,
    Context,
    ContextVar,
    all_settings,
    cache_dir,
    getenv,
    parse_setting,
    setting,
    settings_markdown,
)
from tg_uop.errors import SettingError

VOCABULARY = [
    "DEV",
    "DEBUG",
    "BEAM",
    "JITBEAM",
    "NOOPT",
    "JIT",
    "JIT_BATCH_SIZE",
    "SPEC",
    "VIZ",
    "PROFILE",
    "DEFAULT_FLOAT",
    "CPU_COUNT",
    "TC",
    "TC_OPT",
    "TC_SELECT",
    "ALLOW_TF32",
    "TRANSCENDENTAL",
    "DEVECTORIZE",
    "NOLOCALS",
    "WINO",
    "IMAGE",
    "FLOAT16",
    "RING",
    "ALL2ALL",
    "VALIDATE_WITH_CPU",
    "NO_MEMORY_PLANNER",
    "LRU",
    "SCACHE",
    "CCACHE",
    "CACHELEVEL",
    "IGNORE_BEAM_CACHE",
    "CAPTURE_PROCESS_REPLAY",
    "CHECK_OOB",
    "EMULATED_DTYPES",
    "MAX_BUFFER_SIZE",
]


def test_every_setting_exists_with_help() -> None:
    for name in VOCABULARY:
        assert setting(name).help
    assert len({s.name for s in all_settings()}) == len(tuple(all_settings()))


def test_a_setting_acts_like_its_value() -> None:
    with Context(DEBUG=3):
        assert DEBUG.value == int(DEBUG) == 3
        assert DEBUG >= 3
        assert DEBUG > 2
        assert DEBUG < 4
        assert DEBUG <= 3
        assert DEBUG == 3
        assert DEBUG != 2
        assert bool(DEBUG)
        assert float(DEBUG) == 3.0
        assert list(range(5))[DEBUG] == 3
        assert str(DEBUG) == "3"
        assert repr(DEBUG) == "ContextVar(DEBUG=3)"


def test_scopes_nest_and_end() -> None:
    before = (DEBUG.value, BEAM.value)
    with Context(DEBUG=1, BEAM=2):
        with Context(DEBUG=5):
            assert (DEBUG.value, BEAM.value) == (5, 2)
        assert (DEBUG.value, BEAM.value) == (1, 2)
    assert (DEBUG.value, BEAM.value) == before


def test_a_scope_ends_when_its_body_raises() -> None:
    before = DEBUG.value
    with pytest.raises(KeyError), Context(DEBUG=before + 1):
        raise KeyError
    assert DEBUG.value == before


def test_as_decorator_even_of_a_recursive_function() -> None:
    @Context(BEAM=7)
    def depth(n: int) -> list[int]:
        return [BEAM.value, *(depth(n - 1) if n else [])]

    before = BEAM.value
    assert depth(2) == [7, 7, 7]
    assert depth.__name__ == "depth"
    assert BEAM.value == before


def test_one_scope_object_can_be_entered_twice() -> None:
    before = BEAM.value
    scope = Context(BEAM=9)
    with scope, scope:
        assert BEAM == 9
    assert before == BEAM


def test_unknown_names_and_wrong_types_fail_at_once() -> None:
    with pytest.raises(SettingError, match="DEBUGG"):
        Context(DEBUGG=1)
    with pytest.raises(SettingError, match="not of type int"):
        Context(DEBUG="2")
    with pytest.raises(SettingError, match="not of type str"):
        Context(DEV=1)
    with pytest.raises(SettingError, match="none of"):
        Context(JIT=3)
    with Context(DEV="CPU", JIT=2):
        assert DEV == "CPU"
        assert JIT == 2


def test_other_threads_keep_their_own_values() -> None:
    seen: list[int] = []
    before = BEAM.value
    with Context(BEAM=before + 1):
        thread = threading.Thread(target=lambda: seen.append(BEAM.value))
        thread.start()
        thread.join()
    assert seen == [before]


def test_a_process_wide_value_reaches_other_threads() -> None:
    seen: list[int] = []
    before = BEAM.value
    try:
        BEAM.set_process_wide(before + 2)
        thread = threading.Thread(target=lambda: seen.append(BEAM.value))
        thread.start()
        thread.join()
    finally:
        BEAM.set_process_wide(before)
    assert seen == [before + 2]


def test_no_setting_is_declared_twice() -> None:
    with pytest.raises(SettingError, match="twice"):
        ContextVar("DEBUG", 0)


def test_getenv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TG_TEST_VALUE", "12")
    assert getenv("TG_TEST_VALUE", 0) == 12
    assert getenv("TG_TEST_VALUE", "") == "12"
    assert getenv("TG_TEST_VALUE", 0.0) == 12.0
    assert getenv("TG_TEST_ABSENT", 3) == 3
    monkeypatch.setenv("TG_TEST_VALUE", "twelve")
    with pytest.raises(SettingError, match="twelve"):
        getenv("TG_TEST_VALUE", 0)
    assert parse_setting("X", "2.5", float) == 2.5


def test_the_environment_wins_over_the_default() -> None:
    code = "from tg_uop.context import DEBUG, JIT; print(DEBUG.value, JIT.value)"
    source = str(Path(context.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": source, "DEBUG": "4", "JIT": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == ["4", "2"]


def test_cache_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Context(TG_CACHE_DIR=str(tmp_path)):
        assert cache_dir() == str(tmp_path)
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        with Context(TG_CACHE_DIR=""):
            assert cache_dir() == str(tmp_path / "tg")


def test_reference_page_names_every_setting() -> None:
    page = settings_markdown()
    for each in all_settings():
        assert f"| `{each.name}` |" in page
    assert page == settings_markdown()
