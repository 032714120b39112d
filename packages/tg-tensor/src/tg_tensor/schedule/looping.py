"""Which devices run the loops of a kernel; on others all of them are its launch grid."""

from __future__ import annotations

LOOPING = frozenset(("CPU", "PYTHON"))


def is_looping(device: object) -> bool:
    """Whether a place is one device whose kernels are loops; several devices are none."""
    return isinstance(device, str) and device.partition(":")[0] in LOOPING
