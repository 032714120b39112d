"""What a row of the conformance table is made of: a public name, calls, oracles, mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tensor_table.inputs import Input, Shape

FLOATS = ("float32", "float64", "float16", "bfloat16")
SIGNED = ("int32", "int8", "int16", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTS
ALL = (*NUMBERS, "bool")
WIDE = ("float32", "float64")

# one entry: the shape of each input that has none of its own
UNARY: tuple[tuple[Shape, ...], ...] = (
    ((17,),),
    ((),),
    ((0,),),
    ((3,),),
    ((2, 3, 4),),
    ((1,),),
    ((100,),),
    ((8,),),
    ((2, 0, 3),),
)
BINARY: tuple[tuple[Shape, ...], ...] = (
    ((17,), (17,)),
    ((3, 1), (1, 4)),
    ((), (3,)),
    ((2, 3, 4), (3, 4)),
    ((0, 3), (1, 3)),
    ((100,), (1,)),
    ((8,), ()),
    ((1,), (1,)),
    ((), ()),
    ((2, 1, 3), (4, 1)),
)
TERNARY: tuple[tuple[Shape, ...], ...] = (
    ((17,), (17,), (17,)),
    ((3, 1), (1, 4), (3, 4)),
    ((), (3,), (1,)),
    ((0, 3), (1, 3), (3,)),
    ((100,), (1,), ()),
)

LAYOUTS = ("plain", "permuted", "flipped", "sliced", "expanded")

DTypeRule = str | Mapping[str, str] | Callable[[str], str] | None


@dataclass(frozen=True, slots=True)
class Case:
    """One way to call a name: an expression of ours, and that of an oracle."""

    ours: str
    torch: str | None
    numpy: str | None
    inputs: dict[str, Input]
    dtypes: tuple[str, ...] = FLOATS
    shapes: tuple[tuple[Shape, ...], ...] = ((),)
    layouts: tuple[str, ...] = ("plain",)
    gradient: bool = True
    second: bool = False
    # the dtype of the result, where it is not the oracle's
    out: DTypeRule = None
    tolerance: Mapping[str, float] = field(default_factory=dict)
    # the oracle computes these dtypes in a wider one
    widened: Mapping[str, str] = field(default_factory=dict)
    # also on NaN, infinities, both zeros, the smallest and the largest numbers
    special: bool = False


@dataclass(frozen=True, slots=True)
class Holds:
    """An expression that is true: for what has no oracle."""

    expression: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """A call that raises, and the class that it raises."""

    expression: str
    error: str


@dataclass(frozen=True, slots=True)
class Row:
    """A public name of Tensor with all that is claimed about it."""

    name: str
    cases: tuple[Case, ...]
    holds: tuple[Holds, ...]
    mistakes: tuple[Mistake, ...]
    deviations: str = ""

    @property
    def oracle(self) -> str:
        """Who the values are compared with, in words."""
        found = []
        if any(case.torch for case in self.cases):
            found.append("PyTorch")
        if any(case.numpy for case in self.cases):
            found.append("NumPy")
        if not found:
            return "recorded rules"
        return ", ".join(found)


def row(
    name: str,
    *parts: Case | Holds | str,
    bad: Mapping[str, str] | None = None,
    deviations: str = "",
) -> Row:
    """A row; a plain string is an expression that holds. `bad` maps calls to error classes."""
    cases = tuple(p for p in parts if isinstance(p, Case))
    holds = tuple(p if isinstance(p, Holds) else Holds(p) for p in parts if not isinstance(p, Case))
    mistakes = tuple(Mistake(text, error) for text, error in (bad or {}).items())
    return Row(name, cases, holds, mistakes, deviations)


def like_torch(ours: str, theirs: str | None = None, **options: object) -> Case:
    """A call that PyTorch is the oracle of; the same expression where none is given."""
    return _case(ours, theirs or ours, None, options)


def like_numpy(ours: str, theirs: str | None = None, **options: object) -> Case:
    """A call that NumPy is the oracle of, which every environment has."""
    options.setdefault("gradient", False)
    return _case(ours, None, theirs or ours, options)


_FIELDS = (
    "dtypes", "shapes", "layouts", "gradient", "second", "out", "tolerance", "widened", "special",
)  # fmt: skip


def _case(ours: str, torch: str | None, numpy: str | None, options: dict[str, object]) -> Case:
    chosen = {name: options.pop(name) for name in _FIELDS if name in options}
    inputs = {}
    for name, value in options.items():
        if not isinstance(value, Input):
            raise TypeError(f"{name}={value!r} is neither an option nor an input of {ours!r}")
        inputs[name] = value
    if isinstance(chosen.get("tolerance"), float):
        chosen["tolerance"] = {"float32": chosen["tolerance"]}
    if not inputs:
        chosen.setdefault("dtypes", ("float32",))
    in_order = dict(sorted(inputs.items()))
    return Case(ours, torch, numpy, in_order, **chosen)  # type: ignore[arg-type]
