"""Writes in place, as people reported them: what is read before and after, through which view."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit


def counting(*shape: int) -> np.ndarray:
    """0, 1, 2 ... in float32."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("realized", [True, False])
@pytest.mark.parametrize("operation", ["+=", "-=", "*=", "/=", "="])
def test_in_place_arithmetic_on_a_slice_happens_once(operation: str, realized: bool) -> None:
    """`t[:3] *= 10` reads, multiplies and writes back; it does not do so twice."""
    data = counting(6) + 1
    x = Tensor(data.copy())
    if realized:
        x = x.realize()
    for target in (x, data):
        match operation:
            case "+=":
                target[:3] += 10
            case "-=":
                target[:3] -= 10
            case "*=":
                target[:3] *= 10
            case "/=":
                target[:3] /= 4
            case _:
                target[:3] = 10
    assert np.array_equal(x.numpy(), data)


def test_adding_rows_picked_by_an_index_doubles_them_once() -> None:
    """`y[i] += y[i]` with i computed: twice the row, not four times."""
    data = counting(2, 5)
    y = Tensor(data.copy()).realize()
    index = Tensor([[-10, -10]]) + 10
    y[index] += y[index]
    data[0] *= 2
    assert np.array_equal(y.numpy(), data)


def test_a_reader_from_before_keeps_the_value_from_before() -> None:
    """Writing through a view does not change what was computed of the whole."""
    x = Tensor(counting(2, 4)).realize()
    total, view, double = x.sum(), x[1], x * 2
    view.assign(Tensor.zeros(4))
    after = x.sum()
    x.realize()
    assert total.item() == 28.0
    assert double.tolist() == (counting(2, 4) * 2).tolist()
    assert after.item() == 6.0


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[1],
        lambda x: x[:, 1],
        lambda x: x[::2],
        lambda x: x[::-1],
        lambda x: x[:, ::-2],
        lambda x: x.T[1:],
        lambda x: x.flip(0)[1:, :2],
        lambda x: x.reshape(2, 6)[:, 1:],
        lambda x: x.permute(1, 0).flip(1)[::2, 1:],
        lambda x: x[1, 2:3],
        lambda x: x[None, 1:2, ...],
    ],
)
def test_writes_through_a_view_of_memory_reach_that_memory(view) -> None:
    """Slices, steps backwards, transposes and flips of a realized Tensor are views."""
    x = Tensor(counting(3, 4)).realize()
    part = view(x)
    want = counting(3, 4)
    places = view_of_numpy(view, want)
    places[...] = -1
    part.assign(Tensor.full(part.shape, -1.0)).realize()
    assert np.array_equal(x.numpy(), want)


def view_of_numpy(view, array: np.ndarray) -> np.ndarray:
    """The same view of an array, whose flip and permute have NumPy's names."""

    class Mirror(np.ndarray):
        def flip(self, axis: int) -> np.ndarray:
            return np.flip(self, axis).view(Mirror)

        def permute(self, *order: int) -> np.ndarray:
            return self.transpose(*order).view(Mirror)

    return view(array.view(Mirror))


@pytest.mark.parametrize("shift", [-3, -1, 1, 2])
@pytest.mark.parametrize("size", [4, 9, 64])
def test_overlapping_copies_read_first(size: int, shift: int) -> None:
    """x[a:] = x[:b] moves the elements as if they had been copied before."""
    data = counting(size)
    x = Tensor(data.copy()).realize()
    kept = size - abs(shift)
    source, target = slice(0, kept), slice(size - kept, size)
    if shift < 0:
        source, target = target, source
    x[target] = x[source]
    data[target] = data[source].copy()
    assert np.array_equal(x.numpy(), data)


def test_rows_are_swapped_by_one_tuple_assignment() -> None:
    """Both right sides are read before either left side is written."""
    x = Tensor(counting(3, 4)).realize()
    x[0], x[2] = x[2], x[0]
    assert np.array_equal(x.numpy(), counting(3, 4)[[2, 1, 0]])
    x[[0, 1]] = x[[1, 0]]
    assert np.array_equal(x.numpy(), counting(3, 4)[[1, 2, 0]])


def test_reversing_in_place_reverses() -> None:
    """The mirror image of a Tensor written over it."""
    x = Tensor(counting(7)).realize()
    x.assign(x.flip(0))
    assert x.tolist() == [6, 5, 4, 3, 2, 1, 0]
    x[:] = x[::-1]
    assert x.tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_the_transpose_is_written_over_a_square() -> None:
    """Every element is read at another place than it is written."""
    x = Tensor(counting(16, 16)).realize()
    x.assign(x.T)
    assert np.array_equal(x.numpy(), counting(16, 16).T)


def test_many_writes_in_a_loop_keep_their_order() -> None:
    """Later writes win, each reads what those before it left."""
    x = Tensor.zeros(6).contiguous().realize()
    want = np.zeros(6, np.float32)
    for step in range(12):
        x[step % 6] = x[(step + 1) % 6] + step
        want[step % 6] = want[(step + 1) % 6] + step
    assert np.array_equal(x.numpy(), want)


def test_two_names_of_one_tensor_see_the_same_writes() -> None:
    """Another name is no copy; clone() is."""
    x = Tensor(counting(4)).realize()
    same, copy = x, x.clone().realize()
    same[0] = 9
    assert x.tolist()[0] == 9.0
    assert copy.tolist()[0] == 0.0


def test_a_clone_made_before_a_write_is_not_written() -> None:
    """Also where the clone is still lazy."""
    x = Tensor(counting(4)).realize()
    copy = x.clone()
    x += 100
    assert copy.tolist() == [0, 1, 2, 3]
    assert x.tolist() == [100, 101, 102, 103]


def test_detached_values_share_memory_and_contiguous_ones_may_not_be_changed_later() -> None:
    """detach() is the same memory; a sum built before is that of before."""
    x = Tensor(counting(4)).realize()
    before = x.detach() + 0
    x.assign(x * 0)
    assert before.tolist() == [0, 1, 2, 3]


def test_expanded_sources_fill_and_expanded_targets_are_refused() -> None:
    """One value into many places works; many values into one place is an error."""
    x = Tensor(counting(3, 4)).realize()
    x[1:] = Tensor([7.0, 8, 9, 10])
    assert x.numpy()[1:].tolist() == [[7, 8, 9, 10]] * 2
    with pytest.raises(ValueError, match="expanded"):
        Tensor(counting(1, 4)).realize().expand(3, 4).assign(Tensor.zeros(3, 4)).realize()


@pytest.mark.parametrize("value", [np.float64(2.5), 3, True, np.int8(-4), [1.5]])
def test_values_of_other_dtypes_are_cast_to_that_of_the_target(value) -> None:
    """The dtype of the memory stays."""
    x = Tensor.zeros(3, dtype="int32").contiguous().realize()
    want = np.zeros(3, np.int32)
    x[1:2] = value
    want[1:2] = value
    assert x.dtype.name in {"int", "int32"}
    assert np.array_equal(x.numpy(), want)


def test_shapes_that_do_not_fit_are_refused_with_both_shapes() -> None:
    """Nothing is written."""
    x = Tensor(counting(3, 4)).realize()
    with pytest.raises(ValueError, match=r"3.*4|4.*3"):
        x[0] = Tensor([1.0, 2, 3])
    with pytest.raises(ValueError, match=r"\(3, 4\)"):
        x.assign(Tensor.zeros(4, 3))
    assert np.array_equal(x.numpy(), counting(3, 4))


def test_an_average_kept_in_place_over_many_steps() -> None:
    """The running mean of a training loop, realized only at the end."""
    mean = Tensor.zeros(3).contiguous().realize()
    want = np.zeros(3)
    for step in range(20):
        mean.assign(0.9 * mean + 0.1 * Tensor([step, 2.0 * step, -1.0]))
        want = 0.9 * want + 0.1 * np.array([step, 2.0 * step, -1.0])
    assert np.allclose(mean.numpy(), want, rtol=1e-5)


def test_writes_under_different_branches_of_one_graph() -> None:
    """Two values of one memory at different times, used together."""
    x = Tensor(counting(4)).realize()
    first = x + 1
    x += 10
    second = x + 1
    x += 10
    assert (second - first).tolist() == [10.0] * 4
    assert x.tolist() == [20, 21, 22, 23]


def test_a_cache_of_keys_grows_by_slices() -> None:
    """Positions written one after the other, read back as a prefix each time."""
    cache = Tensor.zeros(2, 1, 8, 3).contiguous().realize()
    want = np.zeros((2, 1, 8, 3), np.float32)
    for start in range(0, 8, 2):
        block = counting(2, 1, 2, 3) + start
        cache[:, :, start : start + 2] = Tensor(block)
        want[:, :, start : start + 2] = block
        seen = cache[:, :, : start + 2].sum()
        assert seen.item() == want[:, :, : start + 2].sum()


@pytest.mark.parametrize("mask", [[True, False, True], [False, False, False], [True, True, True]])
def test_masked_writes_touch_only_what_the_mask_names(mask: list[bool]) -> None:
    """Scalars, and as many values as the mask has places."""
    data = counting(3, 2)
    x = Tensor(data.copy()).realize()
    x[Tensor(mask)] = -5.0
    data[np.array(mask)] = -5.0
    assert np.array_equal(x.numpy(), data)
    x[x < 0] = 1.5
    data[data < 0] = 1.5
    assert np.array_equal(x.numpy(), data)


def test_zero_elements_may_be_written() -> None:
    """Empty slices and empty indices write nothing."""
    x = Tensor(counting(3)).realize()
    x[3:] = 5.0
    x[1:1] = Tensor.zeros(0)
    x[Tensor([], dtype="int32")] = 9.0
    assert x.tolist() == [0, 1, 2]


def test_bitcast_views_write_the_same_bytes() -> None:
    """The bits of 1.0 written as integers."""
    x = Tensor([0.0, 2.0]).realize()
    x.bitcast("int32").assign(Tensor([0x3F800000, 0x40400000])).realize()
    assert x.tolist() == [1.0, 3.0]


def test_dropping_the_result_of_a_write_does_not_drop_the_write() -> None:
    """assign() without keeping what it returns."""
    x = Tensor(counting(3)).realize()
    x.assign(x + 1)
    y = x * 2
    del x
    assert y.tolist() == [2, 4, 6]


def test_a_view_without_elements_repeats_none() -> None:
    base = Tensor(np.ones((1, 3))).realize()
    nothing = base.expand(0, 3)
    nothing.assign(nothing * 2)
    np.testing.assert_array_equal(base.numpy(), np.ones((1, 3)))


def test_a_write_to_an_equal_value_leaves_the_first_its_memory() -> None:
    whole = Tensor(np.arange(4)).realize()
    equal = whole.floor()
    part = equal[1:3]
    part.assign(part * 10)
    whole[0] = 7
    np.testing.assert_array_equal(whole.numpy(), [7, 1, 2, 3])
    np.testing.assert_array_equal(equal.numpy(), [0, 10, 20, 3])
    np.testing.assert_array_equal(part.numpy(), [10, 20])


def test_a_captured_step_writes_to_an_equal_value() -> None:
    def reversed_in_place(x: Tensor) -> Tensor:
        equal = x.floor()
        return equal.assign(equal.flip(0))

    step = TinyJit(reversed_in_place)
    for i in range(4):
        x = Tensor(np.arange(4) + i).realize()
        found = step(x)
        np.testing.assert_array_equal(x.numpy(), np.arange(4) + i)
        np.testing.assert_array_equal(found.numpy(), np.arange(4)[::-1] + i)


def test_repeated_and_rolled_values_are_written_without_their_source() -> None:
    source = Tensor(np.arange(3)).realize()
    for value in (source.repeat(2), source.roll(1), source.reshape(1, 3).repeat(2, 1)):
        value.assign(value * 0 + 5)
        np.testing.assert_array_equal(value.numpy(), np.full(value.shape, 5))
    np.testing.assert_array_equal(source.numpy(), [0, 1, 2])


def test_an_equal_value_of_repeated_elements_can_be_written() -> None:
    source = Tensor(np.array(True)).realize()
    equal = source.reshape(1).expand(2).abs()
    equal.assign(Tensor([False, True]))
    np.testing.assert_array_equal(equal.numpy(), [False, True])
    assert source.item() is True
