"""A page for each kernel with every rewrite that made its code; VIZ=1 asks for them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

from tg_uop import UOp
from tg_uop.context import VIZ, cache_dir
from tg_uop.rewrite.trace import Match, RewriteRecord, Trace, tracing
from tg_uop.text.dump import dump

MOST_MATCHES = 200
"""Matches of one rewrite to show."""

_STYLE = "body{font-family:monospace}pre{background:#f4f4f4;padding:6px;overflow-x:auto}"


def viz_folder() -> str:
    """Where the pages are."""
    return os.path.join(cache_dir(), "viz")


@contextmanager
def recorded(name: str) -> Iterator[list[UOp]]:
    """With VIZ on, write a page of the rewrites inside the block, named after a kernel's key.

    The PROGRAM that comes of them may be put into the list, to be shown at the end.
    """
    results: list[UOp] = []
    if not VIZ.value:
        yield results
        return
    with tracing() as trace:
        yield results
    os.makedirs(viz_folder(), exist_ok=True)
    path = os.path.join(viz_folder(), f"{name}.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page(name, trace, results))
    print(f"VIZ: {path}")  # noqa: T201


def page(title: str, trace: Trace, results: list[UOp]) -> str:
    """The rewrites in order: the graph before, each match with its rule's place, the result."""
    parts = [
        f"<!doctype html><meta charset='utf-8'><title>{escape(title)}</title>",
        f"<style>{_STYLE}</style><h1>{escape(title)}</h1>",
    ]
    parts += [_rewrite(number, record) for number, record in enumerate(trace.rewrites)]
    for program in results:
        source = str(program.src[3].arg)
        parts.append(f"<h2>{escape(program.program_info.name)}</h2><pre>{escape(source)}</pre>")
    return "\n".join(parts) + "\n"


def _rewrite(number: int, record: RewriteRecord) -> str:
    shown = [_match(match) for match in record.matches[:MOST_MATCHES]]
    rest = len(record.matches) - len(shown)
    if rest > 0:
        shown.append(f"<p>and {rest} more</p>")
    result = "" if record.result is None else f"<pre>{escape(dump(record.result))}</pre>"
    return (
        f"<details><summary>{number} {escape(record.name)}: {len(record.matches)} matches"
        f"</summary><pre>{escape(dump(record.sink))}</pre>{''.join(shown)}{result}</details>"
    )


def _match(match: Match) -> str:
    title = escape(f"{match.rule} ({match.law}) {match.location}")
    return (
        f"<details><summary>{title}</summary><pre>{escape(repr(match.before))}\n"
        f"{escape(repr(match.after))}</pre></details>"
    )
