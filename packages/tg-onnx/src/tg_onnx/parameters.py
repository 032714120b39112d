"""Tell which constants of a model are weights, that training changes, from its operators' use."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np

from tg_onnx.plan import Plan
from tg_onnx.proto import Array

# inputs that are no weights: statistics, bounds, units of codes, factors of sizes
OF_PRODUCTS = frozenset((1, 2, 4, 5, 6, 7))
FIXED_INPUTS: Mapping[str, frozenset[int]] = {
    "BatchNormalization": frozenset((3, 4)),
    "Clip": frozenset((1, 2)),
    "DequantizeLinear": frozenset((1, 2)),
    "Pad": frozenset((1, 2)),
    "MatMulIntegerToFloat": frozenset((2, 3, 4, 5)),
    "QGemm": frozenset((1, 2, 4, 5, 7, 8)),
    "QLinearConv": OF_PRODUCTS,
    "QLinearMatMul": OF_PRODUCTS,
    "QuantizeLinear": frozenset((1, 2)),
    "Resize": frozenset((1, 2, 3)),
    "Upsample": frozenset((1,)),
}
NARROW = np.dtype(ml_dtypes.bfloat16)


def weights_of(plan: Plan) -> dict[str, Array]:
    """The float constants with axes of a graph, and of graphs inside of it, by name."""
    found: dict[str, Array] = {}
    waiting = [plan]
    while waiting:
        current = waiting.pop()
        fixed = _fixed_names(current)
        for name, array in current.graph.constants.items():
            is_float = array.dtype.kind == "f" or array.dtype == NARROW
            if is_float and array.ndim and array.size and name not in fixed:
                found.setdefault(name, array)
        for bodies in current.subplans.values():
            waiting.extend(bodies.values())
    return found


def _fixed_names(plan: Plan) -> set[str]:
    """The names that some node uses as something else than a weight."""
    names: set[str] = set()
    for position, node in enumerate(plan.graph.nodes):
        operator = plan.operators[position]
        places = FIXED_INPUTS.get(node.operator, frozenset())
        if operator is not None:
            places |= operator.host
        names.update(name for place, name in enumerate(node.inputs) if place in places)
    return names
