"""What sharded Tensors refuse, and the words for it; the parts of the rules on nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor, Variable
from tg_tensor.errors import ArgumentError
from tg_tensor.multi.errors import ShardError
from tg_uop import KernelInfo, Ops, UOp
from tg_uop.errors import DeviceMismatchError, ShapeError, TgError

D = ("CPU:0", "CPU:1")


def ones() -> Tensor:
    """A matrix on one device."""
    return Tensor.ones(4, 6).contiguous()


def sharded() -> Tensor:
    """A matrix over two."""
    return ones().shard(D, 0)


@pytest.mark.parametrize(
    ("mistake", "kind", "words"),
    [
        (lambda: ones().shard(D, 2), ShapeError, r"\(4, 6\).*no axis 2.*from -2 to 1"),
        (lambda: ones().shard(D, -3), ShapeError, "no axis -3"),
        (lambda: Tensor(3.0).shard(D, 0), ShapeError, "no axis 0; axis=None"),
        (lambda: ones().shard(D, 0.5), ArgumentError, "axis must be an axis or None"),
        (lambda: ones().shard(("CPU", "FOO")), TgError, "no device FOO.*CPU"),
        (lambda: ones().shard(()), ArgumentError, "names of devices"),
        (lambda: ones().shard((0, 1)), ArgumentError, "names of devices"),
        (
            lambda: ones().shard(tuple(f"CPU:{i}" for i in range(5)), 0),
            ShapeError,
            "4 elements of axis 0 are not enough for 5 devices",
        ),
        (lambda: Tensor.zeros(0, 3).shard(D, 0), ShapeError, "0 elements"),
        (
            lambda: ones()[:, : Variable("n", 1, 6).bind(3)].shard(D, 1),
            ShapeError,
            "depends on a variable",
        ),
        (lambda: sharded() + ones(), DeviceMismatchError, r"ADD.*\(4, 6\).*CPU:1.*\.shard\("),
        (lambda: sharded() @ ones().T, DeviceMismatchError, "same devices"),
        (lambda: sharded() * ones().shard((*D, "CPU:2"), 0), DeviceMismatchError, "CPU:2"),
        (lambda: sharded().cat(ones()), DeviceMismatchError, "CPU:1"),
        (lambda: (sharded() > 0).where(ones(), 1), DeviceMismatchError, "CPU:1"),
        (lambda: sharded()[Tensor([0, 1])], DeviceMismatchError, "CPU:1"),
        (lambda: Tensor.ones(3).shard_like(ones().shard(D, 1)), ShapeError, "cut along axis 1"),
    ],
)
def test_mistakes(mistake: Callable[[], object], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        mistake()


def test_a_whole_kernel_does_not_write_to_shards() -> None:
    x = sharded().realize()
    place = UOp.placeholder((4, 6), x.dtype, 0)
    row = UOp.range(4, 0)
    kernel = place[row, 0].store(1.0).end(row).sink(arg=KernelInfo(name="whole"))
    written = Tensor.from_uop(x.uop.after(kernel.call(x.uop)))
    with pytest.raises(ShardError, match=r"cut along axis 0.*Tensor\.custom_kernel"):
        written.realize()


def test_axes_and_devices_in_other_forms() -> None:
    assert ones().shard(list(D), np.int64(1)).uop.axis == 1  # type: ignore[arg-type]
    assert ones().shard(D, -1).uop.axis == 1
    np.testing.assert_array_equal((sharded() + np.ones((4, 6), np.float32)).numpy(), 2)
    np.testing.assert_array_equal((sharded() + [1] * 6).numpy(), 2)


def test_nodes_that_pick_and_stack_shards() -> None:
    x = ones().shard(D, 0).realize()
    second = x.uop.mselect(1)
    assert (second.shape, second.device) == ((2, 6), "CPU:1")
    np.testing.assert_array_equal((Tensor.from_uop(second) * 3).numpy(), np.full((2, 6), 3))
    stacked = Tensor.from_uop(x.uop.src[0].mstack(x.uop.src[1]))
    assert stacked.device == ("CPU", "CPU:1")
    assert stacked.uop.axis is None
    np.testing.assert_array_equal((stacked + 1).numpy(), np.full((2, 6), 2))
    total = Tensor.from_uop(UOp(Ops.ALLREDUCE, x.dtype, (stacked.uop,), Ops.ADD))
    np.testing.assert_array_equal(total.numpy(), np.full((2, 6), 2))


def test_values_without_elements() -> None:
    x = Tensor.zeros(0, 4).contiguous().shard(D, 1)
    assert (x + 1).numpy().shape == (0, 4)
    assert x.sum(0).numpy().tolist() == [0, 0, 0, 0]
    assert sharded()[2:2].numpy().shape == (0, 6)
    assert sharded()[2:2].sum().item() == 0
