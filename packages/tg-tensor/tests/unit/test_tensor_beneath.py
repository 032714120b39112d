"""What lies below many graphs is what a walk under each of them finds."""

from __future__ import annotations

import random

import pytest
from tg_tensor.autograd import beneath as module
from tg_tensor.autograd.beneath import beneath
from tg_uop import Ops, UOp, dtypes
from tg_uop.ir.walk import toposort


def _random_graph(seed: int) -> list[UOp]:
    """Buffers, and values of them, some detached, some integers."""
    draw = random.Random(seed)
    nodes = [UOp.new_buffer("CPU", 4, dtypes.float) for _ in range(6)]
    for _ in range(60):
        left, right = draw.choice(nodes), draw.choice(nodes)
        kind = draw.randrange(5)
        if kind == 0:
            nodes.append(left.detach())
        elif kind == 1:
            nodes.append(left.cast(dtypes.int).cast(dtypes.float))
        else:
            nodes.append(left + right * float(kind))
    return nodes


@pytest.mark.parametrize("chunk", [1, 7, 1024])
@pytest.mark.parametrize("seed", range(3))
def test_one_walk_finds_what_many_find(
    seed: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of noted nodes that fit at once."""
    monkeypatch.setattr(module, "CHUNK", chunk)
    nodes = _random_graph(seed)
    noted = set(nodes[::3])
    graphs = nodes[-20:]
    found = beneath(graphs, lambda node: node in noted)
    for graph in (*graphs, *found.noted):
        anywhere = [node for node in toposort((graph,)) if node in noted]
        opened = toposort((graph,), lambda n: n.op is not Ops.DETACH and not n.dtype.is_int)
        assert set(found.nodes_of(found.anywhere[graph])) == set(anywhere)
        assert set(found.nodes_of(found.for_gradients[graph])) == noted & set(opened)
        assert found.as_operands[graph] == found.anywhere[graph]


def test_nothing_noted() -> None:
    """Graphs without noted nodes have empty sets."""
    graph = UOp.new_buffer("CPU", 4, dtypes.float) * 2.0
    found = beneath([graph], lambda node: False)
    assert found.anywhere[graph] == found.for_gradients[graph] == found.as_operands[graph] == 0
