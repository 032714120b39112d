"""Keep lazy values what they were when built: find readers of what is about to be overwritten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tg_uop import GroupOp, Ops, UOp

from tg_tensor.schedule.affine import count
from tg_tensor.schedule.hazards import memory_of, version_of, written_views
from tg_tensor.schedule.readers import Readers
from tg_tensor.schedule.roots import OWN_MEMORY


@dataclass(slots=True)
class Protection:
    """What must be realized too, and which lazy values read a copy from then on."""

    extra: list[UOp] = field(default_factory=list)
    copied: dict[UOp, dict[UOp, UOp]] = field(default_factory=dict)
    """For a lazy value: the node whose result replaces each version that it reads."""


def protect(order: Iterable[UOp], sinks: Sequence[UOp], live: Iterable[UOp]) -> Protection:
    """What to do so that running the effects under `sinks` changes none of the `live` values.

    `order` lists all nodes under the sinks. A live value that is computed on the way anyway, or is
    smaller than what it reads, is realized together with the sinks; for others the memory that
    they read is copied before it is overwritten.
    """
    found = Protection()
    executed = order if isinstance(order, dict) else dict.fromkeys(order)
    effects = [node for node in executed if node.op in (Ops.STORE, Ops.CALL)]
    if not effects:
        return found
    overwritten = {version_of(view) for effect in effects for view in written_views(effect)}
    # a kernel on shards writes the memory that they are parts of
    overwritten |= {version_of(v.src[0]) for v in overwritten if _is_shard(v)}
    # the shards of what is written may be seen one by one
    overwritten |= {version_of(s) for v in overwritten if v.op is Ops.MULTI for s in v.src}
    readers = Readers(executed, overwritten)
    for sink in dict.fromkeys(sinks):
        # to compute a view is to read the memory, which shows what is written meanwhile
        if _is_view(sink) and readers.reading(sink).versions:
            _copy(sink, [sink], found)
    done = set(sinks)
    for value in live:
        if value in done:
            continue
        done.add(value)
        if is_empty(value):
            continue
        versions, has_effects = readers.reading(value)
        if not versions:
            continue
        in_graph = value in executed
        size = sum(count(version.shape) for version in versions)  # type: ignore[arg-type, misc]
        small = not has_effects and not _is_view(value) and count(value.shape) <= size  # type: ignore[arg-type]
        if (in_graph and not _is_view(value)) or small:
            found.extra.append(value)
        else:
            _copy(value, versions, found)
    return found


def _is_shard(version: UOp) -> bool:
    return version.op is Ops.COPY and isinstance(version.src[0]._device, tuple)


def is_empty(value: UOp) -> bool:
    """Whether a value on one device has no elements, which nothing changes."""
    return value._shape is not None and 0 in value._shape and not isinstance(value._device, tuple)


_SAME_VALUE = frozenset((Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH))
"""What may be left out, so that computing it can mean to read the memory itself."""


def _is_view(value: UOp) -> bool:
    node = value
    while node.op in GroupOp.Movement or node.op in _SAME_VALUE:
        node = node.src[0]
    return node.op in (Ops.BUFFER, Ops.BUFFER_VIEW, Ops.AFTER, Ops.MULTI)


def _copy(value: UOp, versions: Iterable[UOp], found: Protection) -> None:
    replaced: dict[UOp, UOp] = {}
    for version in versions:
        copy = UOp(Ops.CONTIGUOUS, version.dtype, (version,), OWN_MEMORY)
        if copy not in found.extra:
            found.extra.append(copy)
        replaced[version] = copy
    found.copied[value] = replaced


def overwritten_memory(order: Iterable[UOp]) -> set[UOp]:
    """The buffers that the effects among these nodes write to."""
    effects = (node for node in order if node.op in (Ops.STORE, Ops.CALL))
    return {memory_of(view) for effect in effects for view in written_views(effect)}
