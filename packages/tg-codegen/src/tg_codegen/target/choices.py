"""What of a target's abilities a compilation uses, by the caller's options."""

from __future__ import annotations

from dataclasses import replace

from tg_uop import DType, Ops, dtypes

from tg_codegen.errors import UnsupportedError
from tg_codegen.options import Options
from tg_codegen.target.caps import Capabilities

EMULATED = (dtypes.float16, dtypes.bfloat16, *dtypes.fp8s)
FUNCTIONS = frozenset((Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.POW))
ALWAYS_OWN_FUNCTIONS = 2
NO_SPLITTING = 0
ONLY_SCALARS = 2


def used_capabilities(caps: Capabilities, options: Options) -> Capabilities:
    """`caps` without what `options` ask not to use.

    Raises `UnsupportedError` for a dtype that cannot be emulated.
    """
    hidden = frozenset(_emulated(name) for name in options.emulated_dtypes)
    if hidden:
        caps = replace(
            caps, dtypes=caps.dtypes - hidden, convert_dtypes=caps.convert_dtypes - hidden
        )
    if options.transcendental >= ALWAYS_OWN_FUNCTIONS and caps.ops & FUNCTIONS:
        caps = replace(caps, ops=caps.ops - FUNCTIONS)
    if options.devectorize == NO_SPLITTING and not caps.vector_any_width:
        caps = replace(caps, vector_any_width=True)
    if options.devectorize >= ONLY_SCALARS:
        caps = replace(
            caps,
            vector_any_width=False,
            max_lanes=1,
            masked_memory=False,
            gather_bytes=frozenset(),
        )
    return caps


def _emulated(name: str) -> DType:
    known = dtypes.fields()
    dtype = known.get(name)
    if dtype not in EMULATED:
        raise UnsupportedError(
            what=f"emulation of {name!r}",
            target="any target",
            reason=f"only {', '.join(d.name for d in EMULATED)} are computed in a wider dtype",
            hint="look at EMULATED_DTYPES",
        )
    return dtype
