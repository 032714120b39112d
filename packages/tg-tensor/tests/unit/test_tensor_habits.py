"""What users of PyTorch and NumPy write by habit: names of arguments, lists, kinds of errors."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import ArgumentError, UnknownModeError
from tg_uop.errors import IndexDTypeError, NegativePowerError, ShapeError

ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "any", "all", "std", "var"])
def test_reductions_take_dim_and_keepdims(name: str) -> None:
    given = Tensor(ARRAY)
    wanted = getattr(given, name)(axis=1, keepdim=True)
    found = getattr(given, name)(dim=1, keepdims=True)
    assert found.shape == (2, 1)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "cumsum", "cumprod", "argmax"])
def test_dim_is_the_axis(name: str) -> None:
    given = Tensor(ARRAY)
    wanted = getattr(given, name)(axis=0).numpy()
    np.testing.assert_array_equal(getattr(given, name)(dim=0).numpy(), wanted)


def test_two_names_of_one_argument_are_refused() -> None:
    with pytest.raises(TypeError, match="both 'axis' and 'dim'"):
        Tensor(ARRAY).sum(axis=0, dim=1)


def test_max_does_not_take_dim_whose_pair_it_would_not_give() -> None:
    with pytest.raises(TypeError):
        Tensor(ARRAY).max(dim=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_tensors_come_in_a_list_or_one_by_one(name: str) -> None:
    one, two = Tensor(ARRAY), Tensor(ARRAY + 10)
    joined = getattr(Tensor, name)
    wanted = joined(one, two, dim=1).numpy()
    np.testing.assert_array_equal(joined([one, two], dim=1).numpy(), wanted)
    np.testing.assert_array_equal(joined((one, two), dim=1).numpy(), wanted)
    for wrong in ([], [one, 3], 3):
        with pytest.raises(ArgumentError, match=name):
            joined(wrong)


def test_training_as_a_decorator() -> None:
    @Tensor.train()
    def is_training() -> bool:
        return Tensor.training

    assert is_training()
    assert not Tensor.training


@pytest.mark.parametrize("kind", [NegativePowerError, ValueError, RuntimeError])
def test_integers_to_negative_powers(kind: type[Exception]) -> None:
    with pytest.raises(kind, match="power -2"):
        Tensor([1, 2]) ** -2
    np.testing.assert_allclose((Tensor([1.0, 2.0]) ** -2).numpy(), [1, 0.25])


@pytest.mark.parametrize("kind", [IndexDTypeError, IndexError, TypeError])
def test_floats_as_an_index(kind: type[Exception]) -> None:
    with pytest.raises(kind):
        Tensor(ARRAY)[Tensor([0.5])]


@pytest.mark.parametrize("kind", [UnknownModeError, ArgumentError, NotImplementedError])
def test_modes_that_there_are_not(kind: type[Exception]) -> None:
    image = Tensor.zeros(1, 1, 4, 4)
    with pytest.raises(kind):
        image.interpolate((8, 8), mode="sharp")
    with pytest.raises(kind):
        image.pad((1, 1, 1, 1), mode="sharp")


def test_a_number_as_one_of_another_size() -> None:
    with pytest.raises(ShapeError, match="no axis"):
        Tensor(1.0).bitcast(dtypes.int16)
    assert Tensor(1.0).bitcast(dtypes.int32).item() == 0x3F800000


@pytest.mark.parametrize(("kind", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-10)])
def test_cosines_near_their_zeros(kind: type[np.floating], tolerance: float) -> None:
    turns = np.arange(-50, 50) + 0.5
    near = (turns * np.pi).astype(kind)
    for step in (0, 1e-6, -1e-6, 1e-3):
        angles = (near + kind(step)).astype(kind)
        wanted = np.cos(angles.astype(np.longdouble)).astype(np.float64)
        np.testing.assert_allclose(Tensor(angles).cos().numpy(), wanted, rtol=tolerance)
