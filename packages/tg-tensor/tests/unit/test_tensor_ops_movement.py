"""Movement methods against NumPy, through the witness."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor
from tg_tensor.errors import ArgumentError
from tg_uop.errors import ShapeError

Array = npt.NDArray[np.generic]
Witness = Callable[[Tensor], Array]

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def same(found: Array, wanted: Array) -> None:
    np.testing.assert_array_equal(found, wanted)
    assert found.shape == wanted.shape


def test_reshape_and_its_kin(witness: Witness) -> None:
    x = Tensor(A)
    same(witness(x.reshape(4, 6)), A.reshape(4, 6))
    same(witness(x.reshape((-1, 6))), A.reshape(-1, 6))
    same(witness(x.reshape(None, 12)), A.reshape(2, 12))
    same(witness(x.view(6, 4)), A.reshape(6, 4))
    same(witness(x.flatten(1)), A.reshape(2, 12))
    same(witness(x.unflatten(2, (2, -1))), A.reshape(2, 3, 2, 2))
    same(witness(x.unsqueeze(-1)), A[..., None])
    assert x.unsqueeze(0).squeeze().shape == (2, 3, 4)
    assert x.unsqueeze(0).squeeze(1).shape == (1, 2, 3, 4)


def test_order(witness: Witness) -> None:
    x = Tensor(A)
    same(witness(x.permute(2, 0, -2)), A.transpose(2, 0, 1))
    same(witness(x.transpose()), A.transpose(1, 0, 2))
    same(witness(x.T), A.T)
    same(witness(x.flip(0, 2)), np.flip(A, (0, 2)))
    same(witness(x.roll((1, -2), (0, 2))), np.roll(A, (1, -2), (0, 2)))
    same(witness(x.roll(5)), np.roll(A, 5))


def test_size(witness: Witness) -> None:
    x = Tensor(A)
    same(witness(x.shrink(((0, 1), None, (1, 3)))), A[:1, :, 1:3])
    same(witness(x.shrink_to(1, None, 2)), A[:1, :, :2])
    same(witness(x.pad_to(None, 5, 4)), np.pad(A, ((0, 0), (0, 2), (0, 0))))
    same(witness(x.repeat(2, 1, 3)), np.tile(A, (2, 1, 3)))
    same(witness(x.repeat(2, 1, 1, 2)), np.tile(A, (2, 1, 1, 2)))
    same(witness(x.repeat_interleave(2, 1)), A.repeat(2, 1))
    same(witness(x.repeat_interleave(3)), A.repeat(3))
    same(witness(Tensor(A[:, :1]).expand(2, 5, -1)), np.broadcast_to(A[:, :1], (2, 5, 4)))


@pytest.mark.parametrize(
    ("mode", "theirs"),
    [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")],
)
def test_padding_modes(mode: str, theirs: str, witness: Witness) -> None:
    pads = ((0, 0), (1, 2), (2, 1))
    same(witness(Tensor(A).pad(pads, mode=mode)), np.pad(A, pads, mode=theirs))  # type: ignore[call-overload]


def test_padding_spellings(witness: Witness) -> None:
    x = Tensor(A)
    same(witness(x.pad((1, 2))), np.pad(A, ((0, 0), (0, 0), (1, 2))))
    same(
        witness(x.pad((1, 2, 0, 1), value=3)),
        np.pad(A, ((0, 0), (0, 1), (1, 2)), constant_values=3),
    )
    same(witness(x.pad((-1, 1))), np.pad(A[..., 1:], ((0, 0), (0, 0), (0, 1))))
    same(witness(x.pad((None, (1, 0), None))), np.pad(A, ((0, 0), (1, 0), (0, 0))))
    with pytest.raises(ArgumentError, match="at most 2 on axis 1"):
        x.pad(((0, 0), (3, 0), (0, 0)), mode="reflect")
    with pytest.raises(ArgumentError, match="mode"):
        x.pad((1, 1), mode="mirror")


def test_joining_and_splitting(witness: Witness) -> None:
    x = Tensor(A)
    same(witness(x.cat(x, x, dim=1)), np.concatenate([A, A, A], 1))
    same(witness(x.stack(x, dim=-1)), np.stack([A, A], -1))
    parts = x.split([1, 2], dim=1)
    same(witness(parts[1]), A[:, 1:])
    assert [p.shape[2] for p in x.split(3, dim=2)] == [3, 1]
    assert [p.shape[2] for p in x.chunk(3, dim=2)] == [2, 2]
    with pytest.raises(ShapeError, match="differ in another axis"):
        x.cat(Tensor(A[:, :, :1]), dim=0)
    with pytest.raises(ShapeError, match="do not add up"):
        x.split([1, 1], dim=1)


def test_diagonals(witness: Witness) -> None:
    x = Tensor(A)
    for offset in (-2, -1, 0, 1, 3):
        same(witness(x.diagonal(offset, 1, 2)), np.diagonal(A, offset, 1, 2))
    same(witness(x.diagonal(1, 2, 0)), np.diagonal(A, 1, 2, 0))
    same(witness(Tensor(A[0, 0]).diag()), np.diag(A[0, 0]))
    same(witness(x.tril(-1)), np.tril(A, -1))
    same(witness(x.triu(1)), np.triu(A, 1))


def test_windows(witness: Witness) -> None:
    view = np.lib.stride_tricks.sliding_window_view
    x = Tensor(A)
    same(witness(x.unfold(2, 2, 1)), view(A, 2, 2))
    same(witness(x.unfold(1, 2, 2)), view(A, 2, 1)[:, ::2])
    same(witness(x.unfold(2, 3, 1)), view(A, 3, 2))


@pytest.mark.parametrize(
    ("formula", "sizes", "wanted"),
    [
        (
            "b (h d) t -> (b t) d h",
            {"h": 3},
            A.reshape(2, 3, 1, 4).transpose(0, 3, 2, 1).reshape(8, 1, 3),
        ),
        ("... t -> t ...", {}, A.transpose(2, 0, 1)),
        ("a b c -> a 1 (b c)", {}, A.reshape(2, 1, 12)),
        ("a ... -> (a ...)", {}, A.reshape(-1)),
        ("a ... -> (...) a", {}, A.transpose(1, 2, 0).reshape(-1, 2)),
    ],
)
def test_rearrange(formula: str, sizes: dict[str, int], wanted: Array, witness: Witness) -> None:
    same(witness(Tensor(A).rearrange(formula, **sizes)), wanted)


@pytest.mark.parametrize(
    "formula",
    ["a b -> b a", "a b c -> a b", "a (b c -> a", "a b (c d) -> a b c d", "(...) c -> ... c"],
)
def test_rearrange_explains_what_does_not_fit(formula: str) -> None:
    with pytest.raises(ArgumentError, match="rearrange"):
        Tensor(A).rearrange(formula)


def test_shape_errors_come_when_the_expression_is_built() -> None:
    x = Tensor(A)
    for build in (
        lambda: x + Tensor([1.0, 2.0, 3.0]),
        lambda: x.reshape(5, 5),
        lambda: x.permute(0, 1),
        lambda: x.expand(3, 3, 4),
        lambda: x.shrink(((0, 3), None, None)),
        lambda: x.unsqueeze(7),
        lambda: x.squeeze(3),
    ):
        with pytest.raises(ShapeError):
            build()


def test_a_shape_error_names_the_operation() -> None:
    with pytest.raises(
        ShapeError, match=r"MUL on shapes \(2, 3, 4\), \(3,\): axis -1 has sizes 4 and 3"
    ):
        Tensor(A) * Tensor([1.0, 2.0, 3.0])
