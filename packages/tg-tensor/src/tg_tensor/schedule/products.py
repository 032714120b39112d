"""Find sums of products, and the conversions that a tensor core makes unnecessary for them."""

from __future__ import annotations

from collections.abc import Iterable

from tg_uop import DType, GroupOp, Ops, UOp

from tg_tensor.schedule.affine import count
from tg_tensor.schedule.indexing import Indexer


def widened_factors(
    order: Iterable[UOp], products: frozenset[tuple[DType, DType]]
) -> frozenset[UOp]:
    """The CASTs of factors whose products are summed, from and to dtypes of `products`.

    In memory of their own they would hide from the kernel that the factors are narrow.
    """
    found = set()
    for node in order:
        if node.op is not Ops.REDUCE or node.reduce_op is not Ops.ADD:
            continue
        value = _unmoved(node.src[0])
        if value.op is not Ops.MUL:
            continue
        factors = [_unmoved(factor) for factor in value.src]
        if all(_is_widening(factor, products) for factor in factors):
            found.update(factors)
    return frozenset(found)


def is_contraction(node: UOp, indexer: Indexer) -> bool:
    """Whether a node sums products whose factors are each read for many results: a matmul.

    Where a factor is as large as all products (a product with a vector), memory is what limits.
    """
    if node.op is not Ops.REDUCE or node.reduce_op is not Ops.ADD:
        return False
    value = _unmoved(node.src[0])
    while value.op is Ops.CAST:
        value = _unmoved(value.src[0])
    if value.op is not Ops.MUL:
        return False
    terms = count(indexer.shape(value))
    return all(count(indexer.shape(_unmoved(factor))) < terms for factor in value.src)


def _unmoved(node: UOp) -> UOp:
    while node.op in GroupOp.Movement:
        node = node.src[0]
    return node


def _is_widening(node: UOp, products: frozenset[tuple[DType, DType]]) -> bool:
    return node.op is Ops.CAST and (node.src[0].dtype, node.dtype) in products
