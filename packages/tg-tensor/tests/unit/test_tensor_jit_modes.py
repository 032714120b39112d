"""Captured steps notice modes of the program and lists that grow."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit, function
from tg_tensor.jit.errors import JitError
from tg_uop import dtypes


def test_training_or_not_are_two_steps() -> None:
    runs = []

    @TinyJit
    def step(x: Tensor) -> Tensor:
        runs.append(Tensor.training)
        return x.dropout(0.5).realize()

    x = Tensor.ones(64).contiguous().realize()
    for _ in range(3):
        assert step(x).min().item() == 1
    for _ in range(3):
        with Tensor.train():
            assert step(x).min().item() == 0
        assert step(x).min().item() == 1
    assert runs == [False, False, True]


def test_the_default_dtype_is_guarded() -> None:
    step = TinyJit(lambda x: (x + Tensor.ones(2)).realize())
    x = Tensor([1, 2]).realize()
    before = dtypes.default_float
    try:
        for _ in range(3):
            assert step(x).dtype is dtypes.float32
        dtypes.default_float = dtypes.float64
        for _ in range(3):
            assert step(x).dtype is dtypes.float64
    finally:
        dtypes.default_float = before
    assert step(x).dtype is dtypes.float32


def test_what_changed_is_said() -> None:
    step = TinyJit(lambda x, n: (x * n).realize())
    x = Tensor([1.0]).realize()
    for number in range(17):
        step(x, number)
    with pytest.raises(JitError, match=r"Tensor\.training was False, now"), Tensor.train():
        step(x, 0)


def test_a_restored_step_has_the_modes_of_its_capture() -> None:
    @TinyJit
    def step(x: Tensor) -> Tensor:
        return x.dropout(0.5).realize()

    x = Tensor.ones(64).contiguous().realize()
    with Tensor.train():
        for _ in range(2):
            step(x)
    restored = pickle.loads(pickle.dumps(step))
    assert restored(x).min().item() == 0


@pytest.mark.parametrize("change", ["append", "pop", "insert"])
def test_lists_of_weights_that_grow_or_shrink_are_noticed(change: str) -> None:
    weights = [Tensor([float(n)]).realize() for n in (1, 2, 4)]

    @TinyJit
    def step(x: Tensor) -> Tensor:
        for w in weights:
            x = x + w
        return x.realize()

    for number in range(3):
        assert step(Tensor([float(number)])).item() == number + 7
    if change == "append":
        weights.append(Tensor([8.0]).realize())
    elif change == "pop":
        weights.pop()
    else:
        weights.insert(0, Tensor([8.0]).realize())
    wanted = sum(w.item() for w in weights)
    for _ in range(3):
        assert step(Tensor([0.0])).item() == wanted


def test_a_list_that_the_step_itself_fills_while_it_is_captured() -> None:
    seen: list[Tensor] = []

    @TinyJit
    def step(x: Tensor) -> Tensor:
        y = (x * 2).realize()
        seen.append(y)
        return y

    for number in range(5):
        np.testing.assert_array_equal(step(Tensor([float(number)])).numpy(), [2 * number])
    assert len(seen) == 2


FACTOR = 2


class Scaled:
    """A model with settings that are no Tensors."""

    def __init__(self) -> None:
        self.factor = 1.0
        self.runs = 0
        self.step = TinyJit(self.run)

    def run(self, x: Tensor) -> Tensor:
        self.runs += 1
        return (x * self.factor).realize()

    @TinyJit
    def method(self, x: Tensor) -> Tensor:
        return (x * self.factor if self.runs >= 0 else x).realize()


def test_settings_of_a_model_are_noticed() -> None:
    model, other = Scaled(), Scaled()
    x = Tensor([3.0]).realize()
    for factor in (1.0, 2.0, 1.0):
        model.factor = factor
        for _ in range(3):
            assert model.step(x).item() == 3 * factor
            assert model.method(x).item() == 3 * factor
            assert other.method(x).item() == 3
    # the function counts its own runs: that is no reason to capture it again
    assert model.runs == 4


def test_settings_of_objects_that_are_arguments_are_noticed() -> None:
    config = Scaled()
    step = TinyJit(lambda x, given: (x * given.factor).realize())
    x = Tensor([3.0]).realize()
    for factor in (1.0, 2.0, 1.0):
        config.factor = factor
        for _ in range(3):
            assert step(x, config).item() == 3 * factor
            assert step(x, given=config).item() == 3 * factor


def test_variables_around_a_function_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    shift = 1

    @TinyJit
    def step(x: Tensor) -> Tensor:
        return (x * FACTOR + shift).realize()

    x = Tensor([3.0]).realize()
    for _ in range(3):
        assert step(x).item() == 7
    shift = 10
    for _ in range(3):
        assert step(x).item() == 16
    monkeypatch.setitem(globals(), "FACTOR", 5)
    for _ in range(3):
        assert step(x).item() == 25


def test_a_setting_that_always_changes_is_refused_in_the_end() -> None:
    model = Scaled()
    x = Tensor([3.0]).realize()

    def run() -> None:
        for number in range(40):
            model.factor = float(number)
            assert model.step(x).item() == 3 * number

    with pytest.raises(JitError, match=r"self\.factor was 17\.0, now it is 18\.0"):
        run()


def test_traced_functions_notice_the_same() -> None:
    model, shift = Scaled(), 1.0

    @function
    def scaled(x: Tensor, given: Scaled) -> Tensor:
        return (x * given.factor + shift).dropout(0.5)

    x = Tensor([3.0]).realize()
    assert [scaled(x, model).item() for _ in range(2)] == [4, 4]
    model.factor = 2.0
    assert [scaled(x, model).item() for _ in range(2)] == [7, 7]
    shift = 10.0
    assert [scaled(x, model).item() for _ in range(2)] == [16, 16]
    with Tensor.train():
        drawn = {scaled(x, model).item() for _ in range(40)}
    assert drawn == {0, 32}
