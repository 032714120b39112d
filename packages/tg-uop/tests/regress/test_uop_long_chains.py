"""Chains of 100,000 nodes pass through every walk at the default recursion limit."""

from __future__ import annotations

import pickle
import sys

import pytest
from tg_uop import KernelInfo, Ops, UOp, Variable, dtypes, evaluate, render
from tg_uop.errors import SpecError
from tg_uop.spec.node import Form
from tg_uop.spec.verify import path_to, verify
from tg_uop.text.dump import dump, dump_linear, excerpt
from tg_uop.text.pycode import from_python, to_python

LENGTH = 100_000


@pytest.fixture(scope="module")
def chain() -> UOp:
    node = Variable("x", 0, 1)
    for i in range(LENGTH):
        node = node + (i % 5 + 1)
    return node


@pytest.fixture(scope="module")
def kernel() -> UOp:
    out, source = UOp.param(0, dtypes.float.ptr(16)), UOp.param(1, dtypes.float.ptr(16))
    r = UOp.range(16, 0)
    value = source.index(r)
    for i in range(LENGTH):
        value = value + float(i % 5 + 1)
    return out.index(r).store(value).end(r).sink(arg=KernelInfo())


def test_the_limit_is_the_default() -> None:
    assert sys.getrecursionlimit() <= 1000


def test_toposort_and_facts(chain: UOp) -> None:
    assert len(chain.toposort()) == LENGTH + 6
    assert chain.vmin == 3 * LENGTH
    assert chain.ranges == {}
    assert len(chain.key) == 16


def test_evaluate(chain: UOp) -> None:
    assert evaluate(chain, {"x": 1}) == 3 * LENGTH + 1


def test_dump(chain: UOp) -> None:
    assert dump(chain).count("\n") == LENGTH + 5
    assert "->" in excerpt(chain, chain.src[0])


def test_render(chain: UOp) -> None:
    assert render(chain).startswith("x+1+2")


def test_python_text(kernel: UOp) -> None:
    assert from_python(to_python(kernel)) is kernel


def test_pickle(kernel: UOp) -> None:
    assert pickle.loads(pickle.dumps(kernel)) is kernel


def test_verify(kernel: UOp) -> None:
    verify(kernel, Form.KERNEL)


def test_an_error_at_the_far_end_is_found_and_shown() -> None:
    bad = UOp(Ops.MAX, dtypes.float, (UOp.new_buffer("CPU", 4, dtypes.float),))
    node = bad
    for _ in range(LENGTH):
        node = node.alu(Ops.NEG)
    with pytest.raises(SpecError) as caught:
        verify(node, Form.TENSOR)
    assert caught.value.form == "tensor"
    assert len(path_to(node, bad)) == LENGTH + 1


def test_linear_dump_and_check(kernel: UOp) -> None:
    listing = UOp(Ops.LINEAR, dtypes.void, tuple(kernel.toposort()))
    assert dump_linear(listing).count("\n") == len(listing.src) - 1
    with pytest.raises(SpecError):
        verify(listing, Form.LINEAR)
