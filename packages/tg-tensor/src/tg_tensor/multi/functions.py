"""Put the bodies of functions in place of their calls, so that sharded arguments reach them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tg_uop import Ops, UOp
from tg_uop.ir.args import ParamArg
from tg_uop.ir.walk import toposort

_NOT_INSIDE = frozenset((Ops.SINK, Ops.PROGRAM, Ops.LINEAR, Ops.TUPLE))


def without_functions(sinks: Sequence[UOp]) -> tuple[list[UOp], dict[UOp, UOp]]:
    """The sinks with functions replaced by their bodies, and what each node below became."""
    renamed: dict[UOp, UOp] = {}
    _rename(sinks, renamed, set())
    return [renamed.get(sink, sink) for sink in sinks], renamed


def _rename(sinks: Sequence[UOp], renamed: dict[UOp, UOp], done: set[UOp]) -> None:
    """Fill in `renamed`; what is in `done` has no functions below."""
    order = toposort(sinks, lambda n: n.op not in _NOT_INSIDE and n not in done)
    for node in order:
        sources = tuple(renamed.get(s, s) for s in node.src)
        new = node
        if node.op is Ops.GETTUPLE and sources[0].op is Ops.FUNCTION:
            results, *arguments = sources[0].src
            body = _with_arguments(results.src[cast(int, node.arg)], arguments)
            _rename([body], renamed, done)
            new = renamed.get(body, body)
        elif sources != node.src:
            new = UOp(node.op, node.dtype, sources, node.arg, node.tag)
        renamed[node] = new
        if new.op is not Ops.FUNCTION:
            done.add(new)


def _with_arguments(body: UOp, arguments: Sequence[UOp]) -> UOp:
    order = body.toposort(lambda n: n.op not in _NOT_INSIDE)
    params = [node for node in order if node.op is Ops.PARAM]
    return body.substitute({p: arguments[cast(ParamArg, p.arg).slot] for p in params})
