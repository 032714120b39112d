"""The devices that exist: name to module, in order of preference."""

from __future__ import annotations

from typing import Final, NamedTuple

from tg_uop.target import register_names


class DeviceEntry(NamedTuple):
    """Where a device is implemented; the module is loaded when the device is opened.

    `automatic`: may become the default without being asked for. `paths`: its name is followed by
    a path instead of an index.
    """

    module: str
    class_name: str
    summary: str
    renderers: tuple[str, ...] = ()
    automatic: bool = False
    paths: bool = False


DEVICES: Final[dict[str, DeviceEntry]] = {
    "CPU": DeviceEntry(
        "tg_runtime.devices.cpu.device",
        "CPUDevice",
        "this machine's processor",
        renderers=("LLVM", "CLANG", "GCC"),
        automatic=True,
    ),
    "PYTHON": DeviceEntry(
        "tg_runtime.devices.python.device",
        "PythonDevice",
        "interpreter of kernels, slow and exact",
        renderers=("PYTHON",),
        automatic=True,
    ),
    "NULL": DeviceEntry(
        "tg_runtime.devices.null.device",
        "NullDevice",
        "compiles for any target, runs nothing",
    ),
    "NPY": DeviceEntry(
        "tg_runtime.devices.npy.device", "NpyDevice", "memory of other libraries, without copies"
    ),
    "DISK": DeviceEntry(
        "tg_runtime.devices.disk.device", "DiskDevice", "files, as DISK:path", paths=True
    ),
}

INTERFACES: Final = ("MOCK",)

register_names(
    devices=DEVICES,
    interfaces=INTERFACES,
    renderers={name: entry.renderers for name, entry in DEVICES.items() if entry.renderers},
)
