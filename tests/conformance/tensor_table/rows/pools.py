"""Pools and convolutions with their number of axes in the name."""

from __future__ import annotations

from tensor_table.cases import FLOATS, WIDE, Case, Row, like_torch, row
from tensor_table.inputs import fixed, num, sized

HALF = {"float16": 1e-2, "bfloat16": 8e-2}
LINE, IMAGE, BLOCK = (2, 2, 9), (1, 2, 7, 6), (1, 2, 5, 4, 4)
SHAPES = {1: LINE, 2: IMAGE, 3: BLOCK}


def pool(ours: str, count: int, **options: object) -> Case:
    """A pool by PyTorch's functional of the same name."""
    return like_torch(
        f"x.{ours}", "F." + ours.replace("(", "(x, ", 1), x=sized(SHAPES[count]), **options
    )


def conv(count: int) -> Row:
    """conv1d and conv3d."""
    kernel = (3,) * 1 if count == 1 else (2,) * 3
    return row(
        f"conv{count}d",
        like_torch(
            f"x.conv{count}d(w, b, padding=1)",
            f"F.conv{count}d(x, w, b, padding=1)",
            x=sized(SHAPES[count]),
            w=sized((3, 2, *kernel)),
            b=num(3),
            dtypes=FLOATS,
            tolerance=HALF,
        ),
        like_torch(
            f"x.conv{count}d(w, stride=2, groups=2)",
            f"F.conv{count}d(x, w, stride=2, groups=2)",
            x=sized(SHAPES[count]),
            w=sized((4, 1, *kernel)),
        ),
        bad={
            f"Tensor.ones({', '.join(map(str, SHAPES[count]))}).conv{count}d(Tensor.ones(1, 5,"
            f" {', '.join(map(str, kernel))}))": "ShapeError"
        },
    )


def conv_transpose(count: int) -> Row:
    """conv_transpose1d and conv_transpose3d."""
    kernel = (3,) if count == 1 else (2,) * 3
    shape = (1, 2, 4) if count == 1 else (1, 2, 3, 2, 2)
    return row(
        f"conv_transpose{count}d",
        like_torch(
            f"x.conv_transpose{count}d(w, b, stride=2, padding=1)",
            f"F.conv_transpose{count}d(x, w, b, stride=2, padding=1)",
            x=sized(shape),
            w=sized((2, 3, *kernel)),
            b=num(3),
        ),
    )


ROWS: tuple[Row, ...] = (
    conv(1),
    conv(3),
    conv_transpose(1),
    conv_transpose(3),
    *(
        row(
            f"avg_pool{n}d",
            pool(f"avg_pool{n}d(2)", n, dtypes=WIDE),
            pool(f"avg_pool{n}d(3, 2, padding=1)", n, dtypes=WIDE),
            bad={f"Tensor.ones(1, 1).avg_pool{n}d(2)": "ShapeError"},
        )
        for n in (1, 3)
    ),
    *(
        row(
            f"max_pool{n}d",
            pool(f"max_pool{n}d(2)", n),
            pool(f"max_pool{n}d(3, 2, padding=1)", n),
            pool(f"max_pool{n}d(2, return_indices=True)", n),
            bad={f"Tensor.ones(1, 1).max_pool{n}d(2)": "ShapeError"},
        )
        for n in (1, 3)
    ),
    *(
        row(f"lp_pool{n}d", pool(f"lp_pool{n}d(2, 2)", n, dtypes=("float32", "float64")))
        for n in (1, 2, 3)
    ),
    *(
        row(
            f"adaptive_avg_pool{n}d",
            pool(f"adaptive_avg_pool{n}d(3)", n, tolerance=HALF),
            pool(f"adaptive_avg_pool{n}d(1)", n, tolerance=HALF),
        )
        for n in (1, 2, 3)
    ),
    *(
        row(
            f"adaptive_max_pool{n}d",
            pool(f"adaptive_max_pool{n}d(3)", n),
            pool(f"adaptive_max_pool{n}d(2, return_indices=True)", n),
        )
        for n in (1, 2, 3)
    ),
    row(
        "max_unpool1d",
        like_torch(
            "x.max_unpool1d(i.reshape(1, 1, 3), 2)",
            "F.max_unpool1d(x, i.reshape(1, 1, 3), 2)",
            x=num(1, 1, 3),
            i=fixed((1, 2, 5)),
        ),
    ),
    row(
        "max_unpool3d",
        like_torch(
            "x.max_unpool3d(i.reshape(1, 1, 1, 1, 2), 2)",
            "F.max_unpool3d(x, i.reshape(1, 1, 1, 1, 2), 2)",
            x=num(1, 1, 1, 1, 2),
            i=fixed((1, 10)),
        ),
    ),
)
