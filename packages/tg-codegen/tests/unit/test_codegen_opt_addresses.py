"""Addresses as linear forms, and loops replaced by expressions of others."""

from __future__ import annotations

from tg_codegen.linear_index import is_single_index, linear_form, split_gate
from tg_codegen.optimize.loop_rewrite import LoopReplacement, replace_loops, replace_nodes
from tg_uop import AxisType, Ops, UOp, dtypes

I, J = UOp.range(4, 0), UOp.range(5, 1)


def test_sums_of_strides() -> None:
    form = linear_form((I * 3 + J - 2) * 4 - I + 7)
    assert form.terms == {I: 11, J: 4}
    assert form.offset == -1
    assert (form.stride(I), form.stride(J)) == (11, 4)


def test_terms_that_cancel_are_gone() -> None:
    form = linear_form(I * 2 + J - I * 2)
    assert form.terms == {J: 1}
    assert form.stride(I) == 0
    assert not form.depends_on(I)


def test_negation_and_shifts() -> None:
    two = UOp.const(dtypes.weakint, 2)
    form = linear_form((I << two) + J.alu(Ops.NEG))
    assert form.terms == {I: 4, J: -1}


def test_what_is_not_linear_is_an_atom() -> None:
    half = I.idiv(2)
    form = linear_form(half * 6 + J)
    assert form.terms == {half: 6, J: 1}
    assert form.stride(I) is None
    assert form.stride(J) == 1
    assert form.depends_on(I)


def test_variables_are_atoms() -> None:
    n = UOp.variable("n", 1, 9)
    form = linear_form(n * 3 + I)
    assert form.terms == {n: 3, I: 1}
    assert form.stride(I) == 1


def test_gates_of_addresses() -> None:
    inside = I < 3
    assert split_gate(J.valid(inside)) == (inside, J)
    assert split_gate(J) == (None, J)
    chosen = inside.where(J, I)
    assert split_gate(chosen) == (None, chosen)


def test_several_indices_are_no_single_one() -> None:
    memory = UOp.param(0, dtypes.float32.ptr(20))
    assert is_single_index(memory.index(I))
    assert not is_single_index(memory.index(I, J))


def test_loops_are_replaced_where_they_are_used_and_where_they_end() -> None:
    memory, source = (UOp.param(slot, dtypes.float32.ptr(4)) for slot in range(2))
    kernel = memory.index(I).store(source.index(I)).end(I).sink()
    outer, inner = UOp.range(2, (0, 0)), UOp.range(2, (0, 1), AxisType.UPCAST)
    parts = LoopReplacement(outer * 2 + inner, (outer, inner))
    replaced = replace_loops(kernel, {I: parts})
    assert I not in replaced.toposort()
    assert replaced.src[0].ended_ranges == (outer, inner)
    assert not replaced.ranges


def test_a_reduction_without_loops_is_its_value() -> None:
    memory = UOp.param(0, dtypes.float32.ptr(4))
    total = memory.index(I).reduce(I)
    first = UOp.const(dtypes.weakint, 0)
    assert replace_loops(total, {I: LoopReplacement(first, ())}) is memory.index(first)


def test_nodes_below_replaced_nodes_may_be_replaced_too() -> None:
    value = (I + J) * 2
    assert replace_nodes(value, {I: J, J: I}) is (J + I) * 2
