"""Download a file once: resumable, checked, kept in the cache."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tg_tensor.errors import FetchError
from tg_uop.arguments import shown
from tg_uop.context import cache_dir
from tg_uop.errors import ArgumentTypeError

CHUNK_BYTES = 1 << 20
TIMEOUT_SECONDS = 30
DIGESTS = {"md5": hashlib.md5, "sha256": hashlib.sha256}
HTTP_PARTIAL = 206
HTTP_RANGE_NOT_SATISFIABLE = 416

Progress = Callable[[int, int | None], None]
"""Called with the bytes that are there so far and, where known, their final number."""


def fetch(
    url: str | Path,
    name: str | None = None,
    subdir: str | None = None,
    gunzip: bool = False,
    allow_caching: bool = True,
    md5: str | None = None,
    sha256: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """The local path of what `url` names; it is downloaded unless the cache has it.

    A path or file:// URL of this machine is returned as it is. A download that was cut off goes on
    where it stopped; the file appears under its name only when it is whole and its checksum right.

    Raises `FetchError` when the server cannot be reached, or sends something else than the
    checksum says; a wrong download is not kept.
    """
    if not isinstance(url, str | os.PathLike):
        raise ArgumentTypeError(
            call="fetch", argument="url", given=shown(url), expected="a text or a path"
        )
    address = str(url)
    parts = urllib.parse.urlparse(address)
    if parts.scheme in ("", "file"):
        return Path(parts.path if parts.scheme else address)
    if parts.scheme not in ("http", "https"):
        raise FetchError(url=address, reason=f"scheme {parts.scheme!r} is not supported")
    folder = Path(cache_dir()) / "downloads" / (subdir or "")
    key = hashlib.sha256(address.encode()).hexdigest()[:16]
    target = folder / (name or f"{key}-{Path(parts.path).name}{'.unzipped' if gunzip else ''}")
    wanted = {k: v for k, v in (("md5", md5), ("sha256", sha256)) if v is not None}
    if allow_caching and target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{key}.part")
    _download(address, partial, progress)
    _check(address, partial, wanted)
    if gunzip:
        _unzip(address, partial)
    os.replace(partial, target)
    return target


def _download(url: str, partial: Path, progress: Progress | None) -> None:
    have = partial.stat().st_size if partial.exists() else 0
    headers = {"User-Agent": "tg", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            resumed = response.status == HTTP_PARTIAL
            have = have if resumed else 0
            length = response.headers.get("Content-Length")
            total = have + int(length) if length is not None else None
            with open(partial, "ab" if resumed else "wb") as file:
                while chunk := response.read(CHUNK_BYTES):
                    file.write(chunk)
                    have += len(chunk)
                    if progress is not None:
                        progress(have, total)
    except urllib.error.HTTPError as error:
        if error.code == HTTP_RANGE_NOT_SATISFIABLE:
            return  # all of it is there; the checksum tells whether it is right
        raise FetchError(url=url, reason=f"the server says {error.code} {error.reason}") from error
    except OSError as error:
        raise FetchError(url=url, reason=str(error)) from error
    if total is not None and have != total:
        raise FetchError(url=url, reason=f"{have} of {total} bytes came; call again to go on")


def _check(url: str, partial: Path, wanted: dict[str, str]) -> None:
    for algorithm, expected in wanted.items():
        with open(partial, "rb") as file:
            found = hashlib.file_digest(file, DIGESTS[algorithm]).hexdigest()
        if found != expected.lower():
            partial.unlink()
            reason = f"its {algorithm} is {found}, expected {expected}; it was not kept"
            raise FetchError(url=url, reason=reason)


def _unzip(url: str, partial: Path) -> None:
    unpacked = partial.with_name(f"{partial.name}.unpacked")
    try:
        with gzip.open(partial, "rb") as source, open(unpacked, "wb") as file:
            shutil.copyfileobj(source, file, CHUNK_BYTES)
    except (OSError, EOFError) as error:
        unpacked.unlink(missing_ok=True)
        partial.unlink()
        raise FetchError(url=url, reason=f"it is no gzip file: {error}") from error
    os.replace(unpacked, partial)
