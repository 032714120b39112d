"""Reductions, running reductions, statistics of an axis, softmax."""

from __future__ import annotations

from tensor_table.cases import (
    ALL,
    FLOATS,
    INTS,
    LAYOUTS,
    NUMBERS,
    WIDE,
    Case,
    Row,
    like_numpy,
    like_torch,
    row,
)
from tensor_table.inputs import bools, num, sized, values

SUMMED = {
    "bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32",
    "uint32": "uint32", "uint64": "uint64", "int32": "int32",
}  # fmt: skip
HALF = {"float16": 1e-2, "bfloat16": 6e-2}
SHAPE = (2, 3, 4)
# PyTorch's positions are int64, which cannot be told from values where those are int64 too
PLACED = tuple(d for d in NUMBERS if d != "int64")
NOT_A_NUMBER = values((1.0, float("nan"), 3.0, float("nan"), -2.0), gradient=False)


def reduced(
    ours: str, theirs: str | None = None, shape: tuple[int, ...] = SHAPE, **o: object
) -> Case:
    """A reduction of x, on layouts."""
    o.setdefault("dtypes", FLOATS)
    o.setdefault("layouts", LAYOUTS[:4])
    return like_torch(ours, theirs, x=o.pop("x", None) or sized(shape), **o)


def axes_refused(name: str) -> dict[str, str]:
    """Mistakes that every reduction refuses."""
    return {
        f"Tensor.ones(2, 3).{name}(axis=2)": "ShapeError",
        f"Tensor.ones(2, 3).{name}(axis=-3)": "ShapeError",
    }


def extreme(name: str) -> Row:
    """max and min."""
    return row(
        name,
        reduced(f"x.{name}()", f"x.a{name}()", dtypes=ALL),
        reduced(f"x.{name}(1)", f"x.a{name}(1)", dtypes=ALL),
        reduced(f"x.{name}((0, 2), keepdim=True)", f"x.a{name}((0, 2), True)"),
        reduced(f"x.{name}(axis=-1)", f"x.a{name}(-1)", shape=(3, 100)),
        like_torch(f"x.{name}()", f"x.a{name}()", x=values((2.0, 1.0, 2.0, 1.0))),
        like_numpy(f"x.{name}()", f"np.{name}(x)", x=NOT_A_NUMBER),
        like_torch(f"x.{name}(0)", f"x.a{name}(0)", x=sized(())),
        bad={
            **axes_refused(name),
            f"Tensor.ones(0, 3).{name}()": "ShapeError",
            f"Tensor.ones(0, 3).{name}(0)": "ShapeError",
        },
        deviations="Gives the values alone. The gradient is split evenly among equal values.",
    )


def position(name: str) -> Row:
    """argmax and argmin."""
    return row(
        name,
        like_torch(
            f"x.{name}()",
            x=sized(SHAPE),
            dtypes=NUMBERS,
            gradient=False,
            out="int32",
            layouts=LAYOUTS,
        ),
        like_torch(f"x.{name}(1)", x=sized(SHAPE), dtypes=NUMBERS, gradient=False, out="int32"),
        like_torch(
            f"x.{name}(-1, keepdim=True)", x=num(3, 100), gradient=False, out="int32", dtypes=FLOATS
        ),
        like_numpy(f"x.{name}()", f"np.{name}(x)", x=NOT_A_NUMBER, out="int32"),
        like_numpy(f"x.{name}()", f"np.{name}(x)", x=values((2, 1, 2, 1)), out="int32"),
        like_numpy(f"x.{name}()", f"np.{name}(x)", x=bools(8), out="int32"),
        bad={**axes_refused(name), f"Tensor.ones(0, 3).{name}()": "ShapeError"},
        deviations="int32. The first of equal values.",
    )


def running(name: str, dim: str, **options: object) -> list[Case]:
    """A running reduction along some axes."""
    return [
        reduced(f"x.{name}({dim})", **options),
        reduced(f"x.{name}(-1)", **options),
        reduced(f"x.{name}(1)", shape=(2, 17, 3), **options),
        reduced(f"x.{name}(0)", shape=(), **options),
        reduced(f"x.{name}(0)", shape=(0, 3), gradient=False),
    ]


ROWS: tuple[Row, ...] = (
    row(
        "sum",
        reduced("x.sum()", dtypes=ALL, out=lambda d: SUMMED.get(d, d)),
        reduced("x.sum(1)", dtypes=ALL, out=lambda d: SUMMED.get(d, d)),
        reduced("x.sum((0, -1), keepdim=True)"),
        reduced("x.sum(axis=-1)", "x.sum(-1)", shape=(3, 100), tolerance=HALF),
        reduced("x.sum()", shape=()),
        like_torch("x.sum(0)", x=num(0, 3), gradient=False),
        like_torch(
            "x.sum(dtype='float64')",
            "x.sum(dtype=T.float64)",
            x=num(17),
            dtypes=("float32", "int32"),
            gradient=False,
        ),
        like_torch("x.sum(())", "x.clone()", x=num(2, 3)),
        bad=axes_refused("sum"),
        deviations="Integers below 32 bits and bool give 32 bits of their signedness. No axes "
        "(`()`) sum nothing, as in NumPy.",
    ),
    row(
        "prod",
        reduced(
            "x.prod()",
            dtypes=(*FLOATS, "int32", "uint8", "bool"),
            tolerance=HALF,
            out=lambda d: SUMMED.get(d, d),
            shape=(7,),
        ),
        reduced("x.prod(1)", dtypes=FLOATS, tolerance=HALF),
        like_torch("x.prod(1, True)", x=sized(SHAPE)),
        like_torch("x.prod()", x=values((2.0, 0.0, -3.0, 4.0))),
        like_torch("x.prod()", x=values((2.0, 0.0, -3.0, 0.0))),
        like_torch("x.prod(0)", x=num(0, 3), gradient=False),
        bad=axes_refused("prod"),
    ),
    row(
        "mean",
        reduced("x.mean()", tolerance=HALF),
        reduced("x.mean(1)", tolerance=HALF),
        reduced("x.mean((0, 2), keepdim=True)", tolerance=HALF),
        like_numpy("x.mean()", "np.mean(x)", x=num(17), dtypes=(*INTS, "bool")),
        "math.isnan(Tensor.ones(0).mean().item())",
        bad=axes_refused("mean"),
        deviations="Of integers a float32; PyTorch raises.",
    ),
    extreme("max"),
    extreme("min"),
    position("argmax"),
    position("argmin"),
    row(
        "any",
        like_numpy("x.any()", "np.any(x)", x=num(3, 4), dtypes=ALL),
        like_numpy("x.any(1)", "np.any(x, 1)", x=num(2, 3, 4, low=-1, high=1), dtypes=ALL),
        like_numpy("x.any((0, 2), True)", "np.any(x, (0, 2), keepdims=True)", x=num(2, 3, 4)),
        like_numpy("x.any(0)", "np.any(x, 0)", x=num(0, 3)),
        bad=axes_refused("any"),
    ),
    row(
        "all",
        like_numpy("x.all()", "np.all(x)", x=num(3, 4), dtypes=ALL),
        like_numpy("x.all(1)", "np.all(x, 1)", x=num(2, 3, 4, low=-1, high=1), dtypes=ALL),
        like_numpy("x.all((0, 2), True)", "np.all(x, (0, 2), keepdims=True)", x=num(2, 3, 4)),
        like_numpy("x.all(0)", "np.all(x, 0)", x=num(0, 3)),
        bad=axes_refused("all"),
    ),
    *(
        row(
            name,
            reduced(f"x.{name}()", tolerance=HALF),
            reduced(f"x.{name}(1)", tolerance=HALF),
            reduced(f"x.{name}((0, 2), keepdim=True, correction=0)", tolerance=HALF),
            like_torch(f"x.{name}(0, correction=2)", x=num(5, 3), dtypes=WIDE),
            f"math.isnan(Tensor.ones(1).{name}().item())",
            bad=axes_refused(name),
        )
        for name in ("var", "std")
    ),
    *(
        row(
            f"{name}_mean",
            reduced(f"x.{name}_mean()", f"T.{name}_mean(x)", tolerance=HALF),
            reduced(
                f"x.{name}_mean(1, keepdim=True, correction=0)",
                f"T.{name}_mean(x, 1, keepdim=True, correction=0)",
                tolerance=HALF,
            ),
            bad=axes_refused(f"{name}_mean"),
        )
        for name in ("var", "std")
    ),
    row(
        "cumsum",
        *running("cumsum", "0", tolerance=HALF),
        like_torch("x.cumsum(0)", x=num(300), tolerance={"float32": 1e-4}),
        like_torch(
            "x.cumsum(0)",
            x=num(8),
            dtypes=(*INTS, "bool"),
            gradient=False,
            out=lambda d: SUMMED.get(d, d),
        ),
        bad={"Tensor.ones(2, 3).cumsum(2)": "ShapeError"},
    ),
    row(
        "cumprod",
        *running("cumprod", "0", tolerance=HALF),
        like_torch("x.cumprod(0)", x=values((2.0, 0.0, -3.0, 4.0))),
        bad={"Tensor.ones(2, 3).cumprod(2)": "ShapeError"},
    ),
    *(
        row(
            name,
            reduced(f"x.{name}(0)", dtypes=PLACED),
            reduced(f"x.{name}(0)[0]", dtypes=("int64",), gradient=False),
            reduced(f"x.{name}(-1)", shape=(2, 17)),
            like_torch(f"x.{name}(0)", x=values((1.0, 3.0, 3.0, 2.0, 5.0)), gradient=False),
            bad={f"Tensor.ones(2, 3).{name}(2)": "ShapeError"},
            deviations="The position is the last of equal values, int32.",
        )
        for name in ("cummax", "cummin")
    ),
    row(
        "logcumsumexp",
        *running("logcumsumexp", "0", tolerance=HALF),
        bad={"Tensor.ones(2, 3).logcumsumexp(2)": "ShapeError"},
    ),
    row(
        "logsumexp",
        reduced("x.logsumexp(1)", tolerance=HALF),
        reduced("x.logsumexp()", "x.logsumexp((0, 1, 2))", tolerance=HALF),
        reduced("x.logsumexp((0, 2), keepdim=True)", tolerance=HALF),
        like_torch("x.logsumexp(0)", x=values((-float("inf"), -float("inf"))), gradient=False),
        like_torch("x.logsumexp(0)", x=values((float("inf"), 1.0)), gradient=False),
        like_torch("x.logsumexp(0)", x=values((1000.0, 1000.5, 999.0))),
        bad=axes_refused("logsumexp"),
    ),
    row(
        "softmax",
        reduced("x.softmax()", "x.softmax(-1)", tolerance=HALF),
        reduced("x.softmax(0)", tolerance=HALF),
        reduced("x.softmax(axis=1)", "x.softmax(1)", tolerance=HALF),
        like_torch(
            "x.softmax(-1, dtype='float32')",
            "x.softmax(-1, dtype=T.float32)",
            x=num(2, 3),
            dtypes=("float16", "float32", "int32"),
            gradient=False,
        ),
        like_torch("x.softmax(0)", x=values((1000.0, -1000.0, 999.0))),
        like_torch("x.softmax(0)", x=sized(())),
        bad=axes_refused("softmax"),
    ),
    row(
        "log_softmax",
        reduced("x.log_softmax()", "x.log_softmax(-1)", tolerance=HALF),
        reduced("x.log_softmax(0)", tolerance=HALF),
        like_torch("x.log_softmax(0)", x=values((1000.0, -1000.0, 999.0))),
        bad=axes_refused("log_softmax"),
    ),
    row(
        "sort",
        like_torch(
            "x.sort()",
            "T.sort(x, stable=True)",
            x=sized(SHAPE),
            dtypes=PLACED,
            layouts=LAYOUTS[:4],
        ),
        like_torch("x.sort()[0]", x=sized(SHAPE), dtypes=("int64",), gradient=False),
        like_torch(
            "x.sort(0, descending=True)",
            "T.sort(x, dim=0, descending=True, stable=True)",
            x=num(17, 2),
            dtypes=PLACED,
        ),
        like_torch(
            "x.sort()",
            "T.sort(x, stable=True)",
            x=values((1.0, float("nan"), -1.0, 2.0, float("nan"), 0.0)),
            gradient=False,
        ),
        like_torch(
            "x.sort()",
            "T.sort(x, stable=True)",
            x=values((2, 1, 2, 1, 2)),
            dtypes=tuple(d for d in INTS if d != "int64"),
            gradient=False,
        ),
        like_torch("x.sort()", "T.sort(x, stable=True)", x=sized(()), gradient=False),
        bad={"Tensor.ones(2, 3).sort(2)": "ShapeError"},
        deviations="Always stable; NaN last. Positions are int32.",
    ),
    row(
        "argsort",
        like_torch(
            "x.argsort()",
            "T.argsort(x, stable=True)",
            x=sized(SHAPE),
            gradient=False,
            dtypes=NUMBERS,
            out="int32",
        ),
        like_torch(
            "x.argsort(0, True)",
            "T.argsort(x, dim=0, descending=True, stable=True)",
            x=num(8, 2),
            gradient=False,
            out="int32",
        ),
        bad={"Tensor.ones(2, 3).argsort(2)": "ShapeError"},
    ),
    row(
        "topk",
        like_torch("x.topk(2)", x=sized(SHAPE), dtypes=FLOATS),
        like_torch("x.topk(5, 0, largest=False)", x=num(17, 2)),
        like_torch("x.topk(0)", x=num(4), gradient=False),
        bad={"Tensor.ones(3).topk(4)": "ArgumentError", "Tensor.ones(3).topk(1, 1)": "ShapeError"},
    ),
)
