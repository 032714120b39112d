"""PatternMatcher: an ordered list of rules, tried on one node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from weakref import ref

from tg_uop.errors import PatternError
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.compile import compile_rule
from tg_uop.rewrite.pattern import UPat, captured_names, expand_alternatives, may_match_sources
from tg_uop.rewrite.reference import RuleBody, apply_reference
from tg_uop.rewrite.signature import Signature, read_signature

Try = Callable[[UOp, object], UOp | None]

# A rule is interpreted until it was tried this often: compiling one costs as much as some twenty
# interpreted tries, and most rules of a short run are tried less.
COMPILE_AFTER = 16

# Nodes with more sources than this are looked up by their own op alone.
MAX_KEYED_SOURCES = 3


class Rule:
    """One law: a pattern, and the function that builds what replaces a match.

    The function gets the named captures as arguments, and `ctx` if it has a parameter of that
    name. It returns the replacement, or None when its side condition fails. Returning the matched
    node counts as no match.
    """

    __slots__ = (
        "_compiled",
        "_sites",
        "_tries",
        "alternatives",
        "fn",
        "law",
        "pattern",
        "signature",
    )

    def __init__(self, pattern: UPat, fn: RuleBody, law: str = "") -> None:
        self.pattern = pattern
        self.fn = fn
        self.law = law
        self.alternatives = expand_alternatives(pattern)
        self.signature = self._checked_signature()
        self._compiled: Try | None = None
        self._tries = 0
        self._sites: list[tuple[list[Try], int]] = []

    def _checked_signature(self) -> Signature:
        signature = read_signature(self.fn)
        for alternative in self.alternatives:
            missing = signature.required - captured_names(alternative)
            if missing:
                raise PatternError(
                    pattern=repr(alternative),
                    reason=f"rule {self.name} takes {sorted(missing)}, which it does not capture",
                    hint="name the parts of the pattern like the parameters of the function",
                )
        return signature

    @property
    def name(self) -> str:
        """The name of the rule's function."""
        return getattr(self.fn, "__name__", repr(self.fn))

    @property
    def location(self) -> str:
        """`file:line` of the rule's function."""
        return self.signature.location

    def __call__(self, *args: object, **kwargs: object) -> UOp | None:
        return self.fn(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<rule {self.name} {self.law!r} at {self.location}>"

    def try_on(self, uop: UOp, ctx: object) -> UOp | None:
        """The replacement of `uop`, or None; interprets the pattern, compiles it when hot."""
        if self._compiled is not None:
            return self._compiled(uop, ctx)
        self._tries += 1
        if self._tries >= COMPILE_AFTER:
            return self.compiled()(uop, ctx)
        return apply_reference(self.alternatives, self.signature, self.fn, uop, ctx)

    def compiled(self) -> Try:
        """The rule as one straight function; every matcher that uses the rule is told."""
        if self._compiled is None:
            self._compiled = compile_rule(self.alternatives, self.signature, self.fn, self)
            for entry, place in self._sites:
                entry[place] = self._compiled
            self._sites.clear()
        return self._compiled

    def enter(self, entry: list[Try]) -> None:
        """Append the fastest form of this rule to a matcher's table entry."""
        if self._compiled is None:
            self._sites.append((entry, len(entry)))
        entry.append(self._compiled or self.try_on)

    def may_match(self, op: Ops, source_ops: tuple[Ops, ...] | None) -> bool:
        """Whether a node of `op` with sources of `source_ops` (None: any) can match."""
        for pattern in self.alternatives:
            if pattern.ops is not None and op not in pattern.ops:
                continue
            if source_ops is None or may_match_sources(pattern, source_ops):
                return True
        return False


def rule_of(attempt: Try) -> Rule:
    """The rule behind an entry of a matcher's table."""
    owner = getattr(attempt, "rule", None) or getattr(attempt, "__self__", None)
    assert isinstance(owner, Rule), "tables hold compiled rules and bound try_on methods only"
    return owner


def rule(pattern: UPat, law: str = "") -> Callable[[RuleBody], Rule]:
    """Make a function a rule: `@rule(UPat.var("x") + UPat.const(0), law="x + 0 == x")`."""

    def make(fn: RuleBody) -> Rule:
        return Rule(pattern, fn, law)

    return make


RuleLike = Rule | tuple[UPat, RuleBody]


class PatternMatcher:
    """Rules in order; the first whose pattern matches and whose function answers is applied.

    Rules are found through a table keyed by the op of the node and the ops of its sources, filled
    as such nodes turn up, so that a rule which cannot match costs nothing.

    `pure` says that what the rules do depends on the node alone, not on a context or on state.
    Then `settled` keeps the nodes that no rule changes, from one rewrite to the next.
    """

    __slots__ = ("__weakref__", "_by_op", "_live_ops", "rules", "settled", "table")

    def __init__(self, rules: Iterable[RuleLike], *, pure: bool = False) -> None:
        made = [r if isinstance(r, Rule) else Rule(r[0], r[1]) for r in rules]
        self.rules: tuple[Rule, ...] = tuple(dict.fromkeys(made))
        self._by_op: dict[Ops, tuple[Rule, ...]] = {}
        self._live_ops: frozenset[Ops] | None = None
        self.settled: set[ref[UOp]] | None = set() if pure else None
        # (op, ops of the sources), or the op alone for nodes without or with many sources
        self.table: dict[tuple[Ops, ...] | Ops, list[Try]] = {}

    def __add__(self, other: PatternMatcher) -> PatternMatcher:
        """The rules of both; pure only if both are."""
        pure = self.settled is not None and other.settled is not None
        return PatternMatcher(chain(self.rules, other.rules), pure=pure)

    def __len__(self) -> int:
        return len(self.rules)

    def rewrite(self, uop: UOp, ctx: object = None) -> UOp | None:
        """One application to this node: its replacement, or None when no rule applies."""
        for attempt in self.entry(uop):
            replacement = attempt(uop, ctx)
            if replacement is not None:
                return replacement
        return None

    def rewrite_reference(self, uop: UOp, ctx: object = None) -> UOp | None:
        """`rewrite` by interpretation of every rule in order: slow, and what it must equal."""
        for r in self.rules:
            replacement = apply_reference(r.alternatives, r.signature, r.fn, uop, ctx)
            if replacement is not None:
                return replacement
        return None

    @property
    def live_ops(self) -> frozenset[Ops]:
        """The ops that some rule can match."""
        if self._live_ops is None:
            self._live_ops = frozenset(op for op in Ops if self.rules_for(op))
        return self._live_ops

    def entry(self, uop: UOp) -> list[Try]:
        """The rules that can match a node like `uop`, in order, in their fastest form."""
        src = uop.src
        key: tuple[Ops, ...] | Ops = uop.op
        if src and len(src) <= MAX_KEYED_SOURCES:
            key = (uop.op, *[s.op for s in src])
        found = self.table.get(key)
        if found is None:
            found = self._new_entry(uop.op, None if isinstance(key, Ops) else key[1:])
            self.table[key] = found
        return found

    def _new_entry(self, op: Ops, source_ops: tuple[Ops, ...] | None) -> list[Try]:
        entry: list[Try] = []
        for r in self.rules_for(op):
            if r.may_match(op, source_ops):
                r.enter(entry)
        return entry

    def rules_for(self, op: Ops) -> tuple[Rule, ...]:
        """The rules that can match a node of `op`, in order."""
        found = self._by_op.get(op)
        if found is None:
            found = tuple(r for r in self.rules if r.may_match(op, None))
            self._by_op[op] = found
        return found
