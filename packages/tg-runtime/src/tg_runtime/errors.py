"""Every exception of the package, one tree under RuntimeFailure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tg_uop.errors import TgError


class RuntimeFailure(TgError, RuntimeError):
    """Base of every error that a device, its memory or its tools raise on purpose."""


class DeviceUnavailableError(RuntimeFailure):
    """A device that cannot be opened here: what was looked for, and what there is instead."""

    def __init__(self, *, device: str, reason: str, available: Sequence[str] = ()) -> None:
        self.device = device
        self.reason = reason
        self.available = tuple(available)
        super().__init__(device, reason, self.available)

    def explain(self) -> str:
        text = f"device {self.device} cannot be opened: {self.reason}"
        if self.available:
            text += f"; available here: {', '.join(self.available)}"
        return text


class OutOfMemoryError(RuntimeFailure, MemoryError):
    """A device has no room left, even after every unused block was given back."""

    def __init__(
        self, *, device: str, requested: int, in_use: int, held: Mapping[str, int], reason: str = ""
    ) -> None:
        self.device = device
        self.requested = requested
        self.in_use = in_use
        self.held = dict(held)
        self.reason = reason
        super().__init__(device, requested, in_use, self.held, reason)

    def explain(self) -> str:
        text = (
            f"{self.device} has no room for {self.requested:,} bytes; "
            f"{self.in_use:,} bytes are in use"
        )
        if self.reason:
            text += f" ({self.reason})"
        largest = sorted(self.held.items(), key=lambda entry: -entry[1])
        lines = [f"  {size:>18,} bytes  {what}" for what, size in largest]
        return "\n".join([text + (", held by:" if lines else ""), *lines])


class BufferUseError(RuntimeFailure, ValueError):
    """A use of a buffer that its memory does not allow."""

    def __init__(self, *, attempted: str, buffer: str, reason: str, hint: str = "") -> None:
        self.attempted = attempted
        self.buffer = buffer
        self.reason = reason
        self.hint = hint
        super().__init__(attempted, buffer, reason, hint)

    def explain(self) -> str:
        text = f"cannot {self.attempted} {self.buffer}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class CompileError(RuntimeFailure):
    """Source that the tool chain refused: what it said, and where."""

    def __init__(self, *, compiler: str, message: str, source: str = "") -> None:
        self.compiler = compiler
        self.message = message
        self.source = source
        super().__init__(compiler, message, source)

    def explain(self) -> str:
        text = f"{self.compiler} refused the source: {self.message.strip()}"
        return f"{text}\n{_numbered(self.source)}" if self.source else text


def _numbered(source: str, limit: int = 60) -> str:
    lines = source.splitlines()
    shown = [f"{number:4} | {line}" for number, line in enumerate(lines[:limit], start=1)]
    if len(lines) > limit:
        shown.append(f"     | ({len(lines) - limit} more lines)")
    return "\n".join(shown)


class ToolMissingError(RuntimeFailure):
    """A compiler or library that is needed and was not found."""

    def __init__(self, *, tool: str, looked_for: Sequence[str], hint: str = "") -> None:
        self.tool = tool
        self.looked_for = tuple(looked_for)
        self.hint = hint
        super().__init__(tool, self.looked_for, hint)

    def explain(self) -> str:
        text = f"{self.tool} was not found (looked for {', '.join(self.looked_for)})"
        return f"{text}; {self.hint}" if self.hint else text


class ObjectFileError(RuntimeFailure, ValueError):
    """Bytes that are no object file which can be loaded here."""

    def __init__(self, *, reason: str, symbol: str = "") -> None:
        self.reason = reason
        self.symbol = symbol
        super().__init__(reason, symbol)

    def explain(self) -> str:
        where = f" (symbol {self.symbol})" if self.symbol else ""
        return f"the object file cannot be loaded: {self.reason}{where}"


class LaunchError(RuntimeFailure, ValueError):
    """Arguments that do not fit the kernel."""

    def __init__(self, *, kernel: str, reason: str) -> None:
        self.kernel = kernel
        self.reason = reason
        super().__init__(kernel, reason)

    def explain(self) -> str:
        return f"kernel {self.kernel} cannot be launched: {self.reason}"


class DeviceTimeoutError(RuntimeFailure, TimeoutError):
    """A device that did not finish in the time it was given."""

    def __init__(self, *, device: str, seconds: float, running: str, reached: int, awaited: int):
        self.device = device
        self.seconds = seconds
        self.running = running
        self.reached = reached
        self.awaited = awaited
        super().__init__(device, seconds, running, reached, awaited)

    def explain(self) -> str:
        running = f" while running {self.running}" if self.running else ""
        return (
            f"{self.device} did not finish within {self.seconds:g} s{running}: "
            f"its timeline stands at {self.reached}, {self.awaited} was awaited"
        )


class KernelFaultError(RuntimeFailure):
    """A kernel that did something its device forbids."""

    def __init__(self, *, kernel: str, device: str, reason: str) -> None:
        self.kernel = kernel
        self.device = device
        self.reason = reason
        super().__init__(kernel, device, reason)

    def explain(self) -> str:
        return f"kernel {self.kernel} failed on {self.device}: {self.reason}"


class FileBufferError(RuntimeFailure, OSError):
    """A file that cannot serve as a buffer: which file, where in it, why."""

    def __init__(self, *, path: str, offset: int, size: int, reason: str) -> None:
        self.path = path
        self.offset = offset
        self.size = size
        self.reason = reason
        super().__init__(path, offset, size, reason)

    def explain(self) -> str:
        return f"{self.path}, {self.size:,} bytes at offset {self.offset:,}: {self.reason}"
