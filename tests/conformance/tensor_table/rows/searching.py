"""Searching, distinct values, values by position."""

from __future__ import annotations

from tensor_table.cases import NUMBERS, WIDE, Row, like_numpy, like_torch, row
from tensor_table.inputs import fixed, num

EDGES = fixed((-3.0, -1.0, 0.5, 2.0), "float32")

ROWS: tuple[Row, ...] = (
    row(
        "searchsorted",
        like_torch(
            "e.searchsorted(x)",
            "T.searchsorted(e, x)",
            e=EDGES,
            x=num(3, 4, dtype="float32"),
            gradient=False,
            out="int32",
        ),
        like_torch(
            "e.searchsorted(x, right=True)",
            "T.searchsorted(e, x, right=True)",
            e=EDGES,
            x=fixed((-1.0, 0.5, 9.0), "float32"),
            gradient=False,
            out="int32",
        ),
    ),
    row(
        "bucketize",
        like_torch(
            "x.bucketize(e)",
            "T.bucketize(x, e)",
            e=EDGES,
            x=num(3, 4, dtype="float32"),
            gradient=False,
            out="int32",
        ),
    ),
    row(
        "kthvalue",
        like_torch("x.kthvalue(2)", x=num(3, 5), dtypes=WIDE),
        like_torch("x.kthvalue(1, 0, True)", x=num(3, 5)),
        bad={"Tensor.ones(3).kthvalue(4)": "TgError"},
    ),
    row("msort", like_torch("x.msort()", "T.msort(x)", x=num(5, 2), dtypes=NUMBERS)),
    row(
        "unique",
        like_numpy(
            "x.unique()", "np.unique(x)", x=num(17), dtypes=("int32", "float32"), out=lambda d: d
        ),
        "[t.tolist() for t in Tensor([3, 1, 3]).unique(return_inverse=True, return_counts=True)]"
        " == [[1, 3], [1, 0, 1], [1, 2]]",
    ),
    row(
        "unique_consecutive",
        like_torch(
            "x.unique_consecutive()", x=fixed((1, 1, 2, 2, 1)), gradient=False, dtypes=("float32",)
        ),
        "[t.tolist() for t in Tensor([3, 3, 1]).unique_consecutive(return_counts=True)]"
        " == [[3, 1], [2, 1]]",
    ),
    row(
        "isin",
        like_numpy("x.isin(y)", "np.isin(x, y)", x=num(17), y=num(3), dtypes=("int32", "uint8")),
        like_numpy(
            "x.isin(y, invert=True)",
            "np.isin(x, y, invert=True)",
            x=num(17),
            y=num(3),
            dtypes=("int32",),
        ),
    ),
    row(
        "argwhere",
        like_numpy(
            "x.argwhere()",
            "np.argwhere(x)",
            x=num(3, 4, low=-1, high=1),
            dtypes=("int32", "bool"),
            out="int32",
        ),
    ),
    row(
        "flatnonzero",
        like_numpy(
            "x.flatnonzero()",
            "np.flatnonzero(x)",
            x=num(3, 4, low=-1, high=1),
            dtypes=("int32",),
            out="int32",
        ),
    ),
    row("take", like_torch("x.take(i)", x=num(3, 4), i=fixed((0, 5, -1)))),
    row(
        "take_along_dim",
        like_torch(
            "x.take_along_dim(i.reshape(1, 3), 1)",
            "T.take_along_dim(x, i.reshape(1, 3), 1)",
            x=num(2, 4),
            i=fixed((3, 0, 0)),
        ),
    ),
)
