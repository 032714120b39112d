"""What custom kernels leave behind: results, what they write to, gradients, shards, variables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Device, GlobalCounters, Tensor, TinyJit, Variable
from tg_tensor.custom.errors import CustomError
from tg_uop import AxisType, KernelInfo, Ops, ProgramInfo, UOp, dtypes
from tg_uop.dtype.dtype import PtrDType

DEVICES = ("CPU:0", "CPU:1")
A = np.random.default_rng(3).standard_normal(16).astype(np.float32)


def kernels(run: Callable[[], object]) -> int:
    GlobalCounters.reset()
    run()
    return GlobalCounters.kernel_count


def add_one(out: UOp, x: UOp) -> UOp:
    i = UOp.range(x.shape[0], 0)
    return out[i].store(x[i] + 1).end(i).sink(arg=KernelInfo(name="add_one"))


def increment(x: UOp) -> UOp:
    i = UOp.range(x.shape[0], 0)
    return x[i].store(x[i] + 1).end(i).sink(arg=KernelInfo(name="increment"))


def twice_and_thrice(two: UOp, three: UOp, x: UOp) -> UOp:
    i = UOp.range(x.shape[0], 0)
    return UOp.group(two[i].store(x[i] * 2), three[i].store(x[i] * 3)).end(i).sink()


def product(out: UOp, x: UOp, y: UOp) -> UOp:
    i = UOp.range(x.shape[0], 0)
    return out[i].store(x[i] * y[i]).end(i).sink(arg=KernelInfo(name="product"))


def product_gradient(grad: UOp, call: UOp) -> tuple[UOp | None, ...]:
    _, x, y = call.src[1:]
    return None, (Tensor(grad) * Tensor(y)).uop, (Tensor(grad) * Tensor(x)).uop


# *** what is written ***


def test_one_kernel_writes_to_empty_memory() -> None:
    x = Tensor(A).realize()
    held = Tensor.empty(16)
    assert kernels(lambda: held.custom_kernel(x, fxn=add_one)[0].realize()) == 1
    assert kernels(lambda: Tensor.empty(16).custom_kernel(x, fxn=add_one)[0].realize()) == 1
    two, three = Tensor.empty(16).custom_kernel(Tensor.empty(16), x, fxn=twice_and_thrice)[:2]
    assert kernels(lambda: two.realize(three)) == 1
    np.testing.assert_array_equal(three.numpy(), A * 3)


@pytest.mark.parametrize("is_realized", [True, False])
def test_what_a_kernel_writes_to_has_the_new_value(is_realized: bool) -> None:
    """As after assign; values built before keep theirs."""
    x, out = Tensor(A), Tensor.zeros(16)
    if is_realized:
        out = out.contiguous().realize()
    before = out + 0
    result = out.custom_kernel(x, fxn=add_one)[0]
    np.testing.assert_array_equal(result.numpy(), A + 1)
    np.testing.assert_array_equal(out.numpy(), A + 1)
    np.testing.assert_array_equal(before.numpy(), np.zeros(16, np.float32))
    np.testing.assert_array_equal(x.numpy(), A)


def test_writes_follow_each_other() -> None:
    x = Tensor(A.copy()).realize()
    values = [x.custom_kernel(fxn=increment)[0] for _ in range(3)]
    np.testing.assert_array_equal(x.numpy(), A + 1 + 1 + 1)
    np.testing.assert_array_equal(values[0].numpy(), A + 1)


def test_one_memory_for_two_kernels() -> None:
    out, x, y = Tensor.empty(16), Tensor(A), Tensor(A + 5)
    first = out.custom_kernel(x, fxn=add_one)[0]
    second = out.custom_kernel(y, fxn=add_one)[0]
    np.testing.assert_allclose((first - second).numpy(), np.full(16, -5, np.float32), rtol=1e-5)


def test_views_are_written_through() -> None:
    x, memory = Tensor(A[:4]), Tensor.zeros(3, 4).contiguous().realize()
    memory[1].custom_kernel(x, fxn=add_one)
    memory.T[:, 2].custom_kernel(x, fxn=add_one)
    wanted = np.stack([np.zeros(4, np.float32), A[:4] + 1, A[:4] + 1])
    np.testing.assert_array_equal(memory.numpy(), wanted)


def test_a_view_in_one_piece_is_written_in_place() -> None:
    memory = Tensor.zeros(4, 16).contiguous().realize()
    lines = memory.reshape(2, 2, 16)
    before = memory + 0
    for row in range(2):
        lines[1][row].custom_kernel(Tensor(A + row).realize(), fxn=add_one)
    wanted = np.stack([np.zeros(16, np.float32), np.zeros(16, np.float32), A + 1, A + 1 + 1])
    np.testing.assert_array_equal(before.numpy(), np.zeros((4, 16)))
    assert kernels(memory.realize) == 2
    np.testing.assert_allclose(memory.numpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(lines.numpy().reshape(4, 16), wanted, rtol=1e-6)


def test_numbers_move_to_a_kernel_and_other_values_do_not() -> None:
    def scaled(out: UOp, x: UOp, by: UOp) -> UOp:
        i = UOp.range(16, 0)
        return out[i].store(x[i] * by.flatten()[0]).end(i).sink()

    x, out = Tensor(A, device="CPU:1"), Tensor.empty(16, device="CPU:1")
    found = out.custom_kernel(x, Tensor(2.0), fxn=scaled)[0]
    assert found.device == "CPU:1"
    np.testing.assert_array_equal(found.numpy(), A * 2)
    with pytest.raises(CustomError, match="on CPU and CPU:1"):
        Tensor.empty(16).custom_kernel(x, fxn=add_one)


def test_values_without_axes() -> None:
    found = Tensor.empty(()).custom_kernel(
        Tensor(3.0), fxn=lambda o, x: o[()].set(x[()] * 2).sink()
    )
    assert found[0].item() == 6


def test_state_in_captured_steps() -> None:
    state = Tensor.zeros(16).contiguous().realize()

    @TinyJit
    def step(x: Tensor) -> Tensor:
        state.custom_kernel(fxn=increment)
        return (state + x).realize()

    for number in range(4):
        found = step(Tensor(A).realize())
        np.testing.assert_allclose(found.numpy(), A + number + 1, rtol=1e-6)


# *** gradients ***


def test_gradients_of_kernels() -> None:
    x, y = Tensor(A, requires_grad=True), Tensor(A + 2, requires_grad=True)
    out = Tensor.empty(16).custom_kernel(x * 2, y, fxn=product, grad_fxn=product_gradient)[0]
    (out * out).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 8 * A * (A + 2) ** 2, rtol=1e-4)
    np.testing.assert_allclose(y.grad.numpy(), 8 * A**2 * (A + 2), rtol=1e-4)


def test_gradients_of_several_results_come_together() -> None:
    def gradient(of_two: UOp | None, of_three: UOp | None, call: UOp) -> tuple[UOp | None, ...]:
        parts = [(of_two, 2), (of_three, 3)]
        total = sum(Tensor(grad) * factor for grad, factor in parts if grad is not None)
        return None, None, total.uop

    def results(x: Tensor) -> list[Tensor]:
        outs = Tensor.empty(16), Tensor.empty(16)
        return Tensor.custom_kernel(*outs, x, fxn=twice_and_thrice, grad_fxn=gradient)

    x = Tensor(A, requires_grad=True)
    two, three, _ = results(x)
    (two + three * three).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 + 18 * A, rtol=1e-5)
    assert results(x)[1].sum().gradient(x)[0].numpy().tolist() == [3.0] * 16


def test_a_value_that_training_sets_is_not_written() -> None:
    x = Tensor(A, requires_grad=True)
    out = x.custom_kernel(fxn=increment, grad_fxn=lambda grad, call: (grad,))[0]
    (out * 3).sum().backward()
    np.testing.assert_array_equal(out.numpy(), A + 1)
    np.testing.assert_array_equal(x.numpy(), A)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(16, 3, np.float32))


# *** variables and shards ***


def test_shapes_and_loops_that_depend_on_variables() -> None:
    n = Variable("n", 1, 16)
    x = Tensor(A).realize()
    for size in (3, 16):
        bound = n.bind(size)

        def total(out: UOp, x: UOp, bound: UOp = bound) -> UOp:
            i = UOp.range(bound, 0, AxisType.REDUCE)
            return out[0].store(x[i].reduce(i, arg=Ops.ADD)).sink()

        doubled = Tensor.empty(bound).custom_kernel(x[:bound], fxn=add_one)[0]
        np.testing.assert_array_equal(doubled.numpy()[:size], A[:size] + 1)
        summed = Tensor.empty(1).custom_kernel(x, fxn=total)[0]
        np.testing.assert_allclose(summed.item(), A[:size].sum(), rtol=1e-5)


def test_kernels_on_shards() -> None:
    x = Tensor(A[:15]).shard(DEVICES, 0).realize()
    out = Tensor.empty_like(x)
    result = out.custom_kernel(x, fxn=add_one)[0]
    assert kernels(result.realize) == 2
    assert result.uop.axis == 0
    np.testing.assert_array_equal(result.numpy(), A[:15] + 1)
    np.testing.assert_array_equal(out.numpy(), A[:15] + 1)


# *** own source, errors ***


SOURCE = """
define void @doubled(ptr %args, i64 %core) {
entry:
  %out.at = load i64, ptr %args
  %x.slot = getelementptr i64, ptr %args, i64 1
  %x.at = load i64, ptr %x.slot
  %out = inttoptr i64 %out.at to ptr
  %x = inttoptr i64 %x.at to ptr
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %x, i64 %i
  %to = getelementptr float, ptr %out, i64 %i
  %value = load float, ptr %from
  %double = fadd float %value, %value
  store float %double, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 16
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


@pytest.mark.parametrize("says_outs", [True, False])
@pytest.mark.parametrize("as_binary", [True, False])
def test_own_source_and_binary(as_binary: bool, says_outs: bool) -> None:
    info = ProgramInfo(name="doubled", globals=(0, 1), outs=(0,))

    def doubled(out: UOp, x: UOp) -> UOp:
        sink = UOp.sink(out, x, arg=KernelInfo(name="doubled"))
        parts = [sink, UOp(Ops.DEVICE, arg="CPU"), UOp(Ops.LINEAR), UOp(Ops.SOURCE, arg=SOURCE)]
        if as_binary:
            parts.append(UOp(Ops.BINARY, arg=Device["CPU"].compiler.compile(SOURCE)))
        return UOp(Ops.PROGRAM, dtypes.void, tuple(parts), info if says_outs else None)

    x = Tensor(A, device="CPU").realize()
    out = Tensor.empty(16, device="CPU").custom_kernel(x, fxn=doubled)[0]
    np.testing.assert_array_equal((out + 1).numpy(), A * 2 + 1)
    np.testing.assert_array_equal(x.numpy(), A)


def test_kernels_use_what_they_are_given() -> None:
    x = Tensor(A)

    def outside(out: UOp) -> UOp:
        i = UOp.range(16, 0)
        return out[i].store(x.uop + i).end(i).sink()

    def missing(out: UOp) -> UOp:
        return out[0].store(UOp.placeholder((3,), dtypes.float, 5)[0]).sink()

    with pytest.raises(CustomError, match="Tensor's node"):
        Tensor.empty(16).custom_kernel(fxn=outside)
    with pytest.raises(CustomError, match="slot 5, but has 1 arguments"):
        Tensor.empty(16).custom_kernel(fxn=missing)
    assert isinstance(UOp.placeholder((3,), dtypes.float, 5).dtype, PtrDType)
