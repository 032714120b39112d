"""PYTHON: interprets kernels exactly; slow, and the witness for every other device."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import product

from tg_codegen.render.registry import renderer_for
from tg_uop import AddrSpace, Ops, ProgramInfo, UOp
from tg_uop.errors import GraphTextError
from tg_uop.target import Target
from tg_uop.text.pycode import from_python

from tg_runtime.compile.source import SourceIsBinary
from tg_runtime.device import Compiled, Memory, ToolChain
from tg_runtime.devices.python.storage import BytesStorage, Fault, ListStorage, Storage
from tg_runtime.devices.python.translate import MemoryPlan, Translation, translate
from tg_runtime.errors import KernelFaultError, LaunchError, ObjectFileError
from tg_runtime.host.memory_map import view_memory
from tg_runtime.memory.host import HostAllocator
from tg_runtime.profile import span


class PythonDevice(Compiled):
    """Runs each work-item of a kernel as a Python function, in the caller's thread."""

    def __init__(self, device: str) -> None:
        super().__init__(device, HostAllocator(device))

    def make_tool_chain(self, target: Target) -> ToolChain:
        """The linear form as text, and no compiler to speak of."""
        compiler = SourceIsBinary()
        return ToolChain(renderer_for(target, compiler.compile_cached), compiler)

    def runtime(self, info: ProgramInfo, binary: bytes) -> PythonProgram:
        """The kernel in the text. Raises `ObjectFileError`, `CompileError`."""
        return PythonProgram(self.device, info, binary)

    def count(self) -> int:
        """As many as one likes."""
        return 64


class PythonProgram:
    """A kernel that runs work-item by work-item; work-items of a group in step between barriers."""

    def __init__(self, device: str, info: ProgramInfo, binary: bytes) -> None:
        self.device = device
        self.name = info.name
        self.slots = info.globals
        self.variables = tuple(variable.var_name for variable in info.vars)
        self.kernel: Translation = translate(_linear_of(binary))

    def __call__(
        self,
        *buffers: Memory,
        global_size: tuple[int, ...] = (1, 1, 1),
        local_size: tuple[int, ...] | None = None,
        vals: tuple[int, ...] = (),
        wait: bool = False,
    ) -> float | None:
        """Run the kernel; the seconds that it took when `wait`.

        Raises `LaunchError`, and `KernelFaultError` when it leaves its memory.
        """
        if len(buffers) != len(self.slots) or len(vals) != len(self.variables):
            raise LaunchError(
                kernel=self.name,
                reason=f"it takes {len(self.slots)} buffers and {len(self.variables)} variables, "
                f"{len(buffers)} and {len(vals)} were given",
            )
        start = time.perf_counter()
        with span(self.device, self.name, "kernel"):
            memory = self._device_memory(buffers)
            values = dict(zip(self.variables, vals, strict=True))
            for group in product(*map(range, reversed(_three(global_size)))):
                self._run_group(memory, _named("gidx", group), values, _three(local_size or ()))
        return time.perf_counter() - start if wait else None

    def _device_memory(self, buffers: Sequence[Memory]) -> dict[str, Storage]:
        by_slot = dict(zip(self.slots, buffers, strict=True))
        found: dict[str, Storage] = {}
        for plan in self.kernel.memory:
            if plan.slot < 0:
                continue
            buffer = by_slot[plan.slot]
            needed = plan.size * plan.dtype.itemsize
            if plan.size < 0:
                needed = buffer.size
            elif needed > buffer.size:
                raise LaunchError(
                    kernel=self.name,
                    reason=f"{plan.name} needs {needed} bytes, its buffer has {buffer.size}",
                )
            size = needed // plan.dtype.itemsize
            view = view_memory(buffer.address, needed)
            found[plan.name] = BytesStorage(view, plan.dtype, size, self._fault(plan, size))
        return found

    def _fault(self, plan: MemoryPlan, size: int) -> Fault:
        return Fault(self.name, self.device, plan.name, size)

    def _own_memory(self, space: AddrSpace) -> dict[str, Storage]:
        plans = [p for p in self.kernel.memory if p.slot < 0 and p.space is space]
        return {p.name: ListStorage(p.dtype, p.size, self._fault(p, p.size)) for p in plans}

    def _run_group(
        self,
        memory: dict[str, Storage],
        group: dict[str, int],
        values: dict[str, int],
        local_size: tuple[int, ...],
    ) -> None:
        shared = memory | self._own_memory(AddrSpace.LOCAL)
        started = []
        for item in product(*map(range, reversed(local_size))):
            launch = values | group | _named("lidx", item)
            # on devices whose grid is cores, the first dimension counts them
            launch["core_id"] = group["gidx0"]
            own = shared | self._own_memory(AddrSpace.REG)
            running = self.kernel.run(own, launch)
            if self.kernel.has_barrier:
                assert isinstance(running, Iterator), "a kernel with barriers is a generator"
                started.append(running)
        self._run_in_step(started)

    def _run_in_step(self, items: list[Iterator[object]]) -> None:
        """Run each work-item to its next barrier before any goes on."""
        while items:
            waiting = [item for item in items if next(item, _DONE) is not _DONE]
            if waiting and len(waiting) != len(items):
                raise KernelFaultError(
                    kernel=self.name,
                    device=self.device,
                    reason=f"{len(waiting)} of {len(items)} work-items wait at a barrier that the "
                    "others do not reach",
                )
            items = waiting


_DONE = object()


def _three(size: tuple[int, ...]) -> tuple[int, ...]:
    return (*size, 1, 1, 1)[:3]


def _named(prefix: str, reversed_index: tuple[int, ...]) -> dict[str, int]:
    return {f"{prefix}{axis}": at for axis, at in enumerate(reversed(reversed_index))}


def _linear_of(binary: bytes) -> UOp:
    try:
        root = from_python(binary.decode())
    except (UnicodeDecodeError, GraphTextError) as error:
        raise ObjectFileError(reason=f"it is no text of a kernel: {error}") from error
    if root.op is not Ops.LINEAR:
        raise ObjectFileError(reason=f"it is a {root.op.name}, a kernel is a LINEAR")
    return root
