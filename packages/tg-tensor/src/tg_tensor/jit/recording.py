"""Run a function once more while everything that it launches is kept: one captured step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import cast, final

from tg_uop import Ops, UOp
from tg_uop.context import BEAM, DEBUG, JITBEAM, Context
from tg_uop.ir.infer import symbolic

from tg_tensor.engine.buffers import attach, watchers
from tg_tensor.jit.capture import CallRecorder, Step, finish_step
from tg_tensor.jit.conditions import Conditions
from tg_tensor.jit.containers import Found, TensorLike, leaves_of, rebuild
from tg_tensor.jit.errors import JitError
from tg_tensor.jit.guards import Layout, Place, is_plain
from tg_tensor.jit.outside import (
    Reads,
    copies_of_read,
    copy_of,
    finish_writes,
    move_readers,
    readers,
)
from tg_tensor.jit.proxies import Placeholder, Proxies
from tg_tensor.jit.readings import settings_of
from tg_tensor.jit.replay import SINGLE, Captured
from tg_tensor.jit.settings import CalledFunction, Setting
from tg_tensor.jit.watch import Reached, Watch, moved_meanwhile, reached_tensors, roots_of
from tg_tensor.ops.core import live_tensors
from tg_tensor.realize import recorders


def realize_all(tensors: Sequence[TensorLike]) -> None:
    """Compute tensors and give those that are plain numbers memory of their own."""
    if not tensors:
        return
    tensors[0].realize(*tensors[1:])
    numbers = [tensor for tensor in tensors if not is_plain(tensor.uop)]
    for tensor in numbers:
        tensor.uop = tensor.contiguous().uop
    if numbers:
        numbers[0].realize(*numbers[1:])


@final
class Recording:
    """One capture of a function."""

    def __init__(self, function: Callable[..., object], name: str, *, prune: bool) -> None:
        self.function = function
        self.name = name
        self.prune = prune
        self.conditions = Conditions()
        self.recorder: CallRecorder

    def run(
        self,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        found: Found,
        layouts: Sequence[Layout],
        values: Mapping[str, int],
    ) -> tuple[object, Captured]:
        """The function's result, and the step that gives it again.

        Raises `JitError` for a function that reads values on the host, or does what a replay
        cannot do; the arguments then are what the function has made of them.
        """
        # what is pending outside happens once, it is no part of the step
        finish_writes()
        tensors = [tensor for _, tensor in found.tensors]
        stand_ins = _stand_ins(layouts)
        back = {stand_in: place.node for place, stand_in in stand_ins.items()}
        bases = [place.buffer for place in stand_ins]
        copies = copies_of_read(bases)
        outside = readers()
        roots = roots_of(self.function, args, kwargs)
        reached = reached_tensors(roots)
        settings = settings_of(self.function, [root for root in roots if root[0]])
        # what is made from here on is part of the step
        self.recorder = CallRecorder()
        everything = [cast(TensorLike, tensor) for tensor in live_tensors()]
        proxies = Proxies(tensors, [_placed(layout, stand_ins) for layout in layouts])
        try:
            result, produced = self._call(proxies, args, kwargs)
        finally:
            proxies.hand_back(back)
        self._check_places(proxies)
        self._check_variables(values)
        written = self.recorder.written()
        move_readers([p.buffer for p, s in stand_ins.items() if s in written], copies)
        _take_from_step(outside, self.recorder, written)
        views = [self.recorder.noted_view(tensor.uop) for tensor in produced]
        for tensor in produced:
            tensor.uop = tensor.uop.substitute(back)
        captured = self._finished(
            result, produced, views, back, values, reached, everything, settings
        )
        return rebuild(result, proxies.original), captured

    def _call(
        self, proxies: Proxies, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[object, list[TensorLike]]:
        own_args, own_kwargs = proxies.arguments(args, kwargs)
        recorders.active.append(self.recorder)
        watchers.active.append(self._refuse_reading)
        symbolic.watchers.active.append(self.conditions.note)
        try:
            with Context(BEAM=int(JITBEAM) or int(BEAM)):
                result = self.function(*own_args, **own_kwargs)
                produced = [tensor for _, tensor in leaves_of(result).tensors]
                realize_all(produced)
                realize_all(proxies.tensors)
                # what it has left to be written is part of the step
                finish_writes(own=True)
        finally:
            recorders.active.pop()
            watchers.active.pop()
            symbolic.watchers.active.pop()
        return result, produced

    def _refuse_reading(self, node: UOp) -> None:
        raise JitError(
            function=self.name,
            reason=f"it reads a value of shape {node.shape} on the host while it is captured; "
            "a replay would not read it again",
            hint="return the Tensor and read it outside",
        )

    # *** the step ***

    def _finished(
        self,
        result: object,
        produced: Sequence[TensorLike],
        views: Sequence[UOp],
        back: Mapping[UOp, UOp],
        values: Mapping[str, int],
        reached: Sequence[Reached],
        everything: Sequence[TensorLike],
        settings: Sequence[Setting | CalledFunction],
    ) -> Captured:
        buffers = [n for view in views for n in view.toposort() if n.op is Ops.BUFFER]
        is_single = len(produced) == 1 and result is produced[0]
        make = type(produced[0]).from_uop if produced else None
        template = SINGLE if is_single else rebuild(result, Placeholder.of)
        step = finish_step(self.recorder, list(back), buffers, prune=self.prune)
        self._check_aliases(step, back)
        moved = moved_meanwhile(reached, step.state)
        if moved is not None:
            raise JitError(
                function=self.name,
                reason=f"it reads {moved} and puts another Tensor there; a replay would read the "
                "first one again",
                hint="change the Tensor in place, with assign(), or return the value",
            )
        captured = Captured(step, template, views, make)
        captured.conditions = self.conditions.without_values()
        # what the function itself changes (a count of its runs) says nothing about the next call
        constants = [setting for setting in settings if setting.is_there()]
        watch = Watch(reached, everything, step.state, constants)
        captured.watch = None if watch.is_empty else watch
        if DEBUG.value >= 2:
            print(f"captured {self.name}: {captured.memory}")  # noqa: T201
        return captured

    def _check_places(self, proxies: Proxies) -> None:
        """Refuse a step after which an argument lies elsewhere: a replay only writes memory."""
        for proxy in proxies.tensors:
            if any(self.recorder.has_made(node) for node in proxy.uop.toposort()):
                raise JitError(
                    function=self.name,
                    reason=f"an argument of shape {proxy.uop.shape} is another value afterwards, "
                    "or a view of it is written while it keeps its own value",
                    hint="write to the argument itself, or return the value",
                )

    def _check_variables(self, values: Mapping[str, int]) -> None:
        """Refuse variables that the function itself binds: a replay would not bind them again."""
        for name, value in self.recorder.var_vals.items():
            if name in values and values[name] == value:
                continue
            raise JitError(
                function=self.name,
                reason=f"it binds variable {name!r} to {value}; a replay would not bind it again",
                hint="pass the bound variable as an argument",
            )

    def _check_aliases(self, step: Step, arguments: Mapping[UOp, UOp]) -> None:
        """Refuse a step that writes memory which it knows both as an argument and as state."""
        written = step.written()
        for stand_in, place in arguments.items():
            buffer = place.base
            if buffer in step.state and (buffer in written or stand_in in written):
                raise JitError(
                    function=self.name,
                    reason="an argument is also reached by another way, and is written",
                    hint="pass it as an argument only, or use it from outside only",
                )


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


def _stand_ins(layouts: Sequence[Layout]) -> dict[Place, UOp]:
    """For each part of memory that is an argument a node of its own: what the function reaches by
    other ways keeps the node that it has, and is state, not argument.
    """
    found: dict[Place, UOp] = {}
    for layout in layouts:
        for place in layout.places:
            if place not in found:
                device = cast(str, place.buffer.device)
                other = UOp.new_buffer(device, place.size, place.buffer.dtype)
                found[place] = attach(other, place.memory)
    return found


def _placed(layout: Layout, stand_ins: Mapping[Place, UOp]) -> UOp:
    """An argument in terms of the stand-ins, its variables with their values."""
    names = {layout.stand_in(n): stand_ins[place] for n, place in enumerate(layout.places)}
    names.update((bound.src[0], bound) for bound in layout.variables)
    return layout.view.substitute(names)
