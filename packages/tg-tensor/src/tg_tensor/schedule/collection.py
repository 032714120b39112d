"""Pause Python's search for reference cycles while a schedule is made.

Scheduling makes many objects, all of them needed and none in a cycle; each search goes through all
objects that there are, which made the time of a large graph grow faster than the graph.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Iterator[None]:
    """No search for cycles inside; afterwards it is as it was."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
