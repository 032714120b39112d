"""Find the rule that made a node, in the trace that is on."""

from __future__ import annotations

from itertools import islice

from tg_uop.ir.uop import UOp
from tg_uop.rewrite.trace import Match, current_trace

# an error is rare, but its message should not take seconds
MOST_MATCHES = 5000


def rule_that_made(node: UOp) -> str | None:
    """Name and place of the rule whose result `node` is, or of which it is a part.

    None when no trace is on, or no recorded rule made it.
    """
    trace = current_trace()
    if trace is None:
        return None
    recent = list(islice(reversed(trace.matches), MOST_MATCHES))
    for match in recent:
        if match.after is node:
            return _described(match)
    for match in recent:
        if node in match.after.toposort() and node not in match.before.toposort():
            return _described(match)
    return None


def _described(match: Match) -> str:
    return f"rule {match.rule} at {match.location}"
