"""graph_rewrite: apply a matcher everywhere in a graph until nothing changes.

Both directions keep one map from nodes to what became of them. A node enters the map when it is
first met, with None for "in progress", and gets its final form once its sources have theirs. A node
met again while in progress means that rules feed each other. The loops are dense for speed: the
whole compiler runs on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast
from weakref import ref

from tg_uop.errors import RewriteFuelError
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import PatternMatcher, Try, rule_of
from tg_uop.rewrite.trace import Match, RewriteRecord, Trace, current_trace

# A rewrite without an explicit limit may apply this many rules, and so many for each node of the
# graph it was given. Loops that never meet the same node again end here.
FREE_MATCHES = 250_000
MATCHES_PER_NODE = 64

# How often a stateful rule may rewrite a node into something that contains the same node.
MAX_REENTRIES = 8

# How many of the last matches an error shows.
REPORTED_MATCHES = 12


def graph_rewrite(
    sink: UOp,
    pm: PatternMatcher,
    ctx: object = None,
    bottom_up: bool = False,
    name: str | None = None,
    fuel: int | None = None,
    track: Trace | None = None,
    gate: Callable[[UOp], bool] | None = None,
) -> UOp:
    """`sink` with the rules of `pm` applied to every node until none applies.

    By default a node's sources are rewritten before the node: rules see final sources. With
    `bottom_up` the walk goes from the sink: rules see a node before its sources are touched, and
    again whenever the sources change. Only nodes above a change are rebuilt. What a pure matcher
    left alone in an earlier rewrite is not gone through again.
    `ctx` is handed to rules that ask for it. `fuel` limits the number of matches. Matches are
    recorded in `track`, or in the trace that is on. A node for which `gate` is false is left as it
    is, with all below it.

    Raises `RewriteFuelError` naming the rules and nodes that feed each other.
    """
    trace = track if track is not None else current_trace()
    label = name or "graph_rewrite"
    record = None
    if trace is not None:
        record = RewriteRecord(label, sink)
        trace.rewrites.append(record)
    walk = _Walk(sink, pm, ctx, label, fuel, gate, record)
    result = walk.node_first() if bottom_up else walk.sources_first()
    if record is not None:
        record.result = result
    return result


class _Walk:
    """The state of one graph_rewrite."""

    __slots__ = (
        "ctx",
        "final",
        "fired",
        "gate",
        "given_fuel",
        "limit",
        "name",
        "pm",
        "record",
        "reentries",
        "sink",
        "spent",
    )

    def __init__(
        self,
        sink: UOp,
        pm: PatternMatcher,
        ctx: object,
        name: str,
        fuel: int | None,
        gate: Callable[[UOp], bool] | None,
        record: RewriteRecord | None,
    ) -> None:
        self.sink = sink
        self.pm = pm
        self.ctx = ctx
        self.name = name
        self.given_fuel = fuel
        self.limit = FREE_MATCHES if fuel is None else fuel
        self.gate = gate
        self.record = record
        self.spent = 0
        # node -> what became of it, None while a replacement of it is being rewritten
        self.final: dict[UOp, UOp | None] = {}
        # node -> the rule that replaced it, and its replacement
        self.fired: dict[UOp, tuple[Try, UOp]] = {}
        self.reentries: dict[UOp, int] = {}

    # *** sources before the node ***

    def sources_first(self) -> UOp:
        """The default direction."""
        final = self.final
        gate = self.gate
        # None on the stack: `waiting` has a node whose sources are done.
        # False on the stack: `links` has nodes that become what their replacement became.
        stack: list[UOp | bool | None] = [self.sink]
        waiting: list[UOp] = []
        links: list[tuple[list[UOp], UOp]] = []
        live_ops = self.pm.live_ops
        settle = self.settle
        settled = self.pm.settled
        while stack:
            node = stack.pop()
            if node is None:
                node = waiting.pop()
                src = node.src
            elif node is False:
                self.close_link(*links.pop())
                continue
            else:
                assert node is not True
                if node in final:
                    continue
                if settled is not None and ref(node) in settled:
                    final[node] = node
                    continue
                if gate is not None and not gate(node):
                    final[node] = node
                    continue
                src = node.src
                ready = True
                for s in src:
                    if s not in final:
                        if ready:
                            ready = False
                            waiting.append(node)
                            stack.append(None)
                        stack.append(s)
                if not ready:
                    continue
            for s in src:
                if final[s] is not s:
                    missing = self.unfinished(src)
                    if missing is not None:
                        waiting.append(node)
                        stack += (None, missing)
                    elif not self.rebuild_and_settle(node, links):
                        stack += (False, links[-1][1])
                    break
            else:
                if node.op not in live_ops:
                    final[node] = node
                elif not settle(node, None, links):
                    stack += (False, links[-1][1])
        if settled is not None and gate is None:
            self.remember(settled)
        return _done(final[self.sink])

    def remember(self, settled: set[ref[UOp]]) -> None:
        """Keep in mind which nodes the rules do not change, as long as the nodes live."""
        forget = settled.discard
        for node, result in self.final.items():
            if node is result:
                settled.add(ref(node, forget))

    def rebuild_and_settle(self, node: UOp, links: list[tuple[list[UOp], UOp]]) -> bool:
        """`settle` for a node whose sources changed."""
        fresh = self.rebuild(node)
        if fresh not in self.final:
            return self.settle(fresh, [node], links)
        result = self.final[fresh]
        if result is None:
            self.meet_again(fresh)
            return self.settle(fresh, [node], links)
        self.final[node] = result
        return True

    def settle(
        self, node: UOp, became: list[UOp] | None, links: list[tuple[list[UOp], UOp]]
    ) -> bool:
        """Apply rules to a node with final sources until it is final itself.

        `became` are nodes that turned into it. False when a replacement has sources that must be
        rewritten first: then that is the last of `links`.
        """
        final = self.final
        table = self.pm.table
        ctx = self.ctx
        while True:
            src = node.src
            count = len(src)
            if count == 2:
                first, second = src
                entry = table.get((node.op, first.op, second.op))
            elif count == 1:
                entry = table.get((node.op, src[0].op))
            elif count == 3:
                first, second, third = src
                entry = table.get((node.op, first.op, second.op, third.op))
            else:
                entry = table.get(node.op)
            if entry is None:
                entry = self.pm.entry(node)
            for attempt in entry:
                replacement = attempt(node, ctx)
                if replacement is not None:
                    break
            else:
                result = node
                break
            self.note_match(attempt, node, replacement)
            final[node] = None
            if became is None:
                became = [node]
            else:
                became.append(node)
            known = final.get(replacement, False)
            if known is None:
                self.meet_again(replacement)
            elif known is not False:
                result = cast(UOp, known)
                break
            else:
                for s in replacement.src:
                    if final.get(s) is not s:
                        links.append((became, replacement))
                        return False
            node = replacement
        final[node] = result
        if became is not None:
            for before in became:
                final[before] = result
        return True

    # *** the node before its sources ***

    def node_first(self) -> UOp:
        """The `bottom_up` direction."""
        final = self.final
        gate = self.gate
        stack: list[UOp | bool | None] = [self.sink]
        waiting: list[tuple[list[UOp], UOp]] = []
        links: list[tuple[list[UOp], UOp]] = []
        while stack:
            node = stack.pop()
            if node is None:
                became, node = waiting.pop()
                missing = self.unfinished(node.src)
                if missing is not None:
                    waiting.append((became, node))
                    stack += (None, missing)
                    continue
                fresh = self.rebuild(node)
                if fresh is node:
                    self.become(became, node, node)
                elif final.get(fresh) is not None:
                    self.become(became, node, _done(final[fresh]))
                else:
                    if fresh in final:
                        self.meet_again(fresh)
                        del final[fresh]
                    final[node] = None
                    links.append(([*became, node], fresh))
                    stack += (False, fresh)
                continue
            if node is False:
                self.close_link(*links.pop())
                continue
            assert node is not True
            if node in final:
                continue
            if gate is not None and not gate(node):
                final[node] = node
                continue
            became, node, result = self.exhaust(node)
            if result is not None:
                self.become(became, node, result)
                continue
            pending = [s for s in node.src if s not in final]
            if not pending and self.unchanged(node.src):
                self.become(became, node, node)
                continue
            waiting.append((became, node))
            stack.append(None)
            stack.extend(pending)
        return _done(final[self.sink])

    def exhaust(self, node: UOp) -> tuple[list[UOp], UOp, UOp | None]:
        """Apply rules to a node until none applies or the outcome is known.

        The nodes it was on the way, the last one, and the outcome if that is known.
        """
        final = self.final
        became: list[UOp] = []
        while True:
            for attempt in self.pm.entry(node):
                replacement = attempt(node, self.ctx)
                if replacement is not None:
                    break
            else:
                return became, node, None
            self.note_match(attempt, node, replacement)
            final[node] = None
            known = final.get(replacement, False)
            if known is None:
                self.meet_again(replacement)
            elif known is not False:
                return became, node, cast(UOp, known)
            became.append(node)
            node = replacement

    def unchanged(self, src: tuple[UOp, ...]) -> bool:
        """Whether these nodes are their own final form."""
        return all(self.final[s] is s for s in src)

    # *** both directions ***

    def become(self, became: list[UOp], node: UOp, result: UOp) -> None:
        """Enter the final form of a node, and of those that turned into it."""
        self.final[node] = result
        for before in became:
            self.final[before] = result

    def close_link(self, became: list[UOp], replacement: UOp) -> None:
        """A replacement is final: so are the nodes that it replaced."""
        result = self.final[replacement]
        for before in became:
            self.final[before] = result

    def rebuild(self, node: UOp) -> UOp:
        """The node over the final forms of its sources."""
        final = self.final
        src = tuple([final[s] for s in node.src])
        fresh = UOp(node.op, node.dtype, cast("tuple[UOp, ...]", src), node.arg, node.tag)
        if fresh.source_line is None:
            fresh.source_line = node.source_line
        return fresh

    def note_match(self, attempt: Try, node: UOp, replacement: UOp) -> None:
        """Count a match, remember and record it."""
        self.spent += 1
        self.fired[node] = (attempt, replacement)
        if replacement.source_line is None and replacement.op is not Ops.CONST:
            replacement.source_line = node.source_line
        if self.record is not None:
            self.record.matches.append(_recorded(attempt, node, replacement))
        if self.spent > self.limit:
            self.refuel()

    def refuel(self) -> None:
        """Allow for the size of the graph, which is counted only when it comes to that."""
        allowed = self.given_fuel
        if allowed is None:
            allowed = FREE_MATCHES + MATCHES_PER_NODE * len(self.sink.toposort())
        if self.spent > allowed:
            last = list(self.fired.items())[-REPORTED_MATCHES:]
            raise self.failure([(node, *what) for node, what in last])
        self.limit = allowed

    def unfinished(self, src: tuple[UOp, ...]) -> UOp | None:
        """A source that is being replaced right now: it came up again under its replacement."""
        for s in src:
            if self.final[s] is None:
                self.meet_again(s)
                del self.final[s]
                return s
        return None

    def meet_again(self, node: UOp) -> None:
        """A node led back to itself: a loop, unless a rule with state may act otherwise now."""
        met = self.reentries.get(node, 0) + 1
        self.reentries[node] = met
        if self.ctx is not None and met <= MAX_REENTRIES:
            return
        active = [n for n, result in self.final.items() if result is None and n in self.fired]
        raise self.failure([(n, *self.fired[n]) for n in active[-REPORTED_MATCHES:]])

    def failure(self, matches: list[tuple[UOp, Try, UOp]]) -> RewriteFuelError:
        """The error that names the rules and nodes of these matches."""
        rules = dict.fromkeys(_rule_label(attempt) for _, attempt, _ in matches)
        nodes = [f"{_short(before)}  ->  {_short(after)}" for before, _, after in matches]
        return RewriteFuelError(
            name=self.name,
            fuel=self.spent,
            rules=tuple(rules),
            nodes=tuple(dict.fromkeys(nodes)),
        )


def _done(node: UOp | None) -> UOp:
    assert node is not None, "the walk ends when every node under the sink is final"
    return node


def _recorded(attempt: Try, before: UOp, after: UOp) -> Match:
    fired = rule_of(attempt)
    return Match(fired.location, fired.name, fired.law, before, after)


def _rule_label(attempt: Try) -> str:
    fired = rule_of(attempt)
    return f"{fired.name} ({fired.location})"


def _short(node: UOp) -> str:
    """One line about a node and its sources, however deep the graph is."""
    sources = ", ".join(s.op.name for s in node.src[:8])
    arg = "" if node.arg is None else f", arg={node.arg!r}"
    return f"{node.op.name}({sources}{arg[:80]}, {node.dtype!r})"
