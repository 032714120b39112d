"""Arrays of other libraries: NumPy's copy rules, operators, functions; images, tables, buffers."""

from __future__ import annotations

import array as arrays

import numpy as np
import pytest
from tg_tensor import Device, GlobalCounters, Tensor, TinyJit, dtypes
from tg_tensor.errors import DataError, ElementCountError, ExchangeError
from tg_tensor.jit.errors import JitError

# arrays are asked in ways that NumPy has from 2.1 on
pytest.importorskip("numpy", minversion="2.1")

# our names: those of ml_dtypes
NARROW = {
    "bfloat16": "bfloat16",
    "fp8e4m3": "float8_e4m3fn",
    "fp8e5m2": "float8_e5m2",
    "fp8e4m3fnuz": "float8_e4m3fnuz",
    "fp8e5m2fnuz": "float8_e5m2fnuz",
}
PLAIN = [np.dtype(c) for c in "?bBhHiIlLefd"]


def computed(values: object) -> Tensor:
    return Tensor(values).contiguous().realize()


# *** arrays of Tensors ***


@pytest.mark.parametrize("kind", PLAIN, ids=str)
def test_arrays_keep_values_and_dtypes(kind: np.dtype[np.generic]) -> None:
    given = np.array([[0, 1, 2], [3, 4, 5]]).astype(kind)
    x = Tensor(given)
    assert np.asarray(x).dtype == kind
    assert np.array_equal(np.asarray(x), given)
    assert np.array_equal(Tensor(given.T).numpy(), given.T)
    assert np.array_equal(Tensor(given[:, ::-2]).numpy(), given[:, ::-2])
    assert np.array_equal(Tensor(given.astype(kind.newbyteorder(">"))).numpy(), given)
    scalar = Tensor(given[1, 2])
    assert scalar.shape == ()
    assert scalar.item() == given[1, 2].item()


def test_copies_of_an_array_follow_the_rules_of_numpy() -> None:
    x = computed([[1.0, 2.0], [3.0, 4.0]])
    shared = np.asarray(x, copy=False)
    for copied in (np.asarray(x), np.array(x), np.asarray(x, copy=True), x.numpy()):
        assert not np.shares_memory(copied, shared)
        copied[0, 0] = 7
    shared[0, 0] = 9
    assert x.tolist() == [[9, 2], [3, 4]]
    assert np.asarray(x, dtype=np.int64).tolist() == [[9, 2], [3, 4]]
    turned = np.asarray(x.T[::-1], copy=False)
    assert np.shares_memory(turned, shared)
    assert turned.tolist() == [[2, 4], [9, 3]]


@pytest.mark.parametrize(
    "build",
    [
        lambda: Tensor.ones(3),
        lambda: computed([1.0, 2.0]).expand(3, 2),
        lambda: Tensor.arange(8).shard(("CPU:0", "CPU:1"), 0),
    ],
)
def test_what_is_not_in_memory_cannot_be_had_without_a_copy(build: object) -> None:
    x = build() if callable(build) else None
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(x, copy=False)
    assert np.asarray(x).tolist() == x.tolist() if x is not None else False


def test_a_conversion_is_a_copy() -> None:
    with pytest.raises(ExchangeError, match="takes a conversion"):
        np.asarray(computed([1.0]), dtype=np.float64, copy=False)


@pytest.mark.parametrize("name", NARROW)
def test_narrow_floats_both_ways(name: str) -> None:
    kind = np.dtype(getattr(pytest.importorskip("ml_dtypes"), NARROW[name]))
    given = np.array([0.5, -1.25, 3.0, 0.1]).astype(kind)
    x = Tensor(given)
    assert x.dtype is dtypes.from_name(name)
    assert x.tolist() == given.astype(np.float32).tolist()
    assert np.asarray(x).dtype == np.float32
    back = np.asarray(x, dtype=kind)
    assert back.dtype == kind
    assert back.tobytes() == given.tobytes()
    assert np.asarray(x.contiguous().realize(), dtype=kind, copy=False).tobytes() == given.tobytes()
    assert Tensor.from_dlpack(given).dtype is x.dtype


def test_reading_while_a_step_is_captured_is_refused() -> None:
    @TinyJit
    def step(x: Tensor) -> Tensor:
        np.asarray(x, copy=False)
        return (x + 1).realize()

    step(computed([1.0]))
    with pytest.raises(JitError):
        step(computed([1.0]))


# *** operators and functions of NumPy ***


def test_an_array_on_the_left_gives_a_tensor() -> None:
    x, left = Tensor([1.0, 2.0]), np.array([4.0, 8.0], np.float32)
    for made, expected in (
        (left + x, [5, 10]),
        (left - x, [3, 6]),
        (left * x, [4, 16]),
        (left / x, [4, 4]),
        (left // x, [4, 4]),
        (left % Tensor([3.0, 5.0]), [1, 3]),
        (left**x, [4, 64]),
        (left @ x, 20),
        (left == x, [False, False]),
        (left > x, [True, True]),
        (np.add(x, left), [5, 10]),
        (np.add(left, x), [5, 10]),
        (np.maximum(x, 1.5), [1.5, 2]),
        (np.sqrt(Tensor([4.0])), [2]),
        (np.cbrt(Tensor([8.0])), [2]),
        (np.float32(2) * x, [2, 4]),
        (np.int64(2) * x, [2, 4]),
    ):
        assert isinstance(made, Tensor)
        assert made.tolist() == pytest.approx(expected)
        if made.dtype is not dtypes.bool:
            assert made.dtype is dtypes.float32
    assert (np.array([6]) & Tensor([3])).tolist() == [2]
    assert (np.array([1]) << Tensor([3])).tolist() == [8]


def test_numpy_double_scalars_are_weak_on_either_side() -> None:
    x = Tensor([1.0, 2.0])
    assert (np.float64(2) * x).dtype is (x * np.float64(2)).dtype is dtypes.float32


def test_results_go_where_out_says() -> None:
    x, target = Tensor([1.0, 2.0]), np.zeros(2)
    same = target
    target += x
    assert target is same
    assert target.tolist() == [1, 2]
    into = computed([0.0, 0.0])
    assert np.add(x, x, out=into) is into
    assert into.tolist() == [2, 4]


def test_other_functions_of_numpy_give_arrays() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.sum(x) == 10
    assert np.mean(x, axis=0).tolist() == [2, 3]
    assert np.concatenate([x, x]).shape == (4, 2)
    assert np.allclose(x, x)
    assert np.add.reduce(x).tolist() == [4, 6]
    np.testing.assert_allclose(x, [[1, 2], [3, 4]])
    assert np.array([Tensor(1), Tensor(2)]).tolist() == [1, 2]
    assert np.arange(10)[Tensor([2, 5])].tolist() == [2, 5]
    values = np.zeros(3)
    values[1:] = Tensor([1.0, 2.0])
    assert values.tolist() == [0, 1, 2]


# *** Tensors of other things ***


def test_buffers_and_interfaces() -> None:
    class Offer:
        def __init__(self) -> None:
            self.kept = np.array([[1, 2]], np.int16)
            self.__array_interface__ = self.kept.__array_interface__

    assert Tensor(Offer()).dtype is dtypes.int16
    assert Tensor(arrays.array("d", [1, 2])).tolist() == [1, 2]
    assert Tensor(arrays.array("d", [1, 2])).dtype is dtypes.float64
    assert Tensor(b"\x01\x02").tolist() == [1, 2]
    assert Tensor(range(1, 4)).tolist() == [1, 2, 3]
    assert Tensor([Tensor([1, 2]), Tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]


def test_images() -> None:
    image = pytest.importorskip("PIL.Image").new("RGB", (3, 2), (1, 2, 3))
    x = Tensor(image)
    assert (x.shape, x.dtype) == ((2, 3, 3), dtypes.uint8)
    assert x[0, 0].tolist() == [1, 2, 3]


def test_tables() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    assert Tensor(frame).tolist() == [[1, 3], [2, 4]]
    assert Tensor(frame["b"]).tolist() == [3, 4]
    with pytest.raises(DataError, match="no such dtype"):
        Tensor(pandas.Series(["x", "y"], dtype=object))


@pytest.mark.parametrize(
    "value", [np.array([1j]), np.array(["a"]), np.array([None]), np.array(["2020"], "M8[Y]")]
)
def test_elements_without_a_dtype_are_refused(value: object) -> None:
    with pytest.raises(DataError, match="no such dtype"):
        Tensor(value)


# *** Python ***


def test_single_elements() -> None:
    x = Tensor([[1, 2], [3, 4]])
    assert (x.item(1, 0), x.item(3), Tensor([5, 6]).item(-1)) == (3, 4, 6)
    assert complex(Tensor(1.5)) == 1.5
    assert f"{Tensor([1.5]):.2f}" == "1.50"
    assert f"{Tensor(3):03d}" == "003"
    with pytest.raises(ElementCountError, match="one element"):
        f"{x:.2f}"
    with pytest.raises(ElementCountError):
        complex(x)
    with pytest.raises(TypeError, match="no index"):
        range(Tensor(1.0))  # type: ignore[arg-type]


def test_walking_and_asking() -> None:
    x = Tensor([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert [row.tolist() for row in reversed(x)] == [[3, 4], [1, 2]]
    assert 4 in x
    assert 5 not in x
    assert {x: 1}[x] == 1
    for ask in (len, iter, reversed):
        with pytest.raises(TypeError, match="without axes"):
            ask(Tensor(1))  # type: ignore[call-overload]
    assert len({Tensor(1), Tensor(1)}) == 2


def test_operators_of_python() -> None:
    x = Tensor([-1.5, 2.5])
    assert abs(x).tolist() == [1.5, 2.5]
    assert (+x).tolist() == [-1.5, 2.5]
    assert [part.tolist() for part in divmod(Tensor([7, -7]), 2)] == [[3, -4], [1, 1]]
    assert [part.tolist() for part in divmod(7, Tensor([2, -2]))] == [[3, -4], [1, -1]]
    square = Tensor([[1.0, 2.0], [3.0, 4.0]])
    same = square
    square @= Tensor([[0.0, 1.0], [1.0, 0.0]])
    assert square is same
    assert square.tolist() == [[2, 1], [4, 3]]


def test_showing_runs_nothing() -> None:
    GlobalCounters.reset()
    x = Tensor([1.0]) + 1
    assert "lazy ADD" in repr(x)
    assert x._repr_html_() == f"<code>{repr(x).replace('<', '&lt;').replace('>', '&gt;')}</code>"
    assert f"{x}" == str(x) == repr(x)
    assert GlobalCounters.kernel_count == 0


def test_a_memoryview_sees_later_writes() -> None:
    x = computed([[1.0, 2.0]])
    view = x.data()
    assert (view.shape, view.format) == ((1, 2), "f")
    x.assign(x * 2).realize()
    Device["CPU"].synchronize()
    assert view.tolist() == [[2, 4]]
