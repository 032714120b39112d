"""What the results should be: from PyTorch, NumPy, or what PyTorch has said before."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tensor_table.cases import Case
from tensor_table.evaluate import as_list, weights
from tensor_table.inputs import Array, array_dtype
from tensor_table.sweep import Variation

RECORD_FILE = Path(__file__).parents[1] / "recorded.npz"
_WIDENED = {"uint16": "int64", "uint32": "int64", "uint64": "int64"}


@dataclass(slots=True)
class Expected:
    """Results, their dtypes (None for a Python number), and gradients where asked for."""

    arrays: list[Array]
    dtypes: list[str | None]
    gradients: list[Array] = field(default_factory=list)


def key_of(case: Case, variation: Variation, inputs: Mapping[str, Array], gradient: bool) -> str:
    """What names a recorded result: it changes with everything that the result depends on."""
    digest = zlib.crc32(f"{case.torch} {case.widened} {list(case.inputs)}".encode())
    for array in inputs.values():
        digest = zlib.crc32(str(array.shape).encode(), digest)
        digest = zlib.crc32(
            np.ascontiguousarray(array).view(np.uint8) if array.size else b"", digest
        )
    return f"{case.ours} | {variation} | {'gradient' if gradient else 'values'} | {digest:08x}"


# *** NumPy ***


def by_numpy(case: Case, inputs: Mapping[str, Array]) -> Expected:
    """The results of the NumPy expression."""
    assert case.numpy is not None
    with np.errstate(all="ignore"):
        found = eval(case.numpy, {"np": np, "math": math, **inputs})
    arrays, names = [], []
    for value in as_list(found):
        arrays.append(np.asarray(value))
        plain = isinstance(value, bool | int | float) and not isinstance(value, np.generic)
        names.append(None if plain else np.asarray(value).dtype.name)
    return Expected(arrays, names)


# *** PyTorch ***


def torch_oracle(torch: Any) -> Callable[[Case, Variation, Mapping[str, Array], bool], Expected]:
    """A function that asks PyTorch."""

    def ask(
        case: Case, variation: Variation, inputs: Mapping[str, Array], gradient: bool
    ) -> Expected:
        return by_torch(torch, case, variation, inputs, gradient)

    return ask


def by_torch(
    torch: Any, case: Case, variation: Variation, inputs: Mapping[str, Array], gradient: bool
) -> Expected:
    """The results of the PyTorch expression, and gradients of a weighted sum of them."""
    assert case.torch is not None
    if variation.dtype in _WIDENED and variation.dtype not in case.widened:
        try:
            return _ask_torch(torch, case, variation, inputs, gradient, {})
        except (RuntimeError, NotImplementedError, TypeError):
            # PyTorch has few functions for these
            return _ask_torch(torch, case, variation, inputs, gradient, _WIDENED)
    return _ask_torch(torch, case, variation, inputs, gradient, case.widened)


def _ask_torch(
    torch: Any,
    case: Case,
    variation: Variation,
    inputs: Mapping[str, Array],
    gradient: bool,
    wide: Mapping[str, str],
) -> Expected:
    tensors: dict[str, Any] = {}
    for name, array in inputs.items():
        own = array.dtype.name
        tensor = _to_torch(torch, array, wide.get(own, own))
        wanted = gradient and case.inputs[name].gradient and tensor.dtype.is_floating_point
        tensors[name] = tensor.requires_grad_() if wanted else tensor
    names = {"T": torch, "F": torch.nn.functional, "np": np, "math": math, "inf": math.inf}
    listed = as_list(eval(case.torch or "", {**names, "nan": math.nan, **tensors}))
    expected = Expected([], [])
    total = 0.0
    for place, value in enumerate(listed):
        if not isinstance(value, torch.Tensor):
            expected.arrays.append(np.asarray(value))
            expected.dtypes.append(None)
            continue
        array, name = _from_torch(torch, value)
        # of several results, those after the first are positions
        if not place and wide.get(variation.dtype) == name:
            name = variation.dtype
        expected.arrays.append(array)
        expected.dtypes.append(name)
        if gradient and value.dtype.is_floating_point and value.requires_grad:
            weight = torch.tensor(weights(value.shape, place), dtype=value.dtype)
            total = total + (value * weight).sum()
    if gradient:
        leaves = [t for t in tensors.values() if t.requires_grad]
        found = torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
        expected.gradients = [_from_torch(torch, g)[0] for g in found]
    return expected


def _to_torch(torch: Any, array: Array, dtype: str) -> Any:
    wanted = getattr(torch, dtype)
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    return torch.tensor(array).to(wanted)


def _from_torch(torch: Any, tensor: Any) -> tuple[Array, str]:
    name = str(tensor.dtype).removeprefix("torch.")
    plain = tensor.detach().resolve_conj()
    if name == "bfloat16":
        return plain.float().numpy().astype(array_dtype("bfloat16")), name
    return plain.numpy(), name


# *** recorded ***


class Recorded:
    """Results of PyTorch in one compressed file."""

    def __init__(self, path: Path = RECORD_FILE) -> None:
        self._index: dict[str, list[Any]] = {}
        self._data = b""
        if path.exists():
            with np.load(path) as stored:
                self._index = json.loads(stored["index"].tobytes())
                self._data = stored["data"].tobytes()

    def __contains__(self, key: str) -> bool:
        return key in self._index

    def find(self, key: str) -> Expected | None:
        """What was recorded under a key."""
        entry = self._index.get(key)
        if entry is None:
            return None
        start, parts, gradients = entry
        arrays = []
        for stored, shape, _ in [*parts, *gradients]:
            dtype = array_dtype(stored)
            size = math.prod(shape) * dtype.itemsize
            arrays.append(np.frombuffer(self._data[start : start + size], dtype).reshape(shape))
            start += size
        return Expected(arrays[: len(parts)], [p[2] for p in parts], arrays[len(parts) :])


def write_record(found: Mapping[str, Expected], path: Path = RECORD_FILE) -> None:
    """Write the file of `Recorded`."""
    index: dict[str, list[Any]] = {}
    data = bytearray()
    for key in sorted(found):
        expected = found[key]
        parts = [
            [a.dtype.name, list(a.shape), d]
            for a, d in zip(expected.arrays, expected.dtypes, strict=True)
        ]
        gradients = [[g.dtype.name, list(g.shape), None] for g in expected.gradients]
        index[key] = [len(data), parts, gradients]
        for array in [*expected.arrays, *expected.gradients]:
            data += np.ascontiguousarray(array).tobytes()
    text = json.dumps(index, separators=(",", ":")).encode()
    np.savez_compressed(
        path,
        index=np.frombuffer(text, np.uint8),
        data=np.frombuffer(bytes(data), np.uint8),
    )
