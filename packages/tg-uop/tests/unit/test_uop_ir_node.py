"""A node is the same object for the same fields, and knows facts about itself."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import threading

import pytest
from tg_uop import AxisType, Invalid, KernelInfo, Ops, UOp, dtypes
from tg_uop.errors import DeviceMismatchError, ShapeError
from tg_uop.ir.node import Node

X = UOp.variable("x", -3, 5)


def buffer(*shape: int, device: str = "CPU") -> UOp:
    size = 1
    for dim in shape:
        size *= dim
    return UOp.new_buffer(device, size, dtypes.float).reshape(shape)


def test_equal_fields_give_one_object():
    assert X + 1 is X + 1
    assert UOp.const(dtypes.int, 1) is UOp.const(dtypes.int, True)
    assert UOp.const(dtypes.float, 1) is UOp.const(dtypes.float, 1.0)


def test_constants_that_compare_equal_but_differ_stay_apart():
    assert UOp.const(dtypes.float, 0.0) is not UOp.const(dtypes.float, -0.0)
    assert UOp.const(dtypes.float, float("nan")) is UOp.const(dtypes.float, float("nan"))
    assert UOp.const(dtypes.int, 1) is not UOp.const(dtypes.bool, True)


def test_an_integer_constant_takes_no_fraction():
    with pytest.raises(ValueError, match="cast it explicitly"):
        UOp.const(dtypes.int, 1.5)
    with pytest.raises(TypeError, match="must be a number"):
        UOp.const(dtypes.int, "1")


def test_unused_nodes_are_forgotten():
    mark = "a tag of this test alone: other nodes come and go meanwhile"
    chain = X
    for _ in range(1000):
        chain = (chain + 1).rtag(mark)
    assert sum(tag is mark for *_, tag in list(Node._interned)) == 1000
    del chain
    gc.collect()
    assert not any(tag is mark for *_, tag in list(Node._interned))


def test_threads_share_nodes():
    found: list[UOp] = []
    start = threading.Barrier(4)

    def build() -> None:
        start.wait()
        node = X
        for step in range(2000):
            node = node * 3 + step
        found.append(node)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(node is found[0] for node in found)


def test_pickling_and_copying_give_the_same_object():
    node = (X * 2 + 1).cast(dtypes.int)
    assert pickle.loads(pickle.dumps(node)) is node
    assert copy.deepcopy(node) is node
    assert copy.copy(node) is node


KEY_CODE = """
from tg_uop import *
r = UOp.range(8, 0, AxisType.REDUCE)
a = UOp.param(0, dtypes.float.ptr(8))
k = a.index(UOp.const(dtypes.weakint, 0)).store(a.index(r).reduce(r)).sink(arg=KernelInfo("k"))
print(k.key.hex())
"""


def test_the_key_is_the_same_in_every_process():
    keys = {
        subprocess.run(
            [sys.executable, "-c", KEY_CODE],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(keys) == 1


def test_the_key_tells_nodes_apart():
    nodes = [
        X,
        X + 1,
        X + 2,
        X.cast(dtypes.int),
        X.rtag("t"),
        UOp.variable("x", -3, 6),
        UOp.const(dtypes.float, 0.0),
        UOp.const(dtypes.float, -0.0),
        UOp.range(4, 0),
        UOp.range(4, 0, AxisType.REDUCE),
        UOp.param(0, dtypes.float.ptr(4)),
        UOp.param(0, dtypes.float.ptr(5)),
        UOp.range(4, 0).sink(arg=KernelInfo("a")),
        UOp.range(4, 0).sink(arg=KernelInfo("b")),
    ]
    assert len({node.key for node in nodes}) == len(nodes)


def test_shapes_follow_the_movement_ops():
    x = buffer(2, 3, 4)
    assert x.permute(2, 0, 1).shape == (4, 2, 3)
    assert x.reshape(6, 4).shape == (6, 4)
    assert x.reshape(2, 1, 3, 4).expand(2, 5, 3, 4).shape == (2, 5, 3, 4)
    assert x.reduce(arg=Ops.ADD, axis=(1,)).shape == (2, 1, 4)


def test_a_dimension_may_be_a_variable():
    n = UOp.variable("n", 1, 10)
    x = buffer(1, 4).expand((n, 4))
    assert x.shape == (n, 4)
    assert n in x.toposort()
    m = UOp.variable("m", 1, 10)
    assert x.substitute({n: m}).shape == (m, 4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: UOp(Ops.RESHAPE, dtypes.float, (buffer(6),), (4,)), "6 elements cannot become 4"),
        (lambda: UOp(Ops.PERMUTE, dtypes.float, (buffer(6),), (1,)), "is not an order"),
        (lambda: UOp(Ops.EXPAND, dtypes.float, (buffer(6),), (7,)), "size 1 can expand"),
        (lambda: UOp(Ops.PAD, dtypes.float, (buffer(6),), ((-1, 0),)), "is negative"),
        (lambda: UOp(Ops.SHRINK, dtypes.float, (buffer(6),), ((2, 7),)), "leave the axis"),
        (lambda: UOp(Ops.FLIP, dtypes.float, (buffer(6),), (1,)), "distinct axes"),
        (lambda: UOp(Ops.ADD, dtypes.float, (buffer(6), buffer(5))), "one shape"),
    ],
)
def test_operands_that_do_not_fit_are_refused(build, message):
    with pytest.raises(ShapeError, match=message):
        build()


def test_one_operation_has_one_device():
    with pytest.raises(DeviceMismatchError, match="CPU:1"):
        buffer(4).alu(Ops.ADD, buffer(4, device="CPU:1"))
    assert buffer(4).copy_to_device("CPU:1").device == "CPU:1"


def test_a_bitcast_to_another_item_size_scales_the_last_axis():
    assert buffer(2, 4).bitcast(dtypes.uint8).shape == (2, 16)
    with pytest.raises(ShapeError, match="no multiple"):
        buffer(3, 3).bitcast(dtypes.double)


def test_ranges_end_where_they_are_closed():
    i, k = UOp.range(4, 0), UOp.range(8, 1, AxisType.REDUCE)
    memory = UOp.param(0, dtypes.float.ptr(32))
    product = memory.index(i * 8 + k)
    assert list(product.ranges) == [i, k]
    total = product.reduce(k)
    assert list(total.ranges) == [i]
    store = memory.index(i).store(total)
    assert list(store.ranges) == [i]
    assert not store.end(i).ranges


def test_a_truth_that_is_not_known_is_no_truth():
    assert bool(X < 10)
    assert not bool(X < -3)
    with pytest.raises(TypeError, match="not known"):
        bool(X < 0)


def test_a_variable_is_bound_within_its_bounds():
    assert X.bind(2).unbind() == (X, 2)
    with pytest.raises(ValueError, match="-3 to 5"):
        X.bind(6)
    with pytest.raises(ValueError, match="above"):
        UOp.variable("y", 2, 1)


def test_an_invalid_index_does_not_widen_bounds():
    index = X.valid(X < 2)
    assert (index.vmin, index.vmax) == (-3, 5)
    assert Invalid is index.src[2].arg


def test_a_chain_of_100000_nodes_passes_every_walk():
    chain = UOp.variable("start", 0, 1)
    for step in range(50_000):
        chain = (chain + step).alu(Ops.MAX, chain)
    assert len(chain.toposort()) > 100_000
    assert chain.vmin == 50_000 * 49_999 // 2
    assert chain.key
    assert not chain.ranges
    start = UOp.variable("start", 0, 1)
    other = chain.substitute({start: UOp.variable("other", 0, 1)})
    assert other is not chain
    assert pickle.loads(pickle.dumps(chain)) is chain
