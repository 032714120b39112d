"""Keep finished programs on disk, so that the next process does not generate their code again."""

from __future__ import annotations

import pickle
from functools import cache

import tg_codegen
import tg_uop
from tg_codegen.options import Options
from tg_codegen.render.renderer import Renderer
from tg_runtime import Compiler, DiskCache, code_key, content_key
from tg_uop import Ops, ProgramInfo, UOp
from tg_uop.context import CAPTURE_PROCESS_REPLAY, CCACHE, DEBUG, VIZ
from tg_uop.ir.key import encode

SHOWS_INSTRUCTIONS = 5
"""The DEBUG level that prints what a kept program no longer has."""

_disk = DiskCache("programs")


def generator_key() -> str:
    """What changes when the code of the code generator does."""
    return code_key(*tg_uop.__path__, *tg_codegen.__path__)


def kept_program(
    kernel: UOp, renderer: Renderer, compiler: Compiler | None, options: Options
) -> UOp | None:
    """The PROGRAM of a kernel from disk, with the kernel as it was given and no instructions."""
    if compiler is None or not _may_use(options):
        return None
    found = _disk.get_as(_key(kernel, renderer, compiler, options), _contents)
    if found is None:
        return None
    info, source, binary = found
    parts = (
        kernel,
        UOp(Ops.DEVICE, arg=renderer.device),
        UOp(Ops.LINEAR),
        UOp(Ops.SOURCE, arg=source),
        UOp(Ops.BINARY, arg=binary),
    )
    return UOp(Ops.PROGRAM, src=parts, arg=info)


def _contents(raw: bytes) -> tuple[ProgramInfo, str, bytes]:
    info, source, binary = pickle.loads(raw)
    if not isinstance(info, ProgramInfo):
        raise TypeError("this is no program")
    return info, source, binary


def keep_program(
    kernel: UOp, renderer: Renderer, compiler: Compiler | None, options: Options, program: UOp
) -> None:
    """Write a finished PROGRAM to disk."""
    if compiler is None or len(program.src) < 5 or not _may_use(options):
        return
    contents = (program.program_info, program.src[3].arg, program.src[4].arg)
    _disk.put(_key(kernel, renderer, compiler, options), pickle.dumps(contents))


def _may_use(options: Options) -> bool:
    """Verifying and recording want every pass to run, and reports want the instructions."""
    records = VIZ.value or CAPTURE_PROCESS_REPLAY.value
    if options.verify or options.check_bounds or records:
        return False
    return bool(CCACHE) and DEBUG.value < SHOWS_INSTRUCTIONS


def _key(kernel: UOp, renderer: Renderer, compiler: Compiler, options: Options) -> str:
    target = _target_key(renderer)
    return content_key(generator_key(), kernel.key, target, compiler.key, repr(options))


@cache
def _target_key(renderer: Renderer) -> bytes:
    """What is generated for: by content, the same in every process."""
    parts = (type(renderer).__name__, repr(renderer.target), renderer.caps)
    return encode(parts)
