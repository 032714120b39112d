"""Picking and writing elements by position, index and mask."""

from __future__ import annotations

from tensor_table.cases import ALL, FLOATS, LAYOUTS, Case, Row, like_numpy, like_torch, row
from tensor_table.inputs import bools, fixed, integers, num, sized

SHAPE = (5, 3, 4)
WRITE = "(lambda t: [t.__setitem__({}, {}), t][1])({})"


def picked(index: str, **options: object) -> Case:
    """An index of x."""
    return like_torch(f"x[{index}]", x=sized(SHAPE), **options)


def written(index: str, value: str = "y", **options: object) -> Case:
    """x after a write, beside NumPy."""
    options.setdefault("dtypes", ("float32", "int32", "bool"))
    return like_numpy(
        WRITE.format(index, value, "x.contiguous()"),
        WRITE.format(index, value, "x.copy()"),
        x=sized(SHAPE),
        **options,
    )


ROWS: tuple[Row, ...] = (
    row(
        "__getitem__",
        picked("0", dtypes=ALL, layouts=LAYOUTS),
        picked("-1, 2"),
        picked("1, 2, 3"),
        picked("1:4"),
        picked("::2, :, 1:"),
        picked("..., 0"),
        picked("1, ..., 2:"),
        picked("None, 2, :, None"),
        picked("2:2"),
        picked("[0, 2, 0]"),
        like_numpy("x[[[0, 1], [2, -1]]]", "x[np.array([[0, 1], [2, -1]])]", x=sized(SHAPE)),
        picked("[0, 1], :, [1, 2]"),
        picked(":, [0, 1], [1, 2]"),
        picked("i, None, j", i=fixed((0, 4, -1)), j=fixed((1, 0, 2))),
        like_torch("x[i]", x=sized(SHAPE), i=integers(2, 3, low=-5, high=4), dtypes=ALL),
        like_torch("x[m]", x=sized(SHAPE), m=bools(5), dtypes=ALL, gradient=False),
        like_torch("x[x > 0]", x=sized(SHAPE), gradient=False, dtypes=FLOATS),
        like_numpy("x[::-1]", x=sized(SHAPE), dtypes=ALL),
        like_numpy("x[3:0:-2, :, ::-3]", x=sized(SHAPE)),
        like_numpy("x[np.array([1, 2]), 1:, np.array([0, 3])]", x=sized(SHAPE)),
        like_numpy("x[...]", x=sized(())),
        bad={
            "Tensor.ones(2, 3)[2]": "IndexRangeError",
            "Tensor.ones(2, 3)[0, 0, 0]": "IndexError",
            "Tensor.ones(2, 3)[0.5]": "TypeError",
            "Tensor.ones(2, 3)[..., ...]": "IndexError",
            "Tensor.ones(2, 3)['a']": "TypeError",
            "Tensor.ones(3)[Tensor([0.5])]": "DTypeError",
        },
        deviations="Slices of any step, as NumPy. Of a Tensor as index, positions that are out of "
        "range read 0.",
    ),
    row(
        "__delitem__",
        "Tensor([1, 2, 3])[1:].tolist() == [2, 3]",
        bad={"Tensor([1, 2]).__delitem__(0)": "AssignError"},
        deviations="Refused: a Tensor keeps its shape. Index what shall stay.",
    ),
    row(
        "__setitem__",
        written("0", y=num(3, 4)),
        written("slice(1, 4)", y=num(3, 4)),
        written("(slice(None), 2)", y=num(5, 4)),
        written("(Ellipsis, slice(None, None, 2))", y=num(5, 3, 2)),
        written("slice(None, None, -1)", y=num(5, 3, 4)),
        written("[0, 2, 4]", y=num(3, 3, 4)),
        written("i", y=num(3, 4), i=fixed((1, 3))),
        written("(slice(None), [2, 0])", y=num(5, 2, 4)),
        written("m", "1", m=bools(5)),
        written("2", "7", dtypes=("float32", "int32", "uint8")),
        like_numpy(
            WRITE.format("[1, 1]", "y", "x.contiguous()"),
            WRITE.format("[1, 1]", "y", "x.copy()"),
            x=num(4),
            y=num(2),
        ),
        like_numpy(
            WRITE.format("slice(1, None)", "x[:-1]", "x.contiguous()"),
            WRITE.format("slice(1, None)", "x[:-1].copy()", "x.copy()"),
            x=num(8),
        ),
        bad={
            "Tensor.ones(3).contiguous().__setitem__(5, 1)": "IndexRangeError",
            "Tensor.ones(3).contiguous().__setitem__(slice(0, 2), Tensor.ones(3))": "ShapeError",
        },
    ),
    row(
        "gather",
        like_torch("x.gather(0, i)", x=num(5, 3), i=integers(2, 3, high=4), dtypes=ALL),
        like_torch("x.gather(1, i)", x=num(5, 3), i=integers(4, 2, high=2)),
        like_torch("x.gather(-1, i)", x=num(2, 3, 4), i=integers(2, 3, 1, high=3)),
        bad={
            "Tensor.ones(2, 3).gather(2, Tensor([[0]]))": "ShapeError",
            "Tensor.ones(2, 3).gather(0, Tensor([0]))": "ShapeError",
            "Tensor.ones(2, 3).gather(0, Tensor([[0.5]]))": "DTypeError",
        },
    ),
    row(
        "scatter",
        like_torch(
            "x.scatter(0, i.reshape(2, 3), y)",
            x=num(5, 3),
            i=fixed((0, 1, 2, 3, 4, 0)),
            y=num(2, 3),
            dtypes=ALL,
        ),
        like_torch("x.scatter(1, i.reshape(2, 2), 7)", x=num(5, 3), i=fixed((0, 2, 1, 0))),
        like_torch(
            "x.scatter(0, i.reshape(2, 3), y, reduce='add')",
            "x.scatter_add(0, i.reshape(2, 3), y)",
            x=num(5, 3),
            i=fixed((0, 1, 2, 0, 1, 0)),
            y=num(2, 3),
        ),
        like_torch(
            "x.scatter(0, i.reshape(2, 3), y, reduce='multiply')",
            "x.scatter_reduce(0, i.reshape(2, 3), y, 'prod')",
            x=num(5, 3),
            i=fixed((0, 1, 2, 0, 1, 0)),
            y=num(2, 3),
        ),
        "Tensor([0, 0, 0]).scatter(0, Tensor([1, 1]), Tensor([5, 6])).tolist() == [0, 6, 0]",
        bad={
            "Tensor.ones(3).scatter(0, Tensor([0]), Tensor.ones(1), reduce='max')": "ArgumentError",
            "Tensor.ones(3).scatter(1, Tensor([0]), 1)": "ShapeError",
            "Tensor.ones(3).scatter(0, Tensor([0, 1]), Tensor.ones(1))": "ShapeError",
        },
        deviations="Of several sources for one element the last stays.",
    ),
    row(
        "scatter_reduce",
        *(
            like_torch(
                f"x.scatter_reduce(0, i.reshape(2, 3), y, '{how}', include_self={own})",
                x=num(5, 3),
                i=fixed((0, 1, 2, 0, 1, 0)),
                y=num(2, 3),
                gradient=how != "prod",
            )
            for how in ("sum", "prod", "mean", "amax", "amin")
            for own in (True, False)
        ),
        bad={
            "Tensor.ones(3).scatter_reduce(0, Tensor([0]), Tensor.ones(1), 'max')": "ArgumentError"
        },
    ),
    row(
        "masked_select",
        like_torch("x.masked_select(m)", x=num(3, 4), m=bools(3, 4), dtypes=ALL, gradient=False),
        like_torch("x.masked_select(m)", x=num(3, 4), m=bools(4), gradient=False),
        bad={"Tensor.ones(3).masked_select(Tensor([True, False]))": "ShapeError"},
    ),
    row(
        "nonzero",
        like_torch(
            "x.nonzero()",
            x=num(3, 4, low=-1, high=1),
            dtypes=("int32", "bool", "float32"),
            gradient=False,
            out="int32",
        ),
        like_torch("x.nonzero()", x=num(0, 4), gradient=False, out="int32"),
    ),
)
