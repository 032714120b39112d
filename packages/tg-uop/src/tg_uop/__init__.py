"""The IR of tg: nodes, number types, the rewriter and symbolic integers. Needs nothing else."""

from tg_uop.context import Context, ContextVar, getenv
from tg_uop.dtype.dtype import (
    AddrSpace,
    ConstFloat,
    DType,
    ImageDType,
    Invalid,
    PtrDType,
    dtypes,
)
from tg_uop.dtype.promote import can_lossless_cast, least_upper_dtype
from tg_uop.eval.graph import evaluate, sym_infer
from tg_uop.ir.args import Estimates, KernelInfo, Opt, OptOps, ProgramInfo
from tg_uop.ir.axis import AxisType
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp, Variable, sint
from tg_uop.rewrite.driver import graph_rewrite
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.pattern import UPat
from tg_uop.rules.simplify import resolve
from tg_uop.target import Target
from tg_uop.text.expr import render

__all__ = [
    "AddrSpace",
    "AxisType",
    "ConstFloat",
    "Context",
    "ContextVar",
    "DType",
    "Estimates",
    "GroupOp",
    "ImageDType",
    "Invalid",
    "KernelInfo",
    "Ops",
    "Opt",
    "OptOps",
    "PatternMatcher",
    "ProgramInfo",
    "PtrDType",
    "Target",
    "UOp",
    "UPat",
    "Variable",
    "can_lossless_cast",
    "dtypes",
    "evaluate",
    "getenv",
    "graph_rewrite",
    "least_upper_dtype",
    "render",
    "resolve",
    "rule",
    "sint",
    "sym_infer",
]
