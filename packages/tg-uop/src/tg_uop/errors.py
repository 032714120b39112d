"""Every exception of the package, one tree under TgError."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from tg_uop.origin import Line, user_line
from tg_uop.suggest import did_you_mean


class TgError(Exception):
    """Base of every error that tg raises on purpose. Its fields survive pickling.

    `location` is the file and line of the user's code that it is about: where tg was called, or
    where the node was made that cannot be (see `about`).
    """

    location: Line | None

    def __init__(self, *args: object) -> None:
        self.location = user_line()
        super().__init__(*args)

    def explain(self) -> str:
        """What was wrong, what was expected, what to do: the message without the location."""
        return super().__str__()

    def __str__(self) -> str:
        if self.location is None:
            return self.explain()
        file, line = self.location
        return f"{self.explain()}\n  at {file}:{line}"

    def about(self, line: Line | None) -> Self:
        """This error, told to be about what was made at `line`, if that is known."""
        if line is not None:
            self.location = line
        return self

    def __reduce__(self) -> tuple[Callable[..., TgError], tuple[object, ...]]:
        return _rebuild_error, (type(self), self.args, self.__dict__)


def _rebuild_error(
    kind: type[TgError], args: tuple[object, ...], fields: dict[str, object]
) -> TgError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


def _listed(names: Sequence[object]) -> str:
    return ", ".join(map(_shown, names)) if names else "none"


def _shown(name: object) -> str:
    """A name, or a shape whose dimensions may be nodes."""
    if not isinstance(name, tuple) or all(isinstance(entry, int | str) for entry in name):
        return str(name)
    entries = [entry.render() if hasattr(entry, "render") else repr(entry) for entry in name]
    return f"({', '.join(entries)})"


class DTypeError(TgError, TypeError, RuntimeError):
    """A dtype that an operation cannot have, or dtypes that do not go together.

    NumPy has a `TypeError` here, PyTorch a `RuntimeError`: code that expects either catches this.
    """

    def __init__(self, *, what: str, dtypes: Sequence[object], reason: str, hint: str = "") -> None:
        self.what = what
        self.dtypes = tuple(dtypes)
        self.reason = reason
        self.hint = hint
        super().__init__(what, self.dtypes, reason, hint)

    def explain(self) -> str:
        text = f"{self.what} on {_listed(self.dtypes)}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class BitsError(DTypeError, NotImplementedError):
    """Bits of what has none; PyTorch has a `NotImplementedError` here."""


class IndexDTypeError(DTypeError, IndexError):
    """Values as an index that are neither integers nor bool; NumPy has an `IndexError` here."""


class ArgumentTypeError(TgError, TypeError):
    """An argument of a kind that an operation cannot take."""

    def __init__(
        self, *, argument: str, given: str, expected: str, call: str = "", hint: str = ""
    ) -> None:
        self.call = call
        self.argument = argument
        self.given = given
        self.expected = expected
        self.hint = hint
        super().__init__(argument, given, expected, call, hint)

    def explain(self) -> str:
        call = f"{self.call}: " if self.call else ""
        text = f"{call}{self.argument} is {self.given}, expected {self.expected}"
        return f"{text}; {self.hint}" if self.hint else text


class OperandError(ArgumentTypeError, ValueError):
    """Something else where a Tensor is expected, or a value that no Tensor can be made of."""


class SignatureError(TgError, TypeError):
    """Arguments that are too many, too few, or by names that what was called does not have."""

    def __init__(self, *, call: str, reason: str, hint: str = "") -> None:
        self.call = call
        self.reason = reason
        self.hint = hint
        super().__init__(call, reason, hint)

    def explain(self) -> str:
        text = f"{self.call}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class ArgumentError(TgError, ValueError, RuntimeError):
    """A value of an argument that an operation does not take.

    PyTorch has a `RuntimeError` for some of these, a `ValueError` for others.
    """

    def __init__(self, *, op: str, argument: str, given: object, expected: str) -> None:
        self.op = op
        self.argument = argument
        self.given = given
        self.expected = expected
        super().__init__(op, argument, given, expected)

    def explain(self) -> str:
        return f"{self.op}: {self.argument} must be {self.expected}, not {self.given!r}"


class UnknownModeError(ArgumentError, NotImplementedError):
    """A mode by a name that there is not; PyTorch has a `NotImplementedError` here."""


class ArgumentKindError(ArgumentError, TypeError):
    """A value of an argument that is not even of its kind; PyTorch has a `TypeError` here."""


class PositionError(ArgumentError, IndexError):
    """A position outside of an axis as an argument; PyTorch has an `IndexError` here."""


class IndexItemError(TgError, TypeError, IndexError, ValueError):
    """An item in square brackets that selects nothing: of a kind, or with a step, that none has.

    NumPy has an `IndexError` here, for a step of 0 a `ValueError`, Python's lists a `TypeError`.
    """

    def __init__(self, *, item: str, reason: str, hint: str = "") -> None:
        self.item = item
        self.reason = reason
        self.hint = hint
        super().__init__(item, reason, hint)

    def explain(self) -> str:
        text = f"{self.item} is no index: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class NegativePowerError(TgError, ValueError, RuntimeError):
    """Integers to the power of a negative number, which is no integer.

    NumPy has a `ValueError` here, PyTorch a `RuntimeError`: code that expects either catches this.
    """

    def __init__(self, *, dtype: object, exponent: int) -> None:
        self.dtype = dtype
        self.exponent = exponent
        super().__init__(dtype, exponent)

    def explain(self) -> str:
        return (
            f"{self.dtype} to the power {self.exponent}: it is no integer; "
            f"cast to a float first, or use the exponent {float(self.exponent)} on floats"
        )


class UnknownDTypeError(TgError, KeyError, TypeError):
    """A dtype name that does not exist; NumPy has a `TypeError` here."""

    def __init__(self, *, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        super().__init__(name, self.known)

    def explain(self) -> str:
        meant = did_you_mean(self.name, self.known)
        return f"there is no dtype named {self.name!r}; {meant}the names are {_listed(self.known)}"


class ShapeError(TgError, ValueError, RuntimeError):
    """Shapes that do not fit the operation.

    NumPy has a `ValueError` here, PyTorch a `RuntimeError`: code that expects either catches this.
    """

    def __init__(self, *, op: str, shapes: Sequence[object], reason: str, hint: str = "") -> None:
        self.op = op
        self.shapes = tuple(shapes)
        self.reason = reason
        self.hint = hint
        super().__init__(op, self.shapes, reason, hint)

    def explain(self) -> str:
        text = f"{self.op} on shapes {_listed(self.shapes)}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class AxisError(ShapeError, IndexError):
    """An axis that the shape does not have; as NumPy's, an `IndexError` too."""


class DimensionError(ShapeError, TypeError):
    """What is no dimension in place of one; PyTorch has a `TypeError` here."""


class IndexShapeError(ShapeError, IndexError):
    """An index or a mask of a shape that does not fit; PyTorch has an `IndexError` here."""


class NoAxesError(AxisError, TypeError):
    """A value without axes where it is taken as a sequence; Python has a `TypeError` here."""


class IndexRangeError(TgError, IndexError):
    """An index that names no element."""

    def __init__(self, *, index: object, shape: Sequence[object], reason: str) -> None:
        self.index = index
        self.shape = tuple(shape)
        self.reason = reason
        super().__init__(index, self.shape, reason)

    def explain(self) -> str:
        return f"index {self.index} on shape {self.shape}: {self.reason}"


class DeviceMismatchError(TgError, ValueError, RuntimeError):
    """One operation on values of different devices; PyTorch has a `RuntimeError` here."""

    def __init__(
        self, *, op: str, devices: Sequence[object], shapes: Sequence[object] = ()
    ) -> None:
        self.op = op
        self.devices = tuple(devices)
        self.shapes = tuple(shapes)
        super().__init__(op, self.devices, self.shapes)

    def explain(self) -> str:
        places = _listed(self.devices)
        shaped = f" of shapes {_listed(self.shapes)}" if self.shapes else ""
        is_sharded = any(isinstance(device, tuple) for device in self.devices)
        hint = ".to()" + (" or .shard(devices, axis)" if is_sharded else "")
        return (
            f"{self.op} needs all operands{shaped} on one device (or over the same devices), "
            f"they are on {places}; move one with {hint}"
        )


class MalformedNodeError(TgError, ValueError, RuntimeError):
    """A node that was asked for something it does not have, or built with parts that do not fit."""

    def __init__(self, *, node: str, attempted: str, reason: str, hint: str = "") -> None:
        self.node = node
        self.attempted = attempted
        self.reason = reason
        self.hint = hint
        super().__init__(node, attempted, reason, hint)

    def explain(self) -> str:
        text = f"{self.attempted} on {self.node}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class NodeKindError(MalformedNodeError, TypeError):
    """A node that was asked for something that nodes of its kind do not have."""


class UnboundVariableError(TgError, KeyError):
    """A variable whose value is needed and was not given."""

    def __init__(self, *, name: str, given: Sequence[str]) -> None:
        self.name = name
        self.given = tuple(given)
        super().__init__(name, self.given)

    def explain(self) -> str:
        return (
            f"variable {self.name!r} has no value; values were given for {_listed(self.given)}; "
            "use variable.bind(value) in the shape or the slice"
        )


class VariableRangeError(TgError, ValueError):
    """A value outside the declared range of its variable."""

    def __init__(self, *, name: str, value: int, low: int, high: int) -> None:
        self.name = name
        self.value = value
        self.low = low
        self.high = high
        super().__init__(name, value, low, high)

    def explain(self) -> str:
        return (
            f"variable {self.name!r} cannot be {self.value}: "
            f"it was declared for {self.low} to {self.high}"
        )


class PatternError(TgError, ValueError):
    """A pattern or rule that is not well formed."""

    def __init__(self, *, pattern: str, reason: str, hint: str = "") -> None:
        self.pattern = pattern
        self.reason = reason
        self.hint = hint
        super().__init__(pattern, reason, hint)

    def explain(self) -> str:
        text = f"pattern {self.pattern}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class RewriteFuelError(TgError, RuntimeError):
    """A rewrite that did not come to rest: which rules fed each other, on which nodes."""

    def __init__(
        self, *, name: str, fuel: int, rules: Sequence[str] = (), nodes: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.fuel = fuel
        self.rules = tuple(rules)
        self.nodes = tuple(nodes)
        super().__init__(name, fuel, self.rules, self.nodes)

    def explain(self) -> str:
        lines = [f"rewrite {self.name!r} did not reach a fixed point within {self.fuel} matches"]
        if self.rules:
            lines.append(f"rules that fired last: {_listed(self.rules)}")
        if self.nodes:
            lines.append("nodes they fed each other:")
            lines.extend(f"  {node}" for node in self.nodes)
        return "\n".join(lines)


class SpecError(TgError, ValueError, RuntimeError):
    """A graph that breaks the rules of its form."""

    def __init__(
        self,
        *,
        form: str,
        rule: str,
        node: str,
        path: Sequence[str] = (),
        excerpt: str = "",
        origin: str = "",
    ) -> None:
        self.form = form
        self.rule = rule
        self.node = node
        self.path = tuple(path)
        self.excerpt = excerpt
        self.origin = origin
        super().__init__(form, rule, node, self.path, excerpt, origin)

    def explain(self) -> str:
        lines = [f"not legal in {self.form} form: {self.rule}", f"node: {self.node}"]
        if self.origin:
            lines.append(f"made by: {self.origin}")
        if self.path:
            lines.append(f"path from the root: {' > '.join(self.path)}")
        if self.excerpt:
            lines.extend(("around it:", self.excerpt))
        return "\n".join(lines)


class TargetError(TgError, ValueError, RuntimeError):
    """A target or device string that does not name something that exists.

    PyTorch has a `RuntimeError` here.
    """

    def __init__(self, *, text: str, reason: str, known: Sequence[str] = ()) -> None:
        self.text = text
        self.reason = reason
        self.known = tuple(known)
        super().__init__(text, reason, self.known)

    def explain(self) -> str:
        known = f"; known names: {_listed(self.known)}" if self.known else ""
        return f"cannot use target {self.text!r}: {self.reason}{known}"


class SettingError(TgError, ValueError, KeyError):
    """A setting that does not exist or a value that it cannot take."""

    def __init__(self, *, name: str, reason: str, known: Sequence[str] = ()) -> None:
        self.name = name
        self.reason = reason
        self.known = tuple(known)
        super().__init__(name, reason, self.known)

    def explain(self) -> str:
        meant = did_you_mean(self.name, self.known)
        known = f"; {meant}settings are {_listed(self.known)}" if self.known else ""
        return f"setting {self.name}: {self.reason}{known}"


class EvaluationError(TgError, ValueError):
    """A graph or operation that has no value on the host."""

    def __init__(self, *, op: str, reason: str) -> None:
        self.op = op
        self.reason = reason
        super().__init__(op, reason)

    def explain(self) -> str:
        return f"cannot evaluate {self.op}: {self.reason}"


class GraphTextError(TgError, ValueError):
    """Text that does not describe a graph."""

    def __init__(self, *, line: int, reason: str, text: str = "") -> None:
        self.line = line
        self.reason = reason
        self.text = text
        super().__init__(line, reason, text)

    def explain(self) -> str:
        shown = f": {self.text}" if self.text else ""
        return f"line {self.line} of the graph's text: {self.reason}{shown}"


class PipelineError(TgError, ValueError):
    """A list of passes that do not go together."""

    def __init__(self, *, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(name, reason)

    def explain(self) -> str:
        return f"pass {self.name!r} cannot stand here: {self.reason}"


class PassError(TgError, RuntimeError):
    """A pass that made a graph which is not in the form it promises."""

    def __init__(self, *, name: str, form: str, cause: SpecError) -> None:
        self.name = name
        self.form = form
        self.cause = cause
        super().__init__(name, form, cause)

    def explain(self) -> str:
        return f"pass {self.name!r} made a graph that is not in {self.form} form\n{self.cause}"
