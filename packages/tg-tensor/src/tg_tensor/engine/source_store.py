"""Keep the source that was generated for each kernel; CAPTURE_PROCESS_REPLAY=1 asks for it.

`python -m tg_tensor.viz.process_replay` compares it with what is generated now.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tg_codegen.options import Options
from tg_codegen.render.renderer import Renderer
from tg_runtime import DiskCache, content_key
from tg_uop import Target, UOp

_disk = DiskCache("process_replay", level=0)


class KeptSource(NamedTuple):
    """A kernel, what it was generated for, and the source."""

    kernel: UOp
    target: Target
    options: Options
    source: str


def keep_source(kernel: UOp, renderer: Renderer, options: Options, program: UOp) -> None:
    """Write what was generated for a kernel to disk."""
    kept = (kernel, renderer.target, options, str(program.src[3].arg))
    key = content_key(kernel.key, repr(renderer.target), repr(options))
    _disk.put(key, pickle.dumps(kept))


def kept_sources() -> Iterator[KeptSource]:
    """Everything kept, in the order of its keys, without what is damaged or of another version."""
    for path in sorted(Path(_disk.folder).glob("*/*")):
        found = _disk.get_as(path.parent.name + path.name, _read)
        if found is not None:
            yield found


def _read(raw: bytes) -> KeptSource:
    return KeptSource(*pickle.loads(raw))
