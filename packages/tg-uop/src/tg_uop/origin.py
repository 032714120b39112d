"""Find the line of the user's code that a node or an error comes from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

OWN_PACKAGES = frozenset({"tg_uop", "tg_codegen", "tg_runtime", "tg_tensor", "tg_nn", "tg_onnx"})
"""Frames of these packages are not the user's."""

Line = tuple[str, int]
"""A file and a line in it."""

_get_frame: Callable[[int], FrameType] = sys._getframe


def user_line(depth: int = 2) -> Line | None:
    """File and line of the nearest caller outside of tg, or None when all frames are tg's.

    The search starts `depth` frames up. It is on the path of every node that a user builds, so it
    looks at module names only.
    """
    frame: FrameType | None = _get_frame(depth)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module not in _own_modules:
            if module.partition(".")[0] not in OWN_PACKAGES:
                return frame.f_code.co_filename, frame.f_lineno
            _own_modules.add(module)
        frame = frame.f_back
    return None


_own_modules: set[str] = set()
"""Modules of tg that were seen: as many as there are."""
