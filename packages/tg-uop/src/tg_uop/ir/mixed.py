"""Bring operands to one number type, as users of Python, PyTorch and NumPy expect.

Loop indices and sizes (`weakint`) stand beside any number as Python's integers do.
"""

from __future__ import annotations

from typing import TypeVar

from tg_uop.dtype.dtype import DType, PtrDType, dtypes
from tg_uop.dtype.promote import least_upper_dtype
from tg_uop.errors import ArgumentTypeError
from tg_uop.ir.build import Builders

B = TypeVar("B", bound=Builders)


def same_type(left: B, right: B) -> tuple[B, B]:
    """Both operands in the smallest dtype that holds them.

    Raises `ArgumentTypeError` for memory, which is no value.
    """
    mine, theirs = left.dtype, right.dtype
    for operand in (left, right):
        if isinstance(operand.dtype, PtrDType):
            expected = f"a value; this is memory of shape {operand._shape}: index it"
            raise ArgumentTypeError(argument="operand", given=repr(operand), expected=expected)
    if mine is theirs or dtypes.void in (mine, theirs) or mine.count != theirs.count:
        return left, right
    common = least_upper_dtype(mine.scalar(), theirs.scalar())
    return left.cast(common), right.cast(common)


def type_of_quotient(dtype: DType) -> DType:
    """The dtype of `/` between values of this dtype."""
    return dtype if dtype.is_float else dtypes.default_float
