"""The lazy Tensor, its scheduler, autograd and JIT."""

from tg_runtime import Device
from tg_uop import Context, UOp, Variable, dtypes, getenv

from tg_tensor.interop.fetch import fetch
from tg_tensor.tensor import Tensor

__all__ = ["Context", "Device", "Tensor", "UOp", "Variable", "dtypes", "fetch", "getenv"]
