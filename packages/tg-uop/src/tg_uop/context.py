"""The settings: a typed registry, the only reader of the process environment.

A setting has a default, a value from the environment that wins over it, and values that
`Context(NAME=value)` puts in for a while. Those last are seen by the running thread (and the tasks
it starts) only, so that two threads can work under different settings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar as _Overlay
from contextvars import Token
from functools import wraps
from types import TracebackType
from typing import Generic, ParamSpec, TypeVar, final

from tg_uop.arguments import methods_name_bad_arguments
from tg_uop.errors import SettingError

SettingValue = int | float | str
T = TypeVar("T", int, float, str)
P = ParamSpec("P")
R = TypeVar("R")

_REGISTRY: dict[str, ContextVar[int] | ContextVar[float] | ContextVar[str]] = {}


def getenv(name: str, default: T) -> T:
    """The environment variable as a value of the default's type.

    Raises `SettingError` when the text is no number and a number is wanted.
    """
    text = os.environ.get(name)
    return default if text is None else parse_setting(name, text, type(default))


def parse_setting(name: str, text: str, kind: type[T]) -> T:
    """The value that `text` stands for.

    Raises `SettingError` when it is no value of that kind.
    """
    try:
        return kind(text)
    except ValueError:
        raise SettingError(name=name, reason=f"{text!r} is not of type {kind.__name__}") from None


@final
class ContextVar(Generic[T]):
    """One setting. It compares and converts like its value: `if DEBUG >= 2`, `int(BEAM)`."""

    __slots__ = ("_base", "_overlay", "choices", "default", "group", "help", "name")

    def __init__(
        self,
        name: str,
        default: T,
        help: str = "",
        *,
        group: str = "other",
        choices: tuple[T, ...] = (),
    ) -> None:
        """Declare the setting.

        Raises `SettingError` when it exists already or the environment holds no value of its kind.
        """
        if name in _REGISTRY:
            raise SettingError(name=name, reason="it is declared twice")
        self.name = name
        self.default: T = default
        self.help = help
        self.group = group
        self.choices: tuple[T, ...] = choices
        self._base: T = self.checked(getenv(name, default))
        self._overlay: _Overlay[T | None] = _Overlay(name, default=None)
        _REGISTRY[name] = self

    @property
    def value(self) -> T:
        """The value here and now."""
        found = self._overlay.get()
        return self._base if found is None else found

    @property
    def is_put_in(self) -> bool:
        """Whether a `Context` has put a value in for the running thread."""
        return self._overlay.get() is not None

    def checked(self, value: object) -> T:
        """`value` in the type of the setting.

        Raises `SettingError` when it has another type or is none of the choices.
        """
        kind = type(self.default)
        accepted = (int, float) if kind is float else (kind,)
        if not isinstance(value, accepted):
            raise SettingError(name=self.name, reason=f"{value!r} is not of type {kind.__name__}")
        converted = kind(value)
        if self.choices and converted not in self.choices:
            raise SettingError(name=self.name, reason=f"{value!r} is none of {self.choices}")
        return converted

    def push(self, value: object) -> Token[T | None]:
        """Put a value in for the running thread; `pop` takes it out again."""
        return self._overlay.set(self.checked(value))

    def pop(self, token: Token[T | None]) -> None:
        """Undo the `push` that gave this token."""
        self._overlay.reset(token)

    def set_process_wide(self, value: object) -> None:
        """Change the value for every thread that has none of its own."""
        self._base = self.checked(value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"ContextVar({self.name}={self.value!r})"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other or self.value == _plain(other)

    def __lt__(self, other: T | ContextVar[T]) -> bool:
        return bool(self.value < _plain(other))  # type: ignore[operator]

    def __le__(self, other: T | ContextVar[T]) -> bool:
        return bool(self.value <= _plain(other))  # type: ignore[operator]

    def __gt__(self, other: T | ContextVar[T]) -> bool:
        return bool(self.value > _plain(other))  # type: ignore[operator]

    def __ge__(self, other: T | ContextVar[T]) -> bool:
        return bool(self.value >= _plain(other))  # type: ignore[operator]


def _plain(value: object) -> object:
    return value.value if isinstance(value, ContextVar) else value


@final
@methods_name_bad_arguments()
class Context:
    """Settings that hold inside a `with` block, or while a decorated function runs.

    `with Context(DEBUG=2, BEAM=4): ...` or `@Context(NOOPT=1)`. Raises `SettingError` at once on an
    unknown name or a value of the wrong type.
    """

    __slots__ = ("_tokens", "_values")

    def __init__(self, **values: SettingValue) -> None:
        for name, value in values.items():
            setting(name).checked(value)
        self._values = values
        self._tokens: list[list[tuple[str, Token[object]]]] = []

    def __enter__(self) -> Context:
        self._tokens.append(
            [
                (name, setting(name).push(value))  # type: ignore[misc]
                for name, value in self._values.items()
            ]
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, token in reversed(self._tokens.pop()):
            setting(name).pop(token)  # type: ignore[arg-type]

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            with Context(**self._values):
                return function(*args, **kwargs)

        return wrapped


def setting(name: str) -> ContextVar[int] | ContextVar[float] | ContextVar[str]:
    """The setting of this name.

    Raises `SettingError`, listing the settings.
    """
    found = _REGISTRY.get(name)
    if found is None:
        raise SettingError(name=name, reason="there is no such setting", known=sorted(_REGISTRY))
    return found


def all_settings() -> Iterable[ContextVar[int] | ContextVar[float] | ContextVar[str]]:
    """Every declared setting, in order of declaration."""
    return tuple(_REGISTRY.values())


def settings_markdown() -> str:
    """The reference page of all settings."""
    lines = [
        "# Settings",
        "",
        "Set them in the environment, or for a part of a program with `Context(NAME=value)`.",
    ]
    group = None
    for entry in sorted(all_settings(), key=lambda s: _GROUPS.index(s.group)):
        if entry.group != group:
            group = entry.group
            lines += ["", f"## {group.capitalize()}", ""]
            lines += ["| name | type | default | meaning |", "| --- | --- | --- | --- |"]
        shown = "number of cores" if entry is CPU_COUNT else repr(entry.default)
        kind = type(entry.default).__name__
        note = " Accepted without effect." if entry.name in WITHOUT_EFFECT else ""
        lines.append(f"| `{entry.name}` | {kind} | `{shown}` | {entry.help}{note} |")
    return "\n".join(lines) + "\n"


# Settings for what there is not (image memory and tf32 units on any device): declared, so that
# programs which set them run.
WITHOUT_EFFECT = frozenset(("IMAGE", "FLOAT16", "ALLOW_TF32"))

_GROUPS = ("device", "report", "optimization", "execution", "numbers", "cache", "other")


def _usable_cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cache_dir() -> str:
    """The folder for everything that is kept between runs; it need not exist yet."""
    if CACHE_DIR.value:
        return CACHE_DIR.value
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "tg")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA", home), "tg")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "tg")


DEV = ContextVar(
    "DEV",
    "",
    "What to run on: `[INTERFACE+]DEVICE[:RENDERER[:ARCH]]`; empty picks the best that opens.",
    group="device",
)
CPU_COUNT = ContextVar(
    "CPU_COUNT", _usable_cores(), "Worker threads of the CPU device.", group="device"
)
MAX_BUFFER_SIZE = ContextVar(
    "MAX_BUFFER_SIZE", 0, "Largest single buffer in bytes; 0 asks the device.", group="device"
)
EMULATED_DTYPES = ContextVar(
    "EMULATED_DTYPES",
    "",
    "Dtypes to compute in a wider one although the target has them, comma-separated.",
    group="device",
)

DEBUG = ContextVar(
    "DEBUG",
    0,
    "How much to print: 1 devices, 2 each kernel with its time, 3 the optimizations, "
    "4 the source, 5 the UOps, 6 the linear UOps, 7 the assembly.",
    group="report",
)
VIZ = ContextVar(
    "VIZ",
    0,
    "Write a page with every rewrite of each kernel that is compiled, into `viz` of TG_CACHE_DIR.",
    group="report",
)
PROFILE = ContextVar("PROFILE", 0, "Record profile events.", group="report")
SPEC = ContextVar("SPEC", 0, "Verify the graph against its form after every pass.", group="report")
CHECK_OOB = ContextVar(
    "CHECK_OOB",
    0,
    "Prove that every access of a kernel stays inside its memory; one that does not is an error.",
    group="report",
)
VALIDATE_WITH_CPU = ContextVar(
    "VALIDATE_WITH_CPU", 0, "Run every kernel on CPU too and compare.", group="report"
)
CAPTURE_PROCESS_REPLAY = ContextVar(
    "CAPTURE_PROCESS_REPLAY",
    0,
    "Keep the source of each kernel that is compiled; `python -m tg_tensor.viz.process_replay` "
    "shows what a changed compiler makes of it.",
    group="report",
)

NOOPT = ContextVar("NOOPT", 0, "Apply no optimizations to kernels.", group="optimization")
BEAM = ContextVar(
    "BEAM",
    0,
    "Width of the beam search over optimizations; 0 uses the heuristic.",
    group="optimization",
)
BEAM_SECONDS = ContextVar(
    "BEAM_SECONDS",
    60.0,
    "Longest search for one kernel; what was best by then is taken, a longer one goes on from it.",
    group="optimization",
)
JITBEAM = ContextVar(
    "JITBEAM", 0, "BEAM for kernels that TinyJit captures; 0 means BEAM.", group="optimization"
)
TC = ContextVar(
    "TC", 1, "Tensor cores: 0 never, 1 where they exist, 2 their shape only.", group="optimization"
)
TC_OPT = ContextVar(
    "TC_OPT",
    2,
    "How far a kernel may be bent to fit a tensor core: 0 plain, 1 with casts, 2 with padding.",
    group="optimization",
)
TC_SELECT = ContextVar(
    "TC_SELECT", -1, "Number of the tensor core to use; -1 picks one.", group="optimization"
)
DEVECTORIZE = ContextVar(
    "DEVECTORIZE", 1, "Split vectors that the target does not have.", group="optimization"
)
NOLOCALS = ContextVar(
    "NOLOCALS", 0, "Use no work-groups and no shared memory.", group="optimization"
)
WINO = ContextVar(
    "WINO", 0, "Winograd form of convolutions with windows of 3.", group="optimization"
)
IMAGE = ContextVar("IMAGE", 0, "Use image memory where a device has it.", group="optimization")

JIT = ContextVar(
    "JIT", 1, "TinyJit: 0 off, 1 on, 2 without graphs.", group="execution", choices=(0, 1, 2)
)
JIT_BATCH_SIZE = ContextVar(
    "JIT_BATCH_SIZE",
    0,
    "Kernels in the first graph of a captured step, twice as many in the next; 0: all in one.",
    group="execution",
)
NO_MEMORY_PLANNER = ContextVar(
    "NO_MEMORY_PLANNER", 0, "Give every intermediate its own memory.", group="execution"
)
RING = ContextVar(
    "RING", 1, "Ring allreduce: 0 never, 1 for large values, 2 always.", group="execution"
)
ALL2ALL = ContextVar(
    "ALL2ALL", 0, "All-to-all allreduce: 0 never, 1 for large values, 2 always.", group="execution"
)

DEFAULT_FLOAT = ContextVar(
    "DEFAULT_FLOAT",
    "float32",
    "The default float dtype; `dtypes.default_float` can be assigned, too.",
    group="numbers",
)
FLOAT16 = ContextVar("FLOAT16", 0, "Store images as float16.", group="numbers")
ALLOW_TF32 = ContextVar(
    "ALLOW_TF32", 0, "Let tensor cores round float32 operands to tf32.", group="numbers"
)
TRANSCENDENTAL = ContextVar(
    "TRANSCENDENTAL",
    1,
    "Own exp2, log2 and sin: 0 where the target has none, 1 where its are inexact, 2 always.",
    group="numbers",
)

LRU = ContextVar("LRU", 1, "Keep freed memory for reuse.", group="cache")
SCACHE = ContextVar("SCACHE", 1, "Reuse schedules of equal graphs.", group="cache")
CCACHE = ContextVar(
    "CCACHE", 1, "Reuse compiled binaries and large schedules from disk.", group="cache"
)
CACHELEVEL = ContextVar(
    "CACHELEVEL",
    2,
    "What is kept on disk: 0 nothing, 1 search results, 2 also binaries and schedules.",
    group="cache",
)
IGNORE_BEAM_CACHE = ContextVar(
    "IGNORE_BEAM_CACHE", 0, "Search anew even where a result is on disk.", group="cache"
)
CACHE_DIR = ContextVar(
    "TG_CACHE_DIR", "", "Folder of everything kept on disk; empty is the user's.", group="cache"
)
