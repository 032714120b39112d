"""The settings that decide what code comes out, as one frozen record that is part of cache keys."""

from __future__ import annotations

from dataclasses import dataclass

from tg_uop import context


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller may choose about code generation; every field can change the result.

    `optimize` off applies no Opts, not even those that the kernel asks for by its heuristic.
    `cores` is how many threads a kernel may be split over where the target has threads.
    `beam` is the width of the search, 0 for the heuristic. `tensor_cores` is 0 never, 1 where they
    exist, 2 their shape only. `tensor_core_effort` is 0 plain, 1 with casts, 2 with padding, and
    `tensor_core_select` the number of the unit or -1. `transcendental` is 0 where the target has
    no instruction, 1 where its own is inexact, 2 always. `verify` checks each form after each pass.
    """

    optimize: bool = True
    cores: int = 1
    beam: int = 0
    use_locals: bool = True
    devectorize: int = 1
    transcendental: int = 1
    tensor_cores: int = 1
    tensor_core_effort: int = 2
    tensor_core_select: int = -1
    allow_tf32: bool = False
    emulated_dtypes: tuple[str, ...] = ()
    check_bounds: bool = False
    verify: bool = False


def current_options() -> Options:
    """The options that the settings of `tg_uop.context` ask for here and now."""
    emulated = context.EMULATED_DTYPES.value
    return Options(
        optimize=not context.NOOPT.value,
        cores=context.CPU_COUNT.value,
        beam=context.BEAM.value,
        use_locals=not context.NOLOCALS.value,
        devectorize=context.DEVECTORIZE.value,
        transcendental=context.TRANSCENDENTAL.value,
        tensor_cores=context.TC.value,
        tensor_core_effort=context.TC_OPT.value,
        tensor_core_select=context.TC_SELECT.value,
        allow_tf32=bool(context.ALLOW_TF32.value),
        emulated_dtypes=tuple(name for name in emulated.replace(" ", "").split(",") if name),
        check_bounds=bool(context.CHECK_OOB.value),
        verify=bool(context.SPEC.value),
    )
