"""Python numbers as constants that stand beside a node."""

from __future__ import annotations

from tg_uop import DType, Ops, UOp
from tg_uop.dtype.promote import promote_with_scalar
from tg_uop.dtype.value import const_value

from tg_tensor.errors import DataError

Scalar = int | float
"""A Python number (bool included): it takes its dtype from what stands beside it."""

_numbers: dict[tuple[DType, type, Scalar], UOp] = {}
_MOST_NUMBERS = 4096


def number(value: Scalar, dtype: DType) -> UOp:
    """A constant without shape or device."""
    key = (dtype, type(value), value)
    found = _numbers.get(key)
    if found is not None:
        return found
    check_room(value, dtype)
    node = UOp(Ops.CONST, dtype, (), const_value(value, dtype))
    # the two zeros of floats are equal as keys, and NaN is no key
    if value != 0 or type(value) is not float:
        if len(_numbers) >= _MOST_NUMBERS:
            _numbers.clear()
        _numbers[key] = node
    return node


def check_room(value: Scalar, dtype: DType) -> None:
    """Refuse an integer that would become another; one that only changes its sign wraps.

    Raises `DataError`.
    """
    if type(value) is not int or not dtype.is_int:
        return
    width = 8 * dtype.itemsize
    if not -(1 << (width - 1)) <= value < 1 << width:
        raise DataError(
            given=f"the integer {value}",
            reason=f"{dtype} has no room for it",
            hint="use a wider dtype, such as dtypes.int64, here or for the Tensor beside it",
        )


def beside_number(node: UOp, value: Scalar) -> tuple[UOp, UOp]:
    """A node and a Python number in their common dtype."""
    own = node.dtype
    # by far the most common: nothing to promote
    dtype = own if own.is_float else promote_with_scalar(own, value)
    return node if dtype is own else node.cast(dtype), number(value, dtype)
