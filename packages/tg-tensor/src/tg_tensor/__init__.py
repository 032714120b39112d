"""tg-tensor: the lazy Tensor and the road from it to the device."""

from importlib import import_module

from tg_runtime import Device
from tg_uop import Context, UOp, Variable, dtypes, getenv

from tg_tensor.autograd.checkpoint import checkpoint
from tg_tensor.custom.function import function
from tg_tensor.engine.compile import compile_linear, estimate_uop, get_runtime
from tg_tensor.engine.run import run_linear
from tg_tensor.engine.stats import GlobalCounters
from tg_tensor.jit.tinyjit import TinyJit
from tg_tensor.tensor import Tensor

__all__ = [
    "Context",
    "Device",
    "GlobalCounters",
    "Tensor",
    "TinyJit",
    "UOp",
    "Variable",
    "checkpoint",
    "compile_linear",
    "dtypes",
    "estimate_uop",
    "fetch",
    "function",
    "get_runtime",
    "getenv",
    "run_linear",
]

# the network modules of the standard library take longer to load than all of this package
_ON_DEMAND = {"fetch": "tg_tensor.interop.fetch"}


def __getattr__(name: str) -> object:
    """Load what few programs need when it is first asked for."""
    module = _ON_DEMAND.get(name)
    if module is None:
        raise AttributeError(f"module 'tg_tensor' has no attribute {name!r}")
    return getattr(import_module(module), name)
