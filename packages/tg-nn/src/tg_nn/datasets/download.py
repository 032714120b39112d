"""Downloads with a progress bar."""

from __future__ import annotations

from pathlib import Path

from tg_tensor.interop.fetch import fetch
from tqdm import tqdm


def fetch_with_bar(url: str, subdir: str, md5: str) -> Path:
    """The local path of a file: from the cache, or downloaded with a bar that shows how far it is.

    Raises `FetchError`; see `tg_tensor.fetch`.
    """
    bar: tqdm[None] | None = None

    def show(have: int, total: int | None) -> None:
        nonlocal bar
        if bar is None:
            name = url.rsplit("/", 1)[-1]
            bar = tqdm(total=total, desc=name, unit="B", unit_scale=True, leave=False)
        bar.update(have - bar.n)

    try:
        return fetch(url, subdir=subdir, md5=md5, progress=show)
    finally:
        if bar is not None:
            bar.close()
