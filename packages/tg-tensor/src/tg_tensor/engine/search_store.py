"""What a search for a kernel has measured, on disk: a result, or where to go on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from math import inf
from typing import cast, final

from tg_runtime import DiskCache, content_key
from tg_uop import Opt, OptOps
from tg_uop.ir.args import OptArg

Opts = tuple[Opt, ...]

_disk = DiskCache("beam", level=1)


@final
@dataclass(slots=True)
class SearchState:
    """The times measured so far, the seconds spent, and the best once there is one.

    `complete` says that the search ended by itself, so that a longer one finds no more.
    """

    times: dict[Opts, float] = field(default_factory=dict)
    spent: float = 0.0
    best: Opts | None = None
    complete: bool = False

    def is_enough(self, seconds: float) -> bool:
        """Whether a search of so many seconds has nothing to add."""
        return self.best is not None and (self.complete or self.spent >= seconds)


def load_state(key: str) -> SearchState:
    """What is on disk for a search; a new state where that is nothing, or nothing readable."""
    return _disk.get_as(content_key("search", key), _read) or SearchState()


def save_state(key: str, state: SearchState) -> None:
    """Write what was measured to disk."""
    times = [
        [_written(opts), None if seconds == inf else seconds]
        for opts, seconds in state.times.items()
    ]
    contents = {
        "times": [] if state.complete else times,
        "spent": state.spent,
        "best": None if state.best is None else _written(state.best),
        "complete": state.complete,
    }
    _disk.put(content_key("search", key), json.dumps(contents).encode())


def _read(raw: bytes) -> SearchState:
    contents = cast("dict[str, object]", json.loads(raw))
    times = cast("list[tuple[list[object], float | None]]", contents["times"])
    best = cast("list[object] | None", contents["best"])
    return SearchState(
        {_opts(entries): inf if seconds is None else seconds for entries, seconds in times},
        float(cast(float, contents["spent"])),
        None if best is None else _opts(best),
        bool(contents["complete"]),
    )


def _written(opts: Opts) -> list[list[object]]:
    return [[opt.op.name, opt.axis, opt.arg] for opt in opts]


def _opts(entries: list[object]) -> Opts:
    return tuple(_opt(cast("list[object]", entry)) for entry in entries)


def _opt(entry: list[object]) -> Opt:
    name, axis, arg = entry
    kept = tuple(arg) if isinstance(arg, list) else arg
    return Opt(OptOps[cast(str, name)], cast("int | None", axis), cast(OptArg, kept))
