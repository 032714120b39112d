"""What a device is, and the table of opened ones.

READ FIRST. A `Compiled` device has an `Allocator` for its `Memory`, a `Renderer` and a `Compiler`
that turn kernels into binaries, and a `runtime` that turns binaries into `Program`s. `Device[name]`
opens it on first use.
"""

from __future__ import annotations

import atexit
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from tg_codegen.render.renderer import Renderer
from tg_uop import ProgramInfo
from tg_uop.context import DEBUG, DEV
from tg_uop.errors import TargetError
from tg_uop.target import Target, canonical_device, split_device

from tg_runtime.compile.compiler import Compiler
from tg_runtime.errors import DeviceUnavailableError, RuntimeFailure
from tg_runtime.host.fork import Rank, fork_safe_lock
from tg_runtime.registry import DEVICES, DeviceEntry


class BufferSpec(NamedTuple):
    """How memory is wanted.

    `external_ptr`: use the memory at this address, owned by someone else. `nolru`: give it back to
    the system when freed. `host`, `cpu_access`, `uncached`: where the device's memory is not the
    host's.
    """

    external_ptr: int | None = None
    nolru: bool = False
    host: bool = False
    cpu_access: bool = False
    uncached: bool = False


DEFAULT_SPEC = BufferSpec()


class Memory:
    """Some bytes of a device: the handle that programs take.

    `address` is what kernels see, 0 where there are no addresses. `owner` keeps foreign memory
    alive. Work that used these bytes for something else is done at timeline value `ready`.
    """

    __slots__ = ("address", "owner", "ready", "size")

    def __init__(self, address: int, size: int, owner: object = None) -> None:
        self.address = address
        self.size = size
        self.owner = owner
        self.ready = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address:#x}, {self.size})"


class Program(Protocol):
    """A kernel ready to run on one device."""

    def __call__(
        self,
        *buffers: Memory,
        global_size: tuple[int, ...] = (1, 1, 1),
        local_size: tuple[int, ...] | None = None,
        vals: tuple[int, ...] = (),
        wait: bool = False,
    ) -> float | None:
        """Start the kernel; the seconds that it took when `wait`."""


class GraphRunner(Protocol):
    """The calls of a captured step, ready to run again."""

    def __call__(
        self,
        input_buffers: Sequence[Memory] = (),
        var_vals: Mapping[str, int] | None = None,
        wait: bool = False,
    ) -> float | None:
        """Run them with these inputs and variables; the seconds that it took when `wait`."""


class Allocator(ABC):
    """Memory of one device."""

    has_contents = False
    """Whether memory holds data before anything is written to it, as a file does."""

    def __init__(self, device: str) -> None:
        self.device = device

    @abstractmethod
    def alloc(self, size: int, options: BufferSpec = DEFAULT_SPEC) -> Memory:
        """`size` bytes. Raises `OutOfMemoryError`."""

    @abstractmethod
    def free(self, memory: Memory, options: BufferSpec = DEFAULT_SPEC) -> None:
        """Give memory back; work that was submitted before may still use it."""

    @abstractmethod
    def copy_in(self, target: Memory, source: memoryview, fresh: bool = False) -> None:
        """Bytes of the host into the device, after everything submitted before.

        `fresh`: no work was given this memory since it was allocated, so there is less to wait for.
        """

    @abstractmethod
    def copy_out(self, target: memoryview, source: Memory) -> None:
        """Bytes of the device into the host, after everything submitted before."""

    def offset(self, memory: Memory, size: int, offset: int) -> Memory:
        """A part of `memory` as a handle of its own."""
        return Memory(memory.address + offset, size, memory)

    def host_view(self, memory: Memory) -> memoryview | None:
        """The bytes themselves where the host can reach them, or None; waits for submitted work."""
        return None

    def transfer(self, target: Memory, source: Memory, size: int, source_device: Compiled) -> bool:
        """Copy between two devices without the host; False when that way does not exist."""
        return False

    def release_cached(self) -> int:
        """Give unused memory back to the system; the number of bytes."""
        return 0


class ToolChain(NamedTuple):
    """How kernels become binaries for a target."""

    renderer: Renderer
    compiler: Compiler | None


class Compiled(ABC):
    """An opened device."""

    def __init__(self, device: str, allocator: Allocator) -> None:
        self.device = device
        self.allocator = allocator
        # set by `finalize`: what is freed after that is freed by the system
        self.closed = False
        self._tool_chains: dict[str, ToolChain] = {}

    @property
    def graph(self) -> Callable[..., GraphRunner] | None:
        """Makes a graph runner from a sequence of `GraphCall`; None where captured steps run kernel
        by kernel."""
        return None

    @abstractmethod
    def make_tool_chain(self, target: Target) -> ToolChain:
        """The renderer and compiler for a target of this device. Raises `ToolMissingError`."""

    @abstractmethod
    def runtime(self, info: ProgramInfo, binary: bytes) -> Program:
        """The program in a binary. Raises `ObjectFileError`."""

    def tool_chain(self) -> ToolChain:
        """The tool chain that DEV asks of this device here and now."""
        wanted = DEV.value
        found = self._tool_chains.get(wanted)
        if found is None:
            target = Target.parse(wanted) if wanted else None
            name = split_device(self.device)[0]
            if target is None or target.device != name:
                target = Target(name)
            found = self.make_tool_chain(target)
            self._tool_chains[wanted] = found
        return found

    @property
    def renderer(self) -> Renderer:
        """Turns kernels into source; it carries the compiler, where there is one."""
        return self.tool_chain().renderer

    @property
    def compiler(self) -> Compiler | None:
        """Turns source into a binary."""
        return self.tool_chain().compiler

    def synchronize(self) -> None:
        """Wait for everything that was submitted."""
        return

    def count(self) -> int:
        """How many devices of this name can be opened."""
        return 1

    def finalize(self) -> None:
        """Finish the work and let go of threads and handles; called once at exit."""
        self.synchronize()
        self.closed = True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.device}>"


class DeviceTable:
    """The opened devices by name; opens them on first use."""

    def __init__(self) -> None:
        self._opened: dict[str, Compiled] = {}
        self._default = ""
        self._spellings: dict[str, str] = {}
        self._lock = fork_safe_lock(Rank.DEVICE_TABLE)
        # set at exit: what is freed after that is freed by the system
        self.closed = False

    def __getitem__(self, name: str) -> Compiled:
        found = self._opened.get(name)
        return found if found is not None else self._open(self.canonicalize(name))

    def _open(self, name: str) -> Compiled:
        with self._lock:
            found = self._opened.get(name)
            if found is not None:
                return found
            opened = self._construct(name)
            self._opened[name] = opened
            if DEBUG >= 1:
                print(f"opened device {name}")  # noqa: T201
            return opened

    def _construct(self, name: str) -> Compiled:
        entry = DEVICES[split_device(name)[0]]
        try:
            opened = _device_class(entry)(name)
        except (RuntimeFailure, ImportError) as error:
            if isinstance(error, DeviceUnavailableError) and error.available:
                raise
            reason = error.reason if isinstance(error, DeviceUnavailableError) else str(error)
            base = split_device(name)[0]
            others = [n for n in DEVICES if n != base and not self.why_missing(n)]
            raise DeviceUnavailableError(device=name, reason=reason, available=others) from error
        return opened

    def canonicalize(self, name: str | None) -> str:
        """One spelling for each device; None is the default. Raises `TargetError`."""
        if name is None:
            return self.DEFAULT
        known = self._spellings.get(name)
        if known is not None:
            return known
        canonical = canonical_device(name)
        # the grammar accepts any name until some are registered; the table is the final word
        base = split_device(canonical)[0]
        if base not in DEVICES:
            raise TargetError(text=name, reason=f"there is no device {base}", known=list(DEVICES))
        if not DEVICES[base].paths:
            self._spellings[name] = canonical
        return canonical

    @property
    def DEFAULT(self) -> str:
        """The device that DEV names, or the best that opens."""
        wanted = DEV.value
        if wanted:
            return Target.parse(wanted).device
        if not self._default:
            self._default = self._best()
        return self._default

    @DEFAULT.setter
    def DEFAULT(self, name: str) -> None:
        self._default = self.canonicalize(name)

    def _best(self) -> str:
        reasons = []
        for name, entry in DEVICES.items():
            if not entry.automatic:
                continue
            reason = self.why_missing(name)
            if not reason:
                return name
            reasons.append(f"{name}: {reason}")
        raise DeviceUnavailableError(device="DEFAULT", reason="; ".join(reasons))

    def why_missing(self, name: str) -> str:
        """Why a device cannot be opened here; empty when it can (it is then open)."""
        if DEVICES[name].paths:
            return ""
        try:
            self._open(name)
        except (RuntimeFailure, ImportError) as error:
            return error.reason if isinstance(error, DeviceUnavailableError) else str(error)
        return ""

    def get_available_devices(self) -> Iterator[str]:
        """The names of the devices that open here."""
        return (name for name in DEVICES if not self.why_missing(name))

    def opened(self) -> tuple[Compiled, ...]:
        """The devices that are open."""
        return tuple(self._opened.values())

    def synchronize_all(self) -> None:
        """Wait for everything submitted to any device."""
        for device in self.opened():
            device.synchronize()

    def finalize(self) -> None:
        """Close every device, the last opened first; runs at exit."""
        self.closed = True
        with self._lock:
            devices = list(self._opened.values())
            self._opened.clear()
        for device in reversed(devices):
            device.finalize()


def _device_class(entry: DeviceEntry) -> Callable[[str], Compiled]:
    found: Callable[[str], Compiled] = getattr(
        importlib.import_module(entry.module), entry.class_name
    )
    return found


Device = DeviceTable()
atexit.register(Device.finalize)
