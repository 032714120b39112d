"""TinyJit: what may be an argument, and what of it is part of the captured step."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy as np
import pytest
from tg_tensor import Context, Tensor, TinyJit, Variable
from tg_tensor.jit.errors import ContainerError, JitError
from tg_uop.errors import ShapeError

RANDOM = np.random.default_rng(0)


def T(*shape: int) -> Tensor:
    return Tensor(RANDOM.standard_normal(shape).astype(np.float32)).realize()


def same(found: Tensor, expected: object) -> None:
    np.testing.assert_allclose(found.numpy(), np.asarray(expected), rtol=1e-5, atol=1e-5)


Pair = collections.namedtuple("Pair", "x y")


@dataclasses.dataclass
class Record:
    a: Any
    b: Any = None
    n: int = 0


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    n: int = 0


def test_containers_of_every_kind() -> None:
    @TinyJit
    def f(d: Record, p: Pair, many: list[Any], named: dict[str, Any]) -> dict[str, Any]:
        return {
            "sum": (d.a + d.b + d.n).realize(),
            "pair": Pair((p.x * 2).realize(), p.y),
            "list": [(many[0] + many[1][0]).realize(), None, 3, "text"],
            "record": Record((named["k"]["j"] + 1).realize(), None, 5),
        }

    results = []
    for _ in range(5):
        a, b, x, y, u, v, w = (T(3) for _ in range(7))
        found = f(Record(a, b, 2), Pair(x, y), [u, (v,)], {"k": {"j": w}})
        same(found["sum"], a.numpy() + b.numpy() + 2)
        same(found["pair"].x, x.numpy() * 2)
        same(found["pair"].y, y.numpy())
        same(found["list"][0], u.numpy() + v.numpy())
        assert found["list"][1:] == [None, 3, "text"]
        assert isinstance(found["record"], Record)
        same(found["record"].a, w.numpy() + 1)
        found["list"].append("changed by the caller")
        results.append(found)
    assert len({id(found["record"]) for found in results}) == 5
    assert len(f._steps) == 1


@pytest.mark.parametrize("kind", [Record, Frozen])
def test_fields_of_dataclasses_are_guarded(kind: Any) -> None:
    traced = []

    @TinyJit
    def f(d: Any) -> Any:
        traced.append(1)
        return kind((d.a * d.n).realize(), n=7)

    for n in (1, 1, 1, 2, 2, 3, 1):
        a = T(3)
        found = f(kind(a, n=n))
        same(found.a, a.numpy() * n)
        assert found.n == 7
    # the first call, and one capture for each n
    assert len(traced) == 4


def test_constants_are_told_apart_by_type_and_sign() -> None:
    @TinyJit
    def f(x: Tensor, k: Any) -> Tensor:
        return (x * 0 + (1 / k if k else (-1 if str(k)[0] == "-" else 1))).realize()

    @TinyJit
    def kind(x: Tensor, k: Any) -> tuple[Tensor, str]:
        return (x + 0).realize(), type(k).__name__

    for k in (2, 2, 2, 4, 0.0, -0.0, 0.0):
        expected = 1 / k if k else (-1 if str(k)[0] == "-" else 1)
        same(f(T(2), k), [expected] * 2)
    for k in (1, 1, 1, 1.0, True, None, "1"):
        assert kind(T(2), k)[1] == type(k).__name__


def test_keyword_and_default_arguments() -> None:
    @TinyJit
    def f(a: Tensor, b: Tensor | None = None, *, c: int = 2) -> Tensor:
        return ((a if b is None else a - b) * c).realize()

    for _ in range(3):
        a, b = T(3), T(3)
        difference = a.numpy() - b.numpy()
        same(f(a=a, b=b), difference * 2)
        same(f(b=b, a=a), difference * 2)
        same(f(a, b), difference * 2)
        same(f(a, b, c=3), difference * 3)
        same(f(a), a.numpy() * 2)


def test_aliases_are_guarded_both_ways() -> None:
    for shared_first in (False, True):

        @TinyJit
        def f(values: list[Tensor]) -> Tensor:
            return (values[0] * 2 + values[1]).realize()

        for shared in [shared_first] * 3 + [not shared_first] * 3 + [shared_first]:
            x = T(3)
            y = x if shared else T(3)
            same(f([x, y]), x.numpy() * 2 + y.numpy())


def test_slices_of_one_size_share_a_step() -> None:
    @TinyJit
    def f(a: Tensor) -> Tensor:
        return (a + 1).realize()

    base = T(40, 8)
    for i in range(38):
        same(f(base[i : i + 2]), base.numpy()[i : i + 2] + 1)
    same(f(T(2, 8) * 0), np.ones((2, 8)))
    assert len(f._steps) == 1


def test_slices_that_overlap_are_told_apart_from_those_that_do_not() -> None:
    @TinyJit
    def f(a: Tensor, b: Tensor) -> Tensor:
        a.assign(a + b)
        return (a * 1).realize()

    for i, j in [(0, 4)] * 3 + [(1, 5), (6, 0)]:
        base = T(10)
        expected = base.numpy().copy()
        expected[i : i + 3] = base.numpy()[i : i + 3] + base.numpy()[j : j + 3]
        same(f(base[i : i + 3], base[j : j + 3]), expected[i : i + 3])
        same(base, expected)
    base = T(10)
    with pytest.raises(JitError, match="another value afterwards"):
        f(base[0:3], base[2:5])


def test_written_slices_spare_readers_and_show_in_the_whole() -> None:
    @TinyJit
    def f(a: Tensor) -> None:
        a.assign(a * 10).realize()

    base = Tensor(np.arange(8, dtype=np.float32)).realize()
    expected = np.arange(8, dtype=np.float32)
    for i in range(6):
        lazy, before = base + 1, expected.copy()
        f(base[i : i + 2])
        expected[i : i + 2] *= 10
        same(base, expected)
        same(lazy, before + 1)


def test_views_of_other_kinds_are_guarded_by_their_layout() -> None:
    @TinyJit
    def f(a: Tensor) -> Tensor:
        return (a + 1).realize()

    base = T(6, 6)
    array = base.numpy()
    for _ in range(2):
        same(f(base), array + 1)
        same(f(base.T), array.T + 1)
        same(f(base.flip(0)), array[::-1] + 1)
        same(f(base[0].expand(6, 6)), np.broadcast_to(array[0], (6, 6)) + 1)
        same(f(Tensor.ones(6, 6)), np.full((6, 6), 2.0))
        same(f(base * 2), array * 2 + 1)


def test_arguments_that_move_in_ways_of_their_own_are_refused_in_the_end() -> None:
    @TinyJit
    def f(a: Tensor) -> Tensor:
        return (a + 1).realize()

    base = T(4, 40)

    def run() -> None:
        for i in range(30):
            same(f(base[:, i : i + 2]), base.numpy()[:, i : i + 2] + 1)

    with pytest.raises(JitError, match="contiguous"):
        run()


def test_arrays_are_guarded_by_content() -> None:
    @TinyJit
    def f(a: Tensor, n: np.ndarray[Any, Any]) -> Tensor:
        return (a + Tensor(n)).realize()

    n = np.ones(3, np.float32)
    for value in (1, 1, 1, 2, 2, 1):
        x = T(3)
        n[:] = value
        same(f(x, n), x.numpy() + value)


def test_objects_without_hash_are_the_same_only_if_they_are() -> None:
    class Plain:
        __hash__ = None  # type: ignore[assignment]

        def __init__(self, k: int) -> None:
            self.k = k

    @TinyJit
    def f(x: Tensor, p: Plain) -> Tensor:
        return (x * p.k).realize()

    for k in (1, 1, 2, 3, 4, 5):
        x = T(2)
        same(f(x, Plain(k)), x.numpy() * k)


def test_tensors_in_a_set_are_refused() -> None:
    @TinyJit
    def f(values: set[Tensor]) -> Tensor:
        return sum(values, Tensor([0.0]))

    f({T(1)})
    with pytest.raises(ContainerError, match="has no order"):
        f({T(1)})


@pytest.mark.parametrize("given", ["variable", "sum"])
def test_variables_and_arithmetic_on_them_are_arguments(given: str) -> None:
    n = Variable("n", 1, 8)

    @TinyJit
    def f(x: Tensor, i: Any) -> Tensor:
        return x[i : i + 1].sum().realize()

    x = T(10)
    for i in range(1, 8):
        position = n.bind(i) if given == "variable" else n.bind(i) + 1
        same(f(x, position), x.numpy()[i if given == "variable" else i + 1])
    assert len(f._steps) == 1


def test_one_variable_has_one_value() -> None:
    n = Variable("n", 1, 10)

    @TinyJit
    def f(x: Tensor, y: Tensor) -> Tensor:
        return (x.sum() + y.sum()).realize()

    @TinyJit
    def g(x: Tensor, i: Any) -> Tensor:
        return (x + i).sum().realize()

    a = T(10)
    for i in range(1, 5):
        f(a[: n.bind(i)], a[: n.bind(i)])
        g(a[: n.bind(i)], n.bind(i))
    with pytest.raises(JitError, match="bound to 2 and to 3"):
        f(a[: n.bind(2)], a[: n.bind(3)])
    with pytest.raises(JitError, match="bound to 2 and to 3"):
        g(a[: n.bind(2)], n.bind(3))


def test_replays_check_what_bounds_do_not_tell() -> None:
    n = Variable("n", 1, 20)
    x = T(10)

    @TinyJit
    def f(x: Tensor, i: Any) -> Tensor:
        return x[:i].sum().realize()

    for i in (1, 2, 3, 10):
        np.testing.assert_allclose(f(x, n.bind(i)).numpy(), x.numpy()[:i].sum(), rtol=1e-4)
    with pytest.raises(ShapeError, match="leave the axis of size 10"):
        f(x, n.bind(11))


def test_variables_that_the_function_binds_itself_are_refused() -> None:
    n = Variable("n", 1, 10)
    state = {"i": 1}

    @TinyJit
    def f(x: Tensor) -> Tensor:
        return x[: n.bind(state["i"])].sum().realize()

    x = T(10)
    f(x)
    with pytest.raises(JitError, match="binds variable 'n' to 1"):
        f(x)


def test_results_of_symbolic_shape_have_the_shape_of_their_call() -> None:
    n, m = Variable("n", 1, 10), Variable("m", 1, 6)

    @TinyJit
    def f(a: Tensor) -> tuple[Tensor, Tensor]:
        return (a + 1).realize(), a.T

    a = T(10, 6)
    kept = []
    for i in range(1, 7):
        part = a.numpy()[:i, : 7 - i]
        total, turned = f(a[: n.bind(i), : m.bind(7 - i)])
        kept.append((total, part + 1))
        same(turned, part.T)
    for total, expected in kept:
        same(total, expected)
        assert total.numpy().shape == expected.shape


@pytest.mark.parametrize("setting", [0, 1, 2])
def test_every_setting_gives_the_same_values(setting: int) -> None:
    runs = []

    @TinyJit
    def f(a: Tensor) -> Tensor:
        runs.append(1)
        return ((a + 1).realize() * 2).realize()

    with Context(JIT=setting):
        for _ in range(5):
            x = T(3)
            same(f(x), (x.numpy() + 1) * 2)
    assert len(runs) == (5 if setting == 0 else 2)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(JitError, match="no function"):
        TinyJit(5)  # type: ignore[arg-type]


def test_options_without_a_function_make_a_decorator() -> None:
    weight = T(3)

    @TinyJit(prune=True)
    def f(a: Tensor) -> Tensor:
        return (a * (weight + 1).realize()).realize()

    for _ in range(4):
        x = T(3)
        same(f(x), x.numpy() * (weight.numpy() + 1))
    assert f.captured is not None
    assert f.captured.kernel_count == 1
