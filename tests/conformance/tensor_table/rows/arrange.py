"""Further names that move elements: joined, split, turned, repeated; grids of positions."""

from __future__ import annotations

from tensor_table.cases import ALL, Case, Row, like_numpy, like_torch, row
from tensor_table.inputs import constant, num, positive, sized

SHAPE = (2, 3, 4)


def moved(
    ours: str, theirs: str | None = None, shape: tuple[int, ...] = SHAPE, **o: object
) -> Case:
    """A movement of x."""
    o.setdefault("dtypes", ALL)
    return like_torch(ours, theirs, x=sized(shape), **o)


def joined(ours: str, theirs: str, x: tuple[int, ...], y: tuple[int, ...]) -> Case:
    """A call that joins x and y."""
    return like_torch(ours, theirs, x=sized(x), y=sized(y))


ROWS: tuple[Row, ...] = (
    *(
        row(
            name,
            moved(f"x.{name}(0, 2)"),
            moved(f"x.{name}((0, 1), (-1, 0))"),
            bad={
                f"Tensor.ones(2, 3).{name}(0, 2)": "ShapeError",
                f"Tensor.ones(2, 3).{name}((0, 1), (0,))": "TgError",
            },
        )
        for name in ("movedim", "moveaxis")
    ),
    row(
        "swapaxes",
        moved("x.swapaxes(0, -1)"),
        bad={"Tensor.ones(2, 3).swapaxes(0, 2)": "ShapeError"},
    ),
    row(
        "swapdims",
        moved("x.swapdims(0, -1)"),
        bad={"Tensor.ones(2, 3).swapdims(0, 2)": "ShapeError"},
    ),
    row("adjoint", moved("x.adjoint()"), bad={"Tensor.ones(3).adjoint()": "ShapeError"}),
    row("mT", moved("x.mT"), bad={"Tensor.ones(3).mT": "ShapeError"}),
    row(
        "t",
        moved("x.t()", shape=(2, 3)),
        moved("x.t()", shape=(3,)),
        bad={"Tensor.ones(2, 3, 4).t()": "ShapeError"},
    ),
    row("fliplr", moved("x.fliplr()"), bad={"Tensor.ones(3).fliplr()": "ShapeError"}),
    row("flipud", moved("x.flipud()"), bad={"Tensor(1.0).flipud()": "ShapeError"}),
    row(
        "rot90",
        moved("x.rot90()"),
        moved("x.rot90(-1, (1, 2))"),
        moved("x.rot90(2, (0, 2))"),
        bad={"Tensor.ones(3).rot90()": "TgError"},
    ),
    row("tile", moved("x.tile(2, 1)", "x.tile((2, 1))"), moved("x.tile((2, 1, 1, 3))")),
    row("ravel", moved("x.ravel()"), moved("x.ravel()", shape=())),
    row(
        "expand_as",
        like_torch("x.expand_as(y)", x=num(1, 3), y=constant(2, 3)),
        bad={"Tensor.ones(2).expand_as(Tensor.ones(3))": "ShapeError"},
    ),
    row(
        "view_as",
        like_torch("x.view_as(y)", x=num(2, 3), y=constant(6)),
        bad={"Tensor.ones(2).view_as(Tensor.ones(3))": "ShapeError"},
    ),
    row(
        "reshape_as",
        like_torch("x.reshape_as(y)", x=num(2, 3), y=constant(6)),
        bad={"Tensor.ones(2).reshape_as(Tensor.ones(3))": "ShapeError"},
    ),
    row(
        "broadcast_to",
        moved("x.broadcast_to(5, 2, 3, 4)", "x.broadcast_to((5, 2, 3, 4))"),
        bad={"Tensor.ones(2).broadcast_to(3)": "ShapeError"},
    ),
    row(
        "broadcast_tensors",
        joined("x.broadcast_tensors(y)", "T.broadcast_tensors(x, y)", (3, 1), (1, 4)),
        bad={"Tensor.ones(2).broadcast_tensors(Tensor.ones(3))": "ShapeError"},
    ),
    row(
        "expand_dims",
        like_numpy("x.expand_dims(1)", "np.expand_dims(x, 1)", x=num(2, 3)),
        like_numpy("x.expand_dims((0, -1))", "np.expand_dims(x, (0, -1))", x=num(2, 3)),
    ),
    *(
        row(
            name,
            joined(f"x.{name}(y)", f"T.{name}((x, y))", (3,), (3,)),
            joined(f"x.{name}(y)", f"T.{name}((x, y))", (2, 3), (2, 3)),
            joined(f"x.{name}(y)", f"T.{name}((x, y))", (), ()),
        )
        for name in ("hstack", "vstack", "row_stack", "dstack", "column_stack")
    ),
    row(
        "block_diag",
        joined("x.block_diag(y)", "T.block_diag(x, y)", (2, 3), (1, 2)),
        joined("x.block_diag(y)", "T.block_diag(x, y)", (3,), ()),
        bad={"Tensor.ones(2, 2, 2).block_diag()": "TgError"},
    ),
    *(
        row(
            f"atleast_{count}d",
            moved(f"x.atleast_{count}d()", f"T.atleast_{count}d(x)", shape=()),
            moved(f"x.atleast_{count}d()", f"T.atleast_{count}d(x)", shape=(3,)),
            moved(f"x.atleast_{count}d()", f"T.atleast_{count}d(x)", shape=(2, 3)),
        )
        for count in (1, 2, 3)
    ),
    row(
        "tensor_split",
        moved("x.tensor_split(3, 2)"),
        moved("x.tensor_split((1, 3), dim=-1)"),
        bad={"Tensor.ones(3).tensor_split(0)": "TgError"},
    ),
    row(
        "hsplit",
        moved("x.hsplit(3)"),
        moved("x.hsplit((1, 2))"),
        bad={"Tensor.ones(2, 3).hsplit(2)": "TgError"},
    ),
    row("split_with_sizes", moved("x.split_with_sizes([1, 3], 2)")),
    row(
        "sum_to_size",
        like_torch("x.sum_to_size(3)", x=num(2, 3)),
        like_torch("x.sum_to_size((2, 1))", x=num(2, 3)),
        bad={"Tensor.ones(2, 3).sum_to_size(2)": "ShapeError"},
    ),
    row("diagflat", like_torch("x.diagflat(-1)", "T.diagflat(x, -1)", x=num(2, 2))),
    row("vsplit", moved("x.vsplit(2)"), bad={"Tensor.ones(3).vsplit(3)": "TgError"}),
    row("dsplit", moved("x.dsplit(2)"), bad={"Tensor.ones(3).dsplit(3)": "TgError"}),
    row(
        "unbind",
        moved("x.unbind()"),
        moved("x.unbind(-1)"),
        bad={"Tensor.ones(2).unbind(1)": "ShapeError"},
    ),
    row(
        "narrow",
        moved("x.narrow(2, 1, 2)"),
        moved("x.narrow(-1, -3, 2)"),
        bad={"Tensor.ones(3).narrow(0, 2, 2)": "TgError"},
    ),
    row(
        "select",
        moved("x.select(1, 2)"),
        moved("x.select(-1, -1)"),
        bad={"Tensor.ones(3).select(0, 3)": "TgError"},
    ),
    # grids
    row(
        "tril_indices",
        like_torch(
            "Tensor.tril_indices(3, 4)", "T.tril_indices(3, 4)", gradient=False, out="int32"
        ),
        like_torch(
            "Tensor.tril_indices(3, 3, -1)", "T.tril_indices(3, 3, -1)", gradient=False, out="int32"
        ),
    ),
    row(
        "triu_indices",
        like_torch(
            "Tensor.triu_indices(3, 4)", "T.triu_indices(3, 4)", gradient=False, out="int32"
        ),
        like_torch(
            "Tensor.triu_indices(3, 3, 1)", "T.triu_indices(3, 3, 1)", gradient=False, out="int32"
        ),
    ),
    row(
        "logspace",
        like_torch("Tensor.logspace(-1, 2, 7)", "T.logspace(-1, 2, 7)", gradient=False),
        like_torch(
            "Tensor.logspace(0, 3, 4, base=2)", "T.logspace(0, 3, 4, base=2)", gradient=False
        ),
    ),
    row("geomspace", like_numpy("Tensor.geomspace(1, 1000, 4)", "np.geomspace(1, 1000, 4)")),
    row(
        "vander",
        like_numpy("x.vander()", "np.vander(x)", x=positive(4)),
        like_numpy(
            "x.vander(3, increasing=True)", "np.vander(x, 3, increasing=True)", x=positive(4)
        ),
        bad={"Tensor.ones(2, 2).vander()": "TgError"},
    ),
    row(
        "cartesian_prod",
        joined("x.cartesian_prod(y)", "T.cartesian_prod(x, y)", (2,), (3,)),
        bad={"Tensor.ones(2, 2).cartesian_prod()": "TgError"},
    ),
    row(
        "combinations",
        moved("x.combinations()", "T.combinations(x)", shape=(4,)),
        moved(
            "x.combinations(3, with_replacement=True)",
            "T.combinations(x, 3, with_replacement=True)",
            shape=(3,),
        ),
        bad={"Tensor.ones(2, 2).combinations()": "TgError"},
    ),
)
