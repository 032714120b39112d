"""The runtime of tg: devices, memory, command queues and tool chains."""

from tg_runtime.compile.compiler import Compiler
from tg_runtime.compile.disk_cache import DiskCache, code_key, content_key, default_compiler_cache
from tg_runtime.device import Allocator, BufferSpec, Compiled, Device, Memory, Program
from tg_runtime.hcq.commands import COMMAND_SIZE
from tg_runtime.hcq.device import HCQCompiled
from tg_runtime.hcq.graph import GraphCall, HCQGraph, InputSlot
from tg_runtime.hcq.program import HCQProgram
from tg_runtime.hcq.queue import HWQueue
from tg_runtime.hcq.signal import HCQSignal
from tg_runtime.memory.buffer import Buffer, MultiBuffer, memory_counter
from tg_runtime.memory.cache import LRUAllocator
from tg_runtime.profile import ProfileEvent, clear_events, profile_events, trace_text

__all__ = [
    "COMMAND_SIZE",
    "Allocator",
    "Buffer",
    "BufferSpec",
    "Compiled",
    "Compiler",
    "Device",
    "DiskCache",
    "GraphCall",
    "HCQCompiled",
    "HCQGraph",
    "HCQProgram",
    "HCQSignal",
    "HWQueue",
    "InputSlot",
    "LRUAllocator",
    "Memory",
    "MultiBuffer",
    "ProfileEvent",
    "Program",
    "clear_events",
    "code_key",
    "content_key",
    "default_compiler_cache",
    "memory_counter",
    "profile_events",
    "trace_text",
]
