"""TinyJit: run a function once, capture it once, then replay what it launched."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Generic, ParamSpec, TypeVar, cast, final

from tg_runtime import Buffer
from tg_uop import Ops, UOp
from tg_uop.context import BEAM, JIT, JITBEAM, Context
from tg_uop.ir.args import BufferArg

from tg_tensor.engine.buffers import attach, buffer_of, watchers
from tg_tensor.jit.capture import CallRecorder, Step, finish_step
from tg_tensor.jit.errors import JitError
from tg_tensor.jit.fast import FastPath, fast_path
from tg_tensor.jit.guards import (
    Found,
    Layout,
    Signature,
    TensorLike,
    differences,
    is_plain,
    layout_of,
    leaves,
    leaves_of,
    rebuild,
    signature_of,
)
from tg_tensor.jit.outside import (
    Reads,
    copies_of_read,
    copy_of,
    finish_writes,
    move_readers,
    readers,
)
from tg_tensor.jit.replay import SINGLE, Captured
from tg_tensor.realize import recorders

P = ParamSpec("P")
R = TypeVar("R")

NO_VALUES: Mapping[str, int] = {}

MOST_STEPS = 16
"""Different signatures to capture before the function is taken to change with every call."""


@final
class TinyJit(Generic[P, R]):
    """A function of Tensors whose kernels are captured and replayed.

    The first call runs the function, the second captures it, later calls replay what was captured
    when shapes, dtypes, devices, aliasing and all other arguments are what they were; a call that
    differs is captured anew. Results are fresh Tensors. What the function does beside launching
    kernels (printing, appending to lists) happens in the first two calls only.

    `prune` computes once, at capture, whatever depends on no argument and no changing state.
    """

    def __init__(self, fxn: Callable[P, R] | None, prune: bool = False) -> None:
        self.fxn = fxn
        self.prune = prune
        self.calls = 0
        self._steps: dict[Signature, Captured] = {}
        self._last: Captured | None = None
        self._fast: FastPath | None = None
        if fxn is not None:
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

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., R]:
        return functools.partial(cast("Callable[..., R]", self.__call__), instance)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        fast = self._fast
        if fast is not None and not kwargs and not recorders.active and JIT.value:
            inputs = fast.inputs(args)
            if inputs is not None:
                self.calls += 1
                self._last = fast.step
                return cast(R, fast.step.replay(inputs, list(map(buffer_of, inputs)), NO_VALUES))
        if not JIT or recorders.active:
            return self._function()(*args, **kwargs)
        if self.calls == 0:
            self.calls = 1
            if self._steps:
                return self._captured_call(args, kwargs)
            return self._first(args, kwargs)
        return self._captured_call(args, kwargs)

    def _function(self) -> Callable[..., R]:
        if self.fxn is None:
            raise JitError(
                function="a restored step",
                reason="the function itself was not kept",
                hint="call it with arguments like those that were captured",
            )
        return self.fxn

    @property
    def _name(self) -> str:
        return getattr(self.fxn, "__qualname__", "a restored step")

    def _first(self, args: Sequence[object], kwargs: Mapping[str, object]) -> R:
        result = self._function()(*args, **kwargs)
        _realize([tensor for _, tensor in leaves_of(result).tensors])
        return result

    def _captured_call(self, args: Sequence[object], kwargs: Mapping[str, object]) -> R:
        found = leaves(args, kwargs)
        tensors = [tensor for _, tensor in found.tensors]
        layouts = self._layouts(tensors)
        signature = signature_of(layouts, found)
        step = self._steps.get(signature)
        if step is None:
            return self._capture(args, kwargs, found, layouts, signature)
        if step.overwrites_any(layouts):
            # an argument is state that the step writes: only the function itself is right
            return self._function()(*args, **kwargs)
        self.calls += 1
        self._last = step
        if self._fast is None or self._fast.step is not step:
            self._fast = None if kwargs else fast_path(step, args)
        return cast(R, step.replay(*_arguments(layouts, found)))

    # *** arguments ***

    def _layouts(self, tensors: Sequence[TensorLike]) -> list[Layout]:
        """Where the arguments lie; what is not in memory yet is computed."""
        pending = [t for t in tensors if not is_plain(t.uop)]
        if pending:
            _realize(pending)
        return [layout_of(tensor.uop) for tensor in tensors]

    # *** capture ***

    def _capture(
        self,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        found: Found,
        layouts: Sequence[Layout],
        signature: Signature,
    ) -> R:
        self._check_room(found, layouts, signature)
        function = self._function()
        # what is pending outside happens once, it is no part of the step
        finish_writes()
        stand_ins = _stand_ins(layouts)
        copies = copies_of_read(stand_ins)
        outside = readers()
        recorder = CallRecorder()
        proxies = _Proxies([tensor for _, tensor in found.tensors], stand_ins)
        own_args, own_kwargs = proxies.arguments(args, kwargs)
        recorders.active.append(recorder)
        watchers.active.append(self._refuse_reading)
        try:
            with Context(BEAM=int(JITBEAM) or int(BEAM)):
                result = function(*own_args, **own_kwargs)
                produced = [tensor for _, tensor in leaves_of(result).tensors]
                _realize(produced)
                _realize(proxies.tensors)
        finally:
            recorders.active.pop()
            watchers.active.pop()
            back = {stand_in: buffer for buffer, stand_in in stand_ins.items()}
            proxies.hand_back(back)
        self._check_places(proxies, recorder)
        written = recorder.written()
        move_readers([b for b, stand_in in stand_ins.items() if stand_in in written], copies)
        _take_from_step(outside, recorder, written)
        views = [recorder.noted_view(tensor.uop) for tensor in produced]
        for tensor in produced:
            tensor.uop = tensor.uop.substitute(back)
        self._finish(recorder, result, produced, views, back, signature)
        return cast(R, rebuild(result, proxies.original))

    def _refuse_reading(self, node: UOp) -> None:
        raise JitError(
            function=self._name,
            reason=f"it reads a value of shape {node.shape} on the host while it is captured; "
            "a replay would not read it again",
            hint="return the Tensor and read it outside",
        )

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
            hint="pass what changes as a Tensor or as a bound Variable, or call reset()",
        )

    def _finish(
        self,
        recorder: CallRecorder,
        result: R,
        produced: Sequence[TensorLike],
        views: Sequence[UOp],
        back: Mapping[UOp, UOp],
        signature: Signature,
    ) -> None:
        buffers = [n for view in views for n in view.toposort() if n.op is Ops.BUFFER]
        is_single = len(produced) == 1 and result is produced[0]
        make = type(produced[0]).from_uop if produced else None
        template = SINGLE if is_single else rebuild(result, _Placeholder.of)
        step = finish_step(recorder, list(back), buffers, prune=self.prune)
        self._check_aliases(step, back)
        captured = Captured(step, template, views, make)
        self._steps[signature] = captured
        self._last = captured
        self.calls += 1

    def _check_places(self, proxies: _Proxies, recorder: CallRecorder) -> None:
        """Refuse a step after which an argument lies elsewhere: a replay only writes memory."""
        for proxy in proxies.tensors:
            if any(recorder.has_made(node) for node in proxy.uop.toposort()):
                raise JitError(
                    function=self._name,
                    reason=f"an argument of shape {proxy.uop.shape} is another value afterwards, "
                    "or a view of it is written while it keeps its own value",
                    hint="write to the argument itself, or return the value",
                )

    def _check_aliases(self, step: Step, arguments: Mapping[UOp, UOp]) -> None:
        """Refuse a step that writes memory which it knows both as an argument and as state."""
        written = step.written()
        for stand_in, buffer in arguments.items():
            if buffer in step.state and (buffer in written or stand_in in written):
                raise JitError(
                    function=self._name,
                    reason="an argument is also reached by another way, and is written",
                    hint="pass it as an argument only, or use it from outside only",
                )

    # *** pickling ***

    def __getstate__(self) -> dict[str, object]:
        return {"steps": self._steps, "prune": self.prune}

    def __setstate__(self, state: dict[str, object]) -> None:
        TinyJit.__init__(self, None, cast(bool, state["prune"]))
        self._steps = cast(dict[Signature, Captured], state["steps"])
        self._last = next(reversed(self._steps.values()), None)


@final
class _Proxies:
    """Tensors that stand for the arguments while a function is captured.

    The function may reach an argument by another way as well (a weight that is passed too): that
    Tensor keeps its node and is state, only the proxy is the argument.
    """

    def __init__(self, tensors: Sequence[TensorLike], stand_ins: Mapping[UOp, UOp]) -> None:
        self._proxy_of: dict[int, TensorLike] = {}
        self._original_of: dict[int, TensorLike] = {}
        self._before: list[tuple[TensorLike, TensorLike, UOp]] = []
        for tensor in tensors:
            if id(tensor) in self._proxy_of:
                continue
            node = tensor.uop.substitute(stand_ins)
            proxy = type(tensor).from_uop(node)
            if hasattr(tensor, "requires_grad"):
                proxy.requires_grad = tensor.requires_grad  # type: ignore[attr-defined]
            self._proxy_of[id(tensor)] = proxy
            self._original_of[id(proxy)] = tensor
            self._before.append((tensor, proxy, node))

    @property
    def tensors(self) -> list[TensorLike]:
        """The proxies."""
        return list(self._proxy_of.values())

    def arguments(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[list[object], dict[str, object]]:
        """The arguments with proxies in place of Tensors."""

        def proxy(tensor: TensorLike) -> TensorLike:
            return self._proxy_of[id(tensor)]

        own_args = [rebuild(value, proxy) for value in args]
        return own_args, {name: rebuild(value, proxy) for name, value in kwargs.items()}

    def original(self, tensor: TensorLike) -> TensorLike:
        """The argument that a proxy stands for; any other Tensor itself."""
        return self._original_of.get(id(tensor), tensor)

    def hand_back(self, back: Mapping[UOp, UOp]) -> None:
        """Let what the function did to proxies happen to the arguments."""
        for tensor, proxy, node in self._before:
            if proxy.uop is not node:
                tensor.uop = proxy.uop.substitute(back)


class _Placeholder:
    """Stands in a captured result for a tensor."""

    uop = UOp(Ops.NOOP)

    @classmethod
    def from_uop(cls, y: UOp, **kwargs: object) -> _Placeholder:
        """A stand-in for any node."""
        return cls()

    @classmethod
    def of(cls, tensor: TensorLike) -> TensorLike:
        """A stand-in for a tensor."""
        return cast(TensorLike, cls())


def _realize(tensors: Sequence[TensorLike]) -> None:
    """Compute tensors and give those that are plain numbers memory of their own."""
    if not tensors:
        return
    tensors[0].realize(*tensors[1:])
    numbers = [tensor for tensor in tensors if not is_plain(tensor.uop)]
    for tensor in numbers:
        tensor.uop = tensor.contiguous().uop
    if numbers:
        numbers[0].realize(*numbers[1:])


def _take_from_step(
    outside: Sequence[tuple[TensorLike, Reads]], recorder: CallRecorder, written: Collection[UOp]
) -> None:
    """Give values that were saved from a write of the step memory of their own.

    Each replay would save the values of its own time in the same place.
    """
    for tensor, reads in outside:
        if reads.buffers.isdisjoint(written):
            continue
        made = [n for n in tensor.uop.toposort() if recorder.has_made(n)]
        tensor.uop = tensor.uop.substitute({node: copy_of(node) for node in made})


def _stand_ins(layouts: Sequence[Layout]) -> dict[UOp, UOp]:
    """For each buffer of the arguments another node of the same memory: what the function reaches
    by other ways keeps the node that it has, and is state, not argument.
    """
    found: dict[UOp, UOp] = {}
    for layout in layouts:
        for buffer in layout.buffers:
            if buffer not in found:
                size = cast(BufferArg, buffer.arg).size
                other = UOp.new_buffer(cast(str, buffer.device), size, buffer.dtype)
                found[buffer] = attach(other, buffer_of(buffer))
    return found


def _arguments(
    layouts: Sequence[Layout], found: Found
) -> tuple[list[UOp], list[Buffer], dict[str, int]]:
    inputs = list(dict.fromkeys(buffer for layout in layouts for buffer in layout.buffers))
    values = {bound.var_name: bound.bound_value for layout in layouts for bound in layout.variables}
    values.update((bound.var_name, bound.bound_value) for _, bound in found.variables)
    return inputs, [buffer_of(node) for node in inputs], values
