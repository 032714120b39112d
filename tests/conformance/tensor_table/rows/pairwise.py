"""Functions of two and three inputs beyond the operators, and the names of comparisons."""

from __future__ import annotations

from tensor_table.cases import (
    ALL,
    BINARY,
    FLOATS,
    INTS,
    LAYOUTS,
    SIGNED,
    TERNARY,
    WIDE,
    Case,
    Row,
    like_numpy,
    like_torch,
    row,
)
from tensor_table.inputs import every, num, positive, values


def both(ours: str, theirs: str | None = None, **options: object) -> Case:
    """Two inputs that broadcast."""
    options.setdefault("x", num())
    options.setdefault("y", num())
    options.setdefault("dtypes", FLOATS)
    return like_torch(ours, theirs, shapes=BINARY, layouts=LAYOUTS, **options)


def light(ours: str, theirs: str | None = None, **options: object) -> Case:
    """Two vectors: for second names of functions."""
    options.setdefault("x", num(17))
    options.setdefault("y", num(17))
    options.setdefault("dtypes", ("float32",))
    return like_torch(ours, theirs, **options)


def unfit(name: str) -> dict[str, str]:
    """Shapes that do not broadcast."""
    return {f"Tensor.ones(2).{name}(Tensor.ones(3))": "ShapeError"}


def comparison(name: str, sign: str) -> Row:
    """A comparison by name."""
    return row(
        name,
        like_numpy(
            f"x.{name}(y)",
            f"x {sign} y",
            x=num(17),
            y=num(17),
            dtypes=("float32", "int32", "uint8"),
        ),
        bad=unfit(name),
    )


ROWS: tuple[Row, ...] = (
    row("subtract", light("x.subtract(y)", "T.subtract(x, y)"), bad=unfit("subtract")),
    row("multiply", light("x.multiply(y)", "T.multiply(x, y)"), bad=unfit("multiply")),
    row(
        "divide",
        light("x.divide(y)", "T.divide(x, y)"),
        light("x.divide(y, 'floor')", "T.divide(x, y, rounding_mode='floor')", gradient=False),
        bad=unfit("divide"),
    ),
    row("true_divide", light("x.true_divide(y)", "T.true_divide(x, y)"), bad=unfit("true_divide")),
    row(
        "floor_divide",
        light("x.floor_divide(y)", "T.floor_divide(x, y)", gradient=False),
        bad=unfit("floor_divide"),
    ),
    row(
        "remainder",
        light(
            "x.remainder(y)",
            "T.remainder(x, y)",
            x=num(17, low=-9, high=9),
            y=num(17, low=0.6, high=4),
        ),
        bad=unfit("remainder"),
    ),
    row(
        "fmod",
        light(
            "x.fmod(y)", "T.fmod(x, y)", x=num(17, low=-9, high=9), y=num(17, low=0.6), dtypes=WIDE
        ),
        like_numpy(
            "x.fmod(y)",
            "np.fmod(x, y)",
            x=values((7, 7, -7, -7)),
            y=values((2, -2, 2, -2)),
            dtypes=SIGNED,
        ),
        bad=unfit("fmod"),
    ),
    row(
        "float_power",
        light("x.float_power(y)", "T.float_power(x, y)", x=positive(17), out="float64"),
        bad=unfit("float_power"),
    ),
    row(
        "ldexp",
        light("x.ldexp(y)", "T.ldexp(x, y)", y=num(17, dtype="int32"), gradient=False),
        bad=unfit("ldexp"),
    ),
    row(
        "addcmul",
        like_torch(
            "x.addcmul(y, z, value=0.5)",
            x=num(),
            y=num(),
            z=num(),
            shapes=TERNARY,
            dtypes=("float32", "float64"),
        ),
        bad={"Tensor.ones(2).addcmul(Tensor.ones(3), Tensor.ones(2))": "ShapeError"},
    ),
    row(
        "addcdiv",
        like_torch(
            "x.addcdiv(y, z, value=0.5)",
            x=num(),
            y=num(),
            z=positive(),
            shapes=TERNARY,
            dtypes=("float32", "float64"),
        ),
        bad={"Tensor.ones(2).addcdiv(Tensor.ones(3), Tensor.ones(2))": "ShapeError"},
    ),
    row("hypot", both("x.hypot(y)"), bad=unfit("hypot")),
    row(
        "atan2",
        both("x.atan2(y)", special=True, tolerance={"float16": 1e-2, "bfloat16": 8e-2}),
        bad=unfit("atan2"),
    ),
    row("arctan2", light("x.arctan2(y)", "T.arctan2(x, y)"), bad=unfit("arctan2")),
    row(
        "xlogy",
        both("x.xlogy(y)", y=positive(), tolerance={"float16": 1e-2, "bfloat16": 8e-2}),
        bad=unfit("xlogy"),
    ),
    row(
        "xlog1py",
        light("x.xlog1py(y)", "T.special.xlog1py(x, y)", y=positive(17), tolerance=1e-4),
        bad=unfit("xlog1py"),
    ),
    row("logaddexp2", both("x.logaddexp2(y)"), bad=unfit("logaddexp2")),
    row(
        "heaviside",
        light("x.heaviside(y)", "T.heaviside(x, y)", gradient=False),
        light(
            "x.heaviside(y)",
            "T.heaviside(x, y)",
            x=values((-1.0, 0.0, 2.0)),
            y=num(3),
            gradient=False,
        ),
        bad=unfit("heaviside"),
    ),
    row("fmax", both("x.fmax(y)", y=num(high=4.3), special=True), bad=unfit("fmax")),
    row("fmin", both("x.fmin(y)", y=num(high=4.3), special=True), bad=unfit("fmin")),
    row(
        "nextafter",
        light(
            "x.nextafter(y)",
            "T.nextafter(x, y)",
            dtypes=WIDE,
            gradient=False,
            tolerance={"float32": 0.0, "float64": 0.0},
        ),
        bad=unfit("nextafter"),
    ),
    *(
        comparison(name, sign)
        for name, sign in (
            ("lt", "<"),
            ("le", "<="),
            ("gt", ">"),
            ("ge", ">="),
            ("less", "<"),
            ("less_equal", "<="),
            ("greater", ">"),
            ("greater_equal", ">="),
            ("not_equal", "!="),
        )
    ),
    *(
        row(
            f"logical_{name}",
            like_numpy(
                f"x.logical_{name}(y)",
                f"np.logical_{name}(x, y)",
                x=num(17, low=-1, high=1),
                y=num(17, low=-1, high=1),
                dtypes=ALL,
            ),
            bad=unfit(f"logical_{name}"),
        )
        for name in ("and", "or", "xor")
    ),
    row(
        "bitwise_left_shift",
        like_numpy("x.bitwise_left_shift(2)", "x << 2", x=every(17), dtypes=INTS),
    ),
    row(
        "bitwise_right_shift",
        like_numpy("x.bitwise_right_shift(2)", "x >> 2", x=every(17), dtypes=INTS),
    ),
    row(
        "gcd",
        like_numpy(
            "x.gcd(y)",
            "np.gcd(x, y)",
            x=num(17, low=-40, high=60),
            y=num(17, low=-30, high=40),
            dtypes=INTS,
            out=lambda d: d,
        ),
        bad={"Tensor([1.5]).gcd(2)": "DTypeError"},
    ),
    row(
        "lcm",
        like_numpy(
            "x.lcm(y)",
            "np.lcm(x, y)",
            x=num(17, low=-6, high=9),
            y=num(17, low=-5, high=8),
            dtypes=INTS,
            out=lambda d: d,
        ),
        bad={"Tensor([1.5]).lcm(2)": "DTypeError"},
    ),
    row("dist", light("x.dist(y)"), light("x.dist(y, 1)"), bad=unfit("dist")),
)
