"""A folder of byte strings by content address, shared by many processes.

Each entry is one file: a header with the checksum of the rest, then the value. It is written to
a private name first and renamed, so that a reader sees all of it or nothing; a damaged entry reads
as absent and is removed. Reading refreshes the file's time, and the oldest files go when the folder
grows past its cap.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import threading
from collections.abc import Callable
from functools import cache
from typing import Final, TypeVar

from tg_uop.context import CACHELEVEL, CCACHE, ContextVar, cache_dir

CACHE_SIZE = ContextVar(
    "CACHE_SIZE", 2 << 30, "Bytes that each folder of the disk cache may hold.", group="cache"
)

_MAGIC: Final = b"tgcache1"
_DIGEST_SIZE: Final = 32
_HEADER_SIZE: Final = len(_MAGIC) + _DIGEST_SIZE
# A full walk of the folder is paid for by one in 64 entries: those whose keys, which are as good as
# random, are below this. So processes that write only a few trim it too.
_TRIM_BELOW: Final = "04"
# refreshing a file's time on each read would cost a write each; a day's resolution is enough
_REFRESH_AFTER_S: Final = 24 * 3600

# what reading raises where names, fields or their number are others than those written
_UNREADABLE: Final = (
    pickle.UnpicklingError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    TypeError,
    ValueError,
)

T = TypeVar("T")


def content_key(*parts: str | bytes) -> str:
    """A key that differs whenever any of the parts differs."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def code_key(*folders: str) -> str:
    """A key that differs when the Python code in some folders does: its files' sizes and times."""
    return content_key(*map(_folder_key, folders))


@cache
def _folder_key(top: str) -> str:
    files: list[tuple[str, int, int]] = []
    for folder, _, names in os.walk(top):
        for name in names:
            if name.endswith(".py"):
                found = os.stat(os.path.join(folder, name))
                files.append((name, found.st_size, found.st_mtime_ns))
    return content_key(*(f"{name}:{size}:{time}" for name, size, time in sorted(files)))


class DiskCache:
    """Byte strings by key in the folder `name` of the cache directory.

    Every failure of the file system counts as a miss: a cache never stops the work. `level` is the
    smallest CACHELEVEL at which it is used.
    """

    def __init__(self, name: str, *, level: int = 2, folder: str | None = None) -> None:
        self.name = name
        self.level = level
        self._folder = folder

    @property
    def folder(self) -> str:
        """Where the entries are; the folder need not exist yet."""
        return self._folder or os.path.join(cache_dir(), self.name)

    @property
    def enabled(self) -> bool:
        """Whether the settings allow this cache."""
        return CACHELEVEL.value >= self.level

    def path_of(self, key: str) -> str:
        """The file of a key made by `content_key`."""
        return os.path.join(self.folder, key[:2], key[2:])

    def get(self, key: str) -> bytes | None:
        """The value, or None when it is absent, damaged or the cache is off."""
        if not self.enabled:
            return None
        path = self.path_of(key)
        try:
            with open(path, "rb") as file:
                data = file.read()
                modified = os.fstat(file.fileno()).st_mtime
        except OSError:
            return None
        value = _checked(data)
        if value is None:
            with contextlib.suppress(OSError):
                os.unlink(path)
            return None
        self._refresh(path, modified)
        return value

    def get_as(self, key: str, read: Callable[[bytes], T]) -> T | None:
        """What `read` makes of the value; None also where it cannot, as another version wrote it.

        `read` may unpickle: the folder is the user's own, and each entry has its checksum.
        """
        value = self.get(key)
        if value is None:
            return None
        try:
            return read(value)
        except _UNREADABLE:
            return None

    def put(self, key: str, value: bytes) -> None:
        """Keep the value."""
        if not self.enabled:
            return
        path = self.path_of(key)
        private = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(private, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(value).digest())
                file.write(value)
            os.replace(private, path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(private)
            if isinstance(error, OSError):
                return
            raise
        if key < _TRIM_BELOW:
            self.trim()

    def trim(self, limit: int | None = None) -> int:
        """Remove the entries unused for longest until the rest fits; the number removed."""
        limit = CACHE_SIZE.value if limit is None else limit
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        removed = 0
        for _, size, path in entries:
            if total <= limit:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                removed += 1
            total -= size
        return removed

    def clear(self) -> None:
        """Remove every entry."""
        self.trim(-1)

    def _entries(self) -> list[tuple[float, int, str]]:
        found = []
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):
                    status = os.stat(path)
                    found.append((status.st_mtime, status.st_size, path))
        return found

    @staticmethod
    def _refresh(path: str, modified: float) -> None:
        with contextlib.suppress(OSError):
            if os.stat(path).st_atime - modified > _REFRESH_AFTER_S:
                os.utime(path)


def _checked(data: bytes) -> bytes | None:
    """The value inside an entry, or None when it is not what was written."""
    if len(data) < _HEADER_SIZE or not data.startswith(_MAGIC):
        return None
    value = data[_HEADER_SIZE:]
    if hashlib.sha256(value).digest() != data[len(_MAGIC) : _HEADER_SIZE]:
        return None
    return value


class CompilerCache(DiskCache):
    """Binaries; CCACHE=0 turns it off."""

    @property
    def enabled(self) -> bool:
        """Whether the settings allow this cache."""
        return bool(CCACHE.value) and super().enabled


default_compiler_cache = CompilerCache("binary")
