"""What may stand in an index, as people reported it: bools, ranges, masks, nothing, nonsense."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Tensor


def counting(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


class One:
    """Something that counts as 1 where a position is wanted."""

    def __index__(self) -> int:
        return 1


def check(data: np.ndarray, index: object, ours: object = None) -> None:
    """Read and written, from memory and lazily, what NumPy reads and writes."""
    ours = index if ours is None else ours
    want = data[index]  # type: ignore[index]
    np.testing.assert_array_equal(Tensor(data).realize()[ours].numpy(), want)
    np.testing.assert_array_equal((Tensor(data) * 1)[ours].numpy(), want)
    written = data.copy()
    written[index] = -1  # type: ignore[index]
    held = Tensor(data).realize()
    held[ours] = -1.0
    np.testing.assert_array_equal(held.numpy(), written)


@pytest.mark.parametrize(
    "index",
    [range(2), range(0), range(3, 0, -2), (slice(None), range(2)), (range(2), range(2))],
)
def test_ranges_are_lists_of_positions(index: object) -> None:
    """x[range(2)] was refused as an index of an unknown type."""
    check(counting(4, 3), index)


@pytest.mark.parametrize(
    "index",
    [
        True,
        False,
        (None, True),
        (True, None),
        (..., True),
        (False, ...),
        (True, 0),
        (0, True),
        (slice(1), True),
        (True, slice(1)),
        (True, True),
        (True, False),
        np.True_,
        (np.True_, 1),
        (True, [0, 1]),
        (slice(None), True, 0),
        np.array(True),
    ],
)
def test_a_bool_is_an_axis_of_its_own(index: object) -> None:
    """A bool beside other items was taken for 0 or 1, or refused."""
    check(counting(2, 3), index)


def test_a_bool_that_is_computed_is_an_axis_too() -> None:
    """A 0-d mask Tensor beside other items, and alone on a 0-d value."""
    check(counting(2, 3), (np.array(True), 0), (Tensor(3) > 2, 0))
    check(np.array(5.0, np.float32), np.array(False), Tensor(3) > 4)


def test_a_mask_with_an_ellipsis_behind_it() -> None:
    """t[mask, ..., 0] took the 0 on the wrong axis."""
    data, mask = counting(1, 2, 2), np.array([[True, True]])
    check(data, (mask, ..., 0), (Tensor(mask), ..., 0))
    check(counting(2, 1, 2), (..., mask), (..., Tensor(mask)))
    check(counting(2, 3, 4), (np.array([[True, False, True], [False, True, True]]), slice(1, 3)))


@pytest.mark.parametrize("value", [True, False])
def test_a_mask_of_one_element_is_a_mask(value: bool) -> None:
    """It was read as position 0 or 1."""
    check(counting(1), np.array([value]), Tensor([value]))
    check(counting(1, 1), np.array([[value]]))
    check(counting(1), [value])


@pytest.mark.parametrize("rows", [1, 2, 31, 32, 33])
def test_masks_of_arrays_and_lists_at_every_length(rows: int) -> None:
    """A mask of fewer than 32 rows was taken for a tuple of indices."""
    data = counting(rows, 5)
    check(data, data % 3 == 0, (data % 3 == 0).tolist())


def test_masks_of_other_shapes_are_refused() -> None:
    """A mask that is shorter than its axis picked from the front without a word."""
    for mask in ([True, False], [True] * 5):
        with pytest.raises(ValueError, match=r"\(4,\)"):
            Tensor(counting(4))[Tensor(mask)]


def test_bytes_are_positions_and_not_masks() -> None:
    """[0, 1, 1] of uint8 names three elements."""
    index = np.array([0, 1, 1], np.uint8)
    check(counting(5), index, Tensor(index))


@pytest.mark.parametrize("at", [0, -1, 2])
def test_positions_without_axes(at: int) -> None:
    """An array of one integer drops its axis, beside a list it is spread."""
    index = np.array(at)
    check(counting(3, 4), index, Tensor(at))
    check(counting(3, 4), (slice(None), index))
    check(counting(3, 4), (index, np.array([0, 1])))


def test_what_counts_as_a_position_is_one() -> None:
    """Objects with __index__, alone and in slices."""
    check(counting(3, 4), One())
    check(counting(3, 4), (slice(One(), None), One()))
    check(counting(3, 4), (np.int8(-1), np.uint8(2)))


@pytest.mark.parametrize(
    "index",
    [
        [],
        (slice(None), []),
        np.zeros((0, 2), np.int64),
        (slice(0), [0, 1]),
        (None, [0, 1]),
        ([0, 1], None, [0, 1]),
        (slice(None), None, [0, 1]),
        (..., None),
    ],
)
def test_empty_lists_and_new_axes(index: object) -> None:
    """Their axes stand where NumPy has them."""
    check(counting(3, 4), index)


@pytest.mark.parametrize("bounds", [(-100, 4), (2, 100), (-100, -50), (3, 1)])
def test_slices_beside_lists_are_cut_to_the_axis(bounds: tuple[int, int]) -> None:
    """a[-100:4, [0, 1]] read beside the array."""
    check(counting(4, 5), (slice(*bounds), [0, 1]))
    check(counting(4, 5), ([0, 1], slice(*bounds)))


@pytest.mark.parametrize(
    "index", [(0, 0, 0), (..., ...), 1.0, "a", {}, (0, 1.5), 3, -4, [3], [[0], [4]], object()]
)
def test_what_is_refused_writes_nothing(index: object) -> None:
    """IndexError, TypeError or ValueError when reading, the same when writing."""
    held = Tensor(counting(3, 4)).realize()
    with pytest.raises((IndexError, TypeError, ValueError)):
        held[index]
    with pytest.raises((IndexError, TypeError, ValueError)):
        held[index] = 1.0
    np.testing.assert_array_equal(held.numpy(), counting(3, 4))


@pytest.mark.parametrize("value", [2.75, [2.75, -3.5], np.array([2.75, -3.5])])
def test_written_values_take_the_dtype_of_the_memory(value: object) -> None:
    """x_int[:2] = 2.75 truncates as NumPy and PyTorch do; only `assign` refuses."""
    held = Tensor([1, 2, 3]).realize()
    want = np.array([1, 2, 3])
    held[:2] = value
    want[:2] = value  # type: ignore[call-overload]
    assert held.tolist() == want.tolist()
    held[:2] = Tensor([9.9, -9.9])
    assert held.tolist() == [9, -9, 3]


def test_writes_of_other_ranks_spread() -> None:
    """Leading axes of size 1 are dropped, others are repeated."""
    for index, value in [
        (slice(None), np.array([1.0, 2, 3, 4])),
        ((slice(None), [0, 1]), np.array([[1.0], [2], [3]])),
        (0, np.array([[[7.0, 8, 9, 10]]])),
    ]:
        held, want = Tensor(counting(3, 4)).realize(), counting(3, 4)
        held[index], want[index] = value, value
        np.testing.assert_array_equal(held.numpy(), want)


def test_chained_writes_reach_the_memory_through_views_only() -> None:
    """x[1][2] = v writes x; x[[0, 1]][0] = v writes a copy."""
    held, want = Tensor(counting(3, 4)).realize(), counting(3, 4)
    for x in (held, want):
        x[1][2] = 9
        x[:, 1][0] = 4
        x[::2][1][:2] = 3
        x[[0, 1]][0] = 99
    np.testing.assert_array_equal(held.numpy(), want)
