"""Methods whose name ends in an underscore: they write into the Tensor itself."""

from __future__ import annotations

from tensor_table.cases import Row, like_torch, row
from tensor_table.inputs import Input, bools, fixed, num, positive

INDEX = fixed((0, 2, 1))
ANYWHERE = (
    "absolute_", "negative_", "sign_", "fix_", "frac_", "exp2_", "expm1_", "tan_", "atan_",
    "sinh_", "cosh_", "asinh_", "erf_", "erfc_", "nan_to_num_", "logical_not_",
)  # fmt: skip
INSIDE = (
    "log2_", "log10_", "log1p_", "logit_", "asin_", "acos_", "atanh_", "erfinv_", "lgamma_",
    "digamma_",
)  # fmt: skip
OF_TWO = (
    "subtract_", "multiply_", "divide_", "true_divide_", "floor_divide_", "remainder_", "fmod_",
    "copysign_", "hypot_", "atan2_", "xlogy_", "logical_and_", "logical_or_", "logical_xor_",
    "eq_", "ne_", "lt_", "le_", "gt_", "ge_",
)  # fmt: skip


def changed(name: str, arguments: str = "", x: Input | None = None, **inputs: Input) -> Row:
    """What a Tensor holds after the call, and that the call gives the Tensor itself."""
    after = f"(lambda t: [t.{name}({arguments}), t][1])(x.clone())"
    given = x or num(4, 3)
    same = "(lambda t: t.{0}({1}) is t)(Tensor.ones(4, 3).contiguous())"
    parts = [like_torch(after, x=given, gradient=False, dtypes=("float32", "float64"), **inputs)]
    identity = [same.format(name, arguments)] if not inputs else []
    return row(name, *parts, *identity)


def renamed(name: str, arguments: str = "", x: Input | None = None, **inputs: Input) -> Row:
    """The same on one dtype, for a name that only writes what another gives."""
    after = f"(lambda t: [t.{name}({arguments}), t][1])(x.clone())"
    given = x or num(3)
    return row(name, like_torch(after, x=given, gradient=False, dtypes=("float32",), **inputs))


def filled(name: str, arguments: str, within: str) -> Row:
    """A Tensor filled with random numbers in place."""
    return row(
        name,
        f"(lambda t: [t.{name}({arguments}), (lambda r: {within})(t.numpy())][1])"
        "(Tensor.zeros(500).contiguous())",
        deviations="Numbers of its own: the stream is threefry, not PyTorch's.",
    )


def made(name: str, call: str, within: str, *more: str) -> Row:
    """A random function."""
    return row(
        name,
        f"(lambda r: {within})({call}.numpy())",
        f"{call}.tolist() != {call}.tolist()",
        *more,
        deviations="Numbers of its own: the stream is threefry, not PyTorch's.",
    )


ROWS: tuple[Row, ...] = (
    changed("abs_"),
    changed("neg_"),
    changed("relu_"),
    changed("exp_"),
    changed("sqrt_", x=positive(4, 3)),
    changed("log_", x=positive(4, 3)),
    changed("sigmoid_"),
    changed("tanh_"),
    changed("sin_"),
    changed("cos_"),
    changed("square_"),
    changed("rsqrt_", x=positive(4, 3)),
    changed("reciprocal_", x=positive(4, 3)),
    changed("floor_"),
    changed("ceil_"),
    changed("round_"),
    changed("trunc_"),
    changed("tril_", "-1"),
    changed("triu_", "1"),
    changed("fill_diagonal_", "7.0"),
    changed("zero_"),
    changed("fill_", "2.5"),
    changed("clamp_", "-1, 2"),
    changed("add_", "y, alpha=2", y=num(4, 3)),
    changed("sub_", "y, alpha=2", y=num(3)),
    changed("mul_", "y", y=num(4, 3)),
    changed("div_", "y", y=positive(4, 3)),
    changed("pow_", "2"),
    changed("lerp_", "y, 0.3", y=num(4, 3)),
    changed("addcmul_", "y, z, value=0.5", y=num(4, 3), z=num(4, 3)),
    changed("addcdiv_", "y, z, value=0.5", y=num(4, 3), z=positive(4, 3)),
    changed("copy_", "y", y=num(4, 3)),
    changed("index_add_", "0, i, y", i=INDEX, y=num(3, 3)),
    changed("index_copy_", "0, i, y", i=INDEX, y=num(3, 3)),
    changed("index_fill_", "0, i, 7.0", i=INDEX),
    changed("masked_fill_", "m, 7.0", m=bools(4, 3)),
    changed("masked_scatter_", "m, y", m=bools(4, 3), y=num(12)),
    changed("put_", "i, y", i=INDEX, y=num(3)),
    changed("index_put_", "(i,), y", i=INDEX, y=num(3, 3)),
    changed("scatter_", "0, i.reshape(1, 3), y", i=INDEX, y=num(1, 3)),
    changed("scatter_add_", "0, i.reshape(1, 3), y", i=INDEX, y=num(1, 3)),
    filled("uniform_", "2.0, 3.0", "r.min() >= 2 and r.max() < 3 and r.std() > 0.1"),
    filled("normal_", "3.0, 2.0", "abs(r.mean() - 3) < 0.5 and abs(r.std() - 2) < 0.5"),
    filled("bernoulli_", "0.3", "set(r.tolist()) == {0.0, 1.0} and 0.1 < r.mean() < 0.5"),
    filled("exponential_", "2.0", "r.min() >= 0 and 0.3 < r.mean() < 0.7"),
    filled("log_normal_", "0.0, 0.5", "0.9 < np.median(r) < 1.1 and r.min() > 0"),
    filled("cauchy_", "2.0, 0.5", "1.8 < np.median(r) < 2.2 and 0.3 < abs(r - 2).mean()"),
    filled("geometric_", "0.25", "r.min() == 1 and 3 < r.mean() < 5 and (r % 1 == 0).all()"),
    filled("random_", "-2, 3", "set(r.tolist()) == {-2.0, -1.0, 0.0, 1.0, 2.0}"),
    *map(renamed, ANYWHERE),
    *(renamed(name, x=num(3, low=0.1, high=0.9)) for name in INSIDE),
    renamed("acosh_", x=num(3, low=1.1, high=4)),
    renamed("clip_", "-1, 2"),
    renamed("clamp_min_", "0.5"),
    renamed("clamp_max_", "0.5"),
    *(renamed(name, "y", y=positive(3)) for name in OF_TWO),
    *(
        row(
            name,
            like_torch(
                f"(lambda t: [t.{name}({y}), t][1])(x.clone())",
                x=fixed((1, 2, 12), "int32"),
                gradient=False,
            ),
        )
        for name, y in (
            ("bitwise_and_", "6"),
            ("bitwise_or_", "6"),
            ("bitwise_xor_", "6"),
            ("bitwise_not_", ""),
        )
    ),
    renamed("cumsum_", "0"),
    renamed("cumprod_", "0"),
    renamed("renorm_", "2, 0, 1.0", x=num(2, 3)),
    renamed("addmm_", "y, z", x=num(2, 2), y=num(2, 3), z=num(3, 2)),
    renamed("baddbmm_", "y, z", x=num(1, 2, 2), y=num(1, 2, 3), z=num(1, 3, 2)),
    renamed("scatter_reduce_", "0, i, y, 'amax'", i=fixed((0, 0)), y=num(2)),
    # out of nothing
    made(
        "poisson",
        "Tensor([0.5, 30.0]).expand(500, 2).poisson()",
        "abs(r.mean(0) - [0.5, 30]).max() < 1.5 and abs(r.var(0) / [0.5, 30] - 1).max() < 0.4",
    ),
    made(
        "bernoulli",
        "Tensor.full((500,), 0.3).bernoulli()",
        "set(r.tolist()) == {0.0, 1.0} and 0.1 < r.mean() < 0.5",
    ),
    made(
        "exponential", "Tensor.exponential(500, lambd=2.0)", "r.min() >= 0 and 0.3 < r.mean() < 0.7"
    ),
    made(
        "randint_like",
        "Tensor.ones(50, dtype='int32').randint_like(2, 9)",
        "r.min() >= 2 and r.max() < 9",
    ),
    made(
        "trunc_normal",
        "Tensor.trunc_normal(500, std=2.0, a=-1.0, b=3.0)",
        "r.min() >= -1 and r.max() <= 3",
    ),
    made("xavier_uniform", "Tensor.xavier_uniform(20, 30)", "abs(r).max() <= (6 / 50) ** 0.5"),
    made("xavier_normal", "Tensor.xavier_normal(20, 30)", "abs(r.std() - (2 / 50) ** 0.5) < 0.05"),
    made("glorot_normal", "Tensor.glorot_normal(20, 30)", "abs(r.std() - (2 / 50) ** 0.5) < 0.05"),
    made("orthogonal", "Tensor.orthogonal(3, 5)", "abs(r @ r.T - np.eye(3)).max() < 1e-5"),
)
