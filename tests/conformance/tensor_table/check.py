"""A case of the table tried: its values and gradients beside those of an oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tensor_table.cases import Case
from tensor_table.evaluate import as_list, dtype_name, tensor_of, value_of, weights
from tensor_table.inputs import Array
from tensor_table.reference import Expected
from tensor_table.sweep import Variation, arguments, variations
from tg_tensor import Tensor

Oracle = Callable[[Case, Variation, Mapping[str, Array], bool], Expected]

TOLERANCE = {"float64": 1e-6, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


def value_failures(case: Case, oracle: Oracle, full: bool) -> list[str]:
    """What is wrong with the values, shapes and dtypes of a case; every result in one realize."""
    pending = []
    for variation in variations(case, full):
        inputs = arguments(case, variation)
        tensors = {
            name: tensor_of(a, _own_dtype(case, name, variation), variation.layout)
            for name, a in inputs.items()
        }
        found = as_list(value_of(case.ours, tensors))
        pending.append((variation, inputs, found))
    lazy = [t for _, _, found in pending for t in found if isinstance(t, Tensor)]
    if lazy:
        lazy[0].realize(*lazy[1:])
    failures: list[str] = []
    for variation, inputs, found in pending:
        expected = oracle(case, variation, inputs, False)
        wrong = _compare(case, variation, found, expected)
        failures += [f"{case.ours} [{variation}]: {text}" for text in wrong]
    return failures


def gradient_failures(case: Case, oracle: Oracle) -> list[str]:
    """What is wrong with the gradients of a case, in float32."""
    variation = gradient_variation(case)
    inputs = arguments(case, variation)
    tensors, leaves = _leaves(case, variation, inputs)
    found = _weighted(as_list(value_of(case.ours, tensors))).gradient(*leaves.values())
    found[0].realize(*found[1:])
    expected = oracle(case, variation, inputs, True).gradients
    failures = []
    for name, mine, wanted in zip(leaves, found, expected, strict=True):
        text = _close(mine.numpy(), wanted, 5 * _tolerance(case, variation.dtype))
        if text:
            failures.append(f"{case.ours} [{variation}], gradient of {name}: {text}")
    return failures


def difference_failures(case: Case) -> list[str]:
    """What is wrong with the gradient in float64 along one direction, by a central difference."""
    variation = Variation("float64", gradient_variation(case).shapes, "plain")
    inputs = arguments(case, variation)
    tensors, leaves = _leaves(case, variation, inputs)
    results = as_list(value_of(case.ours, tensors))
    if any(r.dtype.is_float and dtype_name(r) != "float64" for r in results):
        # a difference drowns in the rounding of narrower floats
        return []
    gradients = _weighted(results).gradient(*leaves.values())
    step = 1e-5
    ways = {n: weights(inputs[n].shape, 5 + i) for i, n in enumerate(leaves)}
    ends = []
    for sign in (1, -1):
        moved = {n: Tensor(inputs[n] + sign * step * way) for n, way in ways.items()}
        ends.append(_weighted(as_list(value_of(case.ours, {**tensors, **moved}))))
    slope = sum((g * Tensor(ways[n])).sum() for n, g in zip(leaves, gradients, strict=True))
    slope.realize(*ends)
    measured = (ends[0].item() - ends[1].item()) / (2 * step)
    if np.isclose(slope.item(), measured, rtol=1e-4, atol=1e-4 * max(1.0, abs(measured))):
        return []
    return [f"{case.ours}: the slope is {measured}, by the gradient {slope.item()}"]


def gradient_variation(case: Case) -> Variation:
    """The point at which gradients are taken: the first of the sweep with elements."""
    dtype = next(d for d in case.dtypes if d in ("float32", "float64"))
    return Variation(dtype, case.shapes[0], "plain")


def _own_dtype(case: Case, name: str, variation: Variation) -> str:
    return case.inputs[name].dtype or variation.dtype


def _leaves(
    case: Case, variation: Variation, inputs: Mapping[str, Array]
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    tensors, leaves = {}, {}
    for name, array in inputs.items():
        tensors[name] = tensor_of(array, _own_dtype(case, name, variation))
        if case.inputs[name].gradient and tensors[name].dtype.is_float:
            leaves[name] = tensors[name]
    return tensors, leaves


def _weighted(results: list[Any]) -> Tensor:
    parts = [
        (value * Tensor(weights(value.shape, place)).cast(value.dtype)).sum()
        for place, value in enumerate(results)
        if value.dtype.is_float
    ]
    return sum(parts[1:], parts[0])


def _tolerance(case: Case, dtype: str) -> float:
    usual = TOLERANCE.get(dtype, 0.0)
    if dtype in case.tolerance:
        return case.tolerance[dtype]
    # who asks for more in float32 asks for as much more in the narrow ones
    factor = case.tolerance.get("float32", TOLERANCE["float32"]) / TOLERANCE["float32"]
    return usual * factor


def _compare(case: Case, variation: Variation, found: list[Any], expected: Expected) -> list[str]:
    if len(found) != len(expected.arrays):
        return [f"{len(found)} results, not {len(expected.arrays)}"]
    failures = []
    for value, wanted, name in zip(found, expected.arrays, expected.dtypes, strict=True):
        failures += _compare_one(case, variation, value, wanted, name)
    return failures


def _compare_one(
    case: Case, variation: Variation, value: Any, wanted: Array, name: str | None
) -> list[str]:
    if not isinstance(value, Tensor):
        same = np.array_equal(np.asarray(value), wanted, equal_nan=wanted.dtype.kind == "f")
        return [] if same else [f"{value!r}, not {wanted!r}"]
    if tuple(value.shape) != wanted.shape:
        return [f"shape {value.shape}, not {wanted.shape}"]
    dtype = _expected_dtype(case, variation, name)
    own = dtype_name(value)
    if dtype is not None and own != dtype:
        return [f"dtype {own}, not {dtype}"]
    tolerance = _tolerance(case, own)
    if wanted.dtype.kind in "iu" and "int" in own:
        wanted = wanted.astype(own)
    text = _close(value.numpy(), wanted, tolerance)
    return [text] if text else []


def _expected_dtype(case: Case, variation: Variation, oracle: str | None) -> str | None:
    rule = case.out
    if isinstance(rule, str):
        return rule
    if isinstance(rule, Mapping):
        return rule.get(variation.dtype, oracle)
    if rule is not None:
        return rule(variation.dtype)
    if oracle == "int64" and variation.dtype != "int64":
        return "int64" if any(i.dtype == "int64" for i in case.inputs.values()) else "int32"
    if case.torch is None and oracle == "float64" and variation.dtype != "float64":
        # NumPy computes in float64 what it has no narrower function for
        return variation.dtype if "float" in variation.dtype else "float32"
    return oracle


def _close(found: Array, wanted: Array, tolerance: float) -> str:
    if found.shape != wanted.shape:
        return f"shape {found.shape}, not {wanted.shape}"
    if found.dtype.kind not in "fV" and wanted.dtype.kind not in "fV":
        wrong = found != wanted
    else:
        left, right = found.astype(np.float64), wanted.astype(np.float64)
        with np.errstate(all="ignore"):
            near = np.abs(left - right) <= tolerance * (np.abs(right) + 0.3)
        wrong = ~(near | (left == right) | (np.isnan(left) & np.isnan(right)))
    if not wrong.any():
        return ""
    place = tuple(int(i[0]) for i in np.nonzero(wrong))
    many = f" ({int(wrong.sum())} of {wrong.size} differ)" if wrong.ndim else ""
    return f"{found[place]!r}, not {wanted[place]!r} at {place}{many}"
