"""Slices and elements put, added or filled at positions that an index names."""

from __future__ import annotations

from tensor_table.cases import ALL, NUMBERS, Row, like_torch, row
from tensor_table.inputs import bools, fixed, num

ROW_INDEX = fixed((0, 2, 0))
FIRST = {"x": num(4, 3), "i": ROW_INDEX, "y": num(3, 3)}

ROWS: tuple[Row, ...] = (
    row(
        "index_select",
        like_torch("x.index_select(0, i)", x=num(4, 3), i=ROW_INDEX, dtypes=ALL),
        like_torch("x.index_select(-1, i)", x=num(2, 3), i=ROW_INDEX),
        bad={"Tensor.ones(3).index_select(1, Tensor([0]))": "ShapeError"},
    ),
    row(
        "index_add",
        like_torch("x.index_add(0, i, y)", dtypes=NUMBERS, **FIRST),
        like_torch("x.index_add(1, i, y, alpha=2)", x=num(3, 4), i=ROW_INDEX, y=num(3, 3)),
    ),
    row(
        "index_copy",
        like_torch(
            "x.index_copy(0, i, y)", x=num(4, 3), i=fixed((0, 2, 1)), y=num(3, 3), dtypes=ALL
        ),
    ),
    row(
        "index_fill", like_torch("x.index_fill(0, i, 7)", x=num(4, 3), i=ROW_INDEX, dtypes=NUMBERS)
    ),
    row(
        "index_reduce",
        *(
            like_torch(f"x.index_reduce(0, i, y, '{how}')", gradient=False, **FIRST)
            for how in ("prod", "mean", "amax", "amin")
        ),
        bad={"Tensor.ones(3).index_reduce(0, Tensor([0]), Tensor.ones(1), 'max')": "ArgumentError"},
    ),
    row(
        "scatter_add",
        like_torch(
            "x.scatter_add(0, i.reshape(1, 3), y)",
            x=num(4, 3),
            i=ROW_INDEX,
            y=num(1, 3),
            dtypes=NUMBERS,
        ),
    ),
    row(
        "put",
        like_torch("x.put(i, y)", x=num(4, 3), i=fixed((0, 5, -1)), y=num(3)),
        like_torch("x.put(i, y, accumulate=True)", x=num(4, 3), i=fixed((0, 5, 5)), y=num(3)),
        bad={"Tensor.ones(3).put(Tensor([0, 1]), Tensor.ones(3))": "TgError"},
    ),
    row(
        "index_put",
        like_torch("x.index_put((i,), y)", x=num(4, 3), i=fixed((0, 2, 1)), y=num(3, 3)),
        like_torch("x.index_put((i, i), y, accumulate=True)", x=num(4, 3), i=ROW_INDEX, y=num(3)),
    ),
    row(
        "masked_scatter",
        like_torch("x.masked_scatter(m, y)", x=num(3, 4), m=bools(3, 4), y=num(12), dtypes=ALL),
    ),
    row(
        "select_scatter",
        like_torch("x.select_scatter(y, 1, 2)", x=num(3, 4), y=num(3)),
        bad={"Tensor.ones(3).select_scatter(Tensor.ones(2), 0, 0)": "TgError"},
    ),
    row(
        "slice_scatter",
        like_torch("x.slice_scatter(y, 1, 0, 4, 2)", x=num(3, 4), y=num(3, 2)),
        bad={"Tensor.ones(3).slice_scatter(Tensor.ones(2))": "TgError"},
    ),
    row(
        "diagonal_scatter",
        like_torch("x.diagonal_scatter(y)", x=num(3, 4), y=num(3)),
        like_torch("x.diagonal_scatter(y, 1)", x=num(3, 4), y=num(3)),
        bad={"Tensor.ones(3, 3).diagonal_scatter(Tensor.ones(2))": "TgError"},
    ),
)
