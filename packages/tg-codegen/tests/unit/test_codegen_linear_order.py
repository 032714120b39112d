"""Instructions stand in loops and branches where they belong, in a sensible order."""

from __future__ import annotations

import pytest
from tg_codegen.errors import KernelFormError
from tg_codegen.linearize.chains import chain_of
from tg_codegen.linearize.control import with_branches
from tg_codegen.linearize.linear import linearize
from tg_codegen.linearize.order import ordered
from tg_uop import AddrSpace, AxisType, KernelInfo, Ops, UOp, dtypes
from tg_uop.spec.node import Form
from tg_uop.spec.verify import verify

INT = dtypes.int32


def number(value: int) -> UOp:
    return UOp.const(INT, value)


def loop(size: int, axis: int) -> UOp:
    return UOp.range(number(size), axis, dtype=INT)


def memory(slot: int, size: int = 64) -> UOp:
    return UOp.param(slot, INT.ptr(size))


def address(where: UOp, index: UOp, gate: UOp | None = None) -> UOp:
    src = (where, index) if gate is None else (where, index, gate)
    return UOp(Ops.INDEX, where.dtype, src)


def sink(*effects: UOp) -> UOp:
    return UOp.sink(*effects, arg=KernelInfo())


def positions(instructions: list[UOp]) -> dict[UOp, int]:
    assert len(set(instructions)) == len(instructions), "no instruction stands twice"
    return {node: at for at, node in enumerate(instructions)}


def test_what_a_loop_does_not_change_stands_before_it() -> None:
    i, j = loop(4, 0), loop(8, 1)
    row = i * 8
    value = address(memory(1), row).load() * 3
    store = address(memory(0), row + j).store(value)
    kernel = sink(store.end(i, j))
    at = positions(ordered(kernel))
    assert at[i] < at[row] < at[value] < at[j] < at[store]


def test_loops_nest_by_axis_whatever_the_order_of_operands() -> None:
    i, j = loop(4, 0), loop(8, 1)
    store = address(memory(0), i * 8 + j).store(number(1))
    for ranges in ((i, j), (j, i)):
        instructions = ordered(sink(store.end(*ranges)))
        ends = [n.src[0] for n in instructions if n.op is Ops.END]
        assert ends == [j, i]


def test_loop_side_by_side_run_in_order_of_need() -> None:
    i, j, k = loop(2, 0), loop(4, 1), loop(4, 2)
    scratch = UOp.define_local(0, INT, 4)
    write = address(scratch.after(i), k).store(number(1)).end(k)
    read = address(scratch.after(write), j).load()
    kernel = sink(address(memory(0), i * 4 + j).store(read).end(i, j))
    instructions = ordered(kernel)
    at = positions([n for n in instructions if n.op is not Ops.END])
    assert at[i] < at[k] < at[j]
    verify(linearize(kernel), Form.LINEAR)


@pytest.mark.parametrize("reader_first", [True, False])
def test_what_memory_held_is_read_before_it_is_written(reader_first: bool) -> None:
    """Also where two spellings of one place make two loads of it."""
    i = loop(8, 0)
    row = i * 4
    write = address(memory(0), row + 1).store(address(memory(0), row + 1).load() + 1)
    read = address(memory(1), i).store(address(memory(0), 1 + (i + i + i + i)).load())
    effects = (read, write) if reader_first else (write, read)
    kernel = sink(UOp.group(*effects).end(i))
    at = positions(ordered(kernel))
    loads = [n for n in at if n.op is Ops.LOAD]
    assert len(loads) == 2
    assert all(at[load] < at[write] for load in loads)


def test_a_read_that_waits_for_a_store_stays_behind_it() -> None:
    i = loop(8, 0)
    write = address(memory(0), i).store(number(1))
    read = address(memory(0).after(write), i).load()
    kernel = sink(address(memory(1), i).store(read).end(i))
    at = positions(ordered(kernel))
    assert at[write] < at[read]


def test_two_ends_of_a_loop_are_refused() -> None:
    i = loop(4, 0)
    stores = [address(memory(slot), i).store(number(1)).end(i) for slot in range(2)]
    with pytest.raises(KernelFormError, match="two ENDs close it"):
        ordered(sink(*stores))


def test_a_loop_without_end_is_refused() -> None:
    with pytest.raises(KernelFormError, match="no END closes it"):
        ordered(sink(address(memory(0), loop(4, 0)).store(number(1))))


# *** branches ***


def test_gated_store_stands_in_a_branch() -> None:
    i = loop(8, 0)
    store = address(memory(0), i, i < 5).store(number(1))
    linear = linearize(sink(store.end(i)))
    verify(linear, Form.LINEAR)
    names = [n.op for n in linear.src if n.op not in (Ops.CONST, Ops.PARAM)]
    wanted = [Ops.RANGE, Ops.CMPLT, Ops.IF, Ops.INDEX, Ops.STORE, Ops.ENDIF, Ops.END]
    assert names == wanted


def test_stores_under_one_condition_share_a_branch() -> None:
    i = loop(8, 0)
    stores = [
        address(memory(0), i * 4 + n, i < 5).store(address(memory(1), i + n).load())
        for n in range(4)
    ]
    linear = linearize(sink(UOp.group(*stores).end(i)))
    verify(linear, Form.LINEAR)
    assert [n.op for n in linear.src].count(Ops.IF) == 1


def test_a_read_that_waits_for_a_gated_store_comes_after_it() -> None:
    i = loop(8, 0)
    first = address(memory(0), i, i < 5).store(number(1))
    value = address(memory(0).after(first), i).load()
    second = address(memory(1), i, i < 5).store(value)
    linear = linearize(sink(UOp.group(first, second).end(i)))
    verify(linear, Form.LINEAR)
    assert [n.op for n in linear.src].count(Ops.IF) == 2
    names = [n.op for n in linear.src]
    assert names.index(Ops.ENDIF) < names.index(Ops.LOAD)


def test_address_that_a_load_uses_too_is_kept() -> None:
    i = loop(8, 0)
    place = address(memory(0), i, i < 5)
    value = UOp(Ops.LOAD, INT, (place, number(0)))
    linear = linearize(sink(place.store(value + 1).end(i)))
    verify(linear, Form.LINEAR)


def test_vector_gate_stays_on_the_store() -> None:
    gate = UOp.const(dtypes.bool.vec(4), (True, False, True, True))
    store = address(memory(0), number(0), gate).store(number(1).broadcast(4))
    assert with_branches([store]) == [store]


# *** chains ***


def test_sums_side_by_side_take_turns() -> None:
    """All first terms, then all second ones: the operand that they share is used at once."""
    register = UOp(Ops.DEFINE_REG, INT.ptr(3, AddrSpace.REG), (), 0)
    k = loop(8, 0)
    inside = register.after(k)
    shared = [address(memory(1), k * 2 + n).load() for n in range(2)]
    links: list[list[UOp]] = []
    stores = []
    for row in range(3):
        place = address(inside, number(row))
        total = place.load()
        links.append([])
        for n in range(2):
            total = total + address(memory(2), k * 2 + row * 16 + n).load() * shared[n]
            links[-1].append(total)
        stores.append(place.store(total))
        assert chain_of(stores[-1]) == links[-1]
    at = positions(ordered(sink(UOp.group(*stores).end(k))))
    order = [at[links[row][n]] for n in range(2) for row in range(3)]
    assert order == sorted(order)


def test_long_list_of_instructions_is_ordered_without_recursion() -> None:
    i = loop(8, 0)
    value = address(memory(1), i).load()
    for n in range(20_000):
        value = value.alu(Ops.XOR, number(n % 7))
    kernel = sink(address(memory(0), i).store(value).end(i))
    instructions = ordered(kernel)
    assert [n.op for n in instructions].count(Ops.XOR) == 20_000


def test_many_loops_inside_each_other() -> None:
    loops = [UOp.range(number(1), n, AxisType.LOOP, dtype=INT) for n in range(300)]
    total = loops[0]
    for one in loops[1:]:
        total = total + one
    kernel = sink(address(memory(0), total).store(number(1)).end(*loops))
    instructions = ordered(kernel)
    assert [n.src[0] for n in instructions if n.op is Ops.END] == loops[::-1]
