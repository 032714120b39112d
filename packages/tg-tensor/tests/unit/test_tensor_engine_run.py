"""The engine: schedules as data, compiled and run by hand; counters, reports, errors, memory."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
from tg_runtime import Device
from tg_tensor import Context, GlobalCounters, Tensor, UOp, Variable, dtypes
from tg_tensor.custom.errors import CustomError
from tg_tensor.custom.function import function
from tg_tensor.custom.kernel import custom_kernel
from tg_tensor.engine.buffers import buffer_of, memory_of_value
from tg_tensor.engine.compile import compile_linear, estimate_uop, get_runtime
from tg_tensor.engine.errors import CallError, NotRealizedError
from tg_tensor.engine.run import run_linear
from tg_tensor.schedule.errors import BindingError
from tg_uop import KernelInfo, Ops


def test_a_schedule_is_data() -> None:
    x = Tensor([1.0, 2.0, 3.0]).realize()
    y = x * 2 + 1
    linear = y.schedule_linear()
    assert linear.op is Ops.LINEAR
    assert [call.called.op for call in linear.src] == [Ops.SINK]
    compiled = compile_linear(linear)
    assert [call.called.op for call in compiled.src] == [Ops.PROGRAM]
    run_linear(compiled)
    np.testing.assert_array_equal(y.numpy(), [3, 5, 7])


def test_variables_of_a_schedule() -> None:
    n = Variable("n", 1, 4).bind(3)
    x = Tensor([1.0, 2.0, 3.0, 4.0]).realize()
    y = x[:n].sum()  # type: ignore[misc]
    linear, values = y.linear_with_vars()
    assert values == {"n": 3}
    run_linear(linear, values)
    assert y.item() == 6


def test_one_variable_has_one_value() -> None:
    n = Variable("n", 1, 4)
    x = Tensor([1.0, 2.0, 3.0, 4.0]).realize()
    with pytest.raises(BindingError, match="'n' is bound to 2 and 3"):
        (x[: n.bind(2)].sum() + x[: n.bind(3)].sum()).realize()  # type: ignore[misc]
    # apart they are computed one after the other
    two, three = x[: n.bind(2)].sum(), x[: n.bind(3)].sum()  # type: ignore[misc]
    two.realize(three)
    assert (two.item(), three.item()) == (3, 6)


def test_programs_run_by_hand() -> None:
    x = Tensor([1.0, 2.0, 3.0]).realize()
    y = x + 1
    call = compile_linear(y.schedule_linear()).src[0]
    program = call.called
    info = program.program_info
    memories = [buffer_of(call.call_args[slot]).memory for slot in info.globals]
    size, local = info.launch_dims({})
    seconds = get_runtime("CPU", program)(*memories, global_size=size, local_size=local, wait=True)
    assert seconds is not None
    np.testing.assert_array_equal(y.numpy(), [2, 3, 4])


def test_estimates_and_counters() -> None:
    x = Tensor(np.ones((8, 8), np.float32)).realize()
    y = x + x * 2
    call = y.schedule_linear().src[0]
    estimates = estimate_uop(call)
    assert (estimates.ops, estimates.mem) == (128, 512)
    GlobalCounters.reset()
    (x * 3 + x).realize()
    assert GlobalCounters.kernel_count == 1
    assert GlobalCounters.global_ops == 128
    assert GlobalCounters.global_mem == 512
    assert GlobalCounters.mem_used > 0


def test_stats_can_be_left_alone() -> None:
    x = Tensor([1.0]).realize()
    GlobalCounters.reset()
    (x + 1).realize(do_update_stats=False)
    assert GlobalCounters.kernel_count == 0


def test_reports(capsys: pytest.CaptureFixture[str]) -> None:
    x = Tensor([1.0, 2.0]).realize()
    with Context(DEBUG=6):
        (x * 5 + 3).realize()
    shown = capsys.readouterr().out
    assert "*** CPU" in shown
    assert "STORE" in shown
    assert "define" in shown


def test_validation_against_the_cpu() -> None:
    with Context(DEV="PYTHON", VALIDATE_WITH_CPU=1):
        x = Tensor([1.0, 2.0, 3.0])
        assert (x * 2 + 1).sum().item() == 15


def test_a_call_that_is_none_is_refused() -> None:
    call = UOp(Ops.CUSTOM_FUNCTION, arg="dance").call(UOp.new_buffer("CPU", 1, dtypes.float32))
    with pytest.raises(CallError, match="CUSTOM_FUNCTION"):
        run_linear(UOp(Ops.LINEAR, src=(call,)))


def test_memory_goes_with_its_last_user() -> None:
    gc.collect()
    before = GlobalCounters.mem_used
    x = (Tensor(np.ones(1 << 16, np.float32)) + 1).realize()
    assert GlobalCounters.mem_used > before
    del x
    assert GlobalCounters.mem_used <= before


def test_only_realized_values_have_memory() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    assert memory_of_value(x[1].uop).offset == 8  # type: ignore[union-attr]
    with pytest.raises(NotRealizedError, match="not computed"):
        memory_of_value((x + 1).uop)
    with pytest.raises(NotRealizedError, match="side by side"):
        memory_of_value(x.permute(1, 0).uop)


def test_copies_between_devices() -> None:
    x = Tensor([1.0, 2.0, 3.0]).realize()
    y = (x * 2).to("CPU:1") + 1
    assert y.device == "CPU:1"
    np.testing.assert_array_equal(y.to("CPU").numpy(), [3, 5, 7])


def test_planned_memory_gives_the_same_values() -> None:
    x = Tensor(np.arange(4096, dtype=np.float32).reshape(64, 64)).realize()

    def deep() -> Tensor:
        y = x
        for _ in range(4):
            y = (y @ x * 1e-4).contiguous() + 1
        return y

    with Context(NO_MEMORY_PLANNER=1):
        separate = deep().numpy()
    np.testing.assert_array_equal(deep().numpy(), separate)


# *** custom kernels and functions ***


def add_kernel(target: UOp, left: UOp, right: UOp) -> UOp:
    i = UOp.range(target.size, 0)
    total = left.index(i) + right.index(i)
    return target.index(i).store(total).end(i).sink(arg=KernelInfo(name="my_add"))


def test_custom_kernel() -> None:
    x, y = Tensor([1.0, 2.0]).realize(), Tensor([3.0, 4.0]).realize()
    out = custom_kernel(Tensor.empty(2), x * 2, y, fxn=add_kernel)[0]
    np.testing.assert_array_equal((out + 1).numpy(), [6, 9])


def test_custom_kernel_that_is_none() -> None:
    with pytest.raises(CustomError, match="returned 3"):
        custom_kernel(Tensor.empty(2), fxn=lambda place: 3)  # type: ignore[arg-type, return-value]


def test_functions_are_traced_once() -> None:
    runs = []

    @function
    def f(x: Tensor, y: Tensor) -> dict[str, Tensor]:
        runs.append(1)
        return {"product": x * y, "difference": x - y}

    a, b = Tensor([1.0, 2.0]).realize(), Tensor([3.0, 5.0]).realize()
    np.testing.assert_array_equal(f(a, b)["product"].numpy(), [3, 10])
    np.testing.assert_array_equal(f(b, a)["difference"].numpy(), [2, 3])
    assert len(runs) == 1


def test_functions_name_what_they_reach_outside() -> None:
    hidden = Tensor([1.0, 2.0]).realize()

    @function
    def f(x: Tensor) -> Tensor:
        return x + hidden

    @function(allow_implicit=True)
    def g(x: Tensor) -> Tensor:
        return x + hidden

    with pytest.raises(CustomError, match="no argument"):
        f(Tensor([1.0, 1.0]))
    np.testing.assert_array_equal(g(Tensor([1.0, 1.0])).numpy(), [2, 3])


def test_methods_reach_the_weights_of_their_layer() -> None:
    class Scale:
        def __init__(self) -> None:
            self.weight = Tensor([1.0, 2.0], requires_grad=True)

        @function
        def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x * self.weight, x + self.weight

    layer = Scale()
    product, total = layer(Tensor([3.0, 3.0]))
    np.testing.assert_array_equal(total.numpy(), [4, 5])
    product.sum().backward()
    assert layer.weight.grad is not None
    np.testing.assert_array_equal(layer.weight.grad.numpy(), [3, 3])
    layer.weight = Tensor([5.0, 6.0])
    np.testing.assert_array_equal(layer(Tensor([1.0, 1.0]))[0].numpy(), [5, 6])


def test_devices_are_known_by_name() -> None:
    assert Device["CPU"].device == "CPU"


def test_beam_search_keeps_the_value(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((24, 24)).astype(np.float32) for _ in range(2))
    x, y = Tensor(a).realize(), Tensor(b).realize()
    with Context(BEAM=1, TG_CACHE_DIR=str(tmp_path), SPEC=0):
        np.testing.assert_allclose((x @ y).numpy(), a @ b, rtol=1e-4, atol=1e-4)
    assert list((tmp_path / "beam").rglob("*"))
