"""The disk cache: round trips, damage, size cap, switches, many processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tg_runtime.compile.compiler import Compiler
from tg_runtime.compile.disk_cache import CompilerCache, DiskCache, code_key, content_key
from tg_uop.context import Context


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache("test", folder=str(tmp_path))


def test_what_is_put_is_got(cache: DiskCache) -> None:
    key = content_key("compiler", b"source")
    assert cache.get(key) is None
    cache.put(key, b"binary")
    assert cache.get(key) == b"binary"
    cache.put(key, b"")
    assert cache.get(key) == b""


def test_what_another_version_wrote_is_absent(cache: DiskCache) -> None:
    key = content_key("a")
    assert cache.get_as(key, json.loads) is None
    cache.put(key, b"[1, 2]")
    assert cache.get_as(key, json.loads) == [1, 2]
    for other in (b"no json", b"[]"):
        cache.put(key, other)
        assert cache.get_as(key, lambda raw: json.loads(raw)[0]) is None


def test_the_key_of_code_is_that_of_its_files(tmp_path: Path) -> None:
    keys = set()
    for number, name in enumerate(("one.py", "two.py", "notes.txt")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / name).write_text("x = 1")
        os.utime(folder / name, (1, 1))
        keys.add(code_key(str(folder)))
    assert len(keys) == 3
    assert code_key(str(tmp_path / "0")) in keys


def test_keys_tell_parts_apart() -> None:
    keys = {
        content_key("ab", "c"),
        content_key("a", "bc"),
        content_key("abc"),
        content_key("abc", ""),
    }
    assert len(keys) == 4


@pytest.mark.parametrize("cut", [0, 1, 8, 39, 40, 45])
def test_a_truncated_entry_is_absent_and_removed(cache: DiskCache, cut: int) -> None:
    key = content_key("x")
    cache.put(key, b"0123456789")
    path = Path(cache.path_of(key))
    path.write_bytes(path.read_bytes()[:cut])
    assert cache.get(key) is None
    assert not path.exists()


@pytest.mark.parametrize("place", [0, 10, 45])
def test_a_flipped_bit_is_noticed(cache: DiskCache, place: int) -> None:
    key = content_key("x")
    cache.put(key, b"0123456789")
    path = Path(cache.path_of(key))
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(bytes(data))
    assert cache.get(key) is None


def test_the_oldest_entries_go_first(cache: DiskCache) -> None:
    for number in range(10):
        key = content_key(str(number))
        cache.put(key, bytes(1000))
        os.utime(cache.path_of(key), (number, number))
    cache.trim(limit=3 * 1040)
    left = [number for number in range(10) if cache.get(content_key(str(number))) is not None]
    assert left == [7, 8, 9]
    cache.clear()
    assert cache.get(content_key("9")) is None


def test_the_folder_stays_below_its_cap(cache: DiskCache) -> None:
    with Context(CACHE_SIZE=50_000):
        for number in range(1000):
            cache.put(content_key(str(number)), bytes(1000))
    kept = [n for n in range(1000) if cache.get(content_key(str(n))) is not None]
    # between two walks of the folder it may grow
    assert 40 < len(kept) < 400


def test_nothing_is_left_half_written(cache: DiskCache, tmp_path: Path) -> None:
    for number in range(20):
        cache.put(content_key(str(number)), b"value")
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".tmp")]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    cache = DiskCache("test", folder=str(blocked / "cache"))
    cache.put(content_key("x"), b"value")
    assert cache.get(content_key("x")) is None
    assert cache.trim(0) == 0


def test_settings_turn_it_off(tmp_path: Path) -> None:
    search = DiskCache("search", level=1, folder=str(tmp_path / "a"))
    binary = CompilerCache("binary", folder=str(tmp_path / "b"))
    for settings, search_on, binary_on in [
        ({"CACHELEVEL": 2}, True, True),
        ({"CACHELEVEL": 1}, True, False),
        ({"CACHELEVEL": 0}, False, False),
        ({"CCACHE": 0}, True, False),
    ]:
        with Context(**settings):
            assert (search.enabled, binary.enabled) == (search_on, binary_on)
            key = content_key(repr(settings))
            binary.put(key, b"x")
        assert (binary.get(key) == b"x") == binary_on


def test_the_folder_follows_the_setting(tmp_path: Path) -> None:
    cache = DiskCache("sub")
    with Context(TG_CACHE_DIR=str(tmp_path)):
        cache.put(content_key("x"), b"value")
        assert cache.folder == str(tmp_path / "sub")
    assert list((tmp_path / "sub").rglob("*"))


class Upper(Compiler):
    """Upper case is this tool's idea of a binary."""

    runs = 0

    def compile(self, source: str) -> bytes:
        self.runs += 1
        return source.upper().encode()


def test_a_compiler_runs_once_a_source(tmp_path: Path) -> None:
    cache = CompilerCache("binary", folder=str(tmp_path))
    first, second = Upper("upper-1", cache), Upper("upper-1", cache)
    assert first.compile_cached("abc") == second.compile_cached("abc") == b"ABC"
    assert (first.runs, second.runs) == (1, 0)
    other_version = Upper("upper-2", cache)
    other_version.compile_cached("abc")
    assert other_version.runs == 1


def test_a_damaged_binary_is_compiled_again(tmp_path: Path) -> None:
    cache = CompilerCache("binary", folder=str(tmp_path))
    compiler = Upper("upper", cache)
    compiler.compile_cached("abc")
    path = Path(cache.path_of(content_key("upper", "abc")))
    path.write_bytes(path.read_bytes()[:-1])
    assert compiler.compile_cached("abc") == b"ABC"
    assert compiler.runs == 2
    assert compiler.compile_cached("abc") == b"ABC"
    assert compiler.runs == 2


WRITER = """
import sys
from tg_runtime.compile.disk_cache import DiskCache, content_key
cache = DiskCache("test", folder=sys.argv[1])
for turn in range(300):
    key = content_key(str(turn % 3))
    value = str(turn % 3).encode() * 20000
    found = cache.get(key)
    assert found is None or found == value, "a torn entry was read"
    cache.put(key, value)
"""


def test_many_processes_share_a_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".tmp")]
