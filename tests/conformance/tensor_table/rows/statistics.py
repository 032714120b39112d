"""Statistics, sums that pass over NaN, differences and integrals of sampled functions."""

from __future__ import annotations

from tensor_table.cases import ALL, WIDE, Case, Row, like_numpy, like_torch, row
from tensor_table.inputs import integers, num, sized, values

NAN = float("nan")
HOLES = values((1.0, NAN, 3.0, -2.0, NAN, 0.5, 7.0, -1.0))
SHAPE = (3, 5)


def reduced(ours: str, theirs: str | None = None, **options: object) -> Case:
    """A reduction of a matrix, compared with PyTorch."""
    options.setdefault("dtypes", WIDE)
    return like_torch(ours, theirs, x=sized(SHAPE), **options)


def holed(ours: str, theirs: str | None = None, **options: object) -> Case:
    """A function of values with NaN among them, compared with NumPy."""
    return like_numpy(ours, theirs, x=HOLES, dtypes=WIDE, **options)


def no_axis(name: str, argument: str = "2") -> dict[str, str]:
    """An axis that is not there."""
    return {f"Tensor.ones(2, 3).{name}({argument})": "ShapeError"}


ROWS: tuple[Row, ...] = (
    row(
        "amax",
        reduced("x.amax()", dtypes=ALL),
        reduced("x.amax(1)"),
        reduced("x.amax((0, 1), keepdim=True)"),
        bad=no_axis("amax"),
    ),
    row(
        "amin",
        reduced("x.amin()", dtypes=ALL),
        reduced("x.amin(1)"),
        reduced("x.amin((0, 1), keepdim=True)"),
        bad=no_axis("amin"),
    ),
    row(
        "aminmax",
        reduced("x.aminmax()"),
        reduced("x.aminmax(dim=1, keepdim=True)"),
        bad=no_axis("aminmax", "dim=2"),
    ),
    row(
        "ptp",
        like_numpy("x.ptp()", "np.ptp(x)", x=num(3, 5)),
        like_numpy("x.ptp(1)", "np.ptp(x, 1)", x=num(3, 5)),
        bad=no_axis("ptp"),
    ),
    row(
        "count_nonzero",
        like_numpy(
            "x.count_nonzero()",
            "np.count_nonzero(x)",
            x=num(17, low=-1, high=1),
            dtypes=ALL,
            out="int32",
        ),
        like_numpy(
            "x.count_nonzero(1)",
            "np.count_nonzero(x, 1)",
            x=num(3, 5, low=-1, high=1),
            dtypes=("int32",),
            out="int32",
        ),
        bad=no_axis("count_nonzero"),
    ),
    row(
        "quantile",
        reduced("x.quantile(0.3)"),
        reduced("x.quantile(0.5, 1)"),
        *(
            like_torch(
                f"x.quantile(0.3, interpolation='{how}')", x=num(8), dtypes=WIDE, gradient=False
            )
            for how in ("lower", "higher", "nearest", "midpoint")
        ),
        bad={"Tensor.ones(3).quantile(1.5)": "TgError", "Tensor([1]).quantile(0.5)": "TgError"},
    ),
    row("nanquantile", holed("x.nanquantile(0.4)", "np.nanquantile(x, 0.4)")),
    row(
        "median",
        like_torch("x.median()", x=num(8), dtypes=WIDE),
        reduced("x.median(1)"),
        bad=no_axis("median"),
    ),
    row("nanmedian", like_torch("x.nanmedian()", x=HOLES, gradient=False)),
    row(
        "mode",
        like_torch("x.mode()[0]", x=integers(2, 8, high=3), dtypes=("int64",), gradient=False),
        bad=no_axis("mode"),
    ),
    row(
        "bincount",
        like_torch(
            "x.bincount()", x=integers(17, high=6), gradient=False, dtypes=("float32",), out="int32"
        ),
        like_torch(
            "x.bincount(w, 9)",
            x=integers(17, high=6),
            w=num(17),
            gradient=False,
            dtypes=("float32",),
        ),
        bad={"Tensor([1.5]).bincount()": "TgError", "Tensor([-1]).bincount()": "TgError"},
    ),
    row(
        "histc",
        like_torch("x.histc(5)", x=num(17), gradient=False),
        like_torch("x.histc(4, min=-2, max=2)", x=num(17), gradient=False),
        bad={"Tensor.ones(2).histc(0)": "TgError"},
    ),
    row(
        "histogram",
        like_torch("x.histogram(5)", x=num(17), dtypes=WIDE, gradient=False),
        bad={"Tensor.ones(2).histogram(0)": "TgError"},
    ),
    row(
        "cov",
        reduced("x.cov()"),
        reduced("x.cov(correction=0)"),
        bad={"Tensor.ones(2, 2, 2).cov()": "TgError"},
    ),
    row("corrcoef", reduced("x.corrcoef()"), bad={"Tensor.ones(2, 2, 2).corrcoef()": "TgError"}),
    row(
        "average",
        like_numpy("x.average()", "np.average(x)", x=num(3, 5)),
        like_numpy("x.average(1, w)", "np.average(x, 1, w)", x=num(3, 5), w=num(5, low=0.1)),
        bad=no_axis("average"),
    ),
    # NaN passed over
    *(
        row(
            name,
            holed(f"x.{name}()", f"np.{name}(x)"),
            like_numpy(f"x.{name}(1)", f"np.{name}(x, 1)", x=num(3, 5)),
            bad=no_axis(name),
        )
        for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin")
    ),
    *(
        row(name, holed(f"x.{name}()", f"np.{name}(x)", out="int32"), bad=no_axis(name))
        for name in ("nanargmax", "nanargmin")
    ),
    *(
        row(name, holed(f"x.{name}(0)", f"np.{name}(x, 0)"), bad=no_axis(name))
        for name in ("nancumsum", "nancumprod")
    ),
    # differences and integrals
    row(
        "diff",
        reduced("x.diff()"),
        reduced("x.diff(2, 1)"),
        like_torch("x.diff(prepend=y)", x=num(5), y=num(2)),
        like_torch("x.diff()", x=num(5), dtypes=("int32", "uint8", "bool"), gradient=False),
        bad=no_axis("diff", "dim=2"),
    ),
    row(
        "trapezoid",
        reduced("x.trapezoid()", "T.trapezoid(x)"),
        reduced("x.trapezoid(dx=0.5, dim=0)", "T.trapezoid(x, dx=0.5, dim=0)"),
        like_torch("x.trapezoid(y)", "T.trapezoid(x, y)", x=num(5), y=num(5)),
        bad=no_axis("trapezoid", "dim=2"),
    ),
    row("trapz", reduced("x.trapz()", "T.trapz(x)"), bad=no_axis("trapz", "dim=2")),
    row(
        "cumulative_trapezoid",
        reduced("x.cumulative_trapezoid()", "T.cumulative_trapezoid(x)"),
        bad=no_axis("cumulative_trapezoid", "dim=2"),
    ),
)
