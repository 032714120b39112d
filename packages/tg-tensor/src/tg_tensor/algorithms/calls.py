"""Put the kernels of matrix algorithms into the lazy graph, with gradients of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tg_uop import DType, Ops, UOp
from tg_uop.ir.args import CallArg

from tg_tensor.custom.kernel import KernelFunction, built_kernel, in_own_memory
from tg_tensor.ops.room import room

Gradient = Callable[..., Sequence[UOp | None]]
Room = tuple[tuple[int, ...], DType]
"""Shape and dtype of memory that a kernel writes to."""


def run_kernel(fxn: KernelFunction, rooms: Sequence[Room], *arguments: UOp) -> tuple[UOp, ...]:
    """The memory that one run of a kernel leaves: `rooms` are its results and its scratch."""
    return run_kernels((fxn,), rooms, *arguments)


def run_kernels(
    functions: Sequence[KernelFunction], rooms: Sequence[Room], *arguments: UOp
) -> tuple[UOp, ...]:
    """The memory that kernels leave which run one after the other, all of them on the same."""
    device = arguments[0].device
    places = [room(device, shape, dtype) for shape, dtype in rooms]
    # contiguous as the scheduler would make them: then what has run is known by its node
    given = [in_own_memory(argument) for argument in arguments]
    operands = (*places, *given)
    built = {function: built_kernel(operands, function) for function in dict.fromkeys(functions)}
    for function in functions:
        call = built[function].call(*places, *given)
        places = [place.after(call) for place in places]
    return tuple(places)


def with_gradient(
    name: str, results: Sequence[UOp], gradient: Gradient, arguments: Sequence[UOp]
) -> tuple[UOp, ...]:
    """The results, computed from the arguments, with a gradient of their own.

    `gradient` gets the gradient of each result, None where nothing flows (not for a single result:
    then it is not asked), and the node that has the arguments (`call_args`) and the results
    (`gettuple`). The results name the memory that kernels write to, so they are given for these
    arguments and not as a function of stand-ins: what has been computed for one of them is seen
    by the others.
    """
    applied = UOp(
        Ops.FUNCTION,
        src=(UOp(Ops.TUPLE, src=tuple(results)), *arguments),
        arg=CallArg(name, gradient),
    )
    return tuple(applied.gettuple(place) for place in range(len(results)))
