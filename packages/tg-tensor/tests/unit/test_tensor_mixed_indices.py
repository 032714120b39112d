"""Indices of every mixture against NumPy: where the axes of lookups stand, read and written."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor

DATA = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
PARTS: dict[str, Any] = {
    ":": slice(None),
    "1:": slice(1, None),
    "1": 1,
    "None": None,
    "[1, 0]": np.array([1, 0]),
    "0-d": np.array(1),
    "mask": np.array([False, True]),
}
MIXED = [names for names in itertools.product(PARTS, repeat=3) if "[1, 0]" in names]


def parts_of(names: tuple[str, ...], convert: Any) -> tuple[Any, ...]:
    """An index; a mask lies over the first axis only, the others are of another length."""
    found = (PARTS[name] for name in names)
    return tuple(convert(part) if isinstance(part, np.ndarray) else part for part in found)


@pytest.mark.parametrize("names", MIXED[::9], ids=", ".join)
def test_mixed_indices(names: tuple[str, ...]) -> None:
    if "mask" in names[1:]:
        names = tuple(":" if name == "mask" else name for name in names)
    theirs = DATA.copy()
    wanted = theirs[parts_of(names, np.asarray)]
    ours = Tensor(DATA).realize()
    found = ours[parts_of(names, Tensor)].numpy()
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)
    values = -1 - np.arange(found.size, dtype=np.float32).reshape(found.shape)
    ours[parts_of(names, Tensor)] = Tensor(values)
    theirs[parts_of(names, np.asarray)] = values
    np.testing.assert_array_equal(ours.numpy(), theirs)
