"""Kernels of the CPU device: an object file in executable memory."""

from __future__ import annotations

from tg_uop import ProgramInfo

from tg_runtime.hcq.device import HCQCompiled
from tg_runtime.hcq.program import HCQProgram
from tg_runtime.host.elf import LoadedObject, load_object
from tg_runtime.host.processor import machine


class CPUProgram(HCQProgram):
    """`void name(const uint64_t *args, int64_t core_id)` of an object file."""

    def __init__(self, device: HCQCompiled, info: ProgramInfo, binary: bytes) -> None:
        """Raises `ObjectFileError` when the binary does not define the kernel."""
        self._owner = device
        self._code: LoadedObject | None = None
        self._code = load_object(binary, machine=machine())
        entry = self._code.address(info.function_name)
        super().__init__(device, info.name, entry, len(info.globals), len(info.vars))

    def __del__(self) -> None:
        # the code must stay until what was submitted has run; at exit the system frees it
        if self._code is not None and not self._owner.closed:
            self._owner.defer(self._code.close)
