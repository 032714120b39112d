"""The CPU device: kernels on this machine's cores, driven by command buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Final

from tg_codegen.render.registry import renderer_for
from tg_codegen.target.cpu import describe_cpu
from tg_uop import ProgramInfo
from tg_uop.context import CPU_COUNT, DEBUG, ContextVar
from tg_uop.target import Target

from tg_runtime.compile.compiler import Compiler
from tg_runtime.device import ToolChain
from tg_runtime.devices.cpu.memory import CPUAllocator
from tg_runtime.devices.cpu.native import NativeProcessor
from tg_runtime.devices.cpu.processor import CommandProcessor
from tg_runtime.devices.cpu.program import CPUProgram
from tg_runtime.errors import DeviceUnavailableError, ToolMissingError
from tg_runtime.hcq.device import HCQCompiled
from tg_runtime.hcq.graph import GraphCall, HCQGraph
from tg_runtime.host.fork import Rank, around_fork, fork_safe_lock
from tg_runtime.host.processor import host_arch, host_features, host_model, machine

CPU_PORTABLE = ContextVar(
    "CPU_PORTABLE",
    0,
    "Drive the CPU device with Python threads instead of native ones.",
    group="device",
)
# a full queue is let run down to so many command buffers before more are added
_LEFT_WAITING: Final = 256
# tool chains are loaded when one is asked for: a start that finds all binaries on disk needs none
COMPILERS: Final = {
    "LLVM": ("tg_runtime.compile.llvm", "compiler_for"),
    "CLANG": ("tg_runtime.compile.clang", "compiler_for"),
    "GCC": ("tg_runtime.compile.clang", "gcc_for"),
}
_PORTABLE: Final = "tg_runtime.devices.cpu.portable"
# as many as queues that the native processor has room for
_MOST: Final = 64

_processor: CommandProcessor | None = None
_processor_lock = fork_safe_lock(Rank.PROCESSOR)
_devices: list[CPUDevice] = []


def shared_processor() -> CommandProcessor:
    """The command processor of every CPU device of this process."""
    global _processor
    with _processor_lock:
        if _processor is None:
            _processor = make_processor(CPU_COUNT.value, portable=bool(CPU_PORTABLE.value))
        return _processor


def make_processor(threads: int, *, portable: bool) -> CommandProcessor:
    """A native processor where there can be one, else a portable one."""
    if portable:
        return _portable_processor(threads)
    try:
        return NativeProcessor(threads)
    except (DeviceUnavailableError, ToolMissingError) as error:
        if DEBUG >= 1:
            print(f"CPU runs on Python threads: {error}")  # noqa: T201
        return _portable_processor(threads)


def _portable_processor(threads: int) -> CommandProcessor:
    made: CommandProcessor = import_module(_PORTABLE).PortableProcessor(threads)
    return made


class CPUDevice(HCQCompiled):
    """One queue on this machine's cores; CPU, CPU:1, ... share the worker threads and memory."""

    def __init__(self, device: str, processor: CommandProcessor | None = None) -> None:
        """`processor`: one of its own instead of the one that all share."""
        self.processor = shared_processor() if processor is None else processor
        # binaries that come from a cache may use features that have to be asked for
        host_features()
        allocator = CPUAllocator(device)
        super().__init__(device, allocator, self.processor)
        allocator.attach(self)
        self.queue = self.processor.open_queue()
        self._submit = self.processor.submit
        self._submitted = self.processor.submitted(self.queue)
        _devices.append(self)

    @property
    def timeline_value(self) -> int:
        """What the timeline reaches when everything submitted is done."""
        return self._submitted[0]

    def submit_buffer(self, address: int, number: int, inline: bool) -> None:
        """Hand a command buffer to the queue, once there is room."""
        while not self._submit(self.queue, address, number, inline):
            self.wait_for(self.timeline_value - _LEFT_WAITING)

    def runtime(self, info: ProgramInfo, binary: bytes) -> CPUProgram:
        """The kernel in an object file. Raises `ObjectFileError`."""
        return CPUProgram(self, info, binary)

    @property
    def graph(self) -> Callable[[Sequence[GraphCall]], HCQGraph]:
        """Records calls for replay."""
        return partial(HCQGraph, self)

    def make_tool_chain(self, target: Target) -> ToolChain:
        """LLVM unless the target asks for CLANG. Raises `ToolMissingError`."""
        target = complete_target(target)
        compiler = compiler_for(target)
        return ToolChain(renderer_for(target, compiler.compile_cached), compiler)

    def count(self) -> int:
        """How many CPU devices can be opened."""
        return _MOST

    def finalize(self) -> None:
        """Finish the work and stop the queue's thread; one that hangs is left behind."""
        super().finalize()
        _devices.remove(self)
        if self.has_passed(self.timeline_value):
            self.processor.close_queue(self.queue)


def compiler_for(target: Target) -> Compiler:
    """The compiler of a complete target. Raises `ToolMissingError`."""
    processor = describe_cpu(target)
    module, function = COMPILERS.get(target.renderer, COMPILERS["LLVM"])
    make = getattr(import_module(module), function)
    made: Compiler = make(processor.family, processor.cpu, processor.features)
    return made


def complete_target(target: Target) -> Target:
    """The target with this machine put in for what it leaves open.

    Features alone change the machine's own: `CPU:LLVM:-avx512f`.
    """
    renderer = target.renderer or "LLVM"
    if target.arch_name and target.arch_name != "native":
        return Target(target.device, renderer, target.arch, target.interface)
    removed = {feature[1:] for feature in target.features if feature.startswith("-")}
    kept = [feature for feature in host_features() if feature not in removed]
    arch = ",".join((machine(), host_model(), *kept, *target.features))
    if not target.features:
        arch = host_arch()
    return Target(target.device, renderer, arch, target.interface)


def _bring_to_rest() -> None:
    """Before a fork: let every queue finish, so that the child finds no work half done."""
    for device in _devices:
        device.wait_for(device.timeline_value)


def _start_anew() -> None:
    """In the child of a fork: the threads have to be made again."""
    for processor in {device.processor for device in _devices}:
        processor.reset_after_fork()


around_fork(_bring_to_rest, _start_anew)
