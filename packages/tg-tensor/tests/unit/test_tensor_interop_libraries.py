"""Libraries that are written for any array: array-api-compat, einops, SciPy."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_tensor.interop import array_api

GIVEN = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
PATTERNS = ["a b c -> c (a b)", "a b (c d) -> (d a) b c", "a ... -> ... a"]


def test_array_api_compat() -> None:
    compat = pytest.importorskip("array_api_compat")
    x = Tensor(GIVEN)
    assert compat.is_array_api_obj(x)
    assert compat.array_namespace(x, x) is array_api
    assert compat.size(x) == 24
    assert compat.device(x) == x.device
    assert compat.to_device(x, x.device).shape == x.shape
    with pytest.raises(TypeError, match="ultiple namespaces"):
        compat.array_namespace(x, GIVEN)


@pytest.mark.parametrize("space", ["einops", "einops.array_api"])
def test_einops(space: str) -> None:
    einops = pytest.importorskip("einops")
    import_module("tg_tensor.interop.einops")
    own, x = import_module(space), Tensor(GIVEN)
    for pattern in PATTERNS:
        sizes = {"d": 2} if "d" in pattern else {}
        made = own.rearrange(x, pattern, **sizes)
        assert isinstance(made, Tensor)
        assert np.array_equal(made.numpy(), einops.rearrange(GIVEN, pattern, **sizes))
    for operation in ("sum", "mean", "max", "min", "prod"):
        made = own.reduce(x, "a b (c d) -> a d", operation, d=2)
        expected = einops.reduce(GIVEN, "a b (c d) -> a d", operation, d=2)
        np.testing.assert_allclose(made.numpy(), expected, rtol=1e-5)
    assert own.repeat(x, "a b c -> a (r b) c", r=2).shape == (2, 6, 4)
    packed, shapes = own.pack([x, x], "a * c")
    assert packed.shape == (2, 6, 4)
    assert [part.shape for part in own.unpack(packed, shapes, "a * c")] == [(2, 3, 4)] * 2
    assert np.array_equal(own.asnumpy(x), GIVEN)


def test_einops_where_only_its_own_names_reach() -> None:
    einops = pytest.importorskip("einops")
    import_module("tg_tensor.interop.einops")
    x = Tensor(GIVEN, requires_grad=True)
    made = einops.einsum(x, x, "a b c, a b d -> c d")
    expected = np.einsum("abc,abd->cd", GIVEN, GIVEN)
    np.testing.assert_allclose(made.numpy(), expected, rtol=1e-5)
    assert einops.parse_shape(x, "a b _") == {"a": 2, "b": 3}
    assert einops.rearrange([x, x], "n a b c -> a n b c").shape == (2, 2, 3, 4)
    einops.reduce(x, "a b c -> a", "sum").sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == np.ones_like(GIVEN).tolist()


def test_code_that_is_written_for_the_standard() -> None:
    def standardized(x: Tensor) -> Tensor:
        xp = x.__array_namespace__()
        centered = x - xp.mean(x, axis=0, keepdims=True)
        return centered / xp.std(x, axis=0, keepdims=True)

    made = standardized(Tensor(GIVEN.reshape(6, 4)))
    flat = GIVEN.reshape(6, 4)
    np.testing.assert_allclose(made.numpy(), (flat - flat.mean(0)) / flat.std(0), rtol=1e-5)
