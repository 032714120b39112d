"""Shared memory: DLPack both ways and its lifetimes, addresses, copies, pickles."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor, Variable, dtypes
from tg_tensor.errors import AssignError, ExchangeError, ExportError
from tg_tensor.interop.dlpack import _fields, _Tensor, _Versioned
from tg_uop.errors import ArgumentTypeError

# arrays are asked in ways that NumPy has from 2.1 on
pytest.importorskip("numpy", minversion="2.1")

COPIED, READ_ONLY = 2, 1


def computed(values: object) -> Tensor:
    return Tensor(values).contiguous().realize()


class Foreign:
    """An array of a library that is not NumPy."""

    def __init__(self, array: np.ndarray) -> None:  # type: ignore[type-arg]
        self._array = array

    def __dlpack__(self, **wishes: object) -> object:
        return self._array.__dlpack__(**wishes)  # type: ignore[misc, call-arg]

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Owner(np.ndarray):  # type: ignore[type-arg]
    """An array that can be watched."""


def watched(values: object) -> tuple[Owner, weakref.ref[Owner]]:
    owner = np.array(values, np.float32).view(Owner)
    return owner, weakref.ref(owner)


# *** out ***


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "half", "float32", "double"])
def test_a_capsule_shares_the_memory(dtype: str) -> None:
    x = computed([[0, 1], [1, 0]]).cast(dtype).realize()
    seen = np.from_dlpack(x)
    assert seen.dtype == x.numpy().dtype
    assert np.shares_memory(seen, np.asarray(x, copy=False))
    assert np.from_dlpack(x.T).strides == seen.T.strides
    assert np.from_dlpack(x[1:]).tolist() == x[1:].tolist()
    assert np.from_dlpack(Tensor.empty(0, 3, dtype=dtype)).shape == (0, 3)
    assert np.from_dlpack(x[0, 0]).shape == ()


def test_capsules_with_and_without_a_version() -> None:
    x = computed([1.0, 2.0])
    capsules = x.__dlpack__(), x.__dlpack__(max_version=(1, 0))
    plain, versioned = map(_fields, capsules)
    assert isinstance(plain, _Tensor)
    assert isinstance(versioned, _Versioned)
    assert (versioned.major, versioned.flags) == (1, 0)
    assert x.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize(
    ("dtype", "code", "bits"),
    [
        (dtypes.bfloat16, 4, 16),
        (dtypes.fp8e4m3, 10, 8),
        (dtypes.fp8e4m3fnuz, 11, 8),
        (dtypes.fp8e5m2, 12, 8),
        (dtypes.fp8e5m2fnuz, 13, 8),
    ],
)
def test_narrow_floats_have_their_codes(dtype: object, code: int, bits: int) -> None:
    x = computed([1.0, 0.5]).cast(dtype).realize()  # type: ignore[arg-type]
    capsule = x.__dlpack__(max_version=(1, 0))
    found = _fields(capsule)
    assert isinstance(found, _Versioned)
    assert (found.tensor.code, found.tensor.bits, found.tensor.lanes) == (code, bits, 1)
    back = Tensor.from_dlpack(x)
    assert back.dtype is dtype
    assert back.tolist() == [1, 0.5]


def test_copies_are_made_and_marked_as_asked() -> None:
    x = computed([1.0, 2.0])
    made = x.__dlpack__(max_version=(1, 0), copy=True)
    found = _fields(made)
    assert isinstance(found, _Versioned)
    assert found.flags & COPIED
    copied = np.from_dlpack(x, copy=True)
    copied[0] = 9
    assert x.tolist() == [1, 2]
    for build in (lambda: Tensor.ones(2), lambda: x[::-1], lambda: x.expand(2, 2)):
        assert np.from_dlpack(build()).tolist() == build().tolist()
        with pytest.raises(BufferError, match="without a copy"):
            np.from_dlpack(build(), copy=False)


def test_other_devices_and_streams_are_refused() -> None:
    x = Tensor([1.0])
    with pytest.raises(BufferError, match="was asked for"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="no stream"):
        x.__dlpack__(stream=1)
    assert np.from_dlpack(x, device="cpu").tolist() == [1]


def test_the_memory_lives_as_long_as_its_consumer() -> None:
    x = computed(np.arange(100, dtype=np.float32))
    seen = np.from_dlpack(x)
    del x
    gc.collect()
    other = computed(np.zeros(100, np.float32))
    assert seen.tolist() == list(range(100))
    assert other.tolist() == [0] * 100


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_that_nobody_takes_lets_go(version: tuple[int, int] | None) -> None:
    owner, alive = watched([1, 2])
    x = Tensor.from_dlpack(owner)
    capsule = x.__dlpack__(max_version=version)
    del owner, x
    gc.collect()
    assert alive() is not None
    del capsule
    gc.collect()
    assert alive() is None


def test_a_consumer_that_fails_keeps_its_own_error() -> None:
    # NumPy has no bfloat16: the capsule goes while that error is raised
    for _ in range(3):
        with pytest.raises((RuntimeError, BufferError), match="nsupported"):
            np.from_dlpack(Tensor([1.0]).bfloat16())


@pytest.mark.parametrize("name", ["bool", "int8", "uint16", "int64", "half", "float", "double"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0)])
def test_the_memory_as_a_memoryview(name: str, shape: tuple[int, ...]) -> None:
    x = Tensor.ones(*shape, dtype=name).contiguous().realize()
    view = x.data()
    assert view.shape == shape
    assert np.asarray(view).dtype == x.numpy().dtype
    assert np.asarray(view).tolist() == x.tolist()
    assert view.nbytes == x.nbytes()


# *** in ***


def test_memory_that_comes_in_is_shared_and_kept() -> None:
    owner, alive = watched([[1, 2, 3], [4, 5, 6]])
    x = Tensor.from_dlpack(owner)
    owner[0, 0] = 9
    assert x.tolist() == [[9, 2, 3], [4, 5, 6]]
    view = x.T
    del owner, x
    gc.collect()
    assert view.tolist() == [[9, 4], [2, 5], [3, 6]]
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "see", [lambda a: a, lambda a: a.T, lambda a: a[::-1], lambda a: a[0, ::-1]]
)
def test_any_order_of_axes_is_shared(see: object) -> None:
    given = see(np.arange(6.0).reshape(2, 3)) if callable(see) else None
    assert given is not None
    x = Tensor.from_dlpack(given, copy=False)
    assert np.array_equal(x.numpy(), given)
    given[0] = 7
    assert np.array_equal(x.numpy(), given)


def test_gaps_take_a_copy() -> None:
    given = np.arange(6.0).reshape(2, 3)[:, :2]
    assert Tensor.from_dlpack(given).tolist() == [[0, 1], [3, 4]]
    with pytest.raises(BufferError, match="gaps"):
        Tensor.from_dlpack(given, copy=False)
    copied = Tensor.from_dlpack(given, copy=True)
    given[:] = 0
    assert copied.tolist() == [[0, 1], [3, 4]]


def test_memory_lent_for_reading_is_not_written() -> None:
    given = np.array([1.0, 2.0])
    given.flags.writeable = False
    x = Tensor.from_dlpack(given)
    assert (x * 2).tolist() == [2, 4]
    with pytest.raises(AssignError, match="for reading only"):
        x.assign(x + 1)
    with pytest.raises(AssignError, match="for reading only"):
        x[0] = 5
    assert not np.from_dlpack(x).flags.writeable
    assert given.tolist() == [1, 2]
    own = x.clone()
    assert own.assign(own + 1).tolist() == [2, 3]


def test_exporters_from_before_versions() -> None:
    class Old:
        def __init__(self) -> None:
            self.kept = np.array([1.0, 2.0])

        def __dlpack__(self, stream: object = None) -> object:
            return self.kept.__dlpack__()  # type: ignore[misc]

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    assert Tensor.from_dlpack(Old()).tolist() == [1, 2]
    assert Tensor(Old()).tolist() == [1, 2]
    assert Tensor.from_dlpack(Old(), copy=True).tolist() == [1, 2]
    lender = Old()
    x = Tensor.from_dlpack(lender)
    x.assign(x + 1).realize()
    assert x.tolist() == lender.kept.tolist() == [2, 3]


def test_memory_of_other_devices_is_refused() -> None:
    class Far:
        def __dlpack__(self, stream: object = None) -> object:
            raise AssertionError("nobody asks")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    with pytest.raises(BufferError, match="device kind 2"):
        Tensor.from_dlpack(Far())


@pytest.mark.parametrize("wrap", [np.asarray, Foreign])
def test_complex_numbers_are_refused(wrap: Callable[[object], object]) -> None:
    with pytest.raises(BufferError, match="no such dtype"):
        Tensor.from_dlpack(wrap(np.array([1j])))  # type: ignore[arg-type]


def test_a_capsule_alone_is_taken_once() -> None:
    array = np.arange(3.0)
    for capsule in (array.__dlpack__(), array.__dlpack__(max_version=(1, 0))):
        x = Tensor.from_dlpack(capsule)
        array += 1
        assert x.tolist() == array.tolist()
        with pytest.raises(ExchangeError, match="used"):
            Tensor.from_dlpack(capsule)


@pytest.mark.parametrize("value", [[1, 2], None, 3.0, "x"])
def test_what_offers_no_memory_is_refused(value: object) -> None:
    with pytest.raises(ArgumentTypeError, match=r"offers no memory.*Tensor\(values\)"):
        Tensor.from_dlpack(value)  # type: ignore[arg-type]


# *** addresses ***


def test_memory_at_an_address() -> None:
    given, alive = watched([1, 2, 3, 4])
    x = Tensor.from_blob(given.ctypes.data, (2, 2), dtype="float32", owner=given)
    given[3] = 9
    assert x.tolist() == [[1, 2], [3, 9]]
    x.assign(x + 1).realize()
    assert x.tolist() == [[2, 3], [4, 10]]
    del given
    gc.collect()
    assert alive() is not None
    assert x.tolist() == [[2, 3], [4, 10]]
    del x
    gc.collect()
    assert alive() is None
    assert Tensor.from_blob(0, (0, 2)).shape == (0, 2)


@pytest.mark.parametrize(
    ("address", "shape", "reason"),
    [
        (0, (2,), "no memory"),
        (3, (2,), "no multiple"),
        (-8, (2,), "no multiple"),
        (64, (-1,), "sizes"),
        (64, (1.5,), "sizes"),
        ("64", (1,), "an integer"),
    ],
)
def test_addresses_that_cannot_be(address: int, shape: tuple[int, ...], reason: str) -> None:
    with pytest.raises(ExchangeError, match=reason):
        Tensor.from_blob(address, shape)
    with pytest.raises(TypeError, match="takes dtype"):
        Tensor.from_blob(64, (1,), kind=1)


# *** copies and pickles ***


@pytest.mark.parametrize(
    "build",
    [
        lambda: Tensor([1.0, 2.0]).bfloat16(),
        lambda: Tensor([1.0, 2.0]).cast(dtypes.fp8e4m3),
        lambda: Tensor([True, False]),
        lambda: Tensor.zeros(0, 3),
        lambda: Tensor.ones(2, 2),
        lambda: Tensor(5),
        lambda: Tensor([1.0, 2.0], requires_grad=True),
        lambda: Tensor([1.0, 2.0]) + 1,
        lambda: Tensor([[1, 2], [3, 4]]).T[::-1],
        lambda: Tensor.arange(7).shard(("CPU:0", "CPU:1"), 0),
        lambda: Tensor.arange(3).shard(("CPU:0", "CPU:1")),
    ],
)
def test_copies_and_pickles_keep_what_a_tensor_is(build: object) -> None:
    x = build() if callable(build) else Tensor(0)
    for made in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert made is not x
        assert (made.shape, made.dtype, made.device) == (x.shape, x.dtype, x.device)
        assert made.requires_grad == x.requires_grad
        assert made.uop.axis == x.uop.axis
        assert made.tolist() == x.tolist()


def test_a_copy_is_independent() -> None:
    x = computed([1.0, 2.0])
    made = [copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))]
    x.assign(x * 10).realize()
    assert [m.tolist() for m in made] == [[1, 2]] * 3
    made[0].assign(made[0] * 0).realize()
    assert x.tolist() == [10, 20]


def test_a_copy_of_a_weight_has_its_own_gradient() -> None:
    weight = Tensor([1.0, 2.0], requires_grad=True)
    (weight * 3).sum().backward()
    made = copy.deepcopy({"a": weight, "b": weight})
    assert made["a"] is made["b"]
    assert made["a"].grad is not None
    assert made["a"].grad.tolist() == [3, 3]
    made["a"].grad = None
    (made["a"] * 2).sum().backward()
    assert made["a"].grad.tolist() == [2, 2]
    assert weight.grad is not None
    assert weight.grad.tolist() == [3, 3]


def test_a_shape_with_a_variable_is_not_pickled() -> None:
    size = Variable("size", 1, 4).bind(2)
    x = computed([1.0, 2.0, 3.0, 4.0])[:size]
    with pytest.raises(ExportError, match="depends on a variable"):
        pickle.dumps(x)
