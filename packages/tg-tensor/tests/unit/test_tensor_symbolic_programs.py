"""Programs of symbolic shapes: kernels are compiled once for the range; gradients; mistakes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tg_tensor.engine.run as runner
from tg_tensor import Tensor, TinyJit, UOp, Variable, checkpoint
from tg_tensor.schedule.errors import BindingError
from tg_uop import Ops
from tg_uop.errors import ShapeError, UnboundVariableError, VariableRangeError

A = np.random.default_rng(0).standard_normal((10, 12)).astype(np.float32)
B = np.random.default_rng(1).standard_normal((12, 10)).astype(np.float32)
Program = Callable[[UOp | int], Tensor]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> set[UOp]:
    """The kernels that have run so far."""
    kernels: set[UOp] = set()
    compile_linear = runner.compile_linear

    def noting(linear: UOp, **options: bool) -> UOp:
        found = compile_linear(linear, **options)
        kernels.update(call.called for call in found.src if call.called.op is Ops.PROGRAM)
        return found

    monkeypatch.setattr(runner, "compile_linear", noting)
    return kernels


def written(n: UOp | int) -> Tensor:
    x = Tensor(A).contiguous()
    x[n - 1 : n + 1, :n] = x[:2, :n] + 1
    return x


def weight_gradient(n: UOp | int) -> Tensor:
    x, w = Tensor(A, requires_grad=True), Tensor(B, requires_grad=True)
    return (x[:n] @ w).tanh().square().mean().gradient(x, w)[0]


def again(n: UOp | int) -> Tensor:
    x, w = Tensor(A, requires_grad=True), Tensor(B, requires_grad=True)
    part = checkpoint(lambda v, w: (v @ w).tanh())
    return part(x[:n], w).exp().mean(0).sum().gradient(x)[0]


def attention(n: UOp | int) -> Tensor:
    x = Tensor(A).reshape(1, 10, 12)
    return x[:, :n].scaled_dot_product_attention(x[:, :n], x[:, :n], is_causal=True)


PROGRAMS: dict[str, Program] = {
    "sums": lambda n: Tensor(A)[:n].sum(0),
    "matmul": lambda n: Tensor(B)[:, :n] @ Tensor(A)[:n],
    "softmax": lambda n: Tensor(B)[:, :n].softmax(-1),
    "norm": lambda n: Tensor(A)[:n].layernorm(),
    "conv": lambda n: (
        Tensor(A)
        .reshape(1, 1, 10, 12)[:, :, :, : n + 2]
        .conv2d(Tensor(A[:3, :3]).reshape(1, 1, 3, 3), padding=1)
    ),
    "pool": lambda n: Tensor(A).reshape(10, 1, 3, 4)[:n].max_pool2d(),
    "cat": lambda n: Tensor(A)[:n].cat(Tensor(A)[:2], Tensor(A)[n - 1 : n]),
    "stack": lambda n: Tensor(A)[:n].stack(Tensor(A)[:n] * 2, dim=1),
    "pad": lambda n: Tensor(A)[:n].pad(((n, 10 - n), (0, 1))),
    "expand": lambda n: Tensor(A)[0].reshape(1, 12).expand(n, 12) * Tensor(A)[:n],
    "arithmetic": lambda n: Tensor(A)[n - 1 : 2 * n].reshape(-1) + n,
    "index": lambda n: Tensor(A)[n] * Tensor(A)[:, n - 1].sum(),
    "gather": lambda n: Tensor(A)[Tensor([3, 1, 2, 5, 0])[:n]],
    "scan": lambda n: Tensor(A)[:n].cumsum(0),
    "sort": lambda n: Tensor(A)[:n].sort(1)[0],
    "filled": lambda n: Tensor.full((n, 3), 2.5).cat(Tensor.arange(3 * n).reshape(n, 3)),
    "masked": lambda n: Tensor.ones(n, n).tril().where(Tensor(A)[:n, :n], -1),
    "roll": lambda n: Tensor(A)[:n].roll(1, 0).flip(1),
    "repeat": lambda n: Tensor(A)[:n].repeat(2, 1),
    "loss": lambda n: Tensor(A)[:n].sparse_categorical_crossentropy(Tensor([3, 1, 2, 5, 0])[:n]),
    "statistics": lambda n: Tensor(A)[:n].var(0) + Tensor(A)[: n + 1].std(),
    "written": written,
    "attention": attention,
    "gradient": weight_gradient,
    "checkpoint": again,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_kernel_for_the_range(name: str, compiled: set[UOp]) -> None:
    """The values are those for plain numbers; only the first call compiles."""
    program, variable = PROGRAMS[name], Variable(f"n_{name}", 1, 5)
    values = (2, 5)
    wanted = {value: program(value).numpy() for value in values}
    compiled.clear()
    counts = []
    for value in values:
        found = program(variable.bind(value)).numpy()
        counts.append(len(compiled))
        np.testing.assert_allclose(found, wanted[value], rtol=1e-4, atol=1e-5)
    assert counts == [counts[0]] * len(values)


@pytest.mark.parametrize("captured", [False, True])
def test_two_variables(captured: bool) -> None:
    def program(x: Tensor, rows: UOp, columns: UOp) -> Tensor:
        part = x[:rows, :columns]
        return (part @ x[:columns, :rows] + part.sum()).exp().sum(0).contiguous()

    run = TinyJit(program) if captured else program
    x = Tensor(A * 0.1).realize()
    rows, columns = Variable("rows", 1, 10), Variable("columns", 1, 10)
    for i, j in ((2, 3), (4, 1), (10, 10), (1, 7), (3, 9)):
        part = 0.1 * A[:i, :j]
        wanted = np.exp(part @ (0.1 * A[:j, :i]) + part.sum()).sum(0)
        found = run(x, rows.bind(i), columns.bind(j))
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4)


def test_a_training_step_on_batches_of_every_size() -> None:
    w = Tensor(B, requires_grad=True).realize()
    x, size = Tensor(A).realize(), Variable("size", 1, 10)

    @TinyJit
    def step(count: UOp) -> Tensor:
        loss = (x[:count] @ w).square().mean()
        (grad,) = loss.gradient(w)
        w.assign(w - 0.1 * grad)
        return loss.realize(w)

    ours, theirs = [], []
    weight = B.copy()
    for count in (3, 5, 10, 2, 7):
        ours.append(step(size.bind(count)).item())
        product = A[:count] @ weight
        theirs.append((product**2).mean())
        weight -= 0.1 * A[:count].T @ (2 * product / product.size)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    np.testing.assert_allclose(w.numpy(), weight, rtol=1e-4, atol=1e-5)


def test_mistakes_say_what_to_do() -> None:
    n = Variable("n", 1, 10)
    x = Tensor(A)
    with pytest.raises(UnboundVariableError, match=r"'n' has no value.*variable\.bind\(value\)"):
        x[:n].sum().item()
    with pytest.raises(VariableRangeError, match="'n' cannot be 11: it was declared for 1 to 10"):
        n.bind(11)
    with pytest.raises(TypeError, match="'n' takes whole numbers, not 'two'"):
        n.bind("two")
    with pytest.raises(TypeError, match="is no variable"):
        (n + 1).bind(2)
    with pytest.raises(ShapeError, match="axis -2 has sizes n=2 and n=3"):
        x[: n.bind(2)] + x[: n.bind(3)]
    with pytest.raises(ShapeError, match="12 columns on the left meet n=3 rows"):
        x[: n.bind(3)] @ x[: n.bind(3)]
    with pytest.raises(BindingError, match="bound to 2 and 3"):
        (x[: n.bind(2)].sum() + x[: n.bind(3)].sum()).item()


def test_values_of_numpy_are_bound_like_others() -> None:
    n = Variable("n", 1, 10)
    assert n.bind(np.int64(3)) is n.bind(3)
    np.testing.assert_array_equal(Tensor(A)[: n.bind(np.int32(2))].numpy(), A[:2])
