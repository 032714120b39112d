"""The IR of tg: nodes, number types, the rewriter and symbolic integers. Needs nothing else."""

from tg_uop.dtype.dtype import (
    AddrSpace,
    ConstFloat,
    DType,
    ImageDType,
    Invalid,
    PtrDType,
    dtypes,
)
from tg_uop.ir.args import Estimates, KernelInfo, Opt, OptOps, ProgramInfo
from tg_uop.ir.axis import AxisType
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp, Variable, sint

__all__ = [
    "AddrSpace",
    "AxisType",
    "ConstFloat",
    "DType",
    "Estimates",
    "GroupOp",
    "ImageDType",
    "Invalid",
    "KernelInfo",
    "Opt",
    "OptOps",
    "Ops",
    "ProgramInfo",
    "PtrDType",
    "UOp",
    "Variable",
    "dtypes",
    "sint",
]
