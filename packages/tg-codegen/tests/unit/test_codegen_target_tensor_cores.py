"""The layouts of tensor cores place every element of a tile."""

from __future__ import annotations

import itertools

import pytest
from tg_codegen.target.tensor_cores import ALL, AMX_BF16, AMX_INT8, CUDA_SM80, Layout, TensorCore


def operands(core: TensorCore) -> list[tuple[Layout, dict[str, int]]]:
    """Each operand's layout with the sizes of its axes."""
    n, m, k = core.dims
    return [
        (core.layout_a, {"m": m, "k": k}),
        (core.layout_b, {"k": k, "n": n}),
        (core.layout_c, {"m": m, "n": n}),
    ]


@pytest.mark.parametrize("core", ALL, ids=lambda core: f"{core.name}-{core.dtype_in.name}")
def test_every_element_is_somewhere(core: TensorCore) -> None:
    for layout, sizes in operands(core):
        assert core.threads == 1 << len(layout.lane)
        found = [
            tuple(sorted(layout.position(lane, element).items()))
            for lane in range(core.threads)
            for element in range(layout.elements)
        ]
        everything = itertools.product(*(range(sizes[axis]) for axis in sorted(sizes)))
        expected = {tuple(zip(sorted(sizes), place, strict=True)) for place in everything}
        assert set(found) == expected
        copies = 1 << layout.lane.count("")
        assert len(found) == copies * len(expected)


def test_amx_reads_the_right_operand_in_packs() -> None:
    # the second element is the next k of the same column, after them comes the next column
    assert AMX_BF16.layout_b.position(0, 1) == {"k": 1, "n": 0}
    assert AMX_BF16.layout_b.position(0, 2) == {"k": 0, "n": 1}
    assert AMX_INT8.layout_b.position(0, 3) == {"k": 3, "n": 0}
    assert AMX_INT8.layout_b.position(0, 64) == {"k": 4, "n": 0}


def test_mma_result_of_a_lane() -> None:
    """c0 and c1 of lane 5 (group 1, member 1) are in row 1, columns 2 and 3; c2 is 8 rows below."""
    layout = CUDA_SM80[0].layout_c
    assert layout.position(5, 0) == {"m": 1, "n": 2}
    assert layout.position(5, 1) == {"m": 1, "n": 3}
    assert layout.position(5, 2) == {"m": 9, "n": 2}
