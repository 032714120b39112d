"""Special functions, further activations, and other names of functions of one input."""

from __future__ import annotations

from tensor_table.cases import (
    FLOATS,
    LAYOUTS,
    UNARY,
    WIDE,
    Case,
    Row,
    like_numpy,
    like_torch,
    row,
)
from tensor_table.inputs import Input, num, positive, values

NARROW = {"float16": 1e-2, "bfloat16": 8e-2}


def curve(ours: str, theirs: str | None = None, **options: object) -> Case:
    """A function of one input x, on special numbers too."""
    options.setdefault("x", num())
    options.setdefault("dtypes", FLOATS)
    options.setdefault("special", True)
    options.setdefault("tolerance", NARROW)
    return like_torch(ours, theirs, shapes=UNARY, layouts=LAYOUTS, **options)


def line(ours: str, theirs: str | None = None, **options: object) -> Case:
    """The same on one vector only: for second names of functions."""
    options.setdefault("x", num(17))
    return like_torch(ours, theirs, dtypes=("float32",), **options)


def second_name(name: str, first: str, x: Input | None = None) -> Row:
    """A row of another name for a function."""
    return row(name, line(f"x.{name}()", f"T.{first}(x)", x=x or num(17)))


ROWS: tuple[Row, ...] = (
    second_name("sgn", "sign"),
    row("clamp_min", line("x.clamp_min(0.5)")),
    row("clamp_max", line("x.clamp_max(0.5)")),
    row("expm1", curve("x.expm1()"), like_torch("x.expm1()", x=values((1e-6, -1e-6, 1e-3, 0.0)))),
    row(
        "log1p",
        curve("x.log1p()", x=num(low=-0.9)),
        like_torch("x.log1p()", x=values((1e-6, -1e-6, 1e-3, 0.0))),
    ),
    row(
        "logit",
        curve("x.logit()", "T.logit(x)", x=num(low=0.01, high=0.99)),
        line("x.logit(0.1)", "T.logit(x, 0.1)", x=num(17, low=0, high=1)),
    ),
    row("sinc", curve("x.sinc()", special=False), like_torch("x.sinc()", x=values((0.0, 1.5)))),
    row("deg2rad", curve("x.deg2rad()")),
    row("rad2deg", curve("x.rad2deg()", special=False)),
    row("erfc", curve("x.erfc()", tolerance=1e-4)),
    row("erfinv", curve("x.erfinv()", x=num(low=-0.95, high=0.95), tolerance=1e-4)),
    row(
        "lgamma",
        curve("x.lgamma()", x=positive(high=9), special=False, tolerance=1e-4),
        line("x.lgamma()", x=num(17, low=-5, high=-0.1), tolerance=1e-4),
    ),
    row("digamma", curve("x.digamma()", x=positive(high=9), special=False, tolerance=1e-4)),
    row("i0", curve("x.i0()", "T.special.i0(x)", special=False, tolerance=1e-4)),
    *(
        row(name, line(f"x.{name}()", f"T.special.{name}(x)", tolerance=1e-4))
        for name in ("i0e", "i1", "i1e", "ndtr", "log_ndtr", "erfcx")
    ),
    row("ndtri", line("x.ndtri()", "T.special.ndtri(x)", x=num(17, low=0.01, high=0.99))),
    row("entr", line("x.entr()", "T.special.entr(x)", x=num(17, low=0, high=3))),
    row(
        "polygamma",
        line("x.polygamma(2)", "T.polygamma(2, x)", x=positive(17), tolerance=1e-4),
        bad={"Tensor([1.0]).polygamma(-1)": "ArgumentError"},
        deviations="From n = 2 on NaN for x below -8.",
    ),
    row(
        "mvlgamma",
        line("x.mvlgamma(3)", "T.mvlgamma(x, 3)", x=num(17, low=1.5, high=9), tolerance=1e-4),
        bad={"Tensor([1.0]).mvlgamma(0)": "ArgumentError"},
    ),
    row("frac", curve("x.frac()", special=False)),
    row(
        "signbit",
        like_torch("x.signbit()", x=num(), shapes=UNARY, dtypes=WIDE, special=True, gradient=False),
        like_torch("x.signbit()", x=num(17), gradient=False),
    ),
    row("frexp", like_numpy("x.frexp()", "np.frexp(x)", x=num(17), dtypes=WIDE)),
    row(
        "nan_to_num",
        curve("x.nan_to_num()"),
        like_torch(
            "x.nan_to_num(1.0, 2.0, -3.0)",
            x=values((float("nan"), float("inf"), -float("inf"), 1.5)),
            gradient=False,
        ),
    ),
    row(
        "isposinf", like_torch("x.isposinf()", x=num(), shapes=UNARY, special=True, gradient=False)
    ),
    row(
        "isneginf", like_torch("x.isneginf()", x=num(), shapes=UNARY, special=True, gradient=False)
    ),
    row("isreal", like_torch("x.isreal()", x=num(3), gradient=False)),
    row(
        "positive",
        line("x.positive()", "T.positive(x)"),
        bad={"Tensor([True]).positive()": "DTypeError"},
    ),
    second_name("negative", "negative"),
    second_name("absolute", "absolute"),
    second_name("fix", "fix"),
    second_name("arccos", "arccos", num(17, low=-0.9, high=0.9)),
    second_name("arcsin", "arcsin", num(17, low=-0.9, high=0.9)),
    second_name("arctan", "arctan"),
    second_name("arccosh", "arccosh", num(17, low=1.1, high=4)),
    second_name("arcsinh", "arcsinh"),
    second_name("arctanh", "arctanh", num(17, low=-0.9, high=0.9)),
    # activations
    row("threshold", curve("x.threshold(0.5, -2.0)", "F.threshold(x, 0.5, -2.0)", special=False)),
    row(
        "hardshrink",
        curve("x.hardshrink()", "F.hardshrink(x)", special=False),
        line("x.hardshrink(1.5)", "F.hardshrink(x, 1.5)"),
    ),
    row(
        "softshrink",
        curve("x.softshrink()", "F.softshrink(x)", special=False),
        bad={"Tensor([1.0]).softshrink(-1)": "TgError"},
    ),
    row(
        "tanhshrink",
        curve(
            "x.tanhshrink()",
            "F.tanhshrink(x)",
            special=False,
            tolerance={"float16": 2e-2, "bfloat16": 2e-1},
        ),
    ),
    row(
        "softmin",
        line("x.softmin()", "F.softmin(x, -1)", x=num(3, 5)),
        bad={"Tensor.ones(2).softmin(1)": "ShapeError"},
    ),
    row(
        "prelu",
        line("x.prelu(w)", "F.prelu(x, w)", x=num(2, 3, 4), w=num(3)),
        line("x.prelu(w)", "F.prelu(x, w)", x=num(2, 3), w=num(1)),
        bad={"Tensor.ones(2, 3).prelu(Tensor.ones(2))": "TgError"},
    ),
    row("rrelu", line("x.rrelu()", "F.rrelu(x)")),
    row(
        "glu",
        line("x.glu()", "F.glu(x)", x=num(3, 8)),
        line("x.glu(0)", "F.glu(x, 0)", x=num(4, 3)),
        bad={"Tensor.ones(3).glu()": "TgError"},
    ),
)
