"""Compare the source kept of each kernel with what is generated for it now.

Run a program with CAPTURE_PROCESS_REPLAY=1 before a change to the code generator, then after it
`python -m tg_tensor.viz.process_replay`, which shows how the sources differ.
"""

from __future__ import annotations

import difflib
import sys

import tg_codegen
from tg_codegen.render.registry import renderer_for

from tg_tensor.engine.source_store import KeptSource, kept_sources


def difference(kept: KeptSource) -> str:
    """How the source that is generated now differs, empty where it does not."""
    try:
        program = tg_codegen.to_source(kept.kernel, renderer_for(kept.target), kept.options)
        now = str(program.src[3].arg)
    except tg_codegen.CodegenError as error:
        now = f"{type(error).__name__}: {error}\n"
    lines = difflib.unified_diff(
        kept.source.splitlines(), now.splitlines(), "kept", "now", lineterm=""
    )
    return "\n".join(lines)


def main() -> int:
    """Print the differences; 1 when there are any."""
    total = changed = 0
    for kept in kept_sources():
        total += 1
        found = difference(kept)
        if found:
            changed += 1
            print(found)  # noqa: T201
    print(f"{total} kernels, {changed} changed")  # noqa: T201
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
