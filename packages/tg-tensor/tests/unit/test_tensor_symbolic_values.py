"""Values of symbolic shape against NumPy: each expression for several values, also replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, TinyJit, UOp, Variable

Array = npt.NDArray[np.generic]
RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((10, 6)).astype(np.float32)
Q = RANDOM.standard_normal((1, 2, 10, 4)).astype(np.float32)
I = np.array([3, 1, 2, 5, 0, 9, 8, 7, 6, 4], np.int32)
a, q, ids = Tensor(A).realize(), Tensor(Q).realize(), Tensor(I).realize()


@dataclass(frozen=True)
class Case:
    """An expression of a bound Variable from 1 to 10, and what NumPy makes of the number."""

    name: str
    ours: Callable[[UOp], Tensor]
    numpy: Callable[[int], Array]
    vals: Sequence[int] = (1, 3, 7, 10)
    tol: float = 1e-5


def sm(x: Array, axis: int) -> Array:
    """Softmax."""
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def att(query: Array, key: Array, value: Array, mask: Array | None = None) -> Array:
    """Attention."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    return sm(scores if mask is None else scores + mask, -1) @ value


def box_sums(x: Array) -> Array:
    """The sum of all elements over windows of 3 by 3 with a border of zeros."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows, columns = x.shape[2:]
    windows = [padded[..., y : y + rows, z : z + columns] for y in range(3) for z in range(3)]
    return np.array([[sum(w.sum() for w in windows)]])


CASES = [
    Case("slice0", lambda v: a[:v], lambda i: A[:i]),
    Case("slice_from", lambda v: a[v:], lambda i: A[i:], vals=(1, 3, 9)),
    Case("slice_one", lambda v: a[v : v + 1], lambda i: A[i : i + 1], vals=(1, 3, 9)),
    Case("slice_v_minus", lambda v: a[v - 1 : v], lambda i: A[i - 1 : i]),
    Case("slice_neg_start", lambda v: a[-v:], lambda i: A[-i:]),
    Case("slice_step", lambda v: a[:v:2], lambda i: A[:i:2]),
    Case("slice_rev", lambda v: a[:v].flip(0), lambda i: A[:i][::-1]),
    Case("index_v", lambda v: a[v - 1], lambda i: A[i - 1]),
    Case("index_v_t", lambda v: a.T[:, v - 1], lambda i: A.T[:, i - 1]),
    Case("shrink", lambda v: a.shrink(((0, v), None)), lambda i: A[:i]),
    Case("shrink2", lambda v: a.shrink(((v - 1, v), (0, 6))), lambda i: A[i - 1 : i]),
    Case("reshape", lambda v: a[:v].reshape(v * 6), lambda i: A[:i].reshape(-1)),
    Case("reshape_minus1", lambda v: a[:v].reshape(-1), lambda i: A[:i].reshape(-1)),
    Case("reshape_v", lambda v: a[:v].reshape(v, 2, 3), lambda i: A[:i].reshape(i, 2, 3)),
    Case("reshape_minus1b", lambda v: a[:v].reshape(-1, 2, 3), lambda i: A[:i].reshape(i, 2, 3)),
    Case("reshape_1v", lambda v: a[:v].reshape(1, v, 6), lambda i: A[:i][None]),
    Case("flatten", lambda v: a[:v].flatten(), lambda i: A[:i].reshape(-1)),
    Case("unsqueeze", lambda v: a[:v].unsqueeze(1).squeeze(1), lambda i: A[:i]),
    Case("expand", lambda v: a[0:1].expand(v, 6), lambda i: np.broadcast_to(A[0:1], (i, 6))),
    Case(
        "expand_inner",
        lambda v: a.reshape(10, 1, 6).expand(10, v, 6).sum(1),
        lambda i: A * i,
        tol=1e-4,
    ),
    Case(
        "pad",
        lambda v: a[:v].pad(((0, 10 - v), (0, 0))),
        lambda i: np.pad(A[:i], ((0, 10 - i), (0, 0))),
    ),
    Case(
        "pad_const",
        lambda v: a[:v].pad(((1, 1), (0, 0)), value=3.0),
        lambda i: np.pad(A[:i], ((1, 1), (0, 0)), constant_values=3),
    ),
    Case("sum0", lambda v: a[:v].sum(0), lambda i: A[:i].sum(0)),
    Case("sum_all", lambda v: a[:v].sum(), lambda i: A[:i].sum(), tol=1e-4),
    Case("max", lambda v: a[:v].max(0), lambda i: A[:i].max(0)),
    Case("min", lambda v: a[:v].min(0), lambda i: A[:i].min(0)),
    Case("mean", lambda v: a[:v].mean(0), lambda i: A[:i].mean(0)),
    Case("mean_all", lambda v: a[:v].mean(), lambda i: A[:i].mean()),
    Case("prod", lambda v: a[:v].prod(0), lambda i: A[:i].prod(0)),
    Case("var", lambda v: a[:v].var(0), lambda i: A[:i].var(0, ddof=1), vals=(2, 5, 10)),
    Case("std", lambda v: a[:v].std(0), lambda i: A[:i].std(0, ddof=1), vals=(2, 5, 10)),
    Case("var0", lambda v: a[:v].var(0, correction=0), lambda i: A[:i].var(0)),
    Case("argmax", lambda v: a[:v].argmax(0), lambda i: A[:i].argmax(0)),
    Case("argmin", lambda v: a[:v].argmin(0), lambda i: A[:i].argmin(0)),
    Case("all", lambda v: (a[:v] > -1).all(0), lambda i: (A[:i] > -1).all(0)),
    Case("any", lambda v: (a[:v] > 1).any(), lambda i: (A[:i] > 1).any()),
    Case("softmax", lambda v: a[:v].softmax(0), lambda i: sm(A[:i], 0)),
    Case("softmax1", lambda v: a[:v].softmax(1), lambda i: sm(A[:i], 1)),
    Case("logsumexp", lambda v: a[:v].logsumexp(0), lambda i: np.log(np.exp(A[:i]).sum(0))),
    Case(
        "layernorm",
        lambda v: a[:v].layernorm(),
        lambda i: (
            (A[:i] - A[:i].mean(1, keepdims=True)) / np.sqrt(A[:i].var(1, keepdims=True) + 1e-5)
        ),
    ),
    Case(
        "layernorm0",
        lambda v: a[:v].T.layernorm(),
        lambda i: ((A[:i] - A[:i].mean(0)) / np.sqrt(A[:i].var(0) + 1e-5)).T,
        tol=1e-4,
    ),
    Case("matmul_inner", lambda v: a.T[:, :v] @ a[:v], lambda i: A.T[:, :i] @ A[:i], tol=1e-4),
    Case("matmul_outer", lambda v: a[:v] @ a.T, lambda i: A[:i] @ A.T, tol=1e-4),
    Case("matmul_both", lambda v: a[:v] @ a[:v].T, lambda i: A[:i] @ A[:i].T, tol=1e-4),
    Case("add", lambda v: a[:v] + a[:v] * 2, lambda i: A[:i] * 3),
    Case("add_row", lambda v: a[:v] + a[0], lambda i: A[:i] + A[0]),
    Case("add_var", lambda v: a + v, lambda i: A + i),
    Case("mul_var", lambda v: a * v, lambda i: A * i),
    Case("rmul_var", lambda v: v * a, lambda i: A * i),
    Case("div_var", lambda v: a / v, lambda i: A / i),
    Case(
        "where_var",
        lambda v: (Tensor.arange(10) < v).where(1.0, 0.0),
        lambda i: (np.arange(10) < i) * 1.0,
    ),
    Case("lt_var", lambda v: Tensor.arange(10) < v, lambda i: np.arange(10) < i),
    Case("cat", lambda v: a[:v].cat(a[:2], dim=0), lambda i: np.concatenate([A[:i], A[:2]])),
    Case("cat_sym2", lambda v: a[:2].cat(a[:v], dim=0), lambda i: np.concatenate([A[:2], A[:i]])),
    Case("cat_both", lambda v: Tensor.cat(a[:v], a[:v]), lambda i: np.concatenate([A[:i], A[:i]])),
    Case(
        "cat_other",
        lambda v: Tensor.cat(a[:v], a[:v] * 2, dim=1),
        lambda i: np.concatenate([A[:i], A[:i] * 2], 1),
    ),
    Case("stack", lambda v: Tensor.stack(a[:v], a[:v] * 2), lambda i: np.stack([A[:i], A[:i] * 2])),
    Case("arange", lambda v: Tensor.arange(v), lambda i: np.arange(i)),
    Case("arange2", lambda v: Tensor.arange(1, v + 1), lambda i: np.arange(1, i + 1)),
    Case("arange_sum", lambda v: Tensor.arange(v).sum(), lambda i: np.arange(i).sum()),
    Case("zeros", lambda v: Tensor.zeros(v, 3), lambda i: np.zeros((i, 3))),
    Case("ones_sum", lambda v: Tensor.ones(v, 3).sum(0), lambda i: np.ones((i, 3)).sum(0)),
    Case("full", lambda v: Tensor.full((v, 2), 3.0), lambda i: np.full((i, 2), 3.0)),
    Case("full_v", lambda v: Tensor.full((2,), v), lambda i: np.full((2,), i)),
    Case("one_hot", lambda v: Tensor.arange(10)[:v].one_hot(10), lambda i: np.eye(10)[:i]),
    Case("emb", lambda v: a[ids[:v]], lambda i: A[I[:i]]),
    Case("gather", lambda v: a[:, 0].gather(0, ids[:v]), lambda i: A[:, 0][I[:i]]),
    Case("gather_on", lambda v: a[:v].gather(0, Tensor([[0] * 6])), lambda i: A[:1]),
    Case("transpose", lambda v: a[:v].T.contiguous(), lambda i: A[:i].T),
    Case(
        "permute",
        lambda v: a[:v].reshape(v, 2, 3).permute(1, 0, 2),
        lambda i: A[:i].reshape(i, 2, 3).transpose(1, 0, 2),
    ),
    Case("contig", lambda v: (a[:v] * 1).contiguous() + 1, lambda i: A[:i] + 1),
    Case("chain_realize", lambda v: (a[:v] * 2).realize().sum(0), lambda i: A[:i].sum(0) * 2),
    Case("cumsum", lambda v: a[:v].cumsum(0), lambda i: A[:i].cumsum(0)),
    Case("cumsum1", lambda v: a[:v].cumsum(1), lambda i: A[:i].cumsum(1)),
    Case("tril", lambda v: Tensor.ones(v, v).tril(), lambda i: np.tril(np.ones((i, i)))),
    Case(
        "triu",
        lambda v: Tensor.full((1, 1, v, v + 2), float("-inf")).triu(3),
        lambda i: np.triu(np.full((1, 1, i, i + 2), -np.inf), 3),
    ),
    Case("cast", lambda v: a[:v].cast("int"), lambda i: A[:i].astype(int)),
    Case("repeat", lambda v: a[:v].repeat(2, 1), lambda i: np.tile(A[:i], (2, 1))),
    Case("repeat_v", lambda v: a[:2].repeat(v, 1), lambda i: np.tile(A[:2], (i, 1))),
    Case("split", lambda v: a[:v].split(3, dim=1)[1], lambda i: A[:i][:, 3:6]),
    Case("chunk", lambda v: a[:v].chunk(2, dim=1)[1], lambda i: A[:i][:, 3:6]),
    Case(
        "einsum",
        lambda v: Tensor.einsum("ij,ik->jk", a[:v], a[:v]),
        lambda i: A[:i].T @ A[:i],
        tol=1e-4,
    ),
    Case("linear", lambda v: a[:v].linear(a.T), lambda i: A[:i] @ A.T, tol=1e-4),
    Case("two_slices", lambda v: a[:v][v - 1], lambda i: A[:i][i - 1]),
    Case("last", lambda v: a[:v][-1], lambda i: A[:i][-1]),
    Case("last_slice", lambda v: a[:v][-1:], lambda i: A[:i][-1:]),
    Case("sub_slice", lambda v: a[:v][1:], lambda i: A[:i][1:], vals=(2, 5, 10)),
    Case(
        "masked",
        lambda v: a[:v].masked_fill(a[:v] > 0, 0.0),
        lambda i: np.where(A[:i] > 0, 0, A[:i]),
    ),
    Case("relu", lambda v: a[:v].relu(), lambda i: np.maximum(A[:i], 0)),
    Case("gelu_silu", lambda v: a[:v].silu(), lambda i: A[:i] / (1 + np.exp(-A[:i]))),
    Case(
        "rmsnorm",
        lambda v: a[:v] * (a[:v].square().mean(-1, keepdim=True) + 1e-5).rsqrt(),
        lambda i: A[:i] / np.sqrt((A[:i] ** 2).mean(1, keepdims=True) + 1e-5),
    ),
    Case(
        "sdpa",
        lambda v: q[:, :, :1].scaled_dot_product_attention(q[:, :, :v], q[:, :, :v]),
        lambda i: att(Q[:, :, :1], Q[:, :, :i], Q[:, :, :i]),
    ),
    Case(
        "sdpa_q",
        lambda v: q[:, :, :v].scaled_dot_product_attention(q, q),
        lambda i: att(Q[:, :, :i], Q, Q),
    ),
    Case(
        "sdpa_all",
        lambda v: q[:, :, :v].scaled_dot_product_attention(q[:, :, :v], q[:, :, :v]),
        lambda i: att(Q[:, :, :i], Q[:, :, :i], Q[:, :, :i]),
    ),
    Case(
        "sdpa_causal",
        lambda v: q[:, :, :v].scaled_dot_product_attention(
            q[:, :, :v], q[:, :, :v], is_causal=True
        ),
        lambda i: att(Q[:, :, :i], Q[:, :, :i], Q[:, :, :i], np.triu(np.full((i, i), -np.inf), 1)),
    ),
    Case(
        "conv",
        lambda v: q[:, :, :v].conv2d(Tensor.ones(1, 2, 1, 1)),
        lambda i: Q[:, :, :i].sum(1, keepdims=True),
    ),
    Case(
        "conv3",
        lambda v: q[:, :, :v].conv2d(Tensor.ones(1, 2, 3, 3), padding=1).sum((2, 3)),
        lambda i: box_sums(Q[:, :, :i]),
        tol=1e-3,
    ),
    Case("sort", lambda v: a[:v, 0].sort()[0], lambda i: np.sort(A[:i, 0])),
    Case("topk", lambda v: a[:v].topk(2, dim=1)[0], lambda i: -np.sort(-A[:i], 1)[:, :2]),
    Case("roll", lambda v: a.roll(v, 0), lambda i: np.roll(A, i, 0)),
    Case("getmix", lambda v: a[:v, None, 1:3], lambda i: A[:i, None, 1:3]),
    Case("ellip", lambda v: q[..., :v, :], lambda i: Q[..., :i, :]),
    Case("interleave", lambda v: a[:v].repeat_interleave(2, 1), lambda i: A[:i].repeat(2, 1)),
    Case(
        "cross_ent",
        lambda v: a[:v].cross_entropy(ids[:v] % 6),
        lambda i: -np.log(sm(A[:i], 1))[np.arange(i), I[:i] % 6].mean(),
    ),
    Case("clone", lambda v: a[:v].clone(), lambda i: A[:i]),
    Case("maximum", lambda v: a[:v].maximum(0.5), lambda i: np.maximum(A[:i], 0.5)),
    Case("eq_self", lambda v: a[:v] == a[:v], lambda i: np.ones((i, 6), bool)),
    Case("rand_shape", lambda v: Tensor.rand(10)[:v] * 0, lambda i: np.zeros(i)),
    Case("view", lambda v: a[:v].view(v, 6), lambda i: A[:i]),
    Case("ones_like", lambda v: a[:v].ones_like(), lambda i: np.ones((i, 6))),
    Case("zeros_like", lambda v: a[:v].zeros_like() + 1, lambda i: np.ones((i, 6))),
    Case("numel_shape", lambda v: Tensor.full((1,), a[:v].shape[0]), lambda i: np.full((1,), i)),
    Case("size", lambda v: a[:v].sum(0) / a[:v].size(0), lambda i: A[:i].mean(0)),
    Case("shape_arith", lambda v: a[:v].sum(0) / a[:v].shape[0], lambda i: A[:i].mean(0)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_of_symbolic_shape(case: Case) -> None:
    n = Variable("n", 1, 10)
    replayed = TinyJit(lambda bound: case.ours(bound).realize())
    for value in case.vals:
        expected = case.numpy(value)
        for result in (case.ours(n.bind(value)), replayed(n.bind(value))):
            found = result.numpy()
            assert found.shape == np.shape(expected)
            np.testing.assert_allclose(found, expected, rtol=case.tol, atol=case.tol)
    assert replayed.captured is not None
