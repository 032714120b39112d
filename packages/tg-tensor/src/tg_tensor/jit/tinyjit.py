"""TinyJit: run a function once, capture it once, then replay what it launched."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, cast, final

from tg_runtime import Buffer
from tg_uop import UOp
from tg_uop.context import JIT

from tg_tensor.engine.buffers import buffer_of
from tg_tensor.jit.bound import BoundJit, OfInstance
from tg_tensor.jit.containers import Found, leaves, leaves_of
from tg_tensor.jit.errors import JitError
from tg_tensor.jit.fast import FastPath, fast_path
from tg_tensor.jit.guards import (
    NO_VALUES,
    Layout,
    Signature,
    differences,
    is_plain,
    layouts_of,
    signature_of,
    values_of,
)
from tg_tensor.jit.modes import Modes, any_modes, current_modes
from tg_tensor.jit.recording import Recording, realize_all
from tg_tensor.jit.replay import Captured
from tg_tensor.realize import recorders

P = ParamSpec("P")
R = TypeVar("R")

MOST_STEPS = 16
"""Different signatures to capture before the function is taken to change with every call."""


@final
class TinyJit(Generic[P, R]):
    """A function of Tensors whose kernels are captured and replayed.

    The first call runs the function, the second captures it, later calls replay what was captured
    when shapes, dtypes, devices, aliasing and all other arguments are what they were, and the
    Tensors from outside that it reads are in their places; a call that differs is captured anew.
    Results are fresh Tensors. What the function does beside launching kernels (printing, appending
    to lists) happens in the first two calls only.

    Of a method, each instance has its own steps. `prune` computes once, at capture, whatever
    depends on no argument and no changing state. Used as `@TinyJit` or `@TinyJit(prune=True)`.
    """

    def __new__(cls, fxn: Callable[P, R] | None = None, prune: bool = False) -> Any:
        """The function itself, or with options alone what makes one of a function."""
        if fxn is None:
            return functools.partial(cls, prune=prune)
        return object.__new__(cls)

    def __init__(self, fxn: Callable[P, R] | None = None, prune: bool = False) -> None:
        """Raises `JitError` for what is no function."""
        self.fxn = fxn
        self.prune = prune
        self.calls = 0
        self._steps: dict[Signature, Captured] = {}
        self._last: Captured | None = None
        self._fast: FastPath | None = None
        self._fast_modes: Modes | None = None
        self._changes = 0
        self._instances: dict[int, tuple[object, TinyJit[..., R]]] = {}
        self._capturing = threading.RLock()
        if fxn is None:
            return
        if not callable(fxn):
            raise JitError(
                function=repr(fxn),
                reason=f"{type(fxn).__name__} is no function",
                hint="use TinyJit(function) or @TinyJit",
            )
        functools.update_wrapper(self, fxn)

    @property
    def captured(self) -> Captured | None:
        """The step captured or replayed last, None before the second call."""
        return self._last

    def reset(self) -> None:
        """Forget everything: the next call is the first again."""
        self.calls = 0
        self._steps.clear()
        self._last = None
        self._fast = None
        self._changes = 0
        self._instances.clear()

    def __get__(self, instance: object, owner: type | None = None) -> object:
        """Of an instance its own captured function, of the class this one."""
        if instance is None:
            return self
        key = id(instance)
        known = self._instances.get(key)
        if known is None:
            instances = self._instances
            try:
                reference = weakref.ref(instance, lambda _: instances.pop(key, None))
            except TypeError:
                # it cannot be told when such an instance is gone: it is an argument like others
                return functools.partial(cast("Callable[..., R]", self.__call__), instance)
            function = OfInstance(cast("Callable[..., object]", self.fxn), reference)
            known = (reference, TinyJit(cast("Callable[..., R]", function), self.prune))
            instances[key] = known
        return BoundJit(known[1], instance)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The function's result, by replaying where a captured step fits.

        Raises `JitError` for what cannot be captured, and when too many different calls were.
        """
        fast = self._fast
        if fast is not None and not kwargs and not recorders.active and JIT.value:
            inputs = fast.inputs(args)
            step = fast.step
            if (
                inputs is not None
                and self._fast_modes == current_modes()
                and (step.watch is None or step.is_current())
            ):
                self.calls += 1
                self._last = step
                buffers = list(map(buffer_of, inputs))
                return cast(R, step.replay(inputs, buffers, NO_VALUES))
        if not JIT or recorders.active:
            return self._function()(*args, **kwargs)
        if self.calls == 0 and not self._steps:
            self.calls = 1
            return self._first(args, kwargs)
        return self._captured_call(args, kwargs)

    def _function(self) -> Callable[..., R]:
        if self.fxn is None:
            raise JitError(
                function=self._name,
                reason="the function itself was not kept",
                hint="call it with arguments like those that were captured",
            )
        return self.fxn

    @property
    def _name(self) -> str:
        return getattr(self.fxn, "__qualname__", "a restored step")

    def _first(self, args: Sequence[object], kwargs: Mapping[str, object]) -> R:
        result = self._function()(*args, **kwargs)
        realize_all([tensor for _, tensor in leaves_of(result).tensors])
        return result

    def _captured_call(self, args: Sequence[object], kwargs: Mapping[str, object]) -> R:
        found = leaves(args, kwargs)
        pending = [tensor for _, tensor in found.tensors if not is_plain(tensor.uop)]
        realize_all(pending)
        layouts = layouts_of([tensor.uop for _, tensor in found.tensors])
        values = values_of(self._name, layouts, found)
        signature = signature_of(layouts, found)
        if self.fxn is None:
            # there is nothing to capture again with other modes
            signature = any_modes(signature)
        step = self._steps.get(signature)
        if step is not None and not step.is_current():
            self._forget(signature, step)
            step = None
        if step is None:
            with self._capturing:
                return self._capture(args, kwargs, found, layouts, signature, values)
        if step.overwrites_any(layouts):
            # an argument is state that the step writes: only the function itself is right
            return self._function()(*args, **kwargs)
        self.calls += 1
        self._last = step
        if self._fast is None or self._fast.step is not step:
            self._fast = None if kwargs else fast_path(step, args)
            self._fast_modes = current_modes()
        return cast(R, step.replay(*_inputs(layouts), values))

    def _forget(self, signature: Signature, step: Captured) -> None:
        """Forget a step whose surroundings have changed.

        Raises `JitError` when it cannot be captured again.
        """
        if self.fxn is None:
            self._function()
        changed = [] if step.watch is None else step.watch.changed_constants()
        self._changes += bool(changed)
        if self._changes > MOST_STEPS:
            raise JitError(
                function=self._name,
                reason=f"numbers that it reads from outside have changed {MOST_STEPS} times",
                changed=changed,
                hint="pass what changes as an argument: a Tensor or a bound Variable",
            )
        self._steps.pop(signature, None)
        if self._fast is not None and self._fast.step is step:
            self._fast = None

    def _capture(
        self,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        found: Found,
        layouts: Sequence[Layout],
        signature: Signature,
        values: dict[str, int],
    ) -> R:
        self._check_room(found, layouts, signature)
        recording = Recording(self._function(), self._name, prune=self.prune)
        result, captured = recording.run(args, kwargs, found, layouts, values)
        self._steps[signature] = captured
        self._last = captured
        self.calls += 1
        return cast(R, result)

    def _check_room(self, found: Found, layouts: Sequence[Layout], signature: Signature) -> None:
        if len(self._steps) < MOST_STEPS and self.fxn is not None:
            return
        known = next(reversed(self._steps))
        raise JitError(
            function=self._name,
            reason="no captured step fits this call"
            if self.fxn is None
            else f"{MOST_STEPS} different calls were captured already",
            changed=differences(found, layouts, known, signature),
            hint="pass what changes as a Tensor (contiguous() where it is a view that moves) or "
            "as a bound Variable, or call reset()",
        )

    # *** pickling ***

    def __getnewargs__(self) -> tuple[object, ...]:
        return (_not_kept,)

    def __getstate__(self) -> dict[str, object]:
        return {"steps": self._steps, "prune": self.prune}

    def __setstate__(self, state: dict[str, object]) -> None:
        TinyJit.__init__(self, None, cast(bool, state["prune"]))
        steps = cast(dict[Signature, Captured], state["steps"])
        self._steps = {any_modes(signature): step for signature, step in steps.items()}
        self._last = next(reversed(self._steps.values()), None)


def _not_kept() -> None:
    """Stands for the function of a restored step while it is made."""


def _inputs(layouts: Sequence[Layout]) -> tuple[list[UOp], list[Buffer]]:
    """The memory of the arguments, each part once: as nodes and as buffers."""
    places = list(dict.fromkeys(place for layout in layouts for place in layout.places))
    return [place.node for place in places], [place.memory for place in places]
