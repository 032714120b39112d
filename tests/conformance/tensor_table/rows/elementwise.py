"""Functions of one element each: mathematics, rounding, tests for special numbers."""

from __future__ import annotations

from tensor_table.cases import (
    ALL,
    BINARY,
    FLOATS,
    INTS,
    LAYOUTS,
    NUMBERS,
    SIGNED,
    TERNARY,
    UNARY,
    Case,
    Row,
    like_numpy,
    like_torch,
    row,
)
from tensor_table.inputs import bools, every, num, positive

MATH = (*FLOATS, "int32", "uint8", "int64", "bool")


def unary(ours: str, theirs: str | None = None, **options: object) -> Case:
    """A function of one input x, on shapes, layouts and special numbers."""
    options.setdefault("x", num())
    options.setdefault("dtypes", MATH)
    options.setdefault("special", True)
    return like_torch(ours, theirs, shapes=UNARY, layouts=LAYOUTS, **options)


def binary(ours: str, theirs: str | None = None, **options: object) -> Case:
    """A function of two inputs x and y that broadcast."""
    options.setdefault("x", num())
    options.setdefault("y", num())
    options.setdefault("dtypes", FLOATS)
    return like_torch(ours, theirs, shapes=BINARY, layouts=LAYOUTS, **options)


def same(name: str, theirs: str | None = None, **options: object) -> Row:
    """A row of a function of one input that PyTorch calls by the same name."""
    return row(name, unary(f"x.{name}()", theirs and f"{theirs}(x)", **options))


ROWS = (
    same("abs", dtypes=(*FLOATS, *SIGNED, "uint8")),
    same("acos", x=num(low=-0.98, high=0.98)),
    same("acosh", x=num(low=1.05, high=9)),
    same("asin", x=num(low=-0.98, high=0.98)),
    same("asinh"),
    same("atan"),
    same("atanh", x=num(low=-0.95, high=0.95)),
    same("ceil", dtypes=(*FLOATS, *SIGNED)),
    same("floor", dtypes=(*FLOATS, *SIGNED)),
    same("trunc", dtypes=(*FLOATS, *SIGNED)),
    row(
        "round",
        unary("x.round()", dtypes=(*FLOATS, *SIGNED)),
        unary("x.round(decimals=1)", dtypes=("float32", "float64")),
        unary("(x * 100).round(-1)", "(x * 100).round(decimals=-1)", dtypes=("float32", "float64")),
    ),
    same("cos"),
    same("cosh", x=num(low=-3, high=3)),
    same("erf"),
    same("exp"),
    same("exp2"),
    same("log", x=positive()),
    same("log10", x=positive()),
    same("log2", x=positive()),
    same("neg", dtypes=(*FLOATS, *SIGNED, "uint8")),
    same("reciprocal", x=positive()),
    same("rsqrt", x=positive()),
    same("sigmoid"),
    same("sign", dtypes=(*FLOATS, *SIGNED, "uint8")),
    same("sin"),
    same("sinh", x=num(low=-3, high=3)),
    same("sqrt", x=positive()),
    same("square", dtypes=NUMBERS),
    same("tan", x=num(low=-1.4, high=1.4)),
    same("tanh"),
    row(
        "isfinite",
        like_numpy(
            "x.isfinite()", "np.isfinite(x)", x=num(), dtypes=ALL, shapes=UNARY, special=True
        ),
    ),
    row(
        "isnan",
        like_numpy("x.isnan()", "np.isnan(x)", x=num(), dtypes=ALL, shapes=UNARY, special=True),
    ),
    row(
        "isinf",
        like_numpy("x.isinf()", "np.isinf(x)", x=num(), dtypes=ALL, shapes=UNARY, special=True),
        like_numpy("x.isinf(True, False)", "x == np.inf", x=num(), shapes=UNARY, special=True),
        like_numpy(
            "x.isinf(detect_positive=False)", "x == -np.inf", x=num(), shapes=UNARY, special=True
        ),
    ),
    row(
        "logical_not",
        like_numpy("x.logical_not()", "x == 0", x=num(), dtypes=ALL, shapes=UNARY, special=True),
    ),
    row(
        "bitwise_not",
        like_numpy("x.bitwise_not()", "~x", x=every(), dtypes=(*INTS, "bool"), shapes=UNARY),
        bad={"Tensor([1.5]).bitwise_not()": "DTypeError"},
    ),
    row(
        "__invert__",
        like_numpy("~x", "~x", x=every(), dtypes=(*INTS, "bool"), shapes=UNARY, layouts=LAYOUTS),
        bad={"~Tensor([1.5])": "DTypeError"},
    ),
    row("__neg__", unary("-x", dtypes=(*FLOATS, *SIGNED, "uint8"))),
    # activations
    same("relu", dtypes=(*FLOATS, *SIGNED, "uint8")),
    same("relu6", "F.relu6", dtypes=FLOATS),
    same("celu", "F.celu", dtypes=FLOATS),
    row(
        "elu",
        unary("x.elu()", "F.elu(x)", dtypes=FLOATS),
        unary("x.elu(0.5)", "F.elu(x, 0.5)", dtypes=FLOATS),
    ),
    same("selu", "F.selu", dtypes=FLOATS, tolerance=1e-4),
    row(
        "gelu",
        unary("x.gelu()", "F.gelu(x)", dtypes=FLOATS, special=False),
        unary("x.gelu('tanh')", "F.gelu(x, approximate='tanh')", dtypes=FLOATS, special=False),
    ),
    row(
        "quick_gelu",
        unary("x.quick_gelu()", "x * T.sigmoid(1.702 * x)", dtypes=FLOATS),
    ),
    row(
        "hardsigmoid",
        unary("x.hardsigmoid()", "F.hardsigmoid(x)", dtypes=FLOATS),
    ),
    same("hardswish", "F.hardswish", dtypes=FLOATS, special=False),
    row(
        "hardtanh",
        unary("x.hardtanh()", "F.hardtanh(x)", dtypes=FLOATS),
        unary("x.hardtanh(-2, 3)", "F.hardtanh(x, -2, 3)", dtypes=FLOATS),
    ),
    row(
        "leaky_relu",
        unary("x.leaky_relu()", "F.leaky_relu(x)", dtypes=FLOATS),
        unary("x.leaky_relu(0.2)", "F.leaky_relu(x, 0.2)", dtypes=FLOATS),
    ),
    same("logsigmoid", "F.logsigmoid", dtypes=FLOATS),
    same("mish", "F.mish", dtypes=FLOATS, special=False),
    same("silu", "F.silu", dtypes=FLOATS, special=False),
    row("swish", unary("x.swish()", "F.silu(x)", dtypes=FLOATS, special=False)),
    row(
        "softplus",
        unary("x.softplus()", "F.softplus(x)", dtypes=FLOATS),
        unary("x.softplus(2.0)", "F.softplus(x, 2.0)", dtypes=FLOATS),
    ),
    same("softsign", "F.softsign", dtypes=FLOATS, special=False),
    # choice
    row(
        "clip",
        unary("x.clip(-1, 2)", "T.clip(x, -1, 2)", dtypes=(*FLOATS, *SIGNED)),
        unary("x.clip(min_=0.5)", "T.clip(x, min=0.5)", dtypes=FLOATS),
        unary("x.clip(max_=0.5)", "T.clip(x, max=0.5)", dtypes=FLOATS),
        bad={"Tensor([1.5]).clip()": "ValueError"},
    ),
    row(
        "clamp",
        unary("x.clamp(-1, 2)", dtypes=(*FLOATS, *SIGNED)),
        unary("x.clamp(3, 1)", dtypes=(*FLOATS, *SIGNED), gradient=False),
    ),
    row(
        "maximum",
        binary("x.maximum(y)", "T.maximum(x, y)", dtypes=(*FLOATS, *INTS, "bool"), special=True),
        unary("x.maximum(0.5)", "T.clamp(x, min=0.5)", dtypes=FLOATS),
        bad={"Tensor.ones(2).maximum(Tensor.ones(3))": "ShapeError"},
    ),
    row(
        "minimum",
        binary("x.minimum(y)", "T.minimum(x, y)", dtypes=(*FLOATS, *INTS, "bool"), special=True),
        bad={"Tensor.ones(2).minimum(Tensor.ones(3))": "ShapeError"},
    ),
    row(
        "where",
        like_torch(
            "c.where(x, y)",
            "T.where(c, x, y)",
            c=bools(),
            x=num(),
            y=num(),
            dtypes=ALL,
            shapes=TERNARY,
        ),
        like_torch("c.where(x, 1.5)", "T.where(c, x, 1.5)", c=bools(17), x=num(17)),
        like_torch("c.where(2, x)", "T.where(c, 2, x)", c=bools(3, 1), x=num(1, 4)),
        like_torch(
            "x.where(y, 0)",
            "T.where(x != 0, y, 0)",
            x=num(17),
            y=num(17),
            dtypes=("int32",),
            gradient=False,
        ),
        "Tensor([True, False]).where(1, 2.5).tolist() == [1.0, 2.5]",
        bad={"Tensor([True, False]).where(Tensor.ones(3), 0)": "ShapeError"},
    ),
    row(
        "copysign",
        binary("x.copysign(y)", "T.copysign(x, y)"),
        # not bfloat16: NumPy's and PyTorch's conversions to it disagree about the sign of NaN
        binary(
            "x.copysign(y)",
            "T.copysign(x, y)",
            dtypes=("float32", "float64", "float16"),
            special=True,
        ),
    ),
    row(
        "lerp",
        like_torch(
            "x.lerp(y, w)",
            x=num(),
            y=num(),
            w=num(low=0, high=1),
            shapes=TERNARY,
            dtypes=FLOATS,
            tolerance={"float16": 1e-2, "bfloat16": 6e-2},
        ),
        like_torch("x.lerp(y, 0.3)", x=num(17), y=num(17)),
        bad={"Tensor.ones(2).lerp(Tensor.ones(3), 0.5)": "ShapeError"},
    ),
    row("logaddexp", binary("x.logaddexp(y)", special=True)),
    row(
        "isclose",
        like_numpy(
            "x.isclose(y)",
            "np.isclose(x, y)",
            x=num(),
            y=num(),
            shapes=BINARY,
            dtypes=("float32", "float64"),
            special=True,
        ),
        like_numpy(
            "x.isclose(y, 0.5, 0.25, True)",
            "np.isclose(x, y, 0.5, 0.25, True)",
            x=num(),
            y=num(),
            shapes=BINARY,
            dtypes=("float32", "float64"),
            special=True,
        ),
    ),
    row(
        "allclose",
        like_numpy("x.allclose(x + 1e-9)", "np.array(True)", x=num(17)),
        like_numpy("x.allclose(x + 1)", "np.array(False)", x=num(17)),
        "Tensor([math.nan]).allclose(Tensor([math.nan])).item() is False",
        "Tensor([math.nan]).allclose(Tensor([math.nan]), equal_nan=True).item() is True",
        deviations="Gives a Tensor with one bool.",
    ),
    row(
        "masked_fill",
        like_torch(
            "x.masked_fill(m, 2)",
            x=num(),
            m=bools(),
            dtypes=NUMBERS,
            shapes=BINARY[:1],
        ),
        like_torch("x.masked_fill(m, -math.inf)", x=num(3, 4), m=bools(4), gradient=False),
    ),
)
